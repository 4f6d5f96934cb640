"""Every way to fail ends as the real one does, with the same words."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import httpx
import pytest

from tests.demo.engines import READY, RunningEngine, engine
from tests.demo.shapes import is_stamped, pieces, rank_of, real_shapes, shape

KIMI_FLAGS = ("--tp-size", "8", "--reasoning-parser", "kimi_k2")
QUESTION = {"messages": [{"role": "user", "content": "Hi"}]}


def last_shapes(server: RunningEngine, count: int) -> list[str]:
    return [shape(piece) for piece in pieces(server.log) if is_stamped(piece)][-count:]


async def test_out_of_memory_on_one_rank_kills_all(tmp_path: Path, kimi: Path) -> None:
    async with engine(tmp_path, kimi, *KIMI_FLAGS, env={"K2_DEMO_FAULT": "oom:3"}) as server:
        assert await server.ended() == -signal.SIGKILL
        failed = [piece for piece in pieces(server.log) if "Scheduler hit an exception: Traceback" in piece]
        assert [rank_of(piece) for piece in failed] == ["TP3"]
        assert b"\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has" in server.log
        assert b"Load weight end" not in server.log
        ends = last_shapes(server, 3)
    assert set(ends) <= real_shapes("sglang0523-memfail")
    assert ends[-1] == "[T] kill_process_tree called: parent_pid=N, include_parent=True, pid=N"


async def test_weights_that_do_not_fit_need_no_fault(tmp_path: Path, kimi: Path) -> None:
    async with engine(tmp_path, kimi, "--tp-size", "2") as server:
        assert await server.ended() == -signal.SIGKILL
        assert b"CUDA out of memory" in server.log


async def test_no_room_for_the_cache_ends_as_the_real_log(tmp_path: Path, qwen: Path) -> None:
    async with engine(tmp_path, qwen, env={"K2_DEMO_FAULT": "no_kv_memory"}) as server:
        assert await server.ended() == -signal.SIGKILL
        assert b"\nValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction" in server.log
        assert set(last_shapes(server, 3)) <= real_shapes("sglang0523-memfail")


@pytest.mark.parametrize("really", [True, False])
async def test_a_taken_port_shows_after_the_full_load(tmp_path: Path, qwen: Path, really: bool) -> None:
    async with engine(tmp_path, qwen) as first:
        await first.until(READY)
        env = {} if really else {"K2_DEMO_FAULT": "port_taken"}
        port = first.port if really else None
        directory = tmp_path / "second"
        directory.mkdir()
        async with engine(directory, qwen, env=env, port=port) as second:
            assert await second.ended() == 1
            assert b"100% Completed | 17/17" in second.log
            assert set(last_shapes(second, 4)) <= real_shapes("sglang0523-port-taken")


@pytest.mark.parametrize(
    ("phase", "last", "never"),
    [
        ("weights", b"Multi-thread loading shards", b"Load weight end"),
        ("postprocess", b"100% Completed | 17/17", b"Load weight end"),
        ("cuda_graph", b"Capturing batches", b"CUDA graph end. bs="),
        ("warmup", b"GET /model_info", READY),
    ],
)
async def test_a_stall_is_silence(tmp_path: Path, qwen: Path, phase: str, last: bytes, never: bytes) -> None:
    async with engine(tmp_path, qwen, env={"K2_DEMO_FAULT": f"stall:{phase}"}) as server:
        await server.until(last)
        size = -1
        while size != len(server.log):  # until it says no more
            size = len(server.log)
            await asyncio.sleep(0.3)
        assert never not in server.log
        assert server.process.returncode is None


async def test_a_crash_in_the_warm_up_ends_as_the_real_log(tmp_path: Path, kimi: Path) -> None:
    async with engine(tmp_path, kimi, *KIMI_FLAGS, env={"K2_DEMO_FAULT": "crash_warmup"}) as server:
        assert await server.ended() == -signal.SIGKILL
        assert READY not in server.log
        assert b"\nRuntimeError: Expected size for first two dimensions" in server.log
        ends = last_shapes(server, 4)
    assert set(ends) <= real_shapes("sglang0523-dsv3-ready-phase-then-crash-in-warmup")


async def test_after_ready_it_can_hang_while_health_answers(tmp_path: Path, qwen: Path) -> None:
    env = {"K2_DEMO_FAULT": "hang_after_ready"}
    async with engine(tmp_path, qwen, env=env) as server, server.client() as client:
        await server.until(READY)
        assert (await client.get("/health")).status_code == 200
        with pytest.raises(httpx.ReadTimeout):
            await client.post("/v1/chat/completions", json=QUESTION, timeout=0.5)
        assert (await client.get("/v1/loads")).json()["loads"][0]["num_waiting_reqs"] >= 1


async def test_a_killed_scheduler_takes_the_server_with_it(tmp_path: Path, qwen: Path) -> None:
    async with engine(tmp_path, qwen, env={"K2_DEMO_FAULT": "die_after_ready"}) as server, server.client() as client:
        await server.until(READY)
        with pytest.raises(httpx.HTTPError):
            await client.post("/v1/chat/completions", json={**QUESTION, "ignore_eos": True})
        assert await server.ended() == -signal.SIGKILL
        ends = last_shapes(server, 5)
    assert set(ends) - {s for s in ends if "batch," in s} <= real_shapes("sglang0523-llama-notriton")
    assert any("crashed with exit code" in line for line in ends)


async def test_a_zombie_answers_http_and_gives_no_token(tmp_path: Path, qwen: Path) -> None:
    env = {"K2_DEMO_FAULT": "zombie"}
    async with engine(tmp_path, qwen, "--enable-metrics", env=env) as server, server.client() as client:
        await server.until(READY)
        written = (await client.get("/v1/loads")).json()["loads"][0]["timestamp"]
        with pytest.raises(httpx.ReadTimeout):
            await client.post("/v1/chat/completions", json=QUESTION, timeout=0.5)
        load = (await client.get("/v1/loads")).json()["loads"][0]
        assert (load["timestamp"], load["num_running_reqs"], load["num_waiting_reqs"]) == (written, 0, 0)
        assert (
            'http_requests_active{endpoint="/v1/chat/completions",method="POST"} 1.0'
            in (await client.get("/metrics")).text
        )
        with pytest.raises(httpx.ReadTimeout):
            await client.get("/server_info", timeout=0.5)
        assert server.process.returncode is None


@pytest.mark.parametrize(("fault", "sticks"), [("stuck_gauge", True), (None, False)])
async def test_a_gauge_can_stick(tmp_path: Path, qwen: Path, fault: str | None, sticks: bool) -> None:
    env = {"K2_DEMO_FAULT": fault or "", "K2_DEMO_PACE": "0.2"}
    async with engine(tmp_path, qwen, env=env) as server, server.client() as client:
        await server.until(READY)
        await client.post("/v1/chat/completions", json={**QUESTION, "ignore_eos": True, "max_tokens": 60})
        while True:
            load = (await client.get("/v1/loads")).json()["loads"][0]
            if load["num_running_reqs"] == 0 and (sticks or load["gen_throughput"] == 0):
                break
        assert (load["gen_throughput"] > 0) is sticks


async def test_an_unknown_flag_can_be_asked_for(tmp_path: Path, qwen: Path) -> None:
    async with engine(tmp_path, qwen, "--enable-metrics", env={"K2_DEMO_FAULT": "bad_flag"}) as server:
        assert await server.ended() == 2
        assert server.log.endswith(b"sglang serve: error: unrecognized arguments: --enable-metrics\n")


async def test_a_shard_that_is_missing_or_broken_ends_the_launch(tmp_path: Path, qwen: Path) -> None:
    for size, words in ((None, b"shard file(s) missing from"), (2000, b"MetadataIncompleteBuffer")):
        model = tmp_path / f"left-{size}"
        model.mkdir()
        for file in qwen.iterdir():
            if file.name != "model-00009-of-000017.safetensors":
                (model / file.name).write_bytes(file.read_bytes())
            elif size is not None:
                (model / file.name).write_bytes(file.read_bytes()[:size])
        async with engine(tmp_path, model) as server:
            assert await server.ended() == -signal.SIGKILL
            assert words in server.log


async def test_a_model_that_is_not_there_is_told_as_transformers_tells_it(tmp_path: Path) -> None:
    async with engine(tmp_path, tmp_path / "nothing") as server:
        assert await server.ended() == 1
        assert b"\nOSError: We couldn't connect to 'https://huggingface.co'" in server.log


async def test_sigterm_during_the_load_is_the_end(tmp_path: Path, qwen: Path) -> None:
    async with engine(tmp_path, qwen, env={"K2_DEMO_FAULT": "stall:weights"}) as server:
        await server.until(b"Multi-thread")
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == -signal.SIGTERM


async def test_sigterm_waits_for_the_running_request(tmp_path: Path, qwen: Path) -> None:
    async with engine(tmp_path, qwen, env={"K2_DEMO_PACE": "0.2"}) as server, server.client() as client:
        await server.until(READY)
        body = {**QUESTION, "ignore_eos": True, "max_tokens": 400}
        asked = asyncio.create_task(client.post("/v1/chat/completions", json=body))
        await server.until(b"Decode batch, #running-req: 1")
        server.process.send_signal(signal.SIGTERM)
        assert (await asked).json()["choices"][0]["finish_reason"] == "length"
        assert await server.ended() == 0


async def test_the_engine_goes_when_its_demo_is_gone(tmp_path: Path, qwen: Path) -> None:
    async with engine(tmp_path, qwen, env={"K2_DEMO_OWNER": f"{os.getpid()}:1"}) as server:
        assert await server.ended() == -signal.SIGKILL
