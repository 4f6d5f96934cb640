"""One server, several witnesses: zombies, contradictions, figures, and servers that somebody else started."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.measuring import pulse
from k2tui.core.runs import ProcessIdentity
from k2tui.core.settings import ServerSettings
from k2tui.core.views import ServerStatus
from k2tui.services import server_watch, serving_watch
from k2tui.services.doors import HttpReply, RealClock
from k2tui.services.server_watch import ProofManners
from tests.fakes.web import Engine, refused
from tests.services.server_stage import MODEL, RUN, SILENT, TEN, EngineLogLink, Stage
from tests.waiting import until

SESSION = 700
LIVE = replace(RUN, session_id=SESSION)
BUSY = "".join(SILENT.splitlines(keepends=True)[:3])
"""Ready, and a batch line: nothing of a health check that failed."""


class Scene(Stage):
    """A stage with an engine behind it."""

    link: EngineLogLink

    @property
    def engine(self) -> Engine:
        return self.link.engine

    @property
    def disagreement(self) -> str | None:
        return self.watch.view.disagreement


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    monkeypatch.setattr(server_watch, "TICK_S", 0.02)
    monkeypatch.setattr(serving_watch, "http_period_s", lambda *_, **__: 0.05)
    monkeypatch.setattr(pulse, "DOUBT_AFTER_S", 0.2)
    scene = Scene(EngineLogLink(BUSY.encode()), log_now=TEN + 1)
    yield scene
    await scene.watch.close()


def process(title: str, pid: int = 701, session: int = SESSION) -> NodeProcess:
    return NodeProcess(ProcessIdentity("boot", pid, 1), 700, session, "root", title)


def schedulers(*ranks: int) -> Sequence[NodeProcess]:
    titles = [*(f"sglang::scheduler_TP{rank}" for rank in ranks), "sglang::detokenizer"]
    return [process(title, 701 + place) for place, title in enumerate(titles)]


def now() -> float:
    return RealClock().monotonic()


# figures


async def test_the_view_has_the_figures_of_a_server_that_serves(scene: Scene) -> None:
    scene.engine.running, scene.engine.waiting = 5, 2
    scene.start(LIVE)
    await until(lambda: scene.watch.view.serving is not None and scene.watch.view.serving.source == "loads")
    serving = scene.watch.view.serving
    assert serving is not None
    assert (serving.running, serving.waiting) == (5, 2)
    assert await scene.watch.running_requests() == 5


async def test_every_witness_stands_beside_the_others(scene: Scene) -> None:
    scene.engine.completes()
    scene.engine.running, scene.engine.decoded = 3, 5.0
    scene.start(LIVE)
    scene.watch.take_processes(schedulers(0, 1), now())
    await until(lambda: scene.status is ServerStatus.READY and scene.says("metrics"))
    names = {witness.name: witness.ok for witness in scene.watch.view.witnesses}
    assert names == dict.fromkeys(("process", "port", "log", "heartbeat", "http", "metrics", "completion"), True)
    assert scene.says("process") == "alive, 2 schedulers"
    assert scene.says("port") == "30000 is open"
    assert scene.says("heartbeat") == "3 running"
    assert scene.disagreement is None


# zombies


async def test_a_scheduler_that_is_gone_while_http_answers_is_a_zombie(scene: Scene) -> None:
    scene.engine.completes()
    scene.start(LIVE)
    scene.watch.take_processes(schedulers(0, 1), now())
    await until(lambda: scene.status is ServerStatus.READY)
    scene.watch.take_processes(schedulers(0), now())
    assert scene.status is ServerStatus.HUNG
    assert scene.says("process") == "alive, 1 of 2 schedulers left"
    assert scene.disagreement == "HTTP answers, but 1 of its 2 scheduler processes is gone"
    scene.watch.take_processes([], now())
    assert scene.disagreement == "HTTP answers, but no scheduler process is left"


async def test_schedulers_of_another_session_are_not_its_own(scene: Scene) -> None:
    scene.start(LIVE)
    scene.watch.take_processes([process("sglang::scheduler", session=9)], now())
    assert "scheduler" not in scene.says("process")


async def test_a_new_run_begins_with_its_own_schedulers(scene: Scene) -> None:
    scene.start(LIVE)
    scene.watch.take_processes(schedulers(0, 1), now())
    scene.watch.attach(replace(LIVE, run_id="20261129T110000Z-0002"))
    scene.watch.take_processes(schedulers(0), now())
    assert scene.says("process") == "alive, 1 scheduler"


async def test_a_stopped_scheduler_is_named_and_then_called_hung(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTP answers, the process lives, the log ends as any busy log does."""
    monkeypatch.setattr(pulse, "DEAD_AFTER_S", 1.0)
    scene.engine.completes()
    scene.engine.running = 3
    scene.start(LIVE)
    await until(lambda: scene.status is ServerStatus.READY)
    scene.engine.alive = False
    await until(lambda: scene.disagreement is not None)
    assert scene.disagreement is not None
    assert scene.disagreement.startswith("HTTP answers, but its scheduler has answered nothing for ")
    assert scene.says("scheduler").startswith("no answer to /server_info")
    await until(lambda: scene.status is ServerStatus.HUNG)
    scene.engine.alive = True
    await until(lambda: scene.status is ServerStatus.READY)
    assert scene.disagreement is None


async def test_a_scheduler_that_does_not_answer_is_not_asked_for_a_completion(scene: Scene) -> None:
    scene.engine.running, scene.engine.alive = 3, False
    scene.watch._proving._tried_at = now()  # nothing is due for half a minute
    scene.start(LIVE)
    await until(lambda: scene.watch._serving.pulse.unanswered_since is not None)
    scene.watch._proving._tried_at = None
    assert not scene.watch._owes_proof()


async def test_a_port_that_refuses_while_the_log_says_ready_is_a_contradiction(scene: Scene) -> None:
    scene.engine.routes["/v1/loads"] = refused()
    scene.start(LIVE)
    await until(lambda: scene.disagreement is not None)
    assert scene.disagreement == "its log says ready and its process lives, but nothing listens on port 30000"
    assert scene.says("port") == "30000 refuses connections"


async def test_what_was_answered_by_a_process_that_is_gone_says_nothing(scene: Scene) -> None:
    scene.start(LIVE)
    await until(lambda: scene.watch.http is not None)
    scene.watch.take_runs((replace(LIVE, alive=False, exit_code=137),), now() + 1)
    assert scene.status is ServerStatus.CRASHED
    assert scene.disagreement is None
    assert scene.watch.view.serving is None


# servers that somebody else started

FOREIGN = ServerSettings("gpu-a:30000", "gpu-a", port=None)
FOUND = FoundServer(
    process=process("python -m sglang.launch_server", 900, session=900),
    engine="sglang",
    argv=("python", "-m", "sglang.launch_server", "--model-path", MODEL),
    port=31000,
    listening=True,
    log_note="its output goes to a terminal",
    workers=tuple(schedulers(0)),
)


@pytest.fixture
async def foreign(scene: Scene) -> AsyncIterator[Scene]:
    stage = Scene(EngineLogLink(BUSY.encode()), log_now=TEN + 1, settings=FOREIGN)
    yield stage
    await stage.watch.close()


async def test_a_found_server_without_a_log_is_known_by_http(foreign: Scene) -> None:
    foreign.watch._proving.manners = ProofManners("never", 5.0)
    foreign.watch.start()
    foreign.watch.take_found(replace(FOUND, listening=False), now())
    assert foreign.status is ServerStatus.LOADING
    await until(lambda: foreign.status is ServerStatus.UNPROVED)
    view = foreign.watch.view
    assert (view.found, view.run, view.launch, foreign.watch.port) == (
        replace(FOUND, listening=False),
        None,
        None,
        31000,
    )
    assert foreign.says("process") == "alive, pid 900, started by root, 1 scheduler"
    assert not set(foreign.engine.asked) & {"/v1/chat/completions", "/health"}


async def test_a_found_server_is_proved_on_doubt_as_any_other(foreign: Scene) -> None:
    foreign.engine.completes()
    foreign.watch.start()
    foreign.watch.take_found(FOUND, now())
    await until(lambda: foreign.status is ServerStatus.READY)


@pytest.mark.parametrize(("running", "env_unknown"), [(3, False), (0, True)])
async def test_somebody_elses_server_is_not_disturbed(foreign: Scene, running: int, env_unknown: bool) -> None:
    """It works for them, or nobody can see whether it captures what passes."""
    foreign.engine.completes()
    foreign.engine.running = running
    foreign.watch.start()
    foreign.watch.take_found(replace(FOUND, env_unknown=env_unknown), now())
    await until(lambda: foreign.status is ServerStatus.UNPROVED)
    await until(lambda: foreign.engine.asked.count("/v1/loads") > 3)
    assert "/v1/chat/completions" not in foreign.engine.asked


async def test_a_found_server_that_wants_a_key_is_left_unproved(foreign: Scene) -> None:
    foreign.engine.routes["/v1/loads"] = HttpReply(401, b"{}")
    foreign.watch.start()
    foreign.watch.take_found(FOUND, now())
    await until(lambda: foreign.status is ServerStatus.UNPROVED)
    assert not foreign.watch._owes_proof()


async def test_a_found_servers_log_is_followed_when_it_is_a_file(foreign: Scene) -> None:
    foreign.engine.completes()
    foreign.watch.start()
    foreign.watch.take_found(replace(FOUND, log="/var/log/sglang.log", log_note=None), now())
    await until(lambda: foreign.watch.view.launch is not None and foreign.watch.view.launch.spans)
    assert foreign.watch.view.log_path == "/var/log/sglang.log"
    await until(lambda: foreign.status is ServerStatus.READY)
    assert len(foreign.watch.ring) > 0


async def test_a_found_server_that_is_gone_is_down(foreign: Scene) -> None:
    foreign.watch.start()
    foreign.watch.take_found(FOUND, now())
    await until(lambda: foreign.watch.http is not None)
    foreign.watch.take_found(None, now() + 1)
    assert foreign.status is ServerStatus.DOWN
    assert foreign.says("process") == "gone, pid 900, started by root"
    assert foreign.disagreement is None


async def test_another_process_on_the_same_port_is_another_server(foreign: Scene) -> None:
    foreign.engine.completes()
    foreign.watch.start()
    foreign.watch.take_found(FOUND, now())
    await until(lambda: foreign.status is ServerStatus.READY)
    foreign.engine.routes.clear()
    other = replace(FOUND, process=replace(FOUND.process, identity=ProcessIdentity("boot", 950, 2)))
    foreign.watch.take_found(other, now())
    assert foreign.watch.view.proof is None
    assert foreign.status is ServerStatus.LOADING
