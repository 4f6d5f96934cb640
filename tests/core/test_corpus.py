"""Every reconstructed launch of tests/logs/corpus is read as its JSON says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from tests.core.logs import corpus_cases
from tests.core.readings import is_right, read_case

NOT_REACHED: Mapping[str, str] = {
    "d302-interleaved-tracebacks-oom-kv-pool": "three stacks are mixed line by line, and nothing says whose a frame is",
}
"""Case to the reason why it is not read right yet; such a test must fail (strict)."""

CASES = {name: (data, want) for name, data, want in corpus_cases()}


def _cases() -> list[object]:
    return [
        pytest.param(
            name, marks=[pytest.mark.xfail(strict=True, reason=NOT_REACHED[name])] if name in NOT_REACHED else []
        )
        for name in CASES
    ]


@pytest.mark.parametrize("name", _cases())
def test_a_case_is_read_right(name: str) -> None:
    data, want = CASES[name]
    assert is_right(read_case(data, want), want) == []


@pytest.mark.parametrize("name", list(CASES))
def test_the_root_cause_stands_on_the_line_that_is_named(name: str) -> None:
    data, want = CASES[name]
    cause = read_case(data, want)["root_cause"]
    if not isinstance(cause, Mapping):
        return
    physical = data.decode("utf-8", "replace").split("\n")[int(cause["line_number"]) - 1]
    kept = "".join(part for part in str(cause["line"]).split(" ") if part.isascii())[-40:]
    assert kept[-10:] in physical.replace(" ", "")


WRAPPED = frozenset(name for name in CASES if name.startswith(("d303", "e003", "e017", "e018", "e019")))
"""Cases that stand in wrappers of their own; what is put around those as well need not be known."""

WRAPPERS: Mapping[str, Callable[[bytes], bytes]] = {
    "compose": lambda line: b"sglang-1  | " + line,
    "containerd": lambda line: b"2026-07-15T08:31:32.436246479+02:00 stderr F " + line,
    "journald": lambda line: b"Aug 22 23:28:44 node-c serve[7431]: " + line,
    "docker": lambda line: b"2026-07-15T08:31:32.436246479Z " + line,
    "kubectl": lambda line: b"[pod/kimi-0/engine] " + line,
    "mpirun": lambda line: b"[1,0]<stderr>:" + line,
    "srun": lambda line: b"0: " + line,
    "colour": lambda line: b"\x1b[32m" + line + b"\x1b[0m",
    "crlf": lambda line: line + b"\r",
}


@pytest.mark.parametrize("wrapper", list(WRAPPERS))
def test_what_a_runtime_puts_in_front_changes_nothing(wrapper: str) -> None:
    wrap = WRAPPERS[wrapper]
    for name, (data, want) in CASES.items():
        if name in NOT_REACHED or name in WRAPPED:
            continue
        lines = data.split(b"\n")
        last = lines.pop()
        wrapped = b"".join(wrap(line) + b"\n" for line in lines) + (wrap(last) if last else b"")
        assert is_right(read_case(wrapped, want), want, prefixed=True) == [], name


@pytest.mark.parametrize("name", list(CASES))
def test_a_log_cut_short_anywhere_can_be_read(name: str) -> None:
    data, want = CASES[name]
    for end in range(0, len(data), max(1, len(data) // 50)):
        read_case(data[:end], want)


def test_a_machines_name_in_front_changes_nothing_once_it_is_known() -> None:
    for name, (data, want) in CASES.items():
        lines = data.split(b"\n")
        if name in NOT_REACHED or not all(line.startswith(b"[20") for line in lines[:2]):
            continue  # a name is known from its second record on
        named = b"\n".join(b"gpu07: " + line for line in lines)
        assert is_right(read_case(named, want), want, prefixed=True) == [], name


def docker(line: str) -> str:
    return json.dumps({"log": f"{line}\n", "stream": "stderr"}, separators=(",", ":"))


def test_dockers_own_files_are_read_as_what_was_printed() -> None:
    read = 0
    for name, (data, want) in CASES.items():
        if name in NOT_REACHED or name in WRAPPED or b"\r" in data or want["error_line"] is None:
            continue  # what a redrawn bar looks like there is tested by a case of its own
        lines = [docker(line) for line in data.decode().split("\n")]
        got = read_case("".join(f"{line}\n" for line in lines).encode(), want)
        assert got["kind"] == want["kind"], name
        read += 1
    assert read > 20
