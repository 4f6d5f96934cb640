"""Looks at a node's processes as remote/find_servers.sh tells them, made in a line each."""

from __future__ import annotations

from collections.abc import Sequence

SINCE = 1_000_000


def stat(pid: int, parent: int, session: int = 70, name: str = "python3", ticks: int = 400, state: str = "S") -> str:
    """A line of /proc/PID/stat, as far as its start."""
    return f"s {pid}/stat:{pid} ({name}) {state} {parent} {session} {session} {'0 ' * 15}{ticks} 1 2"


def main(pid: int, *argv: str, parent: int = 1, session: int = 70, ticks: int = 400, uid: int = 1000) -> list[str]:
    """What may be a main process: its words, its arguments, its place."""
    words = [word.replace("\n", "\x01") for word in argv]
    return [
        *(f"t {pid}/cmdline:{word}" for word in words if word),
        *(f"a {pid}/cmdline:{word}" for word in words),
        stat(pid, parent, session, ticks=ticks),
        f"u {pid}/status:Uid:\t{uid}\t{uid}\t{uid}\t{uid}",
    ]


def titled(pid: int, title: str, parent: int, session: int = 70) -> list[str]:
    """A worker with a title."""
    return [f"t {pid}/cmdline:{title}", stat(pid, parent, session, "sglang::schedul")]


def told(*parts: str | Sequence[str]) -> bytes:
    """The whole answer."""
    lines = [line for part in parts for line in ([part] if isinstance(part, str) else part)]
    return "\n".join([f"k2found 1 b00t {SINCE} 100.25", *lines, "user 1000 ann", "k2end", ""]).encode()
