"""Where panes go: each screen says it in numbers, and this puts them there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.geometry import Offset, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

Places = Mapping[str, Region]
"""Widget id to its region; a widget that is not in it is not shown."""

GUTTER = 1
"""Blank columns between panes side by side."""


class PlacedLayout(Layout):
    """Puts each child where a function of the screen's size says."""

    name = "placed"

    def __init__(self, places: Callable[[Size], Places]) -> None:
        self._places = places

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        places = self._places(size)
        return [
            WidgetPlacement(places[child.id], Offset(), Spacing(), child)
            for child in children
            if child.id is not None and child.id in places
        ]


def stacked(region: Region, heights: Mapping[str, int]) -> dict[str, Region]:
    """Rows below each other; one height may be 0: it takes what is left. Rows that don't fit are left out."""
    fixed = sum(heights.values())
    rest = max(0, region.height - fixed)
    places: dict[str, Region] = {}
    y = region.y
    for name, wanted in heights.items():
        height = min(wanted or rest, region.bottom - y)
        if height > 0:
            places[name] = Region(region.x, y, region.width, height)
            y += height
    return places


def beside(region: Region, left_width: int) -> tuple[Region, Region]:
    """Two columns with a gutter between them."""
    left_width = min(left_width, region.width - GUTTER - 1)
    left = Region(region.x, region.y, left_width, region.height)
    x = region.x + left_width + GUTTER
    return left, Region(x, region.y, region.right - x, region.height)
