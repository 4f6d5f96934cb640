"""Themes from files: a role's name becomes a style. A theme may have colours, or weights alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.style import Style
from textual.theme import Theme

from k2tui.core.errors import ExitCode, K2Error

MONO = "k2-mono"
"""The theme without colours; what NO_COLOR asks for."""

_PLACES = (Path(__file__).parent.parent / "themes", Path(__file__).parent.parent.parent / "themes")
"""In an installed wheel, and in a checkout."""


@dataclass(frozen=True)
class ThemeFile:
    """One theme as its file tells it."""

    name: str
    dark: bool
    base: Mapping[str, str]
    """background, surface, panel, foreground, accent; empty: the terminal's own colours."""
    roles: Mapping[str, str]
    """Role to a style in Rich's words: `bold #7fdc8e on #0f1317`."""


class Palette:
    """The styles of one theme: a role, in a row that may have a role of its own, on a ground."""

    def __init__(self, theme: ThemeFile) -> None:
        self.name = theme.name
        self.is_plain = not theme.base
        """True without colours: weights alone tell a role, so blanks must not carry them."""
        self._roles = {role: Style.parse(text) if text else Style.null() for role, text in theme.roles.items()}
        self._grounds = {
            ground: Style(bgcolor=theme.base[ground]) if ground in theme.base else Style.null()
            for ground in ("background", "surface", "panel")
        }
        self._made: dict[tuple[str, str | None, str], Style] = {}

    def style(self, role: str, row: str | None = None, ground: str = "background") -> Style:
        """The style of `role`; `row` is the role of the whole row, such as the cursor's."""
        key = (role, row, ground)
        made = self._made.get(key)
        if made is None:
            made = self._grounds[ground]
            if row is not None:
                made += self._roles[row]
            mine = self._roles[role]
            made = self._made[key] = made + mine if mine.bgcolor is not None or row is None else mine + made
        return made


def folder() -> Path:
    """Where the theme files are."""
    for place in _PLACES:
        if place.is_dir():
            return place
    raise K2Error("the theme files are missing", code="no_themes", hint="install k2tui again", exit_code=ExitCode.USAGE)


def theme_names() -> tuple[str, ...]:
    """All themes there are."""
    return tuple(sorted(path.stem for path in folder().glob("*.json")))


def load_theme(name: str) -> ThemeFile:
    """One theme; K2Error that lists the names when there is none of that name."""
    path = folder() / f"{name}.json"
    if "/" in name or not path.is_file():
        raise K2Error(
            f"no theme {name!r}",
            code="no_such_theme",
            subject=name,
            hint=f"themes: {', '.join(theme_names())}",
            exit_code=ExitCode.USAGE,
        )
    document = json.loads(path.read_text(encoding="utf-8"))
    return ThemeFile(document["name"], document["dark"], document["base"], document["roles"])


def textual_theme(theme: ThemeFile) -> Theme:
    """The same for Textual: base colours, and each coloured role as a variable (`$phase-ready`)."""
    base = dict(theme.base)
    plain = not base
    accent = base.pop("accent", "ansi_default")
    variables = {"ansi-background": "ansi_black", "ansi-foreground": "ansi_white"} if plain else {}
    for role, words in theme.roles.items():
        color = Style.parse(words).color if words else None
        variables[role] = "ansi_default" if color is None else color.name
    return Theme(
        name=theme.name,
        primary=accent,
        accent=accent,
        foreground=base.get("foreground", "ansi_default"),
        background=base.get("background", "ansi_default"),
        surface=base.get("surface", "ansi_default"),
        panel=base.get("panel", "ansi_default"),
        dark=theme.dark,
        ansi=plain,
        variables=variables,
    )
