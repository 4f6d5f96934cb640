"""Nothing changes but through the gate."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from k2tui.core.errors import ExitCode, K2Error
from k2tui.services.gate import Gate
from tests.fakes.audit import MemoryAudit


class Door:
    """Something that can be changed."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.opened = 0
        self._error = error

    async def open(self) -> str:
        self.opened += 1
        if self._error is not None:
            raise self._error
        return "open"


async def test_a_change_is_written_down_before_and_after() -> None:
    audit, door = MemoryAudit(), Door()
    answer = await Gate(audit).change(door.open, node="gpu-a", subject="kimi", action="start", detail="--tp 8")
    assert answer == "open"
    assert audit.lines == [
        ("gpu-a", "start", "kimi", "--tp 8", "began"),
        ("gpu-a", "start", "kimi", "--tp 8", "done"),
    ]


async def test_read_only_refuses_before_anything_happens() -> None:
    audit, door = MemoryAudit(), Door()
    with pytest.raises(K2Error) as refused:
        await Gate(audit, read_only=True).change(door.open, node="gpu-a", subject="kimi", action="stop")
    assert (refused.value.code, refused.value.exit_code) == ("read_only", ExitCode.USAGE)
    assert (door.opened, audit.lines) == (0, [])


@pytest.mark.parametrize("confirm", [None, "gpu-b"])
async def test_another_nodes_name_confirms_nothing(confirm: str | None) -> None:
    door = Door()
    with pytest.raises(K2Error, match="--confirm gpu-a") as refused:
        await Gate(MemoryAudit()).change(
            door.open, node="gpu-a", subject="kimi", action="stop", confirm_needed="2 run", confirm=confirm
        )
    assert refused.value.code == "confirm_needed"
    assert door.opened == 0


async def test_the_nodes_own_name_confirms() -> None:
    door = Door()
    await Gate(MemoryAudit()).change(
        door.open, node="gpu-a", subject="kimi", action="stop", confirm_needed="2 run", confirm="gpu-a"
    )
    assert door.opened == 1


async def test_what_can_not_be_written_down_is_not_done() -> None:
    door = Door()
    with pytest.raises(OSError, match="No space"):
        await Gate(MemoryAudit(full=True)).change(door.open, node="gpu-a", subject="kimi", action="start")
    assert door.opened == 0


async def test_a_failed_change_is_written_down_with_its_reason() -> None:
    audit = MemoryAudit()
    door = Door(K2Error("port 30000 is taken", code="port_taken"))
    with pytest.raises(K2Error):
        await Gate(audit).change(door.open, node="gpu-a", subject="kimi", action="start")
    assert audit.results == ["began", "failed: port_taken"]


async def stepped(gate: Gate, door: Door) -> AsyncIterator[str]:
    """A change that tells its steps."""
    with gate.changing(node="gpu-a", subject="kimi", action="restart", detail="--tp 8") as ongoing:
        yield "stopped"
        yield await door.open()
        ongoing.result = "failed: not verified"


async def test_a_change_of_many_steps_is_written_down_before_the_first_and_after_the_last() -> None:
    audit = MemoryAudit()
    assert [step async for step in stepped(Gate(audit), Door())] == ["stopped", "open"]
    assert audit.lines == [
        ("gpu-a", "restart", "kimi", "--tp 8", "began"),
        ("gpu-a", "restart", "kimi", "--tp 8", "failed: not verified"),
    ]


async def test_one_that_fails_in_its_middle_says_how_and_one_that_nobody_follows_was_left() -> None:
    audit = MemoryAudit()
    with pytest.raises(K2Error):
        _ = [step async for step in stepped(Gate(audit), Door(K2Error("it lives on", code="still_running")))]
    assert audit.results == ["began", "failed: still_running"]
    steps = stepped(Gate(audit), Door())
    async for _ in steps:
        break
    await steps.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert audit.results[2:] == ["began", "left"]


async def test_read_only_refuses_its_first_step() -> None:
    audit, door = MemoryAudit(), Door()
    with pytest.raises(K2Error, match="read-only"):
        _ = [step async for step in stepped(Gate(audit, read_only=True), door)]
    assert (door.opened, audit.lines) == (0, [])
