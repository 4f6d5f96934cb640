"""What lists of rows share: a filter that is typed, an order, marks, and a cursor that stays on its row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, overload

from k2tui.core.query import Field, Query, QueryError, parse
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, clip, joined
from k2tui.ui.widgets.pane import SIDE, Pane

MARK = "◆ "
MARK_WIDTH = len(MARK)
MOST_KEPT = 4096
"""Rows that are kept as they were drawn."""


class Keyed(Protocol):
    """A row that can be told from the others wherever it stands."""

    @property
    def key(self) -> str: ...


R = TypeVar("R", bound=Keyed)


@dataclass(frozen=True, slots=True)
class Sort:
    """One order of rows."""

    word: str
    field: str
    """A name of the list's fields."""
    short: str
    """As the word on a narrow screen, with its key as the capital."""
    most_first: bool = False


def sort_words(sorts: Mapping[str, Sort], more: Sequence[tuple[str, str, str]], width: int) -> str:
    """`sort by: n node  s server ...  o as in the config`; `sort: Node Server ... Off` where that does not fit.

    `more` are letters that do something else: key, words, short word.
    """
    every = [*((key, sort.word, sort.short) for key, sort in sorts.items()), *more]
    for between in ("  ", " "):
        words = f"sort by: {between.join(f'{key} {word}' for key, word, _ in every)}"
        if len(words) <= width:
            return words
    return f"sort: {' '.join(short for _, _, short in every)}"


def in_order(rows: Iterable[R], sort: Sort, fields: Callable[[R], Mapping[str, Field]], *, backwards: bool) -> list[R]:
    """The rows sorted; those whose figure is unknown come last either way."""
    known: list[tuple[str | float, R]] = []
    unknown: list[R] = []
    for row in rows:
        value = fields(row).get(sort.field)
        if value is None or value == "":
            unknown.append(row)
        else:
            known.append((value, row))
    known.sort(key=lambda item: item[0], reverse=sort.most_first != backwards)
    return [row for _, row in known] + unknown


def last_word(text: str) -> int:
    """Where the last word of a filter begins."""
    return max(text.rfind(char) for char in " !(&|") + 1


class Filter:
    """What is typed to narrow a list: the last one that could be understood holds."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.query: Query | None = None
        self.trouble = ""
        """What is wrong with, or missing in, what stands there now."""

    def take(self, text: str) -> None:
        """Another text. One that is half typed, or wrong, leaves the last good one as it is."""
        self.trouble = ""
        if not text.strip():
            self.query = None
            return
        try:
            self.query = parse(text, self.names)
        except QueryError as error:
            self.trouble = str(error)

    def fields_begun(self, text: str) -> list[str]:
        """The fields whose name the last word of a text may become, or is."""
        word = text[last_word(text) :].casefold()
        return sorted(name for name in self.names if word and name.startswith(word))

    def words(self, passed: int, total: int) -> Line:
        """`/temp>80  3 of 64`, and what is wrong; empty without a filter."""
        words: list[Line] = []
        if self.query is not None:
            words.append(((f"/{self.query.text}  {passed} of {total}", "text"),))
        if self.trouble:
            words.append(((self.trouble, "warning"),))
        elif self.query is not None and self.query.hint:
            words.append(((self.query.hint, "muted"),))
        return joined(words)


class Marks:
    """Rows that an operator marked, by their keys: they stay marked when the rows move."""

    def __init__(self) -> None:
        self.keys: frozenset[str] = frozenset()
        self._last: str | None = None

    def toggle(self, keys: Sequence[str]) -> None:
        """Mark these; where all of them are marked, take the marks away."""
        given = frozenset(keys)
        is_over = given <= self.keys
        self.keys = self.keys - given if is_over else self.keys | given
        self._last = None if is_over or not keys else keys[-1]

    def extend(self, keys: Sequence[str], here: str) -> None:
        """Mark all of these from the last marked one to `here`."""
        if here not in keys:
            return
        start = keys.index(self._last) if self._last in keys else keys.index(here)
        low, high = sorted((start, keys.index(here)))
        self.keys |= frozenset(keys[low : high + 1])
        self._last = here

    def keep_only(self, keys: Iterable[str]) -> None:
        """Forget the marks of rows that are gone."""
        if self.keys:
            self.keys &= frozenset(keys)


class LazyLines(Sequence[Line]):
    """The lines of rows, made when they are looked at: only those on screen are."""

    def __init__(self, count: int, make: Callable[[int], Line]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Line: ...
    @overload
    def __getitem__(self, place: slice) -> list[Line]: ...
    def __getitem__(self, place: int | slice) -> Line | list[Line]:
        if isinstance(place, slice):
            return [self._make(number) for number in range(*place.indices(self._count))]
        if not 0 <= place < self._count:
            raise IndexError(place)
        return self._make(place)

    def __iter__(self) -> Iterator[Line]:
        return (self._make(number) for number in range(self._count))


class KeyedRows(Pane, Generic[R]):
    """A list of rows of one scene, filtered, sorted and marked. A subclass says which rows there are and draws them."""

    lists = True
    SORTS: Mapping[str, Sort] = {}
    """Key after `o`, and the order."""

    def __init__(self, names: Mapping[str, str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.sort_key = ""
        self.backwards = False
        self.marks = Marks()
        self.filter = Filter(names)
        self._scene: Scene | None = None
        self._grid: list[R] = []
        """What is listed now, in order."""
        self._total = 0
        """Rows before the filter."""
        self._from_top = False
        self._fitting: dict[tuple[str, bool], tuple[Line, int, Line]] = {}
        """By a row's key and whether it is marked: its line, the width, and what stands on screen."""

    # ---- what a subclass says

    def show_scene(self, scene: Scene) -> None:
        """Draw all rows that pass; the cursor stays on its row."""
        raise NotImplementedError

    def line_of(self, row: R, scene: Scene) -> Line:
        """One row, drawn."""
        raise NotImplementedError

    # ---- what is selected

    def at(self, number: int) -> R | None:
        """The row in this place."""
        return self._grid[number] if 0 <= number < len(self._grid) else None

    @property
    def count(self) -> int:
        """Rows that are listed, headings with them."""
        return len(self._grid)

    def seen(self) -> list[R]:
        """The rows that are on screen."""
        return self._grid[self.top_row : self.top_row + self.page]

    def keys_of(self, row: R) -> list[str]:
        """The keys that a mark on this row means."""
        return [row.key]

    def select_key(self, key: str) -> None:
        """Put the cursor on this row."""
        number = next((number for number, row in enumerate(self._grid) if row.key == key), None)
        if number is not None:
            self.cursor = number
            self._settle()
            self._draw()

    # ---- filter, order, marks

    @property
    def is_filtered(self) -> bool:
        """True when `esc` has something to clear here."""
        return self.filter.query is not None or bool(self.filter.trouble)

    def find(self, text: str) -> None:
        """Show only the rows that pass this filter."""
        self.filter.take(text)
        self.again()

    @property
    def passed(self) -> int:
        """Rows that pass the filter."""
        return len(self._grid)

    def find_while_typing(self, text: str) -> None:
        """As `find`; but the name of a field that is being typed empties nothing: the filter before it holds on."""
        before = self.filter.query
        self.find(text)
        begun = self.filter.fields_begun(text)
        if begun and not self.passed and self.filter.query is not None:
            self.filter.query = before
            self.filter.trouble = f"fields: {'  '.join(begun[:6])}"
            self.again()

    def clear_find(self) -> None:
        """Show all rows again."""
        self.find("")

    def find_next(self, step: int) -> bool:
        """A filter leaves only matches: next is the next row."""
        self.move("down" if step > 0 else "up")
        return bool(self._grid)

    def sort_by(self, key: str) -> None:
        """Sort by a letter of `SORTS`, the same again backwards; `o` is the order of the config.

        The first rows come into sight: they are what one sorts for.
        """
        self._from_top = True
        if key == "o":
            self.sort_key, self.backwards = "", False
        else:
            self.backwards = not self.backwards if key == self.sort_key else False
            self.sort_key = key
        self.again()

    def mark(self) -> None:
        """Mark the selected row, or take the mark away, and go one down."""
        row = self.at(self.cursor)
        if row is not None:
            self.marks.toggle(self.keys_of(row))
            self.move("down")
            self.again()

    def mark_range(self) -> None:
        """Mark all rows from the last marked one to this one."""
        here = self.at(self.cursor)
        if here is not None:
            self.marks.extend([key for row in self._grid for key in self.keys_of(row)], self.keys_of(here)[-1])
            self.again()

    def row_text(self) -> str:
        """What `y` copies: the marked rows, else the selected one."""
        scene = self._scene
        if scene is None or not self.marks.keys:
            return super().row_text()
        lines = [self.line_of(row, scene) for row in self._grid if row.key in self.marks.keys]
        return "\n".join("".join(text for text, _ in line).strip() for line in lines)

    # ---- drawing

    def put_rows(self, rows: list[R], total: int, scene: Scene, more: Line = ()) -> None:
        """List these, with the cursor on the row it was on, and that row where it was on screen."""
        before = self.at(self.cursor)
        self._grid, self._total, self._scene = rows, total, scene
        if before is not None:
            number = next((number for number, row in enumerate(rows) if row.key == before.key), None)
            if number is not None and number != self.cursor:
                self.top_row = max(0, self.top_row + number - self.cursor)
                self.cursor = number
        if self._from_top:
            self.top_row, self._from_top = 0, False
        self.show(LazyLines(len(rows), self._fitted), joined([self._order_words(), more, self._filter_words()]))

    @property
    def indent(self) -> int:
        """Columns of the marks, where there are any."""
        return MARK_WIDTH if self.marks.keys else 0

    def headed(self, heading: Line) -> None:
        """The names of the columns."""
        self.heading = (((" " * self.indent, "text"), *heading),) if self.marks.keys else (heading,)

    def again(self) -> None:
        """Draw the same scene once more."""
        if self._scene is not None:
            self.show_scene(self._scene)

    def lay_out(self) -> None:
        self.again()

    def _order_words(self) -> Line:
        if not self.sort_key:
            return ()
        back = ", backwards" if self.backwards else ""
        return (("by ", "muted"), (f"{self.SORTS[self.sort_key].word}{back}", "text"))

    def _filter_words(self) -> Line:
        return self.filter.words(self.passed, self._total)

    def _draw(self) -> None:
        """As every pane; but a row whose line is the same object stays the same object, which is quick to compare."""
        rows: list[tuple[Line, str | None]] = [(self._title_line(), None)]
        rows += [(((" " * SIDE, "text"), *line), None) for line in self.heading]
        seen = self._body[self.top_row : self.top_row + self.page]
        rows += [(line, self.row_role(number)) for number, line in enumerate(seen, self.top_row)]
        self.put(rows)

    def _fitted(self, number: int) -> Line:
        """The row as it stands on screen: with its mark, cut to the width."""
        row, scene, width = self._grid[number], self._scene, self.inner_width
        assert scene is not None
        line = self.line_of(row, scene)
        marked = bool(self.marks.keys) and self.marks.keys.issuperset(self.keys_of(row))
        key = (row.key, marked)
        kept = self._fitting.get(key)
        if kept is not None and kept[0] is line and kept[1] == width - self.indent:
            return kept[2]
        mark: Line = ((MARK if marked else " " * MARK_WIDTH, "key"),) if self.marks.keys else ()
        whole = ((" " * SIDE, "text"), *clip((*mark, *line), width))
        if len(self._fitting) > MOST_KEPT:
            self._fitting.clear()
        self._fitting[key] = (line, width - self.indent, whole)
        return whole
