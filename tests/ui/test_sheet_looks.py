"""What stands in the way of a launch is looked at beside the keys, and how it is done is chosen before it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.keymap import BY_ID
from k2tui.core.preflight import Preflight, PreflightItem, SettingCheck, Weight
from k2tui.core.serving import ServingReading
from k2tui.core.settings import NodeSettings
from k2tui.core.settings_between import Setting
from k2tui.core.verbs import LaunchPlan, Manner, OnFailure, ProfileChange
from k2tui.ui.screens.sheet import LaunchSheet
from k2tui.ui.setting_rows import rows_between
from k2tui.ui.sheet_notes import Look, after_lines, build_line, drain_line, failure_line, look_lines, obstacle
from k2tui.ui.sheet_state import Draft, Edit
from k2tui.ui.spans import text_of, width_of
from tests.ui.helpers import gone, rows_of, screen_text, shows, stands_still, until
from tests.ui.sheets import BUILD, NO_EFFECT, WELL, SheetFleet, sheet_settings, sheets
from tests.ui.test_sheet_editing import LIVE, opened

TAKEN = PreflightItem("port", Weight.BLOCK, "port 30000 is held by nginx, pid 812", "stop it first")


class SlowFleet(SheetFleet):
    """Its node answers when it is let."""

    answers: asyncio.Event
    changes: list[ProfileChange | None]
    """Of every look that began."""

    async def preflight(self, name: str, change: ProfileChange | None = None) -> Preflight:
        self.changes.append(change)
        await self.answers.wait()
        return await super().preflight(name, change)


def slow() -> SlowFleet:
    """A fleet whose first look is answered, and no other before `answers` is set again."""
    fleet = sheets()
    fleet.__class__ = SlowFleet
    assert isinstance(fleet, SlowFleet)
    fleet.answers, fleet.changes = asyncio.Event(), []
    fleet.answers.set()
    return fleet


# ---- looking


async def test_all_that_was_looked_at_stands_in_a_row_with_its_time() -> None:
    async with opened(sheets()) as (pilot, _):
        await shows(pilot, "at 14:00:00  · ssh ok  · port 30000 will be free  · 64/64 shards")


async def test_keys_are_heard_while_the_node_is_looked_at_and_the_look_has_an_age() -> None:
    fleet = slow()
    async with opened(fleet) as (pilot, sheet):
        fleet.answers.clear()
        await pilot.press("a", *"NCCL_DEBUG=INFO", "enter")
        await shows(pilot, "looking again…", "+ NCCL_DEBUG")
        await until(pilot, lambda: len(fleet.changes) == 2)
        fleet.clock.go(7)
        await shows(pilot, "looking again… 7 s")
        await pilot.press("j", "M")
        await shows(pilot, "type to find")
        await pilot.press("escape")
        fleet.answers.set()
        await gone(pilot, "looking again")
        assert fleet.changes[-1] == sheet.change


async def test_many_edits_at_once_are_looked_at_once() -> None:
    fleet = slow()
    async with opened(fleet) as (pilot, sheet):
        for number in range(5):
            assert sheet.use(sheet.draft.with_edit(Edit(f"NCCL_X{number}", "1", True)))
        await until(pilot, lambda: not sheet.look.goes_on)
        assert fleet.changes == [ProfileChange(), sheet.change]


async def test_what_was_found_of_an_earlier_draft_blocks_no_later_one() -> None:
    fleet = slow()
    fleet.preflights["kimi"] = Preflight((TAKEN,))
    async with opened(fleet) as (pilot, sheet):
        assert sheet.obstacle is not None
        fleet.answers.clear()
        fleet.preflights["kimi"] = Preflight(WELL)
        await pilot.press("a", *"NCCL_DEBUG=INFO", "enter")
        await until(pilot, lambda: sheet.obstacle is None)
        fleet.answers.set()
        await shows(pilot, "port 30000 will be free")


async def test_what_must_fail_is_not_started_and_says_why() -> None:
    fleet = sheets()
    fleet.preflights["kimi"] = Preflight((*WELL, TAKEN))
    async with opened(fleet) as (pilot, sheet):
        await shows(pilot, "✗ port 30000 is held by nginx, pid 812; stop it first", "Restart    port 30000 is held")
        await pilot.press("tab", "enter")
        await shows(pilot, "✗ not now: port 30000 is held by nginx, pid 812; stop it first")
        assert fleet.asked == []
        assert pilot.app.screen is sheet


async def test_a_flag_that_this_build_refuses_blocks_at_once() -> None:
    fleet = sheets()
    async with opened(fleet) as (pilot, _):
        await pilot.press("a", *"--cuda-graph-max-bs 64", "enter", "enter")
        await shows(pilot, "✗ gone: use --cuda-graph-max-bs-decode", "Restart    --cuda-graph-max-bs gone: use")
        await shows(pilot, "0.5.23 ends the launch with an error that names the new flag")
        await pilot.press("tab", "tab", "enter")
        await shows(pilot, "✗ not now: --cuda-graph-max-bs gone: use --cuda-graph-max-bs-decode")
        assert fleet.asked == []


async def test_a_node_that_can_not_be_looked_at_is_said_and_blocks_nothing() -> None:
    fleet = sheets()
    async with opened(fleet) as (pilot, sheet):

        async def fails(*_args: object) -> Preflight:
            raise K2Error("gpu-a does not answer", code="unreachable", hint="press C on it")

        fleet.preflight = fails  # type: ignore[assignment, method-assign]
        await pilot.press("a", *"NCCL_DEBUG=INFO", "enter")
        await shows(pilot, "? not looked at: gpu-a does not answer; press C on it")
        assert sheet.obstacle is None


async def test_a_bug_in_a_look_is_a_sentence() -> None:
    fleet = sheets()
    async with opened(fleet) as (pilot, _):

        async def breaks(*_args: object) -> Preflight:
            raise KeyError("oops")

        fleet.preflight = breaks  # type: ignore[assignment, method-assign]
        await pilot.press("a", *"NCCL_DEBUG=INFO", "enter")
        await shows(pilot, "? not looked at: KeyError: 'oops'")


async def test_the_build_is_read_once_and_what_was_changed_in_it_is_shown() -> None:
    async with opened(sheets()) as (pilot, _):
        await shows(pilot, "sglang 0.5.23  modified: deepseek_v2.py  14 flags read from its source")


async def test_a_server_that_ends_meanwhile_is_started_and_not_restarted() -> None:
    fleet = sheets()
    async with opened(fleet) as (pilot, sheet):
        await shows(pilot, "Restart kimi on gpu-a")
        fleet.end("kimi", stop_asked=True)
        await shows(pilot, "Start kimi on gpu-a", "LAST RUN", "not running now")
        assert not sheet.restarts


# ---- the selected row


async def test_the_selected_row_says_what_it_takes_and_where_that_is_known_from() -> None:
    async with opened(sheets(), Draft(profile="graphs")) as (pilot, sheet):
        sheet.rows.select("--num-continuous-decode-steps")
        await pilot.press("j", "k")
        await shows(pilot, "--num-continuous-decode-steps  takes a whole number  default 1")
        await shows(pilot, "! has no effect in this version (0.5.9 to 0.5.23 parse it, and nothing reads it")
        await shows(pilot, "Decode steps between two schedules.")


async def test_nothing_jumps_while_the_cursor_moves() -> None:
    async with opened(sheets(), Draft(profile="graphs")) as (pilot, sheet):
        places = set()
        for _ in range(13):
            await pilot.press("j")
            places.add((sheet.frame.region, sheet.rows.region))
        assert len(places) == 1


async def test_where_not_all_rows_fit_what_changes_comes_first() -> None:
    async with opened(sheets(), Draft(profile="graphs"), size=(80, 24)) as (pilot, sheet):
        kinds = [row.setting.kind for row in sheet.rows.listed]
        assert kinds[:5] == ["+", "~", "-", "~", "-"]
        assert set(kinds[5:]) == {" "}
        await pilot.press("G")
        await shows(pilot, "PYTHONUNBUFFERED=1")


async def test_z_gives_the_rows_the_whole_sheet_and_takes_it_back() -> None:
    async with opened(sheets(), Draft(profile="graphs"), size=(80, 24)) as (pilot, sheet):
        await pilot.press("z")
        await gone(pilot, "Preflight")
        await shows(pilot, "PYTHONUNBUFFERED=1", "Restart")
        await pilot.press("escape")
        await shows(pilot, "Preflight")
        assert pilot.app.screen is sheet


# ---- a try


TRY = Draft.of(ProfileChange(run=LIVE, set={"disable-cuda-graph": "false"}, env={"NCCL_PROTO": "LL128"}))


async def test_a_try_shows_what_changes_alone_and_all_rows_on_z() -> None:
    async with opened(sheets(), TRY, why="try", brief=True) as (pilot, sheet):
        await shows(pilot, "Try on kimi on gpu-a", "on top of what runs", "2 changed")
        assert [row.setting.name for row in sheet.rows.listed] == ["--disable-cuda-graph", "NCCL_PROTO"]
        assert "Command" not in screen_text(pilot.app)  # type: ignore[arg-type]
        await pilot.press("z")
        await shows(pilot, "--model-path", "PYTHONUNBUFFERED")


async def test_a_try_goes_with_what_it_is_for() -> None:
    fleet = sheets()
    async with opened(fleet, TRY, why="try", brief=True) as (pilot, sheet):
        change = sheet.change
        await pilot.press("tab", "enter")
        await until(pilot, lambda: [asked[0] for asked in fleet.asked] == ["restart"])
        assert fleet.asked[0][2] == change
        assert fleet.manners == [Manner(why="try")]


# ---- how it is done


async def test_requests_may_end_first_and_a_failure_may_roll_back() -> None:
    fleet = sheets()
    async with opened(fleet) as (pilot, _):
        await shows(pilot, "2 requests running, 1 waiting: cut off   K drains up to 60 s", "● ask")
        await pilot.press("K", "F", "F")
        await shows(pilot, "up to 60 s to end   K cuts off", "○ ask   ● leave")
        await pilot.press("F")
        await shows(pilot, "● ask")
        await pilot.press("F")
        await shows(pilot, "● roll back to the run of 11-30 14:01")
        await pilot.press("tab", "enter")
        await until(pilot, lambda: fleet.manners == [Manner(60.0, OnFailure.ROLLBACK, "restart")])


async def test_requests_that_may_end_are_not_said_to_be_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = sheets()
    plan = fleet.plan

    def asks(name: str, change: ProfileChange | None = None) -> LaunchPlan:
        return replace(plan(name, change), confirm_needed="2 requests would be cut off")

    monkeypatch.setattr(fleet, "plan", asks)
    async with opened(fleet) as (pilot, _):
        await shows(pilot, "! 2 requests would be cut off")
        await pilot.press("K")
        await gone(pilot, "would be cut off")


async def test_why_a_name_must_be_typed_is_said_also_where_requests_may_end() -> None:
    always = {"gpu-a": NodeSettings("gpu-a", "gpu-a", confirm="always")}
    async with opened(sheets(sheet_settings(nodes=always))) as (pilot, _):
        await pilot.press("K")
        await shows(pilot, "K cuts off", 'confirm = "always" on gpu-a')


def test_where_there_is_no_way_back_the_reason_is_read_in_full() -> None:
    plan = replace(sheets().plan("kimi"), back_to=None, no_way_back="no run of kimi-prod was verified yet")
    told = {width: text_of(failure_line(plan, OnFailure.ASK, "F", width)) for width in (76, 160)}
    assert told[76] == "ask   F: leave   no run of kimi-prod was verified yet"
    assert told[160] == ("○ roll back   ● ask   ○ leave   F changes it   no run of kimi-prod was verified yet")


async def test_without_a_way_back_none_is_offered() -> None:
    fleet = sheets()
    fleet.back_to, fleet.no_way_back = None, "no run of kimi was verified yet"
    async with opened(fleet) as (pilot, sheet):
        await shows(pilot, "no run of kimi was verified yet")
        chosen = set()
        for _ in range(4):
            await pilot.press("F")
            chosen.add(sheet.on_failure)
        assert chosen == {OnFailure.ASK, OnFailure.LEAVE}


async def test_what_the_config_says_holds_at_first() -> None:
    fleet = sheets()
    server = replace(fleet.server("kimi").settings, on_failure="rollback", drain_s=20.0)
    fleet.set("kimi", settings=server)
    async with opened(fleet) as (pilot, _):
        await shows(pilot, "up to 20 s to end", "● roll back")


async def test_a_start_drains_nothing() -> None:
    fleet = sheets(runs=False)
    async with opened(fleet) as (pilot, _):
        assert "Requests" not in screen_text(pilot.app)  # type: ignore[arg-type]
        await pilot.press("K")
        await shows(pilot, "nothing runs that could be drained")
        await pilot.press("tab", "enter")
        await until(pilot, lambda: fleet.manners == [Manner(why="start")])


async def test_what_is_proved_after_the_start_follows_the_draft() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await shows(pilot, "After start a plain answer; reasoning apart from content; a tool call; 8 ranks")
        sheet.rows.select("--tool-call-parser")
        await pilot.press("x")
        await shows(pilot, "After start a plain answer; reasoning apart from content; 8 ranks")


# ---- keys, sizes, paint


@pytest.mark.parametrize("size", [(200, 50), (120, 40), (80, 24)], ids=str)
@pytest.mark.parametrize("kind", ["restart", "blocked", "confirm", "try"])
async def test_what_must_be_seen_is_seen_on_every_size(size: tuple[int, int], kind: str) -> None:
    always = {"gpu-a": NodeSettings("gpu-a", "gpu-a", confirm="always")}
    fleet = sheets(sheet_settings(nodes=always) if kind == "confirm" else None)
    fleet.warnings = ("gpu-a's clock is 3 s behind",)
    if kind == "blocked":
        fleet.preflights["kimi"] = Preflight((*WELL, TAKEN))
    draft = TRY if kind == "try" else Draft(profile="graphs")
    async with opened(fleet, draft, size=size, brief=kind == "try") as (pilot, sheet):
        words = ["Restart", "Cancel", "Preflight", "After start", "On failure", "clock is 3 s behind", "? help"]
        words += ["Type the node's name (gpu-a):"] if kind == "confirm" else []
        words += ["✗ port 30000 is held by nginx"] if kind == "blocked" else []
        await shows(pilot, *words)
        assert all(row in sheet.rows.listed[: sheet.rows.page] for row in sheet.rows_now() if row.is_changed)
        assert all(len(row) == size[0] for row in rows_of(pilot.app))  # type: ignore[arg-type]


async def test_no_action_of_the_sheet_needs_ctrl_or_a_mouse() -> None:
    async with opened(sheets()) as (pilot, sheet):
        assert set(sheet.SHOWN) <= set(sheet.HERE)
        for action_id in sheet.HERE:
            assert any("ctrl" not in key for key in BY_ID[action_id].keys), action_id
            assert hasattr(sheet, f"action_{action_id.replace('.', '_')}"), action_id
        await pilot.press("?")
        await shows(pilot, "Keys of the launch sheet", "Choose what follows a failure", "Save this as a profile")


async def test_nothing_is_painted_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(sheets()) as (pilot, sheet):
        await stands_still(pilot)
        painted: list[object] = []
        monkeypatch.setattr(LaunchSheet, "draw", lambda self: painted.append(self))
        sheet._tick()
        assert painted == []
        sheet.k2.fleet.set("kimi", serving=ServingReading(0.0, "metrics", running=5))  # type: ignore[attr-defined]
        sheet._tick()
        assert painted != []


# ---- words


@pytest.mark.parametrize(
    ("running", "drain_s", "words"),
    [
        (None, 0.0, "— requests running: cut off   K drains up to 60 s"),
        (0, 0.0, "no requests running   K drains up to 60 s"),
        (1, 0.0, "1 request running: cut off   K drains up to 60 s"),
        (3, 60.0, "3 requests running: up to 60 s to end   K cuts off"),
    ],
)
def test_requests_are_told_with_their_fate(running: int | None, drain_s: float, words: str) -> None:
    serving = None if running is None else ServingReading(0.0, "metrics", running=running)
    assert text_of(drain_line(serving, drain_s, 60.0, "K")) == words


def test_what_weighs_most_comes_first_and_each_on_a_line_of_its_own() -> None:
    low = PreflightItem("disk", Weight.WARN, "disk 2 GB left")
    lines = [text_of(line) for line in look_lines(Look(Preflight((*WELL, low, TAKEN)), 0.0), 100, 4, 0.0)]
    assert lines[0] == "Preflight   ✗ port 30000 is held by nginx, pid 812; stop it first"
    assert lines[1].strip() == "! disk 2 GB left"
    assert "ssh ok" in lines[2]


def test_what_has_no_room_is_counted() -> None:
    lines = [text_of(line) for line in look_lines(Look(Preflight(WELL), 0.0), 80, 1, 0.0)]
    assert lines == ["Preflight   at 00:00:00  · ssh ok  · port 30000 will be free  · 3 more"]


def test_every_line_keeps_to_its_width() -> None:
    long = PreflightItem("model", Weight.BLOCK, "shard " * 60, "fetch " * 60)
    plan = sheets().plan("kimi")
    for width in (60, 76, 116):
        lines = look_lines(Look(Preflight((*WELL, long)), 0.0), width, 6, 0.0)
        lines.append(failure_line(plan, OnFailure.ASK, "F", width))
        assert all(width_of(line) <= width for line in lines)


def test_an_obstacle_is_the_first_thing_that_must_fail() -> None:
    plan = sheets().plan("kimi")
    bad = SettingCheck("--x", Weight.BLOCK, "is gone")
    assert obstacle(plan, Look(), read_only=False) is None
    assert obstacle(replace(plan, checks=(NO_EFFECT, bad)), Look(), read_only=False) == "--x is gone"
    assert obstacle(plan, Look(Preflight((), (bad,))), read_only=False) == "--x is gone"
    assert obstacle(plan, Look(Preflight((TAKEN,)), since=1.0), read_only=False) is None


def test_many_values_that_are_only_read_back_are_counted() -> None:
    plan = replace(sheets().plan("kimi"), expects=("a plain answer", *(f"--x{n} as resolved" for n in range(9))))
    assert [text_of(line) for line in after_lines(plan, 60, 2)] == ["a plain answer; 9 values as resolved"]


def test_a_build_that_is_not_known_says_so() -> None:
    assert text_of(build_line(None, "no engine was found", reading=False)) == "not read: no engine was found"
    assert text_of(build_line(None, None, reading=True)) == "reading which flags it accepts…"
    many = replace(BUILD, modified=tuple(f"srt/f{number}.py" for number in range(5)), note="a checkout")
    words = text_of(build_line(many, None, reading=False))
    assert "modified: f0.py, f1.py, f2.py and 2 more" in words
    assert words.endswith("a checkout")


def test_a_row_that_is_taken_away_has_no_check() -> None:
    gone = Setting(NO_EFFECT.name, "4", None, False)
    kept = Setting(NO_EFFECT.name, "4", "4", False)
    assert [row.check for row in rows_between([gone, kept], {}, (NO_EFFECT,), BUILD)] == [None, NO_EFFECT]
