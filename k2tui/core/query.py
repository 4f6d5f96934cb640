"""The filter language over any fields of a row: `state==loading`, `temp>80 and free`, `!stale`, plain words.

A field's meaning ends with its unit in brackets: `(ms)`, `(count)`, `(yes or no)`; text has none.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

Field = str | float | bool | None
"""A field's value; None is unknown: no comparison with it holds, neither does its opposite."""
Test = Callable[[Mapping[str, Field]], bool | None]

WORD_FIELDS = (
    "node",
    "server",
    "state",
    "phase",
    "model",
    "profile",
    "engine",
    "tag",
    "name",
    "user",
    "fault",
    "throttle",
)
"""Fields that a plain word is looked for in."""
YES_OR_NO = "yes or no"
LONGEST = 1000
"""Characters of a filter."""
DEEPEST = 40
"""Brackets and negations within each other."""

_BINARY = {"kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40, "b": 1.0}
_DECIMAL = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_SIZES = {**_BINARY, **_DECIMAL}
_DIMENSIONS: tuple[Mapping[str, float], ...] = (
    {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0},
    _SIZES,
    {f"{unit}/s": factor for unit, factor in _SIZES.items()},
    {"c": 1.0, "°c": 1.0},
    {"w": 1.0, "kw": 1e3},
    {"mhz": 1.0, "ghz": 1e3},
    {"%": 1.0},
    {"tok/s": 1.0, "t/s": 1.0},
)
"""Units that turn into each other, each with its size; in small letters."""
_COUNTS = {"": 1.0, "k": 1e3, "m": 1e6}

_TOKEN = re.compile(
    r"""(?x) \s*(?:
      (?P<operator> == | != | >= | <= | !~ | = | > | < | ~ )
    | (?P<mark> \( | \) | && | \|\| | & | \| | ! )
    | "(?P<double>[^"]*)"? | '(?P<single>[^']*)'?
    | (?P<word> [^\s()&|!<>=~"']+ )
    )"""
)
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)\s*(\S*)")
_UNIT = re.compile(r"\(([^()]+)\)$")
_ANDS, _ORS, _NOTS = ("and", "&", "&&"), ("or", "|", "||"), ("not", "!")
_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


class QueryError(ValueError):
    """What is wrong with a typed filter, where, and what would be right."""

    def __init__(self, what: str, at: int, *, unfinished: bool = False) -> None:
        super().__init__(what)
        self.at = at
        """Characters before the place."""
        self.unfinished = unfinished
        """It may become right when more is typed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One field held against one value, in the field's own unit."""

    field: str
    operator: str
    """`==`, `!=`, `>`, `>=`, `<`, `<=`, `~` (contains) or `!~`."""
    value: str | float | bool

    @property
    def is_number(self) -> bool:
        """True where more and less mean something."""
        return not isinstance(self.value, (str, bool))


@dataclass(frozen=True, slots=True)
class _Word:
    text: str


@dataclass(frozen=True, slots=True)
class _Not:
    part: _Part


@dataclass(frozen=True, slots=True)
class _All:
    parts: tuple[_Part, ...]


@dataclass(frozen=True, slots=True)
class _Any:
    parts: tuple[_Part, ...]


_Part = Comparison | _Word | _Not | _All | _Any


class Query:
    """A filter as it was typed, understood."""

    def __init__(self, text: str, part: _Part, hint: str = "") -> None:
        self.text = text
        self.hint = hint
        """What the filter may have been meant as; empty: it is clear."""
        self.comparisons: tuple[Comparison, ...] = tuple(_comparisons(part))
        """All comparisons in it, in order."""
        self.names: frozenset[str] = frozenset(one.field for one in self.comparisons)
        """The fields that it looks at."""
        self._part = part
        self._test = _compiled(part)

    def matches(self, fields: Mapping[str, Field]) -> bool | None:
        """Whether a row passes; None where a figure that it needs is not known."""
        return self._test(fields)

    @property
    def comparison(self) -> Comparison | None:
        """The comparison, where the whole filter is one."""
        return self._part if isinstance(self._part, Comparison) else None

    def eased(self, share: float) -> Query:
        """The same with the limits of numbers moved by a share of themselves to where more passes.

        `temp>80` eased by 0.05 is `temp>76`: what has begun to hold goes on holding until it is clearly over.
        """
        return Query(self.text, _eased(self._part, share), self.hint)


def parse(text: str, names: Mapping[str, str]) -> Query:
    """A filter from what was typed. `names` are the fields there are, with what each means. Raises QueryError."""
    if len(text) > LONGEST:
        raise QueryError(f"a filter has at most {LONGEST} characters", LONGEST)
    reader = _Reader(text, names)
    if not reader.tokens:
        return Query(text, _All(()))
    part = reader.either()
    if reader.left is not None:
        raise QueryError(f"there is a ) too many at {reader.left.at + 1}", reader.left.at)
    return Query(text, part, reader.hint)


def unit_of(meaning: str) -> str:
    """The unit at the end of a field's meaning; empty for text."""
    found = _UNIT.search(meaning)
    return found[1] if found is not None else ""


# ---- reading


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    """operator | mark | word | quoted."""
    text: str
    at: int

    def is_one(self, words: tuple[str, ...]) -> bool:
        """True for a mark or a word of these."""
        return self.kind in ("mark", "word") and self.text.casefold() in words


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while found := _TOKEN.match(text, place):
        place = found.end()
        kind = found.lastgroup or "double"
        at = found.start(kind)
        if kind in ("double", "single"):
            quote = '"' if kind == "double" else "'"
            if found.end() == found.end(kind):
                raise QueryError(f"the {quote} at {at} is not closed", at - 1, unfinished=True)
            yield _Token("quoted", found[kind], at - 1)
        else:
            yield _Token(kind, found[kind], at)


class _Reader:
    """Reads tokens: `or` binds least, then `and` (or nothing between two), then `not`."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.text, self.names = text, names
        self.tokens = list(_tokens(text))
        self.hint = ""
        self._next = 0
        self._depth = 0
        if self.tokens and self.tokens[0].is_one(("&", "&&")):
            self._next = 1

    @property
    def left(self) -> _Token | None:
        """The next token; None at the end."""
        return self.tokens[self._next] if self._next < len(self.tokens) else None

    def take(self, *words: str) -> bool:
        """Go past the next token when it is one of these."""
        token = self.left
        if token is None or not token.is_one(words):
            return False
        self._next += 1
        return True

    def either(self) -> _Part:
        """Parts with `or` between them."""
        parts = [self.both()]
        while self.take(*_ORS):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else _Any(tuple(parts))

    def both(self) -> _Part:
        """Parts with `and`, or nothing, between them."""
        parts = [self.one()]
        while (token := self.left) is not None and not token.is_one((*_ORS, ")")):
            self.take(*_ANDS)
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else _All(tuple(parts))

    def one(self) -> _Part:
        """A comparison, a word, a part in brackets, or the opposite of one."""
        token = self.left
        if token is None:
            raise QueryError("something is missing at the end", len(self.text), unfinished=True)
        self._depth += 1
        if self._depth > DEEPEST:
            raise QueryError(f"more than {DEEPEST} brackets within each other", token.at)
        try:
            if self.take(*_NOTS):
                return _Not(self.one())
            if self.take("("):
                part = self.either()
                if not self.take(")"):
                    raise QueryError(f"the ( at {token.at + 1} is not closed", token.at, unfinished=True)
                return part
        finally:
            self._depth -= 1
        if token.kind in ("operator", "mark") or token.is_one((*_ANDS, *_ORS)):
            raise QueryError(f"{token.text} at {token.at + 1} has nothing before it", token.at)
        self._next += 1
        operator = self.left
        if operator is None or operator.kind != "operator":
            return self._bare(token)
        self._next += 1
        return self._compared(token, "==" if operator.text == "=" else operator.text)

    def _bare(self, token: _Token) -> _Part:
        name = token.text.casefold()
        if token.kind == "word" and name in self.names:
            unit = unit_of(self.names[name])
            if unit == YES_OR_NO:
                return Comparison(name, "==", value=True)
            example = f"{name}~text" if not unit else f"{name}>0"
            self.hint = f"{name} is also a field: compare it, such as {example}"
        return _Word(name)

    def _compared(self, token: _Token, operator: str) -> Comparison:
        name = token.text.casefold()
        if name not in self.names:
            near = difflib.get_close_matches(name, self.names, n=3)
            meant = f"; did you mean {', '.join(near)}?" if near else ""
            raise QueryError(f"no field {token.text} at {token.at + 1}{meant}", token.at)
        value, unit = self.left, unit_of(self.names[name])
        if value is None:
            said = f" ({unit})" if unit else ""
            raise QueryError(f"{name}{operator} needs a value{said}", len(self.text), unfinished=True)
        if value.kind not in ("word", "quoted"):
            raise QueryError(f"{name}{operator} needs a value, not {value.text} at {value.at + 1}", value.at)
        self._next += 1
        return _comparison(name, operator, value, unit)


def _comparison(name: str, operator: str, value: _Token, unit: str) -> Comparison:
    if unit == YES_OR_NO:
        low = value.text.casefold()
        if operator not in ("==", "!=") or low not in (*_YES, *_NO):
            raise QueryError(f"{name} is yes or no: write {name}, !{name} or {name}==no", value.at)
        return Comparison(name, "==", value=(low in _YES) == (operator == "=="))
    if not unit:
        if operator in ("<", ">", "<=", ">="):
            raise QueryError(f"{name} is text: compare it with == or ~ (contains), not {operator}", value.at)
        return Comparison(name, operator, value.text.casefold())
    if operator in ("~", "!~"):
        raise QueryError(f"{name} is a number ({unit}): compare it with == < or >, not {operator}", value.at)
    return Comparison(name, operator, _number(name, value, unit))


def _number(name: str, value: _Token, unit: str) -> float:
    found = _NUMBER.fullmatch(value.text)
    if found is None:
        raise QueryError(f"{name} is a number ({unit}): {value.text} at {value.at + 1} is none", value.at)
    figure, given, own = float(found[1]), found[2].casefold(), unit.casefold()
    if not given or given == own:
        return figure
    scale = next((scale for scale in _DIMENSIONS if own in scale), _COUNTS)
    given = next((one for one in (given, *_in_own_way(given, own)) if one in scale), "")
    if not given:
        raise QueryError(f"{name} is in {unit}: {found[2]} at {value.at + 1} is another unit", value.at)
    return figure * scale[given] / scale.get(own, 1.0)


def _in_own_way(given: str, own: str) -> tuple[str, str]:
    """`g` and `gb` beside a field in GiB or MB/s."""
    per = "/s" if own.endswith("/s") else ""
    return f"{given.removesuffix('/s')}{per}", f"{given.removesuffix('/s')}{'ib' if 'ib' in own else 'b'}{per}"


# ---- testing


def _comparisons(part: _Part) -> Iterator[Comparison]:
    if isinstance(part, Comparison):
        yield part
    elif isinstance(part, _Not):
        yield from _comparisons(part.part)
    elif isinstance(part, (_All, _Any)):
        for one in part.parts:
            yield from _comparisons(one)


def _compiled(part: _Part) -> Test:
    if isinstance(part, Comparison):
        return _number_test(part) if part.is_number else _text_test(part)
    if isinstance(part, _Word):
        return _word_test(part.text)
    if isinstance(part, _Not):
        inner = _compiled(part.part)

        def opposite(fields: Mapping[str, Field]) -> bool | None:
            found = inner(fields)
            return None if found is None else not found

        return opposite
    tests = tuple(_compiled(one) for one in part.parts)
    return _joined(tests, ends_with=isinstance(part, _Any))


def _joined(tests: tuple[Test, ...], *, ends_with: bool) -> Test:
    """`or` ends with the first that holds, `and` with the first that does not; an unknown one leaves it open."""

    def test(fields: Mapping[str, Field]) -> bool | None:
        answer: bool | None = not ends_with
        for one in tests:
            found = one(fields)
            if found is ends_with:
                return found
            if found is None:
                answer = None
        return answer

    return test


def _word_test(text: str) -> Test:
    def test(fields: Mapping[str, Field]) -> bool:
        for name in WORD_FIELDS:
            value = fields.get(name)
            if isinstance(value, str) and text in value.casefold():
                return True
        return False

    return test


_MORE: Mapping[str, Callable[[float, float], bool]] = {
    "==": lambda found, limit: found == limit,
    "!=": lambda found, limit: found != limit,
    ">": lambda found, limit: found > limit,
    ">=": lambda found, limit: found >= limit,
    "<": lambda found, limit: found < limit,
    "<=": lambda found, limit: found <= limit,
}


def _number_test(one: Comparison) -> Test:
    name, holds, limit = one.field, _MORE[one.operator], float(one.value)

    def test(fields: Mapping[str, Field]) -> bool | None:
        found = fields.get(name)
        return holds(found, limit) if isinstance(found, (int, float)) else None

    return test


def _text_test(one: Comparison) -> Test:
    name, wanted = one.field, one.value
    if isinstance(wanted, bool):

        def is_so(fields: Mapping[str, Field]) -> bool | None:
            found = fields.get(name)
            return None if found is None else bool(found) is wanted

        return is_so
    text, opposite, contains = str(wanted), one.operator.startswith("!"), one.operator.endswith("~")

    def test(fields: Mapping[str, Field]) -> bool | None:
        found = fields.get(name)
        if not isinstance(found, str):
            return None
        low = found.casefold()
        holds = text in low if contains else low == text or ("," in low and text in low.replace(" ", "").split(","))
        return holds != opposite

    return test


def _eased(part: _Part, share: float) -> _Part:
    if isinstance(part, Comparison):
        if not part.is_number or part.operator in ("==", "!="):
            return part
        limit = float(part.value)
        room = abs(limit) * share
        return replace(part, value=limit - room if ">" in part.operator else limit + room)
    if isinstance(part, _Not):
        return _Not(_eased(part.part, -share))
    if isinstance(part, (_All, _Any)):
        return replace(part, parts=tuple(_eased(one, share) for one in part.parts))
    return part
