"""Whole launches of vLLM, by generation: as its format strings make them, and as a real 0.11 on a CPU printed them."""

from __future__ import annotations

import pytest

from k2tui.core.diagnosis import diagnose
from k2tui.core.intake import LogIntake
from k2tui.core.launch import LaunchKind, LaunchPhase
from tests.core.logs import read, real

P, K = LaunchPhase, LaunchKind

OLD = "INFO 01-26 19:56:30 {}:86] {}"
"""0.6 and 0.7: no brackets, and no process in front but of further workers."""
WORKER = "(VllmWorkerProcess pid=912) INFO 01-26 19:56:31 {}:86] {}"
CORE = "(EngineCore_DP0 pid=78) INFO 01-26 19:56:30 [{}:86] {}"
API = "(APIServer pid=7) INFO 01-26 19:56:30 [{}:86] {}"

V0_START = (
    OLD.format("api_server.py", "vLLM API server version 0.6.6"),
    OLD.format("api_server.py", "args: Namespace(model_tag='/m/K', port=8001, model='/m/K', tensor_parallel_size=2)"),
    OLD.format("llm_engine.py", "Initializing an LLM engine (v0.6.6) with config: model='/m/K'"),
    WORKER.format("multiproc_worker_utils.py", "Worker ready; awaiting tasks"),
    OLD.format("pynccl.py", "vLLM is using nccl==2.21.5"),
    OLD.format("model_runner.py", "Starting to load model /m/K..."),
    WORKER.format("model_runner.py", "Starting to load model /m/K..."),
    "\rLoading safetensors checkpoint shards:  50% Completed | 2/4 [00:02<00:02,  1.10s/it]",
)
V0_LOADED = (
    "\rLoading safetensors checkpoint shards: 100% Completed | 4/4 [00:04<00:00,  1.10s/it]",
    OLD.format("model_runner.py", "Loading model weights took 7.5 GB"),
    WORKER.format("model_runner.py", "Loading model weights took 7.5 GB"),
)
V0_UP = (
    WORKER.format("worker.py", "Memory profiling takes 5.13 seconds"),
    OLD.format("distributed_gpu_executor.py", "# GPU blocks: 27896, # CPU blocks: 2048"),
    OLD.format("model_runner.py", "Capturing cudagraphs for decoding. This may lead to"),
    "\rCapturing CUDA graph shapes: 100%|##########| 35/35 [00:24<00:00,  1.45it/s]",
    OLD.format("model_runner.py", "Graph capturing finished in 24 secs, took 0.85 GiB"),
    OLD.format("llm_engine.py", "init engine (profile, create kv cache, warmup model) took 39.02 seconds"),
    "INFO:     Started server process [7]",
    "INFO:     Application startup complete.",
    "INFO:     Uvicorn running on http://0.0.0.0:8001 (Press CTRL+C to quit)",
)


def test_the_engine_v0_loads_in_two_processes_of_which_none_is_a_draft() -> None:
    loading = read(*V0_START)
    assert (loading.phase, loading.drafting, loading.model, loading.ranks_expected) == (P.WEIGHTS, False, "/m/K", 2)
    assert loading.progress is not None
    assert (loading.progress.done, loading.progress.total) == (2, 4)
    loaded = read(*V0_START, *V0_LOADED)
    assert (loaded.phase, len(loaded.ranks_loaded)) == (P.KV_CACHE, 2)


def test_the_engine_v0_comes_up() -> None:
    launch = read(*V0_START, *V0_LOADED, *V0_UP)
    assert (launch.kind, launch.version, launch.port, launch.findings) == (K.READY, "0.6.6", 8001, ())
    assert [span.phase for span in launch.spans] == [
        P.ARGS, P.DISTRIBUTED, P.WEIGHTS, P.POSTPROCESS, P.KV_CACHE, P.CUDA_GRAPH, P.WARMUP, P.READY,
    ]  # fmt: skip


def test_a_worker_of_the_engine_v0_that_dies_is_named_when_nothing_else_explains_it() -> None:
    died = "ERROR 01-26 19:57:30 multiproc_worker_utils.py:123] Worker VllmWorkerProcess pid 91 died, exit code: -9"
    launch = read(
        *V0_START,
        died,
        "Traceback (most recent call last):",
        '  File "<frozen runpy>", line 198, in _run_module_as_main',
        "RuntimeError: Engine process failed to start. See stack trace for the root cause.",
    )
    assert launch.kind is K.CRASHED
    assert launch.cause is not None
    assert (launch.cause.line, launch.cause.failure) == (died, "child_killed")


V1_START = (
    API.format("api_server.py", "vLLM API server version 0.11.0"),
    API.format("utils.py", "non-default args: {'model_tag': '/m/K', 'model': '/m/K', 'data_parallel_size': 2}"),
    CORE.format("core.py", "Initializing a V1 LLM engine (v0.11.0) with config: model='/m/K'"),
    CORE.format("gpu_model_runner.py", "Starting to load model /m/K..."),
    CORE.format("gpu_model_runner.py", "Loading model from scratch..."),
)
V1_SECOND = tuple(line.replace("EngineCore_DP0 pid=78", "EngineCore_DP1 pid=79") for line in V1_START[2:])
V1_BAR = "(EngineCore_DP0 pid=78) \rLoading safetensors checkpoint shards: 100% Completed | 4/4 [00:04<00:00,  1.1s/it]"
V1_LOADED = (
    CORE.format("default_loader.py", "Loading weights took 4.20 seconds"),
    CORE.format("gpu_model_runner.py", "Model loading took 14.9594 GiB and 5.10 seconds"),
)


def test_a_model_that_is_loaded_from_scratch_is_no_draft() -> None:
    launch = read(*V1_START, V1_BAR)
    assert (launch.phase, launch.drafting) == (P.POSTPROCESS, False)


def test_two_engine_cores_load_the_same_model_and_no_draft() -> None:
    launch = read(*V1_START, *V1_SECOND, V1_BAR)
    assert (launch.phase, launch.drafting) == (P.POSTPROCESS, False)
    second = tuple(line.replace("EngineCore_DP0 pid=78", "EngineCore_DP1 pid=79") for line in V1_LOADED)
    assert read(*V1_START, *V1_SECOND, V1_BAR, *V1_LOADED).phase is P.POSTPROCESS
    assert read(*V1_START, *V1_SECOND, V1_BAR, *V1_LOADED, *second).phase is P.KV_CACHE


def test_a_draft_model_is_one() -> None:
    draft = CORE.format("gpu_model_runner.py", "Loading drafter model...")
    launch = read(*V1_START, V1_BAR, V1_LOADED[0], draft)
    assert (launch.phase, launch.drafting) == (P.POSTPROCESS, True)


@pytest.mark.parametrize(
    ("began", "ended"),
    [
        (
            CORE.format("backends.py", "Using cache directory: /c/rank_0_0 for vLLM's torch.compile"),
            CORE.format("monitor.py", "torch.compile takes 38.63 s in total"),
        ),
        (
            CORE.format("monitor.py", "Starting torch.compile"),
            CORE.format("monitor.py", "torch.compile took 38.63 s in total"),
        ),
        (
            CORE.format("backends.py", "Dynamo bytecode transform time: 7.61 s"),
            CORE.format("backends.py", "Directly load the compiled graph(s) for shape None from the cache"),
        ),
    ],
)
def test_a_compilation_may_be_silent_for_minutes(began: str, ended: str) -> None:
    silent = 900.0
    intake = LogIntake(near=0.0)
    intake.feed("".join(f"{line}\n" for line in (*V1_START, *V1_LOADED, began)).encode())
    assert (intake.launch.phase, intake.launch.slow_work) == (P.KV_CACHE, True)
    assert intake.last_stamp is not None
    assert intake.observe(now=intake.last_stamp + silent, process_alive=True).kind is K.LOADING
    intake.feed(f"{ended}\n".encode())
    assert intake.launch.phase is P.KV_CACHE


def test_a_killed_worker_is_no_stop_although_the_server_shuts_down_in_order() -> None:
    died = (
        "(EngineCore_DP0 pid=78) ERROR 01-26 20:00:00 [multiproc_executor.py:154] Worker proc VllmWorker-1 died "
        "unexpectedly, shutting down executor."
    )
    launch = read(
        *V1_START,
        "(APIServer pid=7) INFO:     Application startup complete.",
        died,
        "(APIServer pid=7) ERROR 01-26 20:00:00 [async_llm.py:480] AsyncLLM output_handler failed.",
        "(APIServer pid=7) ERROR 01-26 20:00:00 [async_llm.py:480] Traceback (most recent call last):",
        "(APIServer pid=7) ERROR 01-26 20:00:00 [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: "
        "EngineCore "
        "encountered an issue. See stack trace (above) for the root cause.",
        "(APIServer pid=7) INFO:     Shutting down",
    )
    assert launch.kind is K.CRASHED
    assert launch.cause is not None
    assert (launch.cause.line, launch.cause.failure) == (died, "child_died")


def test_a_headless_node_is_a_further_one_and_never_ready() -> None:
    launch = read(
        "INFO 01-26 19:56:30 [serve.py:120] Launching vLLM (v0.13.0) headless multiproc executor, with head "
        "node address "
        "10.0.0.1:29501 for torch.distributed process group.",
        "(Worker_PP1_TP0 pid=91) INFO 01-26 19:56:40 [gpu_model_runner.py:3562] Starting to load model /m/K...",
    )
    assert (launch.version, launch.args["node_rank"], launch.phase) == ("0.13.0", "1", P.WEIGHTS)


@pytest.mark.parametrize(
    "error",
    [
        "KeyError: 'invalid tool call parser: kimi (chose from { hermes })'",
        "TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser",
    ],
)
def test_a_parser_that_is_not_there_is_a_wrong_setting(error: str) -> None:
    launch = read(
        *V1_START[:2],
        "(APIServer pid=7) Traceback (most recent call last):",
        '(APIServer pid=7)   File "/opt/vllm/bin/vllm", line 8, in <module>',
        f"(APIServer pid=7) {error}",
    )
    assert (launch.kind, launch.phase) == (K.MISCONFIGURED, P.ARGS)
    assert launch.cause is not None
    assert launch.cause.failure == "bad_argument"


@pytest.mark.parametrize(
    ("name", "kind", "phase", "failure", "words"),
    [
        ("qwen3-eager-ready-served-sigterm", K.STOPPED, P.SERVING, None, ""),
        ("qwen3-compiled-ready", K.READY, P.READY, None, ""),
        ("unknown-flag", K.MISCONFIGURED, P.ARGS, "bad_argument", "unrecognized arguments: --no-such-flag 4"),
        ("wrong-model-path", K.MISCONFIGURED, P.ARGS, "model_not_found", "OSError: We couldn't connect to"),
        ("context-too-long", K.MISCONFIGURED, P.ARGS, "exception", "Value error, User-specified max_model_len (99999)"),
        ("port-taken", K.CRASHED, P.ARGS, "port_taken", "OSError: [Errno 98] Address already in use"),
        ("engine-core-died-silently", K.CRASHED, P.DISTRIBUTED, "peer_died", "Engine core initialization failed"),
        (
            "qwen3-tp2-worker-sigkill-while-loading",
            K.CRASHED,
            P.KV_CACHE,
            "child_died",
            "Worker proc VllmWorker-1 died",
        ),
        (
            "qwen3-ready-then-enginecore-sigkill",
            K.CRASHED,
            P.READY,
            "child_died",
            "Engine core proc EngineCore_DP0 died",
        ),
        ("pointer-instead-of-a-shard", K.CRASHED, P.WEIGHTS, "corrupt_shard", "Error while deserializing header"),
        ("qwen3-ready-then-missing-package", K.CRASHED, P.SERVING, "missing_package", "ModuleNotFoundError: No module"),
    ],
)
def test_a_real_0_11_is_read(name: str, kind: LaunchKind, phase: LaunchPhase, failure: str | None, words: str) -> None:
    launch = diagnose([real(f"vllm011-{name}")]).launch
    assert (launch.engine, launch.kind, launch.phase) == ("vllm", kind, phase)
    assert (launch.cause and launch.cause.failure) == failure
    assert words in (launch.cause.line if launch.cause else "")


def test_a_real_0_11_names_what_it_runs() -> None:
    launch = diagnose([real("vllm011-qwen3-compiled-ready")]).launch
    assert (launch.version, launch.kv_tokens, launch.port) == ("0.11.0.post2", 262144, 31951)
    assert [span.phase for span in launch.spans] == [
        P.ARGS, P.DISTRIBUTED, P.WEIGHTS, P.POSTPROCESS, P.KV_CACHE, P.WARMUP, P.READY,
    ]  # fmt: skip
