"""The steps that restart, go-on and roll-back share: looked at beforehand, replaced, and what follows a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import flag_value
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.verbs import LaunchPlan, Manner, OnFailure, ProfileChange, VerbEvent
from k2tui.services.one_launch import OneLaunch
from k2tui.services.stopping import seen, stopped
from k2tui.services.verb_tools import Teller, Tools


@dataclass(frozen=True, slots=True)
class WayBack:
    """Where a roll-back leads."""

    run_id: str | None
    """None: nowhere."""
    why_not: str | None = None
    """One sentence; None where there is a way."""

    @classmethod
    def of(cls, plan: LaunchPlan) -> WayBack:
        """As the plan says it."""
        return cls(plan.back_to, plan.no_way_back)


def manner_of(settings: ServerSettings, why: str) -> Manner:
    """How the config wants this server restarted."""
    return Manner(drain_s=settings.drain_s, on_failure=OnFailure(settings.on_failure), why=why)


@contextmanager
def resumable(server: str) -> Iterator[None]:
    """A node that goes out of reach in the middle of a restart: the error says how to go on from there."""
    try:
        yield
    except K2Error as error:
        if error.exit_code is not ExitCode.UNREACHABLE:
            raise
        ways = f"k2tui resume {server} --continue ends the restart once the node is back, --undo takes it back"
        raise K2Error(
            error.message,
            code=error.code,
            subject=error.subject,
            hint=ways if error.hint is None else f"{error.hint}; {ways}",
            exit_code=error.exit_code,
        ) from error


async def looked_at(tools: Tools, plan: LaunchPlan, told: Teller, *, force: bool) -> AsyncIterator[VerbEvent]:
    """Tell what may stand in the way. K2Error `preflight`, before anything was done, for what must fail."""
    yield told.event("preflight", f"starting {plan.server} on {plan.node}", {"command": plan.command})
    found = await tools.preflight(plan)
    if found.blocks and not force:
        hints = [item.hint for item in found.blocks if item.hint is not None]
        raise K2Error(
            f"{plan.server} would not start on {plan.node}: {'; '.join(item.text for item in found.blocks)}",
            code="preflight",
            subject=plan.server,
            hint="; ".join(dict.fromkeys(hints)) or "k2tui restart --force starts it all the same",
        )
    for item in (*found.blocks, *found.warnings):
        yield told.event("preflight", item.text, {"name": item.name, "weight": item.weight.value, "hint": item.hint})


async def replaced(
    tools: Tools, told: Teller, launch: OneLaunch, live: Run | None, *, api_key: str | None, evidence: bool = False
) -> AsyncIterator[VerbEvent]:
    """Stop what lives, see that it is gone, and begin what was prepared. A start that is refused is a failed launch.

    K2Error, with nothing stopped, where somebody else took the plan back or restarted the server meanwhile.
    """
    is_begun = live is not None and await _is_begun(tools, launch.run, live)
    if live is not None and not is_begun:
        async for event in stopped(tools, told, live, evidence=evidence):
            yield event
    tools.watch.mark("starting")
    before = live or await _before(tools, launch.run)
    if before is not None and not is_begun:
        async for event in seen(tools, told, before):
            yield event
    try:
        async for event in launch.begun(api_key=api_key):
            yield event
    except K2Error as error:
        if error.exit_code is ExitCode.UNREACHABLE:
            raise
        launch.is_good, launch.text = False, str(error)
        yield told.event("failed", error.message, {"code": error.code, "hint": error.hint})
        return
    async for event in launch.concluded():
        yield event


async def ended(
    tools: Tools, told: Teller, launch: OneLaunch, manner: Manner, back: WayBack
) -> AsyncIterator[VerbEvent]:
    """The last event; before it the way back, where the launch failed and that is what was asked for."""
    if launch.is_good:
        yield told.done(ExitCode.DONE, launch.text)
    elif manner.on_failure is OnFailure.ROLLBACK and launch.is_good is False:
        async for event in _rolled_back(tools, told, launch, back):
            yield event
    else:
        asks = manner.on_failure is OnFailure.ASK
        yield told.done(ExitCode.BAD, launch.text, {"back_to": back.run_id} if asks else None)


async def begun_again(
    tools: Tools, told: Teller, again: OneLaunch, run_id: str, *, why: str, replaces: str | None
) -> AsyncIterator[VerbEvent]:
    """Start the configuration of an earlier run, in the place of whatever lives now."""
    plan = tools.plan(ProfileChange(run=run_id))
    live = await tools.live_run()
    if live is None:
        tools.watch.mark("starting")
        gone = await _run_of(tools, replaces)
        if gone is not None:  # what has just crashed gives its GPUs back late
            async for event in seen(tools, told, gone):
                yield event
        async for event in again.launched(plan, why=why, replaces=replaces):
            yield event
        async for event in again.concluded():
            yield event
        return
    await again.prepared(plan, why=why, replaces=live.run_id)
    api_key = flag_value(plan.profile.argv, "api-key")
    async for event in replaced(tools, told, again, live, api_key=api_key, evidence=True):
        yield event


async def _rolled_back(tools: Tools, told: Teller, launch: OneLaunch, back: WayBack) -> AsyncIterator[VerbEvent]:
    """Back to the last verified configuration. It is tried once: what fails here as well is left as it is."""
    because = launch.text
    if back.run_id is None:
        yield told.event("rollback", f"there is no way back: {back.why_not}", {"back_to": None})
        yield told.done(ExitCode.BAD, f"{because}; not rolled back: {back.why_not}", {"back_to": None})
        return
    failed = None if launch.run is None else launch.run.run_id
    other = next((run for run in await tools.runs() if run.alive and run.run_id != failed), None)
    if other is not None:  # the start was refused because somebody else's was quicker: that one is not ours to end
        why = f"run {other.run_id}, started by {other.started_by or 'somebody else'}, is there now, and was left alone"
        yield told.event("rollback", why, {"back_to": None})
        yield told.done(ExitCode.BAD, f"{because}; not rolled back: {why}", {"back_to": None})
        return
    text = f"going back to what run {back.run_id} was started with, which was verified"
    yield told.event("rollback", text, {"back_to": back.run_id, "because": because})
    again = OneLaunch(tools, told, policy="all")
    with (
        tools.changing("rollback", f"run {back.run_id}, because: {because}") as ongoing,
        resumable(tools.settings.name),
    ):
        try:
            async for event in begun_again(tools, told, again, back.run_id, why="rollback", replaces=failed):
                yield event
        except K2Error as error:
            if error.exit_code is ExitCode.UNREACHABLE:
                raise
            again.is_good, again.text = False, str(error)
            yield told.event("failed", error.message, {"code": error.code, "hint": error.hint})
        ongoing.result = "done" if again.is_good else "failed: not verified"
    data = {
        "back_to": back.run_id,
        "is_back": again.is_good is True,
        "run_id": None if again.run is None else again.run.run_id,
    }
    if again.is_good:
        text = (
            f"rolled back, {tools.settings.name} is where it was (run {back.run_id}): {again.text}; before: {because}"
        )
    else:
        text = f"{because}; the roll-back to run {back.run_id} failed as well: {again.text}"
    yield told.done(ExitCode.BAD, text, data)


async def _is_begun(tools: Tools, planned: Run | None, live: Run) -> bool:
    """Did somebody else begin the planned run meanwhile? K2Error where there is nothing to stop `live` for any more.

    Between the plan and the stop requests may have ended for minutes, and others restart and take back as well.
    """
    runs = await tools.runs()
    now = next((run for run in runs if planned is not None and run.run_id == planned.run_id), None)
    if planned is not None and now is None:
        raise _overtaken(planned, f"its plan (run {planned.run_id}) was taken back", "nothing was stopped")
    if now is not None and not now.is_planned:
        return True
    alive = [run for run in runs if run.alive]
    if alive and live.run_id not in [run.run_id for run in alive]:
        if planned is not None:
            await tools.keeper.discard(planned)
        who = alive[0].started_by or "somebody else"
        raise _overtaken(live, f"{who} started run {alive[0].run_id}", "that one was left alone")
    return False


def _overtaken(run: Run, what: str, so: str) -> K2Error:
    return K2Error(
        f"{run.server} was not restarted: {what} meanwhile, and {so}",
        code="overtaken",
        subject=run.server,
        hint=f"k2tui runs {run.server} shows what was done; then restart it anew",
    )


async def _before(tools: Tools, planned: Run | None) -> Run | None:
    """The run that a planned one was to follow, where its node still knows it."""
    return await _run_of(tools, None if planned is None else planned.replaces)


async def _run_of(tools: Tools, run_id: str | None) -> Run | None:
    """The run of this id, where its node still knows it."""
    return None if run_id is None else next((run for run in await tools.runs() if run.run_id == run_id), None)
