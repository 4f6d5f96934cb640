"""Pictures of the history and events screens, in each size and kind of theme. Look at them when they change."""

from __future__ import annotations

from typing import Any

import pytest

from k2tui.ui.screens.base import K2Screen
from k2tui.ui.screens.events import EventsScreen
from k2tui.ui.screens.history import HistoryScreen
from tests.fakes.fleet import FakeFleet
from tests.ui.helpers import shows, stands_still
from tests.ui.pasts import AppAt, with_a_past
from tests.ui.test_events_screen import AWAY, DISK, HOT, LOST, SLOW, Home, fleet_with
from tests.ui.test_snapshots import SIZES, Snap, pytestmark, size_name

__all__ = ["pytestmark"]


def picture(
    snap: Snap, screen: K2Screen, fleet: FakeFleet, size: tuple[int, int], said: str, *keys: str, **options: Any
) -> None:
    async def settle(pilot: Any) -> None:
        await shows(pilot, said)
        for key in keys:
            await pilot.press(key)
        await stands_still(pilot)

    assert snap(AppAt(screen, fleet, **options), terminal_size=size, run_before=settle)


def all_alerts() -> FakeFleet:
    fleet = fleet_with(HOT, DISK, SLOW, LOST)
    fleet.away = AWAY
    return fleet


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_history(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, HistoryScreen("kimi"), with_a_past(), size, "tok/s total")


def test_history_with_the_cursor(snap_compare: Snap) -> None:
    keys = ["left"] * 14
    picture(snap_compare, HistoryScreen("kimi"), with_a_past(), (120, 40), "tok/s total", *keys)


def test_history_of_a_node(snap_compare: Snap) -> None:
    picture(snap_compare, HistoryScreen("gpu-a", is_node=True), with_a_past(), (200, 50), "CPU of all cores")


@pytest.mark.parametrize("theme", ["k2-light", "k2-mono"])
def test_history_in_the_other_themes(snap_compare: Snap, theme: str) -> None:
    picture(snap_compare, HistoryScreen("kimi"), with_a_past(theme=theme), (120, 40), "tok/s total")


def test_history_in_ascii(snap_compare: Snap) -> None:
    fleet = with_a_past()
    fleet.annotated = fleet.annotated[:1]
    picture(snap_compare, HistoryScreen("kimi"), fleet, (80, 24), "tok/s total", ascii_only=True)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_events_with_alerts(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, EventsScreen(), all_alerts(), size, "not acknowledged")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=size_name)
def test_since_you_left(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, Home(), all_alerts(), size, "Since you left")
