from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.byte_progress import with_bytes
from k2tui.core.checkpoint import Checkpoint, Shard
from k2tui.core.clock import log_clock
from k2tui.core.eta import TimeLeft, bar_left, eta_s, time_left
from k2tui.core.history import LaunchKey, PastLaunch
from k2tui.core.launch import Bar, Launch, LaunchKind, Progress
from k2tui.core.surroundings import NOTHING_KNOWN, Surroundings
from tests.core.launches import BEGAN, KEY, OTHER_FLAGS, TOOK, P, bar, launch, now_in, past

AFTER_WEIGHTS = sum(TOOK[phase] for phase in (P.POSTPROCESS, P.KV_CACHE, P.CUDA_GRAPH, P.WARMUP))
SEVEN = tuple(past(n) for n in range(7))


def left(
    of: Launch, seconds: float, *known: PastLaunch, key: LaunchKey | None = KEY, checkpoint: Checkpoint | None = None
) -> TimeLeft | None:
    """So long after the present phase began."""
    return time_left(of, Surroundings(checkpoint, known, key), now_in(of, seconds))


def surely(found: TimeLeft | None) -> TimeLeft:
    assert found is not None
    return found


def middle(found: TimeLeft | None) -> float:
    return (surely(found).low_s + surely(found).high_s) / 2


def loading(*points: tuple[float, int]) -> Launch:
    """In the weights, with a bar of these steps after the phase began."""
    of = launch(P.WEIGHTS)
    return replace(of, bars=(bar(*points, began=now_in(of, 0.0)),))


def test_from_the_first_phase_on_all_phases_are_added_up() -> None:
    found = surely(left(launch(P.ARGS), 0.0, *SEVEN))
    assert middle(found) == pytest.approx(sum(TOOK.values()))
    assert (found.to, found.basis, found.launches, found.same_config) == (P.READY, "history", 7, True)


@pytest.mark.parametrize("phase", [P.ARGS, P.DISTRIBUTED, P.POSTPROCESS, P.KV_CACHE, P.CUDA_GRAPH, P.WARMUP])
def test_time_passes(phase: P) -> None:
    of = launch(phase)
    assert surely(left(of, 1.0, *SEVEN)).high_s == pytest.approx(surely(left(of, 0.0, *SEVEN)).high_s - 1.0)


def test_a_silent_repack_is_told_by_earlier_ones() -> None:
    found = surely(left(launch(P.POSTPROCESS), 120.0, *SEVEN))
    assert found.low_s < 100.0 + 48.0 < found.high_s


def test_a_phase_that_overruns_never_stands_at_zero() -> None:
    warmup = launch(P.WARMUP)
    late = [surely(left(warmup, seconds, *SEVEN)) for seconds in (6.5, 10.0, 60.0, 600.0)]
    assert all(one.low_s == 0.0 < one.high_s for one in late)
    assert [one.high_s for one in late] == sorted(one.high_s for one in late)


def test_the_bar_sharpens_what_history_says() -> None:
    known = tuple(past(n, weights=seconds) for n, seconds in enumerate((50.0, 70.0, 90.0)))
    of = loading((0, 0), (10, 8), (20, 16))
    assert middle(left(of, 20.0, *known)) - AFTER_WEIGHTS == pytest.approx(60.0, abs=3.0)
    without = surely(left(loading((0, 0), (10, 8)), 20.0, *known))
    found = surely(left(of, 20.0, *known))
    assert found.high_s - found.low_s < without.high_s - without.low_s


def test_a_bar_that_contradicts_history_is_believed() -> None:
    slow = loading((0, 0), (60, 8), (120, 16))
    cached = Checkpoint("/models/kimi", (Shard("a", 1),), cached_bytes=1)
    known = tuple(replace(one, cached_share=1.0) for one in SEVEN)
    assert middle(left(slow, 120.0, *known, checkpoint=cached)) - AFTER_WEIGHTS == pytest.approx(360.0)


def test_a_cold_load_is_not_told_by_warm_ones() -> None:
    cold = loading((0, 0), (60, 8), (120, 16))
    mixed = (*SEVEN, past(8, weights=480.0, postprocess=300.0))
    assert middle(left(cold, 120.0, *mixed)) == pytest.approx(360.0 + 300.0 + 48.0, rel=0.05)
    assert left(loading((0, 0), (60, 8)), 60.0, key=KEY) is None


def test_before_anything_tells_warm_from_cold_both_are_in_the_range() -> None:
    found = surely(left(launch(P.ARGS), 0.0, *SEVEN, past(8, weights=480.0)))
    assert found.low_s < sum(TOOK.values()) < 700.0 < found.high_s


def test_of_several_bars_of_graphs_one_is_the_least_that_is_left() -> None:
    of = launch(P.CUDA_GRAPH)
    first = bar((0, 0), (1, 1), (2, 2), total=4, phase=P.CUDA_GRAPH, began=now_in(of, 0.0))
    found = surely(left(replace(of, bars=(first,)), 2.0, *SEVEN))
    assert middle(found) == pytest.approx(38.0 + TOOK[P.WARMUP], rel=0.05)
    slow = bar((0, 0), (60, 1), (120, 2), total=10, phase=P.CUDA_GRAPH, began=now_in(of, 0.0))
    assert surely(left(replace(of, bars=(slow,)), 120.0, *SEVEN)).low_s >= 480.0


def test_without_history_only_the_bar_speaks_and_only_of_its_phase() -> None:
    of = loading((0, 0), (10, 16), (20, 32))
    assert left(of, 20.0) == TimeLeft(20.0, 20.0, P.WEIGHTS, "bar")
    assert left(of, 20.0, key=None) == left(of, 20.0)
    assert left(loading((0, 0), (10, 16)), 10.0) is None
    assert left(launch(P.KV_CACHE), 1.0) is None


def test_launches_that_all_failed_say_nothing_of_the_time_to_ready() -> None:
    failed = past(ready=False, without=(P.CUDA_GRAPH, P.WARMUP))
    assert left(launch(P.ARGS), 0.0, failed) is None
    assert surely(left(loading((0, 0), (10, 16), (20, 32)), 20.0, failed)).basis == "bar"
    other = past(key=OTHER_FLAGS)
    assert surely(left(launch(P.ARGS), 0.0, failed, other)).same_config is False


def test_a_config_without_graphs_does_not_wait_for_them() -> None:
    without = tuple(past(n, without=(P.CUDA_GRAPH,)) for n in range(7))
    found = left(launch(P.KV_CACHE), 0.0, *without, past(9, key=OTHER_FLAGS))
    assert middle(found) == pytest.approx(TOOK[P.KV_CACHE] + TOOK[P.WARMUP])


def test_a_phase_that_others_went_without_may_end_at_any_moment() -> None:
    without = tuple(past(n, without=(P.POSTPROCESS,)) for n in range(7))
    found = surely(left(launch(P.POSTPROCESS), 30.0, *without))
    assert found.low_s < 48.0 < found.high_s


@pytest.mark.parametrize("kind", [kind for kind in LaunchKind if kind is not LaunchKind.LOADING])
def test_what_no_longer_loads_has_no_time_left(kind: LaunchKind) -> None:
    assert left(launch(P.WEIGHTS, kind=kind), 1.0, *SEVEN) is None


def test_a_bar_that_stands_still_loses_that_time() -> None:
    steady = bar((0, 0), (10, 16), (20, 32))
    assert bar_left(steady, 25.0, None) == (15.0, 15.0)
    assert bar_left(steady, 30.0, None) == (10.0, 10.0)
    low, high = bar_left(steady, 80.0, None) or (0.0, 0.0)
    assert (low, high) == (0.0, 60.0)


def test_a_bar_of_unlike_shards_is_told_by_bytes() -> None:
    shards = tuple(Shard(f"model-{n:05}-of-00004.safetensors", size) for n, size in enumerate((10, 10, 10, 90), 1))
    model = Checkpoint("/models/kimi", shards)
    of = replace(loading((0, 0), (10, 1), (20, 2)), engine="sglang", version="0.5.23")
    four = replace(of.bars[0], progress=replace(of.bars[0].progress, total=4))
    of = with_bytes(replace(of, bars=(four,)), model)
    assert left(of, 20.0, checkpoint=model) == TimeLeft(100.0, 100.0, P.WEIGHTS, "bar")
    assert left(of, 20.0) != left(of, 20.0, checkpoint=model)


def test_a_bar_at_its_end_has_no_time_left() -> None:
    assert eta_s(None) is None
    assert eta_s(bar((0, 0), (1, 1), (2, 2), total=2)) is None


def test_a_stamp_without_a_year_is_as_good() -> None:
    dated = launch(P.POSTPROCESS)
    spans = tuple(replace(span, began=log_clock("11-29 16:32:11") + n) for n, span in enumerate(dated.spans))
    now = log_clock("2026-11-29 16:34:14")
    assert time_left(replace(dated, spans=spans), Surroundings(None, SEVEN, KEY), now) == left(dated, 120.0, *SEVEN)


steps = st.lists(st.tuples(st.floats(0, 1e5), st.integers(0, 64)), min_size=1, max_size=12)
times = st.dictionaries(st.sampled_from(list(TOOK)), st.floats(0, 1e5))


@given(st.sampled_from(list(P)), steps, st.lists(times, max_size=6), st.none() | st.floats(-1e5, 1e6), st.booleans())
def test_a_time_left_is_an_ordered_range_and_never_negative(
    phase: P, points: list[tuple[float, int]], known: list[dict[P, float]], passed: float | None, ready: bool
) -> None:
    of = launch(phase, kind=LaunchKind.LOADING)
    drawn = Bar(Progress(points[-1][1], 64, "shards", "x"), phase, points=tuple((BEGAN + at, n) for at, n in points))
    ones = tuple(replace(past(n, ready=ready), phases_s=took) for n, took in enumerate(known))
    now = None if passed is None else BEGAN + passed
    found = time_left(replace(of, bars=(drawn,)), Surroundings(None, ones, KEY), now)
    assert found is None or 0 <= found.low_s <= found.high_s


def test_nothing_known_is_nothing_said() -> None:
    assert time_left(Launch(), NOTHING_KNOWN, None) is None


def test_a_log_in_another_time_zone_than_its_node_is_as_good() -> None:
    of = launch(P.POSTPROCESS)
    ahead = replace(of, clock_ahead_s=7200.0)
    assert left(ahead, 7200.0 + 120.0, *SEVEN) == left(of, 120.0, *SEVEN)


def test_the_bar_of_a_draft_or_of_another_phase_is_not_the_loads() -> None:
    of = loading((0, 0), (10, 16), (20, 32))
    draft = replace(of.bars[0], draft=True, progress=Progress(1, 99, "shards", "x"))
    assert left(replace(of, bars=(*of.bars, draft)), 20.0) == left(of, 20.0)
    assert left(replace(of, phase=P.KV_CACHE), 20.0) is None
