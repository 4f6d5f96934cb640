"""A change of what splits answers is followed by every check that the new flags ask for."""

from __future__ import annotations

import pytest

from k2tui.core.effects import changed_checks, checks_for, model_names

BASE = ("python3", "-m", "sglang.launch_server", "--model-path", "/m/kimi", "--tp-size", "8")
REASON = (*BASE, "--reasoning-parser", "kimi_k2")
BOTH = (*REASON, "--tool-call-parser", "kimi_k2")


@pytest.mark.parametrize(
    ("argv", "checks"),
    [
        (BASE, set()),
        (REASON, {"reasoning"}),
        (BOTH, {"reasoning", "tools"}),
        ((*BASE, "--tool-call-parser=kimi_k2"), {"tools"}),
        (("vllm", "serve", "/m/kimi", "--reasoning-parser", "qwen3"), {"reasoning"}),
        ((), set()),
    ],
)
def test_a_parser_asks_for_its_check(argv: tuple[str, ...], checks: set[str]) -> None:
    assert checks_for(argv) == checks


@pytest.mark.parametrize(
    ("old", "new", "checks"),
    [
        (BASE, BASE, set()),
        (BOTH, (*BOTH, "--mem-fraction-static", "0.8"), set()),
        (BASE, REASON, {"reasoning"}),
        (REASON, BASE, set()),
        # the scene of the lost reasoning: the tool call must still parse
        ((*BASE, "--tool-call-parser", "kimi_k2"), BOTH, {"reasoning", "tools"}),
        (BOTH, (*BOTH, "--chat-template", "t.jinja"), {"reasoning", "tools"}),
        (BOTH, tuple("/m/other" if token == "/m/kimi" else token for token in BOTH), {"reasoning", "tools"}),
        ((*BASE, "--reasoning-parser", "kimi_k2"), (*BASE, "--reasoning-parser=kimi_k2"), set()),
    ],
)
def test_only_a_change_that_matters_is_checked(old: tuple[str, ...], new: tuple[str, ...], checks: set[str]) -> None:
    assert changed_checks(old, new) == checks


def test_the_served_names_count_before_the_path() -> None:
    assert model_names(BASE) == ("/m/kimi",)
    assert model_names((*BASE, "--served-model-name", "kimi")) == ("kimi",)
    assert model_names(("vllm", "serve", "/m/kimi", "--served-model-name", "a", "b")) == ("a", "b")
    assert model_names(("vllm", "serve", "/m/kimi")) == ("/m/kimi",)
    assert model_names(()) == ()
