"""A server whose log fell silent, for the tests of its watch."""

from __future__ import annotations

from dataclasses import dataclass, field

from k2tui.adapters.scripts import script
from k2tui.core.clock import log_clock
from k2tui.core.events import Severity
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.views import ServerStatus
from k2tui.services.doors import HttpDoor, RealClock
from k2tui.services.launch_history import LaunchMemory
from k2tui.services.log_watch import LogScripts
from k2tui.services.proofs import ProofScripts
from k2tui.services.server_watch import ProofManners, ServerWatch
from k2tui.services.surroundings_watch import Around, SurroundingScripts
from tests.fakes.log_link import LogLink
from tests.fakes.web import Door, Engine

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
    settings: ServerSettings = ServerSettings("kimi", "gpu-a", port=30000, profile="reason")
    job_running: bool = False
    proof_scripts: ProofScripts | None = None

    def __post_init__(self) -> None:
        clock = RealClock()
        memory = LaunchMemory(None, clock=clock, tell=self._tell, on_change=lambda _: None)
        self.watch = ServerWatch(
            self.settings,
            self.link,
            LogScripts(script),
            clock=clock,
            log_now=lambda: self.log_now,
            manners=self.manners,
            on_change=lambda: None,
            around=Around(SurroundingScripts(script), memory, self._tell),
            gpu_busy=lambda: None,
            job_running=lambda: self.job_running,
            proof_scripts=self.proof_scripts,
        )

    def _tell(self, subject: str, sentence: str, severity: Severity) -> None:
        self.told.append((subject, sentence, severity))

    def start(self, run: Run = RUN) -> None:
        self.watch.start()
        self.watch.take_runs((run,), RealClock().monotonic())

    @property
    def status(self) -> ServerStatus:
        return self.watch.view.status

    def says(self, witness: str) -> str:
        return next((one.says for one in self.watch.view.witnesses if one.name == witness), "")


@dataclass
class EngineLogLink(LogLink):
    """A node with one log and one engine."""

    engine: Engine = field(default_factory=Engine)

    def http(self, port: int, *, timeout_s: float = 10.0) -> HttpDoor:
        return Door(self.engine)
