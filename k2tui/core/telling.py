"""How a launch is told: sentences for people, documents for programs. One place for each."""

from __future__ import annotations

from collections.abc import Iterable

from k2tui.core.checkpoint import Checkpoint
from k2tui.core.eta import TimeLeft
from k2tui.core.launch import Advice, Cause, Finding, Launch, LaunchKind, Progress
from k2tui.core.silence import Silence
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import Proof, ServerView
from k2tui.core.words import size

_TROUBLES = 3
"""As many damaged weight files are named each."""


def bar_sentence(progress: Progress) -> str:
    """`Multi-thread loading shards: 51/64 shards, 80%`, for a stream of lines."""
    return f"{progress.label}: {progress.done}/{progress.total} {progress.unit}, {progress.fraction:.0%}"


def bar_json(progress: Progress) -> dict[str, object]:
    """The bar for programs."""
    return {
        "done": progress.done,
        "total": progress.total,
        "unit": progress.unit,
        "label": progress.label,
        "fraction": round(progress.fraction, 4),
        "by": progress.by,
    }


def cause_json(cause: Cause) -> dict[str, object]:
    """The line that explains a failure, for programs."""
    return {
        "line": cause.line.strip(),
        "line_number": cause.line_number,
        "rank": cause.rank,
        "class": cause.failure,
    }


def advice_json(advice: Iterable[Advice]) -> list[dict[str, str]]:
    """What to do, for programs."""
    return [{"text": one.text, "basis": one.basis} for one in advice]


def finding_json(finding: Finding) -> dict[str, object]:
    """What a clean log hides, for programs."""
    return {
        "name": finding.name,
        "text": finding.text,
        "basis": finding.basis,
        "line_number": finding.line_number,
    }


def silence_json(silence: Silence) -> dict[str, object]:
    """What a silence is, for programs."""
    return {
        "word": silence.word.value,
        "limit_s": round(silence.limit_s, 1),
        "limit_by": silence.limit_by,
        "seen": list(silence.seen),
        "behind": list(silence.behind),
        "gives_up": silence.gives_up,
    }


def checkpoint_sentence(checkpoint: Checkpoint) -> str:
    """`64 weight files, 595 GB, 12 % in the page cache`, or what is wrong with them."""
    if checkpoint.troubles:
        texts = [trouble.text for trouble in checkpoint.troubles[:_TROUBLES]]
        more = len(checkpoint.troubles) - len(texts)
        return "; ".join(texts) + (f"; and {more} more" if more else "")
    cached = checkpoint.cached_share
    warm = "" if cached is None else f", {cached:.0%} in the page cache"
    return f"{len(checkpoint.shards)} weight files, {size(checkpoint.total_bytes)}{warm}"


def checkpoint_json(checkpoint: Checkpoint) -> dict[str, object]:
    """The weight files for programs."""
    return {
        "path": checkpoint.path,
        "shards": len(checkpoint.shards),
        "size_bytes": checkpoint.total_bytes,
        "cached_bytes": checkpoint.cached_bytes,
        "troubles": [
            {"name": trouble.name, "what": trouble.what, "text": trouble.text} for trouble in checkpoint.troubles
        ],
    }


def left_json(left: TimeLeft | None) -> dict[str, object] | None:
    """How long it still takes, for programs."""
    if left is None:
        return None
    return {
        "low": round(left.low_s, 1),
        "high": round(left.high_s, 1),
        "to": left.to.value,
        "basis": left.basis,
        "launches": left.launches,
    }


def failure_sentence(view: ServerView) -> str:
    """What went wrong, in the log's own line where there is one."""
    launch = view.launch or Launch()
    how = f"{launch.kind.value} in {launch.phase.value}"
    if launch.cause is not None:
        return f"{how}: {launch.cause.line.strip()}"
    if launch.kind is LaunchKind.STOPPED and view.run is not None and view.run.stop_asked:
        return f"{how}: somebody asked it to stop"
    if view.run is not None and view.run.exit_code is not None:
        return f"{how}: exit {view.run.exit_code}, and its log does not say why"
    return f"{how}: its log does not say why"


def failure_json(view: ServerView) -> dict[str, object]:
    """The same for programs, with what to do."""
    launch = view.launch or Launch()
    return {
        "kind": launch.kind.value,
        "phase": launch.phase.value,
        "root_cause": None if launch.cause is None else cause_json(launch.cause),
        "advice": advice_json(view.advice),
        "exit_code_of_server": None if view.run is None else view.run.exit_code,
    }


def effect_json(effect: Effect) -> dict[str, object]:
    """One effect for programs."""
    return {
        "check": effect.check,
        "outcome": effect.outcome.value,
        "text": effect.text,
        "setting": effect.setting,
    }


def proof_json(proof: Proof) -> dict[str, object]:
    """A proof for programs; `checks` says of each effect whether it is there, null where that is not known."""
    return {
        "ok": proof.ok,
        "checks": [
            {"check": effect.check, "ok": passed(effect.outcome), "detail": effect.text} for effect in proof.effects
        ],
        "effects": [effect_json(effect) for effect in proof.effects],
        "tokens": proof.tokens,
        "elapsed_s": proof.elapsed_s,
        "completion_s": proof.completion_s,
    }


def passed(outcome: Outcome) -> bool | None:
    """True: it is there; False: it is not; None: it could not be seen, or there is none to see."""
    return {Outcome.PROVED: True, Outcome.NOT_PROVED: False}.get(outcome)
