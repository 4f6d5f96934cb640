"""One server that is watched: who is believed when its witnesses disagree, and faults of our own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from k2tui.core.events import Severity
from k2tui.core.launch import LaunchKind
from k2tui.core.views import ServerStatus
from k2tui.services import server_watch, serving_watch
from k2tui.services.server_watch import ProofManners
from tests.fakes.log_link import LogLink
from tests.services.server_stage import SILENT, Stage
from tests.waiting import until


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setattr(server_watch, "TICK_S", 0.02)
    monkeypatch.setattr(serving_watch, "http_period_s", lambda *_, **__: 0.1)
    stage = Stage(LogLink(SILENT.encode()))
    yield stage
    await stage.watch.close()


async def test_a_silent_log_whose_server_answers_nothing_is_hung(stage: Stage) -> None:
    stage.start()
    await until(lambda: stage.watch.view.proof is not None)
    assert stage.status is ServerStatus.HUNG
    assert stage.says("log") == "followed"


async def test_a_completion_wins_over_a_silent_log(stage: Stage) -> None:
    stage.link.web.completes()
    stage.start()
    await until(lambda: stage.status is ServerStatus.READY)
    launch = stage.watch.view.launch
    assert launch is not None
    assert (launch.kind, launch.cause, launch.silence) == (LaunchKind.READY, None, None)
    assert stage.says("log") == "silent as if it hung, but the server answers"
    assert not stage.watch.view.advice


async def test_a_server_that_is_well_and_idle_by_http_is_not_hung(stage: Stage) -> None:
    stage.watch._proving.manners = ProofManners("never", 5.0)
    stage.link.web.is_idle()
    stage.start()
    await until(lambda: stage.watch.http is not None)
    await until(lambda: stage.status is ServerStatus.UNPROVED)
    assert "/v1/chat/completions" not in stage.link.web.asked
    stage.link.web.is_idle(running=3)
    await until(lambda: stage.status is ServerStatus.HUNG)


async def test_a_completion_that_fails_wins_over_http(stage: Stage) -> None:
    stage.link.web.is_idle()
    stage.start()
    await until(lambda: stage.watch.view.proof is not None and stage.watch.http is not None)
    assert stage.status is ServerStatus.HUNG


async def test_a_fault_of_ours_is_told_once_and_the_watch_goes_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.link.web.completes()
    calls = 0

    def broken(**_: object) -> ServerStatus:
        nonlocal calls
        calls += 1
        raise ZeroDivisionError("by zero")

    with monkeypatch.context() as patch:
        patch.setattr(server_watch, "server_status", broken)
        stage.start()
        await until(lambda: calls > 5)
    assert stage.told == [("kimi", "its state could not be worked out here: ZeroDivisionError: by zero", Severity.BAD)]
    await until(lambda: stage.status is ServerStatus.READY)


async def test_a_log_that_could_not_be_read_here_is_a_witness_and_an_event(stage: Stage) -> None:
    stage.link.web.completes()
    stage.start()
    await until(lambda: stage.status is ServerStatus.READY)
    log = stage.watch._log
    assert log is not None
    log._failed(ValueError("no date"))
    sentence = "log /runs/1/log could not be read here: ValueError: no date"
    await until(lambda: stage.told)
    assert stage.told == [("kimi", sentence, Severity.BAD)]
    assert stage.says("log") == sentence
