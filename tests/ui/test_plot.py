"""Plots as text: what is drawn where, what is a gap, round ticks, one time axis."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.series import Quantity, Samples, SeriesKey
from k2tui.ui.plotted import Curve, curve_samples, merged, value_at
from k2tui.ui.spans import Line, text_of, width_of
from k2tui.ui.widgets.plot import BLOCKS, BRAILLE, GUTTER, SEVEN_BITS, Flag, Marks, plot_lines, runs
from k2tui.ui.widgets.plot_scale import Scale, round_step, scale_for, tick_label
from k2tui.ui.widgets.time_axis import SPANS, Window, axis_line, moment_words, ticks, window_words

KEY = SeriesKey("server/kimi", Quantity.DECODE)
DAY = 1_796_047_200.0
"""2026-11-30 14:00 UTC, a Monday."""
KINDS = [BRAILLE, BLOCKS, SEVEN_BITS]
HUNDRED = Scale(0.0, 100.0, 1.0, "", 50.0)


def samples(*mean: float | None, step_s: float = 60.0, began: float = DAY, **band: tuple[float | None, ...]) -> Samples:
    return Samples(KEY, began, step_s, mean, **band)


def drawn(
    *curves: Samples | None, cells: int, rows: int = 2, marks: Marks = SEVEN_BITS, **options: object
) -> list[str]:
    """The plot without its axis."""
    until = max(one.ended for one in curves if one is not None)
    lines = plot_lines(curves, Window(DAY, until), HUNDRED, GUTTER + cells, rows, marks=marks, **options)  # type: ignore[arg-type]
    return [text_of(line)[GUTTER:] for line in lines]


# ---- lines


@pytest.mark.parametrize(
    ("mean", "rows"),
    [
        ((0.0, 0.0, 0.0, 0.0), ["    ", "...."]),
        ((100.0, 100.0, 100.0, 100.0), ["''''", "    "]),
        ((0.0, 0.0, 100.0, 100.0), ["  |'", "..| "]),
        ((0.0, None, None, 0.0), [" // ", ".//."]),
        ((None, None, 100.0, 100.0), ["//''", "//  "]),
        ((100.0, 0.0, 0.0, None), ["'| /", " |./"]),
        ((250.0, -9.0, -9.0, -9.0), ["'|  ", " |.."]),
    ],
)
def test_a_line_goes_through_its_figures(mean: tuple[float | None, ...], rows: list[str]) -> None:
    assert drawn(samples(*mean), cells=4) == rows


def test_braille_has_eight_dots_a_cell() -> None:
    assert drawn(samples(0.0, 0.0, 100.0, 100.0), cells=2, rows=1, marks=BRAILLE) == ["⣀⡏"]


def test_blocks_are_there_for_a_font_without_braille() -> None:
    assert drawn(samples(0.0, 100.0, 100.0, None), cells=4, rows=1, marks=BLOCKS) == ["▄█▀░"]


def test_many_figures_in_one_cell_show_how_far_they_reach() -> None:
    assert drawn(samples(*[0.0, 100.0] * 10, step_s=6.0), cells=1, rows=2) == ["|", "|"]


def test_few_figures_are_as_wide_as_the_time_that_they_stand_for() -> None:
    assert drawn(samples(0.0, 100.0), cells=6, rows=1) == ["...|''"]


def test_what_began_before_the_window_is_not_drawn_into_it() -> None:
    early = samples(100.0, 0.0, 0.0, began=DAY - 60, step_s=60.0)
    assert drawn(early, samples(None, None), cells=2, rows=1) == [".."]


def test_what_comes_after_the_window_is_not_smeared_over_its_end() -> None:
    window = Window(DAY, DAY + 120)
    lines = plot_lines([samples(0.0, 0.0, 100.0, 100.0)], window, HUNDRED, GUTTER + 2, 1, marks=SEVEN_BITS)
    assert text_of(lines[0])[GUTTER:] == ".."


def test_a_band_reaches_from_the_least_to_the_greatest_and_the_line_is_above_it() -> None:
    one = samples(50.0, 50.0, low=(0.0, 0.0), high=(100.0, 100.0))
    assert drawn(one, cells=2, rows=3) == ["::", "''", "::"]
    lines = plot_lines([one], Window(DAY, DAY + 120), HUNDRED, GUTTER + 2, 3, marks=SEVEN_BITS)
    assert [line[-1][1] for line in lines] == ["bar-done", "bar", "bar-done"]


def test_the_second_line_is_broken_so_that_colours_are_not_needed() -> None:
    zero, full = samples(0.0, 0.0, 0.0, 0.0), samples(100.0, 100.0, 100.0, 100.0)
    assert drawn(zero, full, cells=4) == ["' ' ", "...."]


def test_a_gap_of_one_line_only_breaks_it_off() -> None:
    zero, broken = samples(0.0, 0.0, 0.0, 0.0), samples(100.0, None, None, 100.0)
    assert "/" not in "".join(drawn(zero, broken, cells=4))
    assert drawn(samples(0.0, None), None, cells=2, rows=1) == ["./"]


@pytest.mark.parametrize(("step_s", "missing", "is_gap"), [(2.0, 5, False), (2.0, 40, True), (60.0, 1, True)])
def test_a_hole_is_a_gap_once_it_is_longer_than_two_looks(step_s: float, missing: int, *, is_gap: bool) -> None:
    one = samples(50.0, *[None] * missing, 50.0, step_s=step_s)
    assert (len(runs(one)) == 2) is is_gap
    assert ("/" in "".join(drawn(one, cells=30))) is is_gap


def test_the_end_is_no_gap_while_the_next_reading_is_not_due() -> None:
    assert drawn(samples(50.0, 50.0, None, None, step_s=10.0), cells=4, rows=1)[0][-1] == " "
    assert drawn(samples(50.0, 50.0, None, None, step_s=30.0), cells=4, rows=1)[0][-1] == "/"


# ---- what happened, and the cursor


def test_what_happened_is_a_mark_with_its_number() -> None:
    flags = [Flag(DAY + 60, 1, "changed"), Flag(DAY + 200, 12, "warning")]
    lines = plot_lines(
        [samples(0.0, 0.0, 0.0, 0.0)], Window(DAY, DAY + 240), HUNDRED, GUTTER + 8, 3, marks=SEVEN_BITS, flags=flags
    )
    assert [text_of(line)[GUTTER:] for line in lines] == ["  1   12", "  !   ! ", "........"]
    assert ("1", "changed") in lines[0]
    assert ("12", "warning") in lines[0]


def test_two_marks_close_together_do_not_overwrite_each_others_numbers() -> None:
    flags = [Flag(DAY, 11, "changed"), Flag(DAY + 31, 12, "changed"), Flag(DAY + 120, 13, "changed")]
    assert drawn(samples(0.0, 0.0, 0.0, 0.0), cells=8, rows=2, flags=flags)[0] == "11  13  "


def test_what_happened_outside_of_the_window_is_not_drawn() -> None:
    flags = [Flag(DAY - 1, 1, "changed"), Flag(DAY + 240, 2, "changed")]
    assert drawn(samples(0.0, 0.0, 0.0, 0.0), cells=4, flags=flags)[0] == "    "


@pytest.mark.parametrize("marks", KINDS, ids=["braille", "blocks", "ascii"])
def test_the_cursor_stands_on_its_time(marks: Marks) -> None:
    row = drawn(samples(0.0, 0.0, 0.0, 0.0), cells=4, rows=2, marks=marks, cursor=DAY + 130)[0]
    assert row == f"  {marks.cursor} "


# ---- its shape


@given(
    st.lists(st.none() | st.floats(-10, 1e6), min_size=1, max_size=200),
    st.sampled_from(KINDS),
    st.integers(1, 90),
    st.integers(1, 12),
    st.floats(0.01, 90_000),
    st.floats(-1e5, 1e5),
)
def test_every_row_is_as_wide_as_asked(
    mean: list[float | None], marks: Marks, cells: int, rows: int, step_s: float, shift_s: float
) -> None:
    one = samples(*mean, step_s=step_s, began=DAY + shift_s, low=tuple(mean), high=tuple(mean))
    scale = scale_for("tokens", mean, rows)
    lines = plot_lines([one], Window(DAY, DAY + 3600), scale, GUTTER + cells, rows, marks=marks, cursor=DAY + 5)
    assert [width_of(line) for line in lines] == [GUTTER + cells] * rows


@given(st.lists(st.none() | st.floats(0, 1e6), min_size=1, max_size=50))
def test_seven_bits_are_enough(mean: list[float | None]) -> None:
    cells = "".join(drawn(samples(*mean), cells=30, rows=4, flags=[Flag(DAY, 1, "changed")], cursor=DAY))
    assert cells.isascii()


def test_no_room_is_no_plot() -> None:
    assert plot_lines([samples(1.0)], Window(DAY, DAY + 60), HUNDRED, GUTTER, 3) == []
    assert plot_lines([samples(1.0)], Window(DAY, DAY + 60), HUNDRED, 30, 0) == []


# ---- the y axis


@pytest.mark.parametrize(
    ("wanted", "step"),
    [(0.3, 0.5), (1.0, 1.0), (1.1, 2.0), (4.9, 5.0), (7.0, 10.0), (230.0, 500.0), (20_001.0, 50_000.0)],
)
def test_steps_are_round(wanted: float, step: float) -> None:
    assert round_step(wanted) == pytest.approx(step)


@pytest.mark.parametrize(
    ("kind", "values", "options", "labels", "unit"),
    [
        ("tokens", (1284.0, None), {}, ["0", "500", "1 000", "1 500"], "tok/s total"),
        ("tokens", (22_000.0,), {}, ["0", "10k", "20k", "30k"], "tok/s total"),
        ("requests", (1.0,), {}, ["0", "1"], ""),
        ("fraction", (0.12,), {}, ["0", "50", "100"], "%"),
        ("percent", (3.0,), {"top": 100.0}, ["0", "50", "100"], "%"),
        ("seconds", (0.21,), {}, ["0", "100", "200", "300"], "ms"),
        ("seconds", (24.0,), {}, ["0", "10", "20", "30"], "s"),
        ("mib", (88_000.0,), {"top": 98_304.0}, ["0", "50"], "GiB"),
        ("celsius", (64.0,), {"floor": 20.0, "top": 100.0}, ["50", "100"], "C"),
        ("bytes_per_s", (2_400_000.0,), {}, ["0", "1", "2", "3"], "MB/s"),
        ("watts", (), {}, ["0.0", "0.5", "1.0"], "W"),
        ("watts", (None, 0.0), {}, ["0.0", "0.5", "1.0"], "W"),
    ],
)
def test_ticks_are_round_and_have_a_unit(
    kind: str, values: tuple[float | None, ...], options: dict[str, float], labels: list[str], unit: str
) -> None:
    scale = scale_for(kind, values, 8, **options)
    assert ([label for _, label in scale.ticks()], scale.unit) == (labels, unit)


@given(
    st.floats(0, 1e8), st.integers(1, 30), st.sampled_from(["tokens", "requests", "seconds", "watts", "bytes_per_s"])
)
def test_an_axis_holds_its_figures_and_its_labels_fit(value: float, rows: int, kind: str) -> None:
    scale = scale_for(kind, [value], rows)
    assert scale.top >= value * (1 - 1e-9)
    assert scale.top > scale.floor
    assert all(len(label) <= GUTTER - 2 for _, label in scale.ticks())


def test_labels_stand_at_the_height_of_their_figures() -> None:
    lines = plot_lines([samples(0.0, 100.0)], Window(DAY, DAY + 120), HUNDRED, GUTTER + 2, 5)
    assert [text_of(line)[:GUTTER] for line in lines] == ["   100 ┤", "       │", "    50 ┤", "       │", "     0 ┤"]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("tokens", 1284.4, "1 284 tok/s total"),
        ("tokens", None, "—"),
        ("requests", 7.0, "7"),
        ("fraction", 0.123, "12 %"),
        ("seconds", 0.0112, "11.2 ms"),
        ("mib", 88_064.0, "86 GiB"),
    ],
)
def test_figures_in_words(kind: str, value: float | None, text: str) -> None:
    assert scale_for(kind, [value or 1.0], 8, top=98_304.0 if kind == "mib" else None).words(value) == text


def test_a_label_of_thousands_is_short() -> None:
    assert [tick_label(value, 5000.0) for value in (5000.0, 10_000.0, 2_000_000.0)] == ["5 000", "10k", "2M"]


# ---- the time axis


@pytest.mark.parametrize(
    ("span_s", "columns", "labels"),
    [
        (300.0, 60, ["13:55", "13:56", "13:57", "13:58", "13:59"]),
        (900.0, 60, ["13:45", "13:50", "13:55"]),
        (3600.0, 60, ["13:00", "13:10", "13:20", "13:30", "13:40", "13:50"]),
        (21_600.0, 60, ["08:00", "09:00", "10:00", "11:00", "12:00", "13:00"]),
        (86_400.0, 60, ["18:00", "Mon 30", "06:00", "12:00"]),
        (604_800.0, 90, ["Tue 24", "Wed 25", "Thu 26", "Fri 27", "Sat 28", "Sun 29", "Mon 30"]),
    ],
)
def test_ticks_stand_at_round_local_times(span_s: float, columns: int, labels: list[str]) -> None:
    assert [label for _, label in ticks(Window(DAY - span_s, DAY), columns)] == labels


def test_ticks_are_round_where_the_clock_is_half_an_hour_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "IST-5:30")
    time.tzset()
    assert [label for _, label in ticks(Window(DAY - 3600, DAY), 60)][:2] == ["18:30", "18:40"]
    assert [label for _, label in ticks(Window(DAY - 21_600, DAY), 60)][:2] == ["14:00", "15:00"]


def test_ticks_are_round_on_the_day_on_which_the_clock_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    noon = time.mktime((2026, 10, 25, 12, 0, 0, 0, 0, -1))
    labels = [label for _, label in ticks(Window(noon - 86_400, noon), 80)]
    assert labels == ["15:00", "18:00", "21:00", "Sun 25", "03:00", "06:00", "09:00"]


@given(
    st.sampled_from([span for span, _ in SPANS]), st.integers(1, 200), st.floats(0, 1e6), st.booleans(), st.booleans()
)
def test_the_axis_is_as_wide_as_the_plot(span_s: float, columns: int, shift_s: float, cursor: bool, live: bool) -> None:
    window = Window(DAY + shift_s - span_s, DAY + shift_s)
    line: Line = axis_line(window, columns, GUTTER, cursor=window.since + span_s / 3 if cursor else None, live=live)
    assert width_of(line) == GUTTER + columns


def test_the_axis_says_where_now_is_and_where_the_cursor_is() -> None:
    window = Window(DAY - 900, DAY)
    assert (
        text_of(axis_line(window, 60, GUTTER)) == "       └├13:45──────────────├13:50──────────────├13:55────────── now"
    )
    with_cursor = text_of(axis_line(window, 60, GUTTER, cursor=DAY - 400, live=False))
    assert " 13:53:20 " in with_cursor
    assert "now" not in with_cursor


@pytest.mark.parametrize(("span_s", "text"), [(300.0, "14:00:00"), (21_600.0, "14:00"), (604_800.0, "Mon 30 14:00")])
def test_a_moment_is_told_as_exactly_as_it_can_be_seen(span_s: float, text: str) -> None:
    assert moment_words(DAY, span_s) == text


def test_a_window_of_days_says_the_days() -> None:
    assert window_words(Window(DAY - 900, DAY)) == "13:45–14:00"
    assert window_words(Window(DAY - 604_800, DAY)) == "Mon 23 14:00–Mon 30 14:00"


# ---- several GPUs as one line


def test_several_series_are_their_mean_between_the_least_and_the_greatest() -> None:
    one = merged([samples(10.0, None, 4.0), samples(30.0, None, None), samples(20.0, None, 8.0)])
    assert one.mean == (20.0, None, 6.0)
    assert (one.low, one.high) == ((10.0, None, 4.0), (30.0, None, 8.0))


def test_the_band_of_bands_is_the_widest() -> None:
    one = merged([samples(10.0, low=(5.0,), high=(15.0,)), samples(30.0, low=(1.0,), high=(99.0,))])
    assert (one.mean, one.low, one.high) == ((20.0,), (1.0,), (99.0,))


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_not_known(odd: float) -> None:
    one = curve_samples(Curve("", (KEY,)), {KEY: samples(1.0, odd, 3.0, high=(odd, 2.0, 3.0))})
    assert one is not None
    assert (one.mean, one.high) == ((1.0, None, 3.0), (None, 2.0, 3.0))


@pytest.mark.parametrize(
    ("at", "value"),
    [(DAY + 1, 1.0), (DAY + 25, 3.0), (DAY + 12, 1.0), (DAY + 100, None), (DAY - 200, None)],
)
def test_the_figure_under_the_cursor_is_that_of_its_step_or_of_one_close_by(at: float, value: float | None) -> None:
    assert value_at(samples(1.0, None, 3.0, *[None] * 20, step_s=10.0), at)[0] == value
