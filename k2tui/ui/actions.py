"""The key map becomes Textual bindings, `:` commands and palette entries."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from textual.binding import Binding, BindingType

from k2tui.core.keymap import BY_ID, Action


def handler_of(action_id: str) -> str:
    """The method (after `action_`) that a screen has for an action: `log.follow` is `log_follow`."""
    return action_id.replace(".", "_")


def bindings(*ids: str) -> list[BindingType]:
    """The bindings of these actions; leaving works also while something is typed."""
    return [
        Binding(
            ",".join(action.keys),
            handler_of(action.id),
            action.label,
            show=False,
            id=action.id,
            priority=action.id == "app.leave",
        )
        for action in (BY_ID[action_id] for action_id in ids)
    ]


def keymap_of(actions: Iterable[Action]) -> dict[str, str]:
    """Action id to its keys, for those that differ from the map as laid down: Textual's form of moved keys."""
    return {action.id: ",".join(action.keys) for action in actions if action.keys != BY_ID[action.id].keys}


EVERYWHERE = (
    "app.help",
    "app.command",
    "app.palette",
    "app.open",
    "app.back",
    "app.quit",
    "go.home",
    "go.benches",
    "go.events",
    "go.gpus",
    "find.open",
    "find.next",
    "find.previous",
    "move.down",
    "move.up",
    "move.top",
    "move.bottom",
    "move.page_down",
    "move.page_up",
    "move.left",
    "move.right",
    "pane.next",
    "pane.previous",
    "pane.zoom",
    "screen.hold",
    "row.copy",
)
"""On every screen that shows the fleet."""
SERVER = (
    "server.restart",
    "server.try",
    "server.try_again",
    "server.undo",
    "server.verify",
    "bench.quick",
    "bench.choose",
    "server.runs",
    "server.stop",
    "server.describe",
    "server.copy_command",
    "server.history",
    "server.adopt",
    "node.connect",
    "go.log",
)
"""Where a server is selected."""
ROWS = ("rows.sort", "rows.mark", "rows.mark_range")
"""Where rows are sorted and marked."""
LOG = (
    "log.follow",
    "log.wrap",
    "log.time",
    "log.level",
    "log.rank_before",
    "log.rank_after",
    "log.rank_all",
    "log.merge",
    "log.older_run",
    "log.newer_run",
    "log.save",
    "log.failure",
)
"""Where a log is shown."""
SHEET = (
    "sheet.add",
    "sheet.remove",
    "sheet.edit",
    "sheet.take_back",
    "sheet.reset",
    "sheet.profile",
    "sheet.save",
    "sheet.paste",
    "sheet.failure",
    "sheet.drain",
    "sheet.dry_run",
)
"""In the launch sheet."""
DIALOG = ("app.open", "app.back", "pane.next", "pane.previous", "move.left", "move.right")
"""In every dialog."""
CHANGING = frozenset({"server.restart", "server.stop", "server.try", "server.try_again", "server.undo"})
"""What changes a server."""
READ_ONLY = CHANGING | {"bench.quick", "bench.choose"}
"""What read-only forbids: a benchmark makes the server work."""
OWN = CHANGING | {"server.verify", "server.runs"}
"""What is for servers that k2tui started."""

ARGUMENTS: Mapping[str, str] = {
    **dict.fromkeys(("restart", "stop", "undo", "verify", "runs", "bench", "measure"), "server"),
    "matrix": "matrix",
    "ab": "profiles",
    "log": "server",
    "describe": "server",
    "copy-command": "server",
    "history": "server",
    "adopt": "server",
    "connect": "node",
    "gpus": "gpu filter",
    "server": "server",
    "node": "node",
    "theme": "theme",
    "find": "text",
    "rank": "text",
}
"""What a command takes after its word."""
SEVERAL = frozenset({"profiles"})
"""Arguments of several words: each is completed by itself."""
EXTRA_COMMANDS: Mapping[str, str] = {
    "server": "Go to the screen of a server",
    "node": "Go to the home screen and select a node's first server",
    "theme": "Use another theme until the end",
    "rank": "Show the lines of one rank only",
    "matrix": "Make a matrix of the config: restarts and benchmarks in turn, after a question",
    "ab": "Restart the selected server with each of these profiles in turn, measure, and compare",
}
"""Commands that are no key: they need their argument."""


OTHER_WORDS: Mapping[str, str] = {"start": "restart", "logs": "log"}
"""Words that are typed for a command, and its own word."""


@dataclass(frozen=True, slots=True)
class Command:
    """One line typed after `:`, understood."""

    word: str
    argument: str
    action: Action | None
    """None for a command that is no key."""


class UnknownCommand(Exception):
    """Not a command here; says what it may have meant."""


def words_on(ids: Iterable[str]) -> list[str]:
    """All command words of a screen with these actions."""
    own = {BY_ID[action_id].word for action_id in ids}
    return sorted(own | {other for other, word in OTHER_WORDS.items() if word in own} | set(EXTRA_COMMANDS) | {"quit"})


def understand(line: str, ids: Sequence[str]) -> Command:
    """The command of a typed line on a screen with these actions; a word may be cut off where it is clear."""
    word, _, argument = line.strip().lstrip(":").strip().partition(" ")
    words = words_on(ids)
    if word not in words:
        begun = [known for known in words if word and known.startswith(word)]
        if len({OTHER_WORDS.get(known, known) for known in begun}) != 1:
            near = begun or difflib.get_close_matches(word, words, n=3)
            meant = f"; did you mean {', '.join(near)}?" if near else ""
            raise UnknownCommand(f"no command {word!r} here{meant}")
        word = begun[0]
    word = OTHER_WORDS.get(word, word)
    by_word = {BY_ID[action_id].word: BY_ID[action_id] for action_id in ids}
    return Command(word, argument.strip(), by_word.get(word))


def completions(line: str, ids: Sequence[str], names: Mapping[str, Sequence[str]]) -> list[str]:
    """Whole lines that begin as typed; `names` gives the servers, nodes and themes by kind of argument."""
    word, blank, argument = line.lstrip().partition(" ")
    if not blank:
        return [known for known in words_on(ids) if known.startswith(word)]
    kind = ARGUMENTS.get(OTHER_WORDS.get(word, word), "")
    head, begun = "", argument.lstrip()
    if kind in SEVERAL:
        before, _, begun = begun.rpartition(" ")
        head = f"{before} " if before else ""
    taken = head.split()
    return [f"{word} {head}{name}" for name in names.get(kind, ()) if name.startswith(begun) and name not in taken]
