from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.alerts import Alert
from k2tui.core.events import Severity
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.over_time.notes import annotations_of, began_at, changes_between, clock_ahead_s
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.core.series import Annotation
from k2tui.core.settings import ServerSettings
from k2tui.core.views import ServerView

NOON = 1_796_040_000.0
"""2026-11-30 12:00 UTC."""
ARGV = ("python3", "-m", "sglang.launch_server", "--model-path", "/m", "--tp-size", "8")


def run(
    clock: str = "120000",
    *flags: str,
    env: tuple[tuple[str, str], ...] = (),
    ended: float | None = None,
    code: int | None = None,
    asked: bool = False,
) -> Run:
    """A run that began at this time of the day and ended so many seconds after noon."""
    at = None if ended is None else NOON + ended
    return Run(
        "kimi",
        f"20261130T{clock}Z-00ff",
        "/runs",
        argv=(*ARGV, *flags),
        env=env,
        ended_at=at,
        exit_code=code,
        stop_asked=asked,
    )


def server(*runs: Run) -> ServerView:
    return ServerView(ServerSettings(name="kimi", node="gpu-a"), run=runs[0] if runs else None, runs=runs)


def notes(*runs: Run, ahead: float = 0.0) -> list[tuple[float, str, str]]:
    """(seconds after noon, words, kind)."""
    found = annotations_of([server(*runs)], [], NOON - 3600, NOON + 3600, clocks_ahead_s={"gpu-a": ahead})
    assert all(note.subject == "server/kimi" for note in found)
    return [(note.at - NOON, note.text, note.kind) for note in found]


def test_a_start_is_at_the_time_in_its_run_id() -> None:
    assert began_at(run("120000")) == NOON
    assert notes(run("120130")) == [(90, "start", "restart")]


@pytest.mark.parametrize("run_id", ["by-hand", "20261399T120000Z-00ff", ""])
def test_a_run_without_a_time_in_its_id_began_when_its_state_says(run_id: str) -> None:
    assert began_at(replace(run(), run_id=run_id, started_at=NOON + 7)) == NOON + 7
    assert notes(replace(run(), run_id=run_id)) == []


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (run(), run(env=(("NCCL_PROTO", "LL"),)), ("+NCCL_PROTO=LL",)),
        (run("120000", "--disable-cuda-graph"), run(), ("-disable-cuda-graph",)),
        (run(), run("120000", "--disable-radix-cache"), ("+disable-radix-cache",)),
        (run(), run("120000", "--mem-fraction-static", "0.9"), ("+mem-fraction-static=0.9",)),
        (run("120000", "--page-size", "1"), run("120000", "--page-size=64"), ("page-size=64 (was 1)",)),
        (run(env=(("A", "1"),)), run(env=(("A", "2"),)), ("A=2 (was 1)",)),
        (run(env=(("A", "1"),)), run(), ("-A",)),
        (run("120000", "--enable-x"), run("120000", "--enable-x=1"), ("enable-x=1 (was bare)",)),
        (run(), replace(run(), argv=(*ARGV[:5], "--tensor-parallel-size=8")), ()),
        (run(), replace(run(), argv=(*ARGV[:3], *ARGV[5:], *ARGV[3:5])), ()),
        (run(), run("120000", "--x", "a\x1b[31m" + "b" * 60), (f"+x=a [31m{'b' * 33}…",)),
    ],
)
def test_what_changed_is_said_in_the_words_of_the_command(old: Run, new: Run, changes: tuple[str, ...]) -> None:
    assert changes_between(old, new) == changes


def test_a_restart_says_what_changed() -> None:
    old, new = run("120000", "--disable-cuda-graph", asked=True, ended=590), run("121000", env=(("NCCL_PROTO", "LL"),))
    assert notes(new, old) == [
        (0, "start", "restart"),
        (600, "restart: -disable-cuda-graph +NCCL_PROTO=LL", "restart"),
    ]


def test_a_restart_of_the_same_command_says_so() -> None:
    assert notes(run("121000"), run("120000"))[1] == (600, "restart, same command", "restart")


def test_many_changes_are_counted() -> None:
    flags = [word for number in range(7) for word in (f"--flag-{number}", "1")]
    assert notes(run("121000", *flags), run("120000"))[1][1] == (
        "restart: +flag-0=1 +flag-1=1 +flag-2=1 +flag-3=1 and 3 more"
    )


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (run(ended=60, asked=True, code=0), "stopped"),
        (run(ended=60, code=137), "ended with exit code 137"),
        (run(ended=60, code=0), "ended"),
        (run(ended=60), "ended"),
    ],
)
def test_an_end_says_how_it_ended(ended: Run, words: str) -> None:
    assert notes(ended) == [(0, "start", "restart"), (60, words, "end")]


def test_a_crash_before_a_restart_is_told_and_a_late_start_is_no_restart_of_its_stop() -> None:
    crashed, stopped = run(ended=590, code=1), run(ended=60, asked=True)
    assert [kind for _, _, kind in notes(run("121000"), crashed)] == ["restart", "end", "restart"]
    assert [kind for _, _, kind in notes(run("121000"), stopped)] == ["restart", "end", "restart"]


def test_a_clock_that_is_ahead_is_set_right() -> None:
    assert notes(run(ended=60, code=1), ahead=90.0) == [
        (-90, "start", "restart"),
        (-30, "ended with exit code 1", "end"),
    ]


@pytest.mark.parametrize(
    ("offset", "ahead"), [(None, 0.0), (0.0, 0.0), (3600.0, 0.0), (-19_800.0, 0.0), (3690.0, 90.0), (-3605.0, -5.0)]
)
def test_what_no_time_zone_explains_is_the_clocks_error(offset: float | None, ahead: float) -> None:
    assert clock_ahead_s(offset) == ahead


def test_alerts_and_the_absence_are_drawn_in() -> None:
    alert = Alert("gpu_hot", "gpu/gpu-a/3", "GPU 3 is at 91 °C", Severity.WARNING, NOON + 30)
    assert annotations_of([server(run())], [alert], NOON - 3600, NOON + 3600, absent=(NOON - 1800, NOON)) == (
        Annotation(NOON - 1800, "", "nobody looked for 30m00s", "absent"),
        Annotation(NOON, "server/kimi", "start", "restart"),
        Annotation(NOON + 30, "gpu/gpu-a/3", "GPU 3 is at 91 °C", "alert"),
    )


def test_only_what_happened_between_the_two_times_comes() -> None:
    found = annotations_of([server(run("125900"), run("120000"), run("110000"))], [], NOON, NOON + 3540)
    assert [note.at for note in found] == [NOON]


def test_a_server_that_somebody_else_started_is_told_as_that() -> None:
    process = NodeProcess(ProcessIdentity("b", 7, 9), parent=1, session=7, user="u", title="t", began_at=NOON + 5)
    found = replace(server(), found=FoundServer(process, "sglang", ARGV))
    assert annotations_of([found], [], NOON, NOON + 60) == (
        Annotation(NOON + 5, "server/kimi", "start, not by k2tui", "restart"),
    )
