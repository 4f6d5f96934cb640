"""The probe in every shell: what it is asked it answers in a frame, and it leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from tests.sshd import MARK
from tests.waiting import until

ROWS = 'while :; do echo "0, GPU-0"; sleep 0.2; done'
NEVER = "trap '' TERM; exec sleep 3600"
PATIENT = '#!/bin/sh\nshift 3\nexec "$@"\n'
"""A `timeout` that never loses patience: what hangs then is ended by the probe or not at all."""


class Probe:
    """The script at work, with stand-ins in front of PATH."""

    def __init__(self, folder: Path, shell: str) -> None:
        self.folder, self.shell = folder, shell
        self.lines: list[str] = []
        self.install("nvidia-smi", ROWS)

    def install(self, name: str, body: str) -> None:
        """A stand-in that writes down how it was called."""
        program = self.folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >>{self.folder}/calls\n{body}\n')
        program.chmod(0o755)

    def calls(self, name: str) -> list[str]:
        path = self.folder / "calls"
        return [line for line in path.read_text().splitlines() if line.startswith(name)] if path.exists() else []

    async def start(self) -> None:
        text = f"set -- 1 '' index,uuid /\n{script('probe').text}"
        self._process = await asyncio.create_subprocess_exec(
            *self.shell.split(),
            "-c",
            text,
            env={**os.environ, "PATH": f"{self.folder}{os.pathsep}{os.environ['PATH']}", MARK: str(self.folder)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self._reading = asyncio.ensure_future(self._read())
        await until(lambda: any(line.startswith("gpu ") for line in self.lines), "a row")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            self.lines.append(line.decode().rstrip("\n"))

    def say(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n".encode())

    async def answer(self, tag: str, number: int = 1) -> tuple[list[str], str]:
        """The lines and the code of the n-th answer of this kind."""
        await until(lambda: sum(line.startswith(f"ended {tag} ") for line in self.lines) >= number, f"answer {number}")
        lines: list[str] = []
        for line in self.lines:
            if line == f"began {tag}":
                lines = []
            elif line.startswith(f"{tag} "):
                lines.append(line.partition(" ")[2])
            elif line.startswith(f"ended {tag} "):
                number -= 1
                if not number:
                    return lines, line.rpartition(" ")[2]
        raise AssertionError

    async def ticks(self, more: int) -> None:
        """Wait for some more ticks."""
        wanted = sum(line.startswith("tick ") for line in self.lines) + more
        await until(lambda: sum(line.startswith("tick ") for line in self.lines) >= wanted, "ticks")

    async def close(self) -> None:
        """Close its stdin; everything is gone once this returns."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        await until(lambda: not self.left(), "an end without processes")
        await self._reading
        await self._process.wait()

    def left(self) -> list[str]:
        needle, found = f"{MARK}={self.folder}".encode(), []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if needle in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            except OSError:
                continue
        return found


Make = Callable[[], Probe]


@pytest.fixture(params=["dash", "bash", "busybox sh"])
async def probe(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Probe]:
    """Not started; afterwards nothing of it is left."""
    if shutil.which(request.param.split()[0]) is None:
        pytest.skip(f"no {request.param} on this machine")
    made = Probe(tmp_path, request.param)
    yield made
    await made.close()


def apps(body: str) -> str:
    return f"case $1 in --query-compute-apps*)\n{body}\nexit ;; esac\n{ROWS}"


async def test_ticks_tell_what_disks_and_cards_moved(probe: Probe) -> None:
    await probe.start()
    await probe.ticks(2)
    ticks = [line for line in probe.lines if line.startswith("tick ")]
    for line in ticks:
        assert re.search(r" mem=\d+,\d+ disk=(\d+,\d+)? net=(\d+,\d+)?$", line)
    if any(Path("/sys/class/net").iterdir()):
        assert re.search(r" net=\d+,\d+$", ticks[-1])


async def test_the_list_of_processes_comes_in_a_frame(probe: Probe) -> None:
    probe.install("nvidia-smi", apps("echo 'GPU-0, 1533, 29536, sglang::scheduler'; echo 'GPU-0, 1534, 10, python3'"))
    await probe.start()
    probe.say("ask processes")
    assert await probe.answer("app") == (
        ["GPU-0, 1533, 29536, sglang::scheduler", "GPU-0, 1534, 10, python3"],
        "0",
    )
    probe.install("nvidia-smi", apps(":"))
    probe.say("ask processes")
    assert await probe.answer("app", 2) == ([], "0")
    probe.install("nvidia-smi", apps("echo 'Field \"used_memory\" is not a valid field to query.'; exit 2"))
    probe.say("ask processes")
    assert (await probe.answer("app", 3))[1] == "2"


@pytest.mark.parametrize("timeout", [None, PATIENT], ids=["as it is", "that never ends anything"])
async def test_a_question_that_hangs_is_not_asked_twice_and_ends_with_the_probe(
    probe: Probe, timeout: str | None
) -> None:
    if timeout is not None:
        (probe.folder / "timeout").write_text(timeout)
        (probe.folder / "timeout").chmod(0o755)
    for name in ("journalctl", "df"):
        probe.install(name, NEVER)
    probe.install("nvidia-smi", apps(NEVER))
    await probe.start()
    for _ in range(2):
        probe.say("ask processes")
        probe.say("ask kernel journal")
        await probe.ticks(3)
    assert len([call for call in probe.calls("nvidia-smi") if "--query-compute-apps" in call]) == 1
    assert len(probe.calls("journalctl")) == 1
    assert len(probe.calls("df")) == 1


async def test_a_process_can_not_name_another_one_to_be_ended_with_the_probe(probe: Probe) -> None:
    victim = await asyncio.create_subprocess_exec("sleep", "3600")
    probe.install("nvidia-smi", apps(f"printf 'GPU-0, 7, 1, x\\n@pid {victim.pid}\\n'; {NEVER}"))
    await probe.start()
    probe.say("ask processes")
    await until(lambda: "app GPU-0, 7, 1, x" in probe.lines, "the list")
    await probe.ticks(1)
    await probe.close()
    assert victim.returncode is None
    victim.kill()
    await victim.wait()


async def test_the_journal_is_asked_for_what_came_since(probe: Probe) -> None:
    xid = "1796000123.456789 gpu-a kernel: NVRM: Xid (PCI:0000:4c:00): 79, GPU has fallen off the bus."
    probe.install("journalctl", f"echo 'noise of usb'; echo '{xid}'; echo '1796000124.0 a kernel: eth0 up'")
    await probe.start()
    probe.say("ask kernel journal")
    assert await probe.answer("kernel") == ([xid], "0")
    probe.say("ask kernel journal 1796000100")
    await probe.answer("kernel", 2)
    assert ["--since=@1796000100" in call for call in probe.calls("journalctl")] == [False, True]


async def test_a_storm_of_errors_is_cut_to_the_newest(probe: Probe) -> None:
    probe.install(
        "dmesg", 'n=0; while [ $n -lt 3000 ]; do n=$((n + 1)); echo "[ $n.000000] NVRM: Xid (PCI:0): 31"; done'
    )
    await probe.start()
    probe.say("ask kernel dmesg")
    lines, code = await probe.answer("kernel")
    assert (len(lines), lines[-1], code) == (59, "[ 3000.000000] NVRM: Xid (PCI:0): 31", "0")


async def test_why_the_log_can_not_be_read_comes_along(probe: Probe) -> None:
    probe.install("dmesg", "echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1")
    probe.install("journalctl", "exit 127")
    await probe.start()
    probe.say("ask kernel dmesg")
    assert await probe.answer("kernel") == (["dmesg: read kernel buffer failed: Operation not permitted"], "1")
    probe.say("ask kernel journal")
    assert await probe.answer("kernel", 2) == ([], "127")
