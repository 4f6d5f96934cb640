"""What the verbs on one server work with, and how their steps are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.foreign.owner import not_ours
from k2tui.core.launch import Launch
from k2tui.core.preflight import Preflight
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.verbs import LaunchPlan, ProfileChange, VerbEvent
from k2tui.services.doors import Clock
from k2tui.services.gate import Gate, Ongoing
from k2tui.services.run_scan import RunScan
from k2tui.services.runs import RunKeeper
from k2tui.services.server_watch import ServerWatch


@dataclass(frozen=True)
class Tools:
    """What the verbs on one server work with."""

    watch: ServerWatch
    scan: RunScan
    keeper: RunKeeper
    gate: Gate
    clock: Clock
    operator: str
    """user@host, written into the run."""
    plan: Callable[[ProfileChange], LaunchPlan]
    """What a start of this server would do now."""
    preflight: Callable[[LaunchPlan], Awaitable[Preflight]]
    """Look at what stands in the way of a launch."""
    remember: Callable[[Run], Awaitable[None]]
    """Keep a run on this side too."""
    verify_checks: str = "diff"
    """diff | all | none."""
    confirm_policy: str = "busy"
    """never | busy | always, of the node."""

    @property
    def settings(self) -> ServerSettings:
        """Of the server."""
        return self.watch.settings

    async def runs(self) -> tuple[Run, ...]:
        """The server's runs, newest first, the planned ones among them; looked at now."""
        return tuple(run for run in await self.scan.look() if run.server == self.settings.name)

    async def live_run(self) -> Run | None:
        """The server's run whose process lives, looked at now. K2Error where it is not k2tui's to change."""
        live = next((run for run in await self.runs() if run.alive), None)
        if live is None:
            self.own()
        return live

    def own(self) -> None:
        """Raise K2Error where somebody else started it, or where k2tui only reads its log."""
        found = self.watch.found_alive
        if found is not None:
            raise not_ours(found, self.settings.name)
        if self.settings.profile is None:
            raise watched_only(self.settings.name)

    async def look_again(self) -> None:
        """The newest truth of the node, when it can be had; an unreachable node leaves the old one."""
        try:
            self.watch.take_runs(await self.scan.look(), self.clock.monotonic())
        except K2Error:
            return

    async def why_confirm(self, live: Run | None) -> str | None:
        """Why a change of it needs a confirmation; None when it is idle, can't say, or the node wants none."""
        if self.confirm_policy == "always":
            return f'confirm = "always" on {self.settings.node}'
        busy = live is not None and self.confirm_policy == "busy"
        running = await self.watch.running_requests() if busy else None
        if not running:
            return None
        return f"{running} request{'s are' if running != 1 else ' is'} running and would be cut off"

    def check(self, action: str, confirm_needed: str | None, confirm: str | None) -> None:
        """Raise K2Error when the change may not happen: read-only, or a confirmation that is due and missing."""
        self.gate.check(
            node=self.settings.node,
            subject=self.settings.name,
            action=action,
            confirm_needed=confirm_needed,
            confirm=confirm,
        )

    @contextmanager
    def changing(self, action: str, detail: str) -> Iterator[Ongoing]:
        """A change of many steps: written down, said on screen, and its node looked at often."""
        name, node = self.settings.name, self.settings.node
        with self.gate.changing(node=node, subject=name, action=action, detail=detail) as ongoing, self.hurried():
            yield ongoing

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Its node is looked at often; afterwards nothing is being done to it."""
        with self.scan.changing():
            try:
                yield
            finally:
                self.watch.mark(None)


class Teller:
    """Makes the events of one verb; times are from its start."""

    def __init__(self, server: str, clock: Clock) -> None:
        self._server, self._clock = server, clock
        self._began = clock.monotonic()

    def event(
        self, kind: str, text: str, data: Mapping[str, object] | None = None, *, launch: Launch | None = None
    ) -> VerbEvent:
        """One step; `data` is for programs."""
        return VerbEvent(kind, self._server, self._elapsed_s, text, launch, data or {})

    def done(self, code: ExitCode, text: str, data: Mapping[str, object] | None = None) -> VerbEvent:
        """The last one."""
        return VerbEvent("done", self._server, self._elapsed_s, text, None, data or {}, exit_code=code)

    @property
    def _elapsed_s(self) -> float:
        return round(self._clock.monotonic() - self._began, 3)


def watched_only(server: str) -> K2Error:
    """What is known by its log alone can't be started, stopped or planned."""
    return K2Error(
        f"{server} is only watched: k2tui did not start it and has no profile for it",
        code="watched_only",
        subject=server,
        hint=f"give it a profile in [servers.{server}]",
        exit_code=ExitCode.USAGE,
    )
