"""What is worth a line to somebody who watches, and what only trembles."""

from __future__ import annotations

import pytest

from k2tui.commands.changes import differs

GPU = {"index": 0, "utilization_percent": 78.0, "power_w": 409.0, "temperature_c": 61.0, "memory_used_mib": 90_000.0}


@pytest.mark.parametrize(
    ("name", "old", "new", "worth"),
    [
        ("status", "loading", "ready", True),
        ("status", "ready", "ready", False),
        ("age_s", 0.4, 22.0, False),
        ("gpus_age_s", None, 1.0, False),
        ("temperature_c", 61.0, 64.0, False),
        ("temperature_c", 61.0, 66.0, True),
        ("temperature_c", 61.0, None, True),
        ("power_w", 400.0, 425.0, False),
        ("power_w", 400.0, 460.0, True),
        ("utilization_percent", 78.0, 90.0, False),
        ("utilization_percent", 0.0, 4.0, False),
        ("utilization_percent", 4.0, 12.0, True),
        ("running", 0, 1, True),
        ("running", 40, 41, False),
        ("running", 40, 60, True),
        ("decode_tokens_per_s", 1284.0, 1250.0, False),
        ("decode_tokens_per_s", 1284.0, 900.0, True),
        ("decode_tokens_per_s", 3.0, 0.0, True),
        ("kv_usage", 0.12, 0.15, False),
        ("p95_ms", 210.0, 230.0, False),
        ("p95_ms", 210.0, 400.0, True),
        ("done", 51, 52, True),
        ("pid", 41, 42, True),
        ("alive", True, 1, False),
        ("net_rx_bytes_per_s", 0.0, 9e9, False),
        ("throttle", [], ["power cap"], False),
        ("fault", None, "GPU is lost", True),
        ("free", False, True, True),
    ],
)
def test_a_figure_is_news_from_a_clear_step_on(name: str, old: object, new: object, worth: bool) -> None:
    assert differs({name: old}, {name: new}) is worth
    assert differs({"gpus": [{name: old}]}, {"gpus": [{name: new}]}) is worth


def test_what_came_and_what_went_is_news() -> None:
    assert differs({"gpus": [GPU]}, {"gpus": [GPU, GPU]})
    assert differs({"serving": None}, {"serving": {"running": 1}})
    assert differs({}, {"user": "ann"})


def test_a_slow_drift_is_news_once_it_went_far_enough_from_what_was_told() -> None:
    told = {"temperature_c": 60.0}
    assert [differs(told, {"temperature_c": 60.0 + step}) for step in range(1, 7)] == [False] * 4 + [True] * 2
