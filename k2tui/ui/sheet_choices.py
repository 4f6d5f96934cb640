"""What a launch sheet can begin from, and what is known of each: profiles, runs, processes on the node. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from k2tui.core import words
from k2tui.core.flags import arguments
from k2tui.core.found import FoundServer
from k2tui.core.runs import Run
from k2tui.core.secrets import MASK
from k2tui.core.settings import ProfileSettings
from k2tui.core.views import ServerView
from k2tui.ui import present
from k2tui.ui.sheet_state import Draft
from k2tui.ui.spans import Line


def profile_words(profile: ProfileSettings, view: ServerView) -> str:
    """`extends base   verified 11-30 14:01, ready in 31 s`."""
    base = f"extends {profile.extends}   " if profile.extends else ""
    run = next((run for run in view.runs if run.profile == profile.name and not run.is_planned), None)
    return f"{base}{'never run here' if run is None else run_words(run, view)}"


def run_words(run: Run, view: ServerView) -> str:
    """How a run went: `verified 11-30 14:01, ready in 31 s`, `not verified 11-30 14:01: no answer in 20 s`."""
    when = present.run_time(run.run_id)
    ready_s = next((past.ready_s for past in view.around.past if past.run_id == run.run_id), None)
    took = "" if ready_s is None else f", ready in {words.duration(ready_s)}"
    if run.verdict is not None:
        if run.verdict.verified:
            return f"verified {when}{took}"
        return f"not verified {when}{took}: {run.verdict.text}"
    if run.exit_code and not run.stop_asked:
        return f"ended with code {run.exit_code}, started {when}{took}"
    return f"started {when}{took}, never verified"


def run_choices(view: ServerView) -> list[tuple[str, str, str]]:
    """(id, name, how it went) of each run whose command is known, newest first."""
    return [
        (run.run_id, present.run_time(run.run_id), f"{run.profile or words.UNKNOWN}: {run_words(run, view)}")
        for run in view.runs
        if run.argv and not run.is_planned
    ]


def found_choices(servers: Iterable[ServerView], node: str) -> list[tuple[str, str, str]]:
    """(name, name, command) of each engine on the node that somebody else started."""
    choices: list[tuple[str, str, str]] = []
    for view in servers:
        found = view.found
        if found is not None and found.argv and view.settings.node == node:
            text = f"{found.process.user}: {shlex.join(found.argv)}"
            choices.append((view.settings.name, f"pid {found.process.pid}", text))
    return choices


def command_of(found: FoundServer) -> tuple[str, tuple[str, ...]]:
    """A found server's command as one would paste it, and the names that were left out because they hold secrets."""
    left_out = [name for name, value in found.env if MASK in value]
    env = [f"{name}={shlex.quote(value)}" for name, value in found.env if MASK not in value]
    parsed = arguments(found.argv)
    kept: list[str] = [*parsed.head]
    for part in parsed.parts:
        if any(MASK in token for token in part.tokens):
            left_out.append("an argument" if part.name is None else f"--{part.name}")
        else:
            kept += part.tokens
    return " ".join([*env, shlex.join(kept)]), tuple(left_out)


def on_one_line(text: str) -> str:
    """A pasted command of several lines as a field of one row can hold it, to be corrected there."""
    joined = re.sub(r"\\[ \t]*\n", " ", text.strip()).expandtabs(1)
    return "; ".join(line.strip() for line in joined.split("\n") if line.strip())


def beginning_words(profiles: Mapping[str, ProfileSettings], draft: Draft, used: str, live: str | None) -> Line:
    """What a launch begins from: `profile reason (extends base)`, `from the run of 11-29 14:02`.

    `used`: the profile, where the draft names none; `live`: the id of the run that lives.
    """
    if draft.run is not None and draft.run == live:
        return (("on top of ", "muted"), ("what runs", "strong"))
    if draft.run is not None:
        return (("from the run of ", "muted"), (present.run_time(draft.run), "strong"))
    if draft.cmd is not None:
        return (("from ", "muted"), ("a pasted command", "strong"))
    name = draft.profile or used
    extends = profiles[name].extends if name in profiles else None
    return (("profile ", "muted"), (name, "strong"), (f" (extends {extends})" if extends else "", "muted"))
