"""Trying a change, repeating it, going back, proving, and a restart that was interrupted: all by keys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.run_words import tried_words
from k2tui.core.settings import NodeSettings
from k2tui.core.verbs import Manner, OnFailure, ProfileChange
from k2tui.ui.app import K2App
from k2tui.ui.commandline import complaint
from k2tui.ui.screens.box import BoxScreen
from k2tui.ui.screens.question import QuestionDialog
from k2tui.ui.screens.sheet import LaunchSheet
from k2tui.ui.screens.verify import VerifyDialog
from k2tui.ui.widgets.typing_help import TypingHelp, wrong_rows
from tests.fakes.fleet import connected, settings_of
from tests.ui.helpers import app_on, gone, hear, screen_text, shows, until
from tests.ui.tried import EFFECTS, TriedFleet, history, interrupted, proof, tried, verified
from tests.ui.working import found

SIZES = [(120, 40), (80, 24)]


async def confirm(pilot: object, app: K2App, fleet: TriedFleet) -> None:
    """Press the sheet's button."""
    await until(pilot, lambda: isinstance(app.screen, LaunchSheet))  # type: ignore[arg-type]
    await hear(pilot, fleet, ["right", "enter"])  # type: ignore[arg-type]


@pytest.mark.parametrize("size", SIZES)
async def test_a_change_is_tried_with_one_line_and_one_confirm(size: tuple[int, int]) -> None:
    fleet = tried()
    live = fleet.server("kimi").run
    app = app_on(fleet)
    assert live is not None
    async with app.run_test(size=size) as pilot:
        await pilot.press("t")
        await shows(pilot, "try ")
        await pilot.press(*"NCCL_PROTO=LL128", "enter")
        await until(pilot, lambda: isinstance(app.screen, LaunchSheet))
        await shows(pilot, "NCCL_PROTO", "LL128")
        await confirm(pilot, app, fleet)
        await until(pilot, lambda: len(fleet.asked) == 1)
        verb, name, change, _ = fleet.asked[0]
        assert (verb, name, change.run, dict(change.env)) == ("restart", "kimi", live.run_id, {"NCCL_PROTO": "LL128"})
        assert [manner.why for manner in fleet.manners if manner is not None] == ["try"]


async def test_at_the_end_the_difference_is_told_and_kept() -> None:
    fleet = tried()
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.press("t")
        await shows(pilot, "try ")
        await pilot.press(*"+disable-cuda-graph", "enter")
        await confirm(pilot, app, fleet)
        await shows(pilot, "+disable-cuda-graph: ready after 32 s (32 s before)")
        told = [event.text for event in app.own_events if "+disable-cuda-graph" in event.text]
        assert told
        assert not told[0].startswith("kimi")  # the row names it


def test_the_difference_of_a_try_names_what_was_proved() -> None:
    assert tried_words("+a 1", 34.0, 31.0, EFFECTS[:3]) == (
        "+a 1: ready after 31 s (34 s before); proved: completion, identity, reasoning"
    )
    assert tried_words("+a 1", None, None, ()) == "+a 1: ready after —"


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("tp-size 4", "'tp-size' follows no flag"),
        ("-no-such-flag", "has no no-such-flag to unset"),
        ("NCCL_PROTO=LL LL", "takes no further value"),
    ],
)
async def test_wrong_words_stay_in_the_prompt_with_what_is_wrong(typed: str, why: str) -> None:
    fleet = tried()
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("t")
        await shows(pilot, "try ")
        await pilot.press(*typed, "enter")
        await shows(pilot, why, f"try {typed}")
        assert isinstance(app.screen, BoxScreen)
        assert app.screen.prompt is not None
        await pilot.press("escape")
        await gone(pilot, why)
        assert fleet.asked == []


async def test_what_is_wrong_is_told_in_full() -> None:
    app = app_on(tried())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("t")
        await shows(pilot, "try ")
        await pilot.press(*"-no-such-flag", "enter")
        await shows(pilot, "has no no-such-flag to unset")
        help_rows = app.screen.query_one(TypingHelp)
        assert isinstance(app.screen, BoxScreen)
        wrong = complaint(app, app.screen, "try -no-such-flag")
        assert wrong is not None
        assert help_rows.size.height == 1 + len(wrong_rows(wrong, 80)) > 3


async def test_what_is_typed_is_completed_from_the_build_with_its_help() -> None:
    app = app_on(tried())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("t")
        await shows(pilot, "try ")
        await pilot.press(*"+rea")
        await shows(pilot, "How reasoning is told from content")
        await pilot.press("tab")
        await shows(pilot, "try +reasoning-parser kimi_k2", "qwen3")
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: app.screen.prompt.field.value == "try +reasoning-parser qwen3")  # type: ignore[attr-defined]


async def test_variables_are_completed_and_a_blank_is_not_put_behind_the_sign() -> None:
    app = app_on(tried())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("t")
        await shows(pilot, "try ")
        await pilot.press(*"NCCL_PROT", "tab")
        await until(pilot, lambda: app.screen.prompt.field.value == "try NCCL_PROTO=")  # type: ignore[attr-defined]


async def test_the_colon_tries_too() -> None:
    fleet = tried()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":")
        await until(pilot, lambda: app.screen.prompt is not None)  # type: ignore[attr-defined]
        await pilot.press(*"try -NCCL_ALGO", "enter")
        await until(pilot, lambda: isinstance(app.screen, LaunchSheet))
        await shows(pilot, "NCCL_ALGO")


async def test_a_dot_repeats_the_last_try_on_another_server() -> None:
    fleet = tried(2)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(".")
        await shows(pilot, "nothing was tried yet")
        await pilot.press("t")
        await shows(pilot, "try ")
        await pilot.press(*"NCCL_PROTO=Simple", "enter")
        await until(pilot, lambda: isinstance(app.screen, LaunchSheet))
        await hear(pilot, fleet, ["escape"])
        await until(pilot, lambda: isinstance(app.screen, BoxScreen))
        await pilot.press("j", ".")
        await until(pilot, lambda: isinstance(app.screen, LaunchSheet))
        await shows(pilot, "Try on kimi-2", "NCCL_PROTO", "Simple")


async def test_undo_opens_the_sheet_on_the_last_verified_configuration() -> None:
    fleet = tried()
    runs = history(fleet)
    fleet.undo_to["kimi"] = runs[1].run_id
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("u")
        await confirm(pilot, app, fleet)
        await until(pilot, lambda: [change.run for _, _, change, _ in fleet.asked] == [runs[1].run_id])
        assert [manner.why for manner in fleet.manners if manner is not None] == ["undo"]


async def test_undo_says_why_there_is_nothing_to_go_back_to() -> None:
    app = app_on(tried())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("u")
        await shows(pilot, "undo kimi: no earlier run with other settings was verified; H shows its runs")


@pytest.mark.parametrize("size", SIZES)
async def test_verify_shows_each_effect_with_its_outcome_and_what_it_cost(size: tuple[int, int]) -> None:
    fleet = tried()
    fleet.proofs["kimi"] = proof()
    app = app_on(fleet)
    async with app.run_test(size=size) as pilot:
        await pilot.press("v")
        await shows(pilot, "Verify kimi", "183 tokens in 6.4 s", "modified: models/deepseek_v2.py")
        text = screen_text(app)
        for outcome in ("proved", "not proved", "no effect", "cannot be proved"):
            assert outcome in text
        await hear(pilot, fleet, ["enter"])
        await until(pilot, lambda: isinstance(app.screen, BoxScreen))


async def test_more_effects_than_fit_are_counted() -> None:
    fleet = tried()
    fleet.proofs["kimi"] = replace(proof(), effects=EFFECTS * 4)
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("v")
        await shows(pilot, "183 tokens in 6.4 s", "more; the description of kimi lists them all", "[ Close ]")


async def test_a_verify_that_is_refused_says_why_in_its_dialog() -> None:
    fleet = tried(read_only=True)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, VerifyDialog))
        await shows(pilot, "verify kimi: k2tui is read-only")


async def test_effects_stand_in_the_state_pane_and_in_the_description() -> None:
    fleet = tried()
    fleet.set("kimi", proof=proof(), proof_at=fleet.clock.at)
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "reasoning apart from", "modified: models/deepseek_v2.py")
        await pilot.press("d")
        await shows(pilot, "modified    models/deepseek_v2.py", "the call came back as text")


async def test_after_a_failure_the_operator_is_asked_and_leaving_is_the_default() -> None:
    fleet = tried()
    good = verified(fleet, "kimi", fleet.clock.time() - 7200)
    fleet.fails["kimi"] = good.run_id
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("t")
        await shows(pilot, "try ")
        await pilot.press(*"+disable-cuda-graph", "enter")
        await confirm(pilot, app, fleet)
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await shows(pilot, "roll back?", good.run_id, "verified 2 h ago", "---disable-cuda-graph", "[ Leave it ]")
        await hear(pilot, fleet, ["enter"])
        await shows(pilot, "kimi is left as it is")
        assert len(fleet.asked) == 1


async def test_a_roll_back_restarts_what_was_verified() -> None:
    fleet = tried()
    good = verified(fleet, "kimi", fleet.clock.time() - 7200)
    fleet.fails["kimi"] = good.run_id
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("t")
        await shows(pilot, "try ")
        await pilot.press(*"+disable-cuda-graph", "enter")
        await confirm(pilot, app, fleet)
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        fleet.fails.clear()
        await hear(pilot, fleet, ["right", "enter"])
        await until(pilot, lambda: len(fleet.asked) == 2)
        assert fleet.asked[1][2] == ProfileChange(run=good.run_id)
        assert fleet.manners[-1] == Manner(why="rollback")
        await shows(pilot, "kimi is ready and proved")


async def test_the_question_waits_until_nothing_is_typed() -> None:
    fleet = tried()
    good = verified(fleet, "kimi", fleet.clock.time() - 7200)
    fleet.fails["kimi"] = good.run_id
    fleet.hold = True
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        app.launch("kimi", ProfileChange(), restart=True, confirm=None, manner=Manner(on_failure=OnFailure.ASK))
        await pilot.press("/", "x")
        fleet.gate.set()
        await until(pilot, lambda: "kimi answers" in (app.note.text if app.note else ""))
        assert isinstance(app.screen, BoxScreen)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))


@pytest.mark.parametrize("old_lives", [True, False])
@pytest.mark.parametrize("node_count", [1, 4])
async def test_an_interrupted_restart_stands_on_the_home_screen(old_lives: bool, node_count: int) -> None:
    fleet = tried(node_count)
    interrupted(fleet, old_lives=old_lives)
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "restart interrupted: run 11-30 14:30 never")
        await shows(pilot, "one runs on" if old_lives else "one is gone")


@pytest.mark.parametrize(
    ("keys", "verbs"), [(["enter"], []), (["right", "enter"], ["take_back"]), (["right", "right", "enter"], ["go_on"])]
)
async def test_an_interrupted_restart_is_left_undone_or_continued(keys: list[str], verbs: list[str]) -> None:
    fleet = tried()
    planned = interrupted(fleet)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("r")
        await shows(pilot, "was interrupted", planned.run_id, "+--disable-cuda-graph", "[ Leave it ]")
        await hear(pilot, fleet, keys)
        await until(pilot, lambda: isinstance(app.screen, BoxScreen))
        await until(pilot, lambda: [verb for verb, *_ in fleet.asked] == verbs)


async def test_an_interrupted_restart_on_a_guarded_node_wants_its_name() -> None:
    fleet = tried(nodes={"gpu-a": NodeSettings("gpu-a", "gpu-a", confirm="always")})
    interrupted(fleet)
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("r")
        await shows(pilot, "Type the node's name")
        await hear(pilot, fleet, ["right", "enter", *"gpu-a", "tab", "right", "enter"])
        await until(pilot, lambda: [(verb, given) for verb, _, _, given in fleet.asked] == [("take_back", "gpu-a")])


@pytest.mark.parametrize("key", ["u", "."])
async def test_read_only_still_shows_and_never_does(key: str) -> None:
    fleet = tried(read_only=True)
    runs = history(fleet)
    fleet.undo_to["kimi"] = runs[1].run_id
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        app.last_try = ProfileChange(env={"NCCL_PROTO": "LL"})
        await pilot.press(key)
        await confirm(pilot, app, fleet)
        await pilot.pause()
        assert fleet.asked == []


async def test_read_only_refuses_to_go_on() -> None:
    fleet = tried(read_only=True)
    interrupted(fleet)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("r")
        await shows(pilot, "restart kimi: not now, k2tui is read-only")


async def test_a_server_that_does_not_run_is_tried_on_its_profile() -> None:
    fleet = connected(settings_of())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        app.open_try("kimi", ProfileChange(env={"NCCL_PROTO": "LL128"}))
        await shows(pilot, "Try on kimi on gpu-a", "not running now")


async def test_a_refused_verb_says_what_to_what_and_why() -> None:
    fleet = tried()
    fleet.refusal = K2Error("kimi: port 30000 is taken by pid 77", code="port_taken", subject="kimi", hint="stop that")
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        app.launch("kimi", ProfileChange(), restart=True, confirm=None)
        await shows(pilot, "kimi: port 30000 is taken by pid 77", "stop that")


@pytest.mark.parametrize("size", SIZES)
async def test_a_found_server_is_adopted_after_its_nodes_name_was_typed(size: tuple[int, int]) -> None:
    fleet = tried()
    fleet.find("vllm-8000", found())
    app = app_on(fleet)
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "vllm-8000")
        await pilot.press("j", "i")
        await shows(pilot, "[servers.vllm-8000]")
        await pilot.press("r")
        await shows(pilot, "Start vllm-8000 on gpu-a anew as one of yours", "512", "ann")
        await hear(pilot, fleet, ["right", "enter"])
        await shows(pilot, "that is not the name of the node")
        assert fleet.asked == []
        await pilot.press(*"gpu-a", "tab", "right", "enter")
        await until(pilot, lambda: [(verb, given) for verb, _, _, given in fleet.asked] == [("adopt", "gpu-a")])


async def test_a_name_that_is_typed_at_once_is_not_lost_and_enter_goes_to_cancel() -> None:
    fleet = tried()
    fleet.find("vllm-8000", found())
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "vllm-8000")
        await pilot.press("j", "i")
        await shows(pilot, "start it anew from here with r")
        await pilot.press("r")
        await shows(pilot, "Type the node's name")
        await hear(pilot, fleet, [*"gpu-a", "enter"])
        await shows(pilot, "[ Cancel ]", "gpu-a")
        assert fleet.asked == []
        await pilot.press("right", "enter")
        await until(pilot, lambda: [(verb, given) for verb, _, _, given in fleet.asked] == [("adopt", "gpu-a")])


@pytest.mark.parametrize("key", ["t", "u", "v"])
async def test_no_verb_touches_what_somebody_else_started(key: str) -> None:
    fleet = tried()
    fleet.find("vllm-8000", found())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "vllm-8000")
        await pilot.press("j", key)
        await shows(pilot, "vllm-8000: not started by k2tui", "i shows the config that adopts it")
        assert fleet.asked == []
