"""Effects of flags and variables, each with what was seen of it; and the engine's files that were changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import ServerView
from k2tui.ui.spans import Line, cell, width_of, wrapped

GLYPH = {Outcome.PROVED: "✓", Outcome.NOT_PROVED: "✗", Outcome.NO_EFFECT: "▲", Outcome.CANNOT: "?"}
ROLE = {Outcome.PROVED: "good", Outcome.NOT_PROVED: "bad", Outcome.NO_EFFECT: "warning", Outcome.CANNOT: "muted"}
_WIDEST = 34
"""Columns of a flag or a variable."""
_LEAST_TEXT = 36
"""Columns for what was seen, below which the flag stands behind it."""


def effect_lines(effects: Sequence[Effect], width: int, *, most: int = 3) -> list[Line]:
    """`✓ reasoning  proved  --reasoning-parser  reasoning apart from content`; what is not proved first.

    `most`: rows of one effect.
    """
    if not effects:
        return []
    order = list(Outcome)
    ordered = sorted(effects, key=lambda effect: (effect.outcome is Outcome.PROVED, order.index(effect.outcome)))
    check = max(len(effect.check) for effect in effects) + 2
    outcome = max(len(effect.outcome.value) for effect in effects) + 2
    setting = min(_WIDEST, max(len(effect.setting or "") for effect in effects)) + 2
    if width - 2 - check - outcome - setting < _LEAST_TEXT:
        setting = 0
    rows: list[Line] = []
    for effect in ordered:
        rows += _effect(effect, width, most, (check, outcome, setting))
    return rows


def _effect(effect: Effect, width: int, most: int, columns: tuple[int, int, int]) -> list[Line]:
    role, text = ROLE[effect.outcome], effect.text
    check, outcome, setting = columns
    head: Line = (
        (f"{GLYPH[effect.outcome]} ", role),
        cell(effect.check, check, "text"),
        cell(effect.outcome.value, outcome, role),
    )
    if setting:
        head = (*head, cell(effect.setting or "", setting, "muted"))
    elif effect.setting:
        text = f"{text} ({effect.setting})"
    used = width_of(head)
    first, *more = wrapped(text, max(10, width - used), most) or [""]
    lines: list[Line] = [(*head, (first, "text"))]
    return [*lines, *(((" " * used, "text"), (part, "text")) for part in more)]


def modified_of(server: ServerView) -> tuple[str, ...]:
    """Files of its engine that are not as they were installed, from what was proved of its run or read since."""
    verdict = None if server.run is None else server.run.verdict
    if verdict is not None and verdict.modified is not None:
        return verdict.modified
    return () if server.build is None else server.build.modified or ()


def engine_lines(server: ServerView, width: int) -> list[Line]:
    """`modified: deepseek_v2.py`: what a result is a result of. Empty where the engine is as it was installed."""
    files = modified_of(server)
    return [((text, "warning"),) for text in wrapped(f"modified: {', '.join(files)}", width, 3)] if files else []
