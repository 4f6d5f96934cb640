"""One server that is watched: who is believed when its witnesses disagree, and faults of our own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.clock import log_clock
from k2tui.core.events import Severity
from k2tui.core.launch import LaunchKind
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.views import ServerStatus
from k2tui.services import server_watch
from k2tui.services.doors import RealClock
from k2tui.services.launch_history import LaunchMemory
from k2tui.services.log_watch import LogScripts
from k2tui.services.server_watch import ProofManners, ServerWatch
from k2tui.services.surroundings_watch import Around, SurroundingScripts
from tests.fakes.log_link import LogLink
from tests.waiting import until

TEN = log_clock("2026-11-29 10:00:00")
MODEL = "models/tiny-qwen3-64shards"
SILENT = "".join(
    f"[2026-11-29 {clock}] {message}\n"
    for clock, message in (
        ("09:58:00", f"server_args=ServerArgs(model_path='{MODEL}', tp_size=1, port=30000)"),
        ("09:59:00", "The server is fired up and ready to roll!"),
        ("10:00:00", "Decode batch, #running-req: 3, #token: 9, token usage: 0.5, gen throughput (token/s): 9.0"),
        ("10:00:00", "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds."),
    )
)
RUN = Run("kimi", "20261129T095800Z-0001", "/runs/1", alive=True, argv=("serve", "--model-path", MODEL), port=30000)


@dataclass
class Stage:
    """A server whose log fell silent at ten o'clock, looked at an hour later."""

    link: LogLink
    manners: ProofManners = field(default_factory=lambda: ProofManners("on-doubt", 5.0))
    told: list[tuple[str, str, Severity]] = field(default_factory=list)
    log_now: float = TEN + 3600

    def __post_init__(self) -> None:
        clock = RealClock()
        memory = LaunchMemory(None, clock=clock, tell=self._tell, on_change=lambda _: None)
        self.watch = ServerWatch(
            ServerSettings("kimi", "gpu-a", port=30000, profile="reason"),
            self.link,
            LogScripts(script),
            clock=clock,
            log_now=lambda: self.log_now,
            manners=self.manners,
            on_change=lambda: None,
            around=Around(SurroundingScripts(script), memory, self._tell),
            gpu_busy=lambda: None,
        )

    def _tell(self, subject: str, sentence: str, severity: Severity) -> None:
        self.told.append((subject, sentence, severity))

    def start(self) -> None:
        self.watch.start()
        self.watch.take_runs((RUN,), RealClock().monotonic())

    @property
    def status(self) -> ServerStatus:
        return self.watch.view.status

    def says(self, witness: str) -> str:
        return next((one.says for one in self.watch.view.witnesses if one.name == witness), "")


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setattr(server_watch, "TICK_S", 0.02)
    monkeypatch.setattr(server_watch, "HTTP_PERIOD_S", 0.1)
    stage = Stage(LogLink(SILENT.encode()))
    yield stage
    await stage.watch.close()


async def test_a_silent_log_whose_server_answers_nothing_is_hung(stage: Stage) -> None:
    stage.start()
    await until(lambda: stage.watch.view.proof is not None)
    assert stage.status is ServerStatus.HUNG
    assert stage.says("log") == "followed"


async def test_a_completion_wins_over_a_silent_log(stage: Stage) -> None:
    stage.link.web.completes()
    stage.start()
    await until(lambda: stage.status is ServerStatus.READY)
    launch = stage.watch.view.launch
    assert launch is not None
    assert (launch.kind, launch.cause, launch.silence) == (LaunchKind.READY, None, None)
    assert stage.says("log") == "silent as if it hung, but the server answers"
    assert not stage.watch.view.advice


async def test_a_server_that_is_well_and_idle_by_http_is_not_hung(stage: Stage) -> None:
    stage.watch._manners = ProofManners("never", 5.0)
    stage.link.web.is_idle()
    stage.start()
    await until(lambda: stage.watch.http is not None)
    await until(lambda: stage.status is ServerStatus.UNPROVED)
    assert "/v1/chat/completions" not in stage.link.web.asked
    stage.link.web.is_idle(running=3)
    await until(lambda: stage.status is ServerStatus.HUNG)


async def test_a_completion_that_fails_wins_over_http(stage: Stage) -> None:
    stage.link.web.is_idle()
    stage.start()
    await until(lambda: stage.watch.view.proof is not None and stage.watch.http is not None)
    assert stage.status is ServerStatus.HUNG


async def test_a_fault_of_ours_is_told_once_and_the_watch_goes_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.link.web.completes()
    calls = 0

    def broken(**_: object) -> ServerStatus:
        nonlocal calls
        calls += 1
        raise ZeroDivisionError("by zero")

    with monkeypatch.context() as patch:
        patch.setattr(server_watch, "server_status", broken)
        stage.start()
        await until(lambda: calls > 5)
    assert stage.told == [("kimi", "its state could not be worked out here: ZeroDivisionError: by zero", Severity.BAD)]
    await until(lambda: stage.status is ServerStatus.READY)


async def test_a_log_that_could_not_be_read_here_is_a_witness_and_an_event(stage: Stage) -> None:
    stage.link.web.completes()
    stage.start()
    await until(lambda: stage.status is ServerStatus.READY)
    log = stage.watch._log
    assert log is not None
    log._failed(ValueError("no date"))
    sentence = "log /runs/1/log could not be read here: ValueError: no date"
    await until(lambda: stage.told)
    assert stage.told == [("kimi", sentence, Severity.BAD)]
    assert stage.says("log") == sentence
