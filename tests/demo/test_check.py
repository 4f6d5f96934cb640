"""The journey without a screen."""

from __future__ import annotations

import pytest

from k2tui.cli import demo_fleet
from k2tui.demo.check import NOT_REACHED, Step, check


async def test_the_whole_journey_holds() -> None:
    told: list[Step] = []
    report = await check(demo_fleet, on_step=told.append)
    assert [(step.name, step.detail) for step in report.steps if not step.ok] == []
    assert report.ok
    assert tuple(told) == report.steps
    document = report.to_json()
    assert document["ok"] is True
    assert len(report.steps) >= 6
    assert len({step.name for step in report.steps}) == len(report.steps)
    assert set(report.steps[0].to_json()) == {"name", "ok", "detail", "elapsed_s"}


@pytest.mark.parametrize(
    ("fault", "fails_at", "word"),
    [
        ("oom:3", "phases in order", "torch.OutOfMemoryError"),
        ("port_taken", "phases in order", "address already in use"),
        ("bad_flag", "bar moved", "unrecognized arguments"),
        ("hang_after_ready", "ready proved by a completion", "no answer"),
    ],
)
async def test_a_fault_is_named_by_the_step_that_failed(fault: str, fails_at: str, word: str) -> None:
    report = await check(demo_fleet, fault=fault)
    assert not report.ok
    failed = [step for step in report.steps if step.ok is False]
    assert [step.name for step in failed] == [fails_at]
    assert word in failed[0].detail
    after = report.steps[report.steps.index(failed[0]) + 1 :]
    assert after
    assert {(step.ok, step.detail, step.elapsed_s) for step in after} == {(None, NOT_REACHED, None)}
