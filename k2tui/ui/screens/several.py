"""Questions before several servers are restarted or stopped: each is named, with what changes on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.errors import K2Error
from k2tui.core.run_words import command_of, difference_words
from k2tui.core.settings import NodeSettings
from k2tui.core.try_words import describe
from k2tui.core.verbs import LaunchPlan, ProfileChange
from k2tui.core.views import ServerView
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.screens.question import WIDE, QuestionDialog
from k2tui.ui.spans import Line, wrapped
from k2tui.ui.widgets.frame import Button
from k2tui.ui.widgets.grid_cells import foreign_words

_MOST = 3
"""Rows of one sentence."""


@dataclass(frozen=True)
class Restarts:
    """What a restart of several servers would do."""

    plans: Mapping[str, LaunchPlan]
    changes: Mapping[str, ProfileChange | None]
    words: Mapping[str, str]
    """By server: what changes on it."""
    refused: Mapping[str, str]
    """Server to why it is left out."""
    typed: tuple[str, ...]
    """Nodes whose names must be typed."""

    @property
    def confirmed(self) -> frozenset[str]:
        """The nodes that this question confirms."""
        return frozenset(plan.node for plan in self.plans.values() if plan.confirm_needed is not None)

    @property
    def first_refusal(self) -> str:
        """One reason, where there is nothing to do."""
        return next((f"{name}: {why}" for name, why in self.refused.items()), "nothing is marked")


def restarts_of(fleet: FleetLike, names: Sequence[str], on: Callable[[str], ProfileChange] | None = None) -> Restarts:
    """Plan all of them; `on` gives the change for each, without it each has its own profile."""
    plans: dict[str, LaunchPlan] = {}
    changes: dict[str, ProfileChange | None] = {}
    said: dict[str, str] = {}
    refused: dict[str, str] = {}
    for name in names:
        view = fleet.server(name)
        if view.found is not None:
            refused[name] = foreign_words(view)
            continue
        try:
            change = None if on is None else on(name)
            plan = fleet.plan(name, change)
        except K2Error as error:
            refused[name] = str(error)
            continue
        plans[name], changes[name], said[name] = plan, change, _words(view, plan, own=on is None)
    nodes = fleet.settings.nodes
    typed = tuple(dict.fromkeys(plan.node for plan in plans.values() if nodes[plan.node].confirm == "always"))
    return Restarts(plans, changes, said, refused, typed)


def _words(view: ServerView, plan: LaunchPlan, *, own: bool) -> str:
    """What changes; `own`: it begins from its own profile, and what was tried since is gone."""
    run, profile = view.run, plan.profile
    if run is None:
        return f"starts with profile {profile.name}"
    said = difference_words(command_of(run), (profile.argv, profile.env), profile.secrets)
    said = f"profile {profile.name}: {said}" if own else said
    return said if run.alive else f"{said}; it does not run now"


def restart_dialog(restarts: Restarts, change: ProfileChange | None) -> QuestionDialog:
    """Restart all of these? Those with the same difference share a row."""
    count = len(restarts.plans)

    def rows(width: int) -> list[Line]:
        made: list[Line] = []
        for words, names in _by_words(restarts.words).items():
            made += [((text, "strong"),) for text in wrapped("  ".join(names), width, _MOST)]
            made += [((f"  {text}", "changed"),) for text in wrapped(words, width - 2, _MOST)]
        for name, why in restarts.refused.items():
            made += [((text, "muted"),) for text in wrapped(f"left out: {name}: {why}", width, 2)]
        for warning in _warnings(restarts):
            made += [((text, "warning"),) for text in wrapped(f"! {warning}", width, 2)]
        said = "One by one stops at the first that is not verified; the rest is then not touched."
        return [*made, (), *(((text, "text"),) for text in wrapped(said, width, 2))]

    what = f"Try {describe(change)} on" if change is not None else "Restart"
    return QuestionDialog(
        f"{what} {count} server{'' if count == 1 else 's'}",
        rows,
        [Button("one-by-one", "One by one", danger=True), Button("at-once", "All at once", danger=True)],
        names=restarts.typed,
        width=WIDE,
    )


def _by_words(said: Mapping[str, str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, words in said.items():
        names.setdefault(words, []).append(name)
    return names


def _warnings(restarts: Restarts) -> list[str]:
    """Why the nodes want to be confirmed, and what the plans warn of; each sentence once."""
    said = [plan.confirm_needed for plan in restarts.plans.values() if plan.confirm_needed is not None]
    said += [warning for plan in restarts.plans.values() for warning in plan.warnings]
    return list(dict.fromkeys(said))


def stop_dialog(live: Sequence[ServerView], others: Sequence[str], nodes: Mapping[str, NodeSettings]) -> QuestionDialog:
    """Stop all of these? Names each, with its node, its run and who started it."""
    count = len(live)

    def rows(width: int) -> list[Line]:
        made: list[Line] = []
        for server in live:
            run = server.run
            who = f"  run {run.run_id}  by {run.started_by or '—'}" if run is not None else ""
            made.append(((server.settings.name, "strong"), (f" on {server.settings.node}", "text"), (who, "muted")))
        if others:
            made += [
                ((text, "muted"),) for text in wrapped(f"left out, not running as yours: {'  '.join(others)}", width, 2)
            ]
        return [*made, (), (("Requests that run now are cut off.", "warning"),)]

    typed = dict.fromkeys(server.settings.node for server in live if nodes[server.settings.node].confirm == "always")
    return QuestionDialog(
        f"Stop {count} server{'' if count == 1 else 's'}",
        rows,
        [Button("stop", f"Stop {count}", danger=True)],
        names=tuple(typed),
        width=WIDE,
    )
