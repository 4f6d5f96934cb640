"""Student's distribution against closed forms, tables, and its own density."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.benching.student import incomplete_beta, normal_quantile, student_cdf, student_quantile

TIMES = st.floats(-1e6, 1e6)
SHARES = st.floats(1e-9, 1 - 1e-9)
FREEDOMS = st.floats(0.3, 1e8)

TABLE = [
    # probability, degrees of freedom, t: as printed in tables
    (0.95, 7, 1.894579),
    (0.975, 3, 3.182446),
    (0.975, 4, 2.776445),
    (0.975, 5, 2.570582),
    (0.975, 10, 2.228139),
    (0.975, 30, 2.042272),
    (0.975, 120, 1.979930),
    (0.995, 5, 4.032143),
    (0.999, 10, 4.143700),
    (0.9995, 20, 3.849516),
]


@pytest.mark.parametrize(("p", "df", "t"), TABLE)
def test_quantiles_are_those_of_the_tables(p: float, df: float, t: float) -> None:
    assert student_quantile(p, df) == pytest.approx(t, abs=1e-6)
    assert student_quantile(1 - p, df) == pytest.approx(-t, abs=1e-6)


@given(TIMES)
def test_one_degree_of_freedom_is_cauchys_distribution(t: float) -> None:
    assert student_cdf(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)


@given(TIMES)
def test_two_degrees_of_freedom_have_a_closed_form(t: float) -> None:
    assert student_cdf(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)), abs=1e-12)


@given(st.floats(1e-9, 0.5, exclude_max=True))
def test_quantiles_of_one_and_two_degrees_of_freedom_have_a_closed_form(p: float) -> None:
    assert student_quantile(p, 1) == pytest.approx(-1 / math.tan(math.pi * p), rel=1e-9, abs=1e-9)
    assert student_quantile(p, 2) == pytest.approx((2 * p - 1) / math.sqrt(2 * p * (1 - p)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("df", [0.7, 2.4, 3.3, 17.9])
@pytest.mark.parametrize("t", [0.3, 1.0, 2.5])
def test_broken_degrees_of_freedom_are_the_area_below_the_density(df: float, t: float) -> None:
    front = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    steps = 2000  # Simpson's rule
    weights = [1, *([4, 2] * (steps // 2 - 1)), 4, 1]
    density = [front * (1 + (t * n / steps) ** 2 / df) ** (-(df + 1) / 2) for n in range(steps + 1)]
    area = math.fsum(w * d for w, d in zip(weights, density, strict=True)) * t / steps / 3
    assert student_cdf(t, df) == pytest.approx(0.5 + area, abs=1e-10)


@given(SHARES, FREEDOMS)
def test_the_quantile_undoes_the_distribution(p: float, df: float) -> None:
    assert student_cdf(student_quantile(p, df), df) == pytest.approx(p, rel=1e-6, abs=1e-12)


@given(SHARES, FREEDOMS)
def test_it_is_the_same_on_both_sides(p: float, df: float) -> None:
    assert student_quantile(1 - p, df) == pytest.approx(-student_quantile(p, df), rel=1e-5, abs=1e-7)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    assert student_quantile(0.975, 1e6) == pytest.approx(normal_quantile(0.975), abs=1e-5)
    assert student_quantile(0.975, math.inf) == pytest.approx(1.959964, abs=1e-6)
    assert student_cdf(1.959964, math.inf) == pytest.approx(0.975, abs=1e-6)


@given(TIMES, FREEDOMS)
def test_a_probability_lies_between_nothing_and_one(t: float, df: float) -> None:
    assert 0.0 <= student_cdf(t, df) <= 1.0


def test_a_time_too_large_to_be_squared_has_a_tail_nonetheless() -> None:
    assert 1.0 - student_cdf(1e200, 1) == pytest.approx(0.0, abs=1e-15)
    assert student_cdf(-1e200, 0.1) == pytest.approx(student_cdf(-1e100, 0.1) * 1e-10, rel=1e-6)


@given(st.floats(0, 1), st.floats(0.05, 500))
def test_the_incomplete_beta_function_has_a_closed_form_where_one_of_its_powers_is_one(x: float, a: float) -> None:
    assert incomplete_beta(x, a, 1) == pytest.approx(x**a, rel=1e-9, abs=1e-12)
    assert incomplete_beta(x, 1, a) == pytest.approx(1 - (1 - x) ** a, rel=1e-9, abs=1e-12)


@given(st.floats(0.01, 0.99), st.floats(0.5, 500), st.floats(0.5, 500))
def test_the_incomplete_beta_function_mirrors_itself(x: float, a: float, b: float) -> None:
    assert incomplete_beta(x, a, b) == pytest.approx(1 - incomplete_beta(1 - x, b, a), abs=1e-9)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_a_probability_that_is_none_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        student_quantile(p, 3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        normal_quantile(p)


@pytest.mark.parametrize("df", [0.0, -1.0, math.nan])
def test_degrees_of_freedom_that_are_none_are_refused(df: float) -> None:
    with pytest.raises(ValueError, match="degrees of freedom"):
        student_quantile(0.9, df)
    with pytest.raises(ValueError, match="degrees of freedom"):
        student_cdf(1.0, df)
