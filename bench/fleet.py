"""The app over a fleet that is live: CPU, memory, bytes to the terminal, and keys while a quarter of it is dead."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figures import Figure, percentile
from bench.nodes import ENGINE_PORT
from bench.processes import InTerminal, environment, k2tui, process_cpu_s

WATCHED_S = 45.0
SETTLED_S = 40.0
"""After the first frame: by then every server was read, proved and asked, and what is out of sight has slowed down."""
CPU_LIMITS_PERCENT = {16: 3.0, 64: 8.0}
MEMORY_LIMIT_MB = 100.0
"""At 16 nodes."""
DEAD_S = 12.0
"""Long enough for the dead to be stale, and to be called again and again."""
KEYS = 200
KEY_P99_LIMIT_MS = 50.0
COLUMNS, ROWS = 200, 50
_PRESSES = (("j", "b"), ("k", "a"))
"""A key, and the node that is selected by it."""


def sixteen() -> Iterator[Figure]:
    """16 nodes of 8 GPUs, each with a server."""
    yield from _steady(16)


def sixty_four() -> Iterator[Figure]:
    """64 of them."""
    yield from _steady(64)


def dying() -> Iterator[Figure]:
    """A quarter of 64 nodes falls silent: packets are dropped, nothing is closed."""
    with shown(64) as (nodes, app):
        alive = _keys_to_paint(app)
        nodes.say(f"cut {nodes.count // 4}")
        time.sleep(DEAD_S)
        dead = _keys_to_paint(app)
        what = "from a key to its paint, 64 nodes"
        yield Figure(f"{what}, 99th of {KEYS}", percentile(alive, 99), "ms", KEY_P99_LIMIT_MS)
        yield Figure(f"{what}, a quarter dead, median", percentile(dead, 50), "ms")
        yield Figure(f"{what}, a quarter dead, 99th of {KEYS}", percentile(dead, 99), "ms", KEY_P99_LIMIT_MS)


class Nodes:
    """Played nodes in a process of their own."""

    def __init__(self, count: int, home: Path) -> None:
        self.count, self._home = count, home
        command = [sys.executable, "-m", "bench.nodes", str(count), str(home)]
        self._process = subprocess.Popen(
            command, env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._hears("ready")

    def say(self, words: str) -> None:
        """Tell it, and wait until it has done so."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()
        self._hears(words.partition(" ")[0])

    def _hears(self, word: str) -> None:
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        if said != word:
            raise RuntimeError(f"the played nodes said {said!r} instead of {word!r}")

    @property
    def engine_port(self) -> int:
        """Where the HTTP side of all their servers is."""
        return int((self._home / ENGINE_PORT).read_text(encoding="ascii"))

    def cpu_s(self) -> float:
        """Of the process so far."""
        return process_cpu_s(self._process.pid)

    def close(self) -> None:
        """Its stdin closes: it ends."""
        self._process.communicate()


@contextmanager
def shown(count: int) -> Iterator[tuple[Nodes, InTerminal]]:
    """So many nodes, and the app on its fleet screen, settled."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        nodes = Nodes(count, home)
        try:
            command = k2tui("--config", str(home / "config.toml"))
            with InTerminal(command, environment(home), columns=COLUMNS, rows=ROWS) as app:
                app.wait_for(rb"READY")
                time.sleep(SETTLED_S)
                yield nodes, app
        finally:
            nodes.close()


def busy_percent(app: InTerminal) -> tuple[float, float]:
    """(share of a core, bytes/s to the terminal) of an app for as long as it is watched."""
    cpu, size, began = app.cpu_s(), app.size, time.monotonic()
    time.sleep(WATCHED_S)
    took = time.monotonic() - began
    return (app.cpu_s() - cpu) / took * 100, (app.size - size) / took


def _steady(count: int) -> Iterator[Figure]:
    """The fleet screen is on, and nothing is pressed."""
    with shown(count) as (nodes, app):
        played, began = nodes.cpu_s(), time.monotonic()
        cpu_percent, bytes_per_s = busy_percent(app)
        took = time.monotonic() - began
        what = f"{count} nodes × 8 GPUs at 2 s"
        yield Figure(what, cpu_percent, "% of a core", CPU_LIMITS_PERCENT[count])
        yield Figure(f"{what}, memory", app.rss_mb(), "MB", MEMORY_LIMIT_MB if count == 16 else None)
        yield Figure(f"{what}, to the terminal", bytes_per_s, "bytes/s")
        yield Figure(f"{what}, the process that plays them", (nodes.cpu_s() - played) / took * 100, "% of a core")


def _keys_to_paint(app: InTerminal) -> list[float]:
    """The better one of two rounds: what the machine did meanwhile counts little."""
    rounds = [[_key_to_paint(app, number) for number in range(KEYS)] for _ in "12"]
    return min(rounds, key=lambda waits: percentile(waits, 99))


def _key_to_paint(app: InTerminal, number: int) -> float:
    """Milliseconds from a cursor key to the first bytes of what it selects."""
    key, node = _PRESSES[number % 2]
    time.sleep(random.uniform(0.05, 0.25))  # a person's pace, out of step with the paints
    before = app.size
    pressed = app.press(key)
    selected = rb"kimi-%b(?:\x1b\[[0-9;]*m| )*on(?:\x1b\[[0-9;]*m| )*gpu-%b" % (node.encode(), node.encode())
    _, painted = app.wait_for(selected, after=before)
    return (painted - pressed) * 1000
