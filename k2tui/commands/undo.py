"""What `k2tui undo` goes back to."""

from __future__ import annotations

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.verbs import ProfileChange
from k2tui.services.fleet import Fleet


async def undo_of(fleet: Fleet, name: str) -> ProfileChange:
    """What an undo starts; K2Error when there is nothing to go back to."""
    await fleet.runs(name)
    plan = fleet.plan(name)
    if plan.undo_to is not None:
        return ProfileChange(run=plan.undo_to)
    raise K2Error(
        f"there is nothing to go back to: {plan.no_way_back or f'no run of {name} with other settings was verified'}",
        code="no_way_back",
        subject=name,
        hint=f"k2tui runs {name} shows them all; k2tui restart {name} --run ID begins from any of them",
        exit_code=ExitCode.MISSING,
    )
