"""A real engine that somebody started by hand: found, followed to ready, left alone, adopted."""

from __future__ import annotations

import contextlib
import getpass
import os
import shlex
import signal
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.real.perform import StoryEnds, Table, Theatre, end_everything, perform
from tests.real.stage import MARK, Event, Stage, claim, free_port, wait_for

SLOW_SHARD_S = 1.0
"""Enough to be seen while it loads."""


@dataclass(frozen=True)
class ByHand:
    """A server as an operator starts it in a shell on the node."""

    stage: Stage
    port: int

    @property
    def name(self) -> str:
        """What k2tui calls it."""
        return f"sglang-{self.port}"

    @property
    def log(self) -> Path:
        return self.stage.directory / "by hand.log"

    @property
    def argv(self) -> list[str]:
        model = str(self.stage.engine.model)
        return [
            *(str(self.stage.engine.python), "-m", "sglang.launch_server", "--model-path", model),
            *("--device", "cpu", "--host", "127.0.0.1", "--port", str(self.port), "--served-model-name", "by hand"),
            *("--max-total-tokens", "8192", "--context-length", "4096", "--mem-fraction-static", "0.5"),
            *("--enable-metrics", "--api-key", "not-for-everybody-1"),
        ]

    def start(self) -> None:
        """`nohup ... > log 2>&1 &`, and the shell is gone."""
        env = {
            **os.environ,
            MARK: self.stage.mark,
            "SGLANG_USE_CPU_ENGINE": "1",
            "TORCH_COMPILE_DISABLE": "1",
            "SLOW_SHARD_S": str(SLOW_SHARD_S),
            "PYTHONPATH": str(self.stage.engine.slow),
            "NCCL_ALGO": "Ring",
            "HF_TOKEN": "hf_tellnobodyaboutthis12345",
        }
        line = f"nohup {shlex.join(self.argv)} >{shlex.quote(str(self.log))} 2>&1 </dev/null &"
        subprocess.run(["sh", "-c", line], env=env, cwd=self.stage.directory, start_new_session=True, check=True)

    def row(self) -> Event | None:
        """What `servers` says of it; None while it says nothing."""
        code, documents = self.stage.ask_json("servers")
        claim(code == 0 and documents, f"servers --json: exit {code}, {documents}")
        rows = documents[0]["servers"]
        assert isinstance(rows, list)
        return next((row for row in rows if row["name"] == self.name), None)

    def row_once(self, *statuses: str) -> Event | None:
        """Its row, when it has one of these statuses."""
        row = self.row()
        claim(row is None or row["status"] not in ("crashed", "hung", "misconfigured"), f"{row}")
        return row if row is not None and row["status"] in statuses else None

    @property
    def answers(self) -> bool:
        """It says which model it serves."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/models")
        request.add_header("Authorization", "Bearer not-for-everybody-1")
        with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=10) as reply:
            return b"by hand" in reply.read()
        return False


def play(theatre: Theatre, table: Table) -> None:
    """The story on a stage of its own; nothing of it is left afterwards."""
    print("A real SGLang that somebody else started")
    stage = theatre.stage("foreign")
    try:
        with contextlib.suppress(StoryEnds):
            found_and_left_alone(ByHand(stage, free_port()), table)
    finally:
        end_everything(stage)


def found_and_left_alone(server: ByHand, table: Table) -> None:
    """From its start by hand to its end by hand."""
    stage = server.stage
    server.start()
    with table.proves("a server that was started by hand is found while it loads, with its argv", needed=True) as told:
        row = wait_for(lambda: server.row_once("loading"), "its row")
        claim((row["foreign"], row["node"], row["user"]) == (True, "here", getpass.getuser()), f"{row}")
        shown = [word if word != "not-for-everybody-1" else "***" for word in server.argv]
        claim(row["argv"] == shown, f"argv {row['argv']}")
        claim((row["port"], row["log"], row["cwd"]) == (server.port, str(server.log), str(stage.directory)), f"{row}")
        env = row["env"]
        claim(isinstance(env, dict) and env["NCCL_ALGO"] == "Ring" and "HF_TOKEN" not in env, f"env {env}")
        told.append(f"{server.name}, pid {row['pid']}, log {row['log']}")
    with table.proves("its log is followed to ready, and its port is seen", needed=True) as told:
        # It answers a moment before its log says so: what is claimed is that the log comes there too.
        row = wait_for(lambda: _if_said_ready(server.row_once("ready", "unproved")), "ready by its log, with its port")
        workers = row["workers"]
        assert isinstance(workers, list)
        titles = [worker["title"] for worker in workers]
        claim("sglang::scheduler" in titles and "sglang::detokenizer" in titles, f"workers {titles}")
        told.append(f"{row['status']}, {row['proof']}; {', '.join(titles)}")
    pid = int(str(row["pid"]))
    for verb in ("stop", "restart", "start"):
        with table.proves(f"`{verb}` of it is refused, and says whose it is") as told:
            code, documents = stage.ask_json(verb, server.name, "--confirm", "here")
            error = documents[-1]
            claim((code, error["type"], error["code"]) == (1, "error", "not_ours"), f"exit {code}: {documents}")
            claim(getpass.getuser() in str(error["message"]) and str(pid) in str(error["message"]), f"{error}")
            told.append(str(error["message"]))
    with table.proves("nothing of it was touched: the same process, and it answers"):
        again = server.row()
        claim(again is not None and again["pid"] == pid and server.answers, f"{again}")
    with table.proves("the lines that adopt it make a config whose command is the same") as told:
        with stage.config.open("a", encoding="utf-8") as config:
            config.write(f"\n{row['adopt_toml']}")
        code, output = stage.ask("config", "check")
        claim(code == 0, f"config check: exit {code}: {output}")
        code, documents = stage.ask_json("start", server.name, "--dry-run")
        plan = documents[0]
        claim(code == 0 and plan["type"] == "plan", f"exit {code}: {documents}")
        command = shlex.split(str(plan["command"]))
        secret = server.argv.index("--api-key")
        claim(command[-len(server.argv) + 2 :] == server.argv[:secret], f"{plan['command']}")
        claim("NCCL_ALGO=Ring" in command, f"{plan['command']}")
        told.append(str(plan["command"]))
    with table.proves("adopted, it is the same row, still somebody else's, and its end is seen") as told:
        row = wait_for(lambda: server.row_once("ready", "unproved"), "its row by its own name")
        claim((row["foreign"], row["pid"]) == (True, pid), f"{row}")
        os.kill(pid, signal.SIGTERM)
        gone = wait_for(lambda: _if_ended(server.row()), "its end")
        told.append(str(gone["status"]))


def _if_listening(row: Event | None) -> Event | None:
    """Its processes are looked at less often than its log: the port may be seen a look later."""
    return row if row is not None and row["listening"] is True else None


def _if_said_ready(row: Event | None) -> Event | None:
    """The same, once its log has come to ready."""
    found = _if_listening(row)
    return found if found is not None and found["phase"] in ("ready", "serving") else None


def _if_ended(row: Event | None) -> Event | None:
    claim(row is not None, "a server of the config has no row")
    return row if row is not None and row["status"] in ("down", "crashed") else None


def main() -> int:
    """This story alone."""
    return perform(play)


if __name__ == "__main__":
    sys.exit(main())
