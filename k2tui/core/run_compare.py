"""Two runs of a server side by side: flags, environment, engine, phases, what was proved, how they ended. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from k2tui.core.history import TIMED, LaunchKey, PastLaunch, past_of
from k2tui.core.run_words import changed_settings, command_of, ending_words, verdict_word
from k2tui.core.runs import Run
from k2tui.core.verdicts import Outcome, RunVerdict
from k2tui.core.views import ServerView
from k2tui.core.words import PHASE_WORDS, UNKNOWN, phase_time

ABSENT = "absent"
GROUPS = ("flags", "environment", "engine", "launch", "proof", "end")


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two runs differ."""

    group: str
    """One of `GROUPS`."""
    name: str
    one: str | None
    """None: absent for a flag or a variable, not known for anything else."""
    other: str | None

    def words(self, value: str | None) -> str:
        """One of its two values, for a table."""
        if self.group in ("flags", "environment"):
            return ABSENT if value is None else value or "set"
        return UNKNOWN if value is None else value


def compare_runs(one: Run, other: Run, past: Mapping[str, PastLaunch]) -> tuple[Difference, ...]:
    """All differences, in the order of `GROUPS`; `past`: what is remembered of launches, by run id."""
    every = [
        *_settings(one, other),
        *_engine(one, other, past),
        *_launch(past.get(one.run_id), past.get(other.run_id)),
        *_proof(one.verdict, other.verdict),
        Difference("proof", "verdict", _known(verdict_word(one)), _known(verdict_word(other))),
        Difference("end", "ended", _known(ending_words(one)), _known(ending_words(other))),
    ]
    return tuple(row for row in every if row.one != row.other)


def launches_of(server: ServerView) -> dict[str, PastLaunch]:
    """What is known of the launches of a server's runs, by run id; the newest from its own log."""
    found = {launch.run_id: launch for launch in server.around.past}
    run, launch = server.run, server.launch
    if run is not None and launch is not None:
        key = server.around.key or LaunchKey(server.settings.node, launch.model or "", launch.engine, "")
        now = past_of(launch, run_id=run.run_id, server=run.server, key=key, began_at=run.started_at or 0.0)
        found.update({} if now is None else {run.run_id: now})
    return found


def _settings(one: Run, other: Run) -> Iterator[Difference]:
    for setting in changed_settings(command_of(one), command_of(other)):
        yield Difference("environment" if setting.is_env else "flags", setting.name, setting.old, setting.new)


def _engine(one: Run, other: Run, past: Mapping[str, PastLaunch]) -> Iterator[Difference]:
    yield Difference("engine", "version", _version(one, past), _version(other, past))
    yield Difference("engine", "modified files", _modified(one.verdict), _modified(other.verdict))
    for name, mine, its in (
        ("profile", one.profile, other.profile),
        ("directory", one.cwd, other.cwd),
        ("setup", one.setup, other.setup),
        ("kept by", one.kept_by, other.kept_by),
    ):
        yield Difference("engine", name, mine, its)


def _version(run: Run, past: Mapping[str, PastLaunch]) -> str | None:
    launch = past.get(run.run_id)
    return (run.verdict.version if run.verdict is not None else None) or (launch.version if launch else None)


def _modified(verdict: RunVerdict | None) -> str | None:
    if verdict is None or verdict.modified is None:
        return None
    return ", ".join(verdict.modified) or "none"


def _launch(one: PastLaunch | None, other: PastLaunch | None) -> Iterator[Difference]:
    for phase in TIMED:
        yield Difference(
            "launch", PHASE_WORDS[phase], *(_took(it.phases_s.get(phase)) if it else None for it in (one, other))
        )
    yield Difference("launch", "ready after", *(_took(it.ready_s) if it else None for it in (one, other)))


def _took(seconds: float | None) -> str | None:
    return None if seconds is None else phase_time(seconds)


def _proof(one: RunVerdict | None, other: RunVerdict | None) -> Iterator[Difference]:
    mine, its = _effects(one), _effects(other)
    for check in {**mine, **its}:
        yield Difference("proof", check, mine.get(check), its.get(check))


def _effects(verdict: RunVerdict | None) -> dict[str, str]:
    effects = () if verdict is None else verdict.effects
    return {
        effect.check if effect.setting is None else f"{effect.check} ({effect.setting})": effect.outcome.value
        if effect.outcome is Outcome.PROVED
        else f"{effect.outcome.value}: {effect.text}"
        for effect in effects
    }


def _known(words: str) -> str | None:
    return None if words == UNKNOWN else words
