"""A run in words, the same on screens and in plain commands: what it changed, how it ended, what was proved."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from k2tui.core.effects.checks import ENVIRONMENT, VALUE
from k2tui.core.printable import on_one_line
from k2tui.core.runs import Run
from k2tui.core.settings_between import Setting, settings_between
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.words import UNKNOWN, duration

SAME = "no change"
Command = tuple[Sequence[str], Mapping[str, str]]
"""argv and environment."""


def command_of(run: Run) -> Command:
    """What it was started with, secrets masked."""
    return run.argv, dict(run.env)


def changed_settings(old: Command, new: Command, known: Collection[str] = ()) -> list[Setting]:
    """The flags and variables that differ, flags first."""
    return [setting for setting in settings_between(old, new, known) if setting.kind != " "]


def difference_words(old: Command, new: Command, known: Collection[str] = ()) -> str:
    """`+--reasoning-parser qwen3  ~--mem-fraction-static 0.8>0.9  -NCCL_ALGO`; `no change` for the same."""
    return "  ".join(map(setting_words, changed_settings(old, new, known))) or SAME


def setting_words(setting: Setting) -> str:
    """One of them: `+` came, `-` went, `~` has another value."""
    return on_one_line(_setting_words(setting))


def _setting_words(setting: Setting) -> str:
    name, between = f"{setting.kind}{setting.name}", "=" if setting.is_env else " "
    if setting.kind == "-":
        return name
    if setting.kind == "~":
        return f"{name} {setting.old or 'bare'}>{setting.new or 'bare'}"
    return f"{name}{between}{setting.new}" if setting.new else name


def change_words(run: Run, before: Run | None) -> str:
    """What a run changed against the one before; a first run says so."""
    if before is None:
        return "the first run that is known"
    return difference_words(command_of(before), command_of(run))


def ending_words(run: Run) -> str:
    """How it stands or ended: `running`, `stopped`, `exit 1`, `killed by signal 9`, `planned`."""
    if run.is_planned:
        return "planned"
    if run.alive:
        return "running"
    if run.stop_asked:
        return "stopped"
    if run.exit_code is None:
        return "ended" if run.alive is False else UNKNOWN
    return f"killed by signal {run.exit_code - 128}" if run.exit_code > 128 else f"exit {run.exit_code}"


def verdict_word(run: Run) -> str:
    """`verified`, `not verified`; an em dash where nobody looked."""
    if run.verdict is None:
        return UNKNOWN
    return "verified" if run.verdict.verified else "not verified"


def effect_words(effects: Sequence[Effect]) -> str:
    """`proved: completion, reasoning; not proved: tools`; what has no effect or can't be seen follows."""
    parts = []
    for outcome in Outcome:
        names = dict.fromkeys(_named(effect) for effect in effects if effect.outcome is outcome)
        if names:
            parts.append(f"{outcome.value}: {', '.join(names)}")
    return "; ".join(parts)


def _named(effect: Effect) -> str:
    """Its check; where that is done for many settings, the setting."""
    return effect.setting if effect.setting is not None and effect.check in (VALUE, ENVIRONMENT) else effect.check


def tried_words(change: str, before_s: float | None, after_s: float | None, effects: Sequence[Effect]) -> str:
    """`+tp-size 4: ready after 31 s (34 s before); proved: completion, reasoning`. Seconds from first line to ready."""
    took = f"ready after {duration(after_s)}"
    if before_s is not None:
        took += f" ({duration(before_s)} before)"
    proved = effect_words(effects)
    return f"{change}: {took}" + (f"; {proved}" if proved else "")
