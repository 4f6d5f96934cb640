"""Start, restart, stop, verify: each returns when the thing is true, and tells every step on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import flag_value
from k2tui.core.settings import ServerSettings
from k2tui.core.verbs import LaunchPlan, Manner, VerbEvent
from k2tui.services.going_back import gone_on, taken_back
from k2tui.services.one_launch import OneLaunch
from k2tui.services.restarting import WayBack, ended, looked_at, manner_of, replaced, resumable
from k2tui.services.stopping import drained, stopped
from k2tui.services.verb_tools import Teller, Tools


@dataclass(frozen=True)
class Verbs:
    """The verbs on one server. The last event of each is `done`; refusals raise K2Error before anything was done."""

    tools: Tools

    async def start(
        self, plan: LaunchPlan, *, confirm: str | None, verify: bool, manner: Manner | None = None
    ) -> AsyncIterator[VerbEvent]:
        """Start it and go with it until a real completion came back, or until it is known why not."""
        told = self._teller()
        live = await self.tools.live_run()
        if live is not None:
            raise K2Error(
                f"{plan.server} already runs on {plan.node} as {live.run_id}",
                code="already_running",
                subject=plan.server,
                hint=f"k2tui restart {plan.server} replaces it",
            )
        manner = manner or manner_of(self.tools.settings, "start")
        async for event in self._start(plan, told, manner, confirm=confirm, verify=verify):
            yield event

    async def restart(
        self, plan: LaunchPlan, *, confirm: str | None, verify: bool, manner: Manner | None = None
    ) -> AsyncIterator[VerbEvent]:
        """Stop it if it runs, then start it. The run record comes first, so that whoever comes next can go on."""
        tools, told = self.tools, self._teller()
        live = await tools.live_run()
        manner = manner or manner_of(tools.settings, "restart")
        if live is None:
            async for event in self._start(plan, told, manner, confirm=confirm, verify=verify):
                yield event
            return
        tools.check("restart", plan.confirm_needed or await tools.why_confirm(live), confirm)
        async for event in looked_at(tools, plan, told, force=manner.force):
            yield event
        launch = OneLaunch(tools, told, tools.verify_checks, verify)
        detail = f"in place of {live.run_id}: {plan.command}"
        with tools.changing("restart", detail) as ongoing, resumable(plan.server):
            await launch.prepared(plan, why=manner.why, replaces=live.run_id)
            if manner.drain_s > 0:
                async for event in drained(tools, told, manner.drain_s):
                    yield event
            api_key = flag_value(plan.profile.argv, "api-key")
            async for event in replaced(tools, told, launch, live, api_key=api_key):
                yield event
            ongoing.result = "done" if launch.is_good else "failed: not verified"
        async for event in ended(tools, told, launch, manner, WayBack.of(plan)):
            yield event

    async def stop(
        self, *, confirm_needed: str | None, confirm: str | None, evidence: bool = False
    ) -> AsyncIterator[VerbEvent]:
        """Stop it; done when no process of it is left. `evidence`: keep it, also where nothing looks wrong."""
        tools, told = self.tools, self._teller()
        live = await tools.live_run()
        if live is None:
            raise _not_running(tools.settings)
        tools.check("stop", confirm_needed or await tools.why_confirm(live), confirm)
        async for event in stopped(tools, told, live, evidence=evidence):
            yield event
        yield told.done(ExitCode.DONE, "stopped")

    async def verify(self) -> AsyncIterator[VerbEvent]:
        """Look at every effect that its flags ask for, now. It only asks; read-only, nothing is written down of it."""
        tools, told = self.tools, self._teller()
        live = await tools.live_run()
        if live is None:
            raise _not_running(tools.settings)
        why = tools.watch.abstains.why
        if why is not None:
            yield told.done(ExitCode.BAD, why)
            return
        launch = OneLaunch(tools, told, "all", run=live)
        if tools.gate.read_only:
            async for event in launch.proved():
                yield event
        else:
            with tools.changing("verify", live.run_id) as ongoing:
                async for event in launch.proved():
                    yield event
                ongoing.result = "done" if launch.is_good else "failed: not verified"
        yield told.done(ExitCode.DONE if launch.is_good else ExitCode.BAD, launch.text)

    def go_on(self, *, confirm: str | None) -> AsyncIterator[VerbEvent]:
        """Do to its end a restart that was interrupted."""
        return gone_on(self.tools, self._teller(), confirm)

    def take_back(self, *, confirm: str | None) -> AsyncIterator[VerbEvent]:
        """Undo a restart that was interrupted."""
        return taken_back(self.tools, self._teller(), confirm)

    def _teller(self) -> Teller:
        return Teller(self.tools.settings.name, self.tools.clock)

    async def _start(
        self, plan: LaunchPlan, told: Teller, manner: Manner, *, confirm: str | None, verify: bool
    ) -> AsyncIterator[VerbEvent]:
        """Start what does not run."""
        tools = self.tools
        tools.check("start", plan.confirm_needed, confirm)
        async for event in looked_at(tools, plan, told, force=manner.force):
            yield event
        launch = OneLaunch(tools, told, tools.verify_checks, verify)
        with tools.hurried():
            tools.watch.mark("starting")
            async for event in launch.launched(plan, why=manner.why, replaces=None):
                yield event
            async for event in launch.concluded():
                yield event
        async for event in ended(tools, told, launch, manner, WayBack.of(plan)):
            yield event


def _not_running(server: ServerSettings) -> K2Error:
    return K2Error(
        f"{server.name} is not running on {server.node}",
        code="not_running",
        subject=server.name,
        hint=f"k2tui start {server.name} starts it",
        exit_code=ExitCode.MISSING,
    )
