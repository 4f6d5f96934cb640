"""Pictures of the launch sheet, one of each kind and size. Look at them when they change."""

from __future__ import annotations

from typing import Any

import pytest

from k2tui.core.preflight import Preflight, PreflightItem, Weight
from k2tui.core.settings import NodeSettings
from k2tui.core.verbs import ProfileChange
from k2tui.ui.screens.sheet import LaunchSheet
from k2tui.ui.sheet_state import Draft
from tests.ui.helpers import FakeCopier, app_on, hear, stands_still, until
from tests.ui.sheets import WELL, SheetFleet, sheet_settings, sheets
from tests.ui.test_sheet_editing import LIVE
from tests.ui.test_snapshots import Snap, pytestmark, size_name

__all__ = ["pytestmark"]
SIZES = [(200, 50), (120, 40), (80, 24)]
TAKEN = PreflightItem("port", Weight.BLOCK, "port 30000 is held by nginx, pid 812", "stop it, or give another port")
NARROW = PreflightItem("disk", Weight.WARN, "disk /data has 2.1 GB left", "the log may not fit")
UNKNOWN = PreflightItem("gpus", Weight.UNKNOWN, "GPU memory not known: no nvidia-smi")
GRAPHS = Draft(profile="graphs")
REFUSED = Draft.of(ProfileChange(profile="graphs", set={"cuda-graph-max-bs": "64"}))
TRY = Draft.of(ProfileChange(run=LIVE, set={"disable-cuda-graph": "false"}, env={"NCCL_PROTO": "LL128"}))


def picture(
    snap: Snap,
    fleet: SheetFleet,
    size: tuple[int, int],
    draft: Draft | None = None,
    *keys: str,
    ascii_only: bool = False,
    **options: Any,
) -> None:
    app = app_on(fleet, copier=FakeCopier(), ascii_only=ascii_only)

    async def settle(pilot: Any) -> None:
        await pilot.pause()
        sheet = LaunchSheet(fleet, "kimi", draft, **options)
        app.push_screen(sheet)
        await hear(pilot, fleet)
        for key in keys:
            await pilot.press(key)
        await until(pilot, lambda: not sheet.look.goes_on and not sheet.is_reading_build)
        await stands_still(pilot)

    assert snap(app, terminal_size=size, run_before=settle)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_restart(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, sheets(), size, GRAPHS, "j")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_blocked(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = sheets()
    fleet.preflights["kimi"] = Preflight((*WELL[:1], TAKEN, NARROW, UNKNOWN))
    picture(snap_compare, fleet, size, REFUSED, "tab", "enter")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_try(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, sheets(), size, TRY, why="try", brief=True)


@pytest.mark.parametrize("size", [(200, 50), (80, 24)], ids=size_name)
def test_start(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, sheets(runs=False, build=False), size)


@pytest.mark.parametrize("size", [(200, 50), (80, 24)], ids=size_name)
def test_confirm(snap_compare: Snap, size: tuple[int, int]) -> None:
    always = {"gpu-a": NodeSettings("gpu-a", "gpu-a", confirm="always")}
    picture(snap_compare, sheets(sheet_settings(nodes=always)), size, GRAPHS, "K", "F", "F")


@pytest.mark.parametrize("size", [(200, 50), (80, 24)], ids=size_name)
def test_read_only(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, sheets(sheet_settings(read_only=True)), size)


@pytest.mark.parametrize("size", [(200, 50), (80, 24)], ids=size_name)
def test_adding(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, sheets(), size, None, "a", *"--cuda", "down")


def test_a_wrong_value(snap_compare: Snap) -> None:
    picture(snap_compare, sheets(), (80, 24), None, "a", *"--max-total-tokens 64K", "enter")


def test_rows_alone(snap_compare: Snap) -> None:
    picture(snap_compare, sheets(), (80, 24), GRAPHS, "z")


@pytest.mark.parametrize("theme", ["k2-light", "k2-mono"])
def test_in_the_other_themes(snap_compare: Snap, theme: str) -> None:
    picture(snap_compare, sheets(sheet_settings(theme=theme)), (120, 40), REFUSED)


def test_in_ascii(snap_compare: Snap) -> None:
    picture(snap_compare, sheets(), (80, 24), GRAPHS, ascii_only=True)
