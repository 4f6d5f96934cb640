"""Flags and variables of two commands side by side, secrets masked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.flags import arguments, identity
from k2tui.core.secrets import masked_argv, masked_env


@dataclass(frozen=True, slots=True)
class Setting:
    """One flag or variable, old and new. None: absent; an empty value: a bare switch."""

    name: str
    """As it is written: `--tp-size`, or a variable's name."""
    old: str | None
    new: str | None
    is_env: bool

    @property
    def kind(self) -> str:
        """`+` added, `-` removed, `~` changed, a blank for the same."""
        if self.old is None:
            return "+"
        if self.new is None:
            return "-"
        return " " if self.old == self.new else "~"


def flags_of(argv: Sequence[str], known: Collection[str] = ()) -> dict[str, tuple[str, str]]:
    """A flag's identity to its name as written and its values; values of no flag stand under their own words."""
    flags: dict[str, tuple[str, str]] = {}
    for part in arguments(masked_argv(argv, known)).parts:
        values = " ".join(part.values)
        if part.name is None:
            flags[values] = (values, "")
        else:
            flags[identity(part.name)] = (f"--{part.name}", values)
    return flags


def settings_between(
    old: tuple[Sequence[str], Mapping[str, str]] | None,
    new: tuple[Sequence[str], Mapping[str, str]],
    known: Collection[str] = (),
) -> list[Setting]:
    """Every flag, then every variable of both; `old` None: there is nothing to compare with, so nothing changed."""
    new_flags = flags_of(new[0], known)
    new_env = masked_env(new[1], known)
    old_flags = new_flags if old is None else flags_of(old[0], known)
    old_env = new_env if old is None else masked_env(old[1], known)
    rows = [
        Setting(name, old_flags[key][1] if key in old_flags else None, value, False)
        for key, (name, value) in new_flags.items()
    ]
    rows += [Setting(name, value, None, False) for key, (name, value) in old_flags.items() if key not in new_flags]
    rows += [Setting(name, old_env.get(name), value, True) for name, value in new_env.items()]
    rows += [Setting(name, value, None, True) for name, value in old_env.items() if name not in new_env]
    return rows
