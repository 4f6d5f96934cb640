"""Who ends a silent launch: the time-outs that the engines and torch bring along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from k2tui.core.figures import figure
from k2tui.core.flag_ages import version_of
from k2tui.core.launch import Launch, LaunchPhase


@dataclass(frozen=True, slots=True)
class Timeout:
    """One that gives up when nothing comes."""

    name: str
    """As in a sentence: `the barrier after loading`."""
    phase: LaunchPhase
    """The phase that it ends; `gives_up` names the phase that it was asked for."""
    seconds: float
    """Counted from when somebody began to wait, which is at or after the last line of progress of another."""
    who: str
    """`sglang`, `vllm` or `torch`."""
    source: str
    """The file that has the figure, and the versions that were read."""


RENDEZVOUS = Timeout(
    "torch's rendezvous",
    LaunchPhase.DISTRIBUTED,
    600.0,
    "torch",
    "distributed/constants.py, default_pg_nccl_timeout (10 minutes since 2.2, pull request 110947): init_process_group "
    "waits that long in its TCPStore; SGLang and vLLM pass none unless they were asked to",
)
COLLECTIVE = Timeout(
    "torch's watchdog of collectives",
    LaunchPhase.SERVING,
    600.0,
    "torch",
    "distributed/constants.py, default_pg_nccl_timeout: each collective of a group with NCCL",
)
GLOO_GROUP = Timeout(
    "a barrier of all ranks",
    LaunchPhase.CUDA_GRAPH,
    1800.0,
    "torch",
    "distributed/constants.py, default_pg_timeout (30 minutes): groups with Gloo; of SGLang until 0.5.2",
)
SGLANG_GLOO_GROUP = Timeout(
    "a barrier of all ranks",
    LaunchPhase.CUDA_GRAPH,
    7200.0,
    "sglang",
    "srt/distributed/parallel_state.py, gloo_timeout: 0.5.6 to 0.5.23",
)
BARRIER = Timeout(
    "the barrier after loading",
    LaunchPhase.POSTPROCESS,
    480.0,
    "sglang",
    "UNBALANCED_MODEL_LOADING_TIMEOUT_S: srt/model_executor/model_runner.py of 0.5.6 to 0.5.15, "
    "model_runner_components/load_model_utils.py of 0.5.18 to 0.5.23",
)
OLD_BARRIER = replace(
    BARRIER,
    seconds=300.0,
    source="UNBALANCED_MODEL_LOADING_TIMEOUT_S: srt/model_executor/model_runner.py of 0.4.6.post5 and 0.5.2",
)
WEIGHT_CACHE = Timeout(
    "the wait for the weight cache daemons",
    LaunchPhase.WEIGHTS,
    1800.0,
    "sglang",
    "weight_cache_timeout: srt/entrypoints/engine.py of 0.5.18 to 0.5.23",
)
WATCHDOG = Timeout(
    "the scheduler's watchdog",
    LaunchPhase.SERVING,
    300.0,
    "sglang",
    "watchdog_timeout: srt/managers/scheduler.py of 0.4.6.post5 and 0.5.2, srt/utils/watchdog.py of 0.5.8 to 0.5.23; "
    "it looks twice in that time, so it fires after at most one and a half times as long",
)
WARMUP_REQUEST = Timeout(
    "the warm-up request",
    LaunchPhase.WARMUP,
    600.0,
    "sglang",
    "srt/entrypoints/http_server.py of 0.4.6.post5 to 0.5.23; SGLANG_WARMUP_TIMEOUT since 0.5.6",
)
PAIR_WARMUP_REQUEST = Timeout(
    "the warm-up request of a prefill or decode server",
    LaunchPhase.WARMUP,
    1800.0,
    "sglang",
    "srt/entrypoints/http_server.py of 0.4.6.post5 to 0.5.23; SGLANG_WARMUP_TIMEOUT since 0.5.6",
)
ENGINE_READY = Timeout(
    "the API server's wait for its engine cores",
    LaunchPhase.WEIGHTS,
    600.0,
    "vllm",
    "v1/engine/core_client.py: 600_000 ms in 0.9.2 to 0.13.0, VLLM_ENGINE_READY_TIMEOUT_S in 0.16.0 to 0.33.0; one "
    "API server alone waits without a limit before that (wait_for_engine_startup)",
)
EXECUTE_MODEL = Timeout(
    "the engine core's wait for its workers",
    LaunchPhase.SERVING,
    300.0,
    "vllm",
    "v1/executor/multiproc_executor.py: VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS in 0.9.2 to 0.33.0",
)
OLD_EXECUTE_MODEL = replace(
    EXECUTE_MODEL, seconds=40.0, source="v1/executor/multiproc_executor.py: EXECUTE_MODEL_TIMEOUT_S in 0.8.5"
)

TIMEOUTS: tuple[Timeout, ...] = (
    RENDEZVOUS,
    COLLECTIVE,
    GLOO_GROUP,
    SGLANG_GLOO_GROUP,
    BARRIER,
    OLD_BARRIER,
    WEIGHT_CACHE,
    WATCHDOG,
    WARMUP_REQUEST,
    PAIR_WARMUP_REQUEST,
    ENGINE_READY,
    EXECUTE_MODEL,
    OLD_EXECUTE_MODEL,
)
"""Those that end a process. Waits that say themselves how long they have waited are none: an internal port (30 s),
vLLM's `No available shared memory broadcast block found` (a message each 60 s, from 0.8.5 to 0.33.0)."""

_LOADS = (LaunchPhase.WEIGHTS, LaunchPhase.POSTPROCESS)
_LAYS_OUT = (LaunchPhase.KV_CACHE, LaunchPhase.CUDA_GRAPH)
_SERVES = (LaunchPhase.READY, LaunchPhase.SERVING)
_LONGER_BARRIER = _GLOO_OF_ITS_OWN = (0, 5, 6)
"""First versions read that have them."""
_LONGER_EXECUTE = (0, 9)


def gives_up(launch: Launch, phase: LaunchPhase) -> Timeout | None:
    """The first that ends a launch which stays silent in `phase`; None where nobody would."""
    found = min(_that_apply(launch, phase), key=lambda timeout: timeout.seconds, default=None)
    return None if found is None else replace(found, phase=phase)


def _that_apply(launch: Launch, phase: LaunchPhase) -> Iterator[Timeout]:
    several = _has_several_ranks(launch)
    if phase is LaunchPhase.DISTRIBUTED and several:
        yield _asked(launch, "distributed_timeout_seconds", _asked(launch, "dist_timeout", RENDEZVOUS))
    if phase in _SERVES and several and launch.traffic.running:
        yield COLLECTIVE
    if launch.engine == "sglang":
        yield from _of_sglang(launch, phase, several=several)
    elif launch.engine == "vllm":
        yield from _of_vllm(launch, phase)


def _of_sglang(launch: Launch, phase: LaunchPhase, *, several: bool) -> Iterator[Timeout]:
    if phase in _LOADS:
        if launch.args.get("weight_cache_mode") == "daemon" and not launch.ranks_begun:
            yield _asked(launch, "weight_cache_timeout", WEIGHT_CACHE)
        if several and launch.ranks_loaded:  # a rank waits there from the end of its own load on
            yield OLD_BARRIER if _is_before(launch, _LONGER_BARRIER) else BARRIER
    if phase in _LAYS_OUT and several:
        yield GLOO_GROUP if _is_before(launch, _GLOO_OF_ITS_OWN) else SGLANG_GLOO_GROUP
    if phase is LaunchPhase.WARMUP and launch.port is not None and launch.args.get("node_rank", "0") == "0":
        if launch.args.get("disaggregation_mode", "null") in ("prefill", "decode"):
            yield PAIR_WARMUP_REQUEST
        else:
            yield WARMUP_REQUEST
        yield _asked(launch, "watchdog_timeout", WATCHDOG)
    if phase in _SERVES and launch.traffic.running:
        yield _asked(launch, "watchdog_timeout", WATCHDOG)


def _of_vllm(launch: Launch, phase: LaunchPhase) -> Iterator[Timeout]:
    if phase.order < LaunchPhase.READY.order and (_number(launch, "api_server_count") or 1) > 1:
        yield ENGINE_READY
    if phase in _SERVES and launch.traffic.running:
        yield OLD_EXECUTE_MODEL if _is_before(launch, _LONGER_EXECUTE) else EXECUTE_MODEL


def _has_several_ranks(launch: Launch) -> bool:
    nodes = _number(launch, "nnodes") or 1
    return nodes > 1 or (launch.ranks_expected or len(launch.ranks_seen)) > 1


def _asked(launch: Launch, argument: str, timeout: Timeout) -> Timeout:
    """The time-out, as long as the launch's own argument says."""
    seconds = _number(launch, argument)
    return timeout if seconds is None else replace(timeout, seconds=seconds)


def _number(launch: Launch, argument: str) -> float | None:
    value = figure(launch.args.get(argument))
    return value or None


def _is_before(launch: Launch, version: tuple[int, ...]) -> bool:
    """It is known to be older than that version."""
    text = launch.version or version_of(launch.arg_names) or ""
    own: list[int] = []
    for part in text.split(" ")[0].split("."):
        if not part.isdecimal():
            break
        own.append(int(part))
    return bool(own) and tuple(own) < version
