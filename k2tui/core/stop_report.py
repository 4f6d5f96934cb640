"""What a stop did: what was signalled, what was killed, and what it left alone and why."""

from __future__ import annotations

from dataclasses import dataclass

from k2tui.core.runs import printable


@dataclass(frozen=True, slots=True)
class Found:
    """A process that a stop met."""

    pid: int
    command: str
    """Its command line, cut to 200 characters, as the node prints it."""
    state: str | None = None
    """One letter of /proc/PID/stat; D: it waits in the kernel and can't be killed."""


@dataclass(frozen=True, slots=True)
class StopReport:
    """How a run ended."""

    was_running: bool = False
    """False: nothing of it lived when the stop began."""
    asked: tuple[int, ...] = ()
    """Pids that got SIGTERM from the stop itself."""
    quit: tuple[int, ...] = ()
    """Pids that got SIGQUIT after the grace: the engine ends its own tree on it and writes its crash dump."""
    container: tuple[str, ...] = ()
    """Signals that its container got: TERM, KILL."""
    killed: tuple[Found, ...] = ()
    """What had to be killed after the grace."""
    left: tuple[Found, ...] = ()
    """What lives on although it was killed."""
    outside: tuple[Found, ...] = ()
    """Likely its own, but in another session: named, never killed unasked."""
    refused: tuple[Found, ...] = ()
    """Pids of the run that are somebody else's by now; not signalled."""
    unsupervised: bool = False
    """Its supervisor was gone, so no exit could be recorded."""
    rebooted: bool = False
    """The node was started again since."""
    exit_code: int | None = None
    ended_at: float | None = None
    """Unix time of the node's clock."""
    elapsed_s: float | None = None
    is_whole: bool = False
    """The node's report came to its end."""

    @property
    def sentence(self) -> str:
        """One sentence for a person."""
        said = [self._end()]
        if self.quit:
            said.append("it did not end within the grace and was asked to quit at once")
        if "KILL" in self.container:
            said.append("its container had to be killed")
        if self.killed:
            said.append(f"{len(self.killed)} had to be killed: {_named(self.killed)}")
        if self.unsupervised:
            said.append("its supervisor was gone, so its exit code is unknown")
        if self.refused:
            said.append(f"not signalled, because the pid is another process now: {_named(self.refused)}")
        if self.outside:
            said.append(f"left alone outside of its session: {_named(self.outside)}")
        return "; ".join(said)

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "was_running": self.was_running,
            "asked_pids": list(self.asked),
            "quit_pids": list(self.quit),
            "container_signals": list(self.container),
            "killed": [_json(found) for found in self.killed],
            "left": [_json(found) for found in self.left],
            "outside": [_json(found) for found in self.outside],
            "refused": [_json(found) for found in self.refused],
            "unsupervised": self.unsupervised,
            "rebooted": self.rebooted,
            "exit_code_of_server": self.exit_code,
            "stop_s": self.elapsed_s,
        }

    def _end(self) -> str:
        if self.rebooted:
            return "the node was started again since, nothing of it runs"
        took = "" if self.elapsed_s is None else f" after {self.elapsed_s:.0f} s" if self.elapsed_s else " at once"
        code = "" if self.exit_code is None else f" with exit {self.exit_code}"
        if self.left:
            return f"still running{took}: {_named(self.left)}"
        return f"stopped{took}{code}" if self.was_running else f"was not running any more{code}"


def parse_stop(output: bytes) -> StopReport | None:
    """The report of remote/stop.sh; None when the run's directory is gone."""
    lines = [line.split(" ") for line in output.decode("utf-8", "replace").split("\n") if line]
    words = [line[0] for line in lines]
    if "absent" in words:
        return None
    exits = [line for line in lines if line[0] == "exit" and len(line) == 3 and all(map(str.isdecimal, line[1:]))]
    elapsed = [line for line in lines if line[0] == "elapsed" and len(line) == 2 and line[1].isdecimal()]
    return StopReport(
        was_running=not {"not_running", "rebooted"} & set(words),
        asked=tuple(found.pid for found in _found(lines, "term")),
        quit=tuple(found.pid for found in _found(lines, "quit")),
        container=tuple(line[1] for line in lines if line[0] == "container" and line[1:2] in (["TERM"], ["KILL"])),
        killed=_found(lines, "kill"),
        left=_found(lines, "left", has_state=True),
        outside=_found(lines, "outside"),
        refused=_found(lines, "reused"),
        unsupervised="unsupervised" in words,
        rebooted="rebooted" in words,
        exit_code=int(exits[-1][1]) if exits else None,
        ended_at=float(exits[-1][2]) if exits else None,
        elapsed_s=float(elapsed[-1][1]) if elapsed else None,
        is_whole=words[-1:] == ["k2end"],
    )


def _found(lines: list[list[str]], word: str, *, has_state: bool = False) -> tuple[Found, ...]:
    mine = [line for line in lines if line[0] == word and len(line) > 1 and line[1].isdecimal()]
    if has_state:
        return tuple(Found(int(line[1]), printable(" ".join(line[3:])), "".join(line[2:3]) or None) for line in mine)
    return tuple(Found(int(line[1]), printable(" ".join(line[2:]))) for line in mine)


def _named(found: tuple[Found, ...]) -> str:
    shown = [f"pid {one.pid}" + (f" ({one.command[:60]})" if one.command else "") for one in found[:5]]
    return ", ".join([*shown, *([f"{len(found) - 5} more"] if len(found) > 5 else [])])


def _json(found: Found) -> dict[str, object]:
    return {"pid": found.pid, "command": found.command, "state": found.state}
