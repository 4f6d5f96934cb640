"""What a half-typed `:ab` or `:matrix` may become, each with what it means, and what is wrong with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from k2tui.core.benching.matrix import cost_sentence
from k2tui.core.errors import K2Error
from k2tui.core.flag_completion import Candidate
from k2tui.ui.sheet_choices import profile_words

if TYPE_CHECKING:
    from k2tui.ui.actions import Command
    from k2tui.ui.app import K2App
    from k2tui.ui.screens.base import K2Screen


def series_offers(app: K2App, screen: K2Screen, command: Command, line: str) -> tuple[Candidate, ...]:
    """Whole lines that begin as `line`, which was typed."""
    head = line[: line.index(" ", len(line) - len(line.lstrip(" :"))) + 1]
    if command.word == "matrix":
        return tuple(
            Candidate(f"{head}{name}", _cost(app, name))
            for name in app.fleet.settings.matrices
            if name.startswith(command.argument)
        )
    server = screen.chosen_server
    if server is None:
        return ()
    profiles = app.fleet.settings.profiles
    whole, begun = command.argument.split(), ""
    if whole and not line.endswith(" "):
        begun = whole.pop()
    return tuple(
        Candidate(" ".join([head.rstrip(), *whole, name]), profile_words(profile, server))
        for name, profile in profiles.items()
        if name.startswith(begun) and name not in whole
    )


def series_lack(app: K2App, word: str) -> str:
    """What `:ab` or `:matrix` needs, and what there is."""
    settings = app.fleet.settings
    if word == "matrix":
        return f"a name; matrices of the config: {', '.join(settings.matrices) or 'none'}"
    return f"two profiles; there are: {', '.join(settings.profiles) or 'none'}"


def _cost(app: K2App, name: str) -> str:
    try:
        plan = app.fleet.plan_matrix(name)
    except K2Error as error:
        return str(error)
    return f"{plan.server}: {cost_sentence(plan)}"


def series_complaint(app: K2App, screen: K2Screen, command: Command) -> str | None:
    """Why it can't be made; None where it can."""
    try:
        if command.word == "matrix":
            if command.argument:
                app.fleet.plan_matrix(command.argument)
            return None
        server = screen.chosen_server
        if server is not None:
            app.plan_ab(server.settings.name, command.argument.split())
    except K2Error as error:
        return str(error)
    return None
