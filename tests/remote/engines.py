"""Processes that look as an engine's do, started by hand and ended by the test."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

MODULE = """
import os, signal, socket, subprocess, sys

def value(flag):
    return sys.argv[sys.argv.index(flag) + 1]

door = socket.socket()
door.bind(("127.0.0.1", int(value("--port")) if "--port" in sys.argv else 0))
if "LOADS" not in os.environ:
    door.listen()
rest = "import signal; signal.pause()"
for title in os.environ.get("TITLES", "").split(","):
    if title:
        subprocess.Popen([title + " ", "-S", "-E", "-c", rest], executable=os.environ["PROGRAM"])
with open(os.environ["READY"], "w") as ready:
    ready.write(str(door.getsockname()[1]))
signal.pause()
"""
"""Listens on its port (not while it LOADS), has as many children as TITLES names, then writes its port to READY."""


@dataclass
class Engines:
    """Engines of a test; each is a session of its own."""

    directory: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for path in ("sglang/launch_server.py", "vllm/entrypoints/openai/api_server.py"):
            (self.directory / path).parent.mkdir(parents=True)
            (self.directory / path).write_text(MODULE)

    def start(
        self,
        *argv: str,
        titles: str = "",
        env: Mapping[str, str] | None = None,
        log: str | None = "server.log",
        wrapped: bool = False,
    ) -> int:
        """`python3 ARGV...` in the directory; its pid. `wrapped`: below a shell, whose pid it is."""
        number = len(self.processes)
        known = {
            **os.environ,
            "TITLES": titles,
            "READY": str(self.ready(number)),
            "PROGRAM": sys.executable,
            **(env or {}),
        }
        command = ["python3", *argv]
        if wrapped:
            line = f"exec -a python3 {shlex.join([sys.executable, *argv])} & wait"
            command = ["bash", "-c", line]
        with (self.directory / log).open("wb") if log else open(os.devnull, "wb") as out:
            process = subprocess.Popen(
                command,
                executable=None if wrapped else sys.executable,
                env=known,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if log is None else out,
                stderr=subprocess.PIPE if log is None else subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process.pid

    def ready(self, number: int = -1) -> Path:
        """The file that says that it has come up."""
        return self.directory / f"ready-{number if number >= 0 else len(self.processes) - 1}"

    def end(self) -> None:
        """End all of them."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
