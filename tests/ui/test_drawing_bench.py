"""Text of benchmarks, without a screen: live figures, cells of the table, plots over any axis, sentences."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from k2tui.core.benching.facts import PrefillSlope
from k2tui.core.benching.fields import BENCH_FIELDS, bench_fields, state_word
from k2tui.core.benching.live import BenchLive
from k2tui.core.benching.plan import BenchPlan, Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult
from k2tui.core.query import parse
from k2tui.ui.bench_notes import outcome
from k2tui.ui.bench_plans import BadField, bench_plan, cost_words
from k2tui.ui.spans import text_of, width_of
from k2tui.ui.widgets import bench_cells
from k2tui.ui.widgets.bench_detail import detail_rows
from k2tui.ui.widgets.bench_plot import curve_of, is_curve, same_figures
from k2tui.ui.widgets.bench_rows import bench_line, columns_for
from k2tui.ui.widgets.plot import BRAILLE, SEVEN_BITS
from k2tui.ui.widgets.plot_scale import scale_for
from k2tui.ui.widgets.xy_plot import Point, Upright, x_axis, xy_lines
from tests.fakes.fleet import DAY
from tests.ui.measured import FAILED, OTHER, measured, quick, results, sweep

GOING = BenchLive("b", Procedure.QUICK, 100.0, "request 2 of 3", c=1, fraction=0.5, decode_tps=90.1)
TYPED = {
    "tokens": "256",
    "repeats": "3",
    "cache": "fresh",
    "streams": "1 2 4",
    "hold": "30",
    "lengths": "256 8192",
    "args": "--num-prompts 8",
}


@pytest.mark.parametrize("width", [20, 40, 60, 100])
def test_a_live_line_keeps_its_figure_at_any_width(width: int) -> None:
    line = bench_cells.live_line(GOING, 109.0, width)
    assert width_of(line) <= width
    assert text_of(line).startswith("90.1 tok/s one st")


def test_a_live_line_before_the_first_figure_shows_no_number() -> None:
    text = text_of(bench_cells.live_line(replace(GOING, decode_tps=None, text="warming up"), 101.0, 80))
    assert text.startswith("measuring")
    assert "0.0 tok/s" not in text


def test_of_many_streams_the_total_is_named_as_such() -> None:
    many = replace(GOING, c=8, total_tps=561.0, decode_tps=70.0)
    assert bench_cells.live_figure(many) == "561.0 tok/s of all 8 streams"


@pytest.mark.parametrize("width", [8, 20, 24, 40])
def test_the_cell_of_the_grid_fits(width: int) -> None:
    assert width_of(bench_cells.live_cell(GOING, width)) <= width
    assert width_of(bench_cells.live_cell(replace(GOING, decode_tps=None), width)) <= width


def test_a_prefill_slope_is_named_prefill() -> None:
    slope = PrefillSlope(256, 8192, 40.0, 1010.0, 8181.0, 8110.0)
    result = quick(0, None, procedure=Procedure.PREFILL, slope=slope, points=())
    assert bench_cells.headline_words(result) == "8 181 tok/s prefill"


@pytest.mark.parametrize("result", results(), ids=lambda one: one.bench_id)
@pytest.mark.parametrize("width", [40, 70, 120])
def test_no_missing_figure_is_shown_as_zero_in_the_detail(result: BenchResult, width: int) -> None:
    rows = detail_rows(result, width)
    text = "\n".join(text_of(row) for row in rows)
    assert all(width_of(row) <= width for row in rows), [text_of(row) for row in rows if width_of(row) > width]
    assert not re.search(r"(?<![\d.])0(\.0+)? (tok/s|ms)", text)
    assert "None" not in text


@pytest.mark.parametrize("width", [58, 78, 118, 198])
def test_rows_of_the_table_fit_and_keep_when_server_and_figure(width: int) -> None:
    every = results()
    columns = columns_for(every, width)
    assert {"WHEN", "SERVER", "FIGURE"} <= {column.title for column, _ in columns}
    wide = {width_of(bench_line(one, columns)) for one in every}
    assert len(wide) == 1
    assert max(wide) <= width


def test_a_sweep_is_a_curve_and_a_quick_figure_is_none() -> None:
    assert is_curve(sweep())
    assert not is_curve(quick())
    assert [point.c for point, _, _ in curve_of(sweep())] == [1, 2, 4, 8, 16, 32]
    unknown = replace(sweep(), points=(BenchPoint(1, agg_tps_total=90.0), BenchPoint(2, agg_tps_total=170.0)))
    assert curve_of(unknown) == []


def test_only_the_same_kind_of_figure_of_one_server_is_one_history() -> None:
    every = results()
    mine = same_figures(every[0], every)
    assert [one.decode_tps for one in mine] == [63.6, 71.2, 84.1, 89.1, 90.0]
    assert same_figures(OTHER, every) == (OTHER,)


@pytest.mark.parametrize("marks", [BRAILLE, SEVEN_BITS], ids=["braille", "ascii"])
def test_each_point_stands_at_its_place_with_its_label(marks: object) -> None:
    scale = scale_for("tokens", [100.0], 10)
    points = [Point(0.0, 0.0, "low"), Point(1.0, 100.0, "high")]
    lines = [text_of(line) for line in xy_lines(points, scale, 48, 10, marks=marks)]  # type: ignore[arg-type]
    assert len(lines) == 10
    assert {len(line) for line in lines} == {48}
    assert lines[-1][8] == "●"
    assert "low" in lines[-1]
    assert lines[0][-1] == "●"
    assert "high" in "".join(lines[:2])


def test_what_happened_stands_upright_in_the_plot() -> None:
    scale = scale_for("tokens", [100.0], 6)
    lines = [text_of(line) for line in xy_lines([], scale, 28, 6, marks=BRAILLE, uprights=[Upright(0.5, "1", "text")])]
    assert [line[18] for line in lines] == ["1", "│", "│", "│", "│", "│"]


def test_an_axis_shows_its_ticks_and_no_two_labels_touch() -> None:
    scale = scale_for("tokens", [95.0], 20)
    rule, words = (text_of(line) for line in x_axis([(v / scale.top, label) for v, label in scale.ticks()], 40))
    assert rule.count("┬") == len(words.split())
    assert words.split()[0] == "0"
    assert x_axis([], 8) == []


def test_every_field_of_a_filter_is_filled_or_known_to_be_missing() -> None:
    for result in results():
        assert set(bench_fields(result)) == set(BENCH_FIELDS)
    assert [state_word(one) for one in results()] == [
        "valid",
        "valid",
        "flagged",
        "valid",
        "valid",
        "failed",
        "flagged",
    ]
    assert parse("tps>80 and base==no", BENCH_FIELDS).matches(bench_fields(quick())) is True
    assert parse("tps>80", BENCH_FIELDS).matches(bench_fields(FAILED)) is None


def test_the_sentence_of_an_outcome_names_what_is_red() -> None:
    text, role = outcome(results()[2])
    assert role == "warning"
    assert "84.1 tok/s of one stream" in text
    assert "another client ran 3 requests" in text
    assert outcome(quick())[1] == "good"
    assert outcome(FAILED)[1] == "bad"


@pytest.mark.parametrize(
    ("kind", "field", "text", "said"),
    [
        ("sweep", "streams", "", "streams: give numbers"),
        ("sweep", "streams", "1 0", "streams: '0' is no number"),
        ("sweep", "hold", "-3", "seconds"),
        ("quick", "tokens", "many", "max tokens"),
        ("quick", "repeats", "", "repeats"),
        ("prefill", "lengths", "8192 256", "the first must be the shorter one"),
        ("full", "args", "'half", "a quote is not closed"),
    ],
)
def test_a_field_that_is_wrong_says_what_would_be_right(kind: str, field: str, text: str, said: str) -> None:
    with pytest.raises(BadField, match=said):
        bench_plan(kind, {**TYPED, field: text})


def test_what_it_costs_is_told_from_what_is_known() -> None:
    view = measured(1).server("kimi")
    assert "about 9 s at 90 tok/s" in cost_words(BenchPlan(), view)
    assert "about" not in cost_words(BenchPlan(), replace(view, last_bench=None, base=None))
    assert "about 2 min" in cost_words(bench_plan("sweep", TYPED), view)
    assert "3 prompts of 256 tokens and 3 of 8192" in cost_words(bench_plan("prefill", TYPED), view)


def test_the_last_benchmark_says_its_day_when_that_is_another_one() -> None:
    assert bench_cells.last_words(quick(0), DAY + 60) == "90.0 tok/s one stream, c=1, 14:00"
    assert bench_cells.last_words(quick(0), DAY + 90_000) == "90.0 tok/s one stream, c=1, 11-30 14:00"
