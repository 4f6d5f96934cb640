"""The app in a terminal: keys while a log pours in, a quiet minute, a log of a gigabyte."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, percentile
from bench.intake import busy_server
from bench.processes import InTerminal, environment, k2tui

LINES_PER_S = 100_000
KEYS = 200
"""In each of two rounds, of which the better one counts. An even number: the last one follows the end again."""
CATCH_UP_LIMIT_S = 1.0
HELPS = 10
DEAF_S = 0.5
"""A screen that has just opened does not hear keys for 300 ms."""
KEY_P99_LIMIT_MS = 50.0
LOG_MEMORY_LIMIT_MB = 64.0
IDLE_S = 20.0
IDLE_CPU_LIMIT_PERCENT = 0.5
IDLE_BYTES_LIMIT_PER_S = 200.0
IDLE_RSS_LIMIT_MB = 80.0
GIGABYTE = 1 << 30
TAIL_LIMIT_S = 0.3

HELP_IS_OPEN = rb"Quit from anywhere"
LOG_LINE = rb"Prefill batch|Decode batch|POST"
LAST = b"the-last-line-of-the-log"
LAST_LINE = b"[2026-11-02 10:01:00 TP0] " + LAST + b"\n"


def under_load() -> Iterator[Figure]:
    """A log grows by 100,000 lines a second, all of them followed by the app, while an operator presses keys."""
    with tempfile.TemporaryDirectory() as folder:
        home, log = Path(folder), Path(folder) / "busy.log"
        log.write_bytes(busy_server(1000))
        with InTerminal(k2tui("watch", str(log)), environment(home)) as app:
            app.wait_for(LOG_LINE)
            quiet_mb = app.rss_mb()
            seconds = 180.0
            with subprocess.Popen(
                [sys.executable, "-m", "bench.writer", str(log), str(LINES_PER_S), str(seconds)],
                env=environment(home),
                stdout=subprocess.PIPE,
                text=True,
            ) as writer:
                try:
                    size, began, spent = log.stat().st_size, time.monotonic(), app.cpu_s()
                    rounds = [
                        [_key_to_paint(app, "f", (rb"still", rb"follow")[n % 2]) for n in range(KEYS)] for _ in "12"
                    ]
                    waits = min(rounds, key=lambda waits: percentile(waits, 99))
                    helps = []
                    for _ in range(HELPS):
                        helps.append(_key_to_paint(app, "?", HELP_IS_OPEN))
                        time.sleep(DEAF_S)
                        _key_to_paint(app, "\x1b", LOG_LINE)
                    took = time.monotonic() - began
                    lines = (log.stat().st_size - size) / (len(busy_server(3000)) / 3000)
                    busy = (app.cpu_s() - spent) / took
                finally:
                    writer.terminate()
            before, ended = app.size, time.monotonic()
            with log.open("ab") as out:
                out.write(b"\n" + LAST_LINE)  # the writer may have been cut in the middle of a line
            _, caught_up = app.wait_for(LAST, after=before)
            written = log.read_bytes().count(b"\n")
            app.wait_for(f"{written:,} lines".replace(",", "[^0-9]{1,3}").encode(), after=before, patience_s=5)
            yield Figure("lines written a second meanwhile", lines / took, "lines/s", 0.9 * LINES_PER_S, at_least=True)
            yield Figure("all of them on screen after the last one", caught_up - ended, "s", CATCH_UP_LIMIT_S)
            yield Figure("key to paint under that load, median", percentile(waits, 50), "ms")
            yield Figure("key to paint under that load, 99th percentile", percentile(waits, 99), "ms", KEY_P99_LIMIT_MS)
            yield Figure("the help screen opens under that load, median", percentile(helps, 50), "ms")
            yield Figure("CPU of the app under that load", busy * 100, "% of a core")
            yield Figure("more memory for that log", app.rss_mb() - quiet_mb, "MB", LOG_MEMORY_LIMIT_MB)


def _key_to_paint(app: InTerminal, key: str, shows: bytes) -> float:
    """Milliseconds from a key to the first bytes of what it shows."""
    time.sleep(random.uniform(0.05, 0.25))  # a person's pace, out of step with the paints
    before = app.size
    pressed = app.press(key)
    _, painted = app.wait_for(shows, after=before)
    return (painted - pressed) * 1000


def idle() -> Iterator[Figure]:
    """A finished log on screen: nothing changes."""
    with tempfile.TemporaryDirectory() as folder:
        home, log = Path(folder), Path(folder) / "done.log"
        log.write_bytes(busy_server(1000) + LAST_LINE)
        with InTerminal(k2tui("watch", str(log)), environment(home)) as app:
            app.wait_for(LAST)
            _settled(app)
            cpu, size, began = app.cpu_s(), app.size, time.monotonic()
            time.sleep(IDLE_S)
            took = time.monotonic() - began
            yield Figure("idle", (app.cpu_s() - cpu) / took * 100, "% of a core", IDLE_CPU_LIMIT_PERCENT)
            yield Figure("idle, to the terminal", (app.size - size) / took, "bytes/s", IDLE_BYTES_LIMIT_PER_S)
            yield Figure("idle, memory", app.rss_mb(), "MB", IDLE_RSS_LIMIT_MB)


def _settled(app: InTerminal) -> None:
    """Wait until the app has done what it does at its beginning: two seconds with next to no CPU."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        before = app.cpu_s()
        time.sleep(2)
        if app.cpu_s() - before < 0.05:
            return
    raise RuntimeError("it never became quiet")


def gigabyte() -> Iterator[Figure]:
    """From the first frame to the last line of a log of 1 GB."""
    with tempfile.TemporaryDirectory() as folder:
        home, log = Path(folder), Path(folder) / "big.log"
        block = busy_server(50_000)
        with log.open("wb") as out:
            for _ in range(GIGABYTE // len(block)):
                out.write(block)
            out.write(LAST_LINE)
        waits = []
        for _ in range(3):
            with InTerminal(k2tui("watch", str(log)), environment(home)) as app:
                _, framed = app.wait_for(rb"big\.log")
                _, shown = app.wait_for(LAST)
                waits.append(shown - framed)
                memory = app.rss_mb()
        size = log.stat().st_size
        yield Figure("1 GB log, from the first frame to its last line", min(waits), "s", TAIL_LIMIT_S)
        yield Figure(
            "1 GB log, memory of the app", memory, "MB", IDLE_RSS_LIMIT_MB + LOG_MEMORY_LIMIT_MB, note=f"{size} bytes"
        )
