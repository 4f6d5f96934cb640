"""A restart that was interrupted: done to its end, or undone. What stands on the node says where it was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.verbs import ProfileChange, VerbEvent
from k2tui.services.one_launch import OneLaunch
from k2tui.services.restarting import WayBack, begun_again, ended, manner_of, replaced, resumable
from k2tui.services.verb_tools import Teller, Tools


async def gone_on(tools: Tools, told: Teller, confirm: str | None) -> AsyncIterator[VerbEvent]:
    """What was planned runs, and was proved: what it replaces is stopped where it lives still; where the planned run
    was begun already, only its way to ready and its proof are left."""
    live = await tools.live_run()
    runs = await tools.runs()
    planned, begun = _planned(runs), _begun(runs)
    tools.check("go-on", await tools.why_confirm(live if planned else None), confirm)
    run = next(iter(planned), begun)
    if run is None:
        raise _nothing_open(tools.settings)
    back = WayBack.of(tools.plan(ProfileChange()))
    launch = OneLaunch(tools, told, tools.verify_checks, run=run)
    with tools.changing("go-on", run.run_id) as ongoing, resumable(tools.settings.name):
        steps = replaced(tools, told, launch, live, api_key=None) if planned else launch.concluded()
        async for event in steps:
            yield event
        ongoing.result = "done" if launch.is_good else "failed: not verified"
    async for event in ended(tools, told, launch, manner_of(tools.settings, "restart"), back):
        yield event


async def taken_back(tools: Tools, told: Teller, confirm: str | None) -> AsyncIterator[VerbEvent]:
    """What ran before runs again, and nothing is planned any more."""
    live = await tools.live_run()
    runs = await tools.runs()
    planned, begun = _planned(runs), _begun(runs)
    tools.check("take-back", await tools.why_confirm(None if planned else live), confirm)
    run = next(iter(planned), begun)
    if run is None:
        raise _nothing_open(tools.settings)
    name = tools.settings.name
    with tools.changing("take-back", run.run_id) as ongoing, resumable(name):
        if planned and (live is not None or run.replaces is None):
            for one in planned:
                await tools.keeper.discard(one)
            await tools.look_again()
            why = "nothing ran before" if live is None else f"run {live.run_id} was never stopped"
            yield told.done(ExitCode.DONE, f"{name} is as it was: {why}")
            return
        assert run.replaces is not None
        again = OneLaunch(tools, told, policy="all")
        async for event in begun_again(tools, told, again, run.replaces, why="undo", replaces=run.replaces):
            yield event
        ongoing.result = "done" if again.is_good else "failed: not verified"
    if again.is_good:
        yield told.done(ExitCode.DONE, f"{name} runs as in run {run.replaces} again: {again.text}")
    else:
        yield told.done(ExitCode.BAD, f"run {run.replaces} was started again, in vain: {again.text}")


def _planned(runs: Sequence[Run]) -> list[Run]:
    """Newest first."""
    return [run for run in runs if run.is_planned]


def _begun(runs: Sequence[Run]) -> Run | None:
    """The newest run, where it took another one's place, nobody ended it, and nothing was found out of it yet."""
    newest = next((run for run in runs if not run.is_planned), None)
    if newest is None or newest.replaces is None or newest.verdict is not None or newest.stop_asked:
        return None
    return newest


def _nothing_open(server: ServerSettings) -> K2Error:
    return K2Error(
        f"no restart of {server.name} was interrupted",
        code="nothing_planned",
        subject=server.name,
        hint="nothing is to be continued or undone",
        exit_code=ExitCode.MISSING,
    )
