"""`make real`: a key press becomes a served model, with a real SGLang behind a real sshd; and what breaks meanwhile."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import sys
import urllib.request
from pathlib import Path

from k2tui.core.launch import PHASES, LaunchPhase
from tests.real import benches, builds, failures, follower, foreign, numbers, restart
from tests.real.perform import StoryEnds, Table, Theatre, end_everything, perform
from tests.real.stage import Event, Stage, Stream, claim, is_loading_weights, wait_for
from tests.sshd import Sshd

REASONING = (
    " Okay, the user wants a short answer. I should check the arithmetic first: 17 times 3 is 51; and 64 shards minus"
    " 51 leaves 13. That looks right, so I can reply now."
)
ANSWER = "\n\nThe answer is 51 of 64, which is about 80%. The remaining 13 shards load in under a second."
SLOW_SHARD_S = 2.0
"""64 shards, eight at a time: a quarter of a minute for what has to happen while they load."""


def main() -> int:
    """Play the journey and then the failures; 0 when everything held."""
    return perform(journey, restart.play, builds.play, failures.play, numbers.play, foreign.play, benches.play)


def journey(theatre: Theatre, table: Table) -> None:
    """The stories with one server, one after the other: each needs the whole machine."""
    print("The journey")
    stage = theatre.stage("journey", slow_shard_s=SLOW_SHARD_S)
    for story in (broken_connection, killed_operator):
        with contextlib.suppress(StoryEnds):
            story(stage, theatre.server, table)
        end_everything(stage)


def broken_connection(stage: Stage, server: Sshd, table: Table) -> None:
    """A start whose SSH connections are cut while the weights load; then what a second start is told; then the end."""
    with table.proves("the config is accepted, and the node is reached", needed=True):
        for command in (("config", "check"), ("nodes",)):
            code, output = stage.ask(*command)
            claim(code == 0, f"k2tui {' '.join(command)}: exit {code}: {output[-300:]}")
    with table.proves("a dry run shows the exact command and does nothing") as told:
        code, documents = stage.ask_json("start", "toy", "--dry-run")
        claim(code == 0 and "--reasoning-parser qwen3" in str(documents[0]["command"]), f"exit {code}: {documents}")
        claim(stage.newest_run("toy") is None, "a dry run made a run directory")
        told.append(str(documents[0]["command"]))

    start = Stream.open(stage, "start", "toy", "--json")
    with table.proves("a start from a profile reaches the weights, with a bar", needed=True) as told:
        loading = start.event(is_loading_weights, "the weights' bar")
        told.append(str(loading["text"]))
    run = stage.newest_run("toy")
    assert run is not None
    tail = Stream.open(stage, "logs", "toy", "-f")
    copy = stage.directory / "copy-of-log"
    with follower.following(stage, run / "log", copy) as reader:
        with table.proves("every SSH connection is cut while the weights load") as told:
            wait_for(lambda: copy.exists() and copy.stat().st_size > 0 and tail.lines, "the first followed bytes")
            cut = server.cut()
            claim(cut, "there was no connection to cut")
            phase = last_phase(start.events)
            claim(phase in ("distributed", "weights"), f"cut too late, in {phase}")
            told.append(f"{cut} sshd processes killed in phase {phase}")
        with table.proves("the start goes on over a new connection, to ready and a real answer", needed=True) as told:
            code = start.end()
            claim(code == 0, f"exit {code}: {start.lines[-3:]}")
            told.append(str(start.events[-1]["text"]))
        with table.proves("the followed log is complete: the same hash as the file's"):
            same = wait_for(lambda: equal_hash(run / "log", copy), "the same bytes", patience_s=60)
            claim(reader.poll() is None, f"the follower ended: {reader.returncode}")
        with table.proves("`logs -f` went on over the cut as well, without a line lost") as told:
            wait_for(lambda: tail.lines == printed_lines(run / "log"), "the same lines", patience_s=60)
            told.append(f"{len(tail.lines)} lines, sha256 {same[:16]}")
    tail.kill(signal.SIGINT)

    with table.proves("the phases came in order, and the bar never went back") as told:
        told.append(" > ".join(phases_in_order(start.events)))
    with table.proves("the proof saw the effect: reasoning apart from content") as told:
        proof = next(event for event in start.events if event["type"] == "proved")
        claim("reasoning" in json.dumps(proof), f"the proof did not look at reasoning: {proof}")
        told.append(str(proof["text"]))
    with table.proves("the served model gives the scripted answer, reasoning_content apart") as told:
        message = ask_the_model(stage.port)
        claim(message.get("reasoning_content") == REASONING, f"reasoning_content: {message}")
        claim(message.get("content") == ANSWER, f"content: {message}")
        told.append(ANSWER.strip())
    with table.proves("`servers` of another k2tui says ready, with this run"):
        row = wait_for(lambda: found_ready(stage), "READY in `servers`", patience_s=60)
        claim(row["run_id"] == run.name, f"{row}")

    with table.proves("a second start on the taken port is refused before it loads") as told:
        code, documents = stage.ask_json("start", "twin")
        claim(code == 1, f"exit {code}: {documents}")
        claim(documents[-1].get("code") in ("preflight", "port_taken", "already_running"), f"{documents[-1]}")
        twin = stage.newest_run("twin")
        claim(twin is None or not (twin / "log").exists(), f"it began to load: {twin}")
        told.append(str(documents[-1]["message"]))
    with table.proves("a second start of the same server is refused") as told:
        code, documents = stage.ask_json("start", "toy")
        claim(code == 1 and documents[-1].get("code") == "already_running", f"exit {code}: {documents[-1]}")
        told.append(str(documents[-1]["message"]))
    stops(stage, table)


def killed_operator(stage: Stage, server: Sshd, table: Table) -> None:
    """k2tui is killed with -9 while the weights load; the next one finds the run as it is."""
    start = Stream.open(stage, "start", "toy", "--json")
    with table.proves("k2tui is killed with -9 while the weights load", needed=True) as told:
        run_id = start.event(lambda event: event["type"] == "started", "the start")["run_id"]
        loading = start.event(is_loading_weights, "the weights' bar")
        start.kill(signal.SIGKILL)
        told.append(str(loading["text"]))
    with table.proves("another k2tui sees the same run and its phase") as told:
        row = stage.server("toy")
        claim(row["run_id"] == run_id, f"another run: {row}")
        claim(row["alive"] is True and row["status"] == "loading", f"{row}")
        claim(row["phase"] in ("weights", "postprocess", "kv_cache"), f"{row}")
        told.append(f"{row['status']} in {row['phase']}, {row['progress']}")
    with table.proves("the server becomes ready with nobody looking") as told:
        row = wait_for(lambda: found_ready(stage), "READY in `servers`")
        claim(row["run_id"] == run_id, f"another run: {row}")
        told.append(f"run {run_id}")
    with table.proves("the whole log is there, from before the kill to after it"):
        run = stage.newest_run("toy")
        assert run is not None
        wait_for(
            lambda: stage.ask("logs", "toy")[1].rstrip("\n").split("\n") == printed_lines(run / "log"), "the same lines"
        )
    stops(stage, table)


def stops(stage: Stage, table: Table) -> None:
    """The end of a story: stopped, and nothing left."""
    with table.proves("stop leaves no process") as told:
        before = len(stage.processes())
        code, documents = stage.ask_json("stop", "toy")
        claim(code == 0, f"exit {code}: {documents[-2:]}")
        left = stage.processes()
        claim(before and not left, f"of {before} processes there are left: {left}")
        row = stage.server("toy")
        claim(row["alive"] is False and row["status"] == "down", f"{row}")
        told.append(f"{before} processes gone; {documents[-1]['text']}")


def last_phase(events: list[Event]) -> str:
    return next((str(event["phase"]) for event in reversed(events) if "phase" in event), "none")


def phases_in_order(events: list[Event]) -> list[str]:
    """The phases of a stream, each once. Claims that they and their bars only went on."""
    seen = list(dict.fromkeys(str(event["phase"]) for event in events if "phase" in event))
    orders = [LaunchPhase(phase).order for phase in seen]
    claim(orders == sorted(orders), f"not in order: {seen}")
    wanted = {"args", "weights", "kv_cache", "ready"}
    claim(wanted <= {*seen}, f"missing {sorted(wanted - {*seen})} in {seen}")
    claim(set(seen) <= {phase.value for phase in PHASES}, f"unknown phase in {seen}")
    done = [int(str(event["done"])) for event in events if event["type"] == "progress" and event["phase"] == "weights"]
    claim(done == sorted(done) and done, f"the bar went back: {done}")
    return seen


def found_ready(stage: Stage) -> Event | None:
    row = stage.server("toy")
    claim(row["status"] not in ("crashed", "hung", "misconfigured", "degraded"), f"{row}")
    return row if row["status"] in ("ready", "unproved") else None


def equal_hash(one: Path, other: Path) -> str | None:
    """The hash of both when it is the same."""
    first, second = (hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, other))
    return first if first == second else None


def printed_lines(log: Path) -> list[str]:
    """A log as `k2tui logs` prints it."""
    return follower.as_printed(log.read_bytes())


def shown_lines(stage: Stage) -> list[str]:
    """A log as `k2tui logs` printed it just now."""
    return stage.ask("logs", "toy")[1].rstrip("\n").split("\n")


def ask_the_model(port: int) -> dict[str, object]:
    body = {"model": "toy", "messages": [{"role": "user", "content": "How far?"}], "max_tokens": 80, "temperature": 0}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        message: dict[str, object] = json.load(reply)["choices"][0]["message"]
        return message


if __name__ == "__main__":
    sys.exit(main())
