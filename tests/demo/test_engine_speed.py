"""How fast a simulated engine is depends on its configuration, so that comparisons have a truth."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from k2tui.demo.engine.prefixes import Prefixes
from k2tui.demo.engine.speed import SATURATION, Speed, configured
from tests.demo.engines import READY, RunningEngine, engine

RATE = 250.0
QUICK = {"K2_DEMO_RATE": str(RATE)}


def test_nccl_s_protocol_gives_what_the_demo_says() -> None:
    plain = configured({"NCCL_PROTO": "Simple"}, graphs=True)
    assert configured({"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}, graphs=True) / plain == pytest.approx(1.09)
    assert configured({"NCCL_PROTO": "LL128"}, graphs=True) / plain == pytest.approx(1.04)
    assert configured({"NCCL_ALGO": "Tree"}, graphs=True) < plain
    assert configured({}, graphs=False) / plain == pytest.approx(0.62)


def test_starts_of_a_node_differ_by_about_a_percent_and_are_the_same_each_time(tmp_path: Path) -> None:
    def starts(node: Path) -> list[float]:
        node.mkdir(parents=True)
        return [Speed.of(60.0, 1.0, pace=1.0, node=node).rate for _ in range(40)]

    rates = starts(tmp_path / "one" / "gpu-a")
    assert rates == starts(tmp_path / "other" / "gpu-a")
    assert rates != starts(tmp_path / "one" / "gpu-b")
    mean = sum(rates) / len(rates)
    spread = (sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)) ** 0.5 / mean
    assert 0.005 < spread < 0.015
    assert mean == pytest.approx(60.0, rel=0.01)


def test_all_streams_together_come_to_a_limit() -> None:
    speed = Speed(rate=60.0)
    totals = [streams / speed.step_s(streams) for streams in (1, 2, 8, 64, 10_000)]
    assert totals == sorted(totals)
    assert totals[0] == pytest.approx(60.0)
    assert totals[-1] == pytest.approx(60.0 * SATURATION, rel=0.01)


def test_a_prompt_is_known_as_far_as_its_beginning_was_seen() -> None:
    known = Prefixes()
    assert known.take("abcd") == 0
    assert known.take("abcd") == 4
    assert known.take("abxd") == 2
    assert known.take("nabcd") == 0
    known.clear()
    assert known.take("abcd") == 0


async def streamed(server: RunningEngine, text: str, tokens: int) -> tuple[list[float], dict[str, Any]]:
    """When each event with a choice came, and the usage of the last."""
    body = {
        "messages": [{"role": "user", "content": text}],
        "max_tokens": tokens,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    }
    came, usage = [], {}
    async with server.client() as client, client.stream("POST", "/v1/chat/completions", json=body) as reply:
        async for line in reply.aiter_lines():
            if line.startswith("data: {"):
                document = json.loads(line[6:])
                came += [time.monotonic()] if document["choices"] else []
                usage = document["usage"]
    return came, usage


async def counters(client: httpx.AsyncClient) -> dict[str, float]:
    text = (await client.get("/metrics")).text
    return {
        name: float(value)
        for name, value in re.findall(r"^sglang:(\w+)_total\{[^}]*\} (.*)$", text, flags=re.MULTILINE)
    }


async def test_a_stream_keeps_the_rate_over_its_whole_length(tmp_path: Path, qwen: Path) -> None:
    async with engine(tmp_path, qwen, "--enable-metrics", env={**QUICK, "NCCL_PROTO": "LL"}) as running:
        await running.until(READY)
        came, usage = await streamed(running, "count the shards", 200)
        assert usage["completion_tokens"] == 200
        # The role comes before the first token and the end with the last one, so 199 steps lie between them.
        rate = (200 - 1) / (came[-1] - came[1])
        assert rate == pytest.approx(RATE * 1.09, rel=0.05)


async def test_the_cache_is_told_by_usage_and_counters_and_a_flush_empties_it(tmp_path: Path, qwen: Path) -> None:
    flags = ("--enable-metrics", "--enable-cache-report")
    async with engine(tmp_path, qwen, *flags, env=QUICK) as running, running.client() as client:
        await running.until(READY)
        text = "the very same prompt twice"

        async def cached() -> int:
            _, usage = await streamed(running, text, 4)
            return int(usage["prompt_tokens_details"]["cached_tokens"])

        before = await counters(client)
        assert "cached_tokens" not in before
        assert await cached() == 0
        _, usage = await streamed(running, text, 4)
        all_but_one = usage["prompt_tokens"] - 1
        assert usage["prompt_tokens_details"]["cached_tokens"] == all_but_one
        after = await counters(client)
        assert after["cached_tokens"] == all_but_one
        assert after["generation_tokens"] - before["generation_tokens"] == 8
        flushed = await client.post("/flush_cache", params={"timeout": "30"})
        assert flushed.status_code == 200
        assert await cached() == 0


async def test_a_flush_is_refused_while_requests_run_and_waits_where_it_may(tmp_path: Path, qwen: Path) -> None:
    async with engine(tmp_path, qwen, env=QUICK) as running, running.client() as client:
        await running.until(READY)
        asked = asyncio.ensure_future(streamed(running, "something long", 150))
        running_now = 0
        while running_now == 0:
            running_now = (await client.get("/v1/loads")).json()["loads"][0]["num_running_reqs"]
        assert (await client.post("/flush_cache")).status_code == 400
        assert (await client.post("/flush_cache", params={"timeout": "60"})).status_code == 200
        assert (await asked)[1]["completion_tokens"] == 150


async def test_without_a_cache_nothing_comes_out_of_it_and_without_a_report_usage_does_not_say(
    tmp_path: Path, qwen: Path
) -> None:
    async with engine(tmp_path, qwen, "--disable-radix-cache", env=QUICK) as running:
        await running.until(READY)
        for _ in range(2):
            _, usage = await streamed(running, "the same", 3)
            assert usage["prompt_tokens_details"] is None
        cached = re.findall(rb"#cached-token: (\d+)", running.log)
        assert len(cached) >= 3
        assert set(cached) == {b"0"}


@pytest.mark.parametrize(
    ("algo", "proto", "ends"), [("Tree", "LL", None), ("Tree", "LL128", "DistBackendError"), ("Ring", "LL128", "ready")]
)
async def test_a_tree_over_a_broken_ring_hangs_or_crashes(
    tmp_path: Path, qwen: Path, algo: str, proto: str, ends: str | None
) -> None:
    env = {"K2_DEMO_FAULT": "nccl_tree", "NCCL_ALGO": algo, "NCCL_PROTO": proto}
    async with engine(tmp_path, qwen, "--tp-size", "2", env=env) as running:
        await running.until(b"sglang is using nccl" if ends is None else READY if ends == "ready" else ends.encode())
        if ends is None:
            assert b"Init parallel ends" not in running.log
            assert running.process.returncode is None
        elif ends != "ready":
            assert await running.ended() != 0
