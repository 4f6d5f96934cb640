from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from k2tui.core.checkpoint import Checkpoint, Shard
from k2tui.core.events import Severity
from k2tui.core.launch import Launch, LaunchKind
from k2tui.core.runs import Run
from k2tui.services import launch_history
from k2tui.services.launch_history import RETRY_S, LaunchMemory, LaunchSeen
from tests.core.launches import BEGAN, KEY, TOOK, P, bar, launch, now_in, past
from tests.fakes.clock import FakeClock
from tests.fakes.history import MemoryHistory
from tests.waiting import until

ARGV = ("python3", "-m", "sglang.launch_server", "--model-path", KEY.model)


def run(number: int = 1) -> Run:
    return Run("kimi", f"20260528T00000{number}Z-00ff", "/runs/kimi/1", argv=ARGV, started_at=BEGAN + 100 * number)


@dataclass
class Stage:
    """A memory on a store in memory, with what it told."""

    store: MemoryHistory = field(default_factory=MemoryHistory)
    clock: FakeClock = field(default_factory=FakeClock)
    told: list[tuple[str, str, Severity]] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.memory = LaunchMemory(
            self.store,
            clock=self.clock,
            tell=lambda *event: self.told.append(event),
            on_change=self.changes.append,
        )

    async def see(
        self, of: Launch, *, of_run: Run | None = None, whole: bool = True, cached: float | None = None
    ) -> None:
        """The watch saw this; return when all that follows from it is done."""
        model = None if cached is None else Checkpoint("/m", (Shard("a", 100),), cached_bytes=round(100 * cached))
        self.memory.look(LaunchSeen("kimi", "gpu-a", of, of_run or run(), whole=whole, checkpoint=model))
        await self.idle()

    async def idle(self) -> None:
        await until(lambda: not self.memory.busy, "the memory's rest")

    def remember(self, count: int) -> None:
        """So many earlier launches, of the same flags, with a warm load of 9.4 s."""
        key = self.memory.key("kimi") or KEY
        self.store.launches += [past(n, key=key, cached_share=1.0, weights=9.4) for n in range(count)]

    @property
    def sentences(self) -> list[str]:
        return [text for _, text, _ in self.told]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    yield stage
    await stage.memory.close()


async def test_a_launch_is_recorded_once_when_it_is_ready(stage: Stage) -> None:
    for phase in (P.ARGS, P.WEIGHTS, P.WARMUP):
        await stage.see(launch(phase))
    assert stage.store.launches == []
    await stage.see(launch(P.READY))
    await stage.see(launch(P.SERVING))
    (kept,) = stage.store.launches
    assert (kept.run_id, kept.server, kept.kind, kept.began_at) == (run().run_id, "kimi", LaunchKind.READY, BEGAN + 100)
    assert kept.phases_s == TOOK


async def test_a_launch_that_fails_is_recorded_with_the_phases_that_ended(stage: Stage) -> None:
    await stage.see(launch(P.KV_CACHE))
    await stage.see(launch(P.KV_CACHE, kind=LaunchKind.CRASHED))
    (kept,) = stage.store.launches
    assert (kept.kind, kept.ready_s, len(kept.phases_s)) == (LaunchKind.CRASHED, None, 4)


async def test_a_server_that_ends_after_ready_replaces_its_launch(stage: Stage) -> None:
    await stage.see(launch(P.READY))
    await stage.see(launch(P.SERVING, kind=LaunchKind.STOPPED))
    (kept,) = stage.store.launches
    assert (kept.kind, kept.ready_s) == (LaunchKind.STOPPED, sum(TOOK.values()))


async def test_a_launch_of_an_absence_is_read_from_its_log(stage: Stage) -> None:
    await stage.see(launch(P.READY), whole=False)
    assert stage.store.launches == []
    await stage.see(launch(P.SERVING))
    assert [kept.kind for kept in stage.store.launches] == [LaunchKind.READY]


async def test_a_log_without_its_head_or_without_a_clock_is_not_recorded(stage: Stage) -> None:
    await stage.see(launch(P.READY), whole=False)
    timeless = launch(P.READY)
    spans = tuple(replace(span, began=None, ended=None) for span in timeless.spans)
    await stage.see(replace(timeless, spans=spans))
    assert stage.store.launches == []
    assert stage.memory.key("kimi") is not None


async def test_a_watched_log_is_known_by_its_path_and_its_first_stamp(stage: Stage) -> None:
    ready = launch(P.READY)
    seen = LaunchSeen("kimi", "gpu-a", ready, log_path="/logs/a.log", whole=True, log_now=BEGAN + 7200.0)
    stage.clock.now = BEGAN - 1_000_000_000.0
    stage.memory.look(seen)
    await stage.idle()
    (kept,) = stage.store.launches
    assert kept.run_id == f"/logs/a.log@{BEGAN:.0f}"
    assert kept.began_at == BEGAN - 7200.0
    stage.memory.look(replace(seen, launch=replace(ready, spans=(), phase=P.ARGS, kind=LaunchKind.LOADING)))
    await stage.idle()
    assert len(stage.store.launches) == 1


async def test_the_past_is_recalled_once_a_run_and_after_each_record(stage: Stage) -> None:
    stage.remember(2)
    for phase in (P.ARGS, P.WEIGHTS, P.WARMUP):
        await stage.see(launch(phase))
    assert stage.store.recalls == 1
    await stage.see(launch(P.READY))
    assert stage.store.recalls == 2
    assert [one.run_id for one in stage.memory.past("kimi")] == ["run-1", "run-0"]
    await stage.see(launch(P.ARGS), of_run=run(2))
    assert stage.store.recalls == 3
    assert [one.run_id for one in stage.memory.past("kimi")] == [run(1).run_id, "run-1", "run-0"]
    assert stage.changes == ["kimi"] * 3


async def test_what_was_recorded_before_is_not_recorded_again(stage: Stage) -> None:
    await stage.see(launch(P.READY))
    (kept,) = stage.store.launches
    stage.store.launches = [measured] = [replace(kept, cached_share=0.5, slower=(P.WEIGHTS,))]
    again = Stage(store=stage.store)
    await again.see(launch(P.SERVING))
    assert again.store.launches == [measured]
    await again.see(launch(P.SERVING, kind=LaunchKind.CRASHED))
    assert again.store.launches == [replace(measured, kind=LaunchKind.CRASHED, pace_per_s=None)]


async def test_the_page_cache_counts_as_it_was_before_the_load(stage: Stage) -> None:
    await stage.see(launch(P.ARGS), cached=0.1)
    await stage.see(launch(P.WEIGHTS), cached=0.9)
    await stage.see(launch(P.READY), cached=1.0)
    assert [kept.cached_share for kept in stage.store.launches] == [0.1]


async def test_a_page_cache_seen_in_mid_load_is_no_measure(stage: Stage) -> None:
    await stage.see(launch(P.WEIGHTS), cached=0.9)
    await stage.see(launch(P.READY), cached=1.0)
    assert [kept.cached_share for kept in stage.store.launches] == [None]


async def test_the_pace_is_of_the_first_shards(stage: Stage) -> None:
    loading = launch(P.WEIGHTS)
    began = now_in(loading, 0.0)
    await stage.see(replace(loading, bars=(bar((0, 0), (10, 8), (20, 16), began=began),)))
    await stage.see(launch(P.READY, bars=(bar((20, 16), (21, 40), (22, 64), began=began),)))
    assert [kept.pace_per_s for kept in stage.store.launches] == [16 / 64 / 20]


async def test_a_slow_phase_is_told_once_when_it_ends(stage: Stage) -> None:
    await stage.see(launch(P.ARGS), cached=1.0)
    stage.remember(7)
    await stage.see(launch(P.ARGS), of_run=run(2), cached=1.0)
    await stage.see(launch(P.WEIGHTS), of_run=run(2))
    assert stage.told == []
    for phase in (P.POSTPROCESS, P.KV_CACHE, P.READY):
        await stage.see(launch(phase, weights=41.0), of_run=run(2))
    assert stage.told == [("kimi", "weights took 41 s, usually 9.4 s (7 launches)", Severity.WARNING)]
    assert stage.store.launches[-1].slower == (P.WEIGHTS,)


async def test_a_slow_phase_that_ended_while_nobody_looked_is_no_event(stage: Stage) -> None:
    stage.remember(7)
    await stage.see(launch(P.READY, weights=41.0))
    assert stage.told == []


async def test_a_store_that_fails_is_said_once_and_tried_again_later(stage: Stage) -> None:
    stage.store.broken = True
    for phase in (P.ARGS, P.READY, P.SERVING):
        await stage.see(launch(phase))
    assert stage.sentences == ["history is not kept: the disk is full"]
    stage.store.broken = False
    await stage.see(launch(P.SERVING))
    assert stage.store.launches == []
    stage.clock.advance(RETRY_S)
    await stage.see(launch(P.SERVING))
    assert len(stage.store.launches) == 1


async def test_what_the_store_has_to_say_is_told(stage: Stage) -> None:
    stage.store.to_say = ["state.db was broken"]
    await stage.see(launch(P.ARGS))
    assert stage.told == [("", "state.db was broken", Severity.WARNING)]


async def test_a_slow_store_holds_nobody_up(stage: Stage) -> None:
    stage.store.held = asyncio.Event()
    for phase in (P.ARGS, P.WEIGHTS, P.READY):
        stage.memory.look(LaunchSeen("kimi", "gpu-a", launch(phase), run(), whole=True))
    assert stage.memory.past("kimi") == ()
    stage.store.held.set()
    await stage.idle()
    assert [kept.kind for kept in stage.store.launches] == [LaunchKind.READY]


async def test_the_end_waits_for_what_is_being_written(stage: Stage) -> None:
    stage.memory.look(LaunchSeen("kimi", "gpu-a", launch(P.READY), run(), whole=True))
    await stage.memory.close()
    assert len(stage.store.launches) == 1
    assert stage.store.closed


async def test_without_a_model_or_a_store_nothing_is_remembered(stage: Stage) -> None:
    nameless = replace(launch(P.READY), args={})
    await stage.see(nameless, of_run=replace(run(), argv=()))
    assert stage.store.recalls == 0
    homeless = LaunchMemory(None, clock=stage.clock, tell=lambda *event: None, on_change=lambda server: None)
    homeless.look(LaunchSeen("kimi", "gpu-a", launch(P.READY), run(), whole=True))
    assert homeless.past("kimi") == ()
    await homeless.close()


async def test_a_store_that_does_not_let_go_holds_up_no_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_history, "CLOSE_S", 0.05)
    monkeypatch.setattr(stage.store, "close", asyncio.Event().wait)
    await asyncio.wait_for(stage.memory.close(), 60.0)
