"""One picture of each screen and size, and of each kind of theme. Look at them when they change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest

from k2tui.core.events import Severity
from k2tui.core.history import LaunchKey, PastLaunch
from k2tui.core.launch import Advice, Cause, Finding, LaunchKind, LaunchPhase, Progress
from k2tui.core.link import LinkPhase
from k2tui.core.surroundings import Surroundings
from k2tui.core.views import ServerStatus, Witness
from tests.fakes.fleet import PHASE_SECONDS, FakeFleet, connected, gpus, reading, settings_of
from tests.ui.helpers import FakeCopier, app_on, stands_still
from tests.ui.working import one_box, working

MADE_WITH = {"textual": "8.2.8", "rich": "15.0.0"}
"""Another version may draw the same cells with other SVG."""
pytestmark = pytest.mark.skipif(
    any(version(name) != wanted for name, wanted in MADE_WITH.items()), reason=f"pictures were made with {MADE_WITH}"
)
SIZES = [(200, 50), (120, 40), (80, 24)]
SHARDS = Progress(51, 64, "shards", "Loading safetensors checkpoint shards")
KEY = LaunchKey("gpu-a", "/shared/kimi-k2.5-int4", "sglang", "abc")
PAST = tuple(
    PastLaunch(f"r{place}", "kimi", KEY, float(place), LaunchKind.READY, PHASE_SECONDS, ready_s=31.6)
    for place in range(7)
)
DEAD_FLAG = Finding("dead_flag", "--num-continuous-decode-steps is parsed and never used.", "source", 1)
Snap = Callable[..., bool]


def size_name(size: tuple[int, int]) -> str:
    """`120x40`."""
    return f"{size[0]}x{size[1]}"


def loading(theme: str = "k2-dark") -> FakeFleet:
    fleet = connected(settings_of(theme=theme), simulated=True)
    fleet.begin("kimi")
    ranks = frozenset(f"TP{rank}" for rank in range(8))
    fleet.phase(
        "kimi",
        LaunchPhase.WEIGHTS,
        replace(SHARDS, bytes_done=436_000_000_000, bytes_total=554_000_000_000),
        model="/shared/kimi-k2.5-int4",
        ranks_seen=ranks,
        ranks_loaded=ranks - {"TP5"},
        rank_phases=dict.fromkeys(ranks, LaunchPhase.WEIGHTS),
        findings=(DEAD_FLAG,),
    )
    fleet.set("kimi", around=Surroundings(past=PAST, key=KEY))
    fleet.clock.go(9.1)
    fleet.read("gpu-a", reading(fleet.clock, gpus(8)))
    fleet.set("kimi", witnesses=(Witness("process", True, "alive, pid 41233", fleet.clock.at),))
    fleet.log(
        "kimi",
        "[2026-11-30 13:59:50] server_args={'model_path': '/shared/kimi-k2.5-int4', 'tp_size': 8, 'port': 30000}",
        *(f"[2026-11-30 13:59:52 TP{rank}] Init torch distributed begin." for rank in range(8)),
        "[2026-11-30 13:59:55 TP0] Init torch distributed ends. mem usage=0.41 GB",
        "/opt/sglang/lib/python3.11/site-packages/torch/cuda/__init__.py:61: FutureWarning: pynvml is deprecated",
        "[2026-11-30 13:59:55 TP0] Load weight begin. avail mem=94.20 GB",
    )
    fleet.ring("kimi").set_open(
        "Loading safetensors checkpoint shards:  80% Completed | 51/64 [00:11<00:00, 16.99it/s]"
    )
    fleet.tell("gpu-a", "connected", Severity.GOOD)
    fleet.tell("kimi", "kimi runs as 20261130T140100Z-0001")
    return fleet


def ready(theme: str = "k2-dark") -> FakeFleet:
    fleet = loading(theme)
    fleet.ring("kimi").set_open("")
    fleet.log("kimi", "[2026-11-30 14:00:24] The server is fired up and ready to roll!")
    fleet.ready("kimi")
    fleet.clock.go(11_520)
    fleet.read("gpu-a", reading(fleet.clock, gpus(8)))
    at = fleet.clock.at
    fleet.set(
        "kimi",
        witnesses=(
            Witness("process", True, "alive, pid 41233", at),
            Witness("log", True, "12430 lines", at),
            Witness("http", True, "/health 200 in 12 ms", at - 4),
        ),
    )
    return fleet


def crashed(theme: str = "k2-dark") -> FakeFleet:
    fleet = loading(theme)
    line = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has 1.20 GiB free."
    fleet.ring("kimi").set_open("")
    fleet.log(
        "kimi", f"[2026-11-30 14:00:01 TP3] {line}", "[2026-11-30 14:00:01] Received sigquit from a child process."
    )
    fleet.crash(
        "kimi",
        Cause(line, 13, "TP3", "oom_weights"),
        Advice("Another process holds 93.1 GiB on GPU 3: stop it first", "source"),
    )
    return fleet


def fleet_of_six(theme: str = "k2-dark") -> FakeFleet:
    fleet = connected(settings_of(6, theme=theme), simulated=True)
    fleet.begin("kimi")
    fleet.phase("kimi", LaunchPhase.WEIGHTS, replace(SHARDS, done=64), model="/shared/kimi-k2.5-int4")
    fleet.ready("kimi")
    fleet.begin("kimi-2")
    fleet.phase("kimi-2", LaunchPhase.WEIGHTS, SHARDS, model="/shared/kimi-k2.5-int4")
    fleet.begin("kimi-3")
    fleet.phase("kimi-3", LaunchPhase.KV_CACHE)
    fleet.crash("kimi-3", Cause("Not enough memory", 812, None, "kv_too_small"))
    fleet.link("gpu-d", phase=LinkPhase.DOWN, code="timeout", reason="no answer in 10 s", retry_at=fleet.clock.at + 8)
    fleet.set("kimi-4", status=ServerStatus.STALE)
    fleet.link(
        "gpu-e", phase=LinkPhase.BLOCKED, code="host_key_unknown", reason="host key unknown", fingerprint="SHA256:abc"
    )
    fleet.set("kimi-5", status=ServerStatus.UNKNOWN)
    fleet.tell("gpu-d", "no answer in 10 s", Severity.BAD)
    fleet.tell("kimi", "kimi is ready and proved", Severity.GOOD)
    return fleet


def grouped(theme: str = "k2-dark") -> FakeFleet:
    """Twelve nodes of two tags."""
    return working(12, theme=theme, simulated=True)


def picture(
    snap: Snap, fleet: FakeFleet, size: tuple[int, int], *keys: str, key_takes_s: float = 0.4, **options: Any
) -> None:
    """`key_takes_s` 0: time stands still, so that no age depends on when the screen is drawn."""

    async def settle(pilot: Any) -> None:
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
            fleet.clock.go(key_takes_s)
        await stands_still(pilot)

    app = app_on(fleet, copier=FakeCopier(), **options)
    assert snap(app, terminal_size=size, run_before=settle)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_box_loading(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, loading(), size)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_box_ready(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, ready(), size)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_fleet(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, fleet_of_six(), size)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_server_crashed(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, crashed(), size, start_at="kimi")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_sheet(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, ready(), size, "r")


def test_stop_dialog(snap_compare: Snap) -> None:
    picture(snap_compare, ready(), (80, 24), "s")


def test_help(snap_compare: Snap) -> None:
    picture(snap_compare, ready(), (80, 24), "question_mark")


@pytest.mark.parametrize("theme", ["k2-light", "k2-mono"])
def test_fleet_in_the_other_themes(snap_compare: Snap, theme: str) -> None:
    picture(snap_compare, fleet_of_six(theme), (120, 40))


def test_box_in_ascii(snap_compare: Snap) -> None:
    picture(snap_compare, loading(), (80, 24), ascii_only=True)


# ---- at work


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_fleet_at_work(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, working(simulated=True), size)


def test_fleet_in_groups_with_marks(snap_compare: Snap) -> None:
    picture(snap_compare, grouped(), (160, 44), "o", "g", "j", "space", "j", "space", key_takes_s=0)


def test_fleet_with_a_half_typed_filter(snap_compare: Snap) -> None:
    picture(snap_compare, working(simulated=True), (120, 40), "/", *"kimi tps>", key_takes_s=0)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_box_at_work(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, one_box(simulated=True), size)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_server_at_work(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, one_box(simulated=True), size, start_at="kimi")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_gpus(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, working(simulated=True), size, "6", key_takes_s=0)


def test_one_gpu(snap_compare: Snap) -> None:
    picture(snap_compare, working(simulated=True), (120, 50), "6", "j", "j", "j", "enter", key_takes_s=0)


def test_adoption(snap_compare: Snap) -> None:
    picture(snap_compare, working(simulated=True), (120, 40), "G", "i", key_takes_s=0)


@pytest.mark.parametrize("theme", ["k2-light", "k2-mono"])
def test_fleet_at_work_in_the_other_themes(snap_compare: Snap, theme: str) -> None:
    picture(snap_compare, working(theme=theme, simulated=True), (120, 40), "space", key_takes_s=0)


def test_fleet_at_work_in_ascii(snap_compare: Snap) -> None:
    picture(snap_compare, working(simulated=True), (120, 40), ascii_only=True)
