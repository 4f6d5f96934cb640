"""Failures that no log of tests/logs shows, in the formats in which the engines print them."""

from __future__ import annotations

import pytest

from k2tui.core.launch import LaunchKind, LaunchPhase
from tests.core.logs import read

CRASHED, REFUSED, STOPPED = LaunchKind.CRASHED, LaunchKind.MISCONFIGURED, LaunchKind.STOPPED
P = LaunchPhase

FIRED_UP = "[2026-03-01 10:00:00] The server is fired up and ready to roll!"
DECODE = (
    "[2026-03-01 10:00:10 TP0] Decode batch, #running-req: 3, #token: 100, token usage: 0.10, cuda graph: True, "
    "gen throughput (token/s): 90.0, #queue-req: 0"
)
LOADING = "[2026-03-01 10:00:00 TP0] Load weight begin. avail mem=78.60 GB"
MAIN = ("Traceback (most recent call last):", '  File "<frozen runpy>", line 198, in _run_module_as_main')


def fatal(text: str) -> str:
    return f"(EngineCore_DP0 pid=78) ERROR 07-20 07:56:42 [core.py:710] {text}"


@pytest.mark.parametrize(
    ("lines", "kind", "phase", "failure", "line"),
    [
        pytest.param(
            (
                LOADING,
                "[rank3]: Traceback (most recent call last):",
                '[rank3]:   File "/x/sglang/srt/model_executor/model_runner.py", line 287, in load_model',
                "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.96 GiB.",
            ),
            CRASHED,
            P.WEIGHTS,
            "oom_weights",
            "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.96 GiB.",
            id="torch prints its rank in front of every line",
        ),
        pytest.param(
            (
                FIRED_UP,
                DECODE,
                "[rank5]:[E731 10:10:00.118220155 ProcessGroupNCCL.cpp:629] [Rank 5] Watchdog caught collective "
                "operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE) ran for 600003 milliseconds",
                "terminate called after throwing an instance of 'c10::DistBackendError'",
                "  what():  [Rank 5] Process group watchdog thread terminated with exception: [Rank 5] Watchdog caught",
                "Fatal Python error: Aborted",
                "[2026-03-01 10:10:01] Subprocess scheduler_5 (pid=77) crashed with exit code -6. Triggering SIGQUIT",
                "[2026-03-01 10:10:01] SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
            ),
            CRASHED,
            P.SERVING,
            "nccl_timeout",
            "[rank5]:[E731 10:10:00.118220155 ProcessGroupNCCL.cpp:629] [Rank 5] Watchdog caught collective "
            "operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE) ran for 600003 milliseconds",
            id="a collective that never ended",
        ),
        pytest.param(
            (
                "(APIServer pid=1) INFO 07-20 06:56:15 [api_server.py:1980] vLLM API server version 0.11.0",
                "(APIServer pid=1) INFO:     Application startup complete.",
                '(APIServer pid=1) INFO:     10.0.0.8:50112 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
                fatal("EngineCore encountered a fatal error."),
                fatal("Traceback (most recent call last):"),
                fatal('  File "/x/vllm/v1/engine/core.py", line 701, in run_engine_core'),
                fatal("    engine_core.run_busy_loop()"),
                fatal("RuntimeError: CUDA error: an illegal memory access was encountered"),
                "(APIServer pid=1) ERROR 07-20 07:56:42 [async_llm.py:480] AsyncLLM output_handler failed.",
                "(APIServer pid=1) ERROR 07-20 07:56:42 [async_llm.py:480] Traceback (most recent call last):",
                "(APIServer pid=1) ERROR 07-20 07:56:42 [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: "
                "EngineCore encountered an issue. See stack trace (above) for the root cause.",
                "(APIServer pid=1) INFO:     Shutting down",
            ),
            CRASHED,
            P.SERVING,
            "illegal_access",
            fatal("RuntimeError: CUDA error: an illegal memory access was encountered"),
            id="an engine core that died while serving",
        ),
        pytest.param(
            (
                LOADING,
                "[2026-03-01 10:00:05] Rank 0 scheduler is dead. Please check if there are relevant logs.",
                "[2026-03-01 10:00:05] Exit code: -9",
                *MAIN,
                "EOFError",
            ),
            CRASHED,
            P.WEIGHTS,
            "child_died",
            "[2026-03-01 10:00:05] Rank 0 scheduler is dead. Please check if there are relevant logs.",
            id="a child that died without a word",
        ),
        pytest.param(
            (
                "[2026-03-01 10:00:00] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)",
                "[2026-03-01 10:00:30] Initialization failed. warmup error: Traceback (most recent call last):",
                '  File "/x/sglang/srt/entrypoints/http_server.py", line 900, in _execute_server_warmup',
                "AssertionError: res=<Response [502]>, res.text=''",
                "",
                "Killed",
            ),
            CRASHED,
            P.WARMUP,
            "exception",
            "AssertionError: res=<Response [502]>, res.text=''",
            id="a warm-up through a proxy",
        ),
        pytest.param(
            (
                "[2026-03-01 10:00:00] Attention backend not set.",
                "Traceback (most recent call last):",
                '  File "/x/transformers/dynamic_module_utils.py", line 600, in resolve_trust_remote_code',
                "ValueError: Loading /models/K requires you to execute the configuration file in that repo",
                "",
                "The above exception was the direct cause of the following exception:",
                "",
                *MAIN,
                "RuntimeError: Failed to load the tokenizer. If the tokenizer is a custom tokenizer not yet available",
            ),
            REFUSED,
            P.ARGS,
            "remote_code",
            "ValueError: Loading /models/K requires you to execute the configuration file in that repo",
            id="a model with code of its own",
        ),
        pytest.param(
            (
                "INFO 04-06 11:04:46 api_server.py:87] vLLM API server version 0.6.3",
                "ERROR 04-06 11:05:00 engine.py:366] CUDA out of memory. Tried to allocate 2G.",
                "ERROR 04-06 11:05:00 engine.py:366] Traceback (most recent call last):",
                'ERROR 04-06 11:05:00 engine.py:366]   File "/x/vllm/worker/worker.py", line 357, in load_model',
                "ERROR 04-06 11:05:00 engine.py:366] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2G.",
                *MAIN,
                "RuntimeError: Engine process failed to start. See stack trace for the root cause.",
            ),
            CRASHED,
            P.WEIGHTS,
            "oom_weights",
            "ERROR 04-06 11:05:00 engine.py:366] CUDA out of memory. Tried to allocate 2G.",
            id="a sentence that is printed twice",
        ),
        pytest.param(
            (
                "(RayWorkerWrapper pid=612, ip=10.0.0.4) ERROR 07-14 10:16:58 [worker_base.py:620] Error executing "
                "method 'load_model'. This might cause deadlock in distributed execution.",
                "(RayWorkerWrapper pid=612, ip=10.0.0.4) ERROR 07-14 10:16:58 [worker_base.py:620] Traceback (most "
                "recent call last):",
                "(RayWorkerWrapper pid=612, ip=10.0.0.4) ERROR 07-14 10:16:58 [worker_base.py:620] KeyError: 'weight'",
                *MAIN,
                "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
            ),
            CRASHED,
            P.WEIGHTS,
            "weight_names",
            "(RayWorkerWrapper pid=612, ip=10.0.0.4) ERROR 07-14 10:16:58 [worker_base.py:620] KeyError: 'weight'",
            id="an actor of another node",
        ),
        pytest.param(
            (
                "[2026-03-01 10:00:04] port 30233 is in use. Waiting for 4 seconds for dist_init_port to be available.",
                *MAIN,
                "ValueError: dist_init_port at 30233 is not available in 30 seconds.",
            ),
            CRASHED,
            P.ARGS,
            "internal_port_taken",
            "ValueError: dist_init_port at 30233 is not available in 30 seconds.",
            id="an internal port",
        ),
        pytest.param(
            (
                FIRED_UP,
                "[2026-03-01 10:00:09] SIGTERM received. signum=15 frame=None. Draining requests and shutting down...",
                *MAIN,
                "asyncio.exceptions.CancelledError",
                "[2026-03-01 10:00:10] kill_process_tree called: parent_pid=1, include_parent=True, pid=1",
            ),
            STOPPED,
            P.READY,
            None,
            None,
            id="a stop with noise",
        ),
    ],
)
def test_a_failure_is_told(
    lines: tuple[str, ...], kind: LaunchKind, phase: LaunchPhase, failure: str | None, line: str | None
) -> None:
    launch = read(*lines)
    assert (launch.kind, launch.phase) == (kind, phase)
    cause = launch.cause
    assert (cause and cause.failure, cause and cause.line) == (failure, line)


def test_the_words_of_users_are_no_facts() -> None:
    prompt = (
        "server_args= The server is fired up Traceback (most recent call last): SIGTERM received. signum 50%| | 1/2"
    )
    launch = read(LOADING, f"[2026-03-01 10:00:01] Receive: obj=GenerateReqInput(text='{prompt}')", f"Finish: {prompt}")
    assert (launch.phase, launch.kind, launch.progress) == (P.WEIGHTS, LaunchKind.LOADING, None)


def test_a_worker_that_writes_into_anothers_bar_is_heard() -> None:
    launch = read(
        "\rLoading safetensors checkpoint shards:  75% Completed | 3/4 [00:07<00:02,  2.40s/it]"
        "(Worker_TP1 pid=307) INFO 07-20 06:56:40 [gpu_model_runner.py:4808] Model loading took 72.14 GiB memory",
    )
    assert launch.ranks_loaded == {"TP1"}
    assert launch.progress is not None
    assert launch.progress.done == 3
