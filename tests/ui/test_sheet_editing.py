"""The launch sheet is edited by type: what is wrong is said, and what was typed is not lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from k2tui.core.errors import K2Error
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.runs import ProcessIdentity
from k2tui.core.verbs import ProfileChange
from k2tui.ui.screens.help import ChooseScreen
from k2tui.ui.screens.sheet import LaunchSheet
from k2tui.ui.sheet_state import Draft, Edit
from tests.ui.helpers import app_on, gone, hear, screen_text, shows, until
from tests.ui.sheets import SheetFleet, sheet_settings, sheets

LIVE = "20261130T140100Z-0001"


@asynccontextmanager
async def opened(
    fleet: SheetFleet, draft: Draft | None = None, *, size: tuple[int, int] = (120, 40), **options: Any
) -> AsyncIterator[tuple[Pilot[Any], LaunchSheet]]:
    """The sheet on this fleet, its build read and its node looked at."""
    app = app_on(fleet)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        sheet = LaunchSheet(fleet, "kimi", draft, **options)
        app.push_screen(sheet)
        await hear(pilot, fleet)
        await until(pilot, lambda: sheet.look.found is not None and not sheet.is_reading_build)
        yield pilot, sheet


def typed(sheet: LaunchSheet) -> str:
    """What stands in the field."""
    return "" if sheet.prompt is None else sheet.prompt.field.value


# ---- add


async def test_a_half_typed_flag_is_finished_and_then_its_value() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *"--reas")
        await shows(pilot, "--reasoning-parser ", "Takes the reasoning out of an answer.")
        await pilot.press("tab")
        assert typed(sheet) == "--reasoning-parser "
        await shows(pilot, "--reasoning-parser gpt-oss")
        await pilot.press("q", "tab")
        assert typed(sheet) == "--reasoning-parser qwen3"
        await pilot.press("enter")
        await until(pilot, lambda: sheet.draft.change().set == {"reasoning-parser": "qwen3"})


async def test_the_arrows_choose_what_enter_takes() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *"--cuda", "down", "down", "enter")
        assert typed(sheet) == "--cuda-graph-max-bs-decode "
        await pilot.press(*"64", "enter")
        await until(pilot, lambda: sheet.draft.change().set == {"cuda-graph-max-bs-decode": "64"})
        await shows(pilot, "+ --cuda-graph-max-bs-decode")


async def test_known_variables_are_offered_with_their_values() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *"nccl_prot", "tab")
        assert typed(sheet) == "NCCL_PROTO="
        await shows(pilot, "NCCL_PROTO=LL128")
        await pilot.press(*"LL1", "tab", "enter")
        await until(pilot, lambda: sheet.draft.change().env == {"NCCL_PROTO": "LL128"})


async def test_a_flag_that_the_build_has_not_is_doubted_once() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *"--max-total-token 5", "enter")
        await shows(pilot, "✗ sglang 0.5.23 has no --max-total-token: did you mean --max-total-tokens?")
        assert typed(sheet) == "--max-total-token 5"
        await pilot.press("enter")
        await until(pilot, lambda: sheet.draft.change().set == {"max-total-token": "5"})


async def test_a_wrong_value_is_refused_and_can_be_corrected() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *"--max-total-tokens 64K", "enter")
        await shows(pilot, "✗ --max-total-tokens takes a whole number, perhaps with a unit: 64k")
        await pilot.press("backspace", "k")
        await gone(pilot, "✗")
        await pilot.press("enter")
        await until(pilot, lambda: sheet.draft.change().set == {"max-total-tokens": "64k"})


async def test_json_is_read_before_it_is_taken() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *'--json-model-override-args {"a": 1,}', "enter")
        await shows(pilot, "takes JSON", "in column 9")
        assert sheet.draft.edits == ()


async def test_a_flag_of_several_words_becomes_several_words() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *"--cuda-graph-bs-decode 1 2 4", "enter")
        await until(pilot, lambda: sheet.plan.profile.argv[-6:-2] == ("--cuda-graph-bs-decode", "1", "2", "4"))


async def test_without_a_build_any_flag_can_be_added() -> None:
    async with opened(sheets(build=False)) as (pilot, sheet):
        await shows(pilot, "not read: no engine was found for kimi")
        await pilot.press("a", *"--never-heard-of 1", "enter")
        await until(pilot, lambda: sheet.draft.change().set == {"never-heard-of": "1"})


async def test_esc_closes_the_field_and_not_the_sheet() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *"--tp", "escape")
        await until(pilot, lambda: sheet.prompt is None)
        assert pilot.app.screen is sheet
        assert sheet.draft.edits == ()


# ---- edit


async def test_a_switch_is_turned_by_one_key() -> None:
    async with opened(sheets(), Draft(profile="old")) as (pilot, sheet):
        sheet.rows.select("--disable-cuda-graph")
        await pilot.press("e")
        await until(pilot, lambda: sheet.draft.change().set == {"disable-cuda-graph": "false"})
        await shows(pilot, "- --disable-cuda-graph")
        await pilot.press("e")
        await until(pilot, lambda: sheet.draft.change().set == {"disable-cuda-graph": "true"})
        await shows(pilot, "nothing changed")


async def test_one_of_some_choices_is_picked_from_a_list() -> None:
    async with opened(sheets()) as (pilot, sheet):
        sheet.rows.select("--reasoning-parser")
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChooseScreen))
        await shows(pilot, "kimi_k2", "now", "qwen3-thinking")
        await pilot.press(*"glm", "enter")
        await until(pilot, lambda: sheet.draft.change().set == {"reasoning-parser": "glm45"})


async def test_a_number_is_looked_at() -> None:
    async with opened(sheets()) as (pilot, sheet):
        sheet.rows.select("--mem-fraction-static")
        await pilot.press("e")
        await shows(pilot, "takes a number. Share of memory for weights and KV pool.")
        await pilot.press(*"x", "enter")
        await shows(pilot, "✗ --mem-fraction-static takes a number, found 0.9x")
        await pilot.press("backspace", "5", "enter")
        await until(pilot, lambda: sheet.draft.change().set == {"mem-fraction-static": "0.95"})


async def test_all_known_values_of_a_variable_are_offered_for_the_present_one() -> None:
    async with opened(sheets()) as (pilot, _):
        sheet: Any = pilot.app.screen
        sheet.rows.select("NCCL_PROTO")
        await pilot.press("e")
        await shows(pilot, "NCCL_PROTO= LL", "Simple", "LL128")


async def test_a_secret_is_not_shown_while_another_is_typed() -> None:
    settings = sheet_settings()
    base = replace(settings.profiles["base"], env={"HF_TOKEN": "hf_verysecretindeed"})
    fleet = sheets(replace(settings, profiles={**settings.profiles, "base": base}))
    async with opened(fleet) as (pilot, sheet):
        sheet.rows.select("HF_TOKEN")
        await pilot.press("e")
        await shows(pilot, "the present value is a secret and is not shown")
        assert typed(sheet) == ""
        await pilot.press(*"hf_anothersecret")
        assert "anothersecret" not in screen_text(pilot.app)  # type: ignore[arg-type]
        await pilot.press("enter")
        await until(pilot, lambda: sheet.draft.change().env == {"HF_TOKEN": "hf_anothersecret"})
        assert "secret" not in sheet.plan.command


@pytest.mark.parametrize(("name", "key"), [("--port", "e"), ("--port", "x"), ("PYTHONUNBUFFERED", "x")])
async def test_what_no_profile_gives_says_where_it_is_changed(name: str, key: str) -> None:
    async with opened(sheets()) as (pilot, sheet):
        sheet.rows.select(name)
        await pilot.press(key)
        await shows(pilot, f"✗ {name} is ")
        assert sheet.draft.edits == ()


# ---- take away, take back


async def test_what_was_removed_is_had_again_by_the_same_key() -> None:
    async with opened(sheets()) as (pilot, sheet):
        sheet.rows.select("NCCL_ALGO")
        await pilot.press("x")
        await shows(pilot, "- NCCL_ALGO")
        assert sheet.change.unset == ("NCCL_ALGO",)
        await pilot.press("x")
        await until(pilot, lambda: sheet.draft.edits == ())
        await gone(pilot, "- NCCL_ALGO")


async def test_what_the_profile_has_not_is_kept_from_the_run() -> None:
    async with opened(sheets()) as (pilot, sheet):
        sheet.rows.select("--num-continuous-decode-steps")
        await shows(pilot, "- --num-continuous-decode-steps")
        await pilot.press("x")
        await until(pilot, lambda: sheet.draft.change().set == {"num-continuous-decode-steps": "1"})


async def test_a_variable_that_was_added_and_removed_is_no_change() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *"NCCL_DEBUG=INFO", "enter")
        await shows(pilot, "+ NCCL_DEBUG")
        await pilot.press("x")
        await gone(pilot, "NCCL_DEBUG")
        assert sheet.change == ProfileChange()


async def test_another_beginning_is_taken_back_too() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("a", *"NCCL_DEBUG=INFO", "enter", "M", *"graphs", "enter")
        await shows(pilot, "profile graphs")
        await pilot.press("U")
        await shows(pilot, "profile reason", "+ NCCL_DEBUG")
        await pilot.press("U", "U")
        await shows(pilot, "there is nothing to take back")
        assert sheet.draft == Draft()


# ---- begin from something else


async def test_profiles_are_offered_with_how_their_last_run_went() -> None:
    async with opened(sheets()) as (pilot, _):
        await pilot.press("M")
        await shows(pilot, "old     verified 11-30 14:01", "graphs  extends base   never run here")


async def test_a_pasted_command_of_several_lines_is_begun_from() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("I", "enter")
        await shows(pilot, "command:")
        await until(pilot, lambda: sheet.prompt is not None and sheet.prompt.field.has_focus)
        text = "export NCCL_PROTO=Simple\rpython3 -m sglang.launch_server \\\r  --model-path /m --tp 4\r"
        pilot.app.post_message(events.Paste(text))
        await shows(pilot, "from a pasted command", "~ --tp-size", "Simple")
        assert sheet.prompt is None
        assert sheet.plan.profile.argv[:5] == ("python3", "-m", "sglang.launch_server", "--model-path", "/m")


async def test_a_pasted_command_that_is_wrong_stands_there_to_be_corrected() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("I", "enter")
        await until(pilot, lambda: sheet.prompt is not None and sheet.prompt.field.has_focus)
        pilot.app.post_message(events.Paste("cd /srv\npython3 -m sglang.launch_server \\\n --model-path /m"))
        await shows(pilot, "✗ found cd, expected the program alone")
        assert typed(sheet) == "cd /srv; python3 -m sglang.launch_server   --model-path /m"
        assert sheet.draft == Draft()


async def test_an_earlier_run_is_begun_from() -> None:
    async with opened(sheets()) as (pilot, sheet):
        await pilot.press("I")
        await shows(pilot, "Begin from", "old: verified 11-30 14:01")
        await pilot.press("down", "enter")
        await shows(pilot, "on top of what runs", "nothing changed")
        assert sheet.change == ProfileChange(run=LIVE)


async def test_a_process_that_somebody_else_started_is_begun_from_without_its_secrets() -> None:
    fleet = sheets()
    process = NodeProcess(ProcessIdentity("boot", 812, 5), 1, 812, "bob", "python3 -m sglang.launch_server")
    argv = ("python3", "-m", "sglang.launch_server", "--model-path", "/m", "--api-key", "***", "--tp-size", "2")
    fleet.find("stray", FoundServer(process, "sglang", argv, env=(("NCCL_ALGO", "Tree"),), port=30001))
    async with opened(fleet) as (pilot, sheet):
        await pilot.press("I", *"pid 812", "enter")
        await shows(pilot, "from a pasted command", "left out, because they are secrets: --api-key")
        assert "***" not in " ".join(sheet.plan.profile.argv)
        assert sheet.plan.profile.env["NCCL_ALGO"] == "Tree"


# ---- save


async def test_it_is_saved_as_a_profile_that_the_server_uses() -> None:
    fleet = sheets()
    async with opened(fleet) as (pilot, _):
        await pilot.press("a", *"NCCL_DEBUG=INFO", "enter", "W", *"loud", "enter")
        await shows(pilot, "Save the profile", "write and use it", "kimi starts with loud from now on")
        await pilot.press("up", "enter")
        await shows(pilot, "saved as profile loud in /home/operator/.config/k2tui/config.toml; kimi starts with it")
        assert fleet.saved == [("kimi", ProfileChange(env={"NCCL_DEBUG": "INFO"}), "loud", True)]


async def test_a_profile_that_is_there_is_written_over_only_after_a_second_enter() -> None:
    fleet = sheets()
    async with opened(fleet) as (pilot, _):
        await pilot.press("W", *"base", "enter")
        await shows(pilot, "✗ there is a profile base already")
        await pilot.press("enter")
        await shows(pilot, "as [profiles.base]")
        await pilot.press("enter")
        await until(pilot, lambda: [(name, use) for _, _, name, use in fleet.saved] == [("base", False)])


async def test_a_config_that_can_not_be_written_is_said() -> None:
    fleet = sheets()

    async def refuse(*_args: object, **_options: object) -> str:
        raise K2Error("the config changed since it was read", code="config_changed", hint="open k2tui again")

    fleet.save_profile = refuse  # type: ignore[method-assign]
    async with opened(fleet) as (pilot, _):
        await pilot.press("W", *"loud", "enter")
        await shows(pilot, "as [profiles.loud]")
        await pilot.press("enter")
        await shows(pilot, "✗ the config changed since it was read; open k2tui again")
        await asyncio.sleep(0)


# ---- the draft alone


def test_a_change_that_was_worded_already_becomes_edits_and_the_same_change_again() -> None:
    change = ProfileChange(run=LIVE, set={"tp-size": "4", "x": "false", "y": "true"}, unset=("A",), env={"B": "1"})
    draft = Draft.of(change)
    assert draft.edits == (
        Edit("tp-size", "4", False),
        Edit("x", None, False),
        Edit("y", "", False),
        Edit("A", None, True),
        Edit("B", "1", True),
    )
    assert draft.change() == change


def test_a_reset_takes_edits_first_and_then_the_beginning() -> None:
    draft = Draft(edits=(Edit("a", "1", False),)).begun_from(profile="p").with_edit(Edit("b", "2", False))
    assert draft.reset() == replace(draft, edits=())
    assert draft.reset().reset() == Draft()
