"""Only what is shown is looked at often."""

from __future__ import annotations

import pytest

from k2tui.core.pace import (
    HIDDEN_FOR_S,
    NodePace,
    Shown,
    found_period_s,
    hidden_for_s,
    paced,
    probe_interval_s,
    scan_period_s,
)

SEEN = Shown(nodes=frozenset({"a", "b"}), node="a")
ELSEWHERE = Shown(nodes=frozenset({"b"}))
DETACHED = Shown(nodes=frozenset({"a", "b"}), node="a", attached=False)


@pytest.mark.parametrize(
    ("node", "shown", "probe_s", "scan_s", "found_s"),
    [
        ("a", SEEN, 2, 5, 10),
        ("b", SEEN, 2, 5, 30),
        ("c", SEEN, 10, 10, 60),
        ("a", Shown(node="a"), 2, 5, 10),
        ("a", Shown(), 10, 10, 60),
        ("a", DETACHED, 10, 20, 120),
        ("b", DETACHED, 10, 20, 120),
    ],
)
def test_the_pace_of_a_node_follows_what_is_seen_of_it(
    node: str, shown: Shown, probe_s: float, scan_s: float, found_s: float
) -> None:
    assert probe_interval_s(node, shown) == probe_s
    assert scan_period_s(node, shown) == scan_s
    assert found_period_s(node, shown) == found_s


def test_a_node_whose_servers_change_is_looked_at_often_whoever_looks() -> None:
    assert scan_period_s("a", DETACHED, changing=True) == scan_period_s("a", SEEN, changing=True) == 2


def test_a_cursor_that_moves_over_nodes_changes_no_probe() -> None:
    paces = [paced(NodePace(), "b", Shown(nodes=SEEN.nodes, node=focus), 5.0) for focus in ("a", "b", None)]
    assert {pace.probe_s for pace in paces} == {2}


def test_who_looks_away_for_a_moment_changes_no_probe() -> None:
    away = paced(NodePace(), "a", ELSEWHERE, now=100.0)
    due = 100 + hidden_for_s("a")
    assert (away.probe_s, away.slows_at) == (2, due)
    still = paced(away, "a", Shown(), now=due - 1)
    assert (still.probe_s, still.slows_at) == (2, due)
    back = paced(still, "a", SEEN, now=due)
    assert (back.probe_s, back.hidden_since, back.slows_at) == (2, None, None)


def test_a_node_that_stays_out_of_sight_slows_down_and_speeds_up_at_once() -> None:
    away = paced(NodePace(), "a", ELSEWHERE, now=100.0)
    slow = paced(away, "a", ELSEWHERE, now=100 + hidden_for_s("a"))
    assert (slow.probe_s, slow.slows_at) == (10, None)
    assert paced(slow, "a", SEEN, now=500.0).probe_s == 2


def test_what_costs_nothing_to_slow_down_slows_at_once() -> None:
    away = paced(NodePace(), "a", ELSEWHERE, now=100.0)
    assert (away.scan_s, away.found_s, away.detailed) == (10, 60, False)


def test_details_are_of_the_node_in_focus_and_only_while_somebody_looks() -> None:
    assert paced(NodePace(), "a", SEEN, 0.0).detailed
    assert not paced(NodePace(), "b", SEEN, 0.0).detailed
    assert not paced(NodePace(), "a", DETACHED, 0.0).detailed


def test_nodes_that_go_out_of_sight_together_slow_down_one_after_the_other() -> None:
    times = [hidden_for_s(f"gpu-{number}") for number in range(64)]
    assert len(set(times)) == 64
    assert HIDDEN_FOR_S <= min(times) < max(times) <= HIDDEN_FOR_S + 10
