"""One launch of a server: its run record, its start, its way to ready, its proof and its verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from k2tui.core.effects import verdict_of, wanted
from k2tui.core.errors import K2Error
from k2tui.core.flags import flag_value
from k2tui.core.launch import LaunchKind
from k2tui.core.run_profile import proved_before
from k2tui.core.runs import Run
from k2tui.core.telling import effect_json, failure_json, failure_sentence, proof_json
from k2tui.core.verbs import LaunchPlan, VerbEvent
from k2tui.core.verdicts import Outcome, RunVerdict
from k2tui.core.views import Proof
from k2tui.services.following import followed, heard_out
from k2tui.services.verb_tools import Teller, Tools


@dataclass
class OneLaunch:
    """One launch, from its run record to its verdict. What came of it stands in `is_good` and `text` afterwards."""

    tools: Tools
    told: Teller
    policy: str = "diff"
    """Which effects are proved: diff | all | none."""
    verify: bool = True
    run: Run | None = None
    """The run as it is planned, or runs."""
    is_good: bool | None = None
    """True: ready, and what was asked for was proved. False: it failed, or an effect is missing. None: not known, or
    it could not be told, such as of a server whose queue is full: not verified, and no reason to go back."""
    text: str = ""
    """One sentence on how it ended."""

    async def prepared(self, plan: LaunchPlan, *, why: str, replaces: str | None) -> None:
        """Write its run directory on the node; nothing is started."""
        tools = self.tools
        self.run = await tools.keeper.prepare(
            tools.settings, plan.profile, started_by=tools.operator, why=why, replaces=replaces
        )

    async def launched(self, plan: LaunchPlan, *, why: str, replaces: str | None) -> AsyncIterator[VerbEvent]:
        """Write its run directory and start it at once, where nothing has to be stopped before."""
        tools = self.tools
        run = await tools.gate.change(
            lambda: tools.keeper.launch(
                tools.settings, plan.profile, started_by=tools.operator, why=why, replaces=replaces
            ),
            node=plan.node,
            subject=plan.server,
            action="start",
            detail=plan.command,
        )
        async for event in self._began(run, flag_value(plan.profile.argv, "api-key")):
            yield event

    async def begun(self, *, api_key: str | None) -> AsyncIterator[VerbEvent]:
        """Start what was prepared."""
        tools, planned = self.tools, self.run
        assert planned is not None
        run = await tools.gate.change(
            lambda: tools.keeper.begin(planned),
            node=tools.settings.node,
            subject=planned.server,
            action="start",
            detail=planned.run_id,
        )
        async for event in self._began(run, api_key):
            yield event

    async def _began(self, run: Run, api_key: str | None) -> AsyncIterator[VerbEvent]:
        self.run = run
        self.tools.watch.attach(run)
        if api_key is not None:
            self.tools.watch.api_key = api_key
        await self._discard_others(run)
        data = {"run_id": run.run_id, "log": run.log_path, "replaces": run.replaces}
        yield self.told.event("started", f"{run.server} runs as {run.run_id}", data)

    async def concluded(self) -> AsyncIterator[VerbEvent]:
        """Go with it until a real completion came back and its effects were looked at, or until it is known why not."""
        async for event in followed(self.tools.watch, self.told):
            yield event
        launch = await heard_out(self.tools)
        if launch.kind is not LaunchKind.READY:
            view = self.tools.watch.view
            self.text, self.is_good = failure_sentence(view), False
            yield self.told.event("failed", self.text, failure_json(view), launch=launch)
            await self._write(self._verdict(Proof(False, self.text)))
            return
        yield self.told.event("ready", "ready by its log", launch=launch)
        self.is_good = True
        why = self.tools.watch.abstains.why
        if not self.verify:
            self.text = "ready by its log; not verified, as asked"
        elif why is not None:
            self.text = f"ready by its log; {why}"
        else:
            async for event in self.proved():
                yield event

    async def proved(self) -> AsyncIterator[VerbEvent]:
        """Look at every effect that was asked for, and write down what was found."""
        watch, run = self.tools.watch, self.run
        assert run is not None
        before = None if self.policy == "all" else proved_before(watch.view.runs)
        new = (run.argv, dict(run.env))
        proof = await watch.prove(wanted(before, new, policy=self.policy, build=watch.view.build))
        launch = watch.view.launch
        for effect in proof.effects:
            yield self.told.event("effect", effect.text, effect_json(effect), launch=launch)
        self.text, verdict = proof.text, self._verdict(proof)
        missing = any(effect.outcome is Outcome.NOT_PROVED for effect in proof.effects)
        self.is_good = True if verdict.verified else False if missing else None
        kind = "proved" if verdict.verified else "failed"
        yield self.told.event(kind, proof.text, proof_json(proof), launch=launch)
        if self.tools.gate.read_only:
            self.text = f"{self.text}; not written down, because k2tui is read-only"
        elif self.is_good is None and _was_verified(watch.view.runs, run):
            self.text = f"{self.text}; what was proved of it before stands"
        else:
            await self._write(verdict)

    def _verdict(self, proof: Proof) -> RunVerdict:
        """What this proof says of the run, with the build that it is of: as known now, or at an earlier look."""
        view, before = self.tools.watch.view, None if self.run is None else self.run.verdict
        version = None if view.launch is None else view.launch.version
        modified = None
        if view.build is not None:
            version, modified = view.build.version or version, view.build.modified
        elif before is not None:
            version, modified = version or before.version, before.modified
        return verdict_of(proof, at=self.tools.clock.time(), version=version, modified=modified)

    async def _write(self, verdict: RunVerdict) -> None:
        """Into the run's directory, and keep it here; where that fails it is said with the end."""
        run = self.run
        assert run is not None
        try:
            await self.tools.keeper.write_verdict(run, verdict)
        except K2Error as error:
            self.text = f"{self.text}; the verdict could not be written on the node: {error}"
            return
        await self.tools.look_again()
        await self.tools.remember(_with_verdict(self.tools.watch.view.run, run, verdict))

    async def _discard_others(self, run: Run) -> None:
        """What else was planned for this server was to follow a run that is gone now. What can't be taken away stands
        there as planned; the start itself went well."""
        with suppress(K2Error):
            for other in await self.tools.runs():
                if other.is_planned and other.run_id != run.run_id:
                    await self.tools.keeper.discard(other)


def _was_verified(runs: Sequence[Run], run: Run) -> bool:
    """An earlier look proved it: a later one that learned nothing must not take the way back to it away."""
    verdicts = [one.verdict for one in (*runs, run) if one.run_id == run.run_id]
    return any(verdict is not None and verdict.verified for verdict in verdicts)


def _with_verdict(seen: Run | None, run: Run, verdict: RunVerdict) -> Run:
    return replace(seen if seen is not None and seen.run_id == run.run_id else run, verdict=verdict)
