"""The rows of a launch sheet: each flag and variable, old and new, who gave it, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.builds import Build, BuildFlag
from k2tui.core.flag_completion import Variables
from k2tui.core.flag_values import flag_in, flag_index
from k2tui.core.preflight import SettingCheck, Weight
from k2tui.core.settings_between import Setting
from k2tui.ui import present

HEAVY = (Weight.WARN, Weight.BLOCK)

WEIGHT_GLYPH: Mapping[Weight, str] = {
    Weight.FINE: "✓",
    Weight.NOTE: "·",
    Weight.WARN: "!",
    Weight.BLOCK: "✗",
    Weight.UNKNOWN: "?",
}
WEIGHT_ROLE: Mapping[Weight, str] = {
    Weight.FINE: "good",
    Weight.NOTE: "text",
    Weight.WARN: "warning",
    Weight.BLOCK: "bad",
    Weight.UNKNOWN: "muted",
}


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One flag or variable."""

    setting: Setting
    source: str = ""
    """Who gave it: a profile's name, `this change`, `server`, `k2tui`; empty: not known."""
    check: SettingCheck | None = None
    flag: BuildFlag | None = None
    """What the build says of it; None for a variable, and where the build does not know it or is not known."""
    about: str = ""
    """A line of help."""

    @property
    def is_changed(self) -> bool:
        """True when a start would change it."""
        return self.setting.kind != " "

    @property
    def matters(self) -> bool:
        """True when it must be seen before a start: it changes, or something is wrong with it."""
        return self.is_changed or (self.check is not None and self.check.weight in HEAVY)

    @property
    def is_blocked(self) -> bool:
        """True when a start must fail because of it."""
        return self.check is not None and self.check.weight is Weight.BLOCK

    @property
    def given_by(self) -> str:
        """For the column: `removed` where a start takes it away."""
        if self.setting.new is None:
            return "removed"
        kind, _, run_id = self.source.partition(" ")
        return f"run {present.run_time(run_id)}" if kind == "run" and run_id else self.source


def rows_between(
    settings: Sequence[Setting],
    sources: Mapping[str, str],
    checks: Sequence[SettingCheck],
    build: Build | None,
    variables: Variables | None = None,
) -> list[SheetRow]:
    """A row for each setting, in their order."""
    by_name = {check.name: check for check in checks}
    flags = {} if build is None else flag_index(build)
    rows: list[SheetRow] = []
    for setting in settings:
        check = by_name.pop(setting.name, None) if setting.new is not None else None
        flag = None if setting.is_env else flag_in(flags, setting.name)
        about = (variables or {}).get(setting.name, ((), ""))[1] if setting.is_env else (flag and flag.help) or ""
        rows.append(SheetRow(setting, sources.get(setting.name, ""), check, flag, about))
    return rows
