"""Sentences of the core about launches, loaded when the first is needed: an app without a launch starts sooner."""

from __future__ import annotations

from k2tui.core.activity import Moving
from k2tui.core.history import since
from k2tui.core.launch import Launch


def engine_words(launch: Launch) -> str:
    """`sglang 0.5.9`, or `sglang 0.5.18 by its arguments` where its log names no version."""
    from k2tui.core import diagnosis_text  # noqa: PLC0415  keeps the first paint cheap

    return diagnosis_text.engine_words(launch)


def ranks_behind(launch: Launch, moving: Moving | None) -> tuple[str, ...]:
    """The ranks that the others wait for, by their numbers."""
    from k2tui.core import behind  # noqa: PLC0415  keeps the first paint cheap

    return tuple(sorted(behind.behind(launch, moving), key=behind.by_number))


def silence_sentence(launch: Launch, log_now: float | None) -> str:
    """What its silence is, as of now; empty while it is not silent."""
    from k2tui.core import silence_verdict  # noqa: PLC0415  keeps the first paint cheap

    if launch.silence is None:
        return ""
    quiet_s = since(launch.quiet_since, log_now)
    return silence_verdict.sentence(launch.silence, launch.silence_s or 0.0 if quiet_s is None else quiet_s, log_now)
