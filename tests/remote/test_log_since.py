"""What a log says of a time is found and thinned on the node, whatever its shell and its tools."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.runs import is_whole
from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin

TOOLS = ("awk", "dd", "grep", "head", "sed", "stat", "tail")
EVERY_SHELL = pytest.mark.parametrize("link", ["dash", "bash", "busybox", "busybox alone"], indirect=True)
BEGAN = datetime(2026, 11, 30, 22)


@pytest.fixture(params=["dash"])
def link(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShellLink:
    """This machine by one of its shells; alone: with busybox's own tools and no others."""
    shell, _, alone = str(request.param).partition(" ")
    tools = shell_bin(shell, tmp_path / "bin")
    if alone:
        for tool in TOOLS:
            (tools / tool).symlink_to(shutil.which("busybox") or "")
        monkeypatch.setenv("PATH", str(tools))
    return ShellLink(tools, env={"HOME": str(tmp_path)})


def stamp(second: float) -> str:
    return (BEGAN + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S")


def decode(second: float, ranks: str = " TP0", rest: str = "") -> str:
    return f"[{stamp(second)}{ranks}] Decode batch, #running-req: 8, gen throughput (token/s): {second}{rest}"


def prefill(second: float) -> str:
    return f"[{stamp(second)} TP0] Prefill batch, #new-seq: 1, #running-req: 8"


def stats(second: float, engine: str = "Engine 000") -> str:
    return (
        f"(APIServer pid=45) INFO {stamp(second)[5:]} [loggers.py:335] {engine}: Avg prompt throughput: 31.0 tokens/s"
    )


def answer(second: float) -> str:
    return f'[{stamp(second)}] INFO:     127.0.0.1:41234 - "POST /v1/chat/completions HTTP/1.1" 200 OK'


async def told(
    link: ShellLink,
    log: Path,
    lines: Iterable[str],
    *,
    since: float,
    until: float,
    every_s: int = 20,
    most: int = 1_000_000,
) -> list[str]:
    log.write_text("".join(f"{line}\n" for line in lines))
    digits = [(BEGAN + timedelta(seconds=second)).strftime("%Y%m%d%H%M%S") for second in (since, until)]
    done = await link.run(script("log_since"), (str(log), *digits, str(every_s), str(most)))
    assert (done.code, done.stderr) == (0, b"")
    assert is_whole(done.stdout)
    return done.stdout.decode().split("\n")[:-2]


@EVERY_SHELL
async def test_only_batch_lines_of_that_time_come_one_in_each_interval(link: ShellLink, tmp_path: Path) -> None:
    lines = [line for second in range(0, 600, 5) for line in (decode(second), answer(second), prefill(second + 1))]
    found = await told(link, tmp_path / "a log", lines, since=100, until=160)
    assert found == [
        *(decode(100), prefill(101), decode(120), prefill(121)),
        *(decode(140), prefill(141), decode(160)),
    ]


@EVERY_SHELL
async def test_each_rank_has_lines_of_its_own(link: ShellLink, tmp_path: Path) -> None:
    ranks = [f" DP{rank} TP{rank}" for rank in range(4)]
    lines = [decode(second, rank) for second in range(0, 60, 2) for rank in ranks]
    found = await told(link, tmp_path / "log", lines, since=0, until=59, every_s=60)
    assert found == [decode(0, rank) for rank in ranks]


@EVERY_SHELL
async def test_milliseconds_in_a_stamp_are_no_rank(link: ShellLink, tmp_path: Path) -> None:
    lines = [decode(second, f".{number}50 TP0") for second in range(20) for number in range(3)]
    assert await told(link, tmp_path / "log", lines, since=0, until=19) == lines[:1]


@EVERY_SHELL
async def test_vllm_is_found_without_a_year(link: ShellLink, tmp_path: Path) -> None:
    lines = [line for second in range(0, 600, 10) for line in (stats(second), stats(second, "Engine 001"))]
    found = await told(link, tmp_path / "log", lines, since=100, until=139)
    assert found == [line for second in (100, 120) for line in (stats(second), stats(second, "Engine 001"))]


def long_log() -> list[str]:
    """Some megabytes: a line of each kind every second."""
    return [line for second in range(30_000) for line in (decode(second), answer(second))]


@EVERY_SHELL
async def test_the_time_is_found_in_a_long_log(link: ShellLink, tmp_path: Path) -> None:
    found = await told(link, tmp_path / "log", long_log(), since=20_000, until=20_059)
    assert found == [decode(second) for second in (20_000, 20_020, 20_040)]


async def test_a_long_log_is_read_from_where_it_matters(link: ShellLink, tmp_path: Path) -> None:
    (link.bin / "dd").write_text(
        "#!/bin/sh\n"
        f"for word; do case $word in skip=*) echo ${{word#skip=}} >>{tmp_path}/reads ;; esac; done\n"
        f'exec {shutil.which("dd")} "$@"\n'
    )
    (link.bin / "dd").chmod(0o755)
    assert await told(link, tmp_path / "log", long_log(), since=20_000, until=20_059)
    reads = [int(block) for block in (tmp_path / "reads").read_text().split()]
    blocks = (tmp_path / "log").stat().st_size / 65_536
    assert len(reads) < 12
    assert reads[-1] / blocks == pytest.approx(2 / 3, abs=0.03)


async def test_one_line_is_never_long(link: ShellLink, tmp_path: Path) -> None:
    (line,) = await told(link, tmp_path / "log", [decode(5, rest="x" * 5000)], since=0, until=9)
    assert len(line) == 400


async def test_of_too_much_the_newest_comes(link: ShellLink, tmp_path: Path) -> None:
    lines = [decode(second) for second in range(2000)]
    found = await told(link, tmp_path / "log", lines, since=0, until=1999, every_s=1, most=1000)
    assert found[1:] == lines[-len(found) + 1 :]
    assert 5 < len(found) < 15


async def test_stamps_in_users_words_do_not_lead_it_astray(link: ShellLink, tmp_path: Path) -> None:
    words = "the meeting of 2031-01-01 10:00:00 is off"
    lines = [line for second in range(4000) for line in (decode(second), words * 5)]
    found = await told(link, tmp_path / "log", lines, since=3000, until=3019)
    assert found == [decode(3000)]


@EVERY_SHELL
@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\x00\xff" * 200_000, b"no stamp\n" * 100_000], ids=["empty", "blank", "bytes", "words"]
)
async def test_a_log_that_says_nothing_gives_nothing(link: ShellLink, tmp_path: Path, content: bytes) -> None:
    log = tmp_path / "log"
    log.write_bytes(content)
    done = await link.run(script("log_since"), (str(log), "20261130220000", "20261130230000", "20", "1000"))
    assert (done.code, done.stdout) == (0, b"k2end\n")


async def test_a_log_that_is_not_there_is_said(link: ShellLink, tmp_path: Path) -> None:
    arguments = ("20261130220000", "20261130230000", "20", "1000")
    for path in (tmp_path / "none", tmp_path):
        assert (await link.run(script("log_since"), (str(path), *arguments))).code == 1
    (tmp_path / "there").write_text(f"{decode(5)}\n")
    done = await link.run(script("log_since"), ("~/there", *arguments))
    assert done.stdout.decode().startswith(decode(5))
