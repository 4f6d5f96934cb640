"""Questions before something is measured: while clients are on, and before a series of restarts."""

from __future__ import annotations

from k2tui.core.benching.series import SeriesPlan, SeriesStage, SeriesState
from k2tui.core.settings import NodeSettings
from k2tui.core.views import ServerView
from k2tui.core.words import UNKNOWN
from k2tui.ui.screens.question import WIDE, WIDTH, QuestionDialog, Rows
from k2tui.ui.spans import Line, wrapped
from k2tui.ui.widgets.bench_cells import tps, when_words
from k2tui.ui.widgets.frame import Button
from k2tui.ui.widgets.series_rows import done_of, series_words

_MOST_ARMS = 12


class SeriesQuestion(QuestionDialog):
    """What is to become of a series; looking at it needs no name typed."""

    def pressed(self, answer: str) -> None:
        if answer == "look":
            self.dismiss(answer)
        else:
            super().pressed(answer)


def busy_dialog(view: ServerView) -> QuestionDialog:
    """Clients are on it: their live rate first, then what a figure would be worth."""
    name, serving = view.settings.name, view.serving
    running = 0 if serving is None else serving.running or 0
    rate = UNKNOWN if serving is None else tps(serving.decode_tokens_per_s)
    requests = f"{running} request{'' if running == 1 else 's'}"

    def rows(width: int) -> list[Line]:
        made: list[Line] = [
            ((f"{name} serves {requests} now: ", "text"), (f"{rate} tok/s", "strong"), (" total", "text"))
        ]
        said = (
            "A figure that is taken now shares the GPUs with them, and they with it: both are slower. "
            "It is flagged by gate G2 (another client), kept, and never compared."
        )
        return [*made, (), *(((text, "warning"),) for text in wrapped(said, width, 5))]

    return QuestionDialog(f"Measure {name} while clients are on it?", rows, [Button("yes", "Measure anyway")])


def series_dialog(plan: SeriesPlan, node: NodeSettings, cost: str) -> QuestionDialog:
    """Make this series? `cost` is the sentence that says what it takes."""

    def rows(width: int) -> list[Line]:
        made: list[Line] = [((text, "strong"),) for text in wrapped(cost, width, 3)]
        made += [(), (("Configurations", "title"),)]
        for arm in plan.arms[:_MOST_ARMS]:
            made += [((f"  {text}", "changed"),) for text in wrapped(arm.label, width - 2, 2)]
        if len(plan.arms) > _MOST_ARMS:
            made.append(((f"  … and {len(plan.arms) - _MOST_ARMS} more", "muted"),))
        limit = plan.launch_limit_s / 60
        facts = [
            _order_words(plan.restarts),
            f"A launch has {limit:.0f} min; one that hangs is skipped, and evidence of it is kept.",
            _left_words(plan),
        ]
        if plan.prescreen:
            facts.insert(0, "Each NCCL setting is looked at with a small all-reduce first, without loading weights.")
        made.append(())
        for fact in facts:
            made += [((text, "text"),) for text in wrapped(fact, width, 2)]
        made += [(), (("Requests that run at a restart are cut off.", "warning"),)]
        if plan.confirm_needed is not None:
            made += [((f"! {text}", "warning"),) for text in wrapped(plan.confirm_needed, width - 2, 3)]
        return made

    typed = (node.name,) if plan.confirm_needed is not None and node.confirm == "always" else ()
    title = f"{_title(plan)}, {plan.node}"
    return QuestionDialog(title, rows, [Button("yes", "Begin", danger=True)], names=typed, width=WIDE)


def _order_words(restarts: int) -> str:
    if restarts == 1:
        return "Each is started once, in a shuffled order: too little for an interval over restarts."
    return f"Each is started {restarts} times, in a shuffled order with every configuration once a round."


def _title(plan: SeriesPlan) -> str:
    words = series_words(plan)
    return f"{words[0].upper()}{words[1:]} on {plan.server}"


def _left_words(plan: SeriesPlan) -> str:
    if plan.leave.value == "best":
        return f"At the end {plan.server} is left on the best configuration."
    if plan.found_run is None:
        return f"At the end {plan.server} is stopped, as it is now."
    return f"At the end {plan.server} is put back as it runs now."


def interrupted_series_dialog(state: SeriesState, node: NodeSettings) -> QuestionDialog:
    """A series that nobody makes now: go on, or end it?"""
    plan = state.plan

    def rows(width: int) -> list[Line]:
        is_leaving = state.stage is SeriesStage.LEAVING
        where = "its trials are done" if is_leaving else f"{done_of(state)} trials done"
        said = [
            f"It began {when_words(state.began_at)} and was interrupted: {where}.",
            "Go on makes the trials that are missing; one that was under way is made again.",
            f"End makes no more trials. {_left_words_of_end(plan)}",
        ]
        if state.owner is not None:
            said.append(f"It was made by {state.owner}; where that still runs, nothing is done.")
        return [((text, "text"),) for part in said for text in wrapped(part, width, 3)]

    buttons = [Button("go-on", "Go on", danger=True), Button("end", "End, leave as found", danger=True)]
    return _series_question(plan, rows, [Button("look", "Look at it"), *buttons], node)


def _left_words_of_end(plan: SeriesPlan) -> str:
    return f"{plan.server} is stopped." if plan.found_run is None else f"{plan.server} is put back as it was found."


def running_series_dialog(state: SeriesState, node: NodeSettings) -> QuestionDialog:
    """A series that this app makes: look at it, or end it."""
    plan = state.plan

    def rows(width: int) -> list[Line]:
        said = f"It goes on. End makes no more trials. {_left_words_of_end(plan)}"
        return [((text, "text"),) for text in wrapped(said, width, 3)]

    buttons = [Button("look", "Look at it"), Button("end", "End, leave as found", danger=True)]
    return _series_question(plan, rows, buttons, node)


def _series_question(plan: SeriesPlan, rows: Rows, buttons: list[Button], node: NodeSettings) -> SeriesQuestion:
    typed = (node.name,) if node.confirm == "always" else ()
    return SeriesQuestion(_title(plan), rows, buttons, names=typed, leave="Leave it", width=WIDE if typed else WIDTH)
