"""Is the way to a node good, and is there what k2tui and an engine need? Each finding says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.core.errors import K2Error
from k2tui.core.settings import NodeSettings, ServerSettings
from k2tui.services.doors import Clock, NodeLink, Script

SLOW_SMI_S = 2.0
SKEW_S = 5.0
LITTLE_DISK_BYTES = 5 << 30

WAY = ("name", "reach", "host key", "login")
"""The rungs of a connection, in order."""
_FAILS_AT = {
    "config": "name",
    "no_such_host": "name",
    "refused": "reach",
    "timeout": "reach",
    "lost": "reach",
    "host_key_unknown": "host key",
    "host_key_changed": "host key",
    "login_refused": "login",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    ok: bool | None
    """None: could not be looked at, or good to know only."""
    says: str
    hint: str | None = None


async def examine(
    link: NodeLink, node: NodeSettings, servers: Sequence[ServerSettings], script: Script, clock: Clock
) -> tuple[Finding, ...]:
    """All findings for one node, in the order an operator would look."""
    try:
        await link.connect()
    except K2Error as error:
        return _way(error)
    pairs = dict.fromkeys((server.setup or "", server.python or "") for server in servers if server.log is None)
    pythons = [word for pair in pairs for word in pair]
    try:
        done = await link.run(script, [node.home, "\n".join(node.disks), *pythons], timeout_s=120.0)
    except K2Error as error:
        return (*_way(None), Finding("shell", False, error.message, error.hint))
    found = [*_way(None)]
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        finding = _read(line, clock)
        if finding is not None:
            found.append(finding)
    if not servers:
        found.append(Finding("python", None, "no server of the config runs here", None))
    return tuple(found)


def _way(error: K2Error | None) -> tuple[Finding, ...]:
    """The rungs up to the one that broke."""
    if error is None:
        return tuple(Finding(rung, True, "ok") for rung in WAY)
    broken = _FAILS_AT.get(error.code, "reach")
    found: list[Finding] = []
    for rung in WAY:
        if rung == broken:
            found.append(Finding(rung, False, error.message, error.hint))
            break
        found.append(Finding(rung, True, "ok"))
    return tuple(found)


def _read(line: str, clock: Clock) -> Finding | None:
    """One `<tag> <words>` line of doctor.sh; None for a line it does not know."""
    tag, _, words = line.partition(" ")
    state, _, rest = words.partition(" ")
    match tag:
        case "shell":
            return Finding("shell", True, words)
        case "clock" if state.isdigit():
            skew = int(state) - int(clock.time())  # the node tells whole seconds
            hint = None if abs(skew) < SKEW_S else "times in its logs are off by that much: start an NTP client there"
            return Finding("clock", hint is None, f"{skew:+.0f} s against this machine", hint)
        case "home":
            hint = "set home = in [nodes.*] to a directory that can be written"
            return Finding("home", state == "ok", rest, None if state == "ok" else hint)
        case "proc" | "setsid":
            hint = "servers can't be supervised there: install util-linux and mount /proc"
            return Finding(tag, state == "ok", state, None if state == "ok" else hint)
        case "gpus":
            return _gpus(state, rest)
        case "disk":
            return _disk(state, rest)
        case "python":
            hint = "set setup = or python = in [servers.*] to the engine's own python"
            return Finding("python", state == "ok", rest, None if state == "ok" else hint)
    return None


def _gpus(state: str, rest: str) -> Finding:
    if state == "none":
        return Finding("nvidia-smi", None, "not there: GPU figures are unknown on this node")
    took_ms, _, words = rest.partition(" ")
    took_s = int(took_ms) / 1000 if took_ms.isdigit() else 0.0
    if state != "ok":
        return Finding("nvidia-smi", False, words, "the driver is unwell: look at dmesg for Xid lines")
    slow = took_s > SLOW_SMI_S
    hint = "turn persistence mode on: nvidia-smi -pm 1" if slow else None
    return Finding("nvidia-smi", not slow, f"{words} GPUs in {took_s:.2f} s", hint)


def _disk(state: str, rest: str) -> Finding:
    free_kb, total_kb, path = [*rest.split(" ", 2), "", "", ""][:3]
    if state != "ok" or not free_kb.isdigit() or not total_kb.isdigit():
        return Finding("disk", False, f"{path}: no such file system", "correct disks = in [nodes.*]")
    free, total = int(free_kb) << 10, int(total_kb) << 10
    little = free < LITTLE_DISK_BYTES
    return Finding(
        "disk",
        not little,
        f"{path}: {free / 2**30:.0f} of {total / 2**30:.0f} GiB free",
        "make room: logs and captured data go there" if little else None,
    )
