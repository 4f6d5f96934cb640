"""The flags and variables of a launch sheet, old against new."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.settings_between import Setting
from k2tui.ui.spans import Line, cell, joined
from k2tui.ui.widgets.flags_pane import KIND_ROLE
from k2tui.ui.widgets.pane import Pane


class SheetRows(Pane):
    """Flags and variables, running against next."""

    title = "Flags and environment"
    lists = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.settings: list[Setting] = []

    def show_settings(self, settings: Sequence[Setting], *, old_title: str) -> None:
        """Draw them; changed ones stand out where they are. `old_title` says what they are compared with."""
        self.settings = list(settings)
        width = self.inner_width
        name_width = min(34, width // 2)
        value_width = (width - name_width - 4) // 2
        self.heading = (
            joined(
                [
                    (cell("  NAME", name_width + 2, "muted"),),
                    (cell(old_title, value_width - 2, "muted"),),
                    (cell("NEXT", value_width - 2, "muted"),),
                ]
            ),
        )
        changed = sum(1 for setting in settings if setting.kind != " ")
        info: Line = ((f"{changed} changed", "changed"),) if changed else (("nothing changed", "muted"),)
        self.show([_row(setting, name_width, value_width - 2) for setting in settings], info)


def _row(setting: Setting, name_width: int, value_width: int) -> Line:
    role = KIND_ROLE[setting.kind]
    return joined(
        [
            ((f"{setting.kind} ", role), cell(setting.name, name_width, "text" if setting.kind == " " else role)),
            (cell(_value(setting.old), value_width, "muted"),),
            (cell(_value(setting.new), value_width, "text" if setting.kind == " " else role),),
        ]
    )


def _value(value: str | None) -> str:
    return "(absent)" if value is None else value or "on"
