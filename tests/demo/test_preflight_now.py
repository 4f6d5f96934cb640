"""A preflight looks who holds the GPUs now: a run that has just begun is its own, one that has just ended is gone."""

from __future__ import annotations

from pathlib import Path

from k2tui.core.errors import ExitCode
from k2tui.core.preflight import Weight
from k2tui.services.fleet import Fleet
from tests.test_gate_table import LESS, SERVER, played, stage


async def gpus(fleet: Fleet) -> list[tuple[Weight, str]]:
    look = await fleet.preflight(SERVER)
    return [(item.weight, item.text) for item in look.items if item.name == "gpus"]


async def test_a_server_that_was_just_restarted_or_stopped_is_nobody_elses(tmp_path: Path) -> None:
    async with stage(tmp_path) as made, made.fleet() as fleet:
        events = await played(fleet.restart(SERVER, LESS))
        assert events[-1].exit_code is ExitCode.DONE, events[-1].text
        assert await gpus(fleet) == [(Weight.FINE, "8 H200 GPUs will be free")]
        await played(fleet.stop(SERVER))
        assert await gpus(fleet) == [(Weight.FINE, "8 H200 GPUs are free")]
