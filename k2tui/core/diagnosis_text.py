"""A diagnosis for a person in a hurry: the verdict, the line that matters, what to do; then the rest."""

from __future__ import annotations

from collections.abc import Iterator

from k2tui.core.advice import INFERRED, SOURCE, THREAD, advice_for
from k2tui.core.diagnosis import Diagnosis, behind
from k2tui.core.eta import eta_s
from k2tui.core.flag_ages import version_of
from k2tui.core.launch import Advice, Launch, LaunchKind, LaunchPhase
from k2tui.core.verdict import LIMITS_S
from k2tui.core.words import PHASE_WORDS, duration, failure_words, phase_time

_LONGEST = 600
"""Characters of one line of a log; the rest is in --json."""

_NO_LINE = {
    LaunchKind.READY: "nothing in the log speaks against it",
    LaunchKind.STOPPED: "it was asked to stop",
    LaunchKind.LOADING: "no progress was printed yet",
}
_NEXT = {
    LaunchKind.READY: "ask it for a completion: a log alone can't prove that it answers",
    LaunchKind.STOPPED: "nothing to do",
    LaunchKind.LOADING: "wait",
}
_BASIS = {SOURCE: "the engine says so", THREAD: "from a public report", INFERRED: "inferred: no source"}


def to_text(diagnosis: Diagnosis, *, width: int | None = None, written_s: float | None = None) -> Iterator[str]:
    """Lines for a terminal of `width` columns; the line of the log is cut to two rows, what to do never is.

    The first says what it is, the second is the line that matters, the third says what to do. `written_s` is how long
    ago the file was last written to, where that is known.
    """
    launch, cause = diagnosis.launch, diagnosis.root_cause
    if diagnosis.is_empty:
        yield "NOTHING in this log is from an engine" + (": it is empty" if not diagnosis.lines else "")
        yield f"  {diagnosis.lines} lines were read"
        yield "  → give the log of a server: what SGLang or vLLM print to stderr and stdout"
        return
    yield verdict(diagnosis)
    if cause is None:
        yield _cut(f"  {_nothing_to_show(launch)}", width)
    else:
        where = f"  line {diagnosis.number(cause)}" + (f" {cause.rank}" if cause.rank else "")
        yield _cut(f"{where}: {cause.line.strip()}", width)
    advice = list(advice_for(launch))
    yield f"  → {_told(advice[0]) if advice else _what_next(launch, written_s)}"
    for more in advice[1:]:
        yield f"  → {_told(more)}"
    for finding in launch.findings:
        if finding.name == launch.finding:
            continue
        yield _cut(f"  ! line {finding.line_number}: {finding.text}", width)
    if launch.kind is LaunchKind.READY:
        for doubt in (launch.health_failed, launch.waiting):
            if doubt is not None:
                yield _cut(f"  ! line {diagnosis.number(doubt)}: {doubt.line.strip()}", width)
    yield from _rest(launch)


def verdict(diagnosis: Diagnosis) -> str:
    """`CRASHED in weights on TP3: GPU memory ran out while the weights were loaded (sglang 0.5.8)`."""
    launch = diagnosis.launch
    detail = f", {launch.detail}," if launch.detail else ""
    place = f"in {PHASE_WORDS[launch.phase]}"
    cause = diagnosis.root_cause
    engine = engine_words(launch)
    head, what = f"{launch.kind.value.upper()}{detail} {place}", ""
    if launch.kind is LaunchKind.READY:
        took = _took(launch)
        head = "READY" + (", serving" if launch.phase is LaunchPhase.SERVING else "")
        head += f" on port {launch.port}" if launch.port is not None else ""
        what = f"launched in {duration(took)}" if took is not None else ""
    elif launch.kind is LaunchKind.LOADING:
        what = ", ".join(word for word in (_bar(launch), _left(diagnosis)) if word)
    elif launch.finding is not None:
        what = failure_words(launch.finding)
    elif cause is not None:
        head += f" on {cause.rank}" if cause.rank else ""
        what = failure_words(cause.failure)
    quiet = launch.silence_s
    if launch.kind is LaunchKind.HUNG and quiet is not None:
        head += f" for {duration(quiet)}"
    return head + (f": {what}" if what else "") + (f" ({engine})" if engine else "")


def phase_line(launch: Launch) -> str | None:
    """`✓ weights 41 s`: the newest phase that is over; None where its time is not known."""
    over = [span for span in launch.spans if span.elapsed_s is not None]
    return f"✓ {PHASE_WORDS[over[-1].phase]} {phase_time(over[-1].elapsed_s)}" if over else None


def engine_words(launch: Launch) -> str:
    """`vllm 0.11.0`, or `sglang 0.5.18 by its arguments` where the log names no version."""
    if launch.version is not None or launch.engine is None:
        return " ".join(word for word in (launch.engine, launch.version) if word)
    by_arguments = version_of(launch.arg_names)
    return launch.engine if by_arguments is None else f"{launch.engine} {by_arguments} by its arguments"


def _bar(launch: Launch) -> str:
    progress, bar = launch.progress, launch.bars[-1] if launch.bars else None
    if progress is None or (
        bar is not None and bar.phase.order < launch.phase.order and progress.done == progress.total
    ):
        return ""  # a bar that came to its end in an earlier phase says nothing of this one
    by = " by bytes" if progress.by == "bytes" else ""
    return f"{progress.fraction:.0%}{by}, {progress.done}/{progress.total} {progress.unit}"


def _left(diagnosis: Diagnosis) -> str:
    left = None if diagnosis.launch.detail == "stalled" else eta_s(diagnosis.bar)
    return "" if left is None else f"{duration(left[0])} to {duration(left[1])} left of this bar"


def _told(advice: Advice) -> str:
    return f"{advice.text} ({_BASIS[advice.basis]})"


def _nothing_to_show(launch: Launch) -> str:
    found = next((one for one in launch.findings if one.name == launch.finding), None)
    if found is not None:
        return f"line {found.line_number}: {found.text}" if found.line_number else found.text
    return _NO_LINE.get(launch.kind, "the log does not say why")


def _what_next(launch: Launch, written_s: float | None) -> str:
    if launch.kind is LaunchKind.LOADING:
        if launch.detail == "stalled":
            return "look whether its process, its disk and its GPUs still move"
        if written_s is not None and written_s > LIMITS_S[launch.phase]:
            return f"nothing was written for {duration(written_s)}: look whether its process is still there"
    return _NEXT.get(launch.kind, "read the log above its last lines: k2tui knows no advice for this")


def _rest(launch: Launch) -> Iterator[str]:
    missing = sorted(behind(launch))
    if missing:
        yield f"  behind: {', '.join(missing)}"
    if launch.kind is not LaunchKind.HUNG and launch.silence_s is not None and launch.silence_s >= 1:
        yield f"  no progress for {duration(launch.silence_s)}"
    times = [
        f"{PHASE_WORDS[span.phase]} {phase_time(span.elapsed_s)}"
        for span in launch.spans
        if span.elapsed_s is not None and span.phase.order < LaunchPhase.READY.order
    ]
    if times:
        yield f"  phases: {', '.join(times)}"


def _took(launch: Launch) -> float | None:
    began = next((span.began for span in launch.spans if span.began is not None), None)
    ready = next((span.began for span in launch.spans if span.phase is LaunchPhase.READY), None)
    return None if began is None or ready is None else ready - began


def _cut(text: str, width: int | None) -> str:
    most = _LONGEST if width is None else max(20, 2 * width)
    return text if len(text) <= most else f"{text[: most - 1]}…"
