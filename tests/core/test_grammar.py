"""One line, one fact."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.facts import (
    ArgsSeen,
    BarDrawn,
    Beat,
    BeatKind,
    CapacitySeen,
    EndSeen,
    Fault,
    HealthFailed,
    HttpStarted,
    KvAllocated,
    LaunchFact,
    PhaseReached,
    PortAsked,
    PortBound,
    RankLoaded,
    ServerReady,
    SlowWork,
    Standing,
    StopSeen,
    VersionSeen,
    Waiting,
    WeightsBegan,
)
from k2tui.core.grammar import GATE, WORDS, read_line
from k2tui.core.grammar.beats import HEAD
from k2tui.core.grammar.gate import rarity
from k2tui.core.grammar.prefix import parse_line, pieces
from k2tui.core.grammar.signatures import failure_of, standing_of
from k2tui.core.launch import LaunchPhase, Progress
from tests.core.logs import REAL

P = LaunchPhase
AT = "[2026-11-29 16:32:45 TP1] "


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("[2026-03-24 03:14:54 TP0] Init torch distributed begin.", PhaseReached(P.DISTRIBUTED)),
        (f"{AT}Init parallel ends. elapsed=0.64 s", PhaseReached(P.DISTRIBUTED)),
        (f"{AT}sglang is using nccl==2.27.5", PhaseReached(P.DISTRIBUTED)),
        (f"{AT}Load weight begin. avail mem=21.20 GB", WeightsBegan()),
        (f"{AT}Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=2 GB", RankLoaded()),
        (f"{AT}Load weight end. elapsed=0.21 s, type=Qwen3ForCausalLM, quant=fp8, avail mem=21.20 GB", RankLoaded()),
        (f"{AT}KV Cache is allocated. #tokens: 742118, KV size: 48.01 GB", KvAllocated(742118)),
        (f"{AT}KV Cache is allocated. dtype: torch.bfloat16, #tokens: 8192, K size: 0.01 GB", KvAllocated(8192)),
        (f"{AT}Memory pool end. avail mem=21.09 GB", PhaseReached(P.KV_CACHE)),
        (f"{AT}Capture cuda graph begin. This can take up to several minutes.", PhaseReached(P.CUDA_GRAPH)),
        (f"{AT}Capture target verify CUDA graph begin. backend=full, avail mem=6 GB", PhaseReached(P.CUDA_GRAPH)),
        (f"{AT}Entering DeepGEMM JIT Pre-Compile session. It may take a long time", SlowWork()),
        (f"{AT}max_total_num_tokens=8192, chunked_prefill_size=4096, context_len=4096", CapacitySeen(8192)),
        ("[2026-11-29 16:32:50] INFO:     Started server process [16096]", HttpStarted()),
        ("INFO:     Application startup complete.", HttpStarted(complete=True)),
        ("[2026-11-29 16:32:50] INFO:     Uvicorn running on http://127.0.0.1:30001 (Press CTRL+C)", PortBound(30001)),
        ("[2026-11-29 16:33:16] The server is fired up and ready to roll!", ServerReady()),
        ("[2026-11-29 16:31:47] SIGTERM received. signum=None frame=None. Draining requests", StopSeen()),
        ("[2026-11-29 16:31:57] INFO:     Shutting down", StopSeen()),
        ("[2026-11-29 16:35:12] SIGQUIT received. signum=None, frame=None. It usually means", EndSeen()),
        ("[2026-11-29 16:37:23] Received sigquit from a child process. It usually means the child failed.", EndSeen()),
        ("Killed", EndSeen()),
        ("bash: line 1: 4711 Killed                  python -m sglang.launch_server", EndSeen()),
        ("[2025-03-15 17:49:11] Health check failed. Server couldn't get a response from detokenizer", HealthFailed()),
        ("$ python3 -m sglang.launch_server --model-path /m --port 30010", PortAsked(30010)),
        (
            "(APIServer pid=1) INFO 07-20 06:56:15 [api_server.py:1980] vLLM API server version 0.9.1",
            VersionSeen("0.9.1", True),
        ),
        (
            "(Worker_TP0 pid=300) INFO 07-20 06:56:40 [pynccl.py:70] vLLM is using nccl==2.26.2",
            PhaseReached(P.DISTRIBUTED),
        ),
        (
            "(Worker_TP0 pid=300) INFO 04-22 19:04:46 [gpu_model_runner.py:4735] Starting to load model m...",
            WeightsBegan(),
        ),
        (
            "(EngineCore pid=7) INFO 11-29 16:30:53 [kv_cache_utils.py:2327] CPU KV cache size: 262,144 tokens",
            KvAllocated(262144),
        ),
        (
            "(APIServer pid=7) INFO 11-29 16:30:56 [entry.py:140] Starting vLLM server on http://127.0.0.1:8000",
            PortBound(8000),
        ),
        (
            "INFO 05-03 00:25:16 [shm_broadcast.py:363] No available shared memory broadcast block found",
            Waiting("peer_silent"),
        ),
    ],
)
def test_a_line_states_a_fact(line: str, fact: LaunchFact) -> None:
    assert read_line(line) == fact
    assert GATE.search(line)


@pytest.mark.parametrize(
    "line",
    [
        f"{AT}Ignore import error when loading sglang.srt.models.kimi: No module named 'x'",
        "/opt/sglang/awq.py:53: UserWarning: Only CUDA, HIP and XPU support AWQ currently.",
        "[2026-11-29 16:32:18] Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit",
        "[Gloo] Rank 0 is connected to 7 peer ranks. Expected number of connected peer ranks is : 7",
        f"{AT}Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x",
        f"{AT}Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs.",
        f"{AT}Pyspy failed to dump PID 174. Error: /bin/sh: 1: py-spy: not found",
        '[2026-11-29 16:33:34] INFO:     127.0.0.1:52604 - "GET /version HTTP/1.1" 404 Not Found',
        '[2026-11-29 16:33:34] INFO:     127.0.0.1:52604 - "POST /freeze_gc HTTP/1.1" 200 OK',
        'kernel.cu(12): error: identifier "x" is undefined',
        "He was Killed in a tale.",
        "",
    ],
)
def test_noise_states_nothing(line: str) -> None:
    assert read_line(line) is None


@pytest.mark.parametrize(
    ("line", "failure", "standing"),
    [
        (f"{AT}Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", "watchdog", Standing.WATCHDOG),
        (
            "[2026-11-29 16:40:22] Subprocess scheduler_0 (pid=1) crashed with exit code -9. Triggering",
            "child_killed",
            Standing.DIED,
        ),
        (
            "[2026-11-29 16:40:22] Subprocess scheduler_0 (pid=1) crashed with exit code -6. Triggering",
            "child_died",
            Standing.DIED,
        ),
        (
            "[2026-11-29 16:29:05] ERROR:    [Errno 98] error while attempting to bind on address ('::', 1)",
            "port_taken",
            Standing.CAUSE,
        ),
        ("sglang serve: error: unrecognized arguments: --no-such-flag 4", "bad_argument", Standing.CAUSE),
        ("launch_server.py: error: ambiguous option: --cuda-graph-bs could match", "bad_argument", Standing.CAUSE),
        (
            "[rank5]:[E731 10:00:00.118220155 ProcessGroupNCCL.cpp:629] [Rank 5] Watchdog caught collective operation "
            "timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE) ran for 600003 milliseconds before timing out.",
            "nccl_timeout",
            Standing.WATCHDOG,
        ),
        ("terminate called after throwing an instance of 'c10::DistBackendError'", "peer_died", Standing.ECHO),
    ],
)
def test_a_line_that_may_explain_a_failure(line: str, failure: str, standing: Standing) -> None:
    fact = read_line(line)
    assert isinstance(fact, Fault)
    assert (fact.failure, fact.standing, fact.fatal) == (failure, standing, True)


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.96 GiB.", "oom"),
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "kv_no_room"),
        ("Exception: Capture cuda graph failed: no kernel image is available for execution", "no_kernel_image"),
        ("Exception: Capture cuda graph failed: something new", "graph_capture"),
        ("Exception: Capture cuda graph failed: pair.cc:534] Connection closed by peer [10.0.0.12]:35218", "peer_died"),
        (
            "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9",
            "child_killed",
        ),
        ("ValueError: TP rank 0 could finish the model loading, but there are other ranks that", "slow_rank"),
        ("OSError: [Errno 28] No space left on device: '/data/x'", "disk_full"),
        ("safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge", "corrupt_shard"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", "build_failed"),
        ("ValueError: something that nobody has seen", "exception"),
    ],
)
def test_a_message_belongs_to_a_failure_class(message: str, failure: str) -> None:
    assert failure_of(message) == failure


def test_a_healthy_process_that_saw_another_end_explains_less_than_a_fault() -> None:
    assert standing_of("RuntimeError: Connection reset by peer") < standing_of("RuntimeError: a fault")


@pytest.mark.parametrize(
    ("text", "progress", "phase"),
    [
        (
            "Multi-thread loading shards:  30% Completed | 19/64 [00:00<00:00, 189.50it/s]",
            Progress(19, 64, "shards", "Multi-thread loading shards"),
            P.WEIGHTS,
        ),
        (
            "Loading safetensors checkpoint shards:   0% Completed | 0/163 [00:00<?, ?it/s]",
            Progress(0, 163, "shards", "Loading safetensors checkpoint shards"),
            P.WEIGHTS,
        ),
        (
            "Capturing batches (bs=16 avail_mem=3.21 GB):  40%|####      | 2/5 [1:02:03<00:01,  1.20s/it]",
            Progress(2, 5, "graphs", "Capturing batches"),
            P.CUDA_GRAPH,
        ),
        (
            "Capturing CUDA graphs (decode, FULL):  49%|█████▍     | 17/35 [00:02<00:02,  8.33it/s]",
            Progress(17, 35, "graphs", "Capturing CUDA graphs (decode, FULL)"),
            P.CUDA_GRAPH,
        ),
        (
            "DeepGEMM warmup:  12%|██   | 1902/16384 [00:44<05:35, 43.23it/s]",
            Progress(1902, 16384, "kernels", "DeepGEMM warmup"),
            None,
        ),
        ("  4%|4         | 1/23 [00:19<07:08, 19.49s/it]", Progress(1, 23, "items", ""), None),
    ],
)
def test_a_bar_is_read(text: str, progress: Progress, phase: LaunchPhase | None) -> None:
    fact = read_line(text)
    assert isinstance(fact, BarDrawn)
    assert (fact.progress, fact.phase) == (progress, phase)


@pytest.mark.parametrize(
    "text",
    [
        "  0%|          | 0/0 [00:00<?, ?it/s]",
        "  0%|          | 7/3 [00:00<?, ?it/s]",
        "Multi-thread loading shards:  30% Completed | 19/64 [00:0",
        "50% | of | all | 3/4",
    ],
)
def test_half_a_bar_is_none(text: str) -> None:
    assert read_line(text) is None


@pytest.mark.parametrize(
    ("line", "beat"),
    [
        (
            "[2025-09-10 08:17:20 TP0] Decode batch. #running-req: 101, #token: 480100, token usage: 0.98, cuda graph: "
            "True, gen throughput (token/s): 1410.21, #queue-req: 3, ",
            Beat(BeatKind.DECODE, 101, 3, 1410.21, 0.98),
        ),
        (
            f"{AT}Decode batch, #running-req: 1, #full token: 19, full token usage: 0.25, accept len: 2.1, "
            "cpu graph: False, gen throughput (token/s): 0.20, #queue-req: 0",
            Beat(BeatKind.DECODE, 1, 0, 0.2, 0.25),
        ),
        (
            f"{AT}Prefill batch, #new-seq: 7, #new-token: 350, #cached-token: 0, token usage: 0.00, #running-req: 1, "
            "#queue-req: 0, #pending-token: 0, cpu graph: False, input throughput (token/s): 27264.21",
            Beat(BeatKind.PREFILL, 8, 0, None, 0.0),
        ),
        (
            f"{AT}Prefill batch, #new-seq: 1, #new-token: 1, #cached-token: 0, token usage: 0.00, #running-req: 0, "
            "#queue-req: 0",
            Beat(BeatKind.PREFILL, 1, 0, None, 0.0, probe=True),
        ),
        (
            "(APIServer pid=4502) INFO 11-29 16:26:53 [loggers.py:335] Engine 000: Avg prompt throughput: 86.7 "
            "tokens/s, Avg generation throughput: 284.7 "
            "tokens/s, Running: 32 reqs, Waiting: 1 reqs, CPU KV cache usage: 3.1%, P",
            Beat(BeatKind.STATS, 32, 1, 284.7, 0.031),
        ),
        ('INFO:     127.0.0.1:60262 - "POST /v1/chat/completions HTTP/1.1" 200 OK', Beat(BeatKind.REQUEST)),
        ('INFO:     127.0.0.1:33824 - "GET /health HTTP/1.1" 200 OK', Beat(BeatKind.POLL, probe=True)),
    ],
)
def test_a_heartbeat_is_known_by_its_head_and_read(line: str, beat: Beat) -> None:
    assert HEAD.match(line)
    fact = read_line(line)
    assert isinstance(fact, Beat)
    assert (fact.running, fact.queued, fact.tokens_per_s, fact.probe) == (
        beat.running,
        beat.queued,
        beat.tokens_per_s,
        beat.probe,
    )
    assert fact.usage == pytest.approx(beat.usage)


def test_arguments_are_read_in_both_styles() -> None:
    old = read_line("[2026-11-29 17:18:33] server_args=ServerArgs(model_path='/m', port=31132, tp_size=8, dp_size=1)")
    new = read_line("[2026-11-29 16:32:19] server_args={'model_path': '/m', 'port': 31132, 'tp_size': 8, 'dp_size': 1}")
    vllm = read_line(
        "(APIServer pid=1) INFO 07-20 06:56:15 [utils.py:233] non-default args: {'model': '/m', 'port': 8001}"
    )
    assert isinstance(old, ArgsSeen)
    assert isinstance(new, ArgsSeen)
    assert isinstance(vllm, ArgsSeen)
    assert old.values == new.values == {"model_path": "/m", "port": "31132", "tp_size": "8", "dp_size": "1"}
    assert vllm.values == {"model_path": "/m", "port": "8001"}


def test_a_real_servers_arguments_tell_which_flags_it_has() -> None:
    line = next(line for line in (REAL / "sglang0523-memfail.log").read_text().split("\n") if "server_args=" in line)
    fact = read_line(line)
    assert isinstance(fact, ArgsSeen)
    assert {"mem_fraction_static", "cuda_graph_max_bs_decode", "watchdog_timeout"} <= fact.names
    assert "cuda_graph_max_bs" not in fact.names
    assert fact.values["mem_fraction_static"] == "1e-05"


@pytest.mark.parametrize(
    ("text", "message", "stamp", "rank", "level"),
    [
        ("[2026-11-29 16:32:45 DP0 TP1 EP1] hi", "hi", "2026-11-29 16:32:45", "DP0 TP1 EP1", None),
        ("[2026-11-29 16:32:45.123 PP0 ATTN_CP4 TP4] hi", "hi", "2026-11-29 16:32:45.123", "PP0 ATTN_CP4 TP4", None),
        ("[2026-11-29 16:32:45] INFO:     hi", "hi", "2026-11-29 16:32:45", None, "INFO"),
        (
            "[2026-11-29 16:32:45] WARNING server_args.py:1934: hi",
            "server_args.py:1934: hi",
            "2026-11-29 16:32:45",
            None,
            "WARNING",
        ),
        ("(Worker_TP4_EP4 pid=408) INFO 01-26 19:56:30 [mp.py:751] hi", "hi", "01-26 19:56:30", "TP4 EP4", "INFO"),
        ("(VllmWorker rank=1 pid=8) INFO 03-23 23:46:25 [loader.py:429] hi", "hi", "03-23 23:46:25", "rank 1", "INFO"),
        ("(EngineCore_DP0 pid=78) ERROR 07-20 06:56:42 [core.py:708] hi", "hi", "07-20 06:56:42", None, "ERROR"),
        (" INFO 03-05 19:05:36 __init__.py:190] hi", "hi", "03-05 19:05:36", None, "INFO"),
        ("[rank3]:[E424 17:56:03.118220155 ProcessGroupGloo.cpp:143] hi", "hi", None, "rank 3", "ERROR"),
        ("sglang-1  | [2026-11-29 16:32:45 TP1] hi", "hi", "2026-11-29 16:32:45", "TP1", None),
        ("2026-07-15T08:31:32.4+02:00 stderr F [2026-07-15 06:31:32 PP0] hi", "hi", "2026-07-15 06:31:32", "PP0", None),
        (
            "Aug 22 23:28:47 node-c vllm[7431]: (EngineCore pid=7) INFO 08-22 23:28:47 [a.py:1] hi",
            "hi",
            "08-22 23:28:47",
            None,
            "INFO",
        ),
        ("(RayWorker pid=77, ip=10.0.0.3) [2026-11-29 16:32:45 TP1] hi", "hi", "2026-11-29 16:32:45", "TP1", None),
        ('  File "x", line 1, in f', '  File "x", line 1, in f', None, None, None),
        ("plain words", "plain words", None, None, None),
    ],
)
def test_what_stands_in_front_is_told_apart(
    text: str, message: str, stamp: str | None, rank: str | None, level: str | None
) -> None:
    line = parse_line(text)
    assert (line.message.lstrip(), line.stamp, line.rank, line.level) == (message.lstrip(), stamp, rank, level)
    assert line.text == text


def test_a_record_that_was_written_into_a_bar_is_a_piece_of_its_own() -> None:
    text = "Multi: 100% Completed | 64/64 [00:00<00:00, 4.50it/s][2026-11-29 16:32:49 TP3] Load weight end. elapsed=1"
    bar, record = pieces(text, 7)
    assert bar.message.endswith("4.50it/s]")
    assert (record.rank, record.message) == ("TP3", "Load weight end. elapsed=1")
    assert bar.text == record.text == text
    assert bar.number == record.number == 7


def test_every_word_opens_the_gate() -> None:
    for word in WORDS:
        assert GATE.search(f"in the middle {word} of a line"), word


def test_every_word_has_a_character_that_is_rare_in_logs() -> None:
    for word in WORDS:
        assert max(map(rarity, word)) >= 20, f"{word!r} makes the search of every line slow"


@given(st.text())
def test_no_line_can_break_the_grammar(text: str) -> None:
    read_line(text)
    for line in pieces(text):
        read_line(line)


@given(st.lists(st.sampled_from([*WORDS, *"0123456789%|[]()/:<,'= ", "[2026-11-29 16:32:45 TP0] "]), max_size=30))
def test_no_heap_of_known_words_can_break_the_grammar(words: list[str]) -> None:
    read_line("".join(words))
