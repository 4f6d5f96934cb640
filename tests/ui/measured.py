"""Benchmarks, comparisons and series as a fleet may hold them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from k2tui.core.benching.comparison import Answer, Changed, Comparison, MetricRow
from k2tui.core.benching.facts import RequestFigures
from k2tui.core.benching.live import BenchEvent, BenchLive
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult, BenchSystem, GateResult, Spread
from k2tui.core.benching.series import Arm, SeriesEvent, SeriesPlan, SeriesStage, SeriesState, Trial, TrialState
from k2tui.core.errors import ExitCode
from k2tui.core.series import Annotation
from k2tui.core.settings import MatrixSettings
from k2tui.core.verbs import ProfileChange
from tests.fakes.fleet import DAY, PROFILES, FakeFleet
from tests.ui.tried import TriedFleet, tried
from tests.ui.working import serving

REASONS = {
    "G1": "the server's usage and its counter agree within 0.1 %",
    "G2": "no other client was seen",
    "G3": "0 of 1 540 prompt tokens came from the cache",
    "G4": "the loop was 0.4 ms late at the 99th percentile, 9 % of a core",
    "G5": "every answer ended by length or stop",
    "G6": "clocks within 1 % of their median, nothing held them back",
    "G7": "no request failed",
}
SYSTEM = BenchSystem(
    model="/shared/kimi-k2.5-int4",
    quantization="compressed-tensors",
    engine="sglang",
    version="0.5.23",
    argv=(("--reasoning-parser", "kimi_k2"), ("--tp-size", "8"), ("--trust-remote-code", "")),
    env=(("NCCL_ALGO", "Ring"), ("NCCL_PROTO", "LL")),
    gpus="8 × NVIDIA H200",
    driver="570.86.15",
    power_limit_w=700.0,
)


def gates(**others: tuple[bool | None, str]) -> tuple[GateResult, ...]:
    """All seven, met but for those that are given: `G2=(False, why)`."""
    return tuple(GateResult(name, *others.get(name, (True, reason))) for name, reason in REASONS.items())


def request(number: int, tps: float, **changes: Any) -> RequestFigures:
    made = RequestFigures(
        c=1,
        number=number,
        began_s=3.0 * number,
        e2e_ms=208.0 + 256_000 / tps,
        isl=214,
        osl=256,
        reasoning_tokens=256,
        cached=0,
        ttft_any_ms=206.0 + number,
        decode_tps=tps,
        e2e_tps=256 / (0.208 + 256 / tps),
        chunks=256,
        finish="length",
    )
    return replace(made, **changes)


def quick(minutes_ago: float = 0.0, tps: float | None = 90.0, **changes: Any) -> BenchResult:
    """A quick figure, so long before 14:00."""
    at = DAY - 60 * minutes_ago
    number = round(minutes_ago)
    made = BenchResult(
        bench_id=f"20261130T140000Z-{number:04x}",
        subject="kimi",
        node="gpu-a",
        procedure=Procedure.QUICK,
        began_at=at,
        tool_version="0.9.0",
        formula_set="k2-1",
        run_id="20261130T140100Z-0001",
        profile="reason",
        elapsed_s=9.4,
        decode_tps=tps,
        decode_tps_min=None if tps is None else tps - 0.2,
        decode_tps_max=None if tps is None else tps + 0.1,
        decode_tps_cv=None if tps is None else 0.0017,
        decode_tps_low=None if tps is None else tps - 0.4,
        decode_tps_high=None if tps is None else tps + 0.4,
        e2e_tps=None if tps is None else tps - 6.1,
        ttft_any_ms=208.0,
        tpot_ms=None if tps is None else 1000 / tps,
        points=(BenchPoint(1, decode_tps=tps, agg_tps_total=tps, sent=3, output_tokens=768),),
        requests=() if tps is None else tuple(request(place, tps + (place - 2) / 10) for place in (1, 2, 3)),
        gates=gates(),
        workload_key="5b1c9e02aa",
        system_key="a41f77d0c3",
        system=SYSTEM,
    )
    return replace(made, **changes)


_CURVE = ((1, 89.4, 89.1), (2, 171.0, 85.9), (4, 318.0, 80.2), (8, 561.0, 70.6), (16, 884.0, 55.7), (32, 1204.0, 38.1))


def sweep(minutes_ago: float = 30.0, share: float = 1.0, **changes: Any) -> BenchResult:
    """Six concurrencies, the last of them too short to be steady."""
    points = tuple(
        BenchPoint(
            c,
            agg_tps_steady=None if c == 32 else total * share,
            agg_tps_total=total * share * 0.97,
            steady=c != 32,
            window_s=31.0 if c != 32 else 7.0,
            decode_tps=one * share,
            sent=3 * c,
            output_tokens=768 * c,
            spreads={
                "ttft_any_ms": Spread(3 * c, 190 + 12.0 * c, 220 + 19.0 * c, 260 + 22.0 * c),
                "itl_ms": Spread(700 * c, 1000 / one, 1090 / one, 2300 / one, p99=1800 / one),
            },
        )
        for c, total, one in _CURVE
    )
    return quick(
        minutes_ago,
        89.1 * share,
        **{"procedure": Procedure.SWEEP, "points": points, "elapsed_s": 214.0, "requests": (), **changes},
    )


BUSY = (False, "another client ran 3 requests for 6 s of 9 s")
UNTOLD = (None, "the node tells no clocks")
OTHER = BenchResult(
    bench_id="20261128T090000Z-beef",
    subject="kimi-2",
    node="gpu-b",
    procedure=Procedure.IMPORTED,
    began_at=DAY - 190_000,
    tool="guidellm",
    tool_version="0.8.1",
    formula_set="guidellm-0.8",
    points=(BenchPoint(16, agg_tps_total=1310.0, sent=128, failed=2),),
    gates=gates(
        G1=(None, "guidellm does not say"), G3=(None, "guidellm does not say"), G7=(False, "2 of 128 requests failed")
    ),
    profile=None,
)
FAILED = quick(
    400,
    None,
    ttft_any_ms=None,
    error="the server was gone after 1 of 3 requests: connection reset",
    gates=gates(G1=(None, "no request came to its end"), G7=(False, "3 of 3 requests failed")),
    points=(),
)


def results() -> list[BenchResult]:
    """Newest first: quick figures of three starts, a sweep, a red one, a failed one, one of another tool."""
    older = replace(SYSTEM, env=(("NCCL_ALGO", "Ring"),), version="0.5.9")
    return [
        quick(2, 90.0, gates=gates(G6=UNTOLD)),
        sweep(30),
        quick(55, 84.1, gates=gates(G2=BUSY)),
        quick(120, 71.2, run_id="20261130T120000Z-0003", profile="base"),
        quick(240, 63.6, is_base=True, run_id="20261130T100000Z-0002", profile="base", system=older),
        FAILED,
        OTHER,
    ]


def measured(node_count: int = 2, **options: Any) -> TriedFleet:
    """A fleet with benchmarks: kimi has a base, and one request runs on it."""
    fleet = tried(node_count, **options)
    lay_down(fleet, results())
    return fleet


def lay_down(fleet: FakeFleet, every: list[BenchResult]) -> None:
    """These are what was measured."""
    fleet.measured = list(every)
    base = next((one for one in every if one.is_base), None)
    last = next((one for one in every if one.subject == "kimi"), None)
    fleet.set("kimi", base=base, last_bench=last, serving=serving(fleet.clock.at, running=0, decode_tokens_per_s=0.0))
    fleet.annotated = [
        Annotation(DAY - 60 * 130, "server/kimi", "restart: +NCCL_PROTO=LL", "restart"),
        Annotation(DAY - 60 * 60, "server/kimi", "restart: +NCCL_ALGO=Ring", "restart"),
        Annotation(DAY - 60 * 50, "server/other", "restart of a stranger", "restart"),
    ]


def live(fleet: FakeFleet, **changes: Any) -> BenchLive:
    """A quick figure in its second request."""
    made = BenchLive(
        bench_id="20261130T140001Z-11fe",
        procedure=Procedure.QUICK,
        began_at=fleet.clock.at - 4.0,
        text="request 2 of 3",
        c=1,
        fraction=0.45,
        decode_tps=90.1,
        tokens=346,
    )
    return replace(made, **changes)


def steps(fleet: FakeFleet, result: BenchResult) -> list[BenchEvent]:
    """What a quick figure tells."""
    going = live(fleet)
    name = result.subject
    return [
        BenchEvent(
            "connected", name, 0.4, f"connected to {name}", live=replace(going, decode_tps=None, text="warming up")
        ),
        BenchEvent("request", name, 3.2, "request 1: 90.0 tok/s of one stream, TTFT 207 ms", live=going),
        BenchEvent("figure", name, 4.0, "90.1 tok/s of one stream so far", live=going),
        BenchEvent("request", name, 9.1, "request 3: 90.1 tok/s of one stream, TTFT 209 ms", live=going),
        BenchEvent("result", name, 9.4, "measured", result=result),
        BenchEvent("done", name, 9.4, "measured", exit_code=ExitCode.DONE if result.valid else ExitCode.BAD),
    ]


def going(fleet: FakeFleet, result: BenchResult | None = None) -> None:
    """`b` measures this; it stands still at its live figure until the gate is opened."""
    fleet.hold = True
    fleet.bench_steps["kimi"] = steps(fleet, result or quick(0, 90.0))


COMPARED = Comparison(
    answer=Answer.FASTER,
    sentence="B is 41.5 % faster than A: ratio 1.415, 95 % interval 1.392 to 1.438 over 3 restarts of each",
    ratio=1.415,
    low=1.392,
    high=1.438,
    basis="restarts",
    restarts_a=3,
    restarts_b=3,
    changes=(Changed("NCCL_PROTO", None, "LL"), Changed("version", "0.5.9", "0.5.23")),
    confounded=True,
    rows=(
        MetricRow("decode_tps", "one stream, without prefill (tok/s)", 63.6, 90.0, True),
        MetricRow("ttft_any_ms", "TTFT, first token of any kind (ms)", 250.0, 208.0, False),
        MetricRow(
            "ttft_answer_ms", "TTFT, first token of the answer (ms)", None, None, False, "no answer in 256 tokens"
        ),
        MetricRow(
            "agg_tps_steady at 8", "all streams together, 8 of them (tok/s)", None, 561.0, True, "A has no sweep"
        ),
    ),
    left_out=("20261130T140000Z-0037: G2: another client ran 3 requests for 6 s of 9 s",),
)


# ---- series

AB = SeriesPlan(
    series_id="20261130T130000Z-00ab",
    name="A/B",
    server="kimi",
    node="gpu-a",
    arms=(Arm("base", ProfileChange(profile="base")), Arm("reason", ProfileChange(profile="reason"))),
    restarts=3,
    order=(0, 1, 1, 0, 0, 1),
    found_run="20261130T140100Z-0001",
    launch_s=41.0,
)
NCCL = replace(
    AB,
    series_id="20261130T133000Z-00cc",
    name="nccl",
    arms=tuple(
        Arm(f"NCCL_PROTO={proto} NCCL_ALGO={algo}", ProfileChange(profile="reason"))
        for proto in ("LL", "Simple")
        for algo in ("Ring", "Tree")
    ),
    restarts=2,
    order=(0, 1, 2, 3, 3, 2, 1, 0),
    confirm_needed='confirm = "always" on gpu-a',
)
MATRIX = MatrixSettings("nccl", "kimi", env={"NCCL_PROTO": ("LL", "Simple"), "NCCL_ALGO": ("Ring", "Tree")}, restarts=2)


def trials(plan: SeriesPlan, done: int, *tps: float) -> tuple[Trial, ...]:
    """So many measured, the next one being measured, the rest waiting."""
    made = []
    for number, arm in enumerate(plan.order, 1):
        if number <= done:
            one = Trial(number, arm, TrialState.MEASURED, f"r{number}", f"b{number}", tps[number - 1], True, None, 62.0)
        else:
            state = TrialState.MEASURING if number == done + 1 else TrialState.WAITING
            one = Trial(number, arm, state)
        made.append(one)
    return tuple(made)


def ab_state(done: int = 3, **changes: Any) -> SeriesState:
    """An A/B after so many trials."""
    speeds = (63.6, 90.0, 89.6, 63.9, 63.1, 90.3)
    return replace(SeriesState(AB, trials(AB, done, *speeds), began_at=DAY - 3600, updated_at=DAY - 60), **changes)


def matrix_state(**changes: Any) -> SeriesState:
    """A matrix that is over: one configuration hung, one crashed."""
    hung = "no progress for 6 min in distributed: rank 5 printed nothing since the barrier"
    crashed = "NCCL failed: unhandled system error"
    skipped = "an earlier trial of it hung"
    told = (
        Trial(1, 0, TrialState.MEASURED, "r1", "b1", 90.0, True, None, 62.0),
        Trial(2, 1, TrialState.HUNG, "r2", None, None, None, hung, 360.0),
        Trial(3, 2, TrialState.MEASURED, "r3", "b3", 71.0, True, None, 64.0),
        Trial(4, 3, TrialState.FAILED, "r4", None, None, None, crashed, 12.0),
        Trial(5, 3, TrialState.SKIPPED, None, None, None, None, "an earlier trial of it failed"),
        Trial(6, 2, TrialState.MEASURED, "r6", "b6", 70.4, False, "G2: another client ran 2 requests", 63.0),
        Trial(7, 1, TrialState.SKIPPED, None, None, None, None, skipped),
        Trial(8, 0, TrialState.MEASURED, "r8", "b8", 89.2, True, None, 61.0),
    )
    made = SeriesState(NCCL, told, SeriesStage.DONE, DAY - 7200, DAY - 3600, left="kimi runs again as it was found")
    return replace(made, **changes)


def series_step(state: SeriesState, type: str, text: str, **changes: Any) -> SeriesEvent:
    return SeriesEvent(type, state, 62.0, text, **changes)


def with_matrix(**options: Any) -> TriedFleet:
    """A config with a matrix, and plans for it and for an A/B."""
    fleet = measured(2, matrices={"nccl": MATRIX}, profiles=PROFILES, **options)
    fleet.plans = {"nccl": NCCL, "kimi": AB}
    return fleet
