"""Lines of SGLang as the format strings of its releases make them, from 0.4.6 to 0.5.23."""

from __future__ import annotations

import pytest

from k2tui.core.facts import (
    BarDrawn,
    EncoderSeen,
    Fault,
    KvAllocated,
    LaunchFact,
    PhaseReached,
    PortBound,
    RankLoaded,
    ServerReady,
    SlowWork,
    Standing,
    StopSeen,
)
from k2tui.core.grammar import GATE, read_line
from k2tui.core.grammar.prefix import parse_line
from k2tui.core.grammar.signatures import failure_of
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from tests.core.logs import read

P, K = LaunchPhase, LaunchKind
AT = "[2026-11-29 16:32:45] "
TP0, TP1 = "[2026-11-29 16:32:45 TP0] ", "[2026-11-29 16:32:46 TP1] "
DP0 = "[2026-11-29 16:32:45 DP0 TP0 EP0 PP0] "
WAITS = "This can take up to several minutes. avail mem=3.21 GB"

DISTRIBUTED, WEIGHTS = PhaseReached(P.DISTRIBUTED), PhaseReached(P.WEIGHTS)
KV_CACHE, CUDA_GRAPH, WARMUP = PhaseReached(P.KV_CACHE), PhaseReached(P.CUDA_GRAPH), PhaseReached(P.WARMUP)


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        # 0.4.6 to 0.5.12
        ("Capture cuda graph bs [1, 2, 4, 8]", CUDA_GRAPH),
        (f"Capture cuda graph begin. {WAITS}", CUDA_GRAPH),
        (f"Capture cpu graph begin. {WAITS}", CUDA_GRAPH),
        (f"Capture NPU graph begin. {WAITS}", CUDA_GRAPH),
        ("Capture cpu graph bs [1, 2, 4, 8]", CUDA_GRAPH),
        ("Capture cuda graph end. Time elapsed: 9.10 s. mem usage=0.51 GB. avail mem=2.70 GB.", CUDA_GRAPH),
        ("Capture cuda graph num tokens [4, 8, 12]", CUDA_GRAPH),
        (f"Capture draft extend cuda graph begin (step 0). {WAITS}", CUDA_GRAPH),
        ("Capture piecewise CUDA graph begin. avail mem=3.21 GB", CUDA_GRAPH),
        ("Capture Frozen-KV MTP draft cuda graph begin.", CUDA_GRAPH),
        ("[BCG] Capture num tokens: [4, 8, 12]", CUDA_GRAPH),
        ("Running FlashInfer autotune...", SlowWork()),
        ("FlashInfer autotune completed.", KV_CACHE),
        ("NCCL/RCCL warmup completed in 1.20s (tp_size=8, pp_size=1, ep_size=1)", DISTRIBUTED),
        ("Allocating 512.00 GB host memory for hierarchical KV cache.", SlowWork()),
        ("Try DeepGEMM JIT Compiling for <GEMM_NT_F8F8BF16> N=1, K=2, num_groups=1 with all Ms.", SlowWork()),
        ("Required memory for warmup: 1.5GB, Available memory: 20.1GB", SlowWork()),
        ("Start of prefill warmup ...", SlowWork()),
        ("Start of pd disaggregation warmup ...", SlowWork()),
        ("Running warmup voice_chat", SlowWork()),
        ("Starting dummy health check server at 0.0.0.0:30000", WARMUP),
        ("gRPC server listening on 0.0.0.0:30010", PortBound(30010)),
        ("Loading weights from remote storage ...", WEIGHTS),
        # 0.5.15 to 0.5.23
        ("Capture target prefill CUDA graph begin. backend=breakable, num_tokens=[4, 8], avail mem=3 GB", CUDA_GRAPH),
        (
            "Capture target decode CUDA graph begin. backend=full, num_tokens_per_bs=1, bs=[1], avail mem=3 GB",
            CUDA_GRAPH,
        ),
        ("Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=4, avail mem=3 GB", CUDA_GRAPH),
        ("Capture target decode NPU graph end. bs=[1, 2], elapsed=4.10 s, mem usage=1 GB, avail mem=2 GB.", CUDA_GRAPH),
        ("Capture single-CG draft extend begin. This can take several minutes. avail mem=3.21 GB", CUDA_GRAPH),
        ("Capture UNO tree draft CUDA graph begin. num_tokens_per_req=4, avail mem=3.21 GB", CUDA_GRAPH),
        ("Registering 62 cuda graph addresses", CUDA_GRAPH),
        ("Registered 62 cuda graph addresses via 3 handles (2 unique allocations) in 1.20 ms", CUDA_GRAPH),
        ("Running FlashInfer autotune with cache: /root/.cache/x.json", SlowWork()),
        ("FlashInfer autotune: extra EXTEND pass at 8192 tokens (4 seqs x 2048 tokens).", SlowWork()),
        ("PP-parallel DeepGEMM warmup start (pp_rank=0, tp_rank=0, batch_sizes=[1], disagg=False).", SlowWork()),
        ("KV Cache is allocated. dtype: torch.bfloat16, #tokens: 742118, KV size: 48.01 GB", KvAllocated(742118)),
        ("draft KV Cache VA upper bound. dtype: torch.int8, #tokens: 9, K size: 0 GB", KvAllocated(9)),
        ("KV Cache skipped (no-op pool). Logical #tokens: 8192, physical K/V size: ~4.0 KB", KvAllocated(8192)),
        (
            "Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 80, KV size: 4.01 GB, avail",
            KvAllocated(80),
        ),
        ("SWAKVPool VA upper bound: 4.00 GB, swa size: 4096, full size: 8192", KV_CACHE),
        ("[unified-memory-pool] UnifiedKVPool allocated: total_bytes=4.00 GB (=4 B), 2 sub-pool(s)", KV_CACHE),
        ("Initialize DeepSeekV4TokenToKVPool with max_num_reqs=64 swa_size=4096", KV_CACHE),
        ("Prepared capture-safe model in 11.20 s", WEIGHTS),
        ("Started checkpoint prefetching 0.10 s after capture-safe model prep", WEIGHTS),
        ("Rank 3: prefetching 8/64 checkpoint shards into page cache (background, 8 local ranks", WEIGHTS),
        ("Rank 3: prefetching checkpoint files: 20% (13/64)", WEIGHTS),
        ("Load weight end. Committed real weights after CUDA graph capture in 3.20 s (capture", RankLoaded()),
        ("Preparing MXFP4 experts for Marlin backend (layer: model.layers.4.mlp.experts)...", WEIGHTS),
        ("Preparing DSv4 MXFP4 experts for FlashInfer SM120 CUTLASS w4a8 (layer: model.layers.4)...", WEIGHTS),
        ("[IpcModelLoader] Requesting weights from daemon at /tmp/x.sock with config: model=/m", WEIGHTS),
        ("[WeightCacheDaemon gpu=0 tp_rank=0] Loading model from disk: /models/m", WEIGHTS),
        ("Allocating MHA hierarchical KV host pool: 4096 tokens, 512.00 GB host memory.", SlowWork()),
        ("Gated launch still waiting for activation. rank=0 elapsed=60.0 s", DISTRIBUTED),
        ("SGLANG_RUST_SERVER enabled, Rust server listen on 0.0.0.0:30000 (DP rank 1/2)", WARMUP),
        ("Native gRPC server started on 0.0.0.0:50051", WARMUP),
        ("Dummy health check server started in background thread at 0.0.0.0:30000", WARMUP),
        ("Start multi-tokenizer worker process 77, ipc_name=ipc:///tmp/x", WARMUP),
        ("Starting embedded Granian HTTP/2 server on 0.0.0.0:30000", PortBound(30000)),
        ("Uvicorn running on 0.0.0.0:30000 with 4 SO_REUSEPORT workers", PortBound(30000)),
        ("gRPC server (TLS) listening on 0.0.0.0:30010", PortBound(30010)),
        ("init MMEncoder 0/2", EncoderSeen()),
        ("gRPC encoder server listening on 0.0.0.0:30010", ServerReady()),
        ("SIGTERM received on node_rank 1; waiting for the rank-0 ShutdownReq broadcast", StopSeen()),
        ("Received shutdown signal", StopSeen()),
    ],
)
def test_a_line_states_a_fact(message: str, fact: LaunchFact) -> None:
    for prefix in (AT, TP1, DP0):
        assert read_line(prefix + message) == fact
        assert GATE.search(prefix + message)


@pytest.mark.parametrize(
    "message",
    [
        "Disabling SGLANG_OPT_FP8_WO_A_GEMM: requires DeepGEMM JIT and sm100+ (Blackwell), or explicit opt-in on sm90",
        "NVCC Compiler not found, use NVRTC for DeepGEMM JIT and may have performance loss with some cases.",
        "FlashInfer extend autotune skipped: not enough free memory for a 8192-token dummy forward.",
        "Disable prefill CUDA graph because the capture size is not set",
        "Captured the DSpark sampling-accept region for (4, 8).",
        "Capture mode FULL is not supported here",
        "Registered encoder URL 'http://a:1' with bootstrap at http://b:2",
        "[WeightCacheDaemon gpu=0] Shutdown complete",
        "Loading FP8 shared expert weights into FP4 fused MoE weights.",
        "Weights are ready after 4.00 seconds",
        "Watchdog Scheduler initialized.",
        "Subprocess watchdog thread crashed: x",
        "Scheduler or DataParallelController 77 terminated with 0",
        "Scheduler or DataParallelController 77 terminated with -15",
        "retry() failed once (1th try, maximum 3 retries). Will delay 1.00s and retry. Error: x",
        "NVLink detection failed. This is normal if your machine has no NVLink equipped.",
        "The port 30000 is in use, but we could not find the process that uses it.",
        "kill_process_tree called: parent_pid=1, include_parent=True, pid=1",
        "SIGTERM/SIGQUIT/Exception triggered, but crash dump already performed, skipping.",
    ],
)
def test_a_line_of_a_good_start_is_no_step_and_no_failure(message: str) -> None:
    assert read_line(TP0 + message) is None


@pytest.mark.parametrize(
    ("words", "unit", "phase"),
    [
        ("Capturing batches (avail_mem=3.21 GB)", "graphs", P.CUDA_GRAPH),
        ("Capturing batches (bs=4 avail_mem=3.21 GB)", "graphs", P.CUDA_GRAPH),
        ("Capturing num tokens (num_tokens=4 avail_mem=3.21 GB)", "graphs", P.CUDA_GRAPH),
        ("Capturing prefill shape (num_tokens=4 avail_mem=3.21 GB)", "graphs", P.CUDA_GRAPH),
        ("Compiling num tokens (num_tokens=4)", "graphs", P.CUDA_GRAPH),
        ("Loading safetensors using Fastsafetensor loader", "groups", P.WEIGHTS),
        ("Loading safetensors using InstantTensor", "tensors", P.WEIGHTS),
        ("Multi-thread loading pt checkpoint shards", "shards", P.WEIGHTS),
        ("Profiling prefill latency for dynamic chunking", "items", None),
    ],
)
def test_a_bar_of_any_version_is_read(words: str, unit: str, phase: LaunchPhase | None) -> None:
    for look in ("50% Completed |", "50%|#####     |"):
        fact = read_line(f"{words}:  {look} 1/2 [00:01<00:01,  1.20s/it]")
        assert isinstance(fact, BarDrawn)
        assert (fact.progress.unit, fact.phase, fact.progress.label) == (unit, phase, words.split(" (")[0])


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        ("Scheduler or DataParallelController 77 terminated with -9", "child_killed"),
        ("Scheduler or DataParallelController 77 terminated with 1", "child_died"),
        ("Rank 0 scheduler is dead. Please check if there are relevant logs.", "child_died"),
        ("[IpcModelLoader] Weight cache daemon (pid=7) died while this engine holds its weights via", "child_died"),
    ],
)
def test_a_parent_names_the_child_that_died(message: str, failure: str) -> None:
    fact = read_line(TP0 + message)
    assert isinstance(fact, Fault)
    assert (fact.failure, fact.standing, fact.fatal) == (failure, Standing.DIED, True)


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        ("RuntimeError: Weight cache daemon (pid=7) exited prematurely with code -9", "child_killed"),
        ("RuntimeError: engine_info_bootstrap_port 6789 is already in use. When", "internal_port_taken"),
        ("ValueError: Not enough host memory available. Requesting 512.00 GB but only have 90 GB free.", "host_memory"),
        ("RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache.", "kv_no_room"),
        ("AssertionError: Not enough space for mamba cache, try to increase --mamba-full", "kv_exhausted"),
        ("RuntimeError: Capture prefill CUDA graph failed: something new", "graph_capture"),
        ("Exception: Capture CPU graph failed: something new", "graph_capture"),
        ("ValueError: TRTLLM MLA backend is only supported on Blackwell GPUs (SM100).", "backend_unsupported"),
        ("ValueError: trtllm_mla backend can only be used with MLA models.", "backend_unsupported"),
        ("ValueError: Invalid quantization method: x. Available methods: a, b", "quantization"),
        ("NotImplementedError: No compressed-tensors compatible scheme was found.", "quantization"),
        ("ImportError: DeepEP is not installed. Please install DeepEP package", "missing_package"),
        ("ImportError: libcudart.so.12: cannot open shared object file: No such file", "kernel_mismatch"),
        ("ValueError: Foo has no SGlang implementation and the Transformers one is not", "unknown_architecture"),
        ("KeyError: \"Parameter 'model.layers.0.x' not found in model.\"", "weight_names"),
        ("OSError: Can't load tokenizer for '/models/m'. If you were trying to load it", "model_not_found"),
        ("RuntimeError: PytorchStreamReader failed reading zip archive: invalid header", "corrupt_shard"),
        ("RuntimeError: [unbound_buffer.cc:84] Timed out waiting 7200000ms for recv operation", "nccl_timeout"),
        ("torch.distributed.DistNetworkError: failed to recv, got 0 bytes", "peer_died"),
        ("AssertionError: moe_a2a_backend='pplx' is only supported with --moe-runner-backend deep_gemm", "exception"),
        ("ValueError: Unsupported KDA prefill backend: x. KDA supports 'triton' (needs SM100).", "exception"),
    ],
)
def test_a_message_belongs_to_a_failure_class(message: str, failure: str) -> None:
    assert failure_of(message) == failure


def test_an_encoders_lines_have_its_prefix() -> None:
    for name in ("encode_server", "encode_dp_worker[3]"):
        line = parse_line(f"[2026-11-29 16:32:45 {name}] init MMEncoder 0/1")
        assert (line.message, line.stamp, line.rank) == ("init MMEncoder 0/1", "2026-11-29 16:32:45", None)


SHARD = "Multi-thread loading shards: {0:3}% Completed | {1}/4 [00:0{1}<00:01,  1.00s/it]"
OLD_SHARD = SHARD.replace("Multi-thread loading", "Loading safetensors checkpoint")
LOADS = ("Load weight begin. avail mem=78.60 GB", SHARD.format(50, 2), SHARD.format(100, 4))
ANSWERS = (
    f"{AT}INFO:     Started server process [7]",
    f"{AT}INFO:     Application startup complete.",
    f"{AT}INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)",
    f'{AT}INFO:     127.0.0.1:5 - "POST /generate HTTP/1.1" 200 OK',
    f"{AT}The server is fired up and ready to roll!",
)
CAPACITY = "max_total_num_tokens=8192, chunked_prefill_size=4096, max_prefill_tokens=16384, max_running_requests=64"

STARTS = {
    "0.4.6": (
        f"{AT}server_args=ServerArgs(model_path='/m', port=30000, tp_size=1)",
        f"{AT}Init torch distributed begin.",
        f"{AT}Init torch distributed ends. mem usage=0.00 GB",
        f"{AT}Load weight begin. avail mem=78.60 GB",
        *(f"\r{OLD_SHARD.format(25 * done, done)}" for done in range(5)),
        f"{AT}Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.10 GB, mem usage=15.50 GB.",
        f"{AT}KV Cache is allocated. #tokens: 8192, K size: 2.00 GB, V size: 2.00 GB",
        f"{AT}Memory pool end. avail mem=10.00 GB",
        f"{AT}Capture cuda graph begin. {WAITS}",
        "\rCapturing batches (avail_mem=3.21 GB): 100%|##########| 5/5 [00:01<00:00,  3.20it/s]",
        f"{AT}Capture cuda graph end. Time elapsed: 2.10 s. mem usage=0.51 GB. avail mem=9.40 GB.",
        f"{AT}{CAPACITY}, context_len=4096",
    ),
    "0.5.12": (
        f"{AT}server_args=ServerArgs(model_path='/m', port=30000, tp_size=1)",
        f"{AT}Init torch distributed ends. elapsed=0.60 s, mem usage=0.00 GB",
        *(f"{AT}{LOADS[0]}", f"\r{LOADS[1]}\r{LOADS[2]}"),
        f"{AT}Load weight end. elapsed=4.10 s, type=Qwen3ForCausalLM, avail mem=63.10 GB, mem usage=15.50 GB.",
        f"{AT}KV Cache is allocated. #tokens: 8192, KV size: 4.00 GB",
        f"{AT}Capture cuda graph begin. {WAITS}",
        f"{AT}Capture cuda graph end. Time elapsed: 2.10 s. mem usage=0.51 GB. avail mem=9.40 GB.",
        f"{AT}{CAPACITY}, context_len=4096, available_gpu_mem=9.40 GB",
    ),
    "0.5.23": (
        f"{AT}server_args={{'model_path': '/m', 'port': 30000, 'tp_size': 1}}",
        f"{AT}Init parallel begin.",
        f"{AT}Memory baseline taken. mem usage=0.10 GB",
        *(f"{AT}{LOADS[0]}", f"\r{LOADS[1]}\r{LOADS[2]}"),
        f"{AT}Load weight end. elapsed=4.10 s, type=Qwen3ForCausalLM, quant=fp8, avail mem=63.10 GB, mem usage=15 GB.",
        f"{AT}KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 9000, KV size: 4.00 GB",
        f"{AT}Capture target prefill CUDA graph begin. backend=breakable, num_tokens=[4, 8], avail mem=9.40 GB",
        f"{AT}Capture target decode CUDA graph end. bs=[1], elapsed=4.10 s, mem usage=1 GB, avail mem=2 GB.",
        f"{AT}Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 8192, KV size: 4.00 GB",
        f"{AT}{CAPACITY}, context_len=4096, available_gpu_mem=9.40 GB",
        f"{AT}Engine startup timings (s): load_weight=4.10, kv_cache_allocation=0.10, scheduler_e2e=9.00",
    ),
}


@pytest.mark.parametrize("version", STARTS)
def test_a_start_of_any_version_goes_through_every_phase(version: str) -> None:
    launch = read(*STARTS[version], *ANSWERS)
    assert [span.phase for span in launch.spans] == [
        P.ARGS,
        P.DISTRIBUTED,
        P.WEIGHTS,
        P.POSTPROCESS,
        P.KV_CACHE,
        P.CUDA_GRAPH,
        P.WARMUP,
        P.READY,
    ]
    assert (launch.kind, launch.kv_tokens, launch.port, launch.engine) == (K.READY, 8192, 30000, "sglang")


def test_weights_that_come_after_the_graphs_move_nothing_back() -> None:
    launch = read(
        f"{TP0}Load weight begin. avail mem=78.60 GB",
        f"{TP0}Prepared capture-safe model in 11.20 s",
        f"{TP0}KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8192, KV size: 4.00 GB",
        f"{TP0}Capture target decode CUDA graph end. bs=[1], elapsed=4.10 s, mem usage=1 GB, avail mem=2 GB.",
        *LOADS[1:],
        f"{TP0}Load weight end. Committed real weights after CUDA graph capture in 3.20 s (capture overlap window 9 s",
    )
    assert launch.phase is P.CUDA_GRAPH
    assert launch.ranks_loaded == {"TP0"}


def test_a_bar_of_layers_is_not_the_bar_of_weights() -> None:
    launch = read(
        f"{TP0}{LOADS[0]}",
        "Online quark_int4fp8_moe quantization on rank=0: 100%|##########| 61/61 [00:01<00:00, 61.00it/s]",
        LOADS[1],
    )
    assert launch.phase is P.WEIGHTS
    assert (launch.bars[-1].progress.done, launch.bars[-1].progress.total) == (2, 4)


def encoder(*lines: str) -> Launch:
    return read("[2026-11-29 16:32:45 encode_server] init MMEncoder 0/1", *lines)


def test_an_encoder_is_ready_when_its_web_server_is() -> None:
    up = "INFO:     Application startup complete."
    assert encoder().phase is P.DISTRIBUTED
    assert encoder(LOADS[2], up).kind is K.READY
    assert read(f"{AT}Load weight begin. avail mem=1 GB", up).phase is P.WARMUP


def test_a_further_nodes_parent_says_how_its_schedulers_ended() -> None:
    node = (
        f"{AT}server_args={{'model_path': '/m', 'tp_size': 2, 'nnodes': 2, 'node_rank': 1}}",
        f"{TP1}Load weight begin. avail mem=78.60 GB",
        f"{AT}Dummy health check server started in background thread at 0.0.0.0:30000",
    )
    assert read(*node).phase is P.WARMUP
    killed = read(*node, f"{AT}Scheduler or DataParallelController 77 terminated with -9")
    assert (killed.kind, killed.cause and killed.cause.failure) == (K.CRASHED, "child_killed")
    stopped = read(
        *node,
        f"{AT}SIGTERM received on node_rank 1; waiting for the rank-0 ShutdownReq broadcast to stop the schedulers.",
        f"{AT}Scheduler or DataParallelController 77 terminated with 0",
    )
    assert stopped.kind is K.STOPPED


def test_a_killed_daemon_takes_the_server_with_it() -> None:
    launch = read(
        f"{AT}server_args={{'model_path': '/m', 'tp_size': 1, 'weight_cache_mode': 'daemon'}}",
        "2026-11-29 16:32:45,123 [Daemon gpu=0 tp_rank=0] INFO [WeightCacheDaemon gpu=0 tp_rank=0] Loading model from "
        "disk: /m",
        "Traceback (most recent call last):",
        '  File "<frozen runpy>", line 198, in _run_module_as_main',
        '  File "/x/sglang/srt/entrypoints/engine.py", line 848, in _launch_weight_cache_daemons',
        "RuntimeError: Weight cache daemon (pid=7) exited prematurely with code -9",
    )
    assert (launch.kind, launch.phase, launch.cause and launch.cause.failure) == (K.CRASHED, P.WEIGHTS, "child_killed")
    assert launch.args["weight_cache_mode"] == "daemon"


@pytest.mark.parametrize("head", ["Receive: obj=", "Receive OpenAI: obj=", "Finish: obj=", '{"timestamp": "2026", '])
def test_what_users_write_is_read_by_nobody(head: str) -> None:
    words = (
        "Traceback (most recent call last): SIGQUIT received. The server is fired up 50%|##| 1/2 [00:01<00:01, 1it/s]"
    )
    launch = read(*STARTS["0.5.23"], *ANSWERS, f"{AT}{head}{words}", "ValueError: a line of a bare print")
    assert (launch.kind, launch.suspects, launch.phase) == (K.READY, (), P.READY)


def test_the_first_fault_explains_what_the_other_ranks_say_after_it() -> None:
    def hit(rank: str, function: str, text: str) -> tuple[str, ...]:
        return (
            f"{rank}Scheduler hit an exception: Traceback (most recent call last):",
            f'  File "/x/sglang/srt/managers/scheduler.py", line 6368, in {function}',
            text,
            "",
        )

    launch = read(
        f"{TP0}Load weight begin. avail mem=78.60 GB",
        f"{TP1}Load weight begin. avail mem=78.60 GB",
        *hit(TP1, "load_model", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.96 GiB."),
        *hit(TP0, "load_model", "RuntimeError: [pair.cc:534] Connection closed by peer [10.0.0.1]:2"),
        *hit(TP0, "load_model", "torch.distributed.DistNetworkError: failed to recv, got 0 bytes"),
        f"{AT}Received sigquit from a child process. It usually means the child failed.",
        f"{AT}kill_process_tree called: parent_pid=1, include_parent=True, pid=1",
        "Killed",
    )
    assert (launch.kind, launch.phase, launch.cause and launch.cause.failure) == (K.CRASHED, P.WEIGHTS, "oom_weights")
