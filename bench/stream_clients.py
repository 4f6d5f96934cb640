"""What a client library costs to read the same streams as the load generator does.

`python -m bench.stream_clients LIBRARY PORT STREAMS SECONDS MAX_TOKENS` prints JSON. Each library is used as its
documentation shows: lines, json.loads, the server's own count of tokens.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from time import perf_counter, process_time

PATH = "/v1/chat/completions"

Stream = Callable[[dict[str, object]], AbstractAsyncContextManager[AsyncIterator[str]]]


@asynccontextmanager
async def with_httpx(base: str, streams: int) -> AsyncIterator[Stream]:
    import httpx

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=streams), timeout=None) as client:

        @asynccontextmanager
        async def stream(body: dict[str, object]) -> AsyncIterator[AsyncIterator[str]]:
            async with client.stream("POST", f"{base}{PATH}", json=body) as response:
                yield response.aiter_lines()

        yield stream


@asynccontextmanager
async def with_aiohttp(base: str, streams: int) -> AsyncIterator[Stream]:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=streams)) as session:

        @asynccontextmanager
        async def stream(body: dict[str, object]) -> AsyncIterator[AsyncIterator[str]]:
            async with session.post(f"{base}{PATH}", json=body) as response:
                yield (line.decode() async for line in response.content)

        yield stream


LIBRARIES = {"httpx": with_httpx, "aiohttp": with_aiohttp}


async def one(stream: Stream, number: int, max_tokens: int) -> int:
    """Tokens of one answer, as the server counts them."""
    options = {"include_usage": True, "continuous_usage_stats": True}
    messages = [{"role": "user", "content": f"{number}"}]
    body = {"model": "truth", "messages": messages, "stream": True, "stream_options": options, "max_tokens": max_tokens}
    counted, arrived = 0, []
    async with stream(body) as lines:
        async for line in lines:
            if not line.startswith("data: ") or line.startswith("data: [DONE]"):
                continue
            document = json.loads(line[6:])
            arrived.append(perf_counter())
            counted = document["usage"]["completion_tokens"] if document["usage"] else counted
    return counted


async def measured(library: str, base: str, streams: int, seconds: float, max_tokens: int) -> dict[str, float]:
    """CPU and tokens of all streams, each of which is followed by the next until the time is over."""
    async with LIBRARIES[library](base, streams) as stream:
        await asyncio.gather(*(one(stream, -number, 2) for number in range(streams)))  # connections are open
        began_at, cpu_s = perf_counter(), process_time()

        async def place(number: int) -> int:
            made = 0
            while perf_counter() - began_at < seconds:
                made += await one(stream, number, max_tokens)
            return made

        tokens = sum(await asyncio.gather(*map(place, range(streams))))
        return {"cpu_s": process_time() - cpu_s, "wall_s": perf_counter() - began_at, "tokens": tokens}


if __name__ == "__main__":
    name, port, count, hold_s, most = sys.argv[1:]
    print(json.dumps(asyncio.run(measured(name, f"http://127.0.0.1:{port}", int(count), float(hold_s), int(most)))))
