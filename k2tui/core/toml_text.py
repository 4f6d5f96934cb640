"""Settings written as TOML again: what `config show` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping

from k2tui.core.toml_lines import dotted, toml_string


def toml_text(document: Mapping[str, object]) -> str:
    """A document of tables, lists and scalars as TOML. Tables two levels deep get headers, deeper ones are inline."""
    blocks: list[str] = []
    top = [f"{dotted((key,))} = {toml_value(value)}" for key, value in document.items() if not _is_section(value)]
    if top:
        blocks.append("\n".join(top))
    for section, tables in document.items():
        if not _is_section(tables):
            continue
        assert isinstance(tables, Mapping)
        for name, table in tables.items():
            rows = [f"{dotted((key,))} = {toml_value(value)}" for key, value in table.items()]
            blocks.append("\n".join([f"[{dotted((section, name))}]", *rows]))
    return "\n\n".join(blocks) + "\n"


def toml_value(value: object) -> str:
    """One value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_string(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{dotted((str(key),))} = {toml_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _is_section(value: object) -> bool:
    """A non-empty table whose values are all tables, such as `nodes`."""
    return isinstance(value, Mapping) and bool(value) and all(isinstance(item, Mapping) for item in value.values())
