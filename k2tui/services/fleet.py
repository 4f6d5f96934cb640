"""All nodes and servers of a config, watched; the surface that screens and plain commands use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from k2tui.core.absence import Absence
from k2tui.core.alerts import Alert
from k2tui.core.errors import ExitCode, K2Error, no_such
from k2tui.core.events import Severity
from k2tui.core.flags import flag_value
from k2tui.core.link import LinkPhase
from k2tui.core.manners import sight_of
from k2tui.core.pace import Shown
from k2tui.core.profiles import resolve
from k2tui.core.readings import busiest
from k2tui.core.ring import LineRing
from k2tui.core.series import Annotation, Samples, SeriesKey, node_subject, server_subject
from k2tui.core.settings import NodeSettings, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import VerbEvent
from k2tui.core.views import NodeView, ServerView
from k2tui.services.alarm import CommandRunner
from k2tui.services.changes import ChangeDoors, Changes
from k2tui.services.chronicle import Chronicle, Looked, PastStore
from k2tui.services.doors import (
    Audit,
    BenchHistory,
    BuildHistory,
    Clock,
    ConfigWriter,
    HttpDoor,
    LaunchHistory,
    NodeLink,
    RunHistory,
    Script,
)
from k2tui.services.fleet_benches import BenchParts, FleetBenches
from k2tui.services.fleet_events import NodeTeller, ServerTeller, Shape, node_shape, server_shape
from k2tui.services.fleet_verbs import FleetVerbs
from k2tui.services.found_places import FoundPlaces
from k2tui.services.gate import Gate
from k2tui.services.gpu_details import gpu_details
from k2tui.services.launch_history import LaunchMemory
from k2tui.services.log_watch import LogScripts
from k2tui.services.old_runs import OldRuns
from k2tui.services.pacing import PacedNode, Pacer
from k2tui.services.proofs import ProofScripts
from k2tui.services.rooms import Furniture, Room
from k2tui.services.server_watch import ProofManners, ServerWatch
from k2tui.services.surroundings_watch import Around, SurroundingScripts
from k2tui.services.tasks import ended
from k2tui.services.watched_benches import WatchedBenches

LOOK_S = 2.0
"""Between two looks at everything: what is remembered and what raises an alert."""


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
    past: PastStore | None
    """Where readings, events and alerts are; None: nowhere."""
    alert_runner: CommandRunner | None
    """Runs the operator's command for an alert."""
    operator: str
    """user@host of the person at the keyboard."""
    builds: BuildHistory | None = None
    """Where what engines accept is remembered; None: it is read again each time."""
    kept_runs: RunHistory | None = None
    """Where runs are remembered that their node threw away; None: nowhere."""
    config: ConfigWriter | None = None
    """Writes the operator's own config; None: it is not to be written."""
    benches: BenchHistory | None = None
    """Where benchmarks and series are remembered; None: nowhere."""
    ask_url: Callable[[str], HttpDoor] | None = None
    """A client of the server at a base URL; None: what is known by its URL alone is not asked what it is."""


class Fleet(FleetVerbs, FleetBenches):
    """Watches everything of a config, and holds the verbs."""

    def __init__(self, settings: Settings, doors: FleetDoors, *, simulated: bool = False) -> None:
        self.settings = settings
        self.simulated = simulated
        self.revision = 0
        """Grows with every change of any view or event; never with log lines."""
        self.news = 0
        """Grows with what an operator waits for: a state that changed, an event, an alert."""
        self._shapes: dict[str, Shape] = {}
        self.gate = Gate(doors.audit, read_only=settings.read_only)
        self._doors = doors
        self._scripts, self._proof_scripts = LogScripts(doors.script), ProofScripts(doors.script)
        self._chronicle = Chronicle(
            doors.past,
            settings.alerts,
            clock=doors.clock,
            log_since=doors.script("log_since"),
            runner=doors.alert_runner,
            on_change=self._changed,
        )
        self.events = self._chronicle.events
        self._memory = LaunchMemory(doors.history, clock=doors.clock, tell=self.record, on_change=self._history_changed)
        self._around = Around(SurroundingScripts(doors.script), self._memory, self.record)
        furniture = Furniture(
            doors.make_link,
            doors.script,
            doors.clock,
            self._scan_changed,
            self._node_changed,
            self._processes_looked_at,
            lambda: self.settings.servers,
        )
        started = {server.node for server in settings.servers.values() if server.profile is not None}
        self._rooms = {
            name: furniture.furnished(node, has_runs=name in started) for name, node in settings.nodes.items()
        }
        self._known_benches: dict[str, WatchedBenches] = {}
        self._watches = {name: self._server_watch(server) for name, server in settings.servers.items()}
        self._node_tellers = {name: NodeTeller(name) for name in self._rooms}
        self._server_tellers = {name: ServerTeller(name) for name in self._watches}
        self._changes = Changes(
            lambda: self.settings,
            self._rooms,
            self._watches,
            ChangeDoors(
                self.gate, doors.script, doors.clock, doors.operator, doors.builds, doors.kept_runs, doors.config
            ),
            configured=self._configured,
        )
        self._bench_parts = BenchParts(
            lambda: self.settings,
            self._rooms,
            self._watches,
            self._changes,
            self.gate,
            doors,
            self.record,
            self._told,
            self._memory.past,
            self._known_benches,
        )
        self._found = FoundPlaces(lambda: self.settings)
        self._pacer = Pacer(
            {name: PacedNode(room.watch, room.scan, room.found) for name, room in self._rooms.items()},
            clock=doors.clock,
        )
        self._looking: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._old_runs = OldRuns(doors.script("read"), doors.script("log_size"))
        self._opened = False

    def nodes(self) -> tuple[NodeView, ...]:
        """All nodes, in the config's order."""
        return tuple(room.view for room in self._rooms.values())

    def servers(self) -> tuple[ServerView, ...]:
        """All servers: those of the config in its order, then what somebody else started."""
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

    async def attend(self) -> None:
        """An operator sits in front of it: watch, remember, alert. Returns at once; a plain command only opens."""
        await self.open()
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look_all_the_time())

    async def open(self) -> None:
        """Start to watch; returns at once."""
        if self._opened:
            return
        self._opened = True
        for room in self._rooms.values():
            room.start()
        for watch in self._watches.values():
            watch.start()

    async def close(self) -> None:
        """Watch no more. What runs on the nodes runs on."""
        await ended(self._looking)
        await self._end_benches()
        await self._pacer.close()
        await asyncio.gather(*(watch.close() for watch in self._watches.values()), return_exceptions=True)
        await asyncio.gather(*(room.close() for room in self._rooms.values()), return_exceptions=True)
        await asyncio.gather(*self._closing, return_exceptions=True)
        await self._old_runs.close()
        await self._chronicle.close()
        await self._memory.close()
        await self._doors.close()

    async def settle(self, names: Iterable[str] | None = None, *, limit_s: float = 30.0) -> None:
        """Wait until each of these nodes was looked at, or is known to be out of reach."""
        rooms = [self._rooms[name] for name in (names or self._rooms)]
        end = self._doors.clock.monotonic() + limit_s
        while self._doors.clock.monotonic() < end and not all(self._is_settled(room) for room in rooms):
            await self._doors.clock.sleep(0.05)

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

    def look_at(self, shown: Shown) -> None:
        """What is on screen is looked at often, the rest less."""
        self._pacer.look_at(shown)

    def recent(self, key: SeriesKey, span_s: float) -> Samples | None:
        """The newest readings of this session, from memory."""
        return self._chronicle.recorder.recent(key, span_s)

    async def past(self, keys: Sequence[SeriesKey], since: float, until: float, steps: int) -> tuple[Samples, ...]:
        """Readings between two unix times, one `Samples` a key, all on one time axis."""
        return await self._chronicle.recorder.past(keys, since, until, steps)

    async def annotations(self, since: float, until: float) -> tuple[Annotation, ...]:
        """Restarts, ends and alerts between two unix times, oldest first."""
        return self._chronicle.annotations(since, until)

    def alerts(self) -> Sequence[Alert]:
        """Alerts that hold, and the newest of those that ended; newest first."""
        return self._chronicle.alarm.alerts()

    async def kept_alerts(self) -> Sequence[Alert] | None:
        """For a plain command: alerts as the k2tui that an operator has open keeps them; None where none is open."""
        return await self._chronicle.alarm.kept(self.nodes(), self.servers())

    def acknowledge(self, alert: Alert) -> None:
        """The operator has seen it."""
        self._chronicle.alarm.acknowledge(alert)

    def on_alert(self, hear: Callable[[Sequence[Alert]], None]) -> None:
        """Call `hear` with what was raised and should be heard."""
        self._chronicle.alarm.on_raise = hear

    def absence(self) -> Absence | None:
        """What happened while nobody looked."""
        return self._chronicle.absence

    async def gpu_details(self, node: str) -> Sequence[str]:
        """Topology, link traffic and errors of a node's GPUs, asked now."""
        room = self._room_named(node)
        trouble = room.watch.reading.gpus_trouble
        if trouble is not None:  # a second nvidia-smi would hang as well
            raise K2Error(f"{node}: {trouble}", code="gpus", subject=node, hint="the node's rows say since when")
        return await gpu_details(room.link, self._doors.script("gpu_details"))

    def link(self, node: str) -> NodeLink:
        """The connection to a node, for plain commands that look at one thing."""
        return self._room_named(node).link

    def record(self, subject: str, text: str, severity: Severity = Severity.INFO) -> None:
        """Put an event on the list."""
        self._chronicle.record(subject, text, severity)

    def _server_watch(self, server: ServerSettings) -> ServerWatch:
        name = server.name
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
            sight=lambda: sight_of(self._pacer.shown or Shown(servers=frozenset([name])), server=name),
            proof_scripts=self._proof_scripts,
        )
        watch.api_key = self._api_key(server)
        watch.benches = self._known_benches.setdefault(name, WatchedBenches())
        return watch

    def _api_key(self, server: ServerSettings) -> str | None:
        """As the config has it; a profile that does not resolve says so when it is used."""
        if server.profile is None:
            return None
        try:
            return flag_value(resolve(self.settings, server.profile, server, None).argv, "api-key")
        except K2Error:
            return None

    def _log_now(self, room: Room) -> float | None:
        """The node's log clock (naive local seconds); None until its probe told the offset."""
        offset = room.log_offset_s
        return None if offset is None else self._doors.clock.time() + offset

    def _configured(self, server: ServerSettings | None, profile: ProfileSettings) -> None:
        """The config has these from now on: what is planned next, and what is watched under that name, follows it."""
        settings = replace(self.settings, profiles={**self.settings.profiles, profile.name: profile})
        self.settings = settings
        if server is None:
            return
        self.settings = replace(settings, servers={**settings.servers, server.name: server})
        old = self._watches.get(server.name)
        watch = self._watches[server.name] = self._server_watch(server)
        self._server_tellers.setdefault(server.name, ServerTeller(server.name))
        if old is not None:
            self._let_go(old)
        watch.start()
        self._rooms[server.node].begin_runs()
        self._scan_changed(server.node)
        self._changed()

    def _let_go(self, watch: ServerWatch) -> None:
        task = asyncio.ensure_future(watch.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _tell_step(self, name: str, step: VerbEvent) -> None:
        event = self._server_tellers[name].of_verb(step)
        if event is not None:
            self.record(*event)

    def _watch(self, name: str) -> ServerWatch:
        if name not in self._watches:
            raise no_such("server", name, self._watches)
        return self._watches[name]

    def _room_of(self, name: str) -> Room:
        return self._rooms[self._watch(name).settings.node]

    def _room_named(self, node: str) -> Room:
        if node not in self._rooms:
            raise no_such("node", node, self._rooms)
        return self._rooms[node]

    def _is_settled(self, room: Room) -> bool:
        watches = (watch for watch in self._watches.values() if watch.settings.node == room.settings.name)
        unreached = room.link.state.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED) or room.scan.problem is not None
        return room.is_looked_at and (unreached or all(watch.settled for watch in watches))

    def _scan_changed(self, node: str) -> None:
        room = self._rooms[node]
        if room.scan.at is None or room.scan.problem is not None:
            return
        for watch in self._watches.values():
            if watch.settings.node == node:
                watch.take_runs(room.scan.runs, room.scan.at)

    def _node_changed(self, node: str) -> None:
        self.revision += 1
        self._is_news(node_subject(node), node_shape(self._rooms[node].view))
        event = self._node_tellers[node].of_link(self._rooms[node].link.state)
        if event is not None:
            self.record(*event)
            for watch in self._watches.values():
                if watch.settings.node == node:
                    watch.changed.set()  # a verb that waits for its server looks at the link too

    def _processes_looked_at(self, node: str) -> None:
        """Attach what runs there to the servers of the config that it is, and watch the rest beside them."""
        room = self._rooms[node]
        if room.found.at is None:
            return
        watches = [watch for watch in self._watches.values() if watch.settings.node == node]
        busy = {watch.settings.name for watch in watches if watch.view.run is not None and watch.view.run.alive}
        placed = self._found.place(node, room.found.servers, room.found.at, busy=busy)
        for name, found in placed.items():
            if name not in self._watches:
                watch = self._watches[name] = self._server_watch(self._found.settings_of(name, node, found))
                self._server_tellers[name] = ServerTeller(name)
                watch.start()
                self._changed()
            self._watches[name].api_key = self._watches[name].api_key or found.api_key
            self._watches[name].take_found(found, room.found.at)
        for name in self._found.left(node, placed):
            self._watches[name].take_found(None, room.found.at)
        for watch in self._watches.values():
            if watch.settings.node == node:
                watch.take_processes(room.found.processes, room.found.at)

    def _forget_gone(self) -> None:
        """What somebody else started and ended a while ago is no longer listed."""
        for name in self._found.forgotten(self._doors.clock.monotonic()):
            self._let_go(self._watches.pop(name))
            del self._server_tellers[name]
            self._changed()

    async def _look_all_the_time(self) -> None:
        self._chronicle.open()
        while True:
            await self._doors.clock.sleep(LOOK_S)
            self._forget_gone()
            self._recall_benches()
            links = {name: room.link for name, room in self._rooms.items()}
            self._chronicle.look(Looked(self.nodes(), self.servers(), links))

    def _changed(self) -> None:
        self.revision += 1
        self.news += 1

    def _history_changed(self, name: str) -> None:
        self._watches[name].refresh()

    def _is_news(self, subject: str, shape: Shape) -> None:
        if self._shapes.get(subject) != shape:
            self._shapes[subject] = shape
            self.news += 1

    def _server_changed(self, name: str) -> None:
        self.revision += 1
        self._is_news(server_subject(name), server_shape(self._watches[name].view))
        event = self._server_tellers[name].of_view(self._watches[name].view)
        if event is not None:
            self.record(*event)
