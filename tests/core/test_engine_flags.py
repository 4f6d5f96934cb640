"""Known releases: one table."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.builds import Build, Takes
from k2tui.core.engine_flags import ENGINES, release, releases_with, replacement_of, spans, versions
from k2tui.core.engine_flags.rows import flag_row, parse_row
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flag_ages import ages, arguments, is_in_all
from k2tui.core.versions import release as numbers
from tests.core.test_builds import FLAGS


def names(build: Build) -> set[str]:
    return {name for flag in build.flags for name in flag.names}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_releases_stand_in_their_order(engine: str) -> None:
    assert all((numbers(a) or ()) < (numbers(b) or ()) for a, b in pairwise(versions(engine)))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_release_has_no_name_twice(engine: str) -> None:
    for version in versions(engine):
        every = [name for flag in release(engine, version).flags for name in flag.names]
        assert len(every) == len(set(every)) > 100, version
        assert release(engine, version).note is None


@pytest.mark.parametrize(
    ("version", "flags", "fields"),
    [
        ("0.4.6.post5", 145, 143),
        ("0.5.9", 331, 328),
        ("0.5.15", 437, 422),
        ("0.5.23", 531, 546),
    ],
)
def test_a_release_is_whole(version: str, flags: int, fields: int) -> None:
    assert (len(release("sglang", version).flags), len(arguments(version))) == (flags, fields)


@pytest.mark.parametrize(
    ("version", "name", "expected"),
    [
        ("0.5.23", "tp-size", (Takes.ONE, "int", "1", None, ("tensor-parallel-size",))),
        ("0.5.9", "cuda-graph-bs", (Takes.SEVERAL, "int", "None", None, ())),
        ("0.5.23", "trust-remote-code", (Takes.NOTHING, "bool", "False", None, ())),
        ("0.5.9", "log-requests-level", (Takes.ONE, "int", "2", ("0", "1", "2", "3"), ())),
        ("0.4.6.post5", "log-requests-level", (Takes.ONE, "int", "0", ("0", "1", "2"), ())),
        ("0.5.23", "context-length", (Takes.ONE, "size", "None", None, ())),
        ("0.5.23", "model-loader-extra-config", (Takes.ONE, "json", "{}", None, ())),
        ("0.5.9", "schedule-policy", (Takes.ONE, "str", "fcfs", None, ())),
    ],
)
def test_a_flag_is_as_its_release_has_it(version: str, name: str, expected: tuple[object, ...]) -> None:
    flag = next(flag for flag in release("sglang", version).flags if flag.name == name)
    choices = flag.choices if expected[3] is not None else None
    assert (flag.takes, flag.type, flag.default, choices, flag.aliases) == expected


def test_an_old_name_lives_as_long_as_it_lived() -> None:
    assert releases_with("sglang", "cuda-graph-max-bs") == (("0.4.6.post5", "0.5.18"),)
    assert replacement_of("sglang", "cuda-graph-max-bs") == "--cuda-graph-max-bs-decode"
    assert releases_with("sglang", "cuda-graph-max-bs-decode") == (("0.5.15", "0.5.23"),)
    assert replacement_of("sglang", "cuda-graph-max-bs-decode") is None
    assert releases_with("sglang", "no-such-flag") == ()
    assert "cuda-graph-max-bs" in names(release("sglang", "0.5.9"))
    assert "cuda-graph-max-bs" not in names(release("sglang", "0.5.23"))


def test_a_name_that_only_refuses_is_marked() -> None:
    flags = {flag.name: flag for flag in release("sglang", "0.4.6.post5").flags}
    assert flags["enable-flashmla"].refused
    assert flags["enable-flashmla"].replacement == "--attention-backend flashmla"
    assert not flags["enable-ep-moe"].refused


@pytest.mark.parametrize(
    ("asked", "taken"),
    [("0.5.16", "0.5.15"), ("0.5.99", "0.5.23"), ("0.5.9.post1", "0.5.9"), ("0.4.6.post6", "0.4.6.post5")],
)
def test_a_version_between_is_told_by_the_nearest_lower_one(asked: str, taken: str) -> None:
    build = release("sglang", asked)
    assert (build.version, build.how) == (taken, "table")
    assert build.note is None or (asked in build.note and taken in build.note)


@pytest.mark.parametrize("words", [("sglang", "0.4.1"), ("sglang", "newest"), ("lmdeploy", "1.0"), ("vllm", "")])
def test_what_is_before_all_is_said_to_be_unknown(words: tuple[str, str]) -> None:
    with pytest.raises(K2Error) as caught:
        release(*words)
    assert (caught.value.code, caught.value.exit_code) == ("no_release", ExitCode.MISSING)
    assert caught.value.hint


def test_arguments_are_fields_and_flags_are_flags() -> None:
    assert {"tp_size", "disable_cuda_graph", "_radix_eviction_policy_explicitly_set"} < arguments("0.5.23")
    assert not {"config", "monokernel_backend"} & arguments("0.5.23")
    assert (ages("cuda_graph_max_bs"), ages("cuda_graph_max_bs_decode")) == (
        ("0.4.6.post5", "0.5.12"),
        ("0.5.15", None),
    )
    assert is_in_all("tp_size")
    assert not is_in_all("cuda_graph_max_bs")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_table_covers_each_release_without_overlap(engine: str) -> None:
    for place in range(len(versions(engine))):
        found = [row.flag.name for span in spans(engine) if span.first <= place <= span.last for row in span.rows]
        assert len(found) == len(set(found))


@given(FLAGS, st.sampled_from([None, "some_field"]))
def test_a_flag_survives_its_row(flag: object, field: str | None) -> None:
    from dataclasses import asdict, replace

    from k2tui.core.builds import BuildFlag

    assert isinstance(flag, BuildFlag)
    choices = flag.choices if flag.choices and all(flag.choices) else None
    kept = replace(
        flag,
        help=None,
        choices=choices,
        refused=flag.deprecated and flag.refused,
        replacement=(flag.replacement or None) if flag.deprecated else None,
    )
    document = {**asdict(kept), "takes": kept.takes.value, "aliases": list(kept.aliases)}
    document["choices"] = None if kept.choices is None else list(kept.choices)
    row = parse_row(flag_row(document, field))
    assert (row.flag, row.field) == (kept, field)
