"""What the launch pane says beyond phases: usual times, the time left, silence, weight files, findings, the cause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.checkpoint import Checkpoint, ShardTrouble
from k2tui.core.eta import TimeLeft
from k2tui.core.history import LaunchKey, PastLaunch
from k2tui.core.launch import Advice, Cause, Finding, Launch, LaunchKind, LaunchPhase, Progress
from k2tui.core.settings import ServerSettings
from k2tui.core.silence import Silence, SilenceWord
from k2tui.core.surroundings import Surroundings
from k2tui.core.views import ServerStatus, ServerView
from k2tui.ui.expected import Expected, left_of, left_words, range_words
from k2tui.ui.scene import Scene
from k2tui.ui.screens.describe import described
from k2tui.ui.screens.server import ServerScreen
from k2tui.ui.spans import Line, text_of, width_of
from k2tui.ui.widgets.cause_rows import cause_and_advice, finding_lines, silence_lines, trouble_lines
from k2tui.ui.widgets.launch_pane import LaunchPane, launch_text
from k2tui.ui.widgets.log_pane import LogPane
from k2tui.ui.widgets.phase_rows import phase_lines, phase_rows, phase_summary, progress_spans
from tests.fakes.fleet import PHASE_SECONDS, FakeFleet, connected, settings_of
from tests.ui.helpers import app_on, gone, rows_of, shows, until

KEY = LaunchKey("gpu-a", "/m", "sglang", "abc")
PAST = tuple(
    PastLaunch(f"r{place}", "kimi", KEY, float(place), LaunchKind.READY, PHASE_SECONDS, ready_s=31.6)
    for place in range(7)
)
EXPECTED = Expected(PAST, KEY)
BY_BYTES = Progress(51, 64, "shards", "x", 60_000_000_000, 100_000_000_000)
OOM = Cause("[2026-11-30 14:00:07 TP3] torch.OutOfMemoryError: CUDA out of memory.", 31, "TP3", "oom_weights")


def cause_rows(server: ServerView, width: int, rows: int) -> list[Line]:
    cause, advice = cause_and_advice(server, width, rows)
    return [*cause, *advice]


def texts(lines: list[Line]) -> str:
    return "\n".join(text_of(line) for line in lines)


def loading(**around: Any) -> FakeFleet:
    """Nine seconds into the weights, on a host that has seen seven launches."""
    fleet = connected(settings_of())
    fleet.begin("kimi")
    fleet.phase("kimi", LaunchPhase.WEIGHTS, BY_BYTES)
    fleet.set("kimi", around=Surroundings(**{"past": PAST, "key": KEY, **around}))
    for number in range(60):
        fleet.log("kimi", f"[2026-11-30 14:00:{number:02} TP{number % 8}] step {number}")
    fleet.clock.go(9.0)
    return fleet


def launch_of(fleet: FakeFleet) -> Launch:
    launch = fleet.server("kimi").launch
    assert launch is not None
    return launch


# ---- time


def test_each_phase_says_what_it_usually_takes() -> None:
    fleet = loading()
    said = texts(phase_lines(launch_of(fleet), fleet.clock.time(), 98, expected=EXPECTED))
    assert "✓ distributed    3.0 s  usually 3.0 s" in said
    assert "▸ weights        9.0 s  usually 11 s" in said
    assert "· CUDA graphs           usually 9.4 s" in said
    assert "slower" not in said


def test_a_phase_that_takes_clearly_longer_is_marked_by_a_word_and_a_role() -> None:
    fleet = loading()
    now = fleet.clock.time() + 31
    row = phase_rows(launch_of(fleet), now, EXPECTED)[2]
    assert row.is_slower
    lines = phase_lines(launch_of(fleet), now, 98, expected=EXPECTED)
    assert ("usually 11 s  slower", "warning") in lines[2]
    done = replace(launch_of(fleet), phase=LaunchPhase.KV_CACHE)
    spans = (replace(done.spans[0]), replace(done.spans[1]), replace(done.spans[2], ended=now))
    assert "✓ weights 40 s, usually 11 s" in texts(
        phase_summary(replace(done, spans=spans), now, 200, expected=EXPECTED)
    )


def test_nothing_is_usual_without_earlier_launches() -> None:
    fleet = loading()
    assert "usually" not in texts(phase_lines(launch_of(fleet), fleet.clock.time(), 98))


def test_the_bar_says_when_it_counts_bytes() -> None:
    launch = Launch(LaunchPhase.WEIGHTS, progress=BY_BYTES)
    assert text_of(progress_spans(launch, 60)).endswith(" 60 %  51/64 shards, by bytes")
    assert "by bytes" not in text_of(progress_spans(replace(launch, progress=Progress(51, 64, "shards", "x")), 60))


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (40.2, 55.4, "40 to 55 s"),
        (0.0, 0.9, "0 to 1 s"),
        (12.1, 12.3, "12 s"),
        (50, 68, "50 s to 1m08s"),
        (69, 127, "1m10s to 2m05s"),
        (3700, 7300, "1h01m to 2h01m"),
    ],
)
def test_ranges_in_words(low: float, high: float, words: str) -> None:
    assert range_words(low, high) == words


def test_the_time_left_says_what_it_is_known_from() -> None:
    by_history = TimeLeft(40.0, 55.0, LaunchPhase.READY, "history", 7, same_config=True)
    assert text_of(left_words(by_history)) == "ready in 40 to 55 s, from 7 launches here"
    other = replace(by_history, launches=1, same_config=False)
    assert text_of(left_words(other)) == "ready in 40 to 55 s, from 1 launch with other flags"
    assert text_of(left_words(TimeLeft(12, 20, LaunchPhase.WEIGHTS, "bar"))) == "this bar 12 to 20 s more"


def test_nobody_guesses_while_it_stands_still_or_nothing_is_known() -> None:
    fleet = loading()
    server = fleet.server("kimi")
    assert left_of(server, fleet.clock.time()) is not None
    assert left_of(replace(server, around=Surroundings()), fleet.clock.time()) is None
    stalled = replace(server, launch=replace(launch_of(fleet), detail="stalled"))
    assert left_of(stalled, fleet.clock.time()) is None


@pytest.mark.parametrize("size", [(200, 50), (120, 40), (80, 24)], ids=str)
async def test_the_time_to_ready_and_the_usual_times_are_on_screen(size: tuple[int, int]) -> None:
    app = app_on(loading(), start_at="kimi")
    async with app.run_test(size=size) as pilot:
        await shows(pilot, " s, from 7 launches here", "usually", "60 %")


# ---- silence


def silent(word: SilenceWord = SilenceWord.SLOW, **changes: Any) -> FakeFleet:
    fleet = loading()
    now = fleet.clock.time()
    silence = Silence(
        word, 300, "2 x the load's own time", ("TP5 still reads 310 MB/s",), ("TP5",), "the barrier", now + 190
    )
    fleet.phase("kimi", LaunchPhase.POSTPROCESS, quiet_since=now - 95, silence=silence, silence_s=95, **changes)
    return fleet


def test_a_silence_is_told_in_its_own_words_and_by_its_word() -> None:
    fleet = silent()
    now = fleet.clock.time()
    said = texts(silence_lines(fleet.server("kimi"), now, 300, 2))
    assert said.startswith("slow: silent 95 s, limit 300 s (2 x the load's own time); TP5 still reads 310 MB/s")
    assert said.endswith("the barrier gives up in 3 min 10 s")
    healthy = silent(SilenceWord.HEALTHY).server("kimi")
    assert texts(silence_lines(healthy, now, 300, 2)).startswith("silent 95 s")
    assert silence_lines(healthy, now, 300, 2)[0][0][1] == "muted"


async def test_who_gives_up_counts_down() -> None:
    fleet = silent(detail="slow")
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "slow: silent 95 s", "gives up in 3 min 10 s")
        fleet.clock.go(70)
        await shows(pilot, "slow: silent 165 s", "gives up in 2 min")


async def test_there_is_one_word_on_a_silence_not_two() -> None:
    app = app_on(silent(), start_at="kimi")
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "silent 95 s")
        await gone(pilot, "no progress for")


# ---- weight files and findings


MISSING = ShardTrouble("a", "missing", "model-00003-of-00064.safetensors is missing")
POINTER = ShardTrouble("b", "pointer", "model-00004-of-00064.safetensors is a Git LFS pointer of 134 bytes")


@pytest.mark.parametrize("size", [(200, 50), (80, 24)], ids=str)
async def test_weight_files_that_can_not_be_loaded_stand_before_the_phases(size: tuple[int, int]) -> None:
    app = app_on(loading(checkpoint=Checkpoint("/m", troubles=(MISSING,))), start_at="kimi")
    async with app.run_test(size=size) as pilot:
        await shows(pilot, f"✗ {MISSING.text}", "weights")
        rows = rows_of(app)
        trouble = next(place for place, row in enumerate(rows) if MISSING.text in row)
        assert trouble < next(place for place, row in enumerate(rows) if "▸ weights" in row)


def test_many_broken_files_are_counted_and_none_matters_once_it_is_ready() -> None:
    server = replace(
        loading().server("kimi"), around=Surroundings(Checkpoint("/m", troubles=(MISSING, *[POINTER] * 20)))
    )
    said = texts(trouble_lines(server, 90, 3))
    assert MISSING.text in said
    assert said.endswith("✗ 19 more like it")
    assert "20 more like it" in texts(trouble_lines(server, 90, 1))
    ready = replace(server, launch=Launch(LaunchPhase.READY, LaunchKind.READY))
    assert trouble_lines(ready, 90, 3) == []


THINKS = Finding("no_reasoning_parser", "Kimi-K2.5 thinks, and no reasoning parser is set.", "source", 3)
DEAD = Finding("dead_flag", "--num-continuous-decode-steps is parsed and never used.", "source", 3)


@pytest.mark.parametrize("size", [(200, 50), (120, 40), (80, 24)], ids=str)
async def test_what_a_clean_log_hides_is_told_on_a_ready_server(size: tuple[int, int]) -> None:
    fleet = loading()
    fleet.phase("kimi", LaunchPhase.READY, findings=(THINKS, DEAD))
    fleet.ready("kimi")
    app = app_on(fleet)
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "! Kimi-K2.5 thinks, and no reasoning parser", "proof")
        await shows(pilot, "and 1 more" if size[0] == 80 else "! --num-continuous-decode-steps")


def test_findings_have_one_line_each_and_the_last_says_how_many_more() -> None:
    launch = Launch(findings=(THINKS, DEAD, THINKS))
    assert len(finding_lines(launch, 80, 5)) == 3
    two = finding_lines(launch, 60, 2)
    assert text_of(two[1]).endswith("and 1 more")
    assert all(width_of(line) <= 60 for line in two)
    assert finding_lines(launch, 80, 0) == []


def test_a_finding_that_is_the_cause_is_not_told_twice() -> None:
    assert finding_lines(Launch(findings=(THINKS,), cause=Cause("x", 3, None, "x")), 80, 5) == []


async def test_describe_tells_all_of_it() -> None:
    fleet = silent(findings=(THINKS,))
    fleet.set("kimi", around=Surroundings(Checkpoint("/m", troubles=(MISSING,)), PAST, KEY))
    app = app_on(fleet)
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.press("d")
        await shows(pilot, "usually 3.0 s", "slow: silent 95 s", MISSING.text, THINKS.text)


def test_describe_lists_earlier_launches_and_keeps_what_was_slow() -> None:
    fleet = loading()
    slow = replace(PAST[0], slower=(LaunchPhase.WEIGHTS,))
    failed = replace(PAST[1], kind=LaunchKind.CRASHED, ready_s=None, key=replace(KEY, config="other"))
    fleet.set("kimi", around=Surroundings(past=(slow, failed), key=KEY))
    rows = described(fleet.server("kimi"), Scene.of(fleet, fleet.clock), fleet)
    said = texts([row for row in rows if not isinstance(row, str)])
    assert "ready in 32 s  weights slower than usual" in said
    assert "crashed  other flags" in said


# ---- the cause


def test_advice_that_nobody_vouches_for_says_so() -> None:
    server = ServerView(
        ServerSettings("kimi", "gpu-a"),
        ServerStatus.CRASHED,
        launch=Launch(kind=LaunchKind.CRASHED, cause=OOM),
        advice=(Advice("Look at the disk", "inferred"), Advice("Stop the other one", "source")),
    )
    said = texts(cause_rows(server, 90, 9)).splitlines()
    assert said[0] == "✗ GPU memory ran out while the weights were loaded  rank TP3  line 31"
    assert said[2:] == ["→ Look at the disk (inferred: no source)", "→ Stop the other one"]


def test_what_a_probe_found_is_told_without_a_line_to_go_to() -> None:
    fleet = loading()
    fleet.phase("kimi", LaunchPhase.SERVING, kind=LaunchKind.MISCONFIGURED, finding="reasoning_parser")
    text = launch_text(fleet.server("kimi"), Scene.of(fleet, fleet.clock), 80, 12)
    assert "✗ reasoning comes back inside content" in texts(text.lines)
    assert not text.cause


def crashed() -> FakeFleet:
    fleet = loading()
    fleet.crash("kimi", OOM, Advice("Stop the other one", "source"))
    return fleet


@pytest.mark.parametrize("start_at", ["kimi", None], ids=["server", "box"])
@pytest.mark.parametrize("size", [(200, 50), (80, 24), (70, 18)], ids=str)
async def test_enter_on_the_cause_goes_to_its_line_in_the_log(size: tuple[int, int], start_at: str | None) -> None:
    app = app_on(crashed(), start_at=start_at)
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "step 59")
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(app.screen.focused, LaunchPane))
        await shows(pilot, "enter the line in the log", "GPU memory ran out")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen.focused, LogPane))
        await shows(pilot, "TP6 step 30")
        log = app.screen.query_one(LogPane)
        assert log.row_text().endswith("step 30")
        await gone(pilot, "enter the line in the log")


async def test_the_rows_that_lead_to_the_line_are_marked_while_the_pane_has_the_focus() -> None:
    app = app_on(crashed(), start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        pane = app.screen.query_one(LaunchPane)
        await until(pilot, lambda: pane.points_at_cause)
        assert not any(role for _, role in pane._rows)
        await pilot.press("tab")
        marked = "".join(text for line, role in pane._rows if role == "cursor" for text, _ in line)
        assert "rank TP3" in marked
        assert "out of memory" in marked
        assert "Stop the other one" not in marked


async def test_capital_d_still_goes_there_from_any_pane_and_shows_the_log() -> None:
    app = app_on(crashed(), start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("tab", "z")
        await until(pilot, lambda: isinstance(app.screen, ServerScreen) and app.screen.zoomed)
        await pilot.press("D")
        await shows(pilot, "TP6 step 30")


async def test_enter_on_a_launch_without_a_cause_is_what_it_was() -> None:
    app = app_on(loading())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, ServerScreen))


@given(st.integers(20, 200), st.integers(1, 30), st.booleans())
def test_a_pane_full_of_news_is_never_taller_or_wider_than_its_room(width: int, height: int, state: bool) -> None:
    fleet = silent(detail="stalled", findings=(THINKS, DEAD), ranks_loaded=frozenset({"TP0"}))
    fleet.set("kimi", around=Surroundings(Checkpoint("/m", troubles=(MISSING, POINTER)), PAST, KEY))
    text = launch_text(fleet.server("kimi"), Scene.of(fleet, fleet.clock), width, height, state=state)
    assert len(text.lines) <= height
    assert text.cause.stop <= height
    assert all(width_of(line) <= max(width, 34) for line in text.lines)
