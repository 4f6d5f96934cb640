"""All nodes and servers of a config, watched; the surface that screens and plain commands use."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass

from k2tui.core.errors import ExitCode, K2Error, no_such
from k2tui.core.events import Event, Severity
from k2tui.core.flags import flag_value
from k2tui.core.link import LinkPhase
from k2tui.core.profiles import command_text, resolve, warnings_of
from k2tui.core.readings import busiest
from k2tui.core.ring import LineRing
from k2tui.core.settings import NodeSettings, ServerSettings, Settings
from k2tui.core.verbs import LaunchPlan, ProfileChange, VerbEvent
from k2tui.core.views import NodeView, ServerView
from k2tui.services.doors import Audit, Clock, LaunchHistory, NodeLink, Script
from k2tui.services.fleet_events import NodeTeller, ServerTeller
from k2tui.services.gate import Gate
from k2tui.services.launch_history import LaunchMemory
from k2tui.services.launching import Verbs, watched_only
from k2tui.services.log_watch import LogScripts
from k2tui.services.node_watch import NodeWatch
from k2tui.services.old_runs import OldRuns
from k2tui.services.run_scan import RunScan
from k2tui.services.runs import RunKeeper, RunScripts
from k2tui.services.server_watch import ProofManners, ServerWatch
from k2tui.services.surroundings_watch import Around, SurroundingScripts

EVENTS_KEPT = 1000


@dataclass(frozen=True)
class FleetDoors:
    """What a fleet needs of the world."""

    make_link: Callable[[NodeSettings], NodeLink]
    close: Callable[[], Awaitable[None]]
    """Lets go of what the links share (jump hosts), after the links."""
    script: Callable[[str], Script]
    audit: Audit
    clock: Clock
    history: LaunchHistory | None
    """Where launches are remembered; None: nowhere."""
    operator: str
    """user@host of the person at the keyboard."""


@dataclass
class _Room:
    """One node with everything that watches it."""

    settings: NodeSettings
    link: NodeLink
    watch: NodeWatch
    keeper: RunKeeper
    scan: RunScan


class Fleet:
    """Watches everything of a config, and holds the verbs."""

    def __init__(self, settings: Settings, doors: FleetDoors, *, simulated: bool = False) -> None:
        self.settings = settings
        self.simulated = simulated
        self.revision = 0
        """Grows with every change of any view or event; never with log lines."""
        self.events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self.gate = Gate(doors.audit, read_only=settings.read_only)
        self._doors = doors
        self._scripts = LogScripts(doors.script)
        self._memory = LaunchMemory(doors.history, clock=doors.clock, tell=self.record, on_change=self._history_changed)
        self._around = Around(SurroundingScripts(doors.script), self._memory, self.record)
        self._rooms = {name: self._room(node) for name, node in settings.nodes.items()}
        self._watches = {name: self._server_watch(name) for name in settings.servers}
        self._node_tellers = {name: NodeTeller(name) for name in self._rooms}
        self._server_tellers = {name: ServerTeller(name) for name in self._watches}
        self._old_runs = OldRuns(doors.script("read"), doors.script("log_size"))
        self._opened = False

    def nodes(self) -> tuple[NodeView, ...]:
        """All nodes, in the config's order."""
        return tuple(NodeView(room.settings, room.watch.state, room.watch.reading) for room in self._rooms.values())

    def servers(self) -> tuple[ServerView, ...]:
        """All servers, in the config's order."""
        return tuple(watch.view for watch in self._watches.values())

    def server(self, name: str) -> ServerView:
        """One server; K2Error when the config has no such."""
        return self._watch(name).view

    def ring(self, name: str) -> LineRing:
        """The log that is followed for this server now; another object when another run began."""
        return self._watch(name).ring

    def run_ring(self, name: str, run_id: str) -> LineRing:
        """The log of an earlier run, filled in the background."""
        for run in self._watch(name).view.runs:
            if run.run_id == run_id:
                return self._old_runs.ring(self._room_of(name).link, run)
        raise K2Error(
            f"{name} has no run {run_id}",
            code="no_such_run",
            subject=name,
            hint=f"k2tui logs {name} --run lists nothing older than the node keeps",
            exit_code=ExitCode.MISSING,
        )

    async def open(self) -> None:
        """Start to watch; returns at once."""
        if self._opened:
            return
        self._opened = True
        for room in self._rooms.values():
            room.watch.start()
            if self._has_runs(room):
                room.scan.start()
        for watch in self._watches.values():
            watch.start()

    async def close(self) -> None:
        """Watch no more. What runs on the nodes runs on."""
        await asyncio.gather(*(watch.close() for watch in self._watches.values()), return_exceptions=True)
        await asyncio.gather(*(self._close_room(room) for room in self._rooms.values()), return_exceptions=True)
        await self._old_runs.close()
        await self._memory.close()
        await self._doors.close()

    async def settle(self, names: Iterable[str] | None = None, *, limit_s: float = 30.0) -> None:
        """Wait until each of these nodes was looked at, or is known to be out of reach."""
        rooms = [self._rooms[name] for name in (names or self._rooms)]
        end = self._doors.clock.monotonic() + limit_s
        while self._doors.clock.monotonic() < end and not all(self._is_settled(room) for room in rooms):
            await self._doors.clock.sleep(0.05)

    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan:
        """What a start or restart would do, from what is known now; touches nothing."""
        change = change or ProfileChange()
        server = self._watch(name).settings
        profile_name = change.profile or server.profile
        if profile_name is None:
            raise watched_only(name)
        profile = resolve(self.settings, profile_name, server, change)
        run = self._watch(name).view.run
        live = run is not None and run.alive is True
        return LaunchPlan(
            server=name,
            node=server.node,
            profile=profile,
            command=command_text(profile),
            replaces_run=run.run_id if run is not None and live else None,
            confirm_needed=self._confirm_sentence(name, live=live),
            warnings=(*warnings_of(self.settings.profiles, profile_name), *self._warnings(name)),
        )

    def start(
        self, name: str, change: ProfileChange | None = None, *, confirm: str | None = None, verify: bool = True
    ) -> AsyncIterator[VerbEvent]:
        """Start it; the last event is `done`. Refusals raise K2Error before anything was done."""
        return self._told(name, self._verbs(name).start(self.plan(name, change), confirm=confirm, verify=verify))

    def restart(
        self, name: str, change: ProfileChange | None = None, *, confirm: str | None = None, verify: bool = True
    ) -> AsyncIterator[VerbEvent]:
        """Stop it if it runs, then start it."""
        return self._told(name, self._verbs(name).restart(self.plan(name, change), confirm=confirm, verify=verify))

    def stop(self, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]:
        """Stop it; done when no process of it is left."""
        run = self._watch(name).view.run
        due = self._confirm_sentence(name, live=run is not None and run.alive is True)
        return self._told(name, self._verbs(name).stop(confirm_needed=due, confirm=confirm))

    async def trust_host_key(self, node: str) -> None:
        """Trust the unknown key that this node offered; written to k2tui's own file."""
        room = self._room_named(node)
        fingerprint = room.link.state.fingerprint or ""
        await self.gate.change(
            room.link.trust_host_key, node=node, subject=node, action="trust-host-key", detail=fingerprint
        )
        room.watch.retry_now()

    def retry_now(self, node: str) -> None:
        """Try to reach the node at once."""
        self._room_named(node).watch.retry_now()

    def link(self, node: str) -> NodeLink:
        """The connection to a node, for plain commands that look at one thing."""
        return self._room_named(node).link

    def record(self, subject: str, text: str, severity: Severity = Severity.INFO) -> None:
        """Put an event on the list."""
        self.events.append(Event(self._doors.clock.time(), subject, text, severity))
        self.revision += 1

    def _room(self, node: NodeSettings) -> _Room:
        link = self._doors.make_link(node)
        clock = self._doors.clock

        def scan_changed() -> None:
            self._scan_changed(node.name)

        def node_changed() -> None:
            self._node_changed(node.name)

        keeper = RunKeeper(link, node, RunScripts(self._doors.script))
        return _Room(
            settings=node,
            link=link,
            watch=NodeWatch(link, self._doors.script("probe"), clock, node_changed, disks=node.disks),
            keeper=keeper,
            scan=RunScan(link, keeper, clock=clock, on_change=scan_changed),
        )

    def _server_watch(self, name: str) -> ServerWatch:
        server = self.settings.servers[name]
        room = self._rooms[server.node]

        def changed() -> None:
            self._server_changed(name)

        watch = ServerWatch(
            server,
            room.link,
            self._scripts,
            clock=self._doors.clock,
            log_now=lambda: self._log_now(room),
            manners=ProofManners(self.settings.probe_generate, self.settings.verify_max_s),
            on_change=changed,
            around=self._around,
            gpu_busy=lambda: busiest(room.watch.reading, server.gpus),
        )
        watch.api_key = self._api_key(server)
        return watch

    def _api_key(self, server: ServerSettings) -> str | None:
        """As the config has it; a profile that does not resolve says so when it is used."""
        if server.profile is None:
            return None
        try:
            return flag_value(resolve(self.settings, server.profile, server, None).argv, "api-key")
        except K2Error:
            return None

    def _log_now(self, room: _Room) -> float | None:
        """The node's log clock (naive local seconds); None until its probe told the offset."""
        offset = room.watch.reading.clock_offset_s
        return None if offset is None else self._doors.clock.time() + offset

    def _verbs(self, name: str) -> Verbs:
        room = self._room_of(name)
        return Verbs(
            watch=self._watch(name),
            scan=room.scan,
            keeper=room.keeper,
            gate=self.gate,
            clock=self._doors.clock,
            operator=self._doors.operator,
            verify_checks=self.settings.verify_checks,
            confirm_policy=room.settings.confirm,
        )

    async def _told(self, name: str, steps: AsyncIterator[VerbEvent]) -> AsyncIterator[VerbEvent]:
        """The same steps, the ones worth keeping also on the events list."""
        try:
            async for step in steps:
                event = self._server_tellers[name].of_verb(step)
                if event is not None:
                    self.record(*event)
                yield step
        except K2Error as error:
            self.record(name, str(error), Severity.BAD)
            raise

    def _confirm_sentence(self, name: str, *, live: bool) -> str | None:
        watch = self._watch(name)
        policy = self._room_of(name).settings.confirm
        if policy == "always":
            return f'confirm = "always" on {watch.settings.node}'
        running = None if watch.http is None else watch.http.running
        if policy == "busy" and live and running:
            return f"{running} running request(s) would be cut off"
        return None

    def _warnings(self, name: str) -> tuple[str, ...]:
        room = self._room_of(name)
        warnings = [f"{rival} runs on the same GPUs: stop it first" for rival in self._rivals(name)]
        if self._watch(name).api_key is not None:
            warnings.append(f"the API key stands in the command: every user of {room.settings.name} can read it in ps")
        if room.link.state.phase is not LinkPhase.UP:
            reason = room.link.state.reason or "not reached yet"
            warnings.append(f"{room.settings.name} is not connected: {reason}")
        return tuple(warnings)

    def _rivals(self, name: str) -> list[str]:
        """Other servers of the node that run now and share a GPU with this one."""
        own = self._watch(name).settings
        others = [watch.view for watch in self._watches.values() if watch.settings.name != name]
        return [
            other.settings.name
            for other in others
            if other.settings.node == own.node
            and set(other.settings.gpus) & set(own.gpus)
            and other.run is not None
            and other.run.alive
        ]

    def _watch(self, name: str) -> ServerWatch:
        if name not in self._watches:
            raise no_such("server", name, self._watches)
        return self._watches[name]

    def _room_of(self, name: str) -> _Room:
        return self._rooms[self._watch(name).settings.node]

    def _room_named(self, node: str) -> _Room:
        if node not in self._rooms:
            raise no_such("node", node, self._rooms)
        return self._rooms[node]

    def _is_settled(self, room: _Room) -> bool:
        if room.link.state.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED):
            return True
        if room.scan.problem is not None:
            return True
        watches = (watch for watch in self._watches.values() if watch.settings.node == room.settings.name)
        probed = room.watch.reading.host_at is not None
        scanned = room.scan.at is not None or not self._has_runs(room)
        return probed and scanned and all(watch.settled for watch in watches)

    def _has_runs(self, room: _Room) -> bool:
        """Some server of the node is k2tui's to start; where all are only watched there is nothing to scan for."""
        return any(
            server.node == room.settings.name and server.profile is not None
            for server in self.settings.servers.values()
        )

    async def _close_room(self, room: _Room) -> None:
        closers: tuple[Awaitable[None], ...] = (room.scan.close(), room.watch.close())
        await asyncio.gather(*closers, return_exceptions=True)
        await room.link.close()

    def _scan_changed(self, node: str) -> None:
        room = self._rooms[node]
        if room.scan.at is None or room.scan.problem is not None:
            return
        for watch in self._watches.values():
            if watch.settings.node == node:
                watch.take_runs(room.scan.runs, room.scan.at)

    def _node_changed(self, node: str) -> None:
        self.revision += 1
        event = self._node_tellers[node].of_link(self._rooms[node].link.state)
        if event is not None:
            self.record(*event)
            for watch in self._watches.values():
                if watch.settings.node == node:
                    watch.changed.set()  # a verb that waits for its server looks at the link too

    def _history_changed(self, name: str) -> None:
        self._watches[name].refresh()

    def _server_changed(self, name: str) -> None:
        self.revision += 1
        event = self._server_tellers[name].of_view(self._watches[name].view)
        if event is not None:
            self.record(*event)
