"""What the simulated engine prints is what SGLang prints."""

from __future__ import annotations

import ast
import json
import re
import signal
from pathlib import Path

import pytest

from k2tui.demo.engine.releases import CLASSIC, CURRENT
from tests.demo.engines import READY, engine
from tests.demo.shapes import REAL, is_bar, is_stamped, pieces, rank_of, real_shapes, shape, shapes

CURRENT_LOGS = (
    "sglang0523-tp2-kimi-ready-then-scheduler-sigkill",
    "sglang0523-tp2-capture-ready-sigterm",
    "sglang0523-qwen3-ready-load-sigterm",
    "sglang0523-dsv3-ready-phase-then-crash-in-warmup",  # latent attention, as Kimi's
    "sglang0514-h200-llama",  # the one with graphs on a GPU
)
CLASSIC_LOGS = ("sglang059-llama-random-ready-sigterm",)

# Lines that no real log at hand holds: they need several GPUs, prefill graphs, or int4 weights.
# Formats as the release's source has them, in srt/.
FROM_SOURCE: dict[str, str] = {
    "[T] sglang is using nccl==N.N": "distributed/parallel_state.py:532",
    "[T] Load weight end. elapsed=N s, type=CLASS, quant=METHOD, avail mem=N GB, mem usage=N GB.": (
        "model_executor/model_runner.py:1373"
    ),
    "[T] Capture target prefill CUDA graph begin. backend=breakable, num_tokens=[LIST], avail mem=N GB": (
        "model_executor/model_runner_components/cuda_graph_setup.py:684"
    ),
    "[T] Capture target prefill CUDA graph end. elapsed=N s, mem usage=N GB, avail mem=N GB.": (
        "model_executor/model_runner_components/cuda_graph_setup.py:700"
    ),
    "[T] Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=N, avail mem=N GB": (
        "model_executor/model_runner_components/cuda_graph_setup.py:770"
    ),
    "[T] Capture target decode CUDA graph end. bs=[LIST], elapsed=N s, mem usage=N GB, avail mem=N GB.": (
        "model_executor/model_runner_components/cuda_graph_setup.py:791"
    ),
    "Capturing prefill shape (num_tokens=N avail_mem=N GB): N%|BAR| N/N [CLOCK, RATE]": (
        "model_executor/runner/prefill_cuda_graph_runner.py:1733"
    ),
    "[T] Cache flushed successfully!": "managers/scheduler.py",
}
CLASSIC_FROM_SOURCE: dict[str, str] = {
    "[T] sglang is using nccl==N.N": "distributed/parallel_state.py",
    (
        "[T] Load weight end. elapsed=N s, type=CLASS, dtype=DTYPE, quant=METHOD, avail mem=N GB, mem usage=N GB."
    ): "model_executor/model_runner.py",
    "[T] KV Cache is allocated. #tokens: N, KV size: N GB": "mem_cache/memory_pool.py:605",
    "[T] Capture cuda graph begin. This can take up to several minutes. avail mem=N GB": (
        "model_executor/model_runner.py:2000"
    ),
    "[T] Capture cuda graph end. Time elapsed: N s. mem usage=N GB. avail mem=N GB.": (
        "model_executor/model_runner.py:2072"
    ),
    "N%|BAR| N/N [CLOCK, RATE]": "model_executor/cuda_graph_runner.py",
    "Capturing batches (bs=N avail_mem=N GB): N%|BAR| N/N [CLOCK, RATE]": "model_executor/cuda_graph_runner.py",
    (
        "[T] Decode batch, #running-req: N, #token: N, token usage: N, GRAPH, gen throughput (token/s): N, "
        "#queue-req: N,"
    ): "managers/scheduler_metrics_mixin.py",
    "[T] kill_process_tree called: parent_pid=N, include_parent=True, pid=N": "utils/common.py",
    '[T] INFO: PEER - "POST /vN/chat/completions HTTP/N" N OK': "uvicorn",
}

FLAGS = ("--tp-size", "8", "--trust-remote-code", "--reasoning-parser", "kimi_k2", "--tool-call-parser", "kimi_k2")
QUESTION = {"messages": [{"role": "user", "content": "How many shards are left?"}]}


async def served_log(directory: Path, model: Path, *flags: str, version: str) -> bytes:
    """The log of a server that answered a question, gave its facts, and was stopped."""
    async with engine(directory, model, *flags, env={"K2_DEMO_SGLANG": version}) as server:
        await server.until(READY)
        async with server.client() as client:
            await client.post("/v1/chat/completions", json=QUESTION)
            for path in ("/health", "/get_server_info", "/v1/loads", "/version", "/flush_cache"):
                await client.get(path)
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0
        return server.log


@pytest.fixture(scope="module")
async def current(tmp_path_factory: pytest.TempPathFactory, kimi: Path) -> bytes:
    return await served_log(tmp_path_factory.mktemp("log"), kimi, *FLAGS, version=CURRENT.version)


@pytest.fixture(scope="module")
async def classic(tmp_path_factory: pytest.TempPathFactory, kimi: Path) -> bytes:
    return await served_log(tmp_path_factory.mktemp("log"), kimi, *FLAGS, version=CLASSIC.version)


def test_every_line_of_the_current_release_has_a_real_shape(current: bytes) -> None:
    access = {s for s in shapes([current]) if "HTTP/N" in s}
    known = real_shapes(*CURRENT_LOGS) | FROM_SOURCE.keys()
    assert shapes([current]) - access - known == set()


def test_every_line_of_the_classic_release_has_a_real_shape(classic: bytes) -> None:
    access = {s for s in shapes([classic]) if "HTTP/N" in s}
    known = real_shapes(*CLASSIC_LOGS) | CLASSIC_FROM_SOURCE.keys()
    # What both releases say alike may come from the newer logs.
    known |= {s for s in real_shapes(*CURRENT_LOGS) if "Endpoint '" in s or "Cache flushed" in s}
    assert shapes([classic]) - access - known - {"[T] Cache flushed successfully!"} == set()


def test_no_line_stands_in_the_tables_for_nothing(current: bytes, classic: bytes) -> None:
    assert FROM_SOURCE.keys() - shapes([current]) == set()
    assert CLASSIC_FROM_SOURCE.keys() - shapes([classic]) == set()


def test_access_lines_are_uvicorns(current: bytes) -> None:
    real = re.compile(r'\[T\] INFO: PEER - "(GET|POST) /\S+ HTTP/N" N [A-Z][A-Za-z ]+')
    ours = [shape(piece) for piece in pieces(current) if "HTTP/1.1" in piece]
    assert len(ours) > 6
    assert all(real.fullmatch(line) for line in ours)


def test_the_kinds_of_lines_come_in_the_order_of_a_real_launch(current: bytes) -> None:
    order = (
        *("UserWarning", "server_args=", "Auto-detected template", "Init parallel begin", "Init parallel ends"),
        *("Memory baseline", "Load weight begin", "Multi-thread loading shards", "Load weight end"),
        *("KV Cache is allocated", "Memory pool end", "max_total_num_tokens=", "Tree cache initialized"),
        *("Engine startup timings", "Started server process", "Waiting for application startup"),
        *("Using default chat sampling", "Application startup complete", "Uvicorn running on", "GET /model_info"),
        *("Prefill batch", "POST /freeze_gc", READY.decode(), "SIGTERM received", "Gracefully exiting"),
        *("kill_process_tree", "Shutting down", "Waiting for application shutdown", "Finished server process"),
    )
    real = (REAL / "sglang0523-tp2-capture-ready-sigterm.log").read_text(encoding="utf-8")
    for text in (real, current.decode()):
        places = [text.index(word) for word in order]
        assert places == sorted(places)


def test_the_ranks_stand_where_a_real_launch_puts_them(current: bytes) -> None:
    def ranked(log: bytes) -> dict[str, bool]:
        return {shape(p): rank_of(p) is not None for p in pieces(log) if is_stamped(p) and not is_bar(p)}

    real = ranked((REAL / f"{CURRENT_LOGS[0]}.log").read_bytes())
    ours = ranked(current)
    both = real.keys() & ours.keys()
    assert len(both) > 15
    assert {line for line in both if real[line] != ours[line]} == set()


def test_each_rank_says_that_it_has_loaded(current: bytes) -> None:
    ranks = [rank_of(piece) for piece in pieces(current) if "Load weight end." in piece]
    assert sorted(filter(None, ranks)) == [f"TP{rank}" for rank in range(8)]


def test_the_bars_redraw_with_carriage_returns_and_end_once(current: bytes) -> None:
    bar = current[current.index(b"\rMulti-thread") : current.index(b"Load weight end.")]
    assert bar.count(b"\r") >= 2
    assert bar.count(b"\n") == 2, "one line glued in, and the end of the bar"
    assert b"100% Completed | 64/64 [" in bar


def test_the_classic_bar_ends_each_drawing_with_a_newline(classic: bytes) -> None:
    drawings = [line for line in classic.split(b"\n") if b"Loading safetensors checkpoint shards" in line]
    assert drawings[0].startswith(b"\rLoading safetensors checkpoint shards:   0% Completed | 0/64 [00:00<?, ?it/s]")
    assert b"100% Completed | 64/64 [" in drawings[-1]
    assert b"\n\n" in classic[classic.index(b"64/64") : classic.index(b"Load weight end.")]


def test_the_server_arguments_have_the_keys_of_the_real_ones_in_their_order(current: bytes) -> None:
    def arguments(log: bytes) -> dict[str, object]:
        line = next(line for line in log.decode().split("\n") if "] server_args=" in line)
        parsed: dict[str, object] = ast.literal_eval(line.split("server_args=", 1)[1])
        return parsed

    real = arguments((REAL / f"{CURRENT_LOGS[0]}.log").read_bytes())
    ours = arguments(current)
    assert list(ours) == list(real)
    assert ours["tp_size"] == 8
    assert ours["reasoning_parser"] == "kimi_k2"


def test_the_classic_arguments_read_as_a_dataclass(classic: bytes) -> None:
    line = next(line for line in classic.decode().split("\n") if "] server_args=" in line)
    call = ast.parse(line.split("server_args=", 1)[1], mode="eval").body
    assert isinstance(call, ast.Call)
    values = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert values["tp_size"] == 8
    assert json.loads(json.dumps(values["cuda_graph_bs"])) == values["cuda_graph_bs"]


async def test_without_graphs_nothing_is_captured(tmp_path: Path, qwen: Path) -> None:
    flags = ("--tp-size", "2", "--disable-cuda-graph")
    async with engine(tmp_path, qwen, *flags) as server:
        await server.until(READY)
        assert b"Capturing" not in server.log
        assert server.log.count(b"Disable prefill CUDA graph because") == 2
        assert b"\x1b[1;33m'--disable-cuda-graph' is deprecated" in server.log
        assert shapes([server.log]) - real_shapes(*CURRENT_LOGS) - FROM_SOURCE.keys() <= {
            s for s in shapes([server.log]) if "HTTP/N" in s
        }
