"""The stage of the journey: a node behind a real sshd, an operator with a config, k2tui as the operator runs it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.real.engine import Engine

ROOT = Path(__file__).parent.parent.parent
MARK = "K2TUI_JOURNEY"
"""In the environment of every process that the journey starts on the node, so that none can hide."""
PATIENCE_S = 420.0
"""How long anything is waited for before the journey says that it did not come; several times what it takes."""

T = TypeVar("T")
Event = dict[str, object]


class DidNotHold(Exception):
    """A claim that was not true, said in one sentence."""


def claim(holds: object, sentence: str) -> None:
    """The journey's assert."""
    if not holds:
        raise DidNotHold(sentence)


def wait_for(look: Callable[[], T | None], what: str, *, patience_s: float = PATIENCE_S) -> T:
    """The first answer of `look` that is true. Raises DidNotHold when it never comes."""
    end = time.monotonic() + patience_s
    while not (found := look()):
        claim(time.monotonic() < end, f"{what}: did not come in {patience_s:.0f} s")
        time.sleep(0.1)
    return found


@dataclass(frozen=True)
class Stage:
    """Where the journey plays."""

    directory: Path
    engine: Engine
    port: int
    """Of the served model, on loopback."""
    mark: str
    """The value of MARK."""

    @property
    def node_home(self) -> Path:
        return self.directory / "node"

    @property
    def operator_home(self) -> Path:
        return self.directory / "operator"

    @property
    def config(self) -> Path:
        return self.directory / "config.toml"

    def write_config(self, *, ssh_port: int, user: str, identity: Path, known_hosts: str, slow_shard_s: float) -> None:
        """The operator's files: a config with one node and two servers that want the same port, and the host's key."""
        ssh = self.operator_home / ".ssh"
        ssh.mkdir(parents=True, mode=0o700)
        (ssh / "known_hosts").write_text(known_hosts, encoding="ascii")
        serve = (
            f"SGLANG_USE_CPU_ENGINE=1 TORCH_COMPILE_DISABLE=1 {MARK}={self.mark} "
            f"SLOW_SHARD_S={slow_shard_s} PYTHONPATH={self.engine.slow} "
            f"python3 -m sglang.launch_server --model-path {self.engine.model} --device cpu --host 127.0.0.1 "
            "--max-total-tokens 8192 --context-length 4096 --mem-fraction-static 0.5 --enable-metrics"
        )
        self.config.write_text(
            f"""
[nodes.here]
host = "127.0.0.1"
port = {ssh_port}
user = "{user}"
identity = "{identity}"
home = "{self.node_home}"
confirm = "never"

[servers.toy]
node = "here"
python = "{self.engine.python}"
port = {self.port}
profile = "reason"

[servers.twin]
node = "here"
python = "{self.engine.python}"
port = {self.port}
profile = "reason"

[profiles.base]
cmd = "{serve}"

[profiles.reason]
extends = "base"
flags = {{ reasoning-parser = "qwen3", tool-call-parser = "qwen" }}
""",
            encoding="utf-8",
        )

    @property
    def environment(self) -> dict[str, str]:
        """Of k2tui: an operator who has nothing but the config."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "K2TUI_", "SSH_"))}
        below = {
            "CONFIG": ".config",
            "STATE": ".local/state",
            "DATA": ".local/share",
            "CACHE": ".cache",
        }
        homes = {f"XDG_{name}_HOME": str(self.operator_home / folder) for name, folder in below.items()}
        return {**kept, **homes, "HOME": str(self.operator_home), "PYTHONPATH": str(ROOT)}

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "k2tui", "--config", str(self.config), *arguments]

    def ask(self, *arguments: str) -> tuple[int, str]:
        """Run k2tui to its end: its exit code and what it printed on stdout, stderr after it."""
        done = subprocess.run(
            self.command(*arguments),
            env=self.environment,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def ask_json(self, *arguments: str) -> tuple[int, list[Event]]:
        """The same with --json: its exit code and its documents."""
        code, output = self.ask(*arguments, "--json")
        return code, documents(output)

    def server(self, name: str) -> Event:
        """The row of one server, as `k2tui servers --json` says it."""
        code, answer = self.ask_json("servers")
        claim(code == 0 and answer, f"servers --json: exit {code}, {answer}")
        rows = answer[0]["servers"]
        assert isinstance(rows, list)
        return next(row for row in rows if row["name"] == name)

    def newest_run(self, name: str) -> Path | None:
        """The newest run directory of a server on the node."""
        runs = sorted((self.node_home).glob(f"**/runs/{name}/*/"))
        return runs[-1] if runs else None

    def processes(self) -> list[str]:
        """`PID command` of each live process that carries the mark."""
        needle = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if needle in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found.append(f"{entry.name} {command[:80]}")
            except OSError:
                continue
        return found


def documents(output: str) -> list[Event]:
    """JSON lines; anything else is a claim that does not hold."""
    found = []
    for line in output.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            raise DidNotHold(f"not JSON: {line[:200]}") from None
    return found


@dataclass
class Stream:
    """A k2tui that runs on; its lines are gathered as they come. What it says aside goes to a file of the stage."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    _reader: threading.Thread | None = None

    @classmethod
    def open(cls, stage: Stage, *arguments: str) -> Stream:
        with (stage.directory / "aside.txt").open("ab") as aside:
            process = subprocess.Popen(
                stage.command(*arguments),
                env=stage.environment,
                cwd=stage.directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=aside,
                text=True,
                errors="replace",
            )
        stream = cls(process)
        stream._reader = threading.Thread(target=stream._read, daemon=True)
        stream._reader.start()
        return stream

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def events(self) -> list[Event]:
        return documents("\n".join(list(self.lines)))

    def event(self, holds: Callable[[Event], bool], what: str) -> Event:
        """The first event that holds; an end of the stream before it does not."""

        def look() -> Event | None:
            ended = self.process.poll() is not None
            found = next((event for event in self.events if holds(event)), None)
            claim(found or not ended, f"{what}: k2tui ended with {self.process.returncode}: {self.lines[-3:]}")
            return found

        return wait_for(look, what)

    def end(self) -> int:
        """Its exit code, once it ended by itself."""
        wait_for(lambda: self.process.poll() is not None, f"the end of {self.process.args!r}")
        assert self._reader is not None
        self._reader.join()
        return self.process.returncode

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self, number: int = signal.SIGKILL) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.end()


def is_loading_weights(event: Event) -> bool:
    """A step of the weights' bar that is not its end."""
    if event["type"] != "progress" or event.get("phase") != "weights":
        return False
    return "shards" in str(event["label"]) and int(str(event["done"])) < int(str(event["total"]))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
