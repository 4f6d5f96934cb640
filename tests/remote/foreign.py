"""An engine that somebody started by hand, in a shell of theirs, as `nohup ... &` does it."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from k2tui.adapters.scripts import script
from k2tui.core.foreign.stopping import ForeignLook, parse_look
from k2tui.core.runs import ProcessIdentity
from k2tui.core.stop_report import StopReport, parse_stop
from k2tui.services.foreign_stop import stop_foreign_script
from tests.fakes.shell_link import ShellLink
from tests.remote.node import is_alive
from tests.waiting import until

ENGINE = r"""
import json, os, signal, subprocess, sys, time

report, children, manner = sys.argv[1], sys.argv[2].split(","), sys.argv[3]
rest = [sys.executable, "-S", "-E", "-c"]
sleeper = "import signal\n%s\nwhile True: signal.pause()"
deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
pids = {"main": os.getpid()}
for name in filter(None, children):
    title = ["sglang::%s " % name, *rest[1:]]
    plain = sleeper % (deaf if name.startswith("deaf") else "")
    if name.startswith("escaped"):  # forked twice, and a session of its own
        code = "import subprocess,sys\np=subprocess.Popen(%r, executable=sys.executable, start_new_session=True,"
        code += " stdout=subprocess.DEVNULL)\nprint(p.pid)"
        pids[name] = int(subprocess.run([*rest, code % ([*title, plain],)], stdout=subprocess.PIPE, check=True).stdout)
    elif name.startswith("grown"):  # below another one
        code = "import subprocess,sys,signal\np=subprocess.Popen(%r, executable=sys.executable)\n"
        code += "print(p.pid, flush=True)\nsignal.pause()"
        between = subprocess.Popen([*rest, code % ([*title, plain],)], stdout=subprocess.PIPE)
        pids[name + " parent"], pids[name] = between.pid, int(between.stdout.readline())
    else:
        pids[name] = subprocess.Popen([*title, plain], executable=sys.executable).pid
if manner == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if manner == "quits":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, lambda *_: os._exit(0))
with open(report + ".new", "w") as file:
    json.dump(pids, file)
os.rename(report + ".new", report)
while True:
    time.sleep(60)
"""
"""Has the children that are named, says all pids in REPORT, and lives until it is ended."""

SHELL = """\
nohup {command} >{log} 2>&1 &
sleep 600 &
echo $! >{beside}
while read -r line; do :; done
"""


@dataclass
class HandStarted:
    """A login shell on a terminal, with an engine and another job in it."""

    directory: Path
    link: ShellLink
    shell: subprocess.Popen[bytes] | None = None
    pids: dict[str, int] = field(default_factory=dict)
    """Of the engine: `main`, and each child by its name."""
    beside: int = 0
    """Another job of the same shell."""
    terminal: int = -1

    async def start(self, children: str = "", manner: str = "", *, env: dict[str, str] | None = None) -> None:
        """As an operator does it: log in, nohup, and leave the shell open."""
        report, beside = self.directory / "pids", self.directory / "beside"
        self._log_in(report, beside, (children, manner), {**os.environ, **(env or {})})
        await until(lambda: report.exists() and bool(beside.exists() and beside.read_text().strip()))
        self.pids = json.loads(report.read_text())
        self.beside = int(beside.read_text())

    def _log_in(self, report: Path, beside: Path, words: tuple[str, ...], env: dict[str, str]) -> None:
        engine = self.directory / "engine.py"
        engine.write_text(ENGINE)
        command = shlex.join([sys.executable, "-S", "-E", str(engine), str(report), *words])
        line = SHELL.format(command=command, log=self.directory / "log", beside=beside)
        self.terminal, slave = pty.openpty()
        self.shell = subprocess.Popen(
            ["bash", "-c", line], stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=env
        )
        os.close(slave)

    @property
    def main(self) -> ProcessIdentity:
        """The engine's main process."""
        return identity_of(self.pids["main"])

    async def look(self, main: ProcessIdentity | None = None) -> ForeignLook:
        look = parse_look(await self._run(main or self.main, "look"))
        assert look is not None
        return look

    async def stop(self, main: ProcessIdentity | None = None, *, grace_s: int = 20, quit_s: int = 5) -> StopReport:
        report = parse_stop(await self._run(main or self.main, "stop", str(grace_s), str(quit_s)))
        assert report is not None
        assert report.is_whole
        return report

    async def _run(self, main: ProcessIdentity, *words: str) -> bytes:
        args = (str(main.pid), main.boot_id, str(main.start_ticks), *words)
        return (await self.link.run(stop_foreign_script(script), args)).stdout

    def living(self) -> set[str]:
        """The engine's processes that live, by name."""
        return {name for name, pid in self.pids.items() if is_alive(pid)}

    @property
    def others_live(self) -> bool:
        """The shell and its other job, which nobody may touch."""
        assert self.shell is not None
        return self.shell.poll() is None and is_alive(self.beside)

    def end(self) -> None:
        """End everything that the test started."""
        for pid in [*self.pids.values(), *([self.beside] if self.beside else [])]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.shell is not None:
            self.shell.kill()
            self.shell.wait()
        if self.terminal >= 0:
            os.close(self.terminal)


def identity_of(pid: int) -> ProcessIdentity:
    """As the kernel has it now."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(") ")[2].split()
    return ProcessIdentity(Path("/proc/sys/kernel/random/boot_id").read_text().strip(), pid, int(fields[19]))
