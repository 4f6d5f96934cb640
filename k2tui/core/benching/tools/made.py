"""What a tool's figures become: a result like any other, with that tool's own formulas named in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from k2tui.core.benching.keys import key_of, system_key_of
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult, BenchSystem, GateResult, GpuSample

GATES = ("G1", "G2", "G3", "G4", "G5", "G6", "G7")


@dataclass(frozen=True, slots=True)
class About:
    """What a result file can't say of itself."""

    subject: str
    now: float
    """Unix time: when it is read."""
    procedure: Procedure = Procedure.IMPORTED
    node: str | None = None
    run_id: str | None = None
    profile: str | None = None
    series_id: str | None = None
    system: BenchSystem | None = None
    """Where it is known better than the file says."""
    samples: tuple[GpuSample, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """One measurement of a tool."""

    tool: str
    version: str
    """Of the tool, as far as the file says; else empty."""
    mark: str
    """Text that is another one for another measurement: what the id is made of."""
    workload: dict[str, object]
    """What was asked for; the tool, its formulas and where it ran are added."""
    point: BenchPoint
    began_at: float | None = None
    ttft_any_ms: float | None = None
    ttft_answer_ms: float | None = None
    e2e_tps: float | None = None
    elapsed_s: float | None = None
    system: BenchSystem = field(default_factory=BenchSystem)
    gates: tuple[GateResult, ...] = ()
    """Those that it can say something of."""
    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def formula_set(self) -> str:
        """The tool and its version: figures by other formulas are never compared."""
        return f"{self.tool} {self.version}".strip()


def result_of(found: Found, about: About) -> BenchResult:
    """The result. Figures of one stream are there only where one stream was measured."""
    alone = found.point.c == 1
    decode_tps = found.point.decode_tps if alone else None
    spread = found.point.spreads.get("decode_tps")
    workload = {
        "tool": found.tool,
        "formula_set": found.formula_set,
        "measured_from": "node" if about.procedure is Procedure.FULL else None,
        **found.workload,
    }
    system = about.system or found.system
    began_at = about.now if found.began_at is None else found.began_at
    return BenchResult(
        bench_id=id_of(began_at, found.mark),
        subject=about.subject,
        node=about.node,
        procedure=about.procedure,
        began_at=began_at,
        tool=found.tool,
        tool_version=found.version,
        formula_set=found.formula_set,
        run_id=about.run_id,
        series_id=about.series_id,
        profile=about.profile,
        elapsed_s=found.elapsed_s,
        decode_tps=decode_tps,
        decode_tps_min=spread.smallest if alone and spread is not None else None,
        decode_tps_max=spread.largest if alone and spread is not None else None,
        e2e_tps=found.e2e_tps if alone else None,
        ttft_any_ms=found.ttft_any_ms if alone else None,
        ttft_answer_ms=found.ttft_answer_ms if alone else None,
        tpot_ms=None if decode_tps is None else 1000.0 / decode_tps,
        points=(found.point,),
        gates=_every(found.gates),
        samples=about.samples,
        workload_key=key_of(workload),
        workload=workload,
        system_key=system_key_of(system),
        system=system,
        notes=found.notes,
        error=found.error,
    )


def failures(failed: int | None, done: int | None) -> GateResult:
    """G7 of a tool that counts what failed."""
    if done == 0:
        return GateResult("G7", False, "no request came to its end")
    if failed is None:
        return GateResult("G7", None, "could not be told: the file does not say how many requests failed")
    if failed:
        return GateResult("G7", False, f"{failed} request{'' if failed == 1 else 's'} failed")
    return GateResult("G7", True, f"{'no request' if done is None else f'none of {done} requests'} failed")


def cache(share: float | None, most: float) -> GateResult:
    """G3 of a tool that tells cached tokens; None: it does not."""
    if share is None:
        return GateResult("G3", None, "could not be told: the file does not say what came out of the cache")
    told = f"{share:.1%} of the prompt tokens came out of the cache"
    return GateResult("G3", share <= most, told)


def note(*notes: str | None) -> tuple[str, ...]:
    """Those that there are."""
    return tuple(one for one in notes if one)


def first(numbers: Iterable[float | None]) -> float | None:
    """The first that there is."""
    return next((number for number in numbers if number is not None), None)


def rate(count: float | None, seconds: float | None) -> float | None:
    """A second; None where one of them is not known."""
    return None if count is None or not seconds else count / seconds


def _every(gates: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """All seven: a tool says nothing of those that it does not have."""
    known = {gate.id: gate for gate in gates}
    unknown = "could not be told: another tool measured it, and its file does not say"
    return tuple(known.get(gate, GateResult(gate, None, unknown)) for gate in GATES)


def id_of(began_at: float, mark: str) -> str:
    """An id like k2tui's own; the same file read again at the same time has the same."""
    digest = hashlib.sha256(mark.encode("utf-8", "replace")).hexdigest()
    try:
        stamp = datetime.fromtimestamp(began_at, timezone.utc)
    except (ValueError, OverflowError, OSError):
        stamp = datetime.fromtimestamp(0, timezone.utc)
    return f"{stamp:%Y%m%dT%H%M%SZ}-{digest[:4]}"
