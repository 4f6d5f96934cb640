"""Lines of vLLM as the format strings of its releases make them, from 0.6.6 to 0.33."""

from __future__ import annotations

import pytest

from k2tui.core.facts import (
    ArgsSeen,
    BarDrawn,
    Beat,
    BeatKind,
    Fault,
    KvAllocated,
    LaunchFact,
    PhaseReached,
    PortBound,
    RankLoaded,
    ServerReady,
    SlowWork,
    Standing,
    VersionSeen,
    Waiting,
    WeightsBegan,
)
from k2tui.core.grammar import GATE, read_facts, read_line
from k2tui.core.grammar.beats import HEAD
from k2tui.core.grammar.prefix import parse_line
from k2tui.core.grammar.signatures import failure_of, standing_of
from k2tui.core.intake import LogIntake
from k2tui.core.launch import LaunchPhase
from tests.core.logs import read

P, S = LaunchPhase, Standing
DISTRIBUTED, WEIGHTS, POSTPROCESS = PhaseReached(P.DISTRIBUTED), PhaseReached(P.WEIGHTS), PhaseReached(P.POSTPROCESS)
KV_CACHE, CUDA_GRAPH, WARMUP = PhaseReached(P.KV_CACHE), PhaseReached(P.CUDA_GRAPH), PhaseReached(P.WARMUP)
COMPILES = SlowWork()

OLD = "INFO 01-26 19:56:30 {}:86] {}"
"""0.6 and 0.7: no brackets, and no process in front but of further workers."""
WORKER = "(VllmWorkerProcess pid=912) INFO 01-26 19:56:31 {}:86] {}"
CORE = "(EngineCore_DP0 pid=78) INFO 01-26 19:56:30 [{}:86] {}"
API = "(APIServer pid=7) INFO 01-26 19:56:30 [{}:86] {}"


def facts(text: str) -> list[LaunchFact]:
    return [fact for fact, _ in read_facts(parse_line(text))]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        # 0.6 and 0.7, the engine V0
        (OLD.format("api_server.py", "vLLM API server version 0.6.6"), [VersionSeen("0.6.6", begins=True)]),
        (
            OLD.format("llm_engine.py", "Initializing an LLM engine (v0.6.6) with config: model='/m/K'"),
            [VersionSeen("0.6.6"), DISTRIBUTED],
        ),
        (
            OLD.format("llm_engine.py", "Initializing a V0 LLM engine (v0.8.5) with config: model='/m/K'"),
            [VersionSeen("0.8.5"), DISTRIBUTED],
        ),
        (OLD.format("model_runner.py", "Loading model weights took 14.9595 GB"), [RankLoaded()]),
        (WORKER.format("model_runner.py", "Loading model weights took 14.9595 GB"), [RankLoaded()]),
        (OLD.format("worker.py", "Memory profiling takes 5.13 seconds"), [KV_CACHE]),
        (OLD.format("distributed_gpu_executor.py", "# GPU blocks: 27896, # CPU blocks: 2048"), [KV_CACHE, KV_CACHE]),
        (OLD.format("executor_base.py", "# cuda blocks: 27896, # CPU blocks: 2048"), [KV_CACHE]),
        (OLD.format("kv_cache_utils.py", "# GPU blocks: 27896"), [KV_CACHE]),
        (OLD.format("executor_base.py", "Maximum concurrency for 4096 tokens per request: 6.81x"), [KV_CACHE]),
        (OLD.format("model_runner.py", "Capturing cudagraphs for decoding. This may lead to"), [CUDA_GRAPH]),
        (OLD.format("model_runner.py", "Graph capturing finished in 24 secs, took 0.85 GiB"), [CUDA_GRAPH]),
        (
            OLD.format("llm_engine.py", "init engine (profile, create kv cache, warmup model) took 39.02 seconds"),
            [WARMUP],
        ),
        (OLD.format("launcher.py", "Starting vLLM API server on http://0.0.0.0:8000"), [PortBound(8000)]),
        # 0.8 to 0.16, the engine V1
        (
            CORE.format("core.py", "Initializing a V1 LLM engine (v0.11.0) with config:"),
            [VersionSeen("0.11.0"), DISTRIBUTED],
        ),
        (CORE.format("parallel_state.py", "rank 0 in world size 1 is assigned as DP rank 0, PP rank 0"), [DISTRIBUTED]),
        (CORE.format("gpu_model_runner.py", "Starting to load model /m/K..."), [WeightsBegan()]),
        (CORE.format("gpu_model_runner.py", "Loading model from scratch..."), [WEIGHTS]),
        (CORE.format("gpu_model_runner.py", "Loading drafter model..."), [WeightsBegan(draft=True)]),
        (CORE.format("default_loader.py", "Loading weights took 31.20 seconds"), [POSTPROCESS]),
        (CORE.format("gpu_model_runner.py", "Model loading took 14.9594 GiB and 33.10 seconds"), [RankLoaded()]),
        (
            CORE.format(
                "backends.py", "Using cache directory: /c/torch_compile_cache/ab/rank_0_0 for vLLM's torch.compile"
            ),
            [KV_CACHE, COMPILES],
        ),
        (CORE.format("backends.py", "Dynamo bytecode transform time: 7.61 s"), [KV_CACHE, COMPILES]),
        (CORE.format("backends.py", "Cache the graph of shape None for later use"), [KV_CACHE]),
        (CORE.format("backends.py", "Compiling a graph for general shape takes 31.02 s"), [KV_CACHE, COMPILES]),
        (CORE.format("backends.py", "Directly load the compiled graph(s) for shape None from the cache"), [KV_CACHE]),
        (CORE.format("monitor.py", "torch.compile takes 38.63 s in total"), [KV_CACHE]),
        (CORE.format("gpu_worker.py", "Available KV cache memory: 48.01 GiB"), [KV_CACHE]),
        (CORE.format("kv_cache_utils.py", "GPU KV cache size: 262,144 tokens"), [KvAllocated(262144)]),
        (CORE.format("gpu_worker.py", "Compile and warming up model for size 8"), [CUDA_GRAPH, COMPILES]),
        (API.format("api_server.py", "Starting vLLM API server 0 on http://127.0.0.1:8001"), [PortBound(8001)]),
        # 0.20 to 0.33
        (CORE.format("monitor.py", "Starting torch.compile"), [KV_CACHE, COMPILES]),
        (CORE.format("monitor.py", "torch.compile took 31.03 s in total"), [KV_CACHE]),
        (CORE.format("monitor.py", "Initial profiling/warmup run took 4.10 s"), [KV_CACHE]),
        (
            CORE.format("backends.py", "Compiling a graph for compile range (1, 8192) takes 20.03 s"),
            [KV_CACHE, COMPILES],
        ),
        (CORE.format("decorators.py", "Directly load AOT compilation from path /c/torch_aot"), [KV_CACHE]),
        (
            CORE.format("kv_cache_utils.py", "XPU KV cache size: 8,192 tokens, Maximum concurrency for 4,096 tokens"),
            [KvAllocated(8192), KV_CACHE],
        ),
        (API.format("entry.py", "Starting vLLM server on http://0.0.0.0:8000"), [PortBound(8000)]),
        (API.format("grpc_server.py", "vLLM gRPC server started on 0.0.0.0:50051"), [PortBound(50051)]),
        (API.format("grpc_server.py", "Server is ready to accept requests"), [ServerReady()]),
        # several nodes
        (API.format("utils.py", "Started DP Coordinator process (PID: 311)"), [DISTRIBUTED]),
        (CORE.format("core.py", "Waiting for READY message from DP Coordinator..."), [Waiting("rendezvous")]),
        (
            CORE.format("ray_utils.py", "Waiting for creating a placement group of specs for 10 seconds. specs=[]."),
            [Waiting("device_ordinal")],
        ),
    ],
)
def test_a_line_states_its_facts(line: str, wanted: list[LaunchFact]) -> None:
    assert facts(line) == wanted
    assert GATE.search(line)


@pytest.mark.parametrize(
    "line",
    [
        WORKER.format("multiproc_worker_utils.py", "Worker ready; awaiting tasks"),
        OLD.format("multiproc_worker_utils.py", "Killing local vLLM worker processes"),
        API.format(
            "loggers.py", "Engine 000: vllm cache_config_info with initialization after num_gpu_blocks is: 16384"
        ),
        API.format("launcher.py", "Route: /v1/chat/completions, Methods: POST"),
        CORE.format("kv_cache_utils.py", "Multiplying the GPU KV cache size by the cp_world_size 2 (pcp 1 * dcp 2)."),
        "(APIServer pid=7) WARNING 01-26 19:56:30 [system_utils.py:255] Found ulimit of 20000 and failed to "
        "automatically "
        "increase with error current limit exceeds maximum limit. This can cause fd limit errors like `OSError: "
        "[Errno 24] "
        "Too many open files`. Consider increasing with ulimit -n",
        "(Worker_TP0 pid=9) WARNING 01-26 19:56:30 [custom_all_reduce.py:144] Custom allreduce is disabled "
        "because it's not "
        "supported on more than two PCIe-only GPUs.",
        "(Worker_TP0 pid=9) ERROR 01-26 19:56:30 [gpu_model_runner.py:137] Error ignored in "
        "is_in_the_same_node: timeout",
        "(Worker_TP1 pid=9) INFO 01-26 19:56:30 [multiproc_executor.py:709] Parent process exited, terminating worker",
        "(EngineCore pid=7) WARNING 01-26 19:56:30 [utils.py:318] K has no vLLM implementation, falling back to "
        "Transformers",
        "[rank0]:[W126 19:56:30.692671890 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() "
        "was not called "
        "before program exit, which can leak resources.",
        "/usr/lib/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked "
        "shared_memory objects",
        "ERROR 01-26 19:56:30 multiproc_worker_utils.py:123] Worker VllmWorkerProcess pid 91 died, exit code: -15",
        "nanobind: leaked 4 instances!",
    ],
)
def test_what_good_starts_and_stops_say_besides_states_nothing(line: str) -> None:
    assert facts(line) == []


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("(Worker_DP1_PP0_TP3_EP7 pid=9) INFO 01-26 19:56:30 [a.py:1] hi", "DP1 PP0 TP3 EP7"),
        ("(Worker_PP0_PCP1_TP0_DCP1 pid=9) INFO 01-26 19:56:30 [a.py:1] hi", "PP0 PCP1 TP0 DCP1"),
        ("(VllmWorker-0 pid=9) INFO 01-26 19:56:30 [v1/worker/.../gpu/runner.py:1] hi", None),
        ("(RayWorkerWrapper pid=612, ip=10.0.0.4) INFO 01-26 19:56:30 [a.py:1] hi", None),
        ("\x1b[1;36m(VllmWorkerProcess pid=91)\x1b[0;0m INFO 01-26 19:56:30 a.py:1] hi", None),
        ("(DPCoordinator pid=3) INFO 01-26 19:56:30 [a.py:1] hi", None),
        ("(ApiServer_3 pid=3) INFO 01-26 19:56:30 [a.py:1] hi", None),
    ],
)
def test_every_process_is_told_by_its_prefix(line: str, rank: str | None) -> None:
    intake = LogIntake()
    intake.feed(f"{line}\n".encode())
    parsed = parse_line(intake.ring[0])
    assert (parsed.message, parsed.stamp, parsed.rank) == ("hi", "01-26 19:56:30", rank)
    assert parsed.speaker


@pytest.mark.parametrize(
    "line",
    [
        OLD.format("metrics.py", "{}Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 41.5 tokens/s, {}"),
        OLD.format("loggers.py", "{}Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 41.5 tokens/s, {}"),
        API.format(
            "loggers.py",
            "Engine 000: {}Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 41.5 tokens/s, {}",
        ),
        API.format(
            "loggers.py",
            "4 Engines Aggregated: {}Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 41.5 tokens/s, {}",
        ),
    ],
)
@pytest.mark.parametrize(
    "load",
    [
        "Running: 3 reqs, Swapped: 0 reqs, Pending: 2 reqs, GPU KV cache usage: 1.5%, CPU KV cache usage: 0.0%.",
        "Running: 3 reqs, Waiting: 2 reqs, Deferred: 1 reqs, GPU KV cache usage: 1.5%, Prefix cache hit rate: 0.0%",
    ],
)
def test_the_statistics_of_every_version_are_a_heartbeat(line: str, load: str) -> None:
    text = line.format("", load)
    assert HEAD.match(text)
    beat = read_line(text)
    assert isinstance(beat, Beat)
    assert (beat.kind, beat.running, beat.queued, beat.tokens_per_s, beat.idle) == (BeatKind.STATS, 3, 2, 41.5, False)
    assert beat.usage == pytest.approx(0.015)


@pytest.mark.parametrize(
    ("text", "unit", "phase"),
    [
        ("Capturing CUDA graph shapes:  40%|####      | 14/35 [00:12<00:18,  1.16it/s]", "graphs", P.CUDA_GRAPH),
        (
            "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  9%|# | 3/35 [00:01<00:09, 3.1it/s]",
            "graphs",
            P.CUDA_GRAPH,
        ),
        ("Capturing CUDA graphs (FULL):  9%|# | 3/35 [00:01<00:09, 3.1it/s]", "graphs", P.CUDA_GRAPH),
        (
            "Loading safetensors using Runai Model Streamer:  12% Completed | 91/731 [00:03<00:24, 26it/s]",
            "tensors",
            P.WEIGHTS,
        ),
        (
            "Loading safetensors using InstantTensor loader:  12% Completed | 91/731 [00:03<00:24, 26it/s]",
            "tensors",
            P.WEIGHTS,
        ),
        ("JIT kernel warmup (120 compile keys):  50%|#####     | 6/12 [00:31<00:31,  5.2s/kernel]", "kernels", None),
        ("Compiling CuTeDSL kernels:  50%|#####     | 6/12 [00:31<00:31,  5.2s/it]", "kernels", None),
        ("[Aiter Triton] Pre-compiling fp8 BMM kernel:  50%|#####     | 6/12 [00:31<00:31,  5.2s/it]", "kernels", None),
    ],
)
def test_a_bar_of_any_version_is_read(text: str, unit: str, phase: LaunchPhase | None) -> None:
    bar = read_line(text)
    assert isinstance(bar, BarDrawn)
    assert (bar.progress.unit, bar.phase) == (unit, phase)


def test_the_arguments_of_the_first_versions_are_read_from_their_namespace() -> None:
    fact = read_line(
        OLD.format(
            "api_server.py",
            "args: Namespace(subparser='serve', model_tag='/m/K', host=None, port=8001, lora_modules=None, "
            "model='/m/K', served_model_name=['k', 'j'], tensor_parallel_size=8, max_model_len=None)",
        )
    )
    assert isinstance(fact, ArgsSeen)
    wanted = {"model_path": "/m/K", "port": "8001", "tp_size": "8", "served_model_name": "k"}
    assert wanted.items() <= fact.values.items()
    assert "max_model_len" in fact.names
    assert "max_model_len" not in fact.values


def test_ranks_of_other_nodes_are_not_waited_for() -> None:
    launch = read(API.format("utils.py", "non-default args: {'data_parallel_size': 16, 'data_parallel_size_local': 8}"))
    assert launch.ranks_expected == 8


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        (
            "ValueError: Free memory on device cuda:0 (3.1/79.1 GiB) on startup is less than desired GPU",
            "gpu_memory_taken",
        ),
        (
            "AssertionError: Error in memory profiling. Initial free memory 70, current free memory 71.",
            "gpu_memory_taken",
        ),
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", "kv_no_room"),
        (
            "ValueError: To serve at least one request with the model's max seq len (262144), (17.16 GiB KV "
            "cache is needed, "
            "which is larger than the available KV cache memory (9.1 GiB).",
            "kv_no_room",
        ),
        ("RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.", "oom"),
        ("ValueError: World size (16) is larger than the number of available GPUs (8) in this node.", "device_ordinal"),
        (
            "ValueError: The number of required GPUs exceeds the total number of available GPUs in the "
            "placement group.",
            "device_ordinal",
        ),
        ("ValueError: Current node has no GPU available. current_node_resource={}", "device_ordinal"),
        ("RuntimeError: Failed to infer device type, please set the environment variable", "no_driver"),
        ("ValueError: Invalid repository ID or local directory specified: '/m/gone'.", "model_not_found"),
        ("ValueError: No supported config format found in /m/gone.", "model_not_found"),
        ("RuntimeError: Cannot find any model weights with `/m/K`", "missing_shards"),
        ("RuntimeError: No model weights found in: `/m/K`", "missing_shards"),
        ("ValueError: Model architecture X was supported in vLLM until v0.10.2, and is not", "unknown_architecture"),
        ("ValueError: There is no module or parameter named 'lm_head.q' in KimiForCausalLM", "weight_names"),
        ("ValueError: Selected backend FLASHMLA is not valid for this configuration.", "backend_unsupported"),
        (
            "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.",
            "backend_unsupported",
        ),
        ("KeyError: 'invalid tool call parser: kimi (chose from { hermes })'", "bad_argument"),
        ("TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser", "bad_argument"),
        ("TimeoutError: RPC call to sample_tokens timed out.", "peer_silent"),
    ],
)
def test_a_message_belongs_to_a_failure_class(message: str, failure: str) -> None:
    assert (failure_of(message), standing_of(message)) == (failure, S.CAUSE)


@pytest.mark.parametrize(
    "message",
    [
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        "RuntimeError: Frontend process failed during engine core initialization. See root cause above.",
        "Exception: WorkerProc initialization failed due to an exception in a background process.",
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above)",
        "vllm.engine.multiprocessing.MQEngineDeadError: Engine loop is not running. Inspect the stacktrace",
        "vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop has errored already.",
        "RuntimeError: Engine process failed to start. See stack trace for the root cause.",
        "TimeoutError: RPCServer didn't reply within 10000 ms",
        "ChildProcessError: worker died",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
    ],
)
def test_what_only_follows_explains_least(message: str) -> None:
    assert (failure_of(message), standing_of(message)) == ("peer_died", S.ECHO)


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        (
            "(EngineCore_DP0 pid=7) ERROR 01-26 19:56:30 [mp.py:231] Worker proc VllmWorker-3 died "
            "unexpectedly, shutting down "
            "executor.",
            "child_died",
        ),
        (
            "(EngineCore pid=7) ERROR 01-26 19:56:30 [mp.py:380] Worker proc VllmWorker-3 died unexpectedly "
            "(exit code: -9), "
            "shutting down executor.",
            "child_killed",
        ),
        (
            "(APIServer pid=7) ERROR 01-26 19:56:30 [core_client.py:606] Engine core proc EngineCore_DP0 died "
            "unexpectedly, "
            "shutting down client.",
            "child_died",
        ),
        (
            "ERROR 01-26 19:56:30 multiproc_worker_utils.py:123] Worker VllmWorkerProcess pid 91 died, exit code: -9",
            "child_killed",
        ),
    ],
)
def test_a_parent_names_the_child_that_died(line: str, failure: str) -> None:
    fact = read_line(line)
    assert isinstance(fact, Fault)
    assert (fact.failure, fact.standing, fact.fatal) == (failure, S.DIED, True)


def test_an_engine_core_that_was_killed_is_told_by_its_parents_words() -> None:
    text = "RuntimeError: Engine core initialization failed. Failed core proc(s): {'EngineCore_DP0': -9}"
    assert failure_of(text) == "child_killed"
