from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.flags import arguments, engine_of, flag_value, has_flag, is_flag, with_python
from k2tui.core.settings import FlagValue

SGLANG = ("python3", "-m", "sglang.launch_server")


@pytest.mark.parametrize(
    ("argv", "head"),
    [
        ((*SGLANG, "--tp-size", "8"), SGLANG),
        (("python3", "-u", "-X", "dev", "-m", "x", "--a"), ("python3", "-u", "-X", "dev", "-m", "x")),
        (("python3", "server.py", "--a"), ("python3", "server.py")),
        (("numactl", "-N", "0", *SGLANG, "--a"), ("numactl", "-N", "0", *SGLANG)),
        (("/opt/bin/vllm", "serve", "/m", "--a"), ("/opt/bin/vllm", "serve")),
        (("./start.sh", "--a", "b"), ("./start.sh",)),
        (("python3",), ("python3",)),
        ((), ()),
    ],
)
def test_the_head_is_what_starts_the_engine(argv: tuple[str, ...], head: tuple[str, ...]) -> None:
    taken = arguments(argv)
    assert taken.head == head
    assert taken.argv == argv


@given(
    st.lists(st.sampled_from(["python3", "-m", "x", "--a", "--a=b", "-1", "-", "--", "vllm", "serve", "b c", "-x", ""]))
)
def test_taken_apart_and_put_together_is_the_same(argv: list[str]) -> None:
    assert arguments(argv).argv == tuple(argv)


@pytest.mark.parametrize("token", ["--tp-size", "-x", "-tp", "--a=b c", "--speculative-config.model", "--3d"])
def test_a_flag(token: str) -> None:
    assert is_flag(token)


@pytest.mark.parametrize("token", ["-1", "-.5", "-", "--", "8", "", "- x", "-a b"])
def test_a_value(token: str) -> None:
    assert not is_flag(token)


@pytest.mark.parametrize(
    "spelling", [("--tp-size", "8"), ("--tp-size=8",), ("--tp", "8"), ("--tensor-parallel-size", "8")]
)
@pytest.mark.parametrize("name", ["tp-size", "--tp_size", "tp", "tensor-parallel-size"])
def test_a_value_is_found_in_any_spelling(spelling: tuple[str, ...], name: str) -> None:
    argv = (*SGLANG, "--model", "/m", *spelling, "--chunked-prefill-size", "-1")
    assert flag_value(argv, name) == "8"
    assert flag_value(argv, "chunked-prefill-size") == "-1"


def test_the_last_of_two_counts() -> None:
    assert flag_value((*SGLANG, "--port", "1", "--port", "2"), "port") == "2"


def test_a_switch_is_there_without_a_value() -> None:
    argv = (*SGLANG, "--trust-remote-code", "--tp-size", "8")
    assert flag_value(argv, "trust-remote-code") is None
    assert has_flag(argv, "trust-remote-code")
    assert not has_flag(argv, "enable-metrics")


@pytest.mark.parametrize(
    ("argv", "name", "value", "expected"),
    [
        (("--tp", "8", "--x"), "tp-size", 4, ("--tp-size", "4", "--x")),
        (("--tp=8", "--x"), "tp", 4, ("--tp-size", "4", "--x")),
        (("--a", "1", "--x", "--a=2"), "a", "3", ("--a", "3", "--x")),
        (("--x",), "new_flag", True, ("--x", "--new-flag")),
        (("--x", "--y"), "x", False, ("--y",)),
        (("--bs", "1", "2", "--y"), "bs", (4, 8), ("--bs", "4", "8", "--y")),
        (("--y",), "j", {"a": [True, "é"]}, ("--y", "--j", '{"a": [true, "é"]}')),
        (("--y",), "f", 0.9, ("--y", "--f", "0.9")),
        (("--y",), "f", -1, ("--y", "--f", "-1")),
        (("--y",), "f", "-x", ("--y", "--f=-x")),
        (("--y",), "f", "", ("--y", "--f", "")),
        (("-O", "1", "--y"), "O", "3", ("-O", "3", "--y")),
        (("--trust-remote-code", "word", "--y"), "trust-remote-code", False, ("word", "--y")),
    ],
)
def test_a_flag_is_put_in_its_place(
    argv: tuple[str, ...], name: str, value: FlagValue, expected: tuple[str, ...]
) -> None:
    assert arguments((*SGLANG, *argv)).with_flag(name, value, "sglang").argv == (*SGLANG, *expected)


def test_vllm_takes_its_model_without_a_flag() -> None:
    assert arguments(("vllm", "serve")).with_flag("model", "/m", "vllm").argv == ("vllm", "serve", "/m")
    served = arguments(("vllm", "serve", "/m", "--x")).with_flag("model-path", "/n", "vllm")
    assert served.argv == ("vllm", "serve", "/n", "--x")
    assert flag_value(served.argv, "model") == "/n"


@pytest.mark.parametrize(("engine", "full"), [("sglang", "--tp-size"), ("vllm", "--tensor-parallel-size")])
def test_abbreviations_are_written_out(engine: str, full: str) -> None:
    argv = ("python3", "-m", "x", "--tp", "8", "--tp=4", "--tp-extra")
    expected = ("python3", "-m", "x", full, "8", f"{full}=4", "--tp-extra")
    assert arguments(argv).with_full_names(engine).argv == expected


@pytest.mark.parametrize(
    ("argv", "engine"),
    [
        (SGLANG, "sglang"),
        (("sglang", "serve", "/m"), "sglang"),
        (("/opt/bin/vllm", "serve", "/m"), "vllm"),
        (("python3", "-m", "vllm.entrypoints.openai.api_server"), "vllm"),
        (("python3", "-m", "k2tui.demo.engine", "--model-path", "sglang"), None),
    ],
)
def test_the_engine_is_told_by_what_is_started(argv: tuple[str, ...], engine: str | None) -> None:
    assert engine_of(argv) == engine


@pytest.mark.parametrize(
    ("argv", "python", "expected"),
    [
        (SGLANG, "/opt/bin/python", ("/opt/bin/python", *SGLANG[1:])),
        (("numactl", *SGLANG), "/p", ("numactl", "/p", *SGLANG[1:])),
        (("/usr/bin/python3.11", "x.py"), "/p", ("/p", "x.py")),
        (("vllm", "serve", "/m"), "/opt/bin/python", ("/opt/bin/vllm", "serve", "/m")),
        (("/usr/bin/vllm", "serve"), "/opt/bin/python", ("/usr/bin/vllm", "serve")),
        (("vllm", "serve"), "python3", ("vllm", "serve")),
        (("./run.sh",), "/p", ("./run.sh",)),
    ],
)
def test_another_python_takes_the_place_of_the_commands_own(
    argv: tuple[str, ...], python: str, expected: tuple[str, ...]
) -> None:
    assert with_python(argv, python) == expected
