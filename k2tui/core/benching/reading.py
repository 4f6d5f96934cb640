"""What the load generator says, a JSON line at a time: folded into what was measured, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from k2tui.core.benching.codec import document_of, read_fact, read_json
from k2tui.core.benching.facts import (
    ClientCost,
    Counters,
    Flush,
    Measured,
    OthersSeen,
    PointFigures,
    PrefillSlope,
    RequestFigures,
)
from k2tui.core.benching.live import BenchLive
from k2tui.core.benching.plan import BenchPlan, Procedure
from k2tui.core.benching.words import METRICS

LONGEST_LINE = 1 << 20
"""Bytes or characters; a point with its distributions has about thirty thousand."""
MOST_FACTS = 50_000
"""Of one kind; what comes after is lost, and counted."""
_NEARLY = 0.99
"""Of the whole: what a bar shows until the end is told."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The generator's first line."""

    formula_set: str | None = None
    prompt_set: str | None = None
    nonce: str | None = None
    python: str | None = None
    model: str | None = None
    engine: str | None = None
    version: str | None = None
    connected_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Connected:
    """What will be measured, now that the server has answered once."""

    order: tuple[int, ...] = ()
    """The concurrencies, in turn."""
    note: str | None = None
    """What the server refused and is left out."""
    ignore_eos: bool | None = None
    connections: int | None = None
    prompt_lengths: tuple[int, int] | None = None
    """Of a prefill slope: tokens of the short and the long prompts, as far as the model takes them."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What it can say while it measures; provisional."""

    c: int
    at_s: float = 0.0
    decode_tps: float | None = None
    """Of one stream."""
    total_tps: float | None = None
    """Of all streams."""
    tokens: int = 0
    done: int | None = None
    of: int | None = None
    """Requests of this point; None: it goes by time."""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """The measurement failed as a whole."""

    message: str
    code: str | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The generator came to its own end."""

    wall_s: float | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """One line that was understood."""

    type: str
    """hello | connected | counters | flush | figure | request | point | client | others | slope | error | end."""
    text: str
    """One sentence for a person; empty where the line has nothing for one."""
    data: Mapping[str, object] = field(default_factory=dict)
    """The line's fields, made safe."""


_KINDS: Mapping[str, type[Any]] = {
    "hello": Hello,
    "connected": Connected,
    "counters": Counters,
    "flush": Flush,
    "figure": Figure,
    "request": RequestFigures,
    "point": PointFigures,
    "client": ClientCost,
    "others": OthersSeen,
    "slope": PrefillSlope,
    "error": Failure,
    "end": End,
}
_LISTS: Mapping[str, str] = {
    "counters": "counters",
    "flush": "flushes",
    "request": "requests",
    "point": "points",
    "client": "clients",
    "others": "others",
}
"""Line to the field of `Measured` that collects it."""


class Reader:
    """Folds the lines of one measurement. Nothing that a line says makes it raise."""

    def __init__(self, plan: BenchPlan, *, bench_id: str, began_at: float) -> None:
        self._plan = plan
        self._lists: dict[str, list[Any]] = {name: [] for name in _LISTS.values()}
        self._rest = Measured()
        self._live = BenchLive(bench_id, plan.procedure, began_at, "connecting")
        self._point_began_s = 0.0
        self._points = max(1, len(plan.concurrencies))
        self.lost = 0
        """Lines that were not understood, or too many."""

    @property
    def measured(self) -> Measured:
        """What was told until now."""
        lists: dict[str, Any] = {name: tuple(facts) for name, facts in self._lists.items()}
        return replace(self._rest, **lists)

    @property
    def live(self) -> BenchLive:
        """How far it is, and the figure so far."""
        return self._live

    def read(self, line: bytes | str) -> Heard | None:
        """Take in one line. None for one that says nothing: no JSON object, an unknown type, a field that it needs."""
        document = read_json(line) if len(line) <= LONGEST_LINE else None
        kind = document.get("type") if isinstance(document, dict) else None
        fact = read_fact(_KINDS[kind], document, least=0.0) if isinstance(kind, str) and kind in _KINDS else None
        if fact is None or not isinstance(kind, str) or not self._take(kind, fact):
            self.lost += 1
            return None
        return Heard(kind, _WORDS[kind](fact), document_of(fact))

    def _take(self, kind: str, fact: Any) -> bool:
        if kind in _LISTS:
            facts = self._lists[_LISTS[kind]]
            if len(facts) >= MOST_FACTS:
                return False
            facts.append(fact)
        if isinstance(fact, Hello):
            self._rest = replace(
                self._rest,
                formula_set=fact.formula_set or self._rest.formula_set,
                prompt_set=fact.prompt_set or self._rest.prompt_set,
                nonce=fact.nonce or self._rest.nonce,
                python=fact.python or self._rest.python,
                model=fact.model or self._rest.model,
                engine=fact.engine or self._rest.engine,
                version=fact.version or self._rest.version,
            )
        elif isinstance(fact, Connected):
            notes = (fact.note,) if fact.note else ()
            self._rest = replace(
                self._rest, ignore_eos=fact.ignore_eos, notes=notes, prompt_lengths=fact.prompt_lengths
            )
            self._points = max(len(fact.order), self._points)
        elif isinstance(fact, Failure):
            self._rest = replace(self._rest, error=self._rest.error or fact.message, error_code=fact.code)
        elif isinstance(fact, PrefillSlope):
            self._rest = replace(self._rest, slope=fact)
        elif isinstance(fact, End):
            self._rest = replace(self._rest, wall_s=fact.wall_s, ended=True)
        self._live = self._advanced(fact)
        return True

    def _advanced(self, fact: object) -> BenchLive:
        live = self._live
        match fact:
            case Hello() | Connected():
                return replace(live, text="warming up")
            case Figure():
                if fact.c != live.c:
                    self._point_began_s = fact.at_s
                return replace(
                    live,
                    text=fact.text or self._text(fact),
                    c=fact.c,
                    fraction=max(live.fraction or 0.0, self._fraction(fact)),
                    decode_tps=fact.decode_tps if fact.decode_tps is not None else live.decode_tps,
                    total_tps=fact.total_tps,
                    tokens=fact.tokens,
                )
            case PointFigures():
                done = self._points_done() if self._plan.procedure is Procedure.SWEEP else 0.0
                return replace(live, fraction=max(live.fraction or 0.0, done))
            case End():
                return replace(live, fraction=1.0)
        return live

    def _text(self, figure: Figure) -> str:
        if self._plan.procedure is Procedure.SWEEP:
            held_s = max(0.0, figure.at_s - self._point_began_s)
            return f"{_streams(figure.c)}, {held_s:.0f} s of {self._plan.hold_s:.0f}"
        if figure.done is None or not figure.of:
            return _streams(figure.c)
        return f"request {min(figure.done + 1, figure.of)} of {figure.of}"

    def _fraction(self, figure: Figure) -> float:
        """By points and how long this one is held; else by requests and tokens, or by the time that there is."""
        if self._plan.procedure is Procedure.SWEEP:
            held_s = max(0.0, figure.at_s - self._point_began_s)
            held = min(1.0, held_s / self._plan.hold_s) if self._plan.hold_s > 0 else 0.0
            return min(_NEARLY, self._points_done() + held / self._points)
        shares = [0.0]
        if figure.done is not None and figure.of:
            shares += [figure.done / figure.of]
            if self._plan.procedure is Procedure.QUICK and self._plan.max_tokens > 0:
                shares += [figure.tokens / (figure.of * self._plan.max_tokens)]
        if self._plan.procedure is Procedure.QUICK and self._plan.budget_s > 0:
            shares += [figure.at_s / self._plan.budget_s]
        return min(_NEARLY, max(shares))

    def _points_done(self) -> float:
        return min(_NEARLY, len(self._lists["points"]) / self._points)


def _streams(c: int) -> str:
    return "1 stream" if c == 1 else f"{c} streams"


def _hello(fact: Hello) -> str:
    what = f"measuring {fact.model}" if fact.model else "the load generator runs"
    return what if fact.connected_ms is None else f"{what}, connected in {fact.connected_ms:.0f} ms"


def _connected(fact: Connected) -> str:
    return fact.note or "the server answers; warming up"


def _flush(fact: Flush) -> str:
    if fact.ok is None:
        return "the server has no way to empty its cache"
    return (
        "the cache was emptied" if fact.ok else f"the cache could not be emptied: {fact.says or 'it did not say why'}"
    )


def _figure(fact: Figure) -> str:
    total, one = METRICS["agg_tps_total"], METRICS["decode_tps"]
    if fact.c > 1 and fact.total_tps is not None:
        return f"{total.text(fact.total_tps)} of {_streams(fact.c)} so far"
    return f"{one.text(fact.decode_tps)} of one stream so far" if fact.decode_tps is not None else "no figure yet"


def _request(fact: RequestFigures) -> str:
    name = f"{'warm-up ' if fact.is_warm_up else ''}request {fact.number}"
    if fact.error is not None:
        return f"{name} failed: {fact.error}"
    if fact.usage_missing:
        return f"{name}: the server did not count its tokens"
    parts = [METRICS["decode_tps"].text(fact.decode_tps)] if fact.decode_tps is not None else []
    parts += [f"TTFT {fact.ttft_any_ms:.0f} ms"] if fact.ttft_any_ms is not None else []
    parts += [f"{fact.osl} token{'' if fact.osl == 1 else 's'}"] if fact.osl is not None else []
    return f"{name}: {', '.join(parts) or 'nothing could be told'}"


def _point(fact: PointFigures) -> str:
    value = fact.agg_tps_steady if fact.steady else fact.agg_tps_total
    what = "in the steady window" if fact.steady else "over the whole time"
    return f"{_streams(fact.c)}: {METRICS['agg_tps_total'].text(value)} of all {what}"


def _slope(fact: PrefillSlope) -> str:
    if fact.prefill_tps is None:
        return "the long prompts were not slower than the short ones: no prefill rate"
    return f"prefill {METRICS['prefill_tps'].text(fact.prefill_tps)}"


_WORDS: Mapping[str, Callable[[Any], str]] = {
    "hello": _hello,
    "connected": _connected,
    "counters": lambda fact: "",
    "flush": _flush,
    "figure": _figure,
    "request": _request,
    "point": _point,
    "client": lambda fact: "",
    "others": lambda fact: f"the server ran {fact.running} requests, {fact.ours} of them ours",
    "slope": _slope,
    "error": lambda fact: fact.message,
    "end": lambda fact: "",
}
