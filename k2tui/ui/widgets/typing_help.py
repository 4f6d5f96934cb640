"""Above a field: what is wrong with what was typed, and what it may become."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.flag_completion import Candidate
from k2tui.ui.spans import Line, cell, cells, wrapped
from k2tui.ui.widgets.pane import Drawn, title_line

WIDEST = 44
"""Columns of the candidates' own column."""
_WRONG_ROWS = 3
"""Of one complaint, at most."""


def wrong_rows(text: str, width: int) -> list[str]:
    """A complaint as it stands in this many columns."""
    return wrapped(f"✗ {text}", width - 4, _WRONG_ROWS)


class TypingHelp(Drawn):
    """A few rows: a title, complaints, and candidates with the chosen one marked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.candidates: Sequence[Candidate] = ()
        self.chosen: int | None = None
        """The candidate that the arrows went to; None: what is typed counts."""
        self._said: tuple[Sequence[str], Sequence[str]] = ((), ())

    @property
    def selected(self) -> Candidate | None:
        """The candidate that the arrows went to."""
        return None if self.chosen is None else self.candidates[self.chosen]

    def offer(self, found: Sequence[Candidate]) -> None:
        """Other candidates."""
        self.candidates, self.chosen = found, None
        self.lay_out()

    def say(self, wrong: Sequence[str], told: Sequence[str]) -> None:
        """What is wrong with what stands there, and what the field is for."""
        self._said = (wrong, told)
        self.lay_out()

    def step(self, way: str) -> None:
        """`down` into the candidates, `up` out of them again."""
        if self.candidates:
            at = -1 if self.chosen is None else self.chosen
            at = min(at + 1, len(self.candidates) - 1) if way == "down" else at - 1
            self.chosen = at if at >= 0 else None
            self.lay_out()

    def lay_out(self) -> None:
        width, height = self.room
        wrong, told = self._said
        rows: list[tuple[Line, str | None]] = []
        for text in wrong:
            rows += [((("  ", "text"), (part, "bad")), None) for part in wrong_rows(text, width)]
        for text in told:
            rows += [((("  ", "text"), (part, "muted")), None) for part in wrapped(text, width - 4, 2)]
        room = max(0, height - 1 - len(rows))
        first = max(0, (self.chosen or 0) - room + 1)
        shown = self.candidates[first : first + room]
        wide = min(WIDEST, max((cells(one.text) for one in shown), default=0))
        for at, one in enumerate(shown, first):
            line: Line = (
                ("  ", "text"),
                cell(one.text, wide, "key"),
                ("  ", "text"),
                cell(one.note, width - wide - 6, "muted"),
            )
            rows.append((line, "cursor" if at == self.chosen else None))
        more = f"{len(self.candidates)}" if len(self.candidates) > len(shown) else ""
        self.put([(title_line("", (), width, more=more), None), *rows[: height - 1]])
