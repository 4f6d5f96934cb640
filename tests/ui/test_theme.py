"""The theme files: complete, readable, and named when missing."""

from __future__ import annotations

import pytest
from rich.color import Color
from rich.style import Style

from k2tui.core.errors import K2Error
from k2tui.ui.theme import MONO, Palette, ThemeFile, load_theme, textual_theme, theme_names

NAMES = theme_names()
COLORED = [name for name in NAMES if load_theme(name).base]
LINES_ONLY = {"rule", "rule-focus", "bar", "bar-rest", "bar-done", "gpu-calm", "gpu-busy"}
"""Roles that draw lines and bars, never words."""
ROWS = ("cursor", "cursor-blurred")
LEAST = 4.5


def luminance(color: Color) -> float:
    def linear(part: int) -> float:
        value = part / 255
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = color.get_truecolor()
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast(one: Color, other: Color) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def grounds(theme: ThemeFile) -> dict[str, Color]:
    found = {name: Color.parse(theme.base[name]) for name in ("background", "surface")}
    for row in ROWS:
        color = Style.parse(theme.roles[row]).bgcolor
        assert color is not None
        found[row] = color
    return found


def test_the_three_kinds_are_there() -> None:
    assert {"k2-dark", "k2-light", MONO} <= set(NAMES)
    assert load_theme("k2-dark").dark
    assert not load_theme("k2-light").dark


@pytest.mark.parametrize("name", NAMES)
def test_a_theme_has_every_role_and_no_other(name: str) -> None:
    assert set(load_theme(name).roles) == set(load_theme("k2-dark").roles)


@pytest.mark.parametrize("name", COLORED)
def test_every_text_can_be_read_on_every_ground(name: str) -> None:
    theme = load_theme(name)
    weak = []
    for role, words in theme.roles.items():
        style = Style.parse(words)
        if role in LINES_ONLY or style.color is None:
            continue
        for ground, color in grounds(theme).items():
            got = contrast(style.color, style.bgcolor or color)
            if got < LEAST:
                weak.append(f"{role} on {ground}: {got:.2f}")
    assert weak == []


@pytest.mark.parametrize("name", COLORED)
def test_plain_text_can_be_read_where_one_types(name: str) -> None:
    theme = load_theme(name)
    assert contrast(Color.parse(theme.base["foreground"]), Color.parse(theme.base["panel"])) >= 7


@pytest.mark.parametrize("name", NAMES)
def test_no_role_is_told_by_dimming_or_blinking(name: str) -> None:
    for words in load_theme(name).roles.values():
        assert not {"dim", "blink", "italic"} & set(words.split())


def test_the_mono_theme_has_no_colour_and_tells_states_apart() -> None:
    theme = load_theme(MONO)
    assert not any("#" in words for words in theme.roles.values())
    assert len({theme.roles[role] for role in ("phase-ready", "phase-failed", "phase-waiting")}) == 3


def test_an_unknown_theme_lists_the_names() -> None:
    with pytest.raises(K2Error, match="k2-dark, k2-light, k2-mono") as caught:
        load_theme("nope")
    assert caught.value.code == "no_such_theme"
    with pytest.raises(K2Error):
        load_theme("../themes/k2-dark")


@pytest.mark.parametrize("name", COLORED)
def test_coloured_roles_are_variables_of_the_stylesheet(name: str) -> None:
    variables = textual_theme(load_theme(name)).variables
    assert variables["phase-ready"].startswith("#")
    assert variables["gpu-hot"].startswith("#")
    assert variables["stale"].startswith("#")


def test_a_row_lies_under_its_text() -> None:
    palette = Palette(load_theme("k2-dark"))
    style = palette.style("phase-ready", "cursor")
    assert style.color == palette.style("phase-ready").color
    assert style.bgcolor == Style.parse(load_theme("k2-dark").roles["cursor"]).bgcolor
    assert palette.style("log-hit", "cursor").bgcolor == palette.style("log-hit").bgcolor
