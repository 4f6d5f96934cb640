"""A series as JSON and back: what this side remembers of it, so that a killed k2tui can go on.

No configuration of a series holds a secret: the config refuses variables and flags of a matrix that could.
"""

from __future__ import annotations

from dataclasses import replace

from k2tui.core.benching.codec import document_of, read_fact, read_json
from k2tui.core.benching.series import SeriesState


def state_json(state: SeriesState) -> dict[str, object]:
    """The whole state as a JSON object, its fields by their names; `state_from_json` reads it."""
    return document_of(state)


def state_from_json(document: object) -> SeriesState | None:
    """The series of such an object, or of its JSON text. Names that this version does not know are passed over.

    None for what is none, and for one whose parts do not fit each other: nobody could go on with it.
    """
    found = read_json(document) if isinstance(document, (str, bytes)) else document
    state = read_fact(SeriesState, found)
    return _with_prompts(state, found) if state is not None and _is_whole(state, found) else None


def _with_prompts(state: SeriesState, document: object) -> SeriesState:
    """The operator's own prompts to the letter: they are work, not text for a screen."""
    prompts = _below(document, "plan", "bench", "prompts")
    if not isinstance(prompts, (list, tuple)) or not all(isinstance(each, str) for each in prompts):
        return state
    bench = replace(state.plan.bench, prompts=tuple(prompts))
    return replace(state, plan=replace(state.plan, bench=bench))


def _is_whole(state: SeriesState, document: object) -> bool:
    """No configuration and no trial got lost in reading: they are known by their places."""
    plan = state.plan
    written = [_below(document, "plan", "arms"), _below(document, "plan", "order"), _below(document, "trials")]
    read = [len(plan.arms), len(plan.order), len(state.trials)]
    if [len(each) if isinstance(each, (list, tuple)) else None for each in written] != read:
        return False
    return all(arm in range(len(plan.arms)) for arm in (*plan.order, *(trial.arm for trial in state.trials)))


def _below(document: object, *names: str) -> object:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document
