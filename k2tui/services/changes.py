"""What an operator changes: every verb of a fleet, by the name of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from k2tui.core.builds import Build
from k2tui.core.errors import ExitCode, K2Error, no_such
from k2tui.core.runs import Run
from k2tui.core.settings import LaunchProfile, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import LaunchPlan, Manner, ProfileChange, VerbEvent
from k2tui.services.doors import BuildHistory, Clock, ConfigWriter, RunHistory, Script
from k2tui.services.gate import Gate
from k2tui.services.rooms import Room
from k2tui.services.server_watch import ServerWatch

if TYPE_CHECKING:
    from k2tui.core.preflight import Preflight
    from k2tui.services.builds import BuildReader
    from k2tui.services.launching import Verbs
    from k2tui.services.planning import Planning

Steps = AsyncIterator[VerbEvent]
PROCESSES_LIMIT_S = 5.0
"""For the driver's list of who holds its GPUs: nvidia-smi takes a second or two where there are eight."""


@dataclass(frozen=True)
class ChangeDoors:
    """What changes need of the world."""

    gate: Gate
    script: Callable[[str], Script]
    clock: Clock
    operator: str
    """user@host of the person at the keyboard."""
    builds: BuildHistory | None
    kept_runs: RunHistory | None
    config: ConfigWriter | None


class Changes:
    """The verbs of a fleet. Refusals raise K2Error before anything was done; the last event of a verb is `done`."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        rooms: Mapping[str, Room],
        watches: Mapping[str, ServerWatch],
        doors: ChangeDoors,
        *,
        configured: Callable[[ServerSettings | None, ProfileSettings], None],
    ) -> None:
        """`configured`: the config has this server and this profile from now on."""
        self._settings, self._rooms, self._watches, self._doors = settings, rooms, watches, doors
        self._configured = configured
        self._kept: dict[str, tuple[Run, ...]] = {}
        """What this side remembers of a server's runs, once it was asked for."""
        self._readers: dict[str, BuildReader] = {}
        """By node, once its engine was asked for."""

    @cached_property
    def _planning(self) -> Planning:
        from k2tui.core.preflight_gpus import names_of  # noqa: PLC0415  the first paint plans nothing
        from k2tui.services.planning import Planning  # noqa: PLC0415  as above

        rooms = self._rooms
        return Planning(
            self._settings,
            self._watches,
            link=lambda node: rooms[node].link,
            gpu_names=lambda server: names_of(server.gpus, rooms[server.node].watch.reading),
            kept_runs=lambda name: self._kept.get(name, ()),
        )

    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan:
        """What a start or restart would do, from what is known now; touches nothing."""
        self._watch(name)
        return self._planning.plan(name, change)

    def confirm_sentence(self, name: str) -> str | None:
        """Why a change of this server must be confirmed, from what is known now; None when it need not."""
        run = self._watch(name).view.run
        return self._planning.confirm_sentence(name, live=run is not None and run.alive is True)

    async def preflight(self, name: str, change: ProfileChange | None = None) -> Preflight:
        """Look at everything that can stand in the way of this launch, on the node, now."""
        await self.runs(name)
        return await self._look(name, self.plan(name, change))

    async def read_build(self, name: str) -> Build:
        """The engine as it is installed for this server, read now or known already. Raises K2Error."""
        return await self._read_build(name, self.plan(name).profile)

    def start(
        self, name: str, change: ProfileChange | None, *, confirm: str | None, verify: bool, manner: Manner | None
    ) -> Steps:
        """Start it."""
        return self._verbs(name).start(self.plan(name, change), confirm=confirm, verify=verify, manner=manner)

    def restart(
        self, name: str, change: ProfileChange | None, *, confirm: str | None, verify: bool, manner: Manner | None
    ) -> Steps:
        """Stop it if it runs, then start it."""
        return self._verbs(name).restart(self.plan(name, change), confirm=confirm, verify=verify, manner=manner)

    def stop(self, name: str, *, confirm: str | None, evidence: bool = False) -> Steps:
        """Stop it; done when no process of it is left. `evidence`: keep it, also where nothing looks wrong."""
        due = self.confirm_sentence(name)
        return self._verbs(name).stop(confirm_needed=due, confirm=confirm, evidence=evidence)

    def verify(self, name: str) -> Steps:
        """Look at every effect that its flags ask for, now."""
        return self._verbs(name).verify()

    def go_on(self, name: str, *, confirm: str | None) -> Steps:
        """Do to its end a restart that was interrupted."""
        return self._verbs(name).go_on(confirm=confirm)

    def take_back(self, name: str, *, confirm: str | None) -> Steps:
        """Undo a restart that was interrupted."""
        return self._verbs(name).take_back(confirm=confirm)

    async def restart_many(
        self,
        changes: Mapping[str, ProfileChange | None],
        *,
        confirm: Collection[str],
        parallel: bool,
        manner: Manner | None,
        told: Callable[[str, Steps], Steps],
    ) -> Steps:
        """One after the other, ended by the first that is not verified; `parallel`: all at once.

        `told`: what each step passes through.
        """
        steps: dict[str, Steps] = {}
        for name, change in changes.items():
            plan, verbs = self.plan(name, change), self._verbs(name)
            given = plan.node if plan.node in confirm else None
            run = self._watch(name).view.run
            why = await verbs.tools.why_confirm(run if run is not None and run.alive else None)
            verbs.tools.check("restart", plan.confirm_needed or why, given)
            verb = verbs.restart(plan, confirm=given, verify=True, manner=manner)
            steps[name] = _told_to_the_end(name, told(name, verb))
        if parallel:
            from k2tui.services.merging import merged_steps  # noqa: PLC0415  seldom needed

            async for event in merged_steps(steps.values()):
                yield event
            return
        for one in steps.values():
            async for event in one:
                yield event
                if event.exit_code is not None and event.exit_code is not ExitCode.DONE:
                    return

    def adopt(self, name: str, *, confirm: str | None) -> Steps:
        """Write a found server into the config, stop it by its identity, and start it as one of ours."""
        from k2tui.services.adopting import Adopting, adopted  # noqa: PLC0415  seldom needed
        from k2tui.services.foreign_stop import ForeignStopper, stop_foreign_script  # noqa: PLC0415  as above

        watch = self._watch(name)
        room = self._rooms[watch.settings.node]

        def become(server: ServerSettings, profile: ProfileSettings) -> Verbs:
            self._configured(server, profile)
            return self._verbs(name)

        adopting = Adopting(
            tools=self._verbs(name).tools,
            stopper=ForeignStopper(room.link, stop_foreign_script(self._doors.script)),
            writer=self._doors.config,
            in_config=name in self._settings().servers,
            look=room.found.look,
            become=become,
        )
        return adopted(adopting, confirm=confirm)

    async def save_profile(self, name: str, change: ProfileChange, *, as_name: str, use: bool) -> str:
        """Write a server's configuration with this change into the config as [profiles.AS_NAME]; its file's path."""
        from k2tui.core.saved_profile import saved_profile  # noqa: PLC0415  seldom needed

        server, writer = self._watch(name).settings, self._doors.config
        if writer is None:
            raise K2Error(
                f"profile {as_name} was not saved: there is no config file to write it into",
                code="no_config_file",
                subject=as_name,
                hint="k2tui config init writes one; start k2tui again then",
                exit_code=ExitCode.USAGE,
            )
        profile = saved_profile(self._settings(), server, change, as_name, runs=await self.runs(name))

        async def write() -> str:
            return writer.save_profile(profile, server=name if use else None)

        path = await self._doors.gate.change(
            write, node=server.node, subject=as_name, action="save-profile", detail=f"for {name}: {profile.name}"
        )
        self._configured(replace(server, profile=as_name) if use else None, profile)
        return path

    async def runs(self, name: str) -> tuple[Run, ...]:
        """Every run of a server that the node or this side remembers, newest first."""
        from k2tui.core.run_profile import merged  # noqa: PLC0415  not needed for the first paint

        watch = self._watch(name)
        host = self._rooms[watch.settings.node].settings.host
        if name not in self._kept and self._doors.kept_runs is not None:
            try:
                self._kept[name] = await self._doors.kept_runs.kept_runs(host, name)
            except K2Error:
                self._kept[name] = ()  # the node's own runs are there all the same
        kept = self._kept.get(name, ())
        await self._keep(host, [run for run in watch.view.runs if run not in kept])
        return merged(watch.view.runs, kept)

    async def _remember(self, run: Run) -> None:
        """Keep a run on this side too; a store that fails takes nothing away from what was done."""
        node = self._watch(run.server).settings.node
        self._kept.pop(run.server, None)
        await self._keep(self._rooms[node].settings.host, [run])

    async def _keep(self, host: str, runs: Sequence[Run]) -> None:
        if self._doors.kept_runs is None or not runs:
            return
        try:
            await self._doors.kept_runs.keep_runs(host, runs)
        except K2Error:
            return  # the store says itself, once, that it can't be written

    async def _look(self, name: str, plan: LaunchPlan) -> Preflight:
        from k2tui.services.preflight import preflight  # noqa: PLC0415  not needed for the first paint

        watch = self._watch(name)
        room = self._rooms[watch.settings.node]
        await _processes_now(room)
        run = watch.view.run
        try:
            build: Build | None = await self._read_build(name, plan.profile)
        except K2Error:
            build = None  # its item says that the flags could not be checked
        return await preflight(
            room.link,
            room.settings,
            self._doors.script,
            server=watch.settings,
            profile=plan.profile,
            replaces=run if run is not None and run.alive else None,
            reading=room.watch.reading,
            processes=room.found.processes,
            requests=None if watch.http is None else watch.http.running,
            rivals=self._planning.rivals(name),
            build=build,
        )

    async def _read_build(self, name: str, profile: LaunchProfile) -> Build:
        watch = self._watch(name)
        build = await self._reader(watch.settings.node).read(watch.settings, profile)
        watch.build = build
        watch.refresh()
        return build

    def _reader(self, node: str) -> BuildReader:
        from k2tui.services.builds import BuildReader  # noqa: PLC0415  not needed for the first paint

        if node not in self._readers:
            room = self._rooms[node]
            self._readers[node] = BuildReader(room.link, self._doors.script, self._doors.builds, room.settings.host)
        return self._readers[node]

    def _verbs(self, name: str) -> Verbs:
        from k2tui.services.launching import Verbs  # noqa: PLC0415  the first paint changes nothing
        from k2tui.services.verb_tools import Tools  # noqa: PLC0415  as above

        watch = self._watch(name)
        room = self._rooms[watch.settings.node]

        async def look(plan: LaunchPlan) -> Preflight:
            return await self._look(name, plan)

        tools = Tools(
            watch=watch,
            scan=room.scan,
            keeper=room.keeper,
            gate=self._doors.gate,
            clock=self._doors.clock,
            operator=self._doors.operator,
            plan=lambda change: self.plan(name, change),
            preflight=look,
            remember=self._remember,
            verify_checks=self._settings().verify_checks,
            confirm_policy=room.settings.confirm,
        )
        return Verbs(tools)

    def _watch(self, name: str) -> ServerWatch:
        if name not in self._watches:
            raise no_such("server", name, self._watches)
        return self._watches[name]


async def _processes_now(room: Room) -> None:
    """Look who holds the GPUs: the lists may be a minute old, and a run that has just begun or ended would be told as
    somebody else's. What can't be looked at stays as it was seen last."""
    await room.watch.list_processes(PROCESSES_LIMIT_S)
    with suppress(K2Error):
        await room.found.look()


async def _told_to_the_end(name: str, steps: Steps) -> Steps:
    """One of several: what refuses it is its end, and not the end of the others."""
    try:
        async for event in steps:
            yield event
    except K2Error as error:
        data = {"code": error.code, "hint": error.hint}
        yield VerbEvent("done", name, 0.0, str(error), data=data, exit_code=error.exit_code)
