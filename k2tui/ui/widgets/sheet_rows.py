"""The flags and variables of a launch sheet as a table, or one line each where the screen is narrow."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.ui.setting_rows import WEIGHT_GLYPH, WEIGHT_ROLE, SheetRow
from k2tui.ui.spans import Line, cell, cells, cut, joined, width_of
from k2tui.ui.widgets.flags_pane import KIND_ROLE, setting_line
from k2tui.ui.widgets.pane import Pane

TABLE_WIDTH = 100
"""Columns from which there is room for a table."""
WIDEST_NAME, WIDEST_SOURCE = 34, 15


class SheetRows(Pane):
    """Flags and variables, running against next. The cursor stays on its row when others come and go."""

    title = "Flags and environment"
    lists = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.listed: list[SheetRow] = []
        """The rows in the order in which they stand here."""

    @property
    def selected(self) -> SheetRow | None:
        """The row under the cursor."""
        return self.listed[self.cursor] if self.cursor < len(self.listed) else None

    def select(self, name: str) -> None:
        """Put the cursor on the row of this flag (with dashes) or variable."""
        number = next((at for at, row in enumerate(self.listed) if row.setting.name == name), None)
        if number is not None:
            self.cursor = number
            self.move("here")

    def show_rows(self, rows: Sequence[SheetRow], *, old_title: str, all_of_them: bool = True) -> None:
        """Draw them. Where not all fit, what changes comes first; `all_of_them` False: only that is shown.

        `old_title` says what they are compared with.
        """
        before = self.selected
        is_table = self.inner_width >= TABLE_WIDTH
        room = self.room.height - 1 - is_table
        shown = list(rows) if all_of_them else [row for row in rows if row.is_changed or row.is_blocked]
        if len(shown) > room:
            shown.sort(key=lambda row: (not row.is_changed, not row.matters))
        self.listed = shown
        if before is not None:
            names = [row.setting.name for row in shown]
            self.cursor = names.index(before.setting.name) if before.setting.name in names else self.cursor
        changed = sum(row.is_changed for row in rows)
        info: Line = ((f"{changed} changed", "changed"),) if changed else (("nothing changed", "muted"),)
        hidden = len(rows) - len(shown)
        if hidden:
            info = joined([info, ((f"{hidden} as they are", "muted"),)])
        if is_table:
            widths = _widths(shown, self.inner_width)
            self.heading = (_heading(widths, old_title),)
            body = [_table_row(row, widths) for row in shown]
        else:
            self.heading = ()
            body = _narrow_rows(shown, self.inner_width)
        self.show(body or [(("nothing would change", "muted"),)], info)


Widths = tuple[int, int, int, int, int]
"""Name, old value, new value, source, check."""


def _widths(rows: Sequence[SheetRow], width: int) -> Widths:
    """Names and sources as wide as they are, within bounds; the check gets a third of the rest."""
    name = min(WIDEST_NAME, max((cells(row.setting.name) for row in rows), default=0) + 2)
    source = min(WIDEST_SOURCE, max([6, *(cells(row.given_by) for row in rows)]))
    rest = width - 2 - name - source - 8
    check = max(rest // 3, min(44, rest // 2))
    value = (rest - check) // 2
    return name, value, value, source, check


def _heading(widths: Widths, old_title: str) -> Line:
    name, old, new, source, check = widths
    return joined(
        [
            (cell("  NAME", name + 2, "muted"),),
            (cell(old_title, old, "muted"),),
            (cell("NEXT", new, "muted"),),
            (cell("SOURCE", source, "muted"),),
            (cell("CHECK", check, "muted"),),
        ]
    )


def _table_row(row: SheetRow, widths: Widths) -> Line:
    name, old, new, source, check = widths
    setting = row.setting
    role = KIND_ROLE[setting.kind] if row.is_changed else "text"
    return joined(
        [
            ((f"{setting.kind} ", role), cell(setting.name, name, role)),
            (cell(value_words(setting.old), old, "muted"),),
            (cell(value_words(setting.new), new, role),),
            (cell(row.given_by, source, "muted"),),
            _check(row, check),
        ]
    )


def _narrow_rows(rows: Sequence[SheetRow], width: int) -> list[Line]:
    """`~ --tp-size 4 → 8          ✓ known`."""
    checks = [_check(row, width // 2 - 2) for row in rows]
    right = max(map(width_of, checks), default=0)
    left = width - right - 2 if right else width
    settings = [setting_line(row.setting, left) for row in rows]
    left = max((width_of(line) for line in settings), default=left)
    lines: list[Line] = []
    for line, check in zip(settings, checks, strict=True):
        blank = " " * max(0, left - width_of(line) + 2)
        lines.append((*line, (blank, "text"), *check) if check else line)
    return lines


def _check(row: SheetRow, width: int) -> Line:
    """`! has no effect in this version`."""
    if row.setting.new is None or row.check is None:
        return ()
    check = row.check
    role = WEIGHT_ROLE[check.weight]
    quiet = role if row.matters else "muted"
    return ((f"{WEIGHT_GLYPH[check.weight]} ", quiet), (cut(check.text, width - 2), quiet))


def value_words(value: str | None) -> str:
    """A value for a column."""
    return "(absent)" if value is None else value or "on"
