"""A healthy server stays healthy whatever users, helpers and other services print into its log."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.diagnosis import diagnose
from k2tui.core.diagnosis_text import to_text
from k2tui.core.grammar import RULES
from k2tui.core.grammar.prefix import parse_line
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase

START = (
    "[2026-11-29 10:00:00] server_args=ServerArgs(model_path='/m/Q', port=30000, tp_size=1, dp_size=1)",
    "[2026-11-29 10:00:05] Init torch distributed begin.",
    "[2026-11-29 10:00:06] Load weight begin. avail mem=70 GB",
    "[2026-11-29 10:00:20] Load weight end. type=Q, avail mem=20 GB",
    "[2026-11-29 10:00:21] KV Cache is allocated. #tokens: 1000, K size: 1 GB",
    "[2026-11-29 10:00:25] max_total_num_tokens=1000, chunked_prefill_size=8192",
    "[2026-11-29 10:00:26] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)",
    "[2026-11-29 10:00:30] The server is fired up and ready to roll!",
    "[2026-11-29 10:01:00] Prefill batch, #new-seq: 1, #new-token: 100, #cached-token: 0, token usage: 0.00, "
    "#running-req: 0, #queue-req: 0,",
    '[2026-11-29 10:01:00] INFO:     1.2.3.4:55 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "[2026-11-29 10:01:02] Decode batch, #running-req: 1, #token: 140, token usage: 0.01, cuda graph: True, "
    "gen throughput (token/s): 50.0, #queue-req: 0,",
)
QUOTED = "[2026-11-29 10:02:00] Receive: obj=GenerateReqInput(text='why does my log say {}')"
TRACEBACK = ("Traceback (most recent call last):", '  File "/x/app.py", line 1, in handler', "ValueError: bad request")


def launch_of(*lines: str, **context: object) -> Launch:
    return diagnose(["".join(f"{line}\n" for line in lines).encode()], context).launch


@pytest.mark.parametrize(
    "lines",
    [
        (QUOTED.format("[2026-11-29 09:00:00 TP3] Received sigquit from a child process. It usually means"),),
        (QUOTED.format("[2026-11-29 09:00:00 TP3] server_args=ServerArgs(tp_size=8)"),),
        ("[2026-11-29 10:02:00] output: The server crashed with exit code 1, scheduler is dead. Please help",),
        ("nginx-1 exited with code 1",),
        ("model-init-1 exited with code 0",),
        ("[2026-11-29 10:02:00] warmup_helper exited with code 0",),
        ("Task exception was never retrieved", "future: <Task finished name='Task-9'>", *TRACEBACK),
        ("Exception in callback f()", "handle: <Handle f()>", *TRACEBACK),
        ("INFO:     Exception in ASGI application", *TRACEBACK),
        (
            "Traceback (most recent call last):",
            '  File "/usr/lib/python3.12/multiprocessing/resource_tracker.py", line 239, in main',
            "    cache[rtype].remove(name)",
            "KeyError: '/psm_1'",
        ),
        ("gcc: error: unrecognized command-line option '--std=c++99'",),
        ("/entrypoint.sh: line 12: 345 Killed   nvidia-smi dmon",),
        ("INFO:     Uvicorn running on http://0.0.0.0:4000 (Press CTRL+C to quit)",),
        ("user said: the flag --tp-size will be ignored",),
        ("[2026-11-29 10:02:00] Ignoring chat_template_kwargs from request",),
    ],
    ids=lambda lines: lines[0][:60],
)
def test_what_others_say_is_not_the_servers_end(lines: tuple[str, ...]) -> None:
    launch = launch_of(*START, *lines)
    assert (launch.kind, launch.phase) == (LaunchKind.READY, LaunchPhase.SERVING)
    assert launch.findings == ()


def test_an_idle_server_whose_last_line_has_a_request_is_not_hung() -> None:
    later = {"observed_at": "2026-11-29 10:30:00", "process_alive": True}
    assert launch_of(*START, **later).kind is LaunchKind.READY
    closed = '[2026-11-29 10:01:03] INFO:     1.2.3.4:55 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    poll = (
        "[2026-11-29 10:20:00] Prefill batch, #new-seq: 1, #new-token: 1, #cached-token: 0, token usage: 0.00, "
        "#running-req: 0, #queue-req: 0,"
    )
    polled = launch_of(*START, closed, poll, **later)
    assert (polled.kind, polled.detail) == (LaunchKind.READY, None)


def test_an_error_of_a_request_of_yesterday_explains_no_failure_of_today() -> None:
    decode = START[-1].replace("10:01:02", "23:01:02")
    dead = "[2026-11-30 09:00:00] Rank 0 scheduler is dead. Please check if there are relevant logs."
    launch = launch_of(*START, *TRACEBACK, decode, dead)
    assert launch.kind is LaunchKind.CRASHED
    assert launch.cause is not None
    assert "scheduler is dead" in launch.cause.line


def test_a_worker_of_another_service_that_dies_is_heard() -> None:
    launch = launch_of(
        "head-1   | INFO 11-29 10:00:00 [api_server.py:1] vLLM API server version 0.11.0",
        "worker-1 | Traceback (most recent call last):",
        'worker-1 |   File "/x/vllm/worker.py", line 1, in <module>',
        "worker-1 | RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "worker-1 exited with code 1",
    )
    assert launch.kind is LaunchKind.CRASHED
    assert launch.cause is not None
    assert launch.cause.failure == "no_kernel_image"


def test_the_name_of_an_exception_is_no_machines_name() -> None:
    launch = launch_of(
        *START[:4],
        "RuntimeError: [2026-11-29 10:01:00] could not pin memory, going on",
        "Traceback (most recent call last):",
        '  File "/x/sglang/launch_server.py", line 1, in <module>',
        "RuntimeError: CUDA error: an illegal memory access was encountered",
    )
    assert launch.kind is LaunchKind.CRASHED


def test_where_a_logger_was_called_is_no_traceback() -> None:
    stack = ("Stack (most recent call last):", '  File "/x/a.py", line 1, in <module>', "Hint: set FOO=1")
    assert launch_of(START[0], *stack, *START[1:]).kind is LaunchKind.READY


def test_a_server_that_was_asked_to_stop_has_stopped_whatever_a_request_did_before() -> None:
    assert (
        launch_of(*START, "INFO:     Exception in ASGI application", *TRACEBACK, exit_code=0).kind is LaunchKind.STOPPED
    )


NUMBERS = st.sampled_from(["9" * 5000, "²", "1.2.3.4", "", "-1", "1e400", "٣", "0", "99999999999999999999"])


@given(st.sampled_from([rule.word for rule in RULES]), st.lists(NUMBERS, min_size=1, max_size=4), NUMBERS)
def test_no_figure_can_break_a_rule(word: str, numbers: list[str], rank: str) -> None:
    tails = " ".join(f"#tokens: {n}, {n} tokens, ({n}) port={n}, tp_size={n}, [{n}] :{n} {n}s" for n in numbers)
    for line in (f"[2026-11-29 10:02:00 TP{rank}] {word}{tails}", f"{word}{numbers[0]}, x", f"INFO: {word} {tails}"):
        document = diagnose([f"{START[0]}\n{line}\n".encode("utf-8", "replace")])
        json.dumps(document.to_json(), allow_nan=False)
        assert list(to_text(document, width=80))
        assert parse_line(line).text == line


@given(st.sampled_from(["observed_at", "exit_code", "probe", "moving", "checkpoint"]), st.floats() | st.integers())
def test_no_context_can_break_a_reading(key: str, value: float) -> None:
    log = "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\n"
    document = diagnose([log.encode()], {key: value, "process_alive": True}).to_json()
    json.dumps(document, allow_nan=False)
