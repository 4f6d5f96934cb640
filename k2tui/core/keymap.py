"""The key map: each action with an id, a key and one meaning that holds on every screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a key can do."""

    id: str
    """`scope.verb`; what `[keys]` in the config names."""
    keys: tuple[str, ...]
    """Textual key names or single characters; the first is the one that is shown."""
    label: str
    """A word or two for the last line of a screen."""
    meaning: str
    """One sentence for help and the palette."""
    scope: str = "anywhere"
    """anywhere | server | rows | benches | log | plot | sheet: where it acts."""
    command: str = ""
    """Its word after `:`; empty: the last part of the id."""

    @property
    def word(self) -> str:
        """What is typed after `:` to do the same."""
        return self.command or self.id.rpartition(".")[2].replace("_", "-")


ACTIONS: tuple[Action, ...] = (
    Action("app.help", ("?",), "help", "Show the keys of this screen, with search"),
    Action("app.command", (":",), "command", "Type a command, with completion and history"),
    Action("app.palette", ("f1", "ctrl+p"), "palette", "Find any action, server or theme by its name"),
    Action("find.open", ("/",), "find", "Search or filter; ! in front hides, & in front shows only", command="find"),
    Action("find.next", ("n",), "next", "Go to the next match"),
    Action("find.previous", ("N",), "previous", "Go to the match before"),
    Action("app.open", ("enter",), "open", "Go into the selected row, or press the button"),
    Action(
        "app.back", ("escape", "backspace", "q"), "back", "Clear the search, then go back; on the top screen q quits"
    ),
    Action("app.quit", ("Q",), "quit", "Quit from anywhere; what runs on the nodes runs on"),
    Action("app.leave", ("ctrl+q", "ctrl+c"), "quit", "Quit, also in the middle of typing"),
    Action("go.home", ("1",), "home", "Go to the box or fleet screen"),
    Action("go.log", ("l", "2"), "log", "Go to the log of the selected server", "server"),
    Action("go.benches", ("3",), "benchmarks", "Go to the benchmarks: what was measured, side by side and over time"),
    Action("go.events", ("5",), "events", "Go to the list of what happened"),
    Action(
        "go.gpus", ("6",), "GPUs", "Go to all GPUs of all nodes: free ones, hot ones, what holds them", command="gpus"
    ),
    Action("move.down", ("j", "down"), "down", "Move one row down"),
    Action("move.up", ("k", "up"), "up", "Move one row up"),
    Action("move.top", ("g", "home"), "top", "Move to the first row"),
    Action("move.bottom", ("G", "end"), "bottom", "Move to the last row"),
    Action("move.page_down", ("pagedown",), "page down", "Move one page down"),
    Action("move.page_up", ("pageup",), "page up", "Move one page up"),
    Action("move.left", ("left",), "left", "Move left, or scroll a long line back"),
    Action("move.right", ("right",), "right", "Move right, or scroll a long line on"),
    Action("pane.next", ("tab",), "pane", "Go to the next pane or field", command="next-pane"),
    Action("pane.previous", ("shift+tab",), "pane before", "Go to the pane or field before", command="previous-pane"),
    Action("pane.zoom", ("z",), "zoom", "Show this pane alone, and all of them again"),
    Action("screen.hold", ("p",), "hold", "Hold the screen still; the log is taken in and counted meanwhile"),
    Action("rows.sort", ("o",), "sort", "Sort the rows by a column; its letter follows"),
    Action("rows.mark", ("space",), "mark", "Mark the selected row for copying, or take the mark away"),
    Action("rows.mark_range", ("V",), "mark range", "Mark all rows from the last marked one to this one"),
    Action("alert.acknowledge", ("A",), "acknowledge", "Acknowledge the selected alert, or all that are open"),
    Action("plot.shorter", ("(",), "shorter", "Plot a shorter time", "plot"),
    Action("plot.longer", (")",), "longer", "Plot a longer time, up to seven days", "plot"),
    Action("row.copy", ("y",), "copy", "Copy the selected or the marked rows"),
    Action("server.copy_command", ("Y",), "copy command", "Copy the exact command of the selected server", "server"),
    Action("server.restart", ("r",), "restart", "Start or restart the selected server, through a sheet", "server"),
    Action("server.try", ("t",), "try", "Try one change on top of what runs: restart, proof, difference", "server"),
    Action("server.try_again", (".",), "repeat", "Try the last change again, on this server", "server"),
    Action("server.undo", ("u",), "undo", "Go back to the last verified configuration, through the sheet", "server"),
    Action("server.verify", ("v",), "verify", "Look now at every effect that its flags ask for", "server"),
    Action("server.runs", ("H",), "runs", "Show its runs: what was tried, how long it took, what was proved", "server"),
    Action(
        "rows.compare",
        ("c",),
        "compare",
        "Compare the two marked rows, or the selected one with the newest run or the base",
        "rows",
    ),
    Action("bench.quick", ("b",), "bench", "Measure its tok/s now: a quick figure of one stream", "server", "bench"),
    Action(
        "bench.choose",
        ("B",),
        "measure",
        "Choose what to measure: quick, sweep, prefill, full run, A/B of profiles, matrix",
        "server",
        "measure",
    ),
    Action(
        "bench.base", ("=",), "base", "Make the selected benchmark the base of its server, or take that back", "benches"
    ),
    Action("server.stop", ("s",), "stop", "Stop the selected server, after a question", "server"),
    Action(
        "server.describe", ("d",), "describe", "Describe it: command, environment, witnesses, files, runs", "server"
    ),
    Action("server.history", ("h",), "history", "Plot its readings over time, with restarts drawn in", "server"),
    Action("server.adopt", ("i",), "adopt", "Show the config that makes a found server one of yours", "server"),
    Action(
        "node.connect", ("C",), "connect", "Try its node again now, or look at the host key that it offers", "server"
    ),
    Action("log.follow", ("f",), "follow", "Follow the end of the log, or let go of it", "log"),
    Action("log.wrap", ("w",), "wrap", "Wrap long lines, or cut them off", "log"),
    Action("log.time", ("T",), "time", "Show or hide the time column", "log"),
    Action("log.level", ("L",), "level", "Show all lines, then warnings and worse, then errors", "log"),
    Action("log.rank_before", ("[",), "rank before", "Show the lines of the rank before only", "log"),
    Action("log.rank_after", ("]",), "rank", "Show the lines of the next rank only", "log"),
    Action("log.rank_all", ("*",), "all ranks", "Show the lines of all ranks", "log"),
    Action("log.merge", ("m",), "merge", "Show the same line of several ranks once with a count, or each", "log"),
    Action("log.older_run", ("<",), "older run", "Show the log of the run before", "log"),
    Action("log.newer_run", (">",), "newer run", "Show the log of the run after", "log"),
    Action("log.save", ("S",), "save", "Save the shown lines to a private file, secrets masked", "log"),
    Action("log.failure", ("D",), "failure", "Jump to the line that explains the failure", "log"),
    Action("sheet.add", ("a",), "add", "Add a flag or a variable", "sheet"),
    Action("sheet.remove", ("x",), "remove", "Remove the selected flag or variable", "sheet"),
    Action("sheet.edit", ("e",), "edit", "Edit the value of the selected flag or variable", "sheet"),
    Action("sheet.take_back", ("U",), "take back", "Take back the last edit", "sheet"),
    Action("sheet.reset", ("R",), "reset", "Take back all edits", "sheet"),
    Action("sheet.profile", ("M",), "profile", "Choose another profile", "sheet"),
    Action("sheet.save", ("W",), "save profile", "Save this as a profile in the config", "sheet", "save-profile"),
    Action("sheet.paste", ("I",), "import command", "Begin from a pasted command line, or from a process", "sheet"),
    Action(
        "sheet.failure",
        ("F",),
        "on failure",
        "Choose what follows a failure: ask, roll back, leave",
        "sheet",
        "on-failure",
    ),
    Action("sheet.drain", ("K",), "drain", "Let running requests end before the stop, up to a minute", "sheet"),
    Action("sheet.dry_run", ("X",), "dry run", "Say what would be done, and do nothing", "sheet"),
)
"""All actions whose effect exists. Actions of later work are absent, not dead."""

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}


def moved(keys: Mapping[str, str], actions: Iterable[Action] = ACTIONS) -> tuple[Action, ...]:
    """The actions with the keys that an operator chose. Named keys (enter, arrows, f1, ctrl+c) stay beside them."""

    def move(action: Action) -> Action:
        if action.id not in keys:
            return action
        chosen = keys[action.id]
        named = tuple(key for key in action.keys if len(key) > 1 and key != chosen)
        return replace(action, keys=(chosen, *named))

    return tuple(move(action) for action in actions)


def clashes(actions: Iterable[Action]) -> tuple[tuple[str, str, str], ...]:
    """(key, id, id) for each key that would mean two things."""
    found: list[tuple[str, str, str]] = []
    owner: dict[str, str] = {}
    for action in actions:
        for key in action.keys:
            if key in owner:
                found.append((key, owner[key], action.id))
            owner.setdefault(key, action.id)
    return tuple(found)
