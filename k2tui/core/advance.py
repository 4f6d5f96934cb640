"""The launch as it stands after one more fact: pure, every fact has its case, and phases only move forward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from k2tui.core.bar_steps import all_drawn, drawn, shown_progress
from k2tui.core.facts import (
    ArgsSeen,
    BarDrawn,
    Beat,
    BeatKind,
    CapacitySeen,
    EncoderSeen,
    EndSeen,
    Fault,
    HealthFailed,
    HttpStarted,
    JobSeen,
    KvAllocated,
    LaunchFact,
    Line,
    PhaseReached,
    PortAsked,
    PortBound,
    RankLoaded,
    Remarked,
    ServerReady,
    ServiceEnded,
    SlowWork,
    StopSeen,
    VersionSeen,
    Waiting,
    WeightsBegan,
)
from k2tui.core.failing import fail, suspected
from k2tui.core.figures import whole
from k2tui.core.findings import of_arguments, of_draft, of_port, of_remark
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase, Suspect, Traffic
from k2tui.core.movement import ONLY_RANK, OVER, cause_of, marked, move_to, reach

_ALIVE_AFTER_S = 30.0
_ENCODER_ONLY = "encoder_only"
"""The argument of a server that only encodes; such a one does not print its arguments."""


def advance(launch: Launch, fact: LaunchFact, now: float | None) -> Launch:
    """The launch as it stands after `fact`, said at `now` (log clock). The old one is left as it was."""
    match fact:
        case ArgsSeen():
            return of_arguments(_args(launch, fact, now), fact)
        case VersionSeen():
            begun = _begun_again(launch) if fact.begins and _is_new_start(launch, LaunchPhase.WEIGHTS) else launch
            return replace(begun, version=fact.version)
        case PhaseReached():
            return reach(launch, fact.phase, fact.line, now)
        case WeightsBegan():
            return _weights_began(launch, fact, now)
        case RankLoaded():
            return _rank_loaded(launch, fact, now)
        case BarDrawn():
            launch = drawn(launch, fact, now)
            return of_draft(launch) if launch.drafting else launch
        case KvAllocated():
            return replace(
                reach(launch, LaunchPhase.KV_CACHE, fact.line, now), kv_tokens=fact.tokens or launch.kv_tokens
            )
        case CapacitySeen():
            return replace(reach(launch, LaunchPhase.WARMUP, fact.line, now), kv_tokens=fact.tokens)
        case HttpStarted():
            if fact.complete and (launch.engine == "vllm" or launch.args.get(_ENCODER_ONLY) == "True"):
                return _ready(launch, fact.line, now)
            return reach(launch, LaunchPhase.WARMUP, fact.line, now)
        case PortAsked():
            return replace(launch, port_asked=fact.port)
        case PortBound():
            return _port(launch, fact, now)
        case ServerReady():
            return _ready(launch, fact.line, now)
        case EncoderSeen():
            encoder = replace(launch, args={**launch.args, _ENCODER_ONLY: "True"})
            return reach(encoder, LaunchPhase.DISTRIBUTED, fact.line, now)
        case JobSeen():
            return replace(launch, is_job=True)
        case SlowWork():
            return replace(marked(launch, fact.line, now), slow_work=True)
        case Waiting():
            return replace(launch, waiting=launch.waiting or cause_of(fact.line, fact.failure))
        case HealthFailed():
            return replace(launch, health_failed=launch.health_failed or cause_of(fact.line, "no_heartbeat"))
        case Beat():
            return _beat(launch, fact, now)
        case StopSeen():
            return launch if launch.kind in OVER else replace(launch, kind=LaunchKind.STOPPED, detail=None)
        case EndSeen():
            return fail(launch, now)
        case Fault():
            return suspected(launch, fact, now)
        case Remarked():
            return of_remark(launch, fact)
        case ServiceEnded():
            if fact.code in (0, 130, 143):
                return advance(launch, StopSeen(line=fact.line), now)
            return fail(launch, now)


def _is_new_start(launch: Launch, after: LaunchPhase) -> bool:
    over = launch.kind is not LaunchKind.LOADING
    return over or (launch.phase.order >= after.order and launch.args.get("nnodes", "1") == "1")


def _begun_again(launch: Launch) -> Launch:
    return Launch(engine=launch.engine, port_asked=launch.port_asked, clock_ahead_s=launch.clock_ahead_s)


def _args(launch: Launch, fact: ArgsSeen, now: float | None) -> Launch:
    if _is_new_start(launch, LaunchPhase.DISTRIBUTED):
        launch = _begun_again(launch)
    values = fact.values
    launch = replace(
        launch,
        args=dict(values),
        arg_names=fact.names,
        model=values.get("served_model_name") or values.get("model_path") or launch.model,
        version=fact.version or launch.version,
        ranks_expected=_ranks_expected(values) if "tp_size" in values or launch.engine == "vllm" else None,
    )
    return reach(launch, LaunchPhase.ARGS, fact.line, now)


def _ranks_expected(values: Mapping[str, str]) -> int:
    def size(name: str) -> int:
        number = whole(values.get(name, "1"))
        return number if number is not None and 0 < number < 100_000 else 1

    replicas = 1 if values.get("enable_dp_attention") == "True" else size("dp_size")
    return max(1, size("tp_size") * size("pp_size") * replicas // size("nnodes"))


def _weights_began(launch: Launch, fact: WeightsBegan, now: float | None) -> Launch:
    rank = fact.line.rank or fact.line.speaker or ONLY_RANK
    again = fact.draft or rank in launch.ranks_begun
    launch = replace(reach(launch, LaunchPhase.WEIGHTS, fact.line, now), ranks_begun=launch.ranks_begun | {rank})
    return replace(launch, drafting=launch.drafting or again)


def _rank_loaded(launch: Launch, fact: RankLoaded, now: float | None) -> Launch:
    rank = fact.line.rank or fact.line.speaker or ONLY_RANK
    loaded = launch.ranks_loaded | {rank}
    launch = replace(reach(launch, LaunchPhase.WEIGHTS, fact.line, now), ranks_loaded=loaded)
    if loaded >= launch.ranks_begun and len(loaded) >= (launch.ranks_expected or 1):
        return move_to(launch, LaunchPhase.KV_CACHE, now)
    return move_to(launch, LaunchPhase.POSTPROCESS, now) if all_drawn(launch) else launch


def _port(launch: Launch, fact: PortBound, now: float | None) -> Launch:
    if launch.port is not None and launch.port == (launch.port_asked or whole(launch.args.get("port"))):
        return launch  # it is where it was meant to be; what else binds a port is another's
    launch = replace(launch, port=fact.port)
    asked = launch.port_asked or whole(launch.args.get("port"))
    if launch.kind not in OVER:
        launch = of_port(launch, asked, fact.port, fact.line.number)
    return reach(launch, LaunchPhase.WARMUP, fact.line, now)


def _ready(launch: Launch, line: Line, now: float | None) -> Launch:
    if launch.kind is not LaunchKind.LOADING:
        return launch
    launch = move_to(marked(launch, line, now), LaunchPhase.READY, now)
    launch = replace(launch, kind=LaunchKind.READY, suspects=(), drafting=False)
    if launch.progress is not None:
        launch = replace(launch, progress=shown_progress(launch, launch.progress))
    return launch


def _beat(launch: Launch, beat: Beat, now: float | None) -> Launch:
    if launch.kind in OVER:
        return _lives_on(launch, now) if beat.kind is BeatKind.DECODE else launch
    nothing_known = not launch.spans
    if beat.kind is BeatKind.POLL:
        return _ready(launch, beat.line, now) if nothing_known else replace(launch, health_failed=None)
    if nothing_known:
        launch = _ready(launch, beat.line, now)
    if not beat.probe:
        launch = replace(launch, traffic=_traffic(launch.traffic, beat))
    if beat.kind is BeatKind.DECODE and launch.args.get("node_rank", "0") != "0":
        launch = _ready(launch, beat.line, now)  # a further node never says that it is ready
    if beat.probe or beat.idle:
        return launch
    if beat.kind is not BeatKind.REQUEST:
        launch = replace(marked(launch, beat.line, now), suspects=_fresh(launch, now))
    if launch.phase is LaunchPhase.READY:
        launch = move_to(launch, LaunchPhase.SERVING, now)
    return launch


def _lives_on(launch: Launch, now: float | None) -> Launch:
    """It decodes long after a traceback that looked like its end: it was not."""
    if launch.kind is not LaunchKind.CRASHED or now is None or launch.failed_at is None:
        return launch
    if now - launch.failed_at < _ALIVE_AFTER_S:
        return launch
    launch = replace(launch, kind=LaunchKind.READY, cause=None, suspects=(), failed_at=None)
    return move_to(launch, LaunchPhase.SERVING, now)


def _fresh(launch: Launch, now: float | None) -> tuple[Suspect, ...]:
    """What may still explain a failure: an error that the server has long worked on after is none."""
    if not launch.suspects or now is None:
        return launch.suspects
    return tuple(one for one in launch.suspects if one.fatal or one.at is None or now - one.at < _ALIVE_AFTER_S)


def _traffic(traffic: Traffic, beat: Beat) -> Traffic:
    if beat.kind is BeatKind.REQUEST:
        return replace(traffic, running=None)
    rates = dict(traffic.tokens_per_s)
    if beat.tokens_per_s is not None:
        rates[_replica(beat.line.rank)] = beat.tokens_per_s
    return Traffic(
        running=beat.running,
        queued=traffic.queued if beat.queued is None else beat.queued,
        usage=traffic.usage if beat.usage is None else beat.usage,
        tokens_per_s=tuple(sorted(rates.items())),
    )


def _replica(rank: str | None) -> str:
    """Pipeline stages and tensor ranks print the rate of the same streams: only data-parallel ranks add up."""
    return next((word for word in (rank or "").split() if word.startswith("DP")), "")
