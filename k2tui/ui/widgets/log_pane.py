"""The log of one run: its newest lines, followed, searched and filtered; painted at most once a tick."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from k2tui.core.secrets import mask
from k2tui.ui.logline import LEVELS, is_noise, parts_of
from k2tui.ui.logrows import LogRows
from k2tui.ui.logview import Filter, LogView
from k2tui.ui.present import number
from k2tui.ui.spans import Line, Span, cells, chunks, cut, joined, window
from k2tui.ui.widgets.pane import SIDE, Pane

if TYPE_CHECKING:
    from k2tui.core.ring import LineRing

_LEVEL_ROLE = ("log-text", "log-warning", "log-error")
_SIDE_STEP = 20
_LONGEST_DRAWN = 16_384
"""Characters of one line that are looked at for drawing; `enter` shows a line whole."""


class LogPane(Pane):
    """Draws only the rows on screen; a hundred thousand new lines cost one paint."""

    title = "Log"
    lists = True

    def __init__(self, ring: LineRing, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines = LogRows(ring)
        self.following = True
        self.wrap = False
        self.time_column = True
        self.note: Line = ()
        """What the screen wants said in the title: which run, how far behind."""
        self.known_secrets: frozenset[str] = frozenset()
        self.held = False
        self._top = 0
        """Absolute number of the first shown line when the end is not followed."""
        self._bottom = 0
        """The last one."""
        self._at = 0
        """Absolute number of the selected line."""
        self._left = 0
        """Columns scrolled to the right."""
        self._drawn_revision = -1
        self._drawn_note: Line = ()
        self._drawn_end = 0
        self._skipped = False
        """More than a page came since the last paint: no eye follows that, so every other pulse is enough."""

    @property
    def view(self) -> LogView:
        """Which lines are shown, and where the hits are."""
        return self.lines.view

    @property
    def ring(self) -> LineRing:
        """The lines shown."""
        return self.view.ring

    @property
    def selected(self) -> int | None:
        """Absolute number of the selected line; None while the end is followed."""
        return None if self.following else self._at

    def use(self, ring: LineRing) -> None:
        """Show another log, from its end; filter and search stay."""
        if ring is self.ring:
            return
        old = self.view
        self.lines = LogRows(ring, merge=self.lines.merge)
        self.view.search(old.needle)
        self.view.set_filter(only=old.filter.only, hide=old.filter.hide, rank=old.filter.rank, level=old.filter.level)
        self.following = True
        self._drawn_revision = -1
        self.catch_up()

    def catch_up(self) -> bool:
        """Show what came since the last paint; False, and nothing is done, when nothing came."""
        revision = self.ring.revision
        if self.held or (revision == self._drawn_revision and self.view.complete and self.note == self._drawn_note):
            return False
        flood = self.following and self.ring.end - self._drawn_end > self.page
        if flood and not self._skipped:
            self._skipped = True
            return True
        self._skipped = False
        self.view.advance()
        self._drawn_revision, self._drawn_note = revision, self.note
        self._draw()
        return True

    def redraw(self) -> None:
        """Paint again: how it is shown has changed."""
        self.view.advance()
        self._draw()

    def set_filter(self, **changes: object) -> None:
        """Show other lines; the selected line stays in sight if it is among them."""
        self.view.set_filter(**changes)
        self.redraw()

    def toggle_follow(self) -> None:
        """Follow the end, or stay here."""
        if self.following:
            self._let_go()
        else:
            self.following = True
        self._draw()

    def toggle_wrap(self) -> None:
        """Wrap long lines, or cut them."""
        self.wrap, self._left = not self.wrap, 0
        self._draw()

    def toggle_merge(self) -> None:
        """The same line of several ranks once, with a count, or each of them."""
        self.lines.toggle_merge()
        self._draw()

    def go_to(self, absolute: int) -> bool:
        """Select this line and put it in the upper third. False when it is no longer, or not yet, held."""
        if not self.ring.start <= absolute < self.ring.end:
            return False
        if self.view.filter.active:
            self.view.set_filter(rank=None, level=0, only="", hide="")
            while self.view.advance():
                pass
        self.following = False
        self.lines.open(absolute)
        self._at = absolute
        self._top = self.lines.step(absolute, -(self.page // 3))
        self._draw()
        return True

    def find(self, text: str) -> None:
        """`text` is searched, `!text` hidden, `&text` alone shown; empty: all as it was."""
        only = text[1:] if text[:1] == "&" else ""
        hide = text[1:] if text[:1] == "!" else ""
        self.view.set_filter(only=only, hide=hide)
        self.view.search("" if only or hide else text)
        self.view.advance()
        if self.view.needle and self.view.hits:
            self._show_hit(self.view.hit_before((self.selected or self.ring.end - 1) + 1))
        self._draw()

    @property
    def is_filtered(self) -> bool:
        """True when `esc` has something to clear here."""
        return self.view.looks

    def clear_find(self) -> None:
        """No search and no filter any more."""
        self.view.set_filter(**{name: getattr(Filter(), name) for name in Filter.__slots__})
        self.view.search("")
        self.redraw()

    def find_next(self, step: int) -> bool:
        """Go to the next (1) or previous (-1) hit. False when there is none."""
        here = self._at if not self.following else self.ring.end
        hit = self.view.hit_after(here) if step > 0 else self.view.hit_before(here)
        self._show_hit(hit)
        self._draw()
        return hit is not None

    def move(self, way: str) -> None:
        if way in ("left", "right"):
            self._left = max(0, self._left + (_SIDE_STEP if way == "right" else -_SIDE_STEP)) if not self.wrap else 0
            self._draw()
            return
        if way == "bottom" or (way in ("down", "page_down") and self._is_last()):
            self.following = True
            self._draw()
            return
        if self.following:
            if way in ("down", "page_down"):
                return
            self._let_go()
        steps = {"up": -1, "down": 1, "page_up": -self.page, "page_down": self.page}
        self._at = self.lines.first if way == "top" else self.lines.step(self.lines.row_of(self._at), steps[way])
        if way in ("page_up", "page_down"):
            self._top = self.lines.step(self.lines.row_of(self._top), steps[way])
        self._draw()

    def row_text(self) -> str:
        """The selected line whole, or the last one while the end is followed."""
        if self.following:
            last = self.ring.open_line or (self.ring[self.ring.end - 1] if len(self.ring) else "")
            return self._masked(last)
        return self._masked(self.ring[self._at]) if self.ring.start <= self._at < self.ring.end else ""

    def selected_lines(self) -> list[str]:
        """The lines of the selected row: one, or what each of several ranks said."""
        if self.following or not self.ring.start <= self._at < self.ring.end:
            return [self.row_text()]
        return [self._masked(self.ring[number]) for number in self.lines.lines_of(self._at)]

    def shown_lines(self) -> list[str]:
        """All lines that pass the filter, masked: what `S` saves."""
        while self.view.advance():
            pass
        return [self._masked(self.ring[self.view.number_at(position)]) for position in range(self.view.count)]

    def lay_out(self) -> None:
        self._draw()

    def _masked(self, text: str) -> str:
        return mask(text, self.known_secrets)

    def _is_last(self) -> bool:
        return not self.following and self._at >= self.lines.last

    def _let_go(self) -> None:
        self.following = False
        self._at = self.lines.last
        self._top = self.lines.step(self._at, 1 - self.page)

    def _show_hit(self, hit: int | None) -> None:
        if hit is not None:
            self.following = False
            self._at = hit

    # ---- drawing

    def _draw(self) -> None:
        if not self.room.width:
            return
        self._drawn_end = self.ring.end
        rows = self._rows_from_end() if self.following else self._rows_from_top()
        if not rows and not len(self.ring):
            rows = [((("nothing in the log yet", "muted"),), False)]
        drawn: list[tuple[Line, str | None]] = [(self._title_line(), None)]
        for line, is_selected in rows[: self.page]:
            row = ("cursor" if self.has_focus else "cursor-blurred") if is_selected else None
            drawn.append((((" " * SIDE, "text"), *line), row))
        self.put(drawn)

    def _rows_from_end(self) -> list[tuple[Line, bool]]:
        rows: list[list[tuple[Line, bool]]] = []
        total = 0
        if self.ring.open_line:
            rows.append([(line, False) for line in self._lines_of(self.ring.open_line, open_line=True)])
            total += len(rows[-1])
        row, before = self.lines.last, -1
        while total < self.page and self.view.count and row != before:
            rows.append([(line, False) for line in self._lines_at(row)])
            total += len(rows[-1])
            row, before = self.lines.step(row, -1), row
        flat = [row for block in reversed(rows) for row in block]
        return flat[-self.page :]

    def _rows_from_top(self) -> list[tuple[Line, bool]]:
        self._keep_in_sight()
        rows: list[tuple[Line, bool]] = []
        row, before = self._top, -1
        while len(rows) < self.page and self.view.count and row != before:
            rows += [(line, row == self._at) for line in self._lines_at(row)]
            self._bottom = row
            row, before = self.lines.step(row, 1), row
        if len(rows) < self.page and self.ring.open_line:
            rows += [(line, False) for line in self._lines_of(self.ring.open_line, open_line=True)]
        return rows

    def _keep_in_sight(self) -> None:
        """The selected line is held and shown; the top moves as little as it must."""
        if not self.view.count:
            return  # the place is kept for when the filter lets lines through again
        lines = self.lines
        self._at = at = lines.row_of(self._at)
        top = min(lines.row_of(self._top), at)
        if not self.wrap:
            top = min(top, lines.step(lines.last, 1 - self.page))
        first = max(top, lines.step(at, 1 - self.page))
        if self.wrap:
            height, row, before = self._height_of(self.ring[at]), at, at
            while row > first:
                row, before = lines.step(row, -1), row
                height += self._height_of(self.ring[row])
                if height > self.page:
                    first = before
                    break
        self._top = first

    def _height_of(self, text: str) -> int:
        wide = cells(text[:_LONGEST_DRAWN])
        return max(1, min(self.page, -(-wide // self.inner_width)))

    def _lines_at(self, row: int) -> list[Line]:
        return self._lines_of(self.ring[row], times=len(self.lines.lines_of(row)))

    def _lines_of(self, text: str, *, times: int = 1, open_line: bool = False) -> list[Line]:
        """The rows of one line: one, cut off at the right, or as many as it needs when wrapped."""
        masked = self._masked(text[:_LONGEST_DRAWN])
        spans = list(self._spans(masked, times, open_line=open_line))
        if not self.wrap:
            return [tuple(window(spans, self._left, self.inner_width))]
        return list(chunks(spans, self.inner_width, self.page))

    def _spans(self, text: str, times: int, *, open_line: bool) -> Iterator[Span]:
        parts = parts_of(text)
        role = "log-bar" if open_line else "muted" if is_noise(parts.message) else _LEVEL_ROLE[parts.level]
        if parts.time is not None and self.time_column:
            yield f"{parts.time} ", "log-stamp"
        if times > 1:
            yield f"{f'×{times}':<{len(parts.rank or '')}}", "log-rank"
            yield " ", "text"
        elif parts.rank is not None:
            yield from self._with_hits(parts.rank, "log-rank")
            yield " ", "text"
        yield from self._with_hits(parts.message, role)

    def _with_hits(self, text: str, role: str) -> Iterator[Span]:
        at = 0
        for start, end in self.view.spans_in(text):
            if start > at:
                yield text[at:start], role
            yield text[start:end], "log-hit"
            at = end
        if at < len(text):
            yield text[at:], role

    def _title_line(self) -> Line:
        words: list[Line] = [(("follow", "good"),) if self.following else (("still", "muted"),)]
        if self.held:
            words = [(("held", "warning"),)]
        rule = self.view.filter
        if rule.rank is not None:
            words.append((("rank ", "muted"), (rule.rank, "log-rank")))
        if rule.level:
            words.append(((LEVELS[rule.level], "warning"),))
        if rule.only or rule.hide:
            words.append((("only " if rule.only else "without ", "muted"), (cut(rule.only or rule.hide, 24), "text")))
        if rule.active:
            words.append(((f"{number(self.view.count)} of {number(len(self.ring))} lines", "muted"),))
        else:
            words.append(((f"{number(self.ring.end)} line{'' if self.ring.end == 1 else 's'}", "muted"),))
        if self.view.needle:
            words.append(self._hits_words())
        if self.wrap:
            words.append((("wrap", "muted"),))
        if not self.lines.merge:
            words.append((("every rank's line", "muted"),))
        if self._left:
            words.append(((f"column {self._left + 1}", "muted"),))
        words.append(self.note)
        self._info = joined(words)
        return super()._title_line()

    def _hits_words(self) -> Line:
        total = number(self.view.hits) + ("" if self.view.complete else "+")
        index = None if self.following else self.view.hit_index(self._at)
        count = f"{total} hits" if index is None else f"hit {number(index)} of {total}"
        return (
            ("/", "muted"),
            (cut(self.view.needle, 24), "text"),
            (f"  {count}", "text" if self.view.hits else "warning"),
        )

    def _more(self) -> str:
        if self.following:
            return ""
        below = self.lines.below(self.lines.lines_of(self._bottom)[-1]) if self.view.count else 0
        return f"{number(below)} below" if below > 0 else ""
