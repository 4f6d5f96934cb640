"""The tables of README.md, made from the code that they tell of. Prints them; `--write` puts them in place."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from k2tui.commands.arguments import build_parser  # noqa: E402  (the checkout's own)
from k2tui.core.fields import GPU_FIELDS, NODE_FIELDS, SERVER_FIELDS  # noqa: E402
from k2tui.core.keymap import ACTIONS, Action  # noqa: E402

README = ROOT / "README.md"
WHERE = {
    "anywhere": "anywhere",
    "server": "on a server",
    "rows": "in lists",
    "benches": "in the benchmarks",
    "log": "in the log",
    "plot": "in plots",
    "sheet": "in the launch sheet",
}


def every_command(parser: argparse.ArgumentParser | None = None) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """(words, parser, help) of each command that can be given; the app itself is the empty word."""
    parser = parser or build_parser()
    yield "", parser, "the app"
    yield from _below(parser, "")


def _below(parser: argparse.ArgumentParser, words: str) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, below in action.choices.items():
            path = f"{words} {name}".strip()
            if any(isinstance(inner, argparse._SubParsersAction) for inner in below._actions):
                yield from _below(below, path)
            else:
                yield path, below, helps.get(name, "")


def usage_of(parser: argparse.ArgumentParser) -> str:
    """What may follow a command, on one line."""
    parts = []
    needed = [group._group_actions for group in parser._mutually_exclusive_groups if group.required]
    for action in parser._actions:
        if any(action in group for group in needed):
            group = next(group for group in needed if action in group)
            if action is group[0]:
                parts.append(f"({' | '.join(one.option_strings[0] for one in group)})")
            continue
        if isinstance(action, argparse._HelpAction | argparse._VersionAction | argparse._SubParsersAction):
            continue
        word = action.option_strings[0] if action.option_strings else ""
        value = "" if action.nargs == 0 else _value(action)
        text = f"{word} {value}".strip()
        optional = bool(action.option_strings) or action.nargs in ("*", "?")
        many = isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+")
        parts.append(f"[{text}]{'…' if many else ''}" if optional else text)
    return " ".join(parts)


def _value(action: argparse.Action) -> str:
    """`FILE`, `A B`, `rollback|leave|ask`."""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    if action.metavar is None and action.choices is not None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def commands_table() -> str:
    """Each command with its options and what it does."""
    rows = ["| command | does |", "| --- | --- |"]
    for words, parser, does in every_command():
        command = " ".join(part for part in ("k2tui", words, usage_of(parser) if words else "") if part)
        rows.append(f"| `{_cell(command)}` | {_cell(does)} |")
    options = "Before the command: " + ", ".join(
        f"`{part}`" for part in re.findall(r"\[([^]]+)\]", usage_of(build_parser()))
    )
    return "\n".join([*rows, "", options + "."])


def keys_table() -> str:
    """Each action with its keys, where it acts, what it does and its id."""
    rows = ["| key | where | does | action id |", "| --- | --- | --- | --- |"]
    for action in ACTIONS:
        rows.append(f"| {keys_of(action)} | {WHERE[action.scope]} | {_cell(action.meaning)} | `{action.id}` |")
    return "\n".join(rows)


def keys_of(action: Action) -> str:
    return ", ".join(f"`{_cell(key)}`" for key in action.keys)


def fields_table() -> str:
    """Each field that a filter, a sort or a rule knows, and of what."""
    rows = ["| field | of | means |", "| --- | --- | --- |"]
    meanings: dict[tuple[str, str], list[str]] = {}
    for of, fields in (("server", SERVER_FIELDS), ("node", NODE_FIELDS), ("GPU", GPU_FIELDS)):
        for name, meaning in fields.items():
            meanings.setdefault((name, meaning), []).append(of)
    for (name, meaning), kinds in sorted(meanings.items()):
        rows.append(f"| `{name}` | {', '.join(kinds)} | {_cell(meaning)} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


TABLES: dict[str, Callable[[], str]] = {"commands": commands_table, "keys": keys_table, "fields": fields_table}


def filled(text: str) -> str:
    """A page with its tables as the code says them now."""
    for name, table in TABLES.items():
        found = re.search(rf"(<!-- {name}:begin[^>]*-->\n).*?(<!-- {name}:end -->)", text, re.DOTALL)
        if found is None:
            raise SystemExit(f"no place for the table of {name}")
        text = f"{text[: found.start()]}{found[1]}{table()}\n{found[2]}{text[found.end() :]}"
    return text


def main() -> None:
    """Print the tables, or write them."""
    if sys.argv[1:] == ["--write"]:
        README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(*(table() for table in TABLES.values()), sep="\n\n")


if __name__ == "__main__":
    main()
