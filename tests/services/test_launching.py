"""When a verb asks before it acts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.stop_report import StopReport
from k2tui.core.verbs import VerbEvent
from k2tui.core.views import ServerView
from k2tui.services.gate import Gate
from k2tui.services.launching import Verbs
from k2tui.services.verb_tools import Tools
from tests.fakes.audit import MemoryAudit
from tests.fakes.clock import FakeClock

KIMI = ServerSettings(name="kimi", node="gpu-a", profile="base")
RUN = Run("kimi", "20260101T000000Z-0001", "/home/k2/runs/kimi/20260101T000000Z-0001", alive=True)


class BusyServer:
    """One live run with two requests on it: the watch, the scan and the keeper of it."""

    settings = KIMI
    view = ServerView(KIMI, run=RUN)

    def __init__(self) -> None:
        self.stopped = False

    async def running_requests(self) -> int:
        return 2

    async def look(self) -> tuple[Run, ...]:
        return (RUN,)

    async def stop(self, run: Run, *, grace_s: float, asked_by: str) -> StopReport:
        self.stopped = True
        return StopReport(was_running=True, exit_code=0, is_whole=True)

    def nothing_of_this(self, *_: object) -> Any:
        raise AssertionError("a stop needs neither a plan nor a preflight")

    def mark(self, doing: str | None) -> None: ...
    def forget_proof(self) -> None: ...
    def take_runs(self, runs: tuple[Run, ...], at: float) -> None: ...


def verbs_on(server: Any, policy: str) -> Verbs:
    tools = Tools(
        watch=server,
        scan=server,
        keeper=server,
        gate=Gate(MemoryAudit()),
        clock=FakeClock(),
        operator="ana@jump",
        plan=server.nothing_of_this,
        preflight=server.nothing_of_this,
        remember=server.nothing_of_this,
        confirm_policy=policy,
    )
    return Verbs(tools)


async def played(steps: AsyncIterator[VerbEvent]) -> list[VerbEvent]:
    return [step async for step in steps]


async def test_a_busy_server_is_not_stopped_unasked() -> None:
    server = BusyServer()
    with pytest.raises(K2Error, match="2 requests are running") as refused:
        await played(verbs_on(server, "busy").stop(confirm_needed=None, confirm=None))
    assert refused.value.code == "confirm_needed"
    assert not server.stopped


@pytest.mark.parametrize(("policy", "confirm"), [("busy", "gpu-a"), ("never", None)])
async def test_it_is_when_that_was_confirmed_or_the_node_wants_no_question(policy: str, confirm: str | None) -> None:
    server = BusyServer()
    steps = await played(verbs_on(server, policy).stop(confirm_needed=None, confirm=confirm))
    assert server.stopped
    assert steps[-1].exit_code is ExitCode.DONE
