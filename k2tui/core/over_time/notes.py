"""What is drawn into plots: starts with what changed in the command, ends, alerts, absences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone

from k2tui.core.alerts import Alert
from k2tui.core.runs import Run, printable
from k2tui.core.series import Annotation, server_subject
from k2tui.core.settings_between import Setting, settings_between
from k2tui.core.views import ServerView
from k2tui.core.words import duration

_RUN_ID = re.compile(r"(\d{8}T\d{6})Z-")
_QUARTER_S = 900
"""Time zones differ by whole quarters of an hour; what is left of a clock's offset is its error."""
_RESTART_S = 300.0
"""A stop that a start follows within this time is part of a restart."""
_MOST_CHANGES = 4
_LONGEST_VALUE = 40


def annotations_of(
    servers: Iterable[ServerView],
    alerts: Iterable[Alert],
    since: float,
    until: float,
    *,
    clocks_ahead_s: Mapping[str, float] | None = None,
    absent: tuple[float, float] | None = None,
) -> tuple[Annotation, ...]:
    """All that happened between two unix times, oldest first.

    Times of runs are by their node's clock; `clocks_ahead_s` says by node how far it is ahead of this machine's (see
    `clock_ahead_s`). `absent` is when nobody looked: from and to.
    """
    ahead = clocks_ahead_s or {}
    found = [note for server in servers for note in _of_server(server, ahead.get(server.settings.node, 0.0))]
    found += [Annotation(alert.began_at, alert.subject, alert.text, "alert") for alert in alerts]
    if absent is not None:
        found.append(Annotation(absent[0], "", f"nobody looked for {duration(absent[1] - absent[0])}", "absent"))
    return tuple(sorted((note for note in found if since <= note.at < until), key=lambda note: note.at))


def began_at(run: Run) -> float | None:
    """Unix time of the node's clock at which a run began, by its id."""
    found = _RUN_ID.match(run.run_id)
    if found is None:
        return run.started_at
    try:
        return datetime.strptime(found[1], "%Y%m%dT%H%M%S").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return run.started_at


def clock_ahead_s(clock_offset_s: float | None) -> float:
    """How far a node's clock is ahead of ours, by its `NodeReading.clock_offset_s`; 0 where nobody knows."""
    return 0.0 if clock_offset_s is None else clock_offset_s - round(clock_offset_s / _QUARTER_S) * _QUARTER_S


def changes_between(old: Run, new: Run) -> tuple[str, ...]:
    """Flags and variables that a run has otherwise than the one before: `+NCCL_PROTO=LL`, `-disable-cuda-graph`,
    `tp-size=8 (was 4)`."""
    settings = settings_between((old.argv, dict(old.env)), (new.argv, dict(new.env)))
    return tuple(_words(one) for one in settings if one.old != one.new)


def _of_server(server: ServerView, ahead_s: float) -> Iterator[Annotation]:
    subject = server_subject(server.settings.name)
    if server.found is not None and server.found.process.began_at is not None:
        yield Annotation(server.found.process.began_at - ahead_s, subject, "start, not by k2tui")
    dated = [(at, run) for run in server.runs or _only(server.run) if (at := began_at(run)) is not None]
    dated.sort(key=lambda one: one[0])
    for number, (at, run) in enumerate(dated):
        yield Annotation(at - ahead_s, subject, _start_words(dated[number - 1][1] if number else None, run))
        next_at = dated[number + 1][0] if number + 1 < len(dated) else None
        if run.ended_at is not None:
            is_restart = run.stop_asked and next_at is not None and next_at - run.ended_at <= _RESTART_S
            if not is_restart:
                yield Annotation(run.ended_at - ahead_s, subject, _end_words(run), "end")


def _only(run: Run | None) -> tuple[Run, ...]:
    return () if run is None else (run,)


def _start_words(before: Run | None, run: Run) -> str:
    if before is None:
        return "start"
    changes = changes_between(before, run)
    if not changes:
        return "restart, same command"
    more = len(changes) - _MOST_CHANGES
    words = " ".join(changes[:_MOST_CHANGES])
    return f"restart: {words} and {more} more" if more > 0 else f"restart: {words}"


def _end_words(run: Run) -> str:
    if run.stop_asked:
        return "stopped"
    return "ended" if not run.exit_code else f"ended with exit code {run.exit_code}"


def _words(setting: Setting) -> str:
    name = setting.name.removeprefix("--")
    if setting.new is None:
        return f"-{_short(name)}"
    if setting.old is None:
        return _with_value("+", name, setting.new)
    return f"{_with_value('', name, setting.new)} (was {_short(setting.old) or 'bare'})"


def _with_value(sign: str, name: str, value: str) -> str:
    return f"{sign}{_short(name)}={_short(value)}" if value else f"{sign}{_short(name)}"


def _short(text: str) -> str:
    plain = printable(text)
    return plain if len(plain) <= _LONGEST_VALUE else f"{plain[: _LONGEST_VALUE - 1]}…"
