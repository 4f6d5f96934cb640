"""What a launch log says, as one document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from k2tui.core.activity import from_json as moving_from_json
from k2tui.core.advice import advice_for
from k2tui.core.behind import behind, by_number
from k2tui.core.checkpoint import from_json as checkpoint_from_json
from k2tui.core.clock import clock_or_none
from k2tui.core.eta import eta_s
from k2tui.core.figures import finite
from k2tui.core.flag_ages import version_of
from k2tui.core.grammar.prefix import stamp_of
from k2tui.core.intake import LogIntake
from k2tui.core.launch import Bar, Cause, Launch, LaunchKind
from k2tui.core.surroundings import Surroundings
from k2tui.core.telling import advice_json, bar_json, cause_json, finding_json, silence_json
from k2tui.core.verdict import progress_line

__all__ = ["Diagnosis", "advice_for", "behind", "diagnose", "judge"]

_BAR_IS_EVIDENCE = frozenset(("disk_will_fill",))
_EARLIEST, _LATEST = 0.0, 253_370_764_800.0
"""Log clocks of 1970 and of 9999: outside of these there is no date to place a stamp without a year by."""
_ORDER_BYTES = 200_000
_ORDER_LINES = 200
"""What is looked at to tell in which direction a log was written."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A launch, read and judged."""

    launch: Launch
    lines: int = 0
    """Newline-terminated lines that were read."""
    newest_first: bool = False
    """The log was written upside down, as some exports are; line numbers are of the file as it is."""

    @property
    def is_empty(self) -> bool:
        """No line of it says anything of a launch."""
        launch = self.launch
        said = launch.engine or launch.spans or launch.suspects or launch.bars or launch.cause
        return not said and launch.kind is LaunchKind.LOADING

    @property
    def root_cause(self) -> Cause | None:
        """The line that explains it; while loading, the line of the last progress."""
        launch = self.launch
        if launch.cause is not None:
            return launch.cause
        if launch.kind is LaunchKind.LOADING or launch.finding in _BAR_IS_EVIDENCE:
            return progress_line(launch, "progress")
        return None

    @property
    def bar(self) -> Bar | None:
        """The bar that `launch.progress` belongs to."""
        return next((bar for bar in reversed(self.launch.bars) if bar.progress == self.launch.progress), None)

    def to_json(self) -> dict[str, object]:
        """The document of `k2tui diagnose --json`."""
        launch, cause = self.launch, self.root_cause
        left = eta_s(self.bar) if launch.kind is LaunchKind.LOADING else None
        return {
            "engine": launch.engine,
            "version": launch.version,
            "kind": launch.kind.value,
            "phase": launch.phase.value,
            "progress": None if launch.progress is None else bar_json(launch.progress),
            "eta_s": None if left is None else {"low": round(left[0], 1), "high": round(left[1], 1)},
            "ranks": {
                "expected": launch.ranks_expected,
                "seen": sorted(launch.ranks_seen, key=by_number),
                "behind": sorted(behind(launch) if launch.silence is None else launch.silence.behind, key=by_number),
            },
            "root_cause": None if cause is None else self._cause(cause),
            "advice": advice_json(advice_for(launch)),
            "silence_s": None if launch.silence_s is None else round(launch.silence_s, 1),
            "evidence": self._evidence(),
            "facts": self._facts(),
        }

    def _cause(self, cause: Cause) -> dict[str, object]:
        return cause_json(cause) | {"line_number": self.number(cause)}

    def number(self, cause: Cause) -> int:
        """The cause's line in the file as it is."""
        return self.lines + 1 - cause.line_number if self.newest_first else cause.line_number

    def _evidence(self) -> list[int]:
        launch = self.launch
        causes = (self.root_cause, launch.waiting, launch.health_failed, progress_line(launch, "progress"))
        suspects = tuple(suspect.cause for suspect in launch.suspects)
        return sorted({self.number(cause) for cause in (*causes, *suspects) if cause is not None})

    def _facts(self) -> dict[str, object]:
        launch, traffic = self.launch, self.launch.traffic
        facts: dict[str, object] = {
            "detail": launch.detail,
            "silence": None if launch.silence is None else silence_json(launch.silence),
            "model": launch.model,
            "port": launch.port,
            "kv_tokens": launch.kv_tokens,
            "ranks_loaded": len(launch.ranks_loaded) or None,
            "requests_running": traffic.running,
            "requests_queued": traffic.queued,
            "tokens_per_s_total": traffic.total_tokens_per_s,
            "kv_usage": traffic.usage,
            "finding": launch.finding,
            "findings": [finding_json(found) for found in launch.findings],
            "version_by_arguments": version_of(launch.arg_names),
            "phases_s": {
                span.phase.value: round(span.elapsed_s, 1) for span in launch.spans if span.elapsed_s is not None
            },
        }
        return {name: value for name, value in facts.items() if value not in (None, {}, [])}


def diagnose(chunks: Iterable[bytes], context: Mapping[str, object] | None = None) -> Diagnosis:
    """Read a log and say what it is.

    `context` is what a log alone can't say: `observed_at` (log clock, as text), `process_alive`, `exit_code`,
    `stop_asked`, `probe`; `checkpoint`, the weight files (core/checkpoint.py); `moving`, what moves on the node
    (core/activity.py).
    """
    context = context or {}
    now = _clock(context.get("observed_at"))
    stream = iter(chunks)
    first = b""
    for data in stream:
        first += data
        if len(first) >= _ORDER_BYTES:
            break
    newest_first = _is_newest_first(first)
    intake = LogIntake(near=now)
    whole = chain((first,), stream)
    for data in (_upside_down(b"".join(whole)),) if newest_first else whole:
        intake.feed(data)
    intake.flush()
    return replace(judge(intake, context), newest_first=newest_first)


def judge(intake: LogIntake, context: Mapping[str, object] | None = None) -> Diagnosis:
    """What the log says as far as it was read."""
    context = context or {}
    alive, code, probe = context.get("process_alive"), context.get("exit_code"), context.get("probe")
    launch = intake.observe(
        now=_clock(context.get("observed_at")),
        process_alive=alive if isinstance(alive, bool) else None,
        exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        stop_asked=context.get("stop_asked") is True,
        probe=probe if isinstance(probe, Mapping) else None,
        around=Surroundings(
            checkpoint=checkpoint_from_json(context.get("checkpoint")), moving=moving_from_json(context.get("moving"))
        ),
    )
    return Diagnosis(launch, intake.lines_seen)


def _clock(value: object) -> float | None:
    at = clock_or_none(value) if isinstance(value, str) else finite(value)
    return at if at is not None and _EARLIEST <= at < _LATEST else None


def _is_newest_first(data: bytes) -> bool:
    """Most stamps stand before a later one: an export that begins with the newest line."""
    lines = data[:_ORDER_BYTES].decode("utf-8", "replace").split("\n")[:_ORDER_LINES]
    clocks = [clock for line in lines if (clock := clock_or_none(stamp_of(line))) is not None]
    steps = [later - earlier for earlier, later in pairwise(clocks)]
    down, up = sum(step < 0 for step in steps), sum(step > 0 for step in steps)
    return down >= 3 and down > 3 * up


def _upside_down(data: bytes) -> bytes:
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return b"".join(line + b"\n" for line in reversed(lines))
