"""Start, restart, stop: each returns when the thing is true, and tells every step on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from k2tui.core.checkpoint import Checkpoint
from k2tui.core.effects import changed_checks, checks_for
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import flag_value
from k2tui.core.foreign.owner import not_ours
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase, Progress
from k2tui.core.link import LinkPhase
from k2tui.core.runs import Run
from k2tui.core.telling import (
    bar_json,
    bar_sentence,
    checkpoint_json,
    checkpoint_sentence,
    failure_json,
    failure_sentence,
    left_json,
    proof_json,
)
from k2tui.core.verbs import LaunchPlan, VerbEvent
from k2tui.services.doors import Clock
from k2tui.services.gate import Gate
from k2tui.services.run_scan import RunScan
from k2tui.services.runs import RunKeeper
from k2tui.services.server_watch import ServerWatch

STOP_GRACE_S = 20.0
LAST_WORDS_S = 15.0
"""How long a server that is crashing is given to end by itself."""
_FAILED = (LaunchKind.CRASHED, LaunchKind.HUNG, LaunchKind.MISCONFIGURED, LaunchKind.DEGRADED, LaunchKind.STOPPED)


@dataclass(frozen=True)
class Verbs:
    """What the verbs on one server need."""

    watch: ServerWatch
    scan: RunScan
    keeper: RunKeeper
    gate: Gate
    clock: Clock
    operator: str
    """user@host, written into the run."""
    verify_checks: str
    """diff | all | none."""
    confirm_policy: str = "busy"
    """never | busy | always, of the node."""

    async def start(self, plan: LaunchPlan, *, confirm: str | None, verify: bool) -> AsyncIterator[VerbEvent]:
        """Start it and go with it until a real completion came back, or until it is known why not."""
        told = Teller(plan.server, self.clock)
        live = await self.live_run()
        if live is not None:
            raise K2Error(
                f"{plan.server} already runs on {plan.node} as {live.run_id}",
                code="already_running",
                subject=plan.server,
                hint=f"k2tui restart {plan.server} replaces it",
            )
        async for event in self._start(plan, told, confirm=confirm, verify=verify):
            yield event

    async def restart(self, plan: LaunchPlan, *, confirm: str | None, verify: bool) -> AsyncIterator[VerbEvent]:
        """Stop it if it runs, then start it."""
        told = Teller(plan.server, self.clock)
        live = await self.live_run()
        if live is not None:
            due = plan.confirm_needed or await self._busy_sentence()
            self.gate.check(node=plan.node, subject=plan.server, action="restart", confirm_needed=due, confirm=confirm)
            confirm = plan.node
            async for event in self._stop(live, told, confirm_needed=None, confirm=None):
                yield event
        async for event in self._start(plan, told, confirm=confirm, verify=verify):
            yield event

    async def stop(self, *, confirm_needed: str | None, confirm: str | None) -> AsyncIterator[VerbEvent]:
        """Stop it; done when no process of it is left."""
        name = self.watch.settings.name
        told = Teller(name, self.clock)
        live = await self.live_run()
        if live is None:
            raise K2Error(
                f"{name} is not running on {self.watch.settings.node}",
                code="not_running",
                subject=name,
                hint=f"k2tui start {name} starts it",
                exit_code=ExitCode.MISSING,
            )
        due = confirm_needed or await self._busy_sentence()
        async for event in self._stop(live, told, confirm_needed=due, confirm=confirm):
            yield event
        yield told.done(ExitCode.DONE, "stopped")

    async def live_run(self) -> Run | None:
        """The server's run whose process lives, looked at now."""
        for run in await self.scan.look():
            if run.server == self.watch.settings.name and run.alive:
                return run
        self._own()
        return None

    def _own(self) -> None:
        found = self.watch.found_alive
        if found is not None:
            raise not_ours(found, self.watch.settings.name)
        if self.watch.settings.profile is None:
            raise watched_only(self.watch.settings.name)

    async def _busy_sentence(self) -> str | None:
        """Why a busy server needs a confirmation; None when it is idle, can't say, or the node wants none."""
        if self.confirm_policy == "never":
            return None
        running = await self.watch.running_requests()
        if not running:
            return None
        return f"{running} request{'s are' if running != 1 else ' is'} running and would be cut off"

    async def _stop(
        self, run: Run, told: Teller, *, confirm_needed: str | None, confirm: str | None
    ) -> AsyncIterator[VerbEvent]:
        settings = self.watch.settings
        self.gate.check(
            node=settings.node, subject=settings.name, action="stop", confirm_needed=confirm_needed, confirm=confirm
        )
        self.watch.mark("stopping")
        self.watch.forget_proof()
        try:
            yield told.event("stopping", f"stopping {settings.name}, run {run.run_id}")
            if self.watch.view.launch is not None and self.watch.view.launch.kind is LaunchKind.HUNG:
                await self.keeper.keep_evidence(run)
            report = await self.gate.change(
                lambda: self.keeper.stop(run, grace_s=STOP_GRACE_S, asked_by=self.operator),
                node=settings.node,
                subject=settings.name,
                action="stop",
                detail=run.run_id,
            )
            await self._look_again()
        finally:
            self.watch.mark(None)
        yield told.event("stopped", report.sentence, report.to_json())

    async def _start(
        self, plan: LaunchPlan, told: Teller, *, confirm: str | None, verify: bool
    ) -> AsyncIterator[VerbEvent]:
        self.gate.check(
            node=plan.node,
            subject=plan.server,
            action="start",
            confirm_needed=plan.confirm_needed,
            confirm=confirm,
        )
        before = self.watch.view.run
        self.watch.mark("starting")
        self.scan.busy = True
        try:
            yield told.event("preflight", f"starting {plan.server} on {plan.node}", {"command": plan.command})
            run = await self.gate.change(
                lambda: self.keeper.launch(self.watch.settings, plan.profile, started_by=self.operator),
                node=plan.node,
                subject=plan.server,
                action="start",
                detail=plan.command,
            )
            self.watch.attach(run)
            self.watch.api_key = flag_value(plan.profile.argv, "api-key")
            yield told.event(
                "started", f"{plan.server} runs as {run.run_id}", {"run_id": run.run_id, "log": run.log_path}
            )
            async for event in self._go_with(told):
                yield event
            async for event in self._conclude(plan, told, before, verify=verify):
                yield event
        finally:
            self.scan.busy = False
            self.watch.mark(None)

    async def _go_with(self, told: Teller) -> AsyncIterator[VerbEvent]:
        """Tell each phase and each step of its bar until the launch is no longer loading."""
        phase: LaunchPhase | None = None
        progress: Progress | None = None
        detail: str | None = None
        files: Checkpoint | None = None
        lost = False
        while True:
            self.watch.changed.clear()
            if self.watch.link.phase is LinkPhase.BLOCKED:
                raise self._unwatched()
            if lost is (self.watch.link.phase is LinkPhase.UP):
                lost = not lost
                yield told.event("link", self._lost_sentence() if lost else f"{self.watch.settings.node} is back")
            launch = self.watch.view.launch or Launch()
            if launch.phase is not phase:
                phase = launch.phase
                yield told.event("phase", phase.value, launch=launch)
            checkpoint = self.watch.view.around.checkpoint
            if checkpoint is not None and checkpoint != files:
                files = checkpoint
                yield told.event("weights", checkpoint_sentence(checkpoint), checkpoint_json(checkpoint), launch=launch)
            if launch.progress != progress and launch.progress is not None:
                progress = launch.progress
                left = self.watch.time_left()
                data = {**bar_json(progress), "eta_s": left_json(left)}
                yield told.event("progress", bar_sentence(progress), data, launch=launch)
            if launch.detail != detail:
                detail = launch.detail
                if detail is not None:
                    yield told.event("phase", f"{phase.value}: {detail}", launch=launch)
            if launch.kind is LaunchKind.READY or launch.kind in _FAILED or self._gone():
                return
            await self.watch.changed.wait()

    def _lost_sentence(self) -> str:
        settings, reason = self.watch.settings, self.watch.link.reason
        why = f" ({reason})" if reason else ""
        return f"{settings.node} is not connected{why}; {settings.name} goes on there, and the next try is planned"

    def _unwatched(self) -> K2Error:
        """Nobody will try the link again before the operator acts: waiting on would be waiting for ever."""
        link, settings = self.watch.link, self.watch.settings
        return K2Error(
            f"{link.reason or f'{settings.node} is out of reach'}; {settings.name} goes on there unwatched",
            code=link.code or "unreachable",
            subject=settings.name,
            hint=link.hint,
            exit_code=ExitCode.UNREACHABLE,
        )

    def _gone(self) -> bool:
        run = self.watch.view.run
        return run is not None and run.alive is False

    async def _hear_out(self) -> None:
        """A failing server says why in its last words: wait for its end, then for the end of its log."""
        launch = self.watch.view.launch
        dying = launch is not None and launch.kind in (LaunchKind.CRASHED, LaunchKind.MISCONFIGURED)
        end = self.clock.monotonic() + LAST_WORDS_S
        await self._look_again()
        while dying and not self._gone() and self.clock.monotonic() < end:
            await self.clock.sleep(0.5)
            await self._look_again()
        await self.watch.read_to_end()

    async def _conclude(
        self, plan: LaunchPlan, told: Teller, before: Run | None, *, verify: bool
    ) -> AsyncIterator[VerbEvent]:
        await self._hear_out()
        view = self.watch.view
        launch = view.launch or Launch()
        if launch.kind is not LaunchKind.READY:
            text = failure_sentence(view)
            yield told.event("failed", text, failure_json(view), launch=launch)
            yield told.done(ExitCode.BAD, text)
            return
        yield told.event("ready", "ready by its log", launch=launch)
        if not verify:
            yield told.done(ExitCode.DONE, "ready by its log; not verified, as asked")
            return
        why = self.watch.abstains.why
        if why is not None:
            yield told.done(ExitCode.DONE, f"ready by its log; {why}")
            return
        proof = await self.watch.prove(self._checks(plan, before))
        yield told.event("proved" if proof.ok else "failed", proof.text, proof_json(proof), launch=launch)
        yield told.done(ExitCode.DONE if proof.ok else ExitCode.BAD, proof.text)

    def _checks(self, plan: LaunchPlan, before: Run | None) -> frozenset[str]:
        if self.verify_checks == "none":
            return frozenset()
        if self.verify_checks == "all" or before is None:
            return checks_for(plan.profile.argv)
        return changed_checks(before.argv, plan.profile.argv)

    async def _look_again(self) -> None:
        """The newest truth of the node, when it can be had; an unreachable node leaves the old one."""
        try:
            self.watch.take_runs(await self.scan.look(), self.clock.monotonic())
        except K2Error:
            return


class Teller:
    """Makes the events of one verb."""

    def __init__(self, server: str, clock: Clock) -> None:
        self._server, self._clock = server, clock
        self._began = clock.monotonic()

    def event(
        self, kind: str, text: str, data: Mapping[str, object] | None = None, *, launch: Launch | None = None
    ) -> VerbEvent:
        """One step; `data` is for programs."""
        elapsed_s = round(self._clock.monotonic() - self._began, 3)
        return VerbEvent(kind, self._server, elapsed_s, text, launch, data or {})

    def done(self, code: ExitCode, text: str) -> VerbEvent:
        return VerbEvent(
            "done", self._server, round(self._clock.monotonic() - self._began, 3), text, None, {}, exit_code=code
        )


def watched_only(server: str) -> K2Error:
    """What is known by its log alone can't be started, stopped or planned."""
    return K2Error(
        f"{server} is only watched: k2tui did not start it and has no profile for it",
        code="watched_only",
        subject=server,
        hint=f"give it a profile in [servers.{server}]",
        exit_code=ExitCode.USAGE,
    )
