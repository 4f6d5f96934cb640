"""The lost reasoning: a server without its parser, restarted by keys with it, and a bad flag that leads back."""

from __future__ import annotations

import contextlib
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.real.perform import StoryEnds, Table, Theatre, end_everything, perform
from tests.real.stage import Event, Stage, Stream, claim, is_loading_weights, wait_for
from tests.real.terminal import Terminal, terminal

PARSER = "--reasoning-parser qwen3"
TOO_LONG = "--context-length 1000000"
"""More than the model was made for: this build takes the flag and its scheduler refuses it."""

SLOW_SHARD_S = 1.0
"""64 shards, eight at a time: long enough to take the port before they are loaded."""


def play(theatre: Theatre, table: Table) -> None:
    """A restart with another flag, by keys; a roll-back; a port that somebody took meanwhile."""
    print("A restart with other flags, and whether it took")
    for story, slow_shard_s in ((lost_reasoning, 0.0), (taken_port, SLOW_SHARD_S)):
        stage = theatre.stage(story.__name__, slow_shard_s=slow_shard_s)
        with contextlib.suppress(StoryEnds):
            story(stage, table)
        end_everything(stage)


def lost_reasoning(stage: Stage, table: Table) -> None:
    without_parser(stage)
    with table.proves("a server without a reasoning parser starts, and is told what it lacks", needed=True) as told:
        code, documents = stage.ask_json("start", "toy")
        claim(code == 0, f"exit {code}: {documents[-2:]}")
        proof = next(document for document in documents if document["type"] == "proved")
        claim("thinking stands in content" in json.dumps(proof), f"{proof}")
        told.append(str(documents[-1]["text"]))
    first = newest(stage)
    with terminal(stage) as screen:
        by_keys(stage, screen, table, first)
        rolled_back(stage, screen, table)
    with table.proves("every run is remembered with who, why, what changed and what was proved") as told:
        code, documents = stage.ask_json("runs", "toy")
        rows = documents[0]["runs"]
        assert isinstance(rows, list)
        claim(code == 0 and [row["why"] for row in rows] == ["rollback", "restart", "restart", "start"], f"{rows}")
        claim([verified(row) for row in rows] == [True, False, True, True], f"{rows}")
        told.extend(f"{row['run_id']} {row['why']}: {row['changed']}" for row in rows)


def by_keys(stage: Stage, screen: Terminal, table: Table, first: Path) -> None:
    """`r`, one flag added, one confirmation."""
    with table.proves("`r`, `a`, one flag: the sheet shows difference, checks, preflight") as told:
        screen.shows("toy", "READY")
        screen.press("r")
        screen.shows("Restart toy", "flags accepted")
        screen.press("a")
        screen.type(PARSER)
        screen.press("Enter")
        shown = screen.shows("--reasoning-parser", "qwen3", f"port {stage.port}", "flags accepted", "shards")
        told.extend(line.strip() for line in shown.splitlines() if "reasoning-parser" in line or "port " in line)
    with table.proves("a confirmed restart is followed through its phases, and proves its effect", needed=True) as told:
        confirm(screen)
        second = wait_for(lambda: newest(stage) if newest(stage) != first else None, "another run")
        wait_for(lambda: (first / "exit").exists(), "the end of the first run")
        screen.shows("LOADING")
        event = wait_for(lambda: verdict(second), "a verdict in the run's directory")
        claim(event["verified"] is True, f"{event}")
        claim("reasoning apart" in json.dumps(event), f"{event}")
        screen.shows("READY", "reasoning apart")
        told.append(str(event["text"]))


def rolled_back(stage: Stage, screen: Terminal, table: Table) -> None:
    """A flag that this build takes and this model refuses, with roll-back on."""
    before = newest(stage)
    with table.proves("a flag that fails the launch leads back to where it began, verified") as told:
        screen.press("r")
        screen.shows("Restart toy", "flags accepted")
        screen.press("a")
        screen.type(TOO_LONG)
        screen.press("Enter")
        screen.shows("1000000")
        screen.press("F")
        screen.shows("roll back")
        confirm(screen)
        failed = wait_for(lambda: newest(stage) if newest(stage) != before else None, "the failing run")
        wait_for(lambda: newest(stage) != failed, "the run that follows the failed one")
        again = newest(stage)
        found = wait_for(lambda: verdict(again), "the verdict of the roll-back")
        claim(found["verified"] is True, f"{found}")
        screen.shows("rolled back")
        told.append((again / "argv").read_text().split("launch_server ")[1].strip())
        claim(command(again) == command(before), "another command than before")
    with table.proves("the failed run keeps its log and why it failed") as told:
        code, text = stage.ask("logs", "toy", "--run", failed.name)
        claim(code == 0 and "1000000" in text, f"exit {code}: {text[-300:]}")
        told.append(next(line for line in text.splitlines() if "Error" in line and "1000000" in line)[:200])


def taken_port(stage: Stage, table: Table) -> None:
    """Somebody takes the port while the weights load, and answers there as a server would."""
    with table.proves("a launch whose port was taken by a server that answers is never called ready") as told:
        start = Stream.open(stage, "start", "toy", "--json")
        start.event(is_loading_weights, "the weights' bar")
        with impostor(stage.port):
            code = start.end()
        kinds = [str(event["type"]) for event in start.events]
        claim(code == 1 and "proved" not in kinds, f"exit {code}: {start.events[-3:]}")
        told.append(str(start.events[-1]["text"]))


@contextlib.contextmanager
def impostor(port: int) -> Iterator[None]:
    """A server on the port that says yes to everything, in the name of the toy's model."""

    class Yes(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"data": [{"id": "toy"}], "status": "ready", "model_path": "toy"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """It says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Yes) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()


def without_parser(stage: Stage) -> None:
    """The config's toy begins from the base profile."""
    text = stage.config.read_text(encoding="utf-8")
    stage.config.write_text(text.replace('profile = "reason"', 'profile = "base"'), encoding="utf-8")


def confirm(screen: Terminal) -> None:
    """From the rows to the buttons, from Cancel to Restart, and press it."""
    screen.press("Tab", "Right", "Enter")


def newest(stage: Stage) -> Path:
    run = stage.newest_run("toy")
    assert run is not None
    return run


def verdict(run: Path) -> Event | None:
    try:
        found: Event = json.loads((run / "verdict").read_text())
    except (OSError, ValueError):
        return None
    return found


def command(run: Path) -> str:
    return (run / "argv").read_text()


def verified(row: Event) -> object:
    found = row["verdict"]
    return isinstance(found, dict) and found["verified"]


if __name__ == "__main__":
    sys.exit(perform(play))
