"""Lines of roles become strips of colour: the one place where text meets the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from k2tui.ui.present import ascii_text
from k2tui.ui.spans import Line, cells
from k2tui.ui.theme import Palette


def printable(text: str) -> str:
    """The text without anything that could steer a terminal. Rows are plain before; this is the last door."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def _bare_blanks(text: str, style: Style, plain: Style) -> Iterator[Segment]:
    """The text with the blanks at its ends unmarked: an underlined or reversed blank looks like text."""
    body = text.strip()
    start = len(text) - len(text.lstrip())
    for piece, made in ((text[:start], plain), (body, style), (text[start + len(body) :], plain)):
        if piece:
            yield Segment(piece, made)


class Painter:
    """Makes strips in one theme, in seven bits if asked."""

    def __init__(self, palette: Palette, *, ascii_only: bool) -> None:
        self.palette = palette
        self.ascii_only = ascii_only

    def strip(self, line: Line, width: int, *, row: str | None = None, ground: str = "background") -> Strip:
        """The line in exactly `width` cells; `row` is a role laid under the whole row, such as the cursor's."""
        style = self.palette.style
        segments: list[Segment] = []
        used = 0
        for raw, role in line:
            if not raw:
                continue
            text = printable(raw)
            if self.ascii_only:
                text = ascii_text(text)
            used += cells(text)
            made = style(role, row, ground)
            if self.palette.is_plain and row is None and text != text.strip():
                segments.extend(_bare_blanks(text, made, style("text", row, ground)))
            else:
                segments.append(Segment(text, made))
        if used < width:
            segments.append(Segment(" " * (width - used), style("text", row, ground)))
            used = width
        strip = Strip(segments, used)
        return strip if used == width else strip.crop(0, width)
