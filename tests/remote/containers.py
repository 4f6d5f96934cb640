"""A stand-in for docker, as far as a run needs it: `run`, `inspect`, `kill` and `top` of one container by its name.

A container is a process in a session of its own, with no variable but those that were asked for by name, and its client
waits for it and passes signals on, as docker's does. What is kept of it lies beside this program, in containers/NAME.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

HOME = Path(sys.argv[0]).resolve().parent / "containers"
WITH_VALUE = {"--name", "--label", "--network", "--ipc", "--pull", "--mount", "--gpus", "-w", "-e"}


def alive(pid: int) -> bool:
    """True while it is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except (OSError, IndexError):
        return False


def run(words: list[str]) -> int:
    """Start the container and stay with it."""
    asked: dict[str, list[str]] = {}
    while words[0].startswith("-"):
        word = words.pop(0)
        asked.setdefault(word, []).append(words.pop(0) if word in WITH_VALUE else "")
    (name,), labels = asked["--name"], dict(label.split("=", 1) for label in asked["--label"])
    env = {known: os.environ[known] for known in ["PATH", *asked.get("-e", [])]}
    process = subprocess.Popen(words[1:], env=env, start_new_session=True, stdin=subprocess.DEVNULL)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda sent, _: process.send_signal(sent))
    kept = HOME / name
    kept.parent.mkdir(exist_ok=True)
    kept.with_suffix(".new").write_text(json.dumps({"pid": process.pid, "labels": labels, "image": words[0], **asked}))
    kept.with_suffix(".new").rename(kept)
    code = process.wait()
    return code if code >= 0 else 128 - code


def main() -> int:
    """Be docker."""
    verb, *words = sys.argv[1:]
    if verb == "run":
        return run(words)
    name = words[0] if verb == "top" else words[-1]
    try:
        kept = json.loads((HOME / name).read_text())
    except OSError:
        print(f"Error: No such container: {name}", file=sys.stderr)
        return 1
    pid = kept["pid"]
    if verb == "inspect":
        print("true" if alive(pid) else "false", pid if alive(pid) else 0, kept["labels"].get("k2tui.run", ""))
    elif verb == "kill":
        signal_name = words[words.index("-s") + 1] if "-s" in words else "KILL"
        os.killpg(pid, getattr(signal, f"SIG{signal_name}"))
    elif verb == "top":
        print("PID", pid, sep="\n")
    return 0


sys.exit(main())
