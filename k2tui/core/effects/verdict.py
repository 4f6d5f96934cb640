"""A proof and a run's verdict, from the effects that were looked at."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.effects.checks import COMPLETION, GRAPHS, IDENTITY, LACKING, REASONING, SPECULATION, TOOLS
from k2tui.core.verdicts import Effect, Outcome, RunVerdict
from k2tui.core.views import Proof

_TOLD = (REASONING, TOOLS, GRAPHS, SPECULATION)
_COUNTED = (
    (Outcome.PROVED, "settings as asked"),
    (Outcome.NO_EFFECT, "without effect"),
    (Outcome.CANNOT, "that can't be told"),
)


def proof_of(effects: Sequence[Effect], *, answered: bool, spent: str = "") -> Proof:
    """Good when an answer came and nothing that was looked at is missing; the text names what is, else what was seen.

    `spent`: what it cost, a few words for the end of the text.
    """
    missing = [effect for effect in effects if effect.outcome is Outcome.NOT_PROVED]
    texts = [effect.text for effect in missing] or [effect.text for effect in effects if effect.check == COMPLETION]
    if answered and not missing:
        texts += _summed([effect for effect in effects if effect.check != COMPLETION])
    return Proof(answered and not missing, f"{'; '.join(texts)}{spent}", tuple(effects))


def verdict_of(
    proof: Proof, *, at: float, version: str | None = None, modified: tuple[str, ...] | None = None
) -> RunVerdict:
    """What a run's directory keeps. Verified: the server that was launched gave an answer that makes sense, and no
    effect that was asked for is missing. `at` is Unix time."""
    answered = any(effect.check == COMPLETION and effect.outcome is Outcome.PROVED for effect in proof.effects)
    return RunVerdict(proof.ok and answered, at, proof.text, proof.effects, version, modified)


def _summed(effects: Sequence[Effect]) -> list[str]:
    """What answers look like, in its own words; of the rest how many."""
    told = [effect.text for effect in effects if effect.check == LACKING]
    told += [effect.text for effect in effects if effect.check in _TOLD and effect.outcome is Outcome.PROVED]
    rest = [effect for effect in effects if effect.text not in told and effect.check != IDENTITY]
    for outcome, words in _COUNTED:
        count = sum(effect.outcome is outcome for effect in rest)
        if count:
            told.append(f"{count} {words if count > 1 else words.replace('settings', 'setting')}")
    return told
