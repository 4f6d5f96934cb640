"""Real engines that are told to fail: what k2tui says of each while it happens, and of its log afterwards."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from tests.real import broken_models, verdicts
from tests.real.perform import StoryEnds, Table, Theatre, end_everything, perform
from tests.real.scheduler import Scheduler
from tests.real.stage import DidNotHold, Event, Stage, Stream, claim, is_loading_weights, wait_for
from tests.real.verdicts import Verdict

AT_ONCE = 2
"""Servers that work at the same time: most of a start is one core's work. One that stands still does not count."""
SLOW_SHARD_S = 5.0
"""Of the server that is stopped while it loads: 64 shards, eight at a time."""
STEPS = 3
"""Of a bar; fewer say nothing about the time that is left."""
STAMP = "%Y-%m-%d %H:%M:%S"


Story = Callable[[Stage, Table], None]


def play(theatre: Theatre, table: Table) -> None:
    """All stories, each on a stage of its own; nothing of them is left afterwards."""
    print("A real SGLang told to fail")
    stories = (
        port_taken,
        killed_while_serving,
        no_room,
        shard_is_a_pointer,
        shard_is_missing,
        model_not_found,
        unknown_flag,
    )
    slow = theatre.stage("stopped_scheduler", slow_shard_s=SLOW_SHARD_S)
    stages = [theatre.stage(story.__name__) for story in stories]
    still = threading.Event()
    with ThreadPoolExecutor(AT_ONCE) as lanes:
        # The first server is played here, and has one of the lanes until it stands still.
        played: list[Future[object]] = [lanes.submit(still.wait)]
        played += [lanes.submit(_one, story, stage, table) for story, stage in zip(stories, stages, strict=True)]
        try:
            _one(partial(stopped_scheduler, still), slow, table)
            still.set()
            for one in played:
                one.result()
        except BaseException:
            still.set()
            _break_off(played, [slow, *stages])
            raise


def _one(story: Story, stage: Stage, table: Table) -> None:
    try:
        with contextlib.suppress(StoryEnds):
            story(stage, table)
    finally:
        end_everything(stage)


def _break_off(played: list[Future[object]], stages: list[Stage]) -> None:
    """Let no new story begin, and take from those that play what they wait for, until they have ended."""
    for one in played:
        one.cancel()
    while wait(played, timeout=0.5).not_done:
        for stage in stages:
            end_everything(stage)


def model_not_found(stage: Stage, table: Table) -> None:
    _refused(stage, table, "a model path that does not exist", "model-path=/no/such/model")
    _fails(stage, table, "a model path that does not exist", verdicts.MODEL_NOT_FOUND, "model-path=/no/such/model")


def unknown_flag(stage: Stage, table: Table) -> None:
    _refused(stage, table, "an unknown flag", "no-such-flag=1")
    _refused(stage, table, "a flag that this build has no more", "cuda-graph-max-bs=8", "--cuda-graph-max-bs-decode")
    _fails(stage, table, "an unknown flag", verdicts.UNKNOWN_FLAG, "no-such-flag=1")
    with table.proves("`stop` of a server that does not run says so, exit 3"):
        code, documents = stage.ask_json("stop", "toy")
        claim(code == 3 and documents[-1]["type"] == "error", f"exit {code}: {documents}")


def no_room(stage: Stage, table: Table) -> None:
    _fails(stage, table, "no memory for the KV cache", verdicts.NO_ROOM, "mem-fraction-static=0.00001")


def shard_is_a_pointer(stage: Stage, table: Table) -> None:
    model = broken_models.with_a_pointer(stage.engine.model, stage.directory / "model")
    _fails(stage, table, "a shard that is a Git LFS pointer", verdicts.POINTER, f"model-path={model}")


def shard_is_missing(stage: Stage, table: Table) -> None:
    model = broken_models.without_a_shard(stage.engine.model, stage.directory / "model")
    _refused(stage, table, "a shard that is named but not there", f"model-path={model}")
    _fails(stage, table, "a shard that is named but not there", verdicts.SHARD_MISSING, f"model-path={model}")


def port_taken(stage: Stage, table: Table) -> None:
    """The port is free when k2tui looks, and taken while the model loads."""
    says = "a port that another process took meanwhile: `start` says so, after the load"
    with (
        table.proves(says, needed=True) as told,
        Stream.open(stage, "start", "toy", "--json") as start,
        socket.socket() as other,
    ):
        start.event(lambda event: event["type"] == "started", "the start")
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", stage.port))
        other.listen()
        code = start.end()
        claim(code == 1, f"exit {code}: {start.lines[-2:]}")
        claim(b"Load weight end" in _log(stage).read_bytes(), "it failed before the load")
        verdicts.PORT_TAKEN.is_told_by(_failed(start.events), told)
    _log_says(stage, table, "the taken port", verdicts.PORT_TAKEN)


def killed_while_serving(stage: Stage, table: Table) -> None:
    with table.proves("a server to be killed becomes ready", needed=True) as told:
        code, documents = stage.ask_json("start", "toy")
        claim(code == 0, f"exit {code}: {documents[-2:]}")
        told.append(str(documents[-1]["text"]))
    _killed(stage, table, "a scheduler killed while it serves", verdicts.KILLED_SERVING)


def stopped_scheduler(still: threading.Event, stage: Stage, table: Table) -> None:
    """Slow shards; then a scheduler that stands still, goes on, and is killed: all of it while the weights load."""
    with Stream.open(stage, "start", "toy", "--json") as start:
        with table.proves(
            "slow shards: the bar moves, and three steps give a range for what is left", needed=True
        ) as told:
            moved = wait_for(lambda: _steps(start), "three steps of the bar")
            document = _diagnosed(stage)
            claim((document["kind"], document["phase"]) == ("loading", "weights"), f"{document}")
            claim(_detail(document) is None, f"called {_detail(document)}")
            left_s = SLOW_SHARD_S * (64 - _done(document)) / 8
            told.append(f"{moved}, then {_done(document)} of 64; {_time_left(document, left_s)} by `diagnose`")
            told.append(f"{_time_left(_newest_step(start), None)} by `start`")
        run = stage.newest_run("toy")
        assert run is not None
        scheduler = Scheduler.of(run)
        with table.proves(
            "a scheduler that stands still is first healthy, then slow, and no more than that", needed=True
        ) as told:
            scheduler.send(signal.SIGSTOP)
            still.set()
            slow = start.event(lambda event: event["text"] == "weights: slow", "the word slow")
            row, document = stage.server("toy"), _diagnosed(stage)
            claim(slow["kind"] == "loading" and row["status"] == "loading" and row["alive"] is True, f"{slow} {row}")
            claim((document["kind"], _detail(document)) == ("loading", "slow"), f"{document}")
            for silent_s, word, detail in ((20, "healthy", None), (100, "slow", "slow")):
                document = _diagnosed(stage, silent_s=silent_s)
                said = (document["kind"], _word(document), _detail(document))
                claim(said == ("loading", word, detail), f"at {silent_s} s: {document}")
            told.append(f"slow after {_since_progress(start, slow):.0f} s at {_done(document)} of 64")
        with table.proves("it is hung beyond 120 s, by a clock that is set forward") as told:
            document = _diagnosed(stage, silent_s=130)
            verdicts.SILENT.is_told_by(document, told)
            claim(_word(document) == "hung", f"{document}")
        with table.proves("it is hung beyond 120 s, by the clock on the wall") as told:
            code = start.end()
            claim(code == 1, f"exit {code}: {start.lines[-2:]}")
            failed = _failed(start.events)
            verdicts.SILENT.is_told_by(failed, told)
            quiet_s, row = _since_progress(start, failed), stage.server("toy")
            claim(quiet_s >= 120, f"called hung after {quiet_s:.0f} s")
            claim(row["status"] == "hung" and row["alive"] is True, f"{row}")
            told.append(f"after {quiet_s:.0f} s")
    stood = _done(document)
    with table.proves("it goes on: loading, slow by its long pause, and a range again", needed=True) as told:
        scheduler.send(signal.SIGCONT)
        row = wait_for(lambda: _goes_on(stage, stood), "a further step of the bar")
        document = _diagnosed(stage)
        claim(row["status"] == "loading", f"{row}")
        claim((document["kind"], _detail(document)) == ("loading", "slow"), f"{document}")
        told.append(f"{stood}, then {_done(document)} of 64; {_time_left(document, None)}")
    _killed(stage, table, "a scheduler killed while the weights load", verdicts.KILLED_LOADING)


def _refused(stage: Stage, table: Table, what: str, flag: str, *words: str) -> None:
    """What must fail is refused beforehand: nothing is started, not even a run directory is made."""
    with table.proves(f"{what}: refused by the preflight, before anything is started") as told:
        before = stage.newest_run("toy")
        code, documents = stage.ask_json("start", "toy", "--set", flag)
        claim((code, documents[-1].get("code")) == (1, "preflight"), f"exit {code}: {documents[-2:]}")
        said = f"{documents[-1]['message']} {documents[-1]['hint']}"
        claim(all(word in said for word in words), f"{documents[-1]}")
        claim(stage.newest_run("toy") == before, "a run directory was made")
        told.append(str(documents[-1]["message"]))


def _fails(stage: Stage, table: Table, what: str, verdict: Verdict, flag: str) -> None:
    """A start that fails by itself: told by `start`, and by `diagnose` of its log."""
    with table.proves(f"{what}: `start` says what it is, the line, and what to do", needed=True) as told:
        code, documents = stage.ask_json("start", "toy", "--force", "--set", flag)
        claim(code == 1, f"exit {code}: {documents[-2:]}")
        verdict.is_told_by(_failed(documents), told)
    _log_says(stage, table, what, verdict)
    _nothing_left(stage, table, what)


def _killed(stage: Stage, table: Table, what: str, verdict: Verdict) -> None:
    """SIGKILL to the scheduler of the newest run: seen live by `servers`, and by `diagnose` of its log."""
    with table.proves(f"{what}: `servers` says crashed, with the line", needed=True):
        run = stage.newest_run("toy")
        assert run is not None
        Scheduler.of(run).send(signal.SIGKILL)
        row = wait_for(lambda: _row_if(stage, "crashed"), "the end in `servers`")
        claim(re.search(verdict.line, str(row["root_cause"])) and row["phase"] == verdict.phase, f"{row}")
    _nothing_left(stage, table, what)
    _log_says(stage, table, what, verdict)


def _log_says(stage: Stage, table: Table, what: str, verdict: Verdict) -> None:
    with table.proves(f"{what}: `diagnose` of its log says kind, phase, class, line and advice") as told:
        code, documents = stage.ask_json("diagnose", str(_log(stage)))
        claim(code == 1, f"exit {code}: {documents}")
        verdict.is_told_by(documents[0], told)


def _nothing_left(stage: Stage, table: Table, what: str) -> None:
    with table.proves(f"{what}: nothing of it is left on the node"):
        wait_for(lambda: not stage.processes(), "the end of the engine", patience_s=60)
        row = stage.server("toy")
        claim(row["alive"] is False and row["status"] in ("crashed", "misconfigured"), f"{row}")


def _failed(events: list[Event]) -> Event:
    found = next((event for event in events if event["type"] == "failed"), None)
    if found is None:
        raise DidNotHold(f"`start` told of no failure: {events[-2:]}")
    return found


def _log(stage: Stage) -> Path:
    run = stage.newest_run("toy")
    assert run is not None
    return run / "log"


def _diagnosed(stage: Stage, *, silent_s: float | None = None) -> Event:
    """The diagnosis of a live log now, or as it will be once it has been silent for so long."""
    now = datetime.now()
    document = _diagnosed_at(stage, now)
    if silent_s is None:
        return document
    return _diagnosed_at(stage, now + timedelta(seconds=silent_s - float(str(document["silence_s"]))))


def _diagnosed_at(stage: Stage, moment: datetime) -> Event:
    context = stage.directory / "context.json"
    context.write_text(json.dumps({"observed_at": moment.strftime(STAMP), "process_alive": True}), encoding="ascii")
    _, documents = stage.ask_json("diagnose", str(_log(stage)), "--context", str(context))
    return documents[0]


def _detail(document: Event) -> object:
    facts = document["facts"]
    assert isinstance(facts, dict)
    return facts.get("detail")


def _word(document: Event) -> object:
    """What its silence is called."""
    facts = document["facts"]
    assert isinstance(facts, dict)
    return facts.get("silence", {}).get("word")


def _done(document: Event) -> int:
    """Shards of the bar, which is neither at its beginning nor at its end."""
    bar = document["progress"]
    claim(isinstance(bar, dict) and bar["total"] == 64 and 0 < bar["done"] < 64, f"{bar}")
    assert isinstance(bar, dict)
    return int(bar["done"])


def _time_left(document: Event, truth_s: float | None) -> str:
    """The range, in words. Claims that there is one, and that it is not far from the truth where that is known."""
    left = document["eta_s"]
    claim(isinstance(left, dict) and 0 <= left["low"] <= left["high"], f"no range: {document}")
    assert isinstance(left, dict)
    if truth_s is not None:
        claim(left["low"] <= 2 * truth_s and left["high"] >= truth_s / 2, f"{left}, but it is about {truth_s:.0f} s")
    return f"{left['low']} to {left['high']} s left"


def _steps(start: Stream) -> list[int] | None:
    """The steps of the weights' bar, once there are enough for a range."""
    claim(start.process.poll() is None, f"k2tui ended with {start.process.returncode}: {start.lines[-3:]}")
    done = [int(str(event["done"])) for event in start.events if is_loading_weights(event)]
    claim(done == sorted(done), f"the bar went back: {done}")
    steps = [step for step, _ in itertools.groupby(done) if step]
    return steps if len(steps) >= STEPS else None


def _since_progress(start: Stream, event: Event) -> float:
    """Seconds from the last step of the bar to the event."""
    return float(str(event["elapsed_s"])) - float(str(_newest_step(start)["elapsed_s"]))


def _newest_step(start: Stream) -> Event:
    return [event for event in start.events if is_loading_weights(event)][-1]


def _row_if(stage: Stage, status: str) -> Event | None:
    row = stage.server("toy")
    return row if row["status"] == status else None


def _goes_on(stage: Stage, stood: int) -> Event | None:
    row = stage.server("toy")
    bar = row["progress"]
    return row if isinstance(bar, dict) and bar["done"] > stood else None


def main() -> int:
    """The failures alone."""
    return perform(play)


if __name__ == "__main__":
    sys.exit(main())
