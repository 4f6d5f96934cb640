"""The activity script tells what real processes of a session do, in each shell that a node may have."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.activity import Look, RankActivity, moving, parse
from k2tui.core.behind import reads
from k2tui.services.activity_watch import activity_script
from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin
from tests.waiting import until

READS = "import itertools\nfor _ in itertools.count():\n    open('/dev/zero', 'rb').read(1 << 22)\n"
SPINS = "while True: pass\n"
RESTS = "import signal\nsignal.pause()\n"

LEADER = """
import os, subprocess, sys
for title, program in zip(sys.argv[1::2], sys.argv[2::2]):
    subprocess.Popen([title + " ", "-S", "-E", "-c", program], executable=sys.executable)
print(os.getpid(), flush=True)
sys.stdin.read()
"""
"""A session whose processes call themselves as an engine's do; it ends with its standard input."""


@dataclass
class Session:
    """Processes in a session of their own."""

    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *named: str) -> int:
        """Titles and programs in turn; the session's number."""
        return self.run([sys.executable, "-S", "-E", "-c", LEADER, *named])

    def run(self, argv: Sequence[str]) -> int:
        pipe = subprocess.PIPE
        process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, start_new_session=True)
        self.processes.append(process)
        return process.pid

    def end(self) -> None:
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.fixture
def sessions() -> Iterator[Session]:
    session = Session()
    yield session
    session.end()


@pytest.fixture(params=["dash", "bash", "busybox"])
def link(request: pytest.FixtureRequest, tmp_path: Path) -> ShellLink:
    return ShellLink(shell_bin(request.param, tmp_path / "bin"))


async def look(link: ShellLink, *args: str) -> Look:
    done = await link.run(activity_script(script), args)
    found = parse(done.stdout)
    assert found is not None, done
    assert done.stderr == b""
    return found


async def names(link: ShellLink, session: int, *wanted: str) -> Look:
    """The look at a session once all of these have their names."""
    found = await look(link, str(session))
    while not set(wanted) <= {one.name for one in found.processes.values()}:
        found = await look(link, str(session))
    return found


async def test_a_rank_that_reads_one_that_spins_and_one_that_rests(link: ShellLink, sessions: Session) -> None:
    titles = [f"sglang::scheduler_TP{number}" for number in range(3)]
    session = sessions.start(titles[0], READS, titles[1], SPINS, titles[2], RESTS)
    before = await names(link, session, *titles)
    found: dict[str | None, RankActivity] = {}
    while not _as_they_are(found):  # a process that has just begun reads its own program
        after = await look(link, str(session))
        moved = moving(before, after)
        found = {} if moved is None else {one.rank: one for one in moved.ranks}
        before = after
    assert not reads(found["TP1"]), "it only spins"


def _as_they_are(found: dict[str | None, RankActivity]) -> bool:
    """The first reads, the second keeps a core, or what it gets of it, busy, the third rests."""
    if not {"TP0", "TP1", "TP2"} <= found.keys():
        return False
    rests = (found["TP2"].cpu, found["TP2"].read_bytes_per_s) == (0.0, 0.0)
    return reads(found["TP0"]) and found["TP1"].cpu > 0.0 and rests


async def test_a_compiler_is_known_by_its_program(link: ShellLink, sessions: Session, tmp_path: Path) -> None:
    for name in ("cicc", "ptxas"):
        shutil.copy(shutil.which("cat") or "", tmp_path / name)
    ours = sessions.run([str(tmp_path / "cicc")])
    theirs = sessions.run([str(tmp_path / "ptxas")])
    await until(lambda: Path(f"/proc/{ours}/comm").read_text() == "cicc\n")
    await until(lambda: Path(f"/proc/{theirs}/comm").read_text() == "ptxas\n")
    found = await look(link, str(ours))
    assert (found.compilers, dict(found.processes)) == (("cicc",), {})
    assert {"cicc", "ptxas"} <= set((await look(link)).compilers), "without a session those of the same user"


async def test_a_session_is_found_by_one_of_its_processes(link: ShellLink, sessions: Session) -> None:
    session = sessions.start("VLLM::Worker_TP1_EP1", RESTS)
    known = await names(link, session, "VLLM::Worker_TP1_EP1")
    worker = next(pid for pid, one in known.processes.items() if one.name.startswith("VLLM"))
    assert await look(link, "", str(worker)) != known, "time has passed"
    assert (await look(link, "", str(worker))).processes.keys() == known.processes.keys()


async def test_a_session_that_is_gone_has_no_processes(link: ShellLink, sessions: Session) -> None:
    session = sessions.start()
    sessions.end()
    found = await look(link, str(session))
    assert (dict(found.processes), found.compilers) == ({}, ())


async def test_time_and_the_hosts_counters_only_grow(link: ShellLink) -> None:
    before = await look(link)
    after = await look(link)
    assert before.boot_id == after.boot_id != ""
    assert after.up_s >= before.up_s > 0
    assert (after.net_bytes or 0) >= (before.net_bytes or 0)
    assert (after.disk_sectors or 0) >= (before.disk_sectors or 0)


async def test_words_that_are_no_numbers_are_refused(link: ShellLink) -> None:
    done = await link.run(activity_script(script), ("1; echo no", ""))
    assert (done.code, done.stdout) == (2, b"")
