"""The diff between what was proved and what is to run chooses the checks; a verdict is made of what they saw."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from k2tui.core.builds import Build, BuildFlag
from k2tui.core.effects import model_names, proof_of, verdict_of, wanted
from k2tui.core.verdicts import Effect, Outcome

BASE = ("python3", "-m", "sglang.launch_server", "--model-path", "/m/kimi", "--tp-size", "8")
REASON = (*BASE, "--reasoning-parser", "kimi_k2")
BOTH = (*REASON, "--tool-call-parser", "kimi_k2")
ALWAYS = ["identity", "completion"]


@pytest.mark.parametrize(
    ("old", "new", "checks"),
    [
        (BASE, BASE, []),
        (BOTH, (*BOTH, "--mem-fraction-static", "0.8"), ["value mem-fraction-static"]),
        (BASE, REASON, ["reasoning"]),
        (REASON, BASE, ["value reasoning-parser"]),
        # the scene of the lost reasoning: the tool call must still parse
        ((*BASE, "--tool-call-parser", "kimi_k2"), BOTH, ["reasoning", "tools"]),
        (BOTH, (*BOTH, "--chat-template", "t.jinja"), ["reasoning", "tools", "value chat-template"]),
        (BOTH, tuple("/m/other" if token == "/m/kimi" else token for token in BOTH), ["model", "reasoning", "tools"]),
        ((*BASE, "--reasoning-parser", "kimi_k2"), (*BASE, "--reasoning-parser=kimi_k2"), []),
        (BASE, (*BASE[:-2], "--tp", "8"), []),
        (BASE, (*BASE, "--disable-cuda-graph"), ["graphs", "value disable-cuda-graph"]),
        ((*BASE, "--disable-cuda-graph"), BASE, ["graphs", "value disable-cuda-graph"]),
        (BASE, (*BASE[:-1], "4"), ["ranks", "value tp-size"]),
        (BASE, (*BASE, "--context-length", "4096"), ["context", "value context-length"]),
        (BASE, (*BASE, "--enable-metrics"), ["metrics"]),
        (BASE, (*BASE, "--served-model-name", "kimi"), ["name"]),
        (BASE, (*BASE, "--api-key", "***"), ["key"]),
        (BASE, (*BASE, "--port", "30001"), []),
        (
            BASE,
            (*BASE, "--speculative-algorithm", "EAGLE", "--speculative-num-steps", "3"),
            ["speculation", "value speculative-algorithm", "value speculative-num-steps"],
        ),
    ],
)
def test_the_diff_chooses_the_checks(old: tuple[str, ...], new: tuple[str, ...], checks: list[str]) -> None:
    want = wanted((old, {}), (new, {}))
    assert [*want.checks] == ALWAYS + checks
    assert set(want.settings) <= set(want.checks)
    assert all(setting.startswith("--") for setting in want.settings.values())


@pytest.mark.parametrize(
    ("old", "new", "env"),
    [
        ({}, {"NCCL_PROTO": "LL"}, {"NCCL_PROTO": "LL"}),
        ({"NCCL_PROTO": "LL", "A": "b"}, {"NCCL_PROTO": "LL128", "A": "b"}, {"NCCL_PROTO": "LL128"}),
        ({"NCCL_PROTO": "LL"}, {}, {"NCCL_PROTO": None}),
        ({}, {"SPT_NOENV": "1", "PYTHONUNBUFFERED": "1"}, {}),
    ],
)
def test_changed_variables_are_looked_for(
    old: Mapping[str, str], new: Mapping[str, str], env: Mapping[str, str | None]
) -> None:
    want = wanted((BASE, old), (BASE, new))
    assert want.env == env
    assert ("environment" in want.checks) is bool(env)


@pytest.mark.parametrize("old", [None, (BOTH, {"A": "b"})])
def test_all_of_it_is_looked_at_where_nothing_was_proved_before_or_where_all_is_asked_for(old: object) -> None:
    given = None if old is None else (BOTH, {"A": "b"})
    want = wanted(given, (BOTH, {"A": "b"}), policy="all" if given else "diff")
    assert [*want.checks] == [*ALWAYS, "model", "reasoning", "tools", "ranks", "value tp-size", "environment"]
    assert want.env == {"A": "b"}


def test_with_the_policy_none_an_answer_of_the_right_server_is_all() -> None:
    want = wanted(None, (BOTH, {"A": "b"}), policy="none")
    assert (list(want.checks), want.env, want.settings) == (ALWAYS, {}, {})


def test_a_build_knows_other_names_of_a_flag_and_the_default_of_what_is_taken_away() -> None:
    flag = BuildFlag("quantization", aliases=("quant", "q"), default="None")
    build = Build("sglang", (flag, BuildFlag("mem-fraction-static", default="0.9")))
    assert wanted(((*BASE, "--quant", "fp8"), {}), ((*BASE, "--quantization", "fp8"), {}), build=build).settings == {}
    gone = wanted(((*BASE, "--mem-fraction-static", "0.5"), {}), (BASE, {}), build=build)
    assert gone.defaults == {"mem-fraction-static": "0.9"}


def test_an_operator_reads_what_will_be_looked_at() -> None:
    want = wanted((BASE, {"OLD": "1"}), ((*REASON, "--schedule-policy", "lpm"), {"NCCL_PROTO": "LL"}))
    assert want.words == (
        "the server that was launched",
        "a plain answer",
        "reasoning apart from content",
        "--schedule-policy as resolved",
        "NCCL_PROTO on every rank",
        "OLD gone from every rank",
    )


def test_the_served_names_count_before_the_path() -> None:
    assert model_names(BASE) == ("/m/kimi",)
    assert model_names((*BASE, "--served-model-name", "kimi")) == ("kimi",)
    assert model_names(("vllm", "serve", "/m/kimi", "--served-model-name", "a", "b")) == ("a", "b")
    assert model_names(("vllm", "serve", "/m/kimi")) == ("/m/kimi",)
    assert model_names(()) == ()


CAME = Effect("completion", Outcome.PROVED, "17 tokens in 0.3 s")
OURS = Effect("identity", Outcome.PROVED, "port 30000 is answered by the run's own process (pid 7)")
APART = Effect("reasoning", Outcome.PROVED, "reasoning apart from content")
LOST = Effect("reasoning", Outcome.NOT_PROVED, "thinking stands in content")
RANDOM = Effect("completion", Outcome.CANNOT, "17 tokens in 0.3 s, but they look like random tokens")
DEAD = Effect("value", Outcome.NO_EFFECT, "--x has no effect")
DARK = Effect("environment", Outcome.CANNOT, "A: no process of it was found")
SET = Effect("value", Outcome.PROVED, "--y is 1, as asked")


@pytest.mark.parametrize(
    ("effects", "answered", "ok", "verified", "text"),
    [
        ((OURS, CAME), True, True, True, "17 tokens in 0.3 s"),
        ((OURS, CAME, APART), True, True, True, "17 tokens in 0.3 s; reasoning apart from content"),
        ((OURS, CAME, LOST, SET), True, False, False, "thinking stands in content"),
        (
            (CAME, APART, SET, SET, DEAD, DARK),
            True,
            True,
            True,
            "17 tokens in 0.3 s; reasoning apart from content; 2 settings as asked; 1 without effect; "
            "1 that can't be told",
        ),
        ((OURS, RANDOM), True, True, False, RANDOM.text),
        ((Effect("identity", Outcome.NOT_PROVED, "another"),), False, False, False, "another"),
        ((Effect("completion", Outcome.CANNOT, "waited in the queue"),), False, False, False, "waited in the queue"),
    ],
)
def test_a_proof_and_a_verdict_are_made_of_the_effects(
    effects: tuple[Effect, ...], answered: bool, ok: bool, verified: bool, text: str
) -> None:
    proof = proof_of(effects, answered=answered)
    assert (proof.ok, proof.text, proof.effects) == (ok, text, effects)
    verdict = verdict_of(proof, at=7.0, version="0.5.23", modified=("a.py",))
    assert (verdict.verified, verdict.at, verdict.text, verdict.effects) == (verified, 7.0, text, effects)
    assert (verdict.version, verdict.modified) == ("0.5.23", ("a.py",))
