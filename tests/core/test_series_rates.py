from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.launch import Launch
from k2tui.core.over_time.rates import (
    FORGETS_AFTER_MINUTES,
    KEPT_MINUTES,
    LEAST_MINUTES,
    about_running,
    config_of,
    usual_of,
    with_minute,
)
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.core.series import UsualRate
from k2tui.core.settings import ServerSettings
from k2tui.core.views import ServerView

ARGV = ("python3", "-m", "sglang.launch_server", "--model-path", "/m", "--tp-size", "8", "--port", "30000")
SERVER = ServerView(ServerSettings(name="kimi", node="gpu-a"))


def running(*argv: str, env: tuple[tuple[str, str], ...] = ()) -> ServerView:
    return replace(SERVER, run=Run("kimi", "20261129T163211Z-00ff", "/r", argv=argv, env=env))


@pytest.mark.parametrize(
    ("count", "about"), [(0.0, 1), (1, 1), (1.9, 1), (2, 2), (3.5, 2), (4, 4), (63.9, 32), (64, 64), (100_000, 65_536)]
)
def test_about_the_same_number_of_requests_is_a_power_of_two(count: float, about: int) -> None:
    assert about_running(count) == about


def test_a_configuration_is_the_flags_and_variables_that_matter() -> None:
    one = config_of(running(*ARGV))
    assert one is not None
    assert one == config_of(running(*ARGV[:-1], "30001"))
    assert one == config_of(running(*ARGV[:3], *ARGV[5:7], *ARGV[3:5]))
    assert one != config_of(running(*ARGV, "--disable-cuda-graph"))
    assert one != config_of(running(*ARGV, env=(("NCCL_PROTO", "LL"),)))


def test_another_server_is_another_configuration() -> None:
    twin = replace(running(*ARGV), settings=ServerSettings(name="twin", node="gpu-b"))
    assert config_of(twin) != config_of(running(*ARGV))


def test_a_server_that_somebody_else_started_has_its_own_command() -> None:
    process = NodeProcess(ProcessIdentity("b", 7, 9), parent=1, session=7, user="u", title="t")
    found = replace(SERVER, found=FoundServer(process, "sglang", ARGV))
    assert config_of(found) == config_of(running(*ARGV))


def test_a_watched_log_tells_its_arguments() -> None:
    told = replace(SERVER, launch=Launch(args={"model_path": "/m", "tp_size": "8"}))
    assert config_of(told) is not None
    assert config_of(SERVER) is None


def test_few_minutes_say_nothing_of_what_is_usual() -> None:
    assert usual_of([600.0] * (LEAST_MINUTES - 1), 4, 8) is None
    assert usual_of([500.0, 600.0, 610.0, 620.0, 9000.0], 5, 9) == UsualRate(610.0, 8, 5)


def test_of_many_minutes_a_fair_choice_is_kept() -> None:
    rates: list[float] = []
    for minute in range(2000):
        rates = with_minute(rates, minute + 1, 29_000_000 + minute, float(minute))
    assert len(rates) == KEPT_MINUTES
    assert 700 < sorted(rates)[KEPT_MINUTES // 2] < 1300


def test_what_was_usual_long_ago_is_forgotten() -> None:
    rates = [1.0] * KEPT_MINUTES
    for minute in range(4 * FORGETS_AFTER_MINUTES):
        rates = with_minute(rates, 10**6 + minute, 29_000_000 + minute, 2.0)
    assert rates.count(2.0) > 0.9 * KEPT_MINUTES
