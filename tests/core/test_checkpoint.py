"""Files of a model are read whatever a node says, and a bar is told in bytes only where the files' order is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.bar_steps import target_bar
from k2tui.core.byte_progress import by_bytes, bytes_points, why_by_count, with_bytes
from k2tui.core.checkpoint import Checkpoint, Shard, from_json, parse
from k2tui.core.launch import Bar, Launch, LaunchPhase, Progress
from tests.core.logs import read, real

MULTI = "Multi-thread loading shards"
SINGLE = "Loading safetensors checkpoint shards"
SORTING = frozenset({"weight_loader_prefetch_checkpoints", "model_path"})


def told(*records: str) -> bytes:
    return "/\n".join(["k2weights 1", "path /models/kimi", *records, "k2end\n"]).encode()


def checkpoint(*sizes: int, **changes: object) -> Checkpoint:
    shards = tuple(Shard(f"model-{number:05}.safetensors", size) for number, size in enumerate(sizes, start=1))
    return replace(Checkpoint("/models/kimi", shards), **changes)  # type: ignore[arg-type] # what a test wishes


def loading(done: int, total: int, *, label: str = MULTI, unit: str = "shards", **changes: object) -> Launch:
    """A launch of SGLang 0.5.23 whose weights load."""
    progress = Progress(done, total, unit, label)
    bar = Bar(progress, LaunchPhase.WEIGHTS, points=((10.0, 1), (20.0, done)))
    launch = Launch(engine="sglang", version="0.5.23", progress=progress, bars=(bar,))
    return replace(launch, **changes)  # type: ignore[arg-type] # what a test wishes


UNEVEN = checkpoint(10, 20, 30, 40)


def names(found: Checkpoint | None) -> list[str]:
    assert found is not None
    return [shard.name for shard in found.shards]


def told_in(launch: Launch, found: Checkpoint) -> tuple[int | None, int | None]:
    progress = with_bytes(launch, found).progress
    assert progress is not None
    return progress.bytes_done, progress.bytes_total


def test_an_answer_is_read_with_all_that_it_holds() -> None:
    found = parse(
        told(
            "f 81a4 1108 b.safetensors",
            "f 81a4 58 a.safetensors",
            "i a.safetensors",
            "i b.safetensors",
            "i =1050",
            "i k2whole",
            "c 50 a.safetensors",
            "c 8 b.safetensors",
            "h 100 b.safetensors",
            "h 2 a.safetensors",
            "t 1 1000",
            "t 2 48",
        )
    )
    assert found == Checkpoint(
        "/models/kimi",
        (Shard("a.safetensors", 58, 2, 48), Shard("b.safetensors", 1108, 100, 1000)),
        index_bytes=1050,
        cached_bytes=58,
    )
    assert (found.total_bytes, found.cached_share) == (1166, 58 / 1166)


@pytest.mark.parametrize("answer", [b"", b"none/\nk2end\n", b"k2weights 1/\npath /m/\nf 81a4 5 a.safetensors/\n"])
def test_an_answer_that_found_nothing_or_broke_off_is_none(answer: bytes) -> None:
    assert parse(answer) is None


def test_an_index_that_broke_off_drops_no_file() -> None:
    files = ("f 81a4 5 a.safetensors", "f 81a4 5 b.safetensors", "i a.safetensors")
    assert names(parse(told(*files))) == ["a.safetensors", "b.safetensors"]
    assert names(parse(told(*files, "i k2whole"))) == ["a.safetensors"]


def test_a_name_that_json_escaped_is_the_files_own() -> None:
    found = parse(told("f 81a4 5 größe.safetensors", r"i gr\u00f6\u00dfe.safetensors", "i k2whole"))
    assert found is not None
    assert (names(found), found.troubles) == (["größe.safetensors"], ())


def test_a_page_cache_of_some_files_is_no_measure() -> None:
    found = parse(told("f 81a4 5 a.safetensors", "f 81a4 5 b.safetensors", "c 5 a.safetensors"))
    assert found is not None
    assert found.cached_bytes is None


def test_a_trouble_is_a_sentence_without_what_steers_a_terminal() -> None:
    found = parse(told("f 81a4 5008 a\x1b[2J\n.safetensors", "h 100 a\x1b[2J\n.safetensors", "t 1 5000"))
    assert found is not None
    assert [trouble.text for trouble in found.troubles] == [
        "a [2J .safetensors has 5,008 bytes, its tensors should end at 5,108: 100 bytes are missing"
    ]


def test_a_path_is_told_without_what_steers_a_terminal() -> None:
    answer = told("f 81a4 58 a.safetensors").replace(b"/models/kimi", b"/m/\x1b[2J\xe2\x80\xae")
    found, context = parse(answer), from_json({"path": "/m/\x1b[2J\u202e", "index": ["a.safetensors"]})
    assert found is not None
    assert context is not None
    assert found.path == context.path == "/m/ [2J "


@given(st.binary())
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    parse(noise)
    parse(told("f 81a4 5 a.safetensors") + noise + b"/\nk2end")


@given(
    st.lists(
        st.tuples(st.sampled_from(["path", "f", "l", "i", "d", "c", "cached", "h", "t", "x"]), st.text(max_size=9))
        | st.tuples(
            st.sampled_from(["f 81a4", "l 81a4", "c", "h", "t"]),
            st.builds("{} {}".format, st.integers(), st.sampled_from(["1", "2", "a.safetensors", "b.safetensors"])),
        )
    )
)
def test_no_records_break_the_reader(records: list[tuple[str, str]]) -> None:
    found = parse(told(*(f"{tag} {rest}" for tag, rest in records)))
    assert found is not None
    assert found.cached_share is None or 0 <= found.cached_share <= 1


@pytest.mark.parametrize(
    ("engine", "version", "arg_names", "label", "known"),
    [
        ("sglang", "0.5.23", frozenset(), MULTI, True),
        ("sglang", "0.5.11", frozenset(), SINGLE, True),
        ("sglang", "0.5.12.post1", frozenset(), MULTI, True),
        ("sglang", "0.5.10", frozenset(), MULTI, False),
        ("sglang", "0.5.11rc0", frozenset(), MULTI, False),
        ("sglang", "0.5.9", frozenset(), SINGLE, False),
        ("sglang", None, SORTING, SINGLE, True),
        ("sglang", None, SORTING - {"weight_loader_prefetch_checkpoints"}, MULTI, False),
        ("sglang", None, frozenset(), MULTI, True),
        ("sglang", None, frozenset(), SINGLE, False),
        ("sglang", "0.5.23", SORTING, "Multi-thread loading pt checkpoint shards", False),
        ("vllm", "0.32.0", frozenset(), SINGLE, True),
        ("vllm", "0.16.0", frozenset(), f"{SINGLE} (eager)", True),
        ("vllm", "0.15.1", frozenset(), SINGLE, False),
        ("vllm", "0.16.0rc1", frozenset(), SINGLE, False),
        ("vllm", "0.32.0", frozenset(), MULTI, False),
        ("vllm", None, frozenset(), SINGLE, False),
        (None, None, frozenset(), MULTI, False),
    ],
)
def test_the_order_is_known_by_version_and_bar(
    engine: str | None, version: str | None, arg_names: frozenset[str], label: str, known: bool
) -> None:
    launch = loading(2, 4, label=label, engine=engine, version=version, arg_names=arg_names)
    assert told_in(launch, UNEVEN) == ((30, 100) if known else (None, None))


def test_what_was_said_of_the_order_counts_more_than_the_version() -> None:
    assert told_in(loading(2, 4, version="0.5.9"), replace(UNEVEN, is_sorted=True)) == (30, 100)
    assert told_in(loading(2, 4), replace(UNEVEN, is_sorted=False)) == (None, None)


def test_the_order_does_not_matter_where_all_are_alike() -> None:
    alike = checkpoint(*[1000] * 63, 990)
    assert told_in(loading(32, 64, version="0.5.9", label=SINGLE), alike) == (32_000, 63_990)
    uneven = checkpoint(*[1000] * 32, *[500] * 32)
    assert told_in(loading(32, 64, version="0.5.9"), uneven) == (None, None)


def test_vllm_takes_numbers_as_numbers() -> None:
    sizes = {"model-1.safetensors": 1, "model-10.safetensors": 100, "model-2.safetensors": 20}
    found = Checkpoint("/m", tuple(Shard(name, size) for name, size in sizes.items()))
    vllm = with_bytes(loading(2, 3, label=SINGLE, engine="vllm", version="0.32.0"), found)
    sglang = with_bytes(loading(2, 3), found)
    assert vllm.progress is not None
    assert sglang.progress is not None
    assert (vllm.progress.bytes_done, sglang.progress.bytes_done) == (21, 101)
    assert bytes_points(vllm.bars[0], found) == ((10.0, 1), (20.0, 21))
    assert bytes_points(sglang.bars[0], found) == ((10.0, 1), (20.0, 101))


def test_the_bar_is_told_where_it_is_shown_and_where_it_is_kept() -> None:
    launch = with_bytes(loading(3, 4), UNEVEN)
    assert launch.progress == launch.bars[0].progress
    assert launch.bars[0].progress.by == "bytes"
    assert launch.bars[0].progress.fraction == 0.6
    assert with_bytes(launch, UNEVEN) == launch
    assert with_bytes(launch, None) == launch


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        (loading(2, 5), "it counts 5 shards, and there are 4"),
        (loading(2, 4, unit="tensors"), "it counts tensors"),
        (loading(2, 4, version="0.5.9"), "an order of its own"),
        (loading(2, 4, bars=()), "not the first bar"),
    ],
)
def test_a_bar_that_stays_by_count_says_why(launch: Launch, words: str) -> None:
    assert launch.progress is not None
    assert words in (why_by_count(launch.progress, launch, UNEVEN) or "")
    assert by_bytes(launch.progress, launch, UNEVEN) == launch.progress


def test_a_second_pass_and_a_draft_are_by_count() -> None:
    first = Bar(Progress(4, 4, "shards", MULTI), LaunchPhase.WEIGHTS)
    again = Progress(2, 4, "shards", MULTI)
    for bar in (Bar(again, LaunchPhase.WEIGHTS), Bar(again, LaunchPhase.WEIGHTS, draft=True)):
        launch = with_bytes(loading(2, 4, bars=(first, bar), progress=again), UNEVEN)
        assert launch.progress == again
        assert [one.progress.by for one in launch.bars] == ["bytes", "count"]


def test_files_that_are_empty_are_by_count() -> None:
    assert told_in(loading(2, 4), checkpoint(0, 0, 0, 0)) == (None, None)


def test_a_bar_by_count_has_no_points_in_bytes() -> None:
    assert bytes_points(loading(2, 4).bars[0], UNEVEN) == ()


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=40), st.data())
def test_bytes_grow_with_the_bar_and_end_at_the_whole(sizes: list[int], data: st.DataObject) -> None:
    found = checkpoint(*sizes)
    done = data.draw(st.integers(0, len(sizes)))
    before, now = (told_in(loading(some, len(sizes)), found)[0] for some in (max(0, done - 1), done))
    assert now is None or before is None or 0 <= before <= now <= found.total_bytes
    assert told_in(loading(len(sizes), len(sizes)), found)[0] in (None, found.total_bytes)


def test_a_real_log_is_told_in_bytes() -> None:
    sizes = range(1, 65)
    for name, known in (
        ("sglang0523-tp2-capture-ready-sigterm", True),
        ("sglang0518-llama-random-ready-sigterm", True),
        ("sglang059-llama-random-ready-sigterm", False),
        ("vllm032-qwen3-ready-then-sigterm", True),
    ):
        launch = with_bytes(read(*real(name).decode("utf-8", "replace").splitlines()), checkpoint(*sizes))
        bar = target_bar(launch)
        assert bar is not None
        assert bar.progress.bytes_done == (sum(sizes) if known else None)
        assert launch.progress == bar.progress
        assert len(bytes_points(bar, checkpoint(*sizes))) == (len(bar.points) if known else 0)


def test_a_context_tells_a_checkpoint() -> None:
    value: dict[str, object] = {
        "sorted": True,
        "shards": [{"name": "b.safetensors", "size_bytes": 3}, {"name": "a.safetensors", "size_bytes": 2}],
        "index": ["a.safetensors", "b.safetensors", "c.safetensors"],
    }
    found = from_json(value)
    assert found is not None
    assert [(shard.name, shard.size_bytes) for shard in found.shards] == [("a.safetensors", 2), ("b.safetensors", 3)]
    assert [(trouble.name, trouble.what) for trouble in found.troubles] == [("c.safetensors", "missing")]
    assert found.is_sorted is True


def test_a_context_that_says_nothing_is_no_checkpoint() -> None:
    nothing: tuple[object, ...] = (
        None,
        [],
        {},
        "x",
        {"shards": []},
        {"shards": [{"name": "a"}, 5, None, {"size_bytes": 1}]},
    )
    assert [from_json(value) for value in nothing] == [None] * len(nothing)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
SHARDS = st.lists(st.fixed_dictionaries({"name": JSON, "size_bytes": JSON, "header_bytes": JSON}) | JSON)


@given(JSON | st.fixed_dictionaries({"sorted": JSON, "shards": SHARDS | JSON, "index": JSON, "path": JSON}))
def test_no_context_breaks_the_reader(value: object) -> None:
    found = from_json(value)
    assert found is None or with_bytes(loading(1, 2), found).progress is not None
