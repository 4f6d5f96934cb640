"""A measurement of a server whose truth is known, in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from k2tui.remote.load_spec import read_spec
from k2tui.remote.loadgen import measure

Line = dict[str, Any]


def spec(port: int, target: dict[str, Any] | None = None, **plan: Any) -> bytes:
    """The first line that the generator reads."""
    return json.dumps({"target": {"port": port, **(target or {})}, "plan": plan}).encode()


class Told:
    """The lines of one measurement."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.stop: Callable[[], None] = lambda: None
        """Lets go of the leash."""

    def of(self, kind: str) -> list[Line]:
        return [line for line in self.lines if line["type"] == kind]

    def one(self, kind: str) -> Line:
        (line,) = self.of(kind)
        return line

    @property
    def requests(self) -> list[Line]:
        """Without warm-ups."""
        return [line for line in self.of("request") if not line["is_warm_up"]]

    @property
    def error(self) -> str | None:
        """The code of what ended it."""
        return next((line["code"] for line in self.of("error")), None)


def started(port: int, target: dict[str, Any] | None = None, **plan: Any) -> tuple[Told, asyncio.Task[None]]:
    """A measurement that goes on; what it says so far."""
    told = Told()

    def hold(stop: Callable[[], None]) -> None:
        told.stop = stop

    # Through JSON, as a pipe would have it.
    task = measure(
        read_spec(spec(port, target, **plan)), lambda line: told.lines.append(json.loads(json.dumps(line))), hold
    )
    return told, asyncio.ensure_future(task)


async def measured(port: int, target: dict[str, Any] | None = None, **plan: Any) -> Told:
    """A whole measurement; short requests unless the plan says otherwise."""
    told, task = started(port, target, **{"max_tokens": 100, "repeats": 2, **plan})
    await task
    assert told.lines[-1]["type"] == "end"
    return told
