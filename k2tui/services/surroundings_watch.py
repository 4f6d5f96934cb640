"""What is known of one server's launch beside its log: its weight files, earlier launches, what moves on its node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from k2tui.core.checkpoint import Checkpoint
from k2tui.core.events import Severity
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.link import LinkPhase
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.surroundings import Surroundings
from k2tui.services.activity_watch import ActivityWatch, activity_script
from k2tui.services.checkpoint_look import look
from k2tui.services.doors import Clock, NodeLink, Script
from k2tui.services.launch_history import LaunchMemory, LaunchSeen
from k2tui.services.tasks import ended

TRIES = 3
"""How often a look at the weight files is begun again after a lost connection."""
AGAIN_S = 60.0
"""Between two looks at files with troubles: somebody may be mending them."""


class SurroundingScripts:
    """The scripts that looking around needs."""

    def __init__(self, script: Callable[[str], Script]) -> None:
        self.weights = script("weights")
        self.activity = activity_script(script)


@dataclass(frozen=True)
class Around:
    """What all servers of a fleet share for it."""

    scripts: SurroundingScripts
    memory: LaunchMemory
    tell: Callable[[str, str, Severity], None]
    """`tell(subject, sentence, severity)` puts an event on the list."""


class SurroundingsWatch:
    """`known` is what is known now; a look is taken only where a launch goes on."""

    def __init__(
        self,
        settings: ServerSettings,
        link: NodeLink,
        around: Around,
        *,
        clock: Clock,
        gpu_busy: Callable[[], float | None],
        on_change: Callable[[], None],
    ) -> None:
        self._settings, self._link, self._around = settings, link, around
        self._clock, self._gpu_busy, self._on_change = clock, gpu_busy, on_change
        self._activity = ActivityWatch(link, around.scripts.activity, clock=clock)
        self._checkpoint: Checkpoint | None = None
        self._subject: object = None
        """Which launch the checkpoint was looked at for."""
        self._tries = 0
        self._looked_at: float | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def known(self) -> Surroundings:
        """All of it, as it is now."""
        memory, name = self._around.memory, self._settings.name
        return Surroundings(self._checkpoint, memory.past(name), memory.key(name), self._activity.moving)

    @property
    def busy(self) -> bool:
        """The weight files are being looked at."""
        return self._looking is not None and not self._looking.done()

    def consider(
        self, launch: Launch, run: Run | None, *, log_path: str | None, whole: bool, log_now: float | None
    ) -> None:
        """Take the launch as it is now, once a second: look at what is due. `whole`: no byte of its log was skipped."""
        loads = launch.kind is LaunchKind.LOADING and launch.phase.order < LaunchPhase.KV_CACHE.order
        subject = _subject_of(launch, run, log_path)
        if subject != self._subject:
            self._subject, self._checkpoint, self._tries = subject, None, 0
        if loads and self._is_due() and self._may_look(launch, run):
            self._tries, self._looked_at = self._tries + 1, self._clock.monotonic()
            self._looking = asyncio.ensure_future(self._look(launch, run, subject))
        now = None if log_now is None else log_now - launch.clock_ahead_s
        self._activity.consider(run, launch, now, self._gpu_busy())
        self._around.memory.look(
            LaunchSeen(
                self._settings.name,
                self._settings.node,
                launch,
                run,
                log_path=log_path,
                whole=whole,
                checkpoint=self._checkpoint,
                log_now=log_now,
            )
        )

    async def close(self) -> None:
        """Look no more."""
        await ended(self._looking)
        await self._activity.close()

    def _is_due(self) -> bool:
        if self._checkpoint is None:
            return self._tries < TRIES
        waited = self._looked_at is None or self._clock.monotonic() - self._looked_at >= AGAIN_S
        return bool(self._checkpoint.troubles) and waited

    def _may_look(self, launch: Launch, run: Run | None) -> bool:
        if self.busy or self._link.state.phase is not LinkPhase.UP:
            return False
        return bool(run.alive) if run is not None else "model_path" in launch.args

    async def _look(self, launch: Launch, run: Run | None, subject: object) -> None:
        argv, env = _command(launch, run)
        try:
            found = await look(self._link, self._around.scripts.weights, argv=argv, env=env, cwd=self._settings.cwd)
        except Exception:  # whatever it is: begun again, a few times; without it, progress is by count
            return
        if subject != self._subject:
            return
        self._tries = TRIES
        if found is None:
            return
        before = self._checkpoint
        if launch.phase.order >= LaunchPhase.WEIGHTS.order:  # by then the load itself has filled the page cache
            found = replace(found, cached_bytes=None if before is None else before.cached_bytes)
        self._checkpoint = found
        is_news = before is None or before.troubles != found.troubles
        if found.troubles and is_news and not _downloads(launch):
            from k2tui.core.telling import checkpoint_sentence  # noqa: PLC0415  seldom needed

            self._around.tell(self._settings.name, checkpoint_sentence(found), Severity.BAD)
        self._on_change()


def _subject_of(launch: Launch, run: Run | None, log_path: str | None) -> object:
    """Which launch it is: a run by its id, one in a log that is only watched by its begin and its model."""
    if run is not None:
        return log_path, run.run_id
    began = launch.spans[0].began if launch.spans else None
    return log_path, began, launch.args.get("model_path")


def _command(launch: Launch, run: Run | None) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command that loads the weights; of a log that is only watched, what its arguments say."""
    if run is not None:
        return run.argv, dict(run.env)
    args = launch.args
    argv = ["serve", "--model-path", args["model_path"]]
    if (load_format := args.get("load_format", "auto")) != "auto":
        argv += ["--load-format", load_format]
    return tuple(argv), {}


def _downloads(launch: Launch) -> bool:
    """The engine fetches the files itself just now: what is missing is on its way."""
    return any(
        bar.progress.label.startswith("Fetching") and bar.progress.done < bar.progress.total for bar in launch.bars
    )
