"""How a failed start is told."""

from __future__ import annotations

from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.telling import failure_sentence, proof_json
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import Proof, ServerView

RUN = "20260101T000000Z-0001"


def stopped(*, asked: bool) -> ServerView:
    run = Run("kimi", RUN, f"/runs/kimi/{RUN}", exit_code=143, stop_asked=asked)
    launch = Launch(phase=LaunchPhase.WEIGHTS, kind=LaunchKind.STOPPED)
    return ServerView(ServerSettings("kimi", "gpu-a"), run=run, launch=launch)


def test_a_start_that_somebody_stopped_says_so() -> None:
    assert failure_sentence(stopped(asked=True)) == "stopped in weights: somebody asked it to stop"


def test_an_end_that_nobody_asked_for_is_told_by_its_exit() -> None:
    assert failure_sentence(stopped(asked=False)) == "stopped in weights: exit 143, and its log does not say why"


def test_a_proof_keeps_its_old_words_for_programs_and_has_the_new_ones_beside_them() -> None:
    effects = (
        Effect("completion", Outcome.PROVED, "17 tokens in 0.3 s"),
        Effect("reasoning", Outcome.NOT_PROVED, "thinking stands in content", "--reasoning-parser"),
        Effect("value", Outcome.NO_EFFECT, "no effect", "--x"),
        Effect("environment", Outcome.CANNOT, "dark", "NCCL_PROTO"),
    )
    told = proof_json(Proof(False, "thinking stands in content", effects, 120, 1.5, 0.3))
    assert (told["ok"], told["tokens"], told["elapsed_s"], told["completion_s"]) == (False, 120, 1.5, 0.3)
    assert told["checks"] == [
        {"check": "completion", "ok": True, "detail": "17 tokens in 0.3 s"},
        {"check": "reasoning", "ok": False, "detail": "thinking stands in content"},
        {"check": "value", "ok": None, "detail": "no effect"},
        {"check": "environment", "ok": None, "detail": "dark"},
    ]
    effects_told = told["effects"]
    assert isinstance(effects_told, list)
    assert effects_told[1:3] == [
        {
            "check": "reasoning",
            "outcome": "not proved",
            "text": "thinking stands in content",
            "setting": "--reasoning-parser",
        },
        {"check": "value", "outcome": "no effect", "text": "no effect", "setting": "--x"},
    ]
