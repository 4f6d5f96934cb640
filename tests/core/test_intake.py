"""Bytes of whole logs to a ring and a launch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.clock import log_clock
from k2tui.core.facts import ArgsSeen, VersionSeen
from k2tui.core.grammar import read_facts
from k2tui.core.grammar.prefix import pieces
from k2tui.core.intake import LogIntake
from k2tui.core.launch import LaunchKind, LaunchPhase, Progress
from k2tui.core.ring import LineRing
from tests.core.logs import REAL, corpus_cases, read, real

LOGS = sorted(path.stem for path in REAL.glob("*.log"))
LINES = sorted(
    {line for _, data, _ in corpus_cases() for line in data.decode().split("\n") if len(line) < 400}
    | {"", "\r", "\x1b[A", "Killed", "[2026-11-29 16:32:45 TP0] "}
)


def fed(data: bytes, step: int = 1 << 20, now: float | None = None) -> LogIntake:
    intake = LogIntake()
    for start in range(0, len(data), step):
        intake.feed(data[start : start + step], now)
    intake.flush()
    return intake


def same(one: LogIntake, other: LogIntake) -> bool:
    return (
        one.launch == other.launch
        and one.last_stamp == other.last_stamp
        and one.lines_seen == other.lines_seen
        and one.ring.open_line == other.ring.open_line
        and [*map(one.ring.__getitem__, range(one.ring.end))] == [*map(other.ring.__getitem__, range(other.ring.end))]
    )


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("step", [7, 1000, 65536])
def test_a_real_log_is_read_the_same_however_it_is_cut(name: str, step: int) -> None:
    data = real(name)
    assert same(fed(data, step), fed(data))


@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=20)), max_size=40), st.data())
def test_any_lines_cut_anywhere_give_the_same_launch(lines: list[str], data: st.DataObject) -> None:
    log = "\n".join(lines).encode("utf-8", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=8)))
    cut_up = LogIntake()
    for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        cut_up.feed(log[start:end])
    cut_up.flush()
    assert same(cut_up, fed(log))


@given(st.binary(max_size=400))
def test_no_bytes_can_break_the_intake(data: bytes) -> None:
    intake = fed(data, 13)
    assert intake.bytes_seen == len(data)
    assert intake.lines_seen == data.count(b"\n")


def begins(line: str) -> bool:
    """A line that may begin another start, or is of one service among several."""
    parts = list(pieces(line))
    facts = [fact for piece in parts for fact, _ in read_facts(piece)]
    new = any(isinstance(fact, ArgsSeen) or (isinstance(fact, VersionSeen) and fact.begins) for fact in facts)
    return new or "$ " in line or any(piece.service for piece in parts)


OF_ONE_START = [line for line in LINES if not begins(line)]


@given(st.lists(st.sampled_from(OF_ONE_START), max_size=60))
def test_a_launch_never_goes_back_and_a_failed_one_stays_failed(lines: list[str]) -> None:
    intake = LogIntake()
    before = intake.launch
    for line in lines:
        intake.feed(f"{line}\n".encode())
        launch = intake.launch
        if launch.kind in (LaunchKind.LOADING, LaunchKind.READY):
            assert launch.phase.order >= before.phase.order
        if before.kind in (LaunchKind.CRASHED, LaunchKind.MISCONFIGURED):
            assert launch.kind in (LaunchKind.CRASHED, LaunchKind.MISCONFIGURED, LaunchKind.READY)
        before = launch


def test_unknown_lines_never_move_the_machine() -> None:
    launch = read(*(f"{word} 100% ready to roll error load weight" for word in "abc"), "Ünïcode ✓", "{}", "\\x00")
    assert (launch.phase, launch.kind, launch.spans, launch.mark) == (LaunchPhase.ARGS, LaunchKind.LOADING, (), None)


def test_a_bar_moves_while_its_line_is_unfinished() -> None:
    intake = LogIntake()
    seen: list[int] = []
    for done in range(5):
        intake.feed(
            f"\rMulti-thread loading shards:  {done}0% Completed | {done}/64 [00:0{done}<00:09,  1.20s/it]".encode()
        )
        assert intake.launch.progress is not None
        seen.append(intake.launch.progress.done)
    assert seen == [0, 1, 2, 3, 4]
    assert intake.lines_seen == 0
    assert intake.ring.open_line.endswith("4/64 [00:04<00:09,  1.20s/it]")


def test_the_last_line_is_looked_at_without_its_newline() -> None:
    intake = LogIntake()
    intake.feed(b"[2026-11-29 16:33:16] The server is fired up and ready to roll!")
    assert not intake.launch.spans
    intake.flush()
    assert intake.launch.kind is LaunchKind.READY


def test_line_numbers_are_those_of_the_file() -> None:
    launch = fed(real("sglang0523-memfail")).launch
    assert launch.cause is not None
    assert launch.cause.line_number == 71
    lines = real("sglang0523-memfail").decode().split("\n")
    assert lines[70] == launch.cause.line


def test_a_ring_that_begins_in_the_middle_of_a_file_numbers_from_there() -> None:
    ring = LineRing()
    ring.line_number_base = 1000
    intake = LogIntake(ring=ring)
    intake.feed(b"one\nKilled\nsglang serve: error: unrecognized arguments: --x\n")
    assert intake.launch.cause is not None
    assert intake.launch.cause.line_number == 1003


def test_a_live_bar_has_the_time_of_its_coming_and_an_old_one_its_own() -> None:
    began = log_clock("2026-11-29 16:20:43")
    lines = b"[2026-11-29 16:20:43 TP0] Load weight begin. avail mem=21.36 GB\n\rshards: 0%|  | 0/4 [00:00<?, ?it/s]"
    redraw = b"\rshards: 50%|##  | 2/4 [01:40<01:40, 50.0s/it]"
    old = fed(lines + redraw)
    assert old.launch.quiet_since == began + 100
    live = LogIntake()
    live.feed(lines, began + 1)
    live.feed(redraw, began + 107)
    assert live.launch.quiet_since == began + 107


def test_stamps_without_a_year_are_placed_near_the_nodes_clock() -> None:
    now = log_clock("2026-07-20 06:57:00")
    intake = LogIntake()
    intake.feed(b"(Worker_TP1 pid=307) INFO 07-20 06:56:40 [pynccl.py:70] vLLM is using nccl==2.26.2\n", now)
    assert intake.last_stamp == log_clock("2026-07-20 06:56:40")
    assert intake.observe(now=now + 30, process_alive=True).silence_s == 50


def test_a_busy_server_is_read_by_its_last_lines() -> None:
    lines = [b"[2026-11-29 16:33:16] The server is fired up and ready to roll!"]
    lines += [
        b"[2026-11-29 16:34:%02d DP%d TP%d] Decode batch, #running-req: %d, #token: 9, token usage: 0.5, "
        b"cuda graph: True, gen throughput (token/s): %d.0, #queue-req: 0" % (second, rank, rank, second, 100 + second)
        for second in range(60)
        for rank in range(2)
    ]
    launch = fed(b"\n".join(lines) + b"\n").launch
    assert launch.phase is LaunchPhase.SERVING
    assert launch.quiet_since == log_clock("2026-11-29 16:34:59")
    assert launch.traffic.total_tokens_per_s == 318.0
    assert launch.traffic.running == 59


def test_what_was_observed_holds_until_the_next_observation() -> None:
    intake = fed(b"[2026-11-29 16:33:16] The server is fired up and ready to roll!\n")
    probe = {"chat": {"ok": True, "garbage": True}}
    assert intake.observe(now=None, process_alive=True, probe=probe).kind is LaunchKind.DEGRADED
    intake.feed(b"more\n")
    assert intake.launch.kind is LaunchKind.DEGRADED
    assert intake.observe(now=None, process_alive=True).kind is LaunchKind.READY


def test_a_hang_ends_when_something_moves() -> None:
    intake = fed(b"[2026-11-29 16:20:00 TP0] Init parallel begin.\n")
    assert intake.observe(now=log_clock("2026-11-29 16:30:00"), process_alive=True).kind is LaunchKind.HUNG
    intake.feed(b"[2026-11-29 16:30:01 TP0] Load weight begin. avail mem=21.36 GB\n")
    assert (intake.launch.kind, intake.launch.phase) == (LaunchKind.LOADING, LaunchPhase.WEIGHTS)


def test_a_record_in_the_middle_of_a_bar_counts() -> None:
    launch = read(
        "[2026-11-29 16:32:48 TP0] Load weight begin. avail mem=21.21 GB",
        "[2026-11-29 16:32:48 TP1] Load weight begin. avail mem=21.21 GB",
        "\rMulti-thread loading shards:  94% Completed | 60/64 [00:00<00:00, 265.27it/s]"
        "[2026-11-29 16:32:49 TP1] Load weight end. elapsed=0.21 s, type=Qwen3, avail mem=21.20 GB",
    )
    assert launch.ranks_loaded == {"TP1"}
    assert launch.progress == Progress(60, 64, "shards", "Multi-thread loading shards")
    assert launch.phase is LaunchPhase.WEIGHTS


TRACEBACK = (
    "[2026-11-29 16:36:29 TP3] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/opt/sglang/srt/managers/scheduler.py", line 6362, in run_scheduler_process',
    "    scheduler = Scheduler(server_args, port_args)",
    '  File "/opt/sglang/srt/model_executor/model_runner.py", line 647, in load_model',
    "    raise ValueError(",
)


def cause(*lines: str) -> tuple[LaunchKind, LaunchPhase, str | None, str | None, str | None]:
    """(kind, phase, the line that explains it, its rank, its class)."""
    launch = read(*lines)
    if launch.cause is None:
        return launch.kind, launch.phase, None, None, None
    return launch.kind, launch.phase, launch.cause.line, launch.cause.rank, launch.cause.failure


def test_a_traceback_gives_its_exception_its_rank_and_its_phase() -> None:
    assert cause(*TRACEBACK, "ValueError: no", "", "[2026-11-29 16:36:30] Received sigquit from a child process.") == (
        LaunchKind.CRASHED,
        LaunchPhase.WEIGHTS,
        "ValueError: no",
        "TP3",
        "exception",
    )


DIRECT = ("", "The above exception was the direct cause of the following exception:", "")
DURING = ("", "During handling of the above exception, another exception occurred:", "")
AGAIN = ("Traceback (most recent call last):", '  File "/opt/sglang/x.py", line 1, in f', "    g()")


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (("ValueError: inner", *DIRECT, *AGAIN, "RuntimeError: outer"), "ValueError: inner"),
        (("ValueError: inner", *DURING, *AGAIN, "RuntimeError: outer"), "RuntimeError: outer"),
        (("EOFError", *DURING, "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9)."),
         "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9)."),
        (("OSError: [Errno 28] No space", *DURING, *AGAIN, "RuntimeError: outer"), "OSError: [Errno 28] No space"),
        (("RuntimeError: [enforce fail]", *DURING, *AGAIN, "OSError: [Errno 28] No"), "OSError: [Errno 28] No"),
        (("ValueError: inner", *DURING, *AGAIN, "ConnectionResetError: reset"), "ValueError: inner"),
        (("torch.OutOfMemoryError: Allocation failed.", "CUDA out of memory. Tried to allocate 2 GiB."),
         "CUDA out of memory. Tried to allocate 2 GiB."),
        (("RuntimeError: Ninja build failed. Ninja output:", "[1/2] nvcc -c x.cu", "/bin/sh: 1: nvcc: not found",
          "ninja: build stopped: subcommand failed.", *DURING, *AGAIN,
          "Exception: Capture cuda graph failed: Ninja build failed. Ninja output:", "/bin/sh: 1: nvcc: not found"),
         "/bin/sh: 1: nvcc: not found"),
        (("RuntimeError: Ninja build failed.",), "RuntimeError: Ninja build failed."),
        (("AssertionError",), "AssertionError"),
    ],
)  # fmt: skip
def test_of_a_chain_of_exceptions_one_explains_it(lines: tuple[str, ...], line: str) -> None:
    assert cause(*TRACEBACK, *lines)[2] == line


def test_tracebacks_of_several_workers_may_run_into_each_other() -> None:
    def worker(rank: int, text: str) -> str:
        return f"(Worker_TP{rank} pid=30{rank}) ERROR 07-20 06:56:40 [multiproc_executor.py:492] {text}"

    kind, phase, line, rank, _ = cause(
        "(APIServer pid=1) INFO 07-20 06:56:15 [api_server.py:1980] vLLM API server version 0.9.1",
        worker(0, "WorkerProc failed to start."),
        worker(1, "WorkerProc failed to start."),
        worker(0, "Traceback (most recent call last):"),
        worker(1, "Traceback (most recent call last):"),
        worker(1, '  File "/x/vllm/v1/worker/gpu_worker.py", line 180, in init_device'),
        worker(0, '  File "/x/vllm/v1/worker/gpu_worker.py", line 180, in init_device'),
        worker(0, "RuntimeError: cancelled"),
        worker(1, "ValueError: the fault"),
    )
    assert (kind, phase, rank) == (LaunchKind.CRASHED, LaunchPhase.DISTRIBUTED, "TP1")
    assert line is not None
    assert line.endswith("ValueError: the fault")


def test_a_traceback_that_was_caught_and_logged_is_no_crash() -> None:
    kind, *_ = cause(
        "[2026-11-29 16:33:16] The server is fired up and ready to roll!",
        "[2026-11-29 16:33:20] ERROR:    Exception in ASGI application",
        "Traceback (most recent call last):",
        '  File "/opt/sglang/srt/entrypoints/http_server.py", line 10, in generate',
        "    raise ValueError(",
        "ValueError: bad request",
        '[2026-11-29 16:33:21] INFO:     10.0.0.1:1 - "POST /generate HTTP/1.1" 500 Internal Server Error',
    )
    assert kind is LaunchKind.READY


@pytest.mark.parametrize("before", ["Exception ignored in: <function X.__del__ at 0x7f>", "--- Logging error ---"])
def test_what_python_itself_ignores_is_no_crash(before: str) -> None:
    assert cause(before, *AGAIN, "ValueError: late")[0] is LaunchKind.LOADING


def test_an_uncaught_traceback_of_the_main_script_is_a_crash() -> None:
    lines = (
        "[2026-11-29 16:19:03] kill_process_tree called: parent_pid=455, include_parent=False, pid=455",
        "Traceback (most recent call last):",
        '  File "<frozen runpy>", line 198, in _run_module_as_main',
        '  File "/opt/sglang/launch_server.py", line 84, in <module>',
        "    run_server(server_args)",
    )
    assert cause(*lines, "ModuleNotFoundError: No module named 'torchvision'")[0] is LaunchKind.CRASHED
    assert cause(*lines, "ValueError: the tokenizer's class is not known")[0] is LaunchKind.CRASHED
    reads = '  File "/opt/sglang/srt/server_args.py", line 2101, in check_server_args'
    assert cause(*lines, reads, "ValueError: tp_size must be divisible by nnodes")[0] is LaunchKind.MISCONFIGURED
    assert cause(*lines, "KeyboardInterrupt")[0] is LaunchKind.STOPPED
