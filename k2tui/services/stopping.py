"""The way of a server out: its requests end, evidence is kept, it is stopped, and what it left is looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator

from k2tui.core.effects.checks import COMPLETION
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.launch import LaunchKind
from k2tui.core.remains import Remains
from k2tui.core.runs import Run
from k2tui.core.verbs import VerbEvent
from k2tui.core.verdicts import Outcome
from k2tui.core.views import ServerStatus, ServerView
from k2tui.services.verb_tools import Teller, Tools

STOP_GRACE_S = 20.0
DRAIN_POLL_S = 1.0
"""Between two questions how many requests still run."""
SEE_LIMIT_S = 60.0
"""How long a stopped server's memory may take to come back before that is told and left as it is."""
SEE_POLL_S = 1.0
_WRONG = (LaunchKind.HUNG, LaunchKind.CRASHED, LaunchKind.MISCONFIGURED, LaunchKind.DEGRADED)


async def drained(tools: Tools, told: Teller, limit_s: float) -> AsyncIterator[VerbEvent]:
    """Wait until no request runs any more, at most `limit_s` seconds; each change of their number is told."""
    end = tools.clock.monotonic() + limit_s
    before: tuple[int | None, ...] = ()
    tools.watch.mark("draining")
    while True:
        running = await tools.watch.running_requests()
        left_s = max(0.0, end - tools.clock.monotonic())
        if (running,) != before:
            before = (running,)
            data = {"running": running, "left_s": round(left_s, 1)}
            yield told.event("drain", _drain_sentence(running, left_s), data)
        if running == 0:
            return
        if left_s <= 0:
            still = "an unknown number of requests" if running is None else _requests(running)
            text = f"{still} did not end within {limit_s:.0f} s"
            yield told.event("drain", text, {"running": running, "left_s": 0.0})
            return
        await tools.clock.sleep(min(DRAIN_POLL_S, left_s))


async def stopped(tools: Tools, told: Teller, run: Run, *, evidence: bool = False) -> AsyncIterator[VerbEvent]:
    """Stop a run, until no process of its session is left. `evidence`: keep it, also where nothing looks wrong."""
    watch = tools.watch
    watch.mark("stopping")
    try:
        if evidence or _went_wrong(watch.view):
            yield await _evidence(tools, told, run)
        watch.forget_proof()
        yield told.event("stopping", f"stopping {run.server}, run {run.run_id}", {"run_id": run.run_id})
        report = await tools.gate.change(
            lambda: tools.keeper.stop(run, grace_s=STOP_GRACE_S, asked_by=tools.operator),
            node=tools.settings.node,
            subject=run.server,
            action="stop",
            detail=run.run_id,
        )
        await tools.look_again()
    finally:
        watch.mark(None)
    yield told.event("stopped", report.sentence, report.to_json())


async def seen(tools: Tools, told: Teller, run: Run) -> AsyncIterator[VerbEvent]:
    """See what a run that ended left: until all of it is gone, or for a minute; each change is told."""
    end = tools.clock.monotonic() + SEE_LIMIT_S
    before: str | None = None
    while True:
        try:
            remains = await tools.keeper.remains(run)
        except K2Error as error:
            if error.exit_code is ExitCode.UNREACHABLE:
                raise
            yield told.event("seen", f"what it left could not be looked at: {error}", {"is_clean": None})
            return
        if remains.sentence != before:
            before = remains.sentence
            yield told.event("seen", remains.sentence, _remains_json(remains))
        if remains.is_clean:
            return
        if tools.clock.monotonic() >= end:
            text = f"not all of it is gone after {SEE_LIMIT_S:.0f} s, and it goes on all the same: {remains.sentence}"
            yield told.event("seen", text, _remains_json(remains))
            return
        await tools.clock.sleep(SEE_POLL_S)


async def _evidence(tools: Tools, told: Teller, run: Run) -> VerbEvent:
    """What can be seen of it is kept before anything is killed; where that fails, the stop goes on."""
    try:
        path = await tools.keeper.keep_evidence(run)
    except K2Error as error:
        if error.exit_code is ExitCode.UNREACHABLE:
            raise
        return told.event("evidence", f"what can be seen of it could not be kept: {error}", {"path": None})
    if path is None:
        return told.event("evidence", "the node kept nothing of what can be seen of it", {"path": None})
    return told.event("evidence", f"what can be seen of it was kept in {path}", {"path": path})


def _went_wrong(view: ServerView) -> bool:
    """It failed, it hangs, or it gave no answer: what can be seen of it is gone once it is stopped."""
    launch, proof = view.launch, view.proof
    if view.status is ServerStatus.HUNG or (launch is not None and launch.kind in _WRONG):
        return True
    effects = () if proof is None else proof.effects
    return any(effect.check == COMPLETION and effect.outcome is Outcome.NOT_PROVED for effect in effects)


def _remains_json(remains: Remains) -> dict[str, object]:
    return {"is_clean": remains.is_clean, **remains.to_json()}


def _drain_sentence(running: int | None, left_s: float) -> str:
    if running is None:
        return f"how many requests run can't be told; they are given {left_s:.0f} s"
    if running == 0:
        return "no request is running"
    verb = "is" if running == 1 else "are"
    return f"{_requests(running)} {verb} running; the stop waits at most {left_s:.0f} s"


def _requests(count: int) -> str:
    return f"{count} request" if count == 1 else f"{count} requests"
