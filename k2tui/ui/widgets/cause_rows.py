"""What is wrong with a launch, and what may be: the cause, silence, weight files, findings, the connection. Pure."""

from __future__ import annotations

from k2tui.core.history import since
from k2tui.core.launch import Advice, Launch, LaunchKind, LaunchPhase
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.secrets import mask
from k2tui.core.silence import SilenceWord
from k2tui.core.views import ServerView
from k2tui.core.words import failure_words
from k2tui.ui import present
from k2tui.ui.logline import parts_of
from k2tui.ui.spans import Line, clip, ends, spread, wrapped
from k2tui.ui.verdicts import silence_sentence

_BASIS = {"inferred": " (inferred: no source)", "thread": " (from a public report)"}
"""Advice without such a mark is the engine's own."""
_SILENCE_ROLE = {
    SilenceWord.HEALTHY: "muted",
    SilenceWord.SLOW: "warning",
    SilenceWord.STALLED: "warning",
    SilenceWord.HUNG: "bad",
}
_QUIET_FROM_S = 5.0
_MOST_QUOTED = 4
"""Rows of the line itself: one key leads to all of it."""


def cause_and_advice(server: ServerView, width: int, rows: int) -> tuple[list[Line], list[Line]]:
    """What it is in words, from which rank and line, the line itself; and what to do. Nothing when nothing is wrong."""
    launch = server.launch
    if launch is None or (launch.cause is None and launch.finding is None):
        return [], []
    advice: list[Line] = []
    for item in server.advice:
        left = max(1, rows - 2) - len(advice)
        text = wrapped(advice_text(item), width - 2, min(3, left))
        advice += [((f"{'→' if first == 0 else ' '} {part}", "text"),) for first, part in enumerate(text)]
    cause = launch.cause
    if cause is None:
        return [((f"✗ {failure_words(launch.finding or '')}", "bad"),)], advice
    where: list[Line] = [((f"✗ {failure_words(cause.failure)}", "bad"),)]
    if cause.rank is not None:
        where.append(((f"rank {cause.rank.removeprefix('rank ')}", "text"),))
    where.append(((f"line {cause.line_number}", "muted"),))
    message = parts_of(cause.line).message.strip() or cause.line
    head = spread(where, width)
    quoted = wrapped(mask(message), width, max(1, min(_MOST_QUOTED, rows - len(head) - len(advice))))
    return [*head, *(((part, "log-error"),) for part in quoted)], advice


def silence_lines(server: ServerView, log_now: float | None, width: int, rows: int) -> list[Line]:
    """What a silence is, how long it may last, what still moves, who gives up when; nothing while it is not silent."""
    launch = server.launch
    if launch is None or launch.silence is None or launch.kind not in (LaunchKind.LOADING, LaunchKind.HUNG):
        return []
    word = launch.silence.word
    text = silence_sentence(launch, log_now)
    if word is not SilenceWord.HEALTHY:
        text = f"{word.value}: {text}"
    return [((part, _SILENCE_ROLE[word]),) for part in wrapped(text, width, rows)]


def quiet_line(server: ServerView, log_now: float | None) -> Line:
    """`no progress for 22 s`, once it is worth saying and where nobody judged it."""
    launch = server.launch
    if launch is None or launch.kind is not LaunchKind.LOADING or launch.silence is not None:
        return ()
    quiet_s = since(launch.quiet_since, log_now)
    if quiet_s is None or quiet_s <= _QUIET_FROM_S:
        return ()
    return ((f"no progress for {present.age(quiet_s)}", "warning" if launch.detail else "muted"),)


def trouble_lines(server: ServerView, width: int, rows: int) -> list[Line]:
    """Weight files that are missing or can't be loaded, while that still matters."""
    checkpoint, launch = server.around.checkpoint, server.launch
    if checkpoint is None or rows <= 0 or not _may_meet_weights(launch):
        return []
    troubles = checkpoint.troubles
    kept = troubles if len(troubles) <= rows else troubles[: max(1, rows - 1)]
    lines: list[Line] = [clip(((f"✗ {trouble.text}", "bad"),), width) for trouble in kept]
    more = len(troubles) - len(kept)
    if not more:
        return lines
    tail: Line = ((f"{more} more like it", "bad"),)
    return [ends(lines[0], tail, width)] if rows == 1 else [*lines, (("✗ ", "bad"), *tail)]


def _may_meet_weights(launch: Launch | None) -> bool:
    if launch is None:
        return True
    if launch.kind in (LaunchKind.READY, LaunchKind.DEGRADED, LaunchKind.STOPPED):
        return False
    return launch.phase.order <= LaunchPhase.POSTPROCESS.order


def finding_lines(launch: Launch | None, width: int, rows: int) -> list[Line]:
    """`! Kimi-K2.5 thinks, and no reasoning parser is set …`: one line each, and how many more there are."""
    if launch is None or rows <= 0:
        return []
    cause = launch.cause
    told = [one for one in launch.findings if cause is None or one.line_number != cause.line_number]
    lines: list[Line] = []
    for place, finding in enumerate(told[:rows]):
        more = len(told) - rows if place == rows - 1 else 0
        tail: Line = ((f"and {more} more", "muted"),) if more > 0 else ()
        room = width - len(tail[0][0]) - 1 if tail else width
        line = clip((("! ", "warning"), (mask(finding.text), "text")), room)
        lines.append(ends(line, tail, width) if tail else line)
    return lines


def link_lines(link: LinkState, now: float, width: int) -> list[Line]:
    """Why the node is not connected, when the next try is, and what to do; nothing while it is."""
    if link.phase is LinkPhase.UP or link.reason is None:
        return []
    lines: list[Line] = [((present.link_words(link, now), "bad"),)]
    hint = "C shows the key that it offers" if link.code == "host_key_unknown" else link.hint
    if hint is not None:
        lines += [
            ((f"→ {text}" if first == 0 else f"  {text}", "text"),)
            for first, text in enumerate(wrapped(hint, width - 2, 2))
        ]
    return lines


def failure_of(launch: Launch) -> str:
    """What is wrong in a few words: the failure's, a finding's, or the kind alone."""
    if launch.cause is not None:
        return failure_words(launch.cause.failure)
    return failure_words(launch.finding) if launch.finding is not None else launch.kind.value


def advice_text(advice: Advice) -> str:
    """What to do, and where that is from."""
    return advice.text + _BASIS.get(advice.basis, "")
