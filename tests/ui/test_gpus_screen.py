"""All GPUs on one screen: what is wrong in words, who holds them, which are free, and one of them whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.owners import Owners
from k2tui.core.readings import GpuProcess, GpuReading
from k2tui.ui.gpu_text import gpu_text
from k2tui.ui.screens.gpus import GpuScreen, GpusScreen
from k2tui.ui.spans import text_of
from k2tui.ui.widgets.gpu_columns import columns_of, gpu_line, gpu_rows, measures
from k2tui.ui.widgets.gpu_grid import GpuRows
from tests.fakes.fleet import FakeFleet
from tests.ui.helpers import FakeCopier, app_on, gone, rows_of, screen_text, shows, until
from tests.ui.working import working

SIZES = [(200, 50), (120, 40), (80, 24)]


def line_of(fleet: FakeFleet, index: int, width: int = 160) -> str:
    node = fleet.nodes()[0]
    rows = gpu_rows(node, Owners(node, fleet.servers()), fleet.clock.at)
    return text_of(gpu_line(rows[index], columns_of(measures(rows), width, with_node=False)))


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (0, ("78 %", "88/96 G", "409/600 W", "58 C", "kimi")),
        (1, ("gen5 x8", "PCIe x8 of x16")),
        (2, ("91 C", "hw heat")),
        (3, ("XID 94", "ECC 2")),
        (4, ("✗ GPU is lost",)),
        (5, ("held, no process",)),
        (6, ("0/96 G", "free")),
    ],
)
def test_a_row_says_what_is_so_in_words(index: int, words: Sequence[str]) -> None:
    line = line_of(working(), index)
    assert all(word in line for word in words), line


def test_what_is_wrong_stays_when_the_screen_gets_narrow() -> None:
    assert "hw heat" in line_of(working(), 2, 62)
    assert "2430 MHz" not in line_of(working(), 2, 62)


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_six_shows_the_gpus_of_all_nodes(size: tuple[int, int]) -> None:
    app = app_on(working())
    async with app.run_test(size=size) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, GpusScreen))
        await shows(pilot, "40 GPU", "2 free", "✗ GPU is lost", "PCIe x8 of x16")
        assert {len(row) for row in rows_of(app)} == {size[0]}
        await pilot.press("6", "G")
        await shows(pilot, "gpu-f")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, GpusScreen))


async def test_free_finds_what_nobody_uses_and_escape_shows_all() -> None:
    app = app_on(working())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, GpusScreen))
        await pilot.press("/", *"free", "enter")
        await shows(pilot, "/free  2 of 48")
        assert len([row for row in rows_of(app) if "gpu-a" in row]) == 2
        await pilot.press("escape")
        await shows(pilot, "gpu-b")


async def test_a_command_goes_straight_to_what_it_asks_for() -> None:
    app = app_on(working())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":", *"gpus temp>90", "enter")
        await shows(pilot, "/temp>90  1 of 48", "hw heat")
        await pilot.press(":", *"gpus free", "enter")
        await shows(pilot, "/free  2 of 48")


async def test_the_hottest_come_first_and_the_cursor_stays_on_its_gpu() -> None:
    app = app_on(working())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, GpusScreen))
        rows = app.screen.query_one(GpuRows)
        await pilot.press("j", "o", "t")
        await shows(pilot, "by temperature")
        await until(pilot, lambda: rows.selected is not None and rows.selected.key == "gpu-a/1")
        assert "91 C" in rows.shown[2]
        await pilot.press("o", "t")
        await shows(pilot, "by temperature, backwards")


async def test_marked_gpus_are_counted_and_copied_together() -> None:
    copier = FakeCopier()
    app = app_on(working(), copier=copier)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, GpusScreen))
        await pilot.press("space", "j", "V")
        await shows(pilot, "3 marked")
        await pilot.press("y")
        await until(pilot, lambda: len(copier.texts) == 1)
        assert len(copier.texts[0].splitlines()) == 3


async def test_the_fleet_hears_which_nodes_are_seen_and_whose_processes() -> None:
    fleet = working(12)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, GpusScreen))
        await until(pilot, lambda: fleet.shown.nodes == {"gpu-a", "gpu-b", "gpu-c", "gpu-d", "gpu-e"})
        assert fleet.shown.node == "gpu-a"
        assert fleet.shown.servers == frozenset()
        await pilot.press("G")
        await until(pilot, lambda: fleet.shown.node == "gpu-l")
        assert "gpu-a" not in fleet.shown.nodes


async def test_enter_shows_one_gpu_whole_with_what_the_node_tells_when_asked() -> None:
    fleet = working()
    app = app_on(fleet)
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, GpusScreen))
        await pilot.press("j", "j", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, GpuScreen))
        await shows(
            pilot,
            "GPU 3 of gpu-a",
            "XID 94: a memory error hit one program only",
            "→ Restart the server",
            "Server kimi",
            "root since 11-30 10:50",
            "topology of gpu-a",
        )
        assert fleet.shown.node == "gpu-a"


async def test_details_that_do_not_come_say_why() -> None:
    class Silent(FakeFleet):
        async def gpu_details(self, node: str) -> Sequence[str]:
            raise K2Error("nvidia-smi does not answer", code="silent", subject=node)

    fleet = working()
    fleet.__class__ = Silent
    app: Any = app_on(fleet)
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, GpusScreen))
        await pilot.press("enter")
        await shows(pilot, "not known: nvidia-smi does not answer")


def whole(fleet: FakeFleet, index: int) -> str:
    node = fleet.nodes()[0]
    rows = gpu_text(node, node.reading.gpus[index], Owners(node, fleet.servers()), fleet.clock.at)
    return "\n".join(row if isinstance(row, str) else text_of(row) for row in rows)


def test_memory_without_a_process_is_explained() -> None:
    said = whole(working(), 5)
    assert "94.5 GB are held" in said
    assert "no process is listed" in said
    assert "sudo fuser -v /dev/nvidia5" in said


def test_what_nobody_can_say_is_told_apart_from_none() -> None:
    fleet = working()
    assert "Errors in the kernel's log\nnone" in whole(fleet, 0)
    told = fleet.nodes()[0].reading
    fleet.read("gpu-a", replace(told, xids_unknown_because="no permission to read the kernel's log"))
    assert "unknown: no permission to read the kernel's log" in whole(fleet, 0)
    fleet.read("gpu-a", replace(told, gpu_processes=(), gpu_processes_at=None))
    assert "nobody has asked yet, or the driver can't say" in whole(fleet, 0)
    fleet.read("gpu-a", replace(told, gpu_processes=(GpuProcess("GPU-0", 0, 10.0),)))
    assert "a process of another namespace" in whole(fleet, 0)


async def test_a_gpu_that_is_not_listed_any_more_says_so() -> None:
    fleet = working()
    app = app_on(fleet)
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: isinstance(app.screen, GpusScreen))
        await pilot.press("enter")
        await shows(pilot, "GPU 0 of gpu-a")
        fleet.read("gpu-a", replace(fleet.nodes()[0].reading, gpus=(GpuReading(1, "GPU-1"),)))
        await shows(pilot, "gpu-a does not list GPU 0 any more")


async def test_figures_too_old_to_be_believed_are_not_shown() -> None:
    fleet = working()
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.press("6")
        await shows(pilot, "409/600 W")
        fleet.clock.go(30)
        await gone(pilot, "409/600 W")
        assert "GPU is lost" in screen_text(app)
