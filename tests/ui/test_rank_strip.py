"""The line over all ranks: who has come how far."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.launch import Cause, Launch, LaunchKind, LaunchPhase, Suspect
from k2tui.ui.present import ascii_text
from k2tui.ui.spans import text_of, width_of
from k2tui.ui.widgets.rank_strip import rank_names, rank_strip


def loading(count: int, late: tuple[int, ...] = (), *, loaded: bool = True) -> Launch:
    """So many ranks in weights, all but the late ones with their weights loaded."""
    names = frozenset(f"TP{rank}" for rank in range(count))
    return Launch(
        LaunchPhase.POSTPROCESS if loaded else LaunchPhase.WEIGHTS,
        engine="sglang",
        ranks_expected=count,
        ranks_seen=names,
        ranks_begun=names,
        rank_phases=dict.fromkeys(names, LaunchPhase.WEIGHTS),
        ranks_loaded=names - {f"TP{rank}" for rank in late} if loaded else frozenset(),
    )


def strip(launch: Launch, width: int = 100, *, news_only: bool = False) -> str:
    return text_of(rank_strip(launch, None, width, news_only=news_only))


def test_a_rank_that_the_others_wait_for_is_named_with_where_it_is() -> None:
    assert strip(loading(8, (5,))) == "ranks ▮▮▮▮▮▯▮▮  TP5 behind: weights"
    assert ascii_text(strip(loading(8, (5,)))) == "ranks #####.##  TP5 behind: weights"


def test_a_rank_that_did_not_even_begin_is_named_too() -> None:
    launch = loading(8, loaded=False)
    launch = replace(
        launch,
        ranks_seen=launch.ranks_seen - {"TP2"},
        ranks_begun=launch.ranks_begun - {"TP2"},
        rank_phases={
            name: LaunchPhase.DISTRIBUTED if name == "TP6" else phase
            for name, phase in launch.rank_phases.items()
            if name != "TP2"
        },
    )
    assert strip(launch) == "ranks ▮▮▯▮▮▮▯▮  TP2 behind: not seen yet  TP6 behind: distributed"


def test_while_all_do_the_same_that_is_said_unless_only_news_are_wanted() -> None:
    assert strip(loading(8, loaded=False)) == "ranks ▮▮▮▮▮▮▮▮  all in weights"
    assert strip(loading(8)) == "ranks ▮▮▮▮▮▮▮▮  all loaded"
    assert strip(loading(8), news_only=True) == ""


def test_while_most_are_not_done_they_are_counted() -> None:
    assert strip(loading(8, tuple(range(1, 8)))) == "ranks ▮▯▯▯▯▯▯▯  1 of 8 loaded"


def test_many_ranks_are_counted_and_the_late_ones_named() -> None:
    assert strip(loading(64, (5, 41))) == "62 of 64 loaded, behind: TP5 TP41"
    assert strip(loading(64, (1, 2, 3, 4, 5, 6))) == "58 of 64 loaded, behind: TP1 TP2 TP3 TP4 and 2 more"


def test_a_single_rank_has_no_strip_and_neither_has_a_server_that_serves() -> None:
    assert strip(loading(1)) == ""
    assert strip(replace(loading(8), phase=LaunchPhase.READY, kind=LaunchKind.READY)) == ""
    assert strip(replace(loading(8), phase=LaunchPhase.KV_CACHE)) == ""
    assert strip(Launch(LaunchPhase.WEIGHTS)) == ""


def test_ranks_of_another_node_that_a_barrier_names_are_told() -> None:
    line = "Rank 0 timed out in monitoredBarrier after 480000 ms. Did not receive message from rank(s) 24, 25"
    missing = Suspect(Cause(line, 9, "TP0", "slow_rank"), line, 3)
    launch = replace(loading(16), suspects=(missing,))
    assert strip(launch) == "the others wait for TP24 TP25"
    crashed = replace(launch, kind=LaunchKind.CRASHED, cause=missing.cause)
    assert strip(crashed) == "the others waited for TP24 TP25"
    assert strip(replace(crashed, cause=Cause("x", 1, "TP3", "oom_weights"))) == ""


def test_ranks_that_were_not_seen_have_their_places() -> None:
    launch = Launch(LaunchPhase.WEIGHTS, ranks_expected=8, ranks_seen=frozenset({"TP9", "TP12"}))
    assert rank_names(launch) == tuple(f"TP{rank}" for rank in range(8, 16))


@given(st.integers(1, 80), st.sets(st.integers(0, 79)), st.integers(1, 120), st.booleans())
def test_a_strip_fits(count: int, late: set[int], width: int, loaded: bool) -> None:
    launch = loading(count, tuple(late), loaded=loaded)
    assert width_of(rank_strip(launch, None, width)) <= width


@pytest.mark.parametrize("rank", ["DP0 TP1", "rank 3", "PP1"])
def test_ranks_of_any_name_have_a_strip(rank: str) -> None:
    seen = frozenset({"DP0 TP0", rank})
    launch = Launch(
        LaunchPhase.WEIGHTS, ranks_expected=2, ranks_seen=seen, rank_phases=dict.fromkeys(seen, LaunchPhase.WEIGHTS)
    )
    assert "▮▮" in strip(launch)
