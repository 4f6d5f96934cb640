"""Which effects of its flags a server can be asked to show, and when a change of flags makes that worth asking."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.flags import arguments, flag_value

REASONING = "reasoning"
TOOLS = "tools"

_PARSERS = {REASONING: "reasoning-parser", TOOLS: "tool-call-parser"}
# What decides how an answer is split. They act on each other: a reasoning parser can swallow the tool call that the
# other parser was to find. So a change of any is followed by all checks.
_SPLITTERS = (
    *_PARSERS.values(),
    "model-path",
    "chat-template",
    "default-chat-template-kwargs",
    "enable-strict-thinking",
    "enable-auto-tool-choice",
)


def checks_for(argv: Sequence[str]) -> frozenset[str]:
    """The checks that these flags ask for: `reasoning` for a reasoning parser, `tools` for a tool-call parser.

    A completion is always asked for and is not among them.
    """
    return frozenset(check for check, flag in _PARSERS.items() if flag_value(argv, flag) is not None)


def changed_checks(old_argv: Sequence[str], new_argv: Sequence[str]) -> frozenset[str]:
    """The checks that a change of flags asks for; none when nothing that splits answers was changed."""
    if all(_given(old_argv, flag) == _given(new_argv, flag) for flag in _SPLITTERS):
        return frozenset()
    return checks_for(new_argv)


def model_names(argv: Sequence[str]) -> tuple[str, ...]:
    """The names under which these flags serve the model: the served ones, else the model's path. Empty: not known."""
    served = _given(argv, "served-model-name")
    if served:
        return served
    path = flag_value(argv, "model-path")
    return () if path is None else (path,)


def _given(argv: Sequence[str], flag: str) -> tuple[str, ...] | None:
    part = arguments(argv).find(flag)
    return None if part is None else part.values
