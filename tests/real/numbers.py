"""A server's figures and its death, as a watching k2tui tells them, against what a client of the server counted."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.real.load import Load
from tests.real.perform import StoryEnds, Table, Theatre, end_everything, perform
from tests.real.scheduler import Scheduler
from tests.real.stage import Event, Stage, claim, wait_for

RUNNING, STREAMS, TOKENS = 4, 7, 1600
"""Streams that the server takes at once, streams that ask, tokens of each: three wait for most of a minute."""
READINGS = 12
WITHIN = 0.05
KILLED_NAMED_S, STOPPED_NAMED_S = 10.0, 15.0
"""A process that is gone is told by its log; one that stands still is only missed."""


def play(theatre: Theatre, table: Table) -> None:
    """One server under load, its scheduler stopped, let go, and killed."""
    print("A server's figures under load")
    stage = theatre.stage("numbers")
    with contextlib.suppress(StoryEnds):
        figures(stage, table)
    end_everything(stage)


def figures(stage: Stage, table: Table) -> None:
    with table.proves("a server that takes four requests at once becomes ready", needed=True) as told:
        code, documents = stage.ask_json("start", "toy", "--set", f"max-running-requests={RUNNING}")
        claim(code == 0, f"exit {code}: {documents[-2:]}")
        told.append(str(documents[-1]["text"]))
    run = stage.newest_run("toy")
    assert run is not None
    with watching(stage) as seen:
        with table.proves("an idle server is ready, and its log hears of us once in half a minute") as told:
            seen.first(
                0.0, lambda event: event["status"] == "ready" and figure(event, "running") == 0, "an idle reading"
            )
            lines = asked(run / "log")
            time.sleep(45)
            claim(asked(run / "log") - lines in (1, 2), f"{asked(run / 'log') - lines} lines in 45 s")
            told.append(f"{asked(run / 'log') - lines} line in 45 s")
        with Load(stage.port, STREAMS, TOKENS) as load:
            under_load(seen, load, table)
            stopped(run, seen, table)
        killed(stage, run, seen, table)


def under_load(seen: Seen, load: Load, table: Table) -> None:
    """The figures against the client's own, over the same seconds."""
    with table.proves("tok/s, running and queue are within 5 % of what the client counted", needed=True) as told:
        wait_for(lambda: load.running_at(time.time()) == RUNNING, "four streams that run")
        began = time.time()
        readings = wait_for(lambda: enough(steady(seen, began)), "readings by a counter", patience_s=90)
        pairs = []
        for event in readings:
            until = float(str(event["figures_at"]))
            since = until - float(str(figure(event, "rate_window_s")))
            mine = (load.tokens_by(until) - load.tokens_by(since)) / (until - since)
            pairs.append((float(str(figure(event, "decode_tokens_per_s"))), mine))
            claim(figure(event, "running") == load.running_at(until), f"running: {event}, {load.running_at(until)}")
            claim(figure(event, "waiting") == load.waiting_at(until), f"queue: {event}, {load.waiting_at(until)}")
        off = [abs(theirs / mine - 1) for theirs, mine in pairs]
        claim(median(off) <= WITHIN, f"tok/s (k2tui, client): {[(round(a, 1), round(b, 1)) for a, b in pairs]}")
        last = readings[-1]
        told.append(
            f"{pairs[-1][0]:.1f} tok/s against {pairs[-1][1]:.1f}; off by {median(off):.1%} in the middle and "
            f"{max(off):.1%} at most, in {len(pairs)} readings; {figure(last, 'running')} run, "
            f"{figure(last, 'waiting')} wait; by {figure(last, 'source')} and {figure(last, 'decode_source')}"
        )
    with table.proves("percentiles of the window are there") as told:
        event = seen.first(0.0, lambda event: bool(figure(event, "itl")), "inter-token latencies")
        itl = figure(event, "itl")
        assert isinstance(itl, dict)
        claim(itl["count"] > 0 and 0 < itl["p50_s"] <= itl["p99_s"], f"{itl}")
        told.append(f"ITL p50 {itl['p50_s'] * 1000:.0f} ms, p99 {itl['p99_s'] * 1000:.0f} ms, {itl['count']} of them")


def stopped(run: Path, seen: Seen, table: Table) -> None:
    """SIGSTOP while requests run and wait: the log says nothing of it."""
    scheduler = Scheduler.of(run)
    with table.proves("a scheduler that is stopped with requests waiting is named within 15 s", needed=True) as told:
        began = time.time()
        scheduler.send(signal.SIGSTOP)
        event = seen.first(began, lambda event: bool(event["disagreement"]), "a sentence")
        claim(at(event) - began <= STOPPED_NAMED_S, f"after {at(event) - began:.1f} s")
        told.append(f"after {at(event) - began:.1f} s: {event['disagreement']}")
    with table.proves("it is called hung, and ready again when it goes on") as told:
        event = seen.first(began, lambda event: event["status"] == "hung", "the word hung")
        told.append(f"hung after {at(event) - began:.1f} s: {event['disagreement']}")
        again = time.time()
        scheduler.send(signal.SIGCONT)
        event = seen.first(again, lambda event: event["status"] == "ready" and not event["disagreement"], "ready")
        told.append(f"ready {at(event) - again:.1f} s after it went on")


def killed(stage: Stage, run: Path, seen: Seen, table: Table) -> None:
    with table.proves("a scheduler that is killed is named within 10 s") as told:
        began = time.time()
        Scheduler.of(run).send(signal.SIGKILL)
        event = seen.first(began, names_death, "a word for it")
        claim(at(event) - began <= KILLED_NAMED_S, f"after {at(event) - began:.1f} s")
        told.append(f"after {at(event) - began:.1f} s: {event['status']}; {event['disagreement'] or event['cause']}")
        event = seen.first(began, lambda event: event["status"] == "crashed", "the word crashed")
        claim(figure(event, "running") is None, f"it still has figures: {event['serving']}")
    wait_for(lambda: not stage.processes(), "the end of the engine", patience_s=60)


@dataclass
class Seen:
    """What a fleet that looks on says, line by line."""

    process: subprocess.Popen[str]
    events: list[Event] = field(default_factory=list)

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def first(self, began: float, holds: Callable[[Event], bool], what: str) -> Event:
        """The first line from a unix time on that holds."""

        def look() -> Event | None:
            claim(self.process.poll() is None, f"{what}: the fleet ended with {self.process.returncode}")
            return next((one for one in list(self.events) if at(one) >= began and holds(one)), None)

        return wait_for(look, what, patience_s=180)


@contextlib.contextmanager
def watching(stage: Stage) -> Iterator[Seen]:
    """A fleet that looks on."""
    with (stage.directory / "aside.txt").open("ab") as aside:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.real.watcher", str(stage.config), "toy"],
            env=stage.environment,
            cwd=stage.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=aside,
            text=True,
        )
    seen = Seen(process)
    reader = threading.Thread(target=seen.read, daemon=True)
    reader.start()
    try:
        yield seen
    finally:
        process.terminate()
        process.wait()
        reader.join()


def at(event: Event) -> float:
    return float(str(event["at"]))


def figure(event: Event, name: str) -> object:
    serving = event["serving"]
    return serving.get(name) if isinstance(serving, dict) else None


def steady(seen: Seen, began: float) -> list[Event]:
    """One line for each reading whose rate is of time in which all four streams ran."""
    found: dict[object, Event] = {}
    for event in list(seen.events):
        window_s, until = figure(event, "rate_window_s"), event["figures_at"]
        counted = figure(event, "decode_source") == "counter"
        if counted and isinstance(window_s, float) and isinstance(until, float) and until - window_s > began:
            found.setdefault(round(until, 2), event)
    return list(found.values())


def enough(readings: list[Event]) -> list[Event]:
    return readings[:READINGS] if len(readings) >= READINGS else []


def names_death(event: Event) -> bool:
    return event["status"] in ("crashed", "hung") or bool(event["disagreement"])


def asked(log: Path) -> int:
    """Answers to us in the server's log."""
    text = log.read_bytes()
    return sum(text.count(b'"GET %b ' % route) for route in (b"/v1/loads", b"/metrics", b"/server_info", b"/v1/models"))


def main() -> int:
    """The figures alone."""
    return perform(play)


if __name__ == "__main__":
    sys.exit(main())
