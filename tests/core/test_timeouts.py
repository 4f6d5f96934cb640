"""Who ends a silence, and when."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.flag_ages import arguments
from k2tui.core.launch import PHASES, Launch, LaunchPhase, Traffic
from k2tui.core.timeouts import (
    BARRIER,
    COLLECTIVE,
    ENGINE_READY,
    EXECUTE_MODEL,
    GLOO_GROUP,
    OLD_BARRIER,
    OLD_EXECUTE_MODEL,
    PAIR_WARMUP_REQUEST,
    RENDEZVOUS,
    SGLANG_GLOO_GROUP,
    TIMEOUTS,
    WARMUP_REQUEST,
    WATCHDOG,
    WEIGHT_CACHE,
    Timeout,
    gives_up,
)

P = LaunchPhase
ALONE = Launch(engine="sglang", ranks_expected=1)
EIGHT = Launch(engine="sglang", ranks_expected=8)
ONE_IS_LOADED = replace(EIGHT, ranks_loaded=frozenset(("TP0",)))
OLD = replace(ONE_IS_LOADED, arg_names=arguments("0.5.2"))
VLLM = Launch(engine="vllm", ranks_expected=4, version="0.19.0")
BUSY = Traffic(running=3)


def asked(launch: Launch, **args: str) -> Launch:
    """The launch with these arguments as well."""
    return replace(launch, args={**launch.args, **args})


@pytest.mark.parametrize(
    ("launch", "phase", "timeout"),
    [
        pytest.param(EIGHT, P.DISTRIBUTED, RENDEZVOUS, id="a rank that never comes"),
        pytest.param(VLLM, P.DISTRIBUTED, RENDEZVOUS, id="a rank of vLLM that never comes"),
        pytest.param(ONE_IS_LOADED, P.WEIGHTS, BARRIER, id="ranks that still load"),
        pytest.param(ONE_IS_LOADED, P.POSTPROCESS, BARRIER, id="ranks that still repack"),
        pytest.param(OLD, P.POSTPROCESS, OLD_BARRIER, id="the barrier of an old version"),
        pytest.param(replace(OLD, version="0.5.10"), P.POSTPROCESS, BARRIER, id="the engine's own word counts first"),
        pytest.param(EIGHT, P.CUDA_GRAPH, SGLANG_GLOO_GROUP, id="a rank that hangs in a capture"),
        pytest.param(OLD, P.CUDA_GRAPH, GLOO_GROUP, id="a rank of an old version that hangs in a capture"),
        pytest.param(replace(ALONE, port=30000), P.WARMUP, WATCHDOG, id="a first batch that never ends"),
        pytest.param(
            asked(replace(ALONE, port=30000), watchdog_timeout="100000"),
            P.WARMUP,
            WARMUP_REQUEST,
            id="a first batch without a watchdog",
        ),
        pytest.param(
            asked(replace(ALONE, port=30000), watchdog_timeout="100000", disaggregation_mode="prefill"),
            P.WARMUP,
            PAIR_WARMUP_REQUEST,
            id="a prefill server that warms up",
        ),
        pytest.param(asked(EIGHT, weight_cache_mode="daemon"), P.WEIGHTS, WEIGHT_CACHE, id="daemons that load"),
        pytest.param(replace(EIGHT, traffic=BUSY), P.SERVING, WATCHDOG, id="a batch that never ends"),
        pytest.param(
            asked(replace(EIGHT, traffic=BUSY), watchdog_timeout="3600"),
            P.SERVING,
            COLLECTIVE,
            id="a collective that never ends",
        ),
        pytest.param(asked(VLLM, api_server_count="4"), P.POSTPROCESS, ENGINE_READY, id="API servers that wait"),
        pytest.param(replace(VLLM, traffic=BUSY), P.SERVING, EXECUTE_MODEL, id="a worker that never answers"),
        pytest.param(
            replace(VLLM, traffic=BUSY, version="0.8.5"), P.SERVING, OLD_EXECUTE_MODEL, id="a worker of an old version"
        ),
    ],
)
def test_a_silence_has_an_end(launch: Launch, phase: LaunchPhase, timeout: Timeout) -> None:
    assert gives_up(launch, phase) == replace(timeout, phase=phase)


@pytest.mark.parametrize(
    ("launch", "phase"),
    [
        pytest.param(ALONE, P.DISTRIBUTED, id="one rank waits for nobody"),
        pytest.param(EIGHT, P.WEIGHTS, id="nobody waits while all of them load"),
        pytest.param(ALONE, P.POSTPROCESS, id="one rank has no barrier"),
        pytest.param(EIGHT, P.ARGS, id="imports have no end"),
        pytest.param(EIGHT, P.WARMUP, id="no request was sent yet"),
        pytest.param(EIGHT, P.SERVING, id="an idle server may be silent"),
        pytest.param(asked(replace(EIGHT, port=1), node_rank="1"), P.WARMUP, id="a further node is never asked"),
        pytest.param(VLLM, P.WEIGHTS, id="one API server waits as long as it takes"),
        pytest.param(Launch(), P.WEIGHTS, id="an unknown engine"),
    ],
)
def test_a_silence_may_last(launch: Launch, phase: LaunchPhase) -> None:
    assert gives_up(launch, phase) is None


@pytest.mark.parametrize(
    ("launch", "phase", "seconds"),
    [
        (asked(EIGHT, dist_timeout="1800"), P.DISTRIBUTED, 1800),
        (asked(EIGHT, dist_timeout="None"), P.DISTRIBUTED, RENDEZVOUS.seconds),
        (asked(VLLM, distributed_timeout_seconds="90"), P.DISTRIBUTED, 90),
        (asked(replace(ALONE, port=30000), watchdog_timeout="60.0"), P.WARMUP, 60),
        (asked(replace(ALONE, traffic=BUSY), watchdog_timeout="-1"), P.SERVING, WATCHDOG.seconds),
        (asked(EIGHT, weight_cache_mode="daemon", weight_cache_timeout="90"), P.WEIGHTS, 90),
    ],
)
def test_an_argument_says_how_long(launch: Launch, phase: LaunchPhase, seconds: float) -> None:
    found = gives_up(launch, phase)
    assert found is not None
    assert found.seconds == seconds


def test_nodes_are_several_ranks() -> None:
    assert gives_up(asked(ALONE, nnodes="2"), P.DISTRIBUTED) is not None


@pytest.mark.parametrize("value", ["", "nan", "inf", "-inf", "1e999", "0", "many", "'600'"])
def test_no_argument_breaks_it(value: str) -> None:
    for phase in PHASES:
        names = ("dist_timeout", "watchdog_timeout", "nnodes", "weight_cache_timeout", "api_server_count")
        gives_up(asked(ONE_IS_LOADED, **dict.fromkeys(names, value)), phase)


@pytest.mark.parametrize("timeout", TIMEOUTS, ids=lambda timeout: f"{timeout.who}: {timeout.name}")
def test_every_figure_has_a_source(timeout: Timeout) -> None:
    assert timeout.who in ("sglang", "vllm", "torch")
    assert ".py" in timeout.source
    assert timeout.seconds > 0
