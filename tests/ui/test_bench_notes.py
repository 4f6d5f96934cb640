"""What a benchmark came to, in one sentence."""

from __future__ import annotations

from dataclasses import replace

from k2tui.core.benching.comparison import Answer, Comparison
from k2tui.core.benching.result import BenchPoint, Spread
from k2tui.ui.bench_notes import difference, outcome
from k2tui.ui.widgets.bench_detail import point_lines
from tests.ui.helpers import app_on, shows
from tests.ui.measured import gates, going, quick, sweep
from tests.ui.tried import tried

NO_VERDICT = Comparison(Answer.NONE, "no verdict: B has no valid run")
RED = gates(G4=(False, "the generator woke up 9.6 ms late"))


def test_a_red_gate_is_called_not_valid() -> None:
    text, role = outcome(quick(gates=RED))
    assert "not valid: G4: the generator woke up 9.6 ms late" in text
    assert role == "warning"
    assert "not valid" not in outcome(quick())[0]


def test_a_figure_after_a_try_that_is_not_valid_says_which_and_why() -> None:
    text, role = difference(quick(), quick(gates=RED), NO_VERDICT)
    assert "90.0 before the try; not compared, this figure is not valid: G4" in text
    assert role == "warning"
    text, _ = difference(quick(gates=RED), quick(), NO_VERDICT)
    assert "the one before is not valid: G4" in text
    failed = replace(quick(), error="the server went away")
    assert "this figure is not valid: the server went away" in difference(quick(), failed, NO_VERDICT)[0]


def test_a_sweep_tells_its_one_stream_and_the_most_of_all_streams() -> None:
    text, _ = outcome(replace(sweep(), decode_tps=90.0))
    assert "90.0 tok/s of one stream" in text
    assert "tok/s of all streams, c=16" in text
    assert "of all streams" not in outcome(quick())[0]


def test_a_point_of_another_tool_without_a_p90_is_drawn() -> None:
    point = BenchPoint(8, agg_tps_total=1310.7, sent=64, spreads={"ttft_any_ms": Spread(None, 110.0)})
    said = ["".join(part for part, _ in line) for line in point_lines([point], 88)]
    assert "110" in said[1]
    assert "None" not in said[1]
    assert "—" in said[1]


async def test_the_dialog_of_a_sweep_ends_with_a_row_for_each_concurrency() -> None:
    fleet = tried()
    going(fleet, sweep())
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b", "b")
        await shows(pilot, "Stop it")
        fleet.gate.set()
        await shows(pilot, "STREAMS", "G1 ✓", "884.0 tok/s", "All benchmarks")
