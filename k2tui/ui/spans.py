"""A line on screen before it has colours: pieces of text, each with the name of its role."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size

Span = tuple[str, str]
"""(text, role); the theme gives a role its colour and weight."""
Line = tuple[Span, ...]

GAP: Span = ("  ", "text")


def cells(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def width_of(line: Line) -> int:
    """How many columns a line takes."""
    return sum(cells(text) for text, _ in line)


def text_of(line: Line) -> str:
    """The bare text."""
    return "".join(text for text, _ in line)


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns; an ellipsis tells that something is missing."""
    if width <= 0:
        return ""
    if cells(text) <= width:
        return text
    if text.isascii():
        return text[: width - 1] + "…"
    return set_cell_size(text, width - 1).rstrip() + "…"


def cell(text: str, width: int, role: str = "text", *, right: bool = False) -> Span:
    """A table cell: exactly `width` columns."""
    text = cut(text, width)
    blank = " " * (width - cells(text))
    return (blank + text if right else text + blank), role


def clip(line: Line, width: int) -> Line:
    """The line in at most `width` columns."""
    if width_of(line) <= width:
        return line
    kept: list[Span] = []
    left = width
    for text, role in line:
        wide = cells(text)
        if wide >= left:
            kept.append((cut(text, left) if wide > left else cut(text + " ", left), role))
            break
        kept.append((text, role))
        left -= wide
    return tuple(kept)


def ends(left: Line, right: Line, width: int, fill: Span = (" ", "text")) -> Line:
    """`left` at the left end, `right` at the right one; `right` goes when both don't fit."""
    blank = width - width_of(left) - width_of(right)
    if blank < 1:
        return clip(left, width)
    return (*left, (fill[0] * blank, fill[1]), *right)


def joined(parts: Iterable[Line], between: Span = GAP) -> Line:
    """The parts that hold something, with a gap between them."""
    out: list[Span] = []
    for part in parts:
        if not part:
            continue
        if out:
            out.append(between)
        out.extend(part)
    return tuple(out)


def wrapped(text: str, width: int, rows: int) -> list[str]:
    """The text over at most `rows` rows, broken at blanks where there are any; the last one may be cut."""
    if width <= 0 or rows <= 0:
        return []
    out: list[str] = []
    rest = text.strip()
    while cells(rest) > width and len(out) < rows - 1:
        head = _head(rest, width)
        at = head.rfind(" ")
        if at <= width // 3:
            at = len(head)
        out.append(rest[:at].rstrip())
        rest = rest[at:].lstrip()
    if rest:
        out.append(cut(rest, width))
    return out


def spread(names: Sequence[Line], width: int, gap: int = 2) -> list[Line]:
    """Items over as many rows as they need, never broken inside an item."""
    rows: list[Line] = []
    row: list[Span] = []
    used = 0
    for item in names:
        wide = width_of(item)
        if row and used + gap + wide > width:
            rows.append(tuple(row))
            row, used = [], 0
        if row:
            row.append((" " * gap, "text"))
            used += gap
        row.extend(item)
        used += wide
    if row:
        rows.append(tuple(row))
    return rows


def window(spans: Sequence[Span], left: int, width: int) -> Iterator[Span]:
    """The columns from `left` on; a cut at the right end shows as an ellipsis."""
    skip, room = left, width
    for text, role in spans:
        if skip:
            if skip >= cells(text):
                skip -= cells(text)
                continue
            text, skip = text[skip:], 0  # noqa: PLW2901  the rest of this piece
        wide = cells(text)
        if wide > room:
            yield cut(text, room), role
            return
        room -= wide
        yield text, role


def chunks(spans: Sequence[Span], width: int, most: int) -> Iterator[Line]:
    """The spans over rows of `width` cells, at most `most`."""
    row: list[Span] = []
    room, made = width, 0
    for text, role in spans:
        rest = text
        while rest:
            piece = rest if cells(rest) <= room else _head(rest, room)
            if cells(piece) <= room or not row:
                row.append((piece, role))
                rest = rest[len(piece) :]
                room -= cells(piece)
            if rest or room <= 0:
                yield tuple(row)
                made += 1
                if made >= most:
                    return
                row, room = [], width
    if row or not made:
        yield tuple(row)


def _head(text: str, width: int) -> str:
    """As many characters as fit."""
    if text.isascii():
        return text[:width]
    used = 0
    for index, char in enumerate(text):
        used += cells(char)
        if used > width:
            return text[: max(1, index)]
    return text
