"""The statistics of benchmarks against closed forms, another implementation, and simulation."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.benching.statistics import (
    bootstrap_ratio,
    cv,
    log_interval,
    mean_interval,
    median,
    percentile,
    pooled_cv,
    replicates,
    replicates_for_same,
    rough_replicates,
    welch_ratio,
)

VALUES = st.lists(st.floats(0.01, 1e6), min_size=2, max_size=40)


def within(share: float, expected: float, rounds: int) -> bool:
    """True where a share of so many rounds is no further from what was expected than four standard errors."""
    return abs(share - expected) <= 4 * math.sqrt(expected * (1 - expected) / rounds)


@given(VALUES)
def test_percentiles_are_those_of_the_standard_library(values: list[float]) -> None:
    hundredths = statistics.quantiles(values, n=100, method="inclusive")
    assert [percentile(values, q) for q in range(1, 100)] == pytest.approx(hundredths)
    assert (percentile(values, 0), percentile(values, 100)) == (min(values), max(values))


def test_a_percentile_lies_on_the_line_between_two_values() -> None:
    assert percentile([10.0, 20.0, 40.0], 75) == 30.0
    assert percentile([7.0], 99) == 7.0


@given(VALUES)
def test_the_median_is_the_middle(values: list[float]) -> None:
    assert median(values) == pytest.approx(statistics.median(values))


def test_no_values_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        median([])
    with pytest.raises(ValueError, match="from 0 to 100"):
        percentile([1.0], 101)


def test_the_variation_is_the_sample_deviation_over_the_mean() -> None:
    assert cv([9.0, 10.0, 11.0]) == pytest.approx(0.1)
    assert cv([90.0, 90.0]) == 0.0


def test_one_value_varies_by_nobody_knows_how_much() -> None:
    assert cv([90.0]) is None
    assert mean_interval([90.0]) is None
    assert log_interval([90.0]) is None
    assert cv([-1.0, 1.0]) is None


def test_the_interval_of_a_mean_is_students() -> None:
    low, high = mean_interval([9.0, 10.0, 11.0]) or (0.0, 0.0)  # s = 1, t(0.975, 2) = 4.302653
    assert (low, high) == pytest.approx((10 - 4.302653 / math.sqrt(3), 10 + 4.302653 / math.sqrt(3)), abs=1e-6)


def test_the_interval_of_speeds_is_the_one_of_their_logarithms() -> None:
    found = log_interval([math.exp(9.0), math.exp(10.0), math.exp(11.0)])
    assert found is not None
    assert math.log(found.value) == pytest.approx(10.0)
    assert math.log(found.low) == pytest.approx(10 - 4.302653 / math.sqrt(3), abs=1e-6)


def test_an_interval_of_a_mean_holds_it_nineteen_times_of_twenty() -> None:
    draw, rounds = random.Random(11), 4000
    found = [mean_interval([draw.gauss(90, 2) for _ in range(4)]) or (0.0, 0.0) for _ in range(rounds)]
    assert within(sum(low <= 90 <= high for low, high in found) / rounds, 0.95, rounds)


def test_the_ratio_of_two_and_two_is_welchs_in_closed_form() -> None:
    a, b = [math.exp(x) for x in (4.0, 4.02)], [math.exp(x) for x in (4.1, 4.12)]
    found = welch_ratio(a, b)  # each variance 0.0002, so 2 degrees of freedom and a standard error of √0.0002
    assert found is not None
    half = 4.302653 * math.sqrt(0.0002)
    assert math.log(found.value) == pytest.approx(0.1)
    assert (math.log(found.low), math.log(found.high)) == pytest.approx((0.1 - half, 0.1 + half), abs=1e-6)


def test_a_side_that_does_not_vary_leaves_the_other_its_own_degrees_of_freedom() -> None:
    found = welch_ratio([math.e, math.e], [math.exp(1.0), math.exp(1.01), math.exp(0.99)])
    assert found is not None  # s² = 0.0001 of three values: 2 degrees of freedom
    assert math.log(found.high) == pytest.approx(4.302653 * 0.01 / math.sqrt(3), abs=1e-6)


@given(VALUES, VALUES)
def test_the_ratio_the_other_way_is_its_inverse(a: list[float], b: list[float]) -> None:
    one, other = welch_ratio(a, b), welch_ratio(b, a)
    assert one is not None
    assert other is not None
    assert one.value == pytest.approx(1 / other.value)
    assert math.log(one.low) == pytest.approx(-math.log(other.high), abs=1e-9)
    assert one.low <= one.value <= one.high


def test_one_start_has_no_ratio_with_an_interval() -> None:
    assert welch_ratio([90.0], [91.0, 92.0]) is None


def test_values_that_are_all_the_same_have_an_interval_without_width() -> None:
    found = welch_ratio([50.0, 50.0], [100.0, 100.0])
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))


def test_a_speed_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        welch_ratio([0.0, 1.0], [1.0, 2.0])


def test_the_bootstrap_is_the_same_for_the_same_seed() -> None:
    a, b = [63.1, 63.6, 64.0], [89.5, 90.0, 90.4]
    assert bootstrap_ratio(a, b, seed=7) == bootstrap_ratio(a, b, seed=7)
    a, b = [60 + n / 7 for n in range(20)], [90 + n / 9 for n in range(20)]
    assert bootstrap_ratio(a, b, rounds=500, seed=7) != bootstrap_ratio(a, b, rounds=500, seed=8)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_the_bootstrap_finds_what_drawing_every_sample_finds(size: int) -> None:
    draw = random.Random(3)
    a, b = ([draw.uniform(60, 90) for _ in range(size)] for _ in range(2))
    drawn = [
        statistics.median(draw.choices(b, k=size)) / statistics.median(draw.choices(a, k=size)) for _ in range(20_000)
    ]
    found = bootstrap_ratio(a, b, rounds=20_000, seed=1)
    assert found is not None
    assert found.value == pytest.approx(statistics.median(b) / statistics.median(a))
    # By the share of all drawn ratios below the ends: the ends themselves stand on a few single values.
    below, above = (sum(r <= end * (1 + 1e-12) for r in drawn) / len(drawn) for end in (found.low, found.high))
    assert sum(r < found.low * (1 - 1e-12) for r in drawn) / len(drawn) <= 0.03
    assert below >= 0.02
    assert above >= 0.97


def test_the_bootstrap_of_many_requests_says_about_what_theory_says() -> None:
    draw = random.Random(5)
    a, b = ([draw.gauss(mean, 1.0) for _ in range(401)] for mean in (60.0, 66.0))
    found = bootstrap_ratio(a, b)
    assert found is not None
    # The median of normal values has a standard error of √(π/2) s / √n.
    half = 1.96 * math.sqrt(math.pi / 2 / 401) * math.hypot(1 / 60, 1 / 66) * found.value
    assert found.high - found.low == pytest.approx(2 * half, rel=0.25)


def test_no_requests_have_no_bootstrap() -> None:
    assert bootstrap_ratio([], [1.0]) is None


def test_the_variation_of_both_sides_is_pooled_by_their_degrees_of_freedom() -> None:
    a, b = [math.exp(x) for x in (1.0, 1.2)], [math.exp(x) for x in (2.0, 2.1, 2.2)]
    assert pooled_cv(a, b) == pytest.approx(math.sqrt((0.02 + 2 * 0.01) / 3))
    assert pooled_cv(a, [5.0]) == pytest.approx(math.sqrt(0.02))
    assert pooled_cv([5.0], [5.0]) is None


@pytest.mark.parametrize(("effect", "starts"), [(0.03, 4), (0.02, 9), (0.01, 36)])
def test_the_rule_of_thumb_is_the_one_of_the_specification(effect: float, starts: int) -> None:
    assert math.ceil(rough_replicates(0.015, effect)) == starts


@pytest.mark.parametrize(("spread", "effect"), [(0.015, 0.03), (0.015, 0.01), (0.05, 0.06), (0.001, 0.4)])
def test_students_t_asks_for_a_few_more_than_the_rule_of_thumb(spread: float, effect: float) -> None:
    n = replicates(spread, effect)
    assert n is not None
    assert rough_replicates(spread, effect) <= n <= rough_replicates(spread, effect) + 3


def test_no_effect_is_shown_by_no_number_of_starts() -> None:
    assert replicates(0.015, 0.0) is None
    assert replicates(0.015, 1e-9) is None
    assert replicates_for_same(0.015, 0.02, 0.02) is None


def power_of(starts: int, spread: float, effect: float, rounds: int) -> float:
    """How often Welch's interval shows this effect."""
    draw, shown = random.Random(17), 0
    for _ in range(rounds):
        a = [math.exp(draw.gauss(0.0, spread)) for _ in range(starts)]
        b = [(1 + effect) * math.exp(draw.gauss(0.0, spread)) for _ in range(starts)]
        found = welch_ratio(a, b)
        shown += found is not None and found.low > 1.0
    return shown / rounds


@pytest.mark.parametrize(("spread", "effect"), [(0.015, 0.03), (0.02, 0.025), (0.02, 0.06), (0.03, 0.1), (0.03, 0.2)])
def test_the_power_is_the_one_that_was_asked_for_and_a_start_less_has_not_got_it(spread: float, effect: float) -> None:
    n, rounds = replicates(spread, effect), 2000
    assert n is not None
    error = math.sqrt(0.8 * 0.2 / rounds)
    assert power_of(n, spread, effect, rounds) >= 0.8 - 3 * error
    assert power_of(n - 1, spread, effect, rounds) <= 0.8 + 3 * error


def test_the_starts_that_show_that_nothing_differs_show_it_four_times_of_five() -> None:
    n, rounds, draw = replicates_for_same(0.015, 0.0, 0.02) or 0, 2000, random.Random(19)
    inside = 0
    for _ in range(rounds):
        a, b = ([math.exp(draw.gauss(0.0, 0.015)) for _ in range(n)] for _ in range(2))
        found = welch_ratio(a, b)
        inside += found is not None and found.low >= 1 / 1.02 and found.high <= 1.02
    assert 0.8 - 4 * math.sqrt(0.16 / rounds) <= inside / rounds <= 0.9
