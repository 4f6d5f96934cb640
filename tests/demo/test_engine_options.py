"""The command line is SGLang's own: its flags, its errors, its resolved values."""

from __future__ import annotations

from pathlib import Path

import pytest

from k2tui.demo.engine.knobs import Knobs, fault_words, parse_fault
from k2tui.demo.engine.options import human_readable_int, last_flag, parse
from k2tui.demo.engine.releases import CLASSIC, CURRENT, Release
from tests.demo.engines import engine
from tests.demo.shapes import REAL


@pytest.mark.parametrize("release", [CURRENT, CLASSIC], ids=lambda release: str(release.version))
def test_what_operators_type_is_taken(release: Release) -> None:
    options = parse(
        release,
        (
            *("--model-path", "m", "--tp-size", "8", "--trust-remote-code", "--mem-fraction-static", "0.9"),
            *("--reasoning-parser", "kimi_k2", "--tool-call-parser", "kimi_k2", "--disable-custom-all-reduce"),
            *("--enable-metrics", "--port", "30001", "--host", "0.0.0.0", "--max-running-requests", "64"),
        ),
    )
    assert options.ranks == 8
    assert options["mem_fraction_static"] == 0.9
    assert options.served_name == "m"
    assert options.launch_command.startswith("--model-path m --tp-size 8")


@pytest.mark.parametrize(
    "words",
    [("--model", "m", "--tensor-parallel-size", "4"), ("--model-path", "m", "--tp", "4"), ("--model=m", "--tp=4")],
)
def test_aliases_and_short_forms_mean_the_same(words: tuple[str, ...]) -> None:
    options = parse(CURRENT, words)
    assert (options.model_path, options.ranks) == ("m", 4)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--no-such-flag", "4"), "unrecognized arguments: --no-such-flag 4"),
        (("--cuda-graph-max-bs", "16"), "ambiguous option: --cuda-graph-max-bs could match"),
        (("--reasoning-parser", "kimi_k9"), "argument --reasoning-parser: invalid choice: 'kimi_k9'"),
        (("--port",), "argument --port: expected one argument"),
        (("--tp-size", "eight"), "argument --tp-size/--tensor-parallel-size: invalid int value: 'eight'"),
    ],
)
def test_argparse_says_what_is_wrong(words: tuple[str, ...], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(CURRENT, ("--model-path", "m", *words))
    assert ended.value.code == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith(f"sglang serve: error: {error}")


def test_the_old_release_calls_itself_by_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(CLASSIC, ("--model-path", "m", "--no-such-flag"))
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "launch_server.py: error: unrecognized arguments: --no-such-flag"


async def test_an_unknown_flag_ends_as_in_the_real_log(tmp_path: Path, kimi: Path) -> None:
    async with engine(tmp_path, kimi, "--no-such-flag", "4") as server:
        assert await server.ended() == 2
        ours = server.log.decode().splitlines()
    real = (REAL / "sglang0523-unknown-flag.log").read_text(encoding="utf-8").splitlines()
    assert ours[-1] == real[-1]
    assert ours[1:3] == real[1:3]
    assert {line.strip() for line in ours if line.startswith("usage:")} == {
        line.strip() for line in real if line.startswith("usage:")
    }


def test_a_bad_flag_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("--model-path", "m", "--tool-call-parser", "kimi_k2")
    with pytest.raises(SystemExit):
        parse(CURRENT, argv, unknown=last_flag(argv))
    assert "unrecognized arguments: --tool-call-parser kimi_k2" in capsys.readouterr().err


def test_the_largest_graph_is_as_asked() -> None:
    assert parse(CURRENT, ("--model-path", "m", "--cuda-graph-max-bs-decode", "16")).decode_sizes == [
        1,
        2,
        4,
        8,
        12,
        16,
    ]
    assert parse(CLASSIC, ("--model-path", "m", "--cuda-graph-max-bs", "8")).decode_sizes == [1, 2, 4, 8]


def test_graphs_can_be_turned_off_in_every_spelling() -> None:
    def graphs(*words: str) -> tuple[bool, bool]:
        options = parse(CURRENT, ("--model-path", "m", *words))
        return options.prefill_graphs, options.decode_graphs

    assert graphs() == (True, True)
    assert graphs("--disable-cuda-graph") == (False, False)
    assert graphs("--disable-prefill-cuda-graph") == (False, True)
    assert graphs("--cuda-graph-backend-decode", "disabled") == (True, False)


def test_sizes_are_read_with_their_letter() -> None:
    assert human_readable_int("64k") == 65536
    assert human_readable_int("100") == 100


@pytest.mark.parametrize("word", fault_words())
def test_every_fault_is_read_as_it_is_written(word: str) -> None:
    assert str(parse_fault(word)) == word


@pytest.mark.parametrize("word", ["oom:x", "stall:args", "nonsense", "port_taken:3"])
def test_a_fault_that_there_is_not_is_refused_with_the_list(word: str) -> None:
    with pytest.raises(ValueError, match="hang_after_ready"):
        parse_fault(word)


def test_nothing_told_is_nothing_special() -> None:
    assert Knobs.of({}) == Knobs()
    with pytest.raises(ValueError, match=r"0\.5\.23"):
        Knobs.of({"K2_DEMO_SGLANG": "0.4"})
