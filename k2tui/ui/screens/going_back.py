"""Two questions about a restart that did not come to its end: go back? and: go on?"""

from __future__ import annotations

from k2tui.core import words
from k2tui.core.run_words import command_of, difference_words
from k2tui.core.runs import Run
from k2tui.core.settings import NodeSettings
from k2tui.core.views import ServerView
from k2tui.ui import present
from k2tui.ui.screens.confirm import LABEL, fact, must_type
from k2tui.ui.screens.question import WIDE, QuestionDialog
from k2tui.ui.spans import Line, wrapped
from k2tui.ui.widgets.frame import Button

_MOST = 4
"""Rows of one fact."""


def back_dialog(
    server: ServerView, run: Run | None, back_to: str, node: NodeSettings, what: str, wall: float
) -> QuestionDialog:
    """Roll back to the last verified configuration? `run` is that run where its server remembers it."""
    name = server.settings.name

    def rows(width: int) -> list[Line]:
        made: list[Line] = [((text, "bad"),) for text in wrapped(what, width, _MOST)]
        made += [(), fact("back to", f"run {back_to}, {_proved(run, wall)}", "strong")]
        if run is not None and server.run is not None:
            made += _facts("changes", difference_words(command_of(server.run), command_of(run)), width)
        return [*made, (), *_what_stands(server, width)]

    return QuestionDialog(
        f"{name} on {node.name} is not as it should be: roll back?",
        rows,
        [Button("back", f"Roll back {name}", danger=True)],
        names=(node.name,) if must_type(node) else (),
        leave="Leave it",
        width=WIDE,
    )


def _proved(run: Run | None, wall: float) -> str:
    verdict = None if run is None else run.verdict
    return "verified" if verdict is None else f"verified {present.age(wall - verdict.at)} ago"


def _facts(label: str, text: str, width: int) -> list[Line]:
    """One fact over as many rows as it needs."""
    first, *more = wrapped(text, width - LABEL, _MOST) or [""]
    return [fact(label, first), *(fact("", part) for part in more)]


def _what_stands(server: ServerView, width: int) -> list[Line]:
    is_up = server.run is not None and server.run.alive
    said = (
        "Left as it is, it goes on as it stands; a roll-back stops it and cuts its requests off."
        if is_up
        else "Left as it is, it stays down; its log and what was kept of it stay either way."
    )
    return [((text, "warning"),) for text in wrapped(said, width, 2)]


def interrupted_dialog(server: ServerView, node: NodeSettings) -> QuestionDialog:
    """Continue, undo or leave a restart that was begun and not ended."""
    planned, name = server.planned, server.settings.name
    assert planned is not None

    def rows(width: int) -> list[Line]:
        run = server.run
        made = _facts("planned", f"run {planned.run_id}, by {planned.started_by or words.UNKNOWN}", width)
        if run is not None:
            stands = "runs on" if run.alive else "is gone"
            made += _facts("before it", f"run {run.run_id} {stands}", width)
            made += _facts("changes", difference_words(command_of(run), command_of(planned)), width)
        made.append(())
        is_up = run is not None and run.alive
        on = (
            "stops what runs, starts the planned run, and proves it."
            if is_up
            else "starts the planned run and proves it."
        )
        back = "throws the planned run away." if is_up else "throws the planned run away, and starts what ran before."
        for text in (f"Continue {on}", f"Undo {back}", "Leave changes nothing; a restart asks again."):
            made += [((part, "text"),) for part in wrapped(text, width, 2)]
        return made

    return QuestionDialog(
        f"The restart of {name} on {node.name} was interrupted",
        rows,
        [Button("undo", "Undo"), Button("continue", "Continue", danger=True)],
        names=(node.name,) if must_type(node) else (),
        leave="Leave it",
        width=WIDE,
    )
