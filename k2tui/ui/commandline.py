"""What a line typed after `:` does: every action by its word, and a few that need an argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from k2tui.core.errors import K2Error
from k2tui.core.flag_completion import Candidate
from k2tui.core.try_completion import try_candidates
from k2tui.core.variables import VARIABLES
from k2tui.ui.actions import ARGUMENTS, Command, UnknownCommand, completions, handler_of, understand
from k2tui.ui.theme import theme_names

if TYPE_CHECKING:
    from k2tui.ui.app import K2App
    from k2tui.ui.screens.base import K2Screen


NAMES_A_SERVER = frozenset(word for word, kind in ARGUMENTS.items() if kind == "server")
"""Commands that are refused at once where there is no server of that name."""


SERIES = ("ab", "matrix")
"""Commands that make a series of restarts."""


def names_of(app: K2App) -> Mapping[str, Sequence[str]]:
    """What arguments can be completed with."""
    return {
        "server": [server.settings.name for server in app.fleet.servers()],
        "node": [node.settings.name for node in app.fleet.nodes()],
        "theme": theme_names(),
        "gpu filter": ("free", "temp>80", "throttle~heat", "xid>0", "procs>0"),
        "matrix": tuple(app.fleet.settings.matrices),
        "profiles": tuple(app.fleet.settings.profiles),
    }


def complete_line(app: K2App, screen: K2Screen, text: str) -> list[str]:
    """Whole lines that begin as typed."""
    return completions(text, screen.HERE, names_of(app))


def offers(app: K2App, screen: K2Screen, text: str) -> tuple[Candidate, ...]:
    """Whole lines that a half-typed `try`, `ab` or `matrix` may become, each with what it means."""
    command = _begun(screen, text)
    server = screen.chosen_server
    if command is not None and command.word in SERIES:
        from k2tui.ui.bench_typing import series_offers  # noqa: PLC0415  seldom needed

        return series_offers(app, screen, command, text)
    if command is None or server is None:
        return ()
    head = text[: text.index(" ", len(text) - len(text.lstrip(" :"))) + 1]
    run = server.run
    argv, env = ((), {}) if run is None else (run.argv, dict(run.env))
    found = try_candidates(text[len(head) :], server.build, VARIABLES, argv, env)
    return tuple(Candidate(head + one.text, one.note) for one in found)


def complaint(app: K2App, screen: K2Screen, text: str) -> str | None:
    """What is wrong with one of these, so that it can be corrected where it stands; None for all that may be done."""
    command = _begun(screen, text)
    if command is None:
        return None
    if command.word in SERIES:
        from k2tui.ui.bench_typing import series_complaint  # noqa: PLC0415  seldom needed

        return series_complaint(app, screen, command)
    try:
        app.check_try(screen.targets("try"), command.argument)
    except K2Error as error:
        return str(error)
    return None


def _begun(screen: K2Screen, text: str) -> Command | None:
    """The `try`, `ab` or `matrix` that is typed, once its words are begun."""
    if " " not in text.lstrip(" :"):
        return None
    try:
        command = understand(text, screen.HERE)
    except UnknownCommand:
        return None
    return command if command.word == "try" or command.word in SERIES else None


def run_line(app: K2App, screen: K2Screen, line: str) -> None:
    """Do it, or say why not."""
    try:
        command = understand(line, screen.HERE)
        _run(app, screen, command.word, command.argument, None if command.action is None else command.action.id)
    except UnknownCommand as error:
        app.say(str(error), "warning")
    except K2Error as error:
        app.fail(error)


def _run(app: K2App, screen: K2Screen, word: str, argument: str, action_id: str | None) -> None:
    with_argument: dict[str, Callable[[str], None]] = {
        "server": app.go_server,
        "restart": app.begin_restart,
        "try": lambda words: app.try_words(screen, words),
        "undo": app.undo,
        "verify": app.verify,
        "runs": lambda name: app.go_runs(name),
        "bench": app.bench,
        "measure": app.choose_bench,
        "matrix": app.ask_matrix,
        "ab": lambda words: app.ab_words(screen.chosen_server, words),
        "stop": app.ask_stop,
        "describe": app.describe,
        "history": lambda name: app.go_history(name),
        "adopt": lambda name: _adopt(app, name),
        "gpus": lambda wanted: _gpus(screen, wanted),
        "theme": app.use_theme,
        "node": lambda name: _to_node(app, name),
        "log": lambda name: app.go_server(name, log=True),
        "connect": app.connect_node,
        "find": lambda text: _find(screen, text),
        "rank": lambda rank: _rank(app, screen, rank),
    }
    if argument and word in with_argument:
        if word in NAMES_A_SERVER:
            app.fleet.server(argument)
        with_argument[word](argument)
    elif word == "quit":
        app.exit()
    elif action_id is not None and not argument:
        handler = getattr(screen, f"action_{handler_of(action_id)}", None) or getattr(
            app, f"action_{handler_of(action_id)}", None
        )
        if handler is not None:
            app.call_later(handler)
    elif action_id is None:
        app.say(f":{word} needs {_lack(app, word)}", "warning")
    else:
        app.say(f":{word} takes no argument", "warning")


def _lack(app: K2App, word: str) -> str:
    """What a command that stands alone needs behind it, and what there is."""
    if word in SERIES:
        from k2tui.ui.bench_typing import series_lack  # noqa: PLC0415  seldom needed

        return series_lack(app, word)
    return "a name"


def _to_node(app: K2App, name: str) -> None:
    if name not in app.fleet.settings.nodes:
        raise K2Error(f"no node {name!r}", code="no_such_node", subject=name)
    app.go_home()
    server = next((server for server in app.fleet.servers() if server.settings.node == name), None)
    front = app.front
    select = getattr(front, "select_server", None)
    if server is not None and select is not None:
        select(server.settings.name)


def _adopt(app: K2App, name: str) -> None:
    from k2tui.ui.screens.adopt import adopt_screen  # noqa: PLC0415  seldom needed

    app.push_screen(adopt_screen(app.fleet.server(name), app.fleet))


def _gpus(screen: K2Screen, wanted: str) -> None:
    go = getattr(screen, "open_gpus", None)
    if go is not None:
        go(wanted)


def _find(screen: K2Screen, text: str) -> None:
    finder = getattr(screen, "finder", None)
    target = finder() if finder is not None else None
    if target is not None:
        target.find(text)


def _rank(app: K2App, screen: K2Screen, rank: str) -> None:
    show = getattr(screen, "show_rank", None)
    if show is None:
        app.say("no log is shown here", "warning")
    else:
        show(rank)
