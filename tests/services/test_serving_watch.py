"""A server's HTTP side: which routes are asked and how often, and how a dead scheduler shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from k2tui.core.launch import Launch, Traffic
from k2tui.core.manners import Sight
from k2tui.core.measuring.pulse import DEAD_AFTER_S, HEARTBEAT_S
from k2tui.services import serving_watch
from k2tui.services.doors import HttpReply
from k2tui.services.serving_watch import ServingWatch
from tests.fakes.clock import FakeClock
from tests.fakes.web import Door, Engine, EngineLink, refused, reply, timeout

REPLIES = Path(__file__).parent.parent / "logs" / "replies"
PORT = 30000


@dataclass
class Stage:
    """One engine, looked at as time passes."""

    server: Engine = field(default_factory=Engine)
    engine: str = "sglang"
    sight: Sight = Sight.FOCUSED

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.link = EngineLink(self.server)
        self.watch = ServingWatch(
            self.link, engine=self.engine, clock=self.clock, sight=lambda: self.sight, on_change=lambda: None
        )

    async def look(self) -> list[str]:
        """Look now; the routes that were asked."""
        before = len(self.server.asked)
        await self.watch.look(PORT)
        return self.server.asked[before:]

    async def pass_time(self, seconds: float) -> list[tuple[float, str]]:
        """Let time pass a second at a time and look when it is due: (seconds passed, route)."""
        asked = []
        for passed in range(1, int(seconds) + 1):
            self.clock.now += 1.0
            if self.watch.is_due():
                asked += [(float(passed), path) for path in await self.look()]
        return asked


# which routes


async def test_loads_come_first_and_metrics_for_what_is_focused() -> None:
    stage = Stage(Engine(running=3, decoded=10.0))
    assert await stage.look() == ["/v1/loads", "/metrics"]
    reading = stage.watch.reading
    assert reading is not None
    assert (reading.source, reading.running, reading.waiting) == ("loads", 3, 0)


async def test_a_route_that_is_not_there_is_asked_once() -> None:
    stage = Stage(Engine(running=3))
    assert await stage.look() == ["/v1/loads", "/metrics"]
    stage.clock.now += 2
    assert await stage.look() == ["/v1/loads"]
    assert stage.watch.metrics is not None
    assert stage.watch.metrics.ok is None


async def test_another_run_may_have_them() -> None:
    stage = Stage(Engine(running=3))
    await stage.look()
    stage.watch.forget()
    stage.server.decoded = 1.0
    assert "/metrics" in await stage.look()


@pytest.mark.parametrize(
    ("gone", "asked", "source"),
    [
        (("/v1/loads",), ["/v1/loads", "/get_load"], "loads"),
        (("/v1/loads", "/get_load"), ["/v1/loads", "/get_load", "/metrics"], "metrics"),
    ],
)
async def test_an_old_version_is_asked_by_its_old_names(gone: tuple[str, ...], asked: list[str], source: str) -> None:
    stage = Stage(Engine(decoded=1.0))
    stage.server.routes["/get_load"] = reply([{"dp_rank": 0, "num_reqs": 2, "num_waiting_reqs": 1}])
    stage.server.routes.update(dict.fromkeys(gone, HttpReply(404, b"")))
    found = await stage.look()
    assert found[: len(asked)] == asked
    assert stage.watch.reading is not None
    assert stage.watch.reading.source == source


async def test_without_loads_and_metrics_server_info_tells_what_it_can() -> None:
    stage = Stage()
    stage.server.routes.update(dict.fromkeys(("/v1/loads", "/get_load"), HttpReply(404, b"")))
    assert (await stage.look())[-1] == "/server_info"
    assert stage.watch.reading is not None
    assert (stage.watch.reading.source, stage.watch.reading.capacity_tokens) == ("server_info", 8192)


async def test_vllm_is_asked_for_its_metrics() -> None:
    stage = Stage(engine="vllm")
    stage.server.routes["/metrics"] = HttpReply(200, (REPLIES / "vllm032-qwen3.metrics-loaded.txt").read_bytes())
    assert await stage.look() == ["/metrics"]
    assert stage.watch.reading is not None
    assert (stage.watch.reading.running, stage.watch.reading.capacity_tokens) == (0, 262144)


async def test_without_its_key_the_open_route_has_to_do() -> None:
    stage = Stage(Engine(decoded=1.0, running=2))
    stage.server.routes["/v1/loads"] = HttpReply(401, b"{}")
    assert await stage.look() == ["/v1/loads", "/metrics"]
    assert stage.watch.http is not None
    assert (stage.watch.http.ok, stage.watch.http.wants_key, stage.watch.http.running) == (True, True, 2)


async def test_the_key_goes_along() -> None:
    stage = Stage()
    await stage.watch.look(PORT, api_key="k-1")
    assert set(stage.server.keys) == {"Bearer k-1"}


async def test_one_client_serves_for_all_looks() -> None:
    stage = Stage(Engine(running=3))
    await stage.look()
    await stage.pass_time(60)
    assert stage.server.clients == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"null", b'{"loads": 3}', b"\xff\xfe"])
async def test_garbage_is_an_answer_without_figures(body: bytes) -> None:
    stage = Stage()
    stage.server.routes["/v1/loads"] = HttpReply(200, body)
    await stage.look()
    assert stage.watch.http is not None
    assert (stage.watch.http.ok, stage.watch.http.running) == (True, None)


# how often


@pytest.mark.parametrize("sight", list(Sight))
async def test_an_idle_server_gets_one_line_in_half_a_minute(sight: Sight) -> None:
    stage = Stage(Engine(decoded=0.0), sight=sight)
    await stage.look()
    asked = await stage.pass_time(240)
    assert [at for at, _ in asked] == [30.0 * turn for turn in range(1, 9)]
    routes = {path for _, path in asked}
    assert routes == ({"/v1/loads", "/metrics"} if sight is Sight.FOCUSED else {"/v1/loads"})


async def test_a_busy_one_is_asked_by_how_it_is_seen() -> None:
    stage = Stage(Engine(running=3))
    await stage.look()
    counts = {}
    for sight in Sight:
        stage.sight = sight
        await stage.pass_time(30)
        counts[sight] = len(await stage.pass_time(60))
    assert counts == {Sight.FOCUSED: 30, Sight.ON_SCREEN: 12, Sight.HIDDEN: 4, Sight.DETACHED: 2}


async def test_a_batch_line_after_the_look_makes_it_busy() -> None:
    stage = Stage()
    await stage.look()
    assert stage.watch.busy is False
    stage.clock.now += 10
    stage.watch.take_log(Launch(traffic=Traffic(running=3)), silent_s=1.0)
    assert stage.watch.busy is True
    assert stage.watch.is_due()


async def test_the_log_knows_the_capacity_where_no_route_does() -> None:
    stage = Stage()
    stage.watch.take_log(Launch(traffic=Traffic(running=3), kv_tokens=8192), silent_s=1.0)
    assert stage.watch.reading is not None
    assert (stage.watch.reading.source, stage.watch.reading.capacity_tokens) == ("log", 8192)


async def test_a_log_without_a_clock_is_no_sign_of_life() -> None:
    stage = Stage()
    stage.watch.take_log(Launch(traffic=Traffic(running=3)), silent_s=None)
    assert stage.watch.reading is None
    assert stage.watch.pulse.moved_at is None


async def test_a_long_idle_scheduler_is_asked_in_place_of_the_figures() -> None:
    stage = Stage()
    await stage.look()
    asked = await stage.pass_time(2 * HEARTBEAT_S + 60)
    questions = [at for at, path in asked if path == "/server_info"]
    assert len(questions) == 2
    assert not [path for at, path in asked if at in questions and path != "/server_info"]


# a scheduler that died


async def test_a_scheduler_that_stops_with_work_is_asked_and_found_silent() -> None:
    stage = Stage(Engine(running=3))
    await stage.look()
    await stage.pass_time(10)
    stage.server.alive = False
    asked = await stage.pass_time(10)
    assert stage.watch.scheduler is not None
    assert stage.watch.scheduler.ok is False
    assert next(at for at, path in asked if path == "/server_info") <= 6
    assert not stage.watch.is_dead(stage.clock.now)
    await stage.pass_time(DEAD_AFTER_S)
    assert stage.watch.is_dead(stage.clock.now)


async def test_requests_that_never_reach_the_scheduler_show_it_too() -> None:
    stage = Stage(Engine(decoded=5.0))
    await stage.look()
    stage.server.alive, stage.server.active = False, 2
    await stage.pass_time(60 + DEAD_AFTER_S)
    assert stage.watch.is_dead(stage.clock.now)


async def test_a_hidden_server_whose_log_falls_silent_in_its_work_is_looked_at() -> None:
    stage = Stage(Engine(running=3), sight=Sight.HIDDEN)
    await stage.look()
    stage.server.alive = False
    stage.clock.now += 1
    stage.watch.take_log(Launch(traffic=Traffic(running=3)), silent_s=0.0)
    asked = await stage.pass_time(10)
    assert "/server_info" in [path for _, path in asked]


async def test_a_slow_scheduler_that_answers_is_alive() -> None:
    stage = Stage(Engine(running=3))
    await stage.look()
    stage.server.routes["/v1/loads"] = stage.server.answer("/v1/loads")  # the same for ever
    asked = await stage.pass_time(120)
    questions = [at for at, path in asked if path == "/server_info"]
    assert 2 <= len(questions) <= 6
    assert not stage.watch.is_dead(stage.clock.now)


async def test_it_is_alive_again_once_it_moves() -> None:
    stage = Stage(Engine(running=3, alive=False))
    await stage.look()
    await stage.pass_time(60)
    assert stage.watch.is_dead(stage.clock.now)
    stage.server.alive = True
    await stage.pass_time(10)
    assert not stage.watch.is_dead(stage.clock.now)
    assert stage.watch.pulse.unanswered_since is None


async def test_a_dead_one_is_not_pestered() -> None:
    stage = Stage(Engine(running=3, alive=False), sight=Sight.HIDDEN)
    await stage.look()
    await stage.pass_time(60)
    assert len(await stage.pass_time(60)) <= 6


async def test_loads_that_go_through_the_scheduler_show_it_by_their_silence() -> None:
    """SGLang 0.5.8 to 0.5.17."""
    stage = Stage(Engine(running=3))
    await stage.look()
    stage.server.routes["/v1/loads"] = timeout("/v1/loads")
    stage.clock.now += 2
    assert await stage.look() == ["/v1/loads", "/v1/models"]
    assert stage.watch.http is not None
    assert (stage.watch.http.ok, stage.watch.http.says) == (True, "HTTP 200 from /v1/models")
    assert stage.watch.scheduler is not None


async def test_a_question_is_given_up_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_watch, "QUESTION_S", 0.01)
    stage = Stage(Engine(running=3))
    await stage.look()
    await stage.watch._question(Door(stage.server, hangs=True))
    assert stage.watch.pulse.unanswered_since == stage.clock.now


async def test_vllm_without_such_a_route_is_judged_by_time() -> None:
    stage = Stage(engine="vllm")
    stage.server.routes["/metrics"] = HttpReply(
        200, b"vllm:num_requests_running 2\nvllm:num_requests_waiting 0\nvllm:generation_tokens_total 9\n"
    )
    await stage.look()
    await stage.pass_time(DEAD_AFTER_S / 2)
    assert not stage.watch.is_dead(stage.clock.now)
    await stage.pass_time(DEAD_AFTER_S)
    assert stage.watch.is_dead(stage.clock.now)
    assert not set(stage.server.asked) & {"/health", "/health_generate"}


# an HTTP side that is gone


async def test_a_port_that_refuses_is_told() -> None:
    stage = Stage()
    stage.server.routes["/v1/loads"] = refused()
    await stage.look()
    assert stage.watch.http is not None
    assert (stage.watch.http.ok, stage.watch.http.listening) == (False, False)


async def test_what_answered_before_and_answers_no_more_is_dead_after_a_while() -> None:
    stage = Stage()
    await stage.look()
    stage.server.routes.update(dict.fromkeys(("/v1/loads", "/v1/models"), timeout("it")))
    await stage.pass_time(31)
    assert not stage.watch.is_dead(stage.clock.now)
    await stage.pass_time(DEAD_AFTER_S)
    assert stage.watch.is_dead(stage.clock.now)


async def test_what_never_answered_is_not_called_dead() -> None:
    """A port that can't be reached from the node itself, such as a container's."""
    stage = Stage()
    stage.server.routes.update(dict.fromkeys(("/v1/loads", "/v1/models"), timeout("it")))
    await stage.look()
    await stage.pass_time(120)
    assert not stage.watch.is_dead(stage.clock.now)


async def test_a_log_that_goes_on_outweighs_an_http_side_that_is_swamped() -> None:
    stage = Stage(Engine(running=3))
    await stage.look()
    stage.server.routes.update(dict.fromkeys(("/v1/loads", "/v1/models"), timeout("it")))
    for second in range(60):
        await stage.pass_time(1)
        stage.watch.take_log(Launch(traffic=Traffic(running=3), quiet_since=float(second)), silent_s=0.0)
    assert not stage.watch.is_dead(stage.clock.now)
