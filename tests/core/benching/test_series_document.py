"""A series written down and read again: nothing is lost, and nothing broken is gone on with."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.benching.matrix import begun, profile_arms, series_plan
from k2tui.core.benching.plan import BenchPlan, CachePolicy, Procedure
from k2tui.core.benching.series import Arm, Leave, SeriesPlan, SeriesStage, SeriesState, Trial, TrialState
from k2tui.core.benching.series_document import state_from_json, state_json
from k2tui.core.verbs import ProfileChange

# What a config and a node can hold there: printable text, finite figures.
TEXT = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=12)
MAYBE = st.none() | TEXT
FIGURES = st.floats(0.0, 1e9)
TABLES = st.dictionaries(TEXT, TEXT, max_size=3)
CHANGES = st.builds(
    ProfileChange,
    profile=MAYBE,
    run=MAYBE,
    cmd=MAYBE,
    set=TABLES,
    unset=st.lists(TEXT, max_size=2).map(tuple),
    env=TABLES,
)
BENCHES = st.builds(
    BenchPlan,
    procedure=st.sampled_from(Procedure),
    concurrencies=st.lists(st.integers(1, 512), max_size=3).map(tuple),
    max_tokens=st.integers(1, 4096),
    policy=st.sampled_from(CachePolicy),
    budget_s=FIGURES,
    prompts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=2).map(tuple),
    ignore_eos=st.none() | st.booleans(),
    seed=st.none() | st.integers(0, 2**53),
)


@st.composite
def states(draw: st.DrawFn) -> SeriesState:
    arms = draw(st.lists(st.builds(Arm, label=TEXT, change=CHANGES), min_size=1, max_size=3))
    order = draw(st.lists(st.integers(0, len(arms) - 1), max_size=5))
    plan = SeriesPlan(
        series_id=draw(TEXT),
        name=draw(TEXT),
        server=draw(TEXT),
        node=draw(TEXT),
        arms=tuple(arms),
        restarts=draw(st.integers(1, 20)),
        order=tuple(order),
        launch_limit_s=draw(FIGURES),
        leave=draw(st.sampled_from(Leave)),
        found_run=draw(MAYBE),
        bench=draw(BENCHES),
        prescreen=draw(st.booleans()),
        seed=draw(st.integers(0, 2**53)),
        launch_s=draw(st.none() | FIGURES),
        confirm_needed=draw(MAYBE),
    )
    trials = [
        Trial(
            number,
            arm,
            draw(st.sampled_from(TrialState)),
            run_id=draw(MAYBE),
            bench_id=draw(MAYBE),
            decode_tps=draw(st.none() | FIGURES),
            valid=draw(st.none() | st.booleans()),
            why=draw(MAYBE),
            elapsed_s=draw(st.none() | FIGURES),
        )
        for number, arm in enumerate(order, 1)
    ]
    return SeriesState(
        plan,
        tuple(trials),
        draw(st.sampled_from(SeriesStage)),
        began_at=draw(FIGURES),
        updated_at=draw(FIGURES),
        left=draw(MAYBE),
        prescreened=tuple(draw(st.lists(st.tuples(TEXT, TEXT), max_size=2))),
        owner=draw(MAYBE),
    )


STATE = begun(
    series_plan(profile_arms(["a", "b"]), series_id="s", name="A/B", server="kimi", node="gpu-a", seed=3),
    began_at=1.0,
)


@given(states())
def test_a_series_is_the_same_after_it_was_written_and_read(state: SeriesState) -> None:
    assert state_from_json(json.dumps(state_json(state))) == state


@given(states(), st.dictionaries(st.text(max_size=5).map(lambda name: f"new_{name}"), st.integers(), min_size=1))
def test_names_of_a_later_version_are_passed_over(state: SeriesState, new: dict[str, int]) -> None:
    document: Any = state_json(state)
    for place in (
        document,
        document["plan"],
        document["plan"]["bench"],
        *document["trials"],
        *document["plan"]["arms"],
    ):
        place.update(new)
    assert state_from_json(document) == state


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON | st.text(max_size=30), st.sampled_from(["plan", "trials", "stage", "x"]), JSON)
def test_nothing_that_is_no_series_can_break_the_reading(anything: Any, name: str, inner: Any) -> None:
    state_from_json(anything)
    state_from_json({**state_json(STATE), name: inner})


@pytest.mark.parametrize("text", ["", "{", "null", "[]", "{}", '{"plan": {}}'])
def test_what_is_no_series_is_none(text: str) -> None:
    assert state_from_json(text) is None


def test_a_series_that_lost_a_configuration_is_not_gone_on_with() -> None:
    document: Any = state_json(STATE)
    document["plan"]["arms"][0] = {"label": 3}
    assert state_from_json(document) is None


def test_a_series_that_lost_a_trial_is_not_gone_on_with() -> None:
    document: Any = state_json(STATE)
    document["trials"][1] = "gone"
    assert state_from_json(document) is None


def test_a_trial_of_a_configuration_that_is_not_there_is_not_made() -> None:
    document: Any = state_json(STATE)
    document["trials"][0]["arm"] = 2
    assert state_from_json(document) is None
