"""What nodes keep of a night in which nobody looked, in sentences."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from k2tui.core.absence import Absence
from k2tui.core.absence_events import MOST_EVENTS, happened, was_asked
from k2tui.core.events import Event, Severity
from k2tui.core.found import NodeProcess
from k2tui.core.launch import Cause, Launch, LaunchKind, LaunchPhase, PhaseSpan
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.readings import GpuReading, NodeReading, Xid
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.core.settings import NodeSettings, ServerSettings
from k2tui.core.views import NodeView, ServerStatus, ServerView

HOUR = 3600.0
MIDNIGHT = datetime(2026, 11, 30, tzinfo=timezone.utc).timestamp()
AWAY = Absence(MIDNIGHT - 4 * HOUR, MIDNIGHT + 8 * HOUR)
GPU = GpuReading(5, "GPU-5", pcie_bus="00000000:4C:00.0")
CHILD = ProcessIdentity("boot-1", 41_233, 99)
ARGV = ("python3", "-m", "sglang.launch_server", "--tp-size", "8")
OUT_OF_MEMORY = Cause("torch.OutOfMemoryError: CUDA out of memory", 7, "TP3", "oom_weights")


def clock(hour: int, minute: int) -> float:
    """Unix time in the night; hours from 20 on are of the evening before."""
    return MIDNIGHT + (hour - (24 if hour >= 20 else 0)) * HOUR + minute * 60


def run(hour: int, minute: int, **changes: Any) -> Run:
    """A run that began then."""
    at = datetime.fromtimestamp(clock(hour, minute), timezone.utc)
    made = Run("kimi", f"{at:%Y%m%dT%H%M%S}Z-0001", "/d", argv=ARGV, started_by="ann@desk", child=CHILD, alive=True)
    return replace(made, **changes)


def over(one: Run, hour: int, minute: int, *, code: int = 1, asked: bool = False) -> Run:
    """It ended then."""
    return replace(one, alive=False, ended_at=clock(hour, minute), exit_code=code, stop_asked=asked)


def node(**changes: Any) -> NodeView:
    reading = NodeReading(boot_id="boot-1", gpus=(GPU,), host_at=1.0, clock_offset_s=0.0, xids_at=1.0)
    return NodeView(NodeSettings("gpu-a", "gpu-a"), LinkState(LinkPhase.UP), replace(reading, **changes))


def server(*runs: Run, **changes: Any) -> ServerView:
    view = ServerView(ServerSettings("kimi", "gpu-a", profile="base"), ServerStatus.READY, seen_at=1.0)
    return replace(view, run=runs[0] if runs else None, runs=runs, **changes)


def told(view: ServerView, at: NodeView | None = None, noted: tuple[Event, ...] = ()) -> list[str]:
    """Each event as `HH:MM subject text`."""
    events = happened(AWAY, [at or node()], [view], noted)
    return [f"{datetime.fromtimestamp(one.at, timezone.utc):%H:%M} {one.subject} {one.text}" for one in events]


YESTERDAY = run(12, 0, run_id="20261129T120000Z-0001")
"""It began before the absence."""


@pytest.mark.parametrize(
    ("view", "says"),
    [
        (server(YESTERDAY), []),
        (server(run(3, 12)), ["03:12 kimi started by ann@desk"]),
        (
            server(run(3, 12, env=(("NCCL_PROTO", "LL"),)), over(YESTERDAY, 3, 11, asked=True)),
            ["03:12 kimi restarted by ann@desk: +NCCL_PROTO=LL"],
        ),
        (
            server(run(3, 12), over(YESTERDAY, 3, 11, asked=True)),
            ["03:12 kimi restarted by ann@desk: same command"],
        ),
        (
            server(run(3, 12), over(YESTERDAY, 1, 0, asked=True)),
            ["01:00 kimi stopped", "03:12 kimi started by ann@desk: same command"],
        ),
        (
            server(
                over(run(4, 31), 4, 40), launch=Launch(LaunchPhase.WEIGHTS, LaunchKind.CRASHED, cause=OUT_OF_MEMORY)
            ),
            [
                "04:31 kimi started by ann@desk",
                "04:40 kimi crashed (exit 1): GPU memory ran out while the weights were loaded",
            ],
        ),
        (
            server(over(YESTERDAY, 4, 40, code=137), launch=Launch(LaunchPhase.SERVING)),
            ["04:40 kimi crashed (exit 137): in serving"],
        ),
        (
            server(run(5, 0, alive=True), over(YESTERDAY, 4, 40, code=137), launch=Launch(LaunchPhase.WEIGHTS)),
            ["04:40 kimi crashed (exit 137)", "05:00 kimi started by ann@desk: same command"],
        ),
        (server(over(YESTERDAY, 4, 40, code=0)), ["04:40 kimi ended by itself (exit 0)"]),
        (
            server(replace(YESTERDAY, restarts=2)),
            ["02:00 kimi restarted by its supervisor after a crash, 2 times in this run"],
        ),
        (
            server(run(3, 12, started_by=None, argv=(*ARGV, *(f"--flag-{n}" for n in range(6)))), YESTERDAY),
            ["03:12 kimi started: +flag-0 +flag-1 +flag-2 +flag-3 and 2 more"],
        ),
    ],
)
def test_what_runs_tell(view: ServerView, says: list[str]) -> None:
    process = NodeProcess(CHILD, 1, 1, "root", "sglang::scheduler", began_at=clock(2, 0))
    assert told(view, replace(node(), processes=(process,))) == says


def test_times_of_a_node_whose_clock_is_ahead_are_put_right() -> None:
    assert told(server(run(3, 12)), node(clock_offset_s=HOUR + 120.0)) == ["03:10 kimi started by ann@desk"]


def test_when_it_came_up_is_told_by_its_log_in_the_nodes_time_zone() -> None:
    log = clock(3, 12) + HOUR
    spans = (
        PhaseSpan(LaunchPhase.ARGS, log, log + 5),
        PhaseSpan(LaunchPhase.READY, log + 400, None),
    )
    view = server(run(3, 12), launch=Launch(LaunchPhase.READY, LaunchKind.READY, spans=spans))
    assert told(view, node(clock_offset_s=HOUR)) == ["03:12 kimi started by ann@desk", "03:18 kimi ready after 6m40s"]


def test_a_log_that_is_only_watched_tells_when_it_failed() -> None:
    launch = Launch(LaunchPhase.SERVING, LaunchKind.CRASHED, cause=OUT_OF_MEMORY, failed_at=clock(4, 40))
    watched = ServerView(ServerSettings("kimi", "gpu-a", log="/l"), ServerStatus.CRASHED, launch=launch)
    assert told(watched) == ["04:40 kimi failed: GPU memory ran out while the weights were loaded"]


def xid(number: int | None, hour: int, minute: int, bus: str = "PCI:0000:4c:00") -> Xid:
    return Xid(bus, number, "x", clock(hour, minute))


def test_errors_of_gpus_are_told_once_a_number_with_how_often() -> None:
    xids = (
        xid(31, 4, 1),
        xid(31, 4, 2),
        xid(31, 4, 3),
        xid(79, 4, 39),
        xid(79, 12, 0),
        replace(xid(79, 4, 0), at=None),
    )
    says = told(server(), node(xids=xids))
    assert [line.partition(": ")[0] for line in says] == ["04:03 gpu-a XID 31 on GPU 5", "04:39 gpu-a XID 79 on GPU 5"]
    assert says[0].endswith("(3 times)")
    assert not says[1].endswith("times)")


def noted(hour: int, minute: int, text: str, severity: Severity = Severity.BAD, subject: str = "kimi") -> Event:
    return Event(clock(hour, minute), subject, text, severity)


READY = Event(AWAY.left_at - 100, "kimi", "ready", Severity.GOOD)
GONE = replace(YESTERDAY, alive=False)


@pytest.mark.parametrize(
    ("view", "at", "events", "says"),
    [
        # what others noted meanwhile
        (server(), node(), (noted(2, 0, "hung"),), ["02:00 kimi hung"]),
        (server(), node(), (noted(2, 0, "loading", Severity.INFO),), []),
        (server(), node(), (noted(9, 0, "hung"), READY), []),
        (
            server(over(YESTERDAY, 4, 40, code=137)),
            node(),
            (noted(4, 41, "crashed"),),
            ["04:40 kimi crashed (exit 137)"],
        ),
        # how it stands now against how it stood
        (
            server(GONE),
            node(boot_id="boot-2"),
            (READY,),
            ["08:00 kimi ended, and nothing tells when: gpu-a was rebooted"],
        ),
        (server(GONE), node(), (READY,), ["08:00 kimi ended, and nothing tells when"]),
        (server(GONE), node(), (), []),
        (server(GONE), node(), (replace(READY, text="crashed in weights"),), []),
        (
            server(YESTERDAY, status=ServerStatus.HUNG),
            node(),
            (
                replace(READY, at=READY.at - 5, text="hung"),
                READY,
                replace(READY, at=READY.at + 1, text="weights 2 min slower"),
            ),
            ["08:00 kimi hung now, was ready"],
        ),
        (server(YESTERDAY, status=ServerStatus.HUNG), node(), (replace(READY, text="hung"),), []),
    ],
)
def test_what_was_noted_fills_what_no_node_tells(
    view: ServerView, at: NodeView, events: tuple[Event, ...], says: list[str]
) -> None:
    assert told(view, at, tuple(sorted(events, key=lambda one: one.at))) == says


def test_a_node_that_can_not_be_asked_is_told_with_its_reason_and_its_servers_are_not_guessed_at() -> None:
    lost = replace(node(), link=LinkState(LinkPhase.DOWN, reason="no answer for 15 s"))
    assert told(server(run(3, 12)), lost) == ["08:00 gpu-a out of reach: no answer for 15 s"]


def test_a_storm_fills_no_screen() -> None:
    runs = tuple(over(run(2, minute % 60), 3, minute % 60) for minute in range(1000))
    assert len(happened(AWAY, [node()], [server(*runs)], ())) == MOST_EVENTS


DOWN = LinkState(LinkPhase.DOWN)
UNSEEN = ServerView(ServerSettings("kimi", "gpu-a", profile="base"))
WATCHED = ServerView(ServerSettings("by-hand", "gpu-a", log="/l"))
ELSEWHERE = ServerView(ServerSettings("kimi", "gpu-b", profile="base"))


@pytest.mark.parametrize(
    ("at", "servers", "asked"),
    [
        (node(), [server()], True),
        (node(), [WATCHED, ELSEWHERE], True),
        (node(), [UNSEEN], False),
        (node(host_at=None), [server()], False),
        (node(xids_at=None), [server()], False),
        (node(xids_at=None, xids_unknown_because="no permission"), [server()], True),
        (replace(node(), link=LinkState(LinkPhase.CONNECTING)), [server()], False),
        (replace(node(), link=DOWN), [UNSEEN], True),
    ],
)
def test_when_a_node_has_told_all_that_it_keeps(at: NodeView, servers: list[ServerView], *, asked: bool) -> None:
    assert was_asked(at, servers) is asked
