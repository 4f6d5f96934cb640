"""One table of a TOML text changed in place: comments, order, spelling and line ends of everything else stay."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Item, Table

from k2tui.core.toml_lines import KeyPath, dotted
from k2tui.core.toml_text import toml_value

_LINE = re.compile(r"([^\n]*?)(\r?\n|\Z)")
_LITERAL = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f]*(?<!')")
_BOM = "\ufeff"

Plain = dict[str, Any]


class UneditableError(Exception):
    """The text is written in a way that can't be changed in one place."""


def with_table(text: str, path: KeyPath, wanted: Mapping[str, object], spelled: Callable[[str], str]) -> str:
    """The text with the keys of `wanted` in the table at `path`; a key whose value is None is taken out.

    A key that holds a table is changed entry by entry; `spelled` gives the same for all spellings of an entry's name.
    Keys that `wanted` does not name stay. `text` has `\\n` as its line end.
    """
    try:
        document = tomlkit.parse(text)
        for key, value in wanted.items():
            if isinstance(value, Mapping):
                _set_entries(document, (*path, key), value, spelled)
            else:
                _set(document, path, key, value)
        return tomlkit.dumps(document)
    except TOMLKitError as error:
        raise UneditableError(str(error)) from error


def table_text(path: KeyPath, table: Mapping[str, object]) -> str:
    """A table of its own: header and a line a key. Text with line breaks stands between literal quotes."""
    rows = [f"{dotted((key,))} = {_written(value)}" for key, value in table.items()]
    return "\n".join([f"[{dotted(path)}]", *rows, ""])


def appended(text: str, more: str) -> str:
    """The text with tables at its end, a blank line in front of them."""
    kept = text if text.endswith("\n") or not text else f"{text}\n"
    return f"{kept}{'' if not kept or kept.endswith(chr(10) * 2) else chr(10)}{more}"


def with_line_ends_of(original: str, changed: str) -> str:
    """`changed`, whose lines end in `\\n`, with the bytes of `original` in every line that both have."""
    old = _LINE.findall(original.removeprefix(_BOM))
    new = changed.split("\n")
    bodies = [body for body, _ in old]
    usual = "\r\n" if original.count("\r\n") * 2 > original.count("\n") else "\n"
    ends = [usual] * (len(new) - 1) + [""]
    same = difflib.SequenceMatcher(None, bodies, new, autojunk=False)
    for at, to, length in same.get_matching_blocks():
        for step in range(length):
            if to + step < len(new) - 1:
                ends[to + step] = old[at + step][1] or usual
    whole = "".join(body + end for body, end in zip(new, ends, strict=True))
    if new == [*bodies, ""] and not original.endswith("\n"):
        whole = whole[: -len(ends[-2])]
    return (_BOM if original.startswith(_BOM) else "") + whole


def _places(container: Container, path: KeyPath, is_dotted: bool = False) -> Iterator[tuple[Item, bool]]:
    """Every piece that is written of what stands at `path`, and whether it is reached through a dotted key."""
    for key, item in container.body:
        if key is None or key.key != path[0]:
            continue
        through = is_dotted or key.is_dotted()
        if len(path) == 1:
            yield item, through
        elif isinstance(item, (Table, InlineTable)):
            yield from _places(item.value, path[1:], through)


def _tables(document: Container, path: KeyPath) -> list[tuple[Table | InlineTable, bool]]:
    return [(item, through) for item, through in _places(document, path) if isinstance(item, (Table, InlineTable))]


def _set(document: Container, path: KeyPath, key: str, value: object) -> None:
    tables = _tables(document, path)
    for table, _ in tables:
        if key in table:
            if value is None:
                del table[key]
            elif not _is_same(_plain(table[key]), value):
                table[key] = _item(value)
            return
    if value is not None:
        _add(tables, path, key, value)


def _set_entries(
    document: Container, path: KeyPath, wanted: Mapping[str, object], spelled: Callable[[str], str]
) -> None:
    """Each entry of a table, in whatever piece it stands."""
    tables = _tables(document, path)
    if not tables:
        if wanted:
            _add(_tables(document, path[:-1]), path[:-1], path[-1], dict(wanted))
        return
    if any(isinstance(table, InlineTable) for table, _ in tables):
        for parent, _ in _tables(document, path[:-1]):
            if path[-1] in parent and not _says(parent[path[-1]], wanted, spelled):
                parent[path[-1]] = _rewritten(parent[path[-1]], wanted, spelled)
        return
    missing = {spelled(name): name for name in wanted}
    for table, _ in tables:
        for name in [key.key for key, _ in table.value.body if key is not None]:
            meant = missing.pop(spelled(name), None)
            if meant is None:
                del table[name]
            elif not _is_same(_plain(table[name]), wanted[meant]):
                table[name] = _item(wanted[meant])
    for name in missing.values():
        _add(tables, path, name, wanted[name])


def _says(table: InlineTable, wanted: Mapping[str, object], spelled: Callable[[str], str]) -> bool:
    said = {spelled(key.key): _plain(item) for key, item in table.value.body if key is not None}
    meant = {spelled(name): value for name, value in wanted.items()}
    return said.keys() == meant.keys() and all(_is_same(said[name], meant[name]) for name in said)


def _rewritten(table: InlineTable, wanted: Mapping[str, object], spelled: Callable[[str], str]) -> Item:
    """An inline table with these entries; what it has keeps its place, its spelling and its value's own text."""
    missing = {spelled(name): name for name in wanted}
    entries: list[str] = []
    for key, item in table.value.body:
        if key is not None and (meant := missing.pop(spelled(key.key), None)) is not None:
            is_same = _is_same(_plain(item), wanted[meant])
            entries.append(f"{key.as_string()}{key.sep}{item.as_string() if is_same else _written(wanted[meant])}")
    entries.extend(f"{dotted((name,))} = {_written(wanted[name])}" for name in missing.values())
    pad = "" if re.match(r"\{\S", table.as_string()) and len(table) else " "
    return tomlkit.value(f"{{{pad}{', '.join(entries)}{pad}}}" if entries else "{}")


def _add(tables: list[tuple[Table | InlineTable, bool]], path: KeyPath, key: str, value: object) -> None:
    """Put a new key behind the last one of a table."""
    headed = [table for table, through in tables if isinstance(table, Table) and not through]
    for headed_table in headed:
        if not headed_table.is_super_table():
            _insert(headed_table, key, value)
            return
    others = [table for table, through in tables if isinstance(table, InlineTable) or through]
    if not others:
        raise UneditableError(f"there is no [{dotted(path)}] to put {key} into")
    others[-1].append(key, _item(value))


def _insert(table: Table, key: str, value: object) -> None:
    """Behind the table's last value, or its header; not behind the comments that speak of what follows."""
    values = [item for key, item in table.value.body if key is not None and not isinstance(item, Table)]
    before = values[-1] if values else table
    line = f"{before.trivia.indent if values else ''}{dotted((key,))} = {_written(value)}\n"
    if not before.trivia.trail.endswith("\n"):
        line = f"\n{line}"
    before.trivia.trail += line


def _item(value: object) -> Item:
    return tomlkit.value(_written(value))


def _written(value: object) -> str:
    """The value as TOML; text with line breaks between literal quotes, where it has none of these, and nothing that
    must be escaped."""
    if isinstance(value, str) and "\n" in value and "'''" not in value and _LITERAL.fullmatch(value):
        return f"'''\n{value}'''"
    return toml_value(value)


def _plain(item: object) -> object:
    return item.unwrap() if isinstance(item, Item) else item


def _is_same(one: object, other: object) -> bool:
    """Equal, and of one kind: true is not 1, and 1 is not 1.0."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return list(one) == list(other) and all(_is_same(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other
