"""How often a server is asked, and when it may be made to generate."""

from __future__ import annotations

import itertools

import pytest

from k2tui.core.manners import (
    Sight,
    http_period_s,
    may_generate,
    metrics_period_s,
    shows_capture,
    sight_of,
)
from k2tui.core.pace import Shown


@pytest.mark.parametrize(
    ("sight", "busy", "doubt", "period_s"),
    [
        (Sight.FOCUSED, True, False, 2.0),
        (Sight.ON_SCREEN, True, False, 5.0),
        (Sight.HIDDEN, True, False, 15.0),
        (Sight.DETACHED, True, False, 30.0),
        (Sight.ON_SCREEN, None, False, 5.0),
        *((sight, False, False, 30.0) for sight in Sight),
        *((sight, busy, True, 2.0) for sight in Sight for busy in (True, False, None)),
    ],
)
def test_only_what_works_and_is_seen_is_asked_often(
    sight: Sight, busy: bool | None, doubt: bool, period_s: float
) -> None:
    assert http_period_s(sight, busy=busy, doubt=doubt) == period_s


def test_a_row_whose_log_tells_is_asked_less_often() -> None:
    assert http_period_s(Sight.ON_SCREEN, busy=True, log_tells=True) == 10.0
    assert http_period_s(Sight.FOCUSED, busy=True, log_tells=True) == 2.0
    assert http_period_s(Sight.ON_SCREEN, busy=True, log_tells=True, doubt=True) == 2.0


def test_an_idle_server_finds_at_most_two_lines_of_ours_a_minute_in_its_log() -> None:
    assert all(http_period_s(sight, busy=False) >= 30.0 for sight in Sight)
    assert all(metrics_period_s(sight, busy=False) is None for sight in Sight)


def test_metrics_are_read_only_for_what_is_seen() -> None:
    assert [metrics_period_s(sight, busy=True) for sight in Sight] == [2.0, 30.0, None, None]


@pytest.mark.parametrize(
    ("shown", "sight"),
    [
        (Shown(server="kimi", servers=frozenset({"kimi"})), Sight.FOCUSED),
        (Shown(servers=frozenset({"kimi", "llama"})), Sight.ON_SCREEN),
        (Shown(servers=frozenset({"llama"}), server="llama"), Sight.HIDDEN),
        (Shown(server="kimi", attached=False), Sight.DETACHED),
    ],
)
def test_sight_is_what_is_on_screen(shown: Shown, sight: Sight) -> None:
    assert sight_of(shown, server="kimi") is sight


@pytest.mark.parametrize(
    ("generate", "doubt", "asked", "may"),
    [
        ("never", True, False, False),
        ("never", False, False, False),
        ("on-doubt", False, False, False),
        ("on-doubt", True, False, True),
        ("always", False, False, True),
        ("always", True, False, True),
        ("never", False, True, True),
        ("on-doubt", False, True, True),
    ],
)
def test_a_server_generates_on_doubt_or_when_it_is_asked_for(
    generate: str, doubt: bool, asked: bool, may: bool
) -> None:
    assert may_generate(generate, doubt=doubt, asked=asked, capturing=False, job_running=False) is may


def test_nothing_generates_while_a_capture_or_a_job_is_on() -> None:
    for generate, doubt, asked in itertools.product(("never", "on-doubt", "always"), (False, True), (False, True)):
        for capturing, job_running in ((True, False), (False, True), (True, True)):
            assert not may_generate(generate, doubt=doubt, asked=asked, capturing=capturing, job_running=job_running)


@pytest.mark.parametrize(
    ("argv", "env", "shows"),
    [
        (("serve", "--model-path", "m"), {}, False),
        (("serve", "--forward-hooks", "[]"), {}, True),
        (("serve", "--debug-tensor-dump-output-folder=/dump"), {}, True),
        (("serve", "--enable-return-hidden-states"), {}, False),
        (("serve", "--model-path", "/m/--forward-hooks"), {}, False),
        ((), {"SGLANG_HS_DUMP_DIR": "/dev/shm/hs"}, True),
        ((), {"DUMPER_ENABLE": "1"}, True),
        ((), {"DUMPER_ENABLE": "0"}, False),
        ((), {"DUMPER_ENABLE": "False"}, False),
        ((), (("SGLANG_HS_DUMP_DIR", "/x"),), True),
    ],
)
def test_a_command_shows_that_what_passes_is_kept(argv: tuple[str, ...], env: dict[str, str], shows: bool) -> None:
    assert shows_capture(argv, env) is shows
