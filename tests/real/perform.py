"""Opens the stage of a real engine, plays what it is given, tells what was proved, clears everything away."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.real import engine
from tests.real.stage import DidNotHold, Stage, free_port
from tests.sshd import Sshd


@dataclass
class Table:
    """What was proved, and what was not. Stories that play at the same time may share it."""

    passed: int = 0
    failed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def proves(self, sentence: str, *, needed: bool = False) -> Iterator[list[str]]:
        """One row; the block may append details. With `needed` a failure ends the story it is part of."""
        began, details = time.monotonic(), list[str]()
        try:
            yield details
        except (DidNotHold, AssertionError, OSError, LookupError, ValueError, subprocess.SubprocessError) as error:
            self._row("FAIL", time.monotonic() - began, sentence, [str(error) or repr(error)])
            if needed:
                raise StoryEnds from error
        else:
            self._row("ok", time.monotonic() - began, sentence, details)

    def _row(self, mark: str, took_s: float, sentence: str, details: list[str]) -> None:
        row = [f"  {mark:<4} {took_s:6.1f} s  {sentence}", *(f"{'':17}{detail[:1500]}" for detail in details)]
        with self._lock:
            self.passed += mark == "ok"
            self.failed += mark != "ok"
            print(*row, sep="\n", flush=True)


class StoryEnds(Exception):
    """What follows in this story could not be true any more."""


@dataclass(frozen=True)
class Theatre:
    """One real sshd and one real engine, for as many stages as the parts want."""

    directory: Path
    engine: engine.Engine
    server: Sshd
    stages: list[Stage] = field(default_factory=list)

    def stage(self, name: str, *, slow_shard_s: float = 0.0) -> Stage:
        """A stage of its own: port, node home, operator's home, config and mark."""
        directory = self.directory / name
        directory.mkdir()
        stage = Stage(directory, self.engine, port=free_port(), mark=secrets.token_hex(8))
        stage.write_config(
            ssh_port=self.server.port,
            user=self.server.user,
            identity=self.server.identity,
            known_hosts=self.server.known_hosts_line,
            slow_shard_s=slow_shard_s,
        )
        self.stages.append(stage)
        return stage


Part = Callable[[Theatre, Table], None]


def perform(*parts: Part) -> int:
    """Play the parts, one after the other; 0 when everything held."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored, for all below too
    try:
        sglang = engine.find_or_install(lambda text: print(f"k2tui: {text}", file=sys.stderr, flush=True))
    except engine.NoEngine as why:
        print(f"make real: {why}", file=sys.stderr)
        return 1
    directory = Path(tempfile.mkdtemp(prefix="k2tui-journey-"))
    table, began = Table(), time.monotonic()
    print(f"SGLang {engine.VERSION} on the CPU, through OpenSSH on loopback")
    try:
        server = Sshd(directory / "sshd")
        theatre = Theatre(directory, sglang, server)
        server.start()
        try:
            for part in parts:
                part(theatre, table)
        finally:
            for stage in theatre.stages:
                end_everything(stage)
            server.stop()
    finally:
        if not table.failed:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"kept for a look: {directory}")
    print(f"{table.passed} passed, {table.failed} failed, in {time.monotonic() - began:.0f} s")
    return 0 if table.passed and not table.failed else 1


def end_everything(stage: Stage) -> None:
    """Nothing that the stage started on the node outlives it, whatever went wrong."""
    for _ in range(100):
        pids = [int(line.split()[0]) for line in stage.processes()]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
