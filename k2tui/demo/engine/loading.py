"""From the accepted arguments to the last line before the HTTP port: what SGLang prints, at a believable pace."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from k2tui.demo.engine.bars import Bar
from k2tui.demo.engine.checkpoint import Checkpoint, read_shard
from k2tui.demo.engine.console import Console
from k2tui.demo.engine.gpus import Gpus
from k2tui.demo.engine.knobs import FaultKind, Knobs
from k2tui.demo.engine.options import Options
from k2tui.demo.engine.tracebacks import nccl_failure, no_kv_memory, out_of_memory
from k2tui.demo.engine.words import BENIGN, CLASSIC_LOAD_LABEL, LOAD_LABEL, NO_PREFILL_GRAPH, NOFILE, Words

# Pauses in seconds at pace 1; together about ten for a model of 64 shards.
IMPORT_S, SPAWN_S, INIT_S, WEIGHTS_S, POSTPROCESS_S, POOL_S, GRAPH_S = 0.5, 1.2, 0.7, 3.6, 1.4, 0.4, 1.4
GPU_GB = 139.13
"""What PyTorch sees free on an H200 (real log)."""
CONTEXT_GB = 0.79
"""What the CUDA contexts and NCCL take at TP8."""
GRAPH_GB = 0.62
LEAST_TOKENS = 4096


class SchedulerFailed(Exception):
    """A rank's scheduler raised; the text is all of its traceback after the head line."""

    def __init__(self, rank: int, traceback: str) -> None:
        super().__init__(f"rank {rank}")
        self.rank, self.traceback = rank, traceback


@dataclass
class Loaded:
    """What a finished load knows."""

    tokens: int = 0
    """Capacity of the KV cache."""
    kv_gb: float = 0.0
    weights_gb: float = 0.0
    """A GPU's share."""
    available_gb: float = GPU_GB
    load_s: float = 0.0
    pool_s: float = 0.0
    prefill_graph_s: float = 0.0
    decode_graph_s: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def startup_time(self) -> dict[str, Any]:
        """In the shape of /server_info."""
        graphs = {"prefill": self.prefill_graph_s, "decode": self.decode_graph_s}
        others = ("target_verify", "draft_prefill", "draft_decode", "draft_extend")
        return {
            "load_weight": self.load_s,
            "kv_cache_allocation": self.pool_s,
            "scheduler_e2e": time.monotonic() - self.began,
            "cuda_graph": {**graphs, **dict.fromkeys(others, 0.0)},
            "tokenizer_e2e": time.monotonic() - self.began,
        }


@dataclass
class Loader:
    """Loads one server."""

    options: Options
    checkpoint: Checkpoint
    console: Console
    gpus: Gpus
    knobs: Knobs
    on_ranks: Callable[[], object]
    """Called when the ranks' processes begin."""
    loaded: Loaded = field(default_factory=Loaded)

    def __post_init__(self) -> None:
        self.words = Words(self.options.release)
        self.chance = random.Random(self.options.launch_command)

    async def run(self) -> Loaded:
        """Everything up to `Engine startup timings`. SchedulerFailed where a rank raises."""
        await self._arguments()
        await self._join()
        await self._weights()
        await self._pools()
        await self._graphs()
        await self._capacity()
        return self.loaded

    async def pause(self, seconds: float) -> None:
        """Seconds of the demo's pace."""
        await asyncio.sleep(seconds * self.knobs.pace)

    async def stall(self, phase: str) -> None:
        """For ever, when the fault says so."""
        if self.knobs.has(FaultKind.STALL, phase):
            self.gpus.settle()
            await asyncio.Event().wait()

    def shuffled(self) -> list[int]:
        """The ranks in another order each time."""
        ranks = list(range(self.console.ranks))
        self.chance.shuffle(ranks)
        return ranks

    async def each_rank(self, *messages: str) -> None:
        """The same lines from every rank, in no fixed order."""
        for rank in self.shuffled():
            for message in messages:
                self.console.log(message, rank)
            await self.pause(self.chance.uniform(0, 0.01))

    async def _arguments(self) -> None:
        await self.pause(IMPORT_S)
        self.console.log(NOFILE)
        self.console.log(self.words.server_args(self.options.server_args))
        await self.pause(IMPORT_S / 5)
        parser = "kimi_k2" if self.checkpoint.is_kimi else "qwen3"
        for line in self.words.template_lines(parser, "kimi_k2" if self.checkpoint.is_kimi else "qwen"):
            self.console.log(line)

    async def _join(self) -> None:
        await self.pause(SPAWN_S)
        self.on_ranks()
        self.gpus.show(used_gb=0.5)
        await self.each_rank(self.words.init_begin())
        began = time.monotonic()
        if self.console.ranks > 1:
            self.console.log(self.words.nccl(), 0)
        await self._nccl()
        await self.pause(INIT_S)
        await self.each_rank(*self.words.init_end(time.monotonic() - began, CONTEXT_GB))
        await self.each_rank(BENIGN)

    async def _nccl(self) -> None:
        """Where the ring of the ranks can't be made: silence, or a failed CUDA call."""
        if self.console.ranks == 1 or not self.knobs.has(FaultKind.NCCL_TREE) or os.environ.get("NCCL_ALGO") != "Tree":
            return
        if os.environ.get("NCCL_PROTO") == "LL128":
            raise SchedulerFailed(0, nccl_failure(self.options.release))
        self.gpus.settle()
        await asyncio.Event().wait()

    async def _weights(self) -> None:
        share = self.checkpoint.played_weights_gb / self.console.ranks
        before = GPU_GB - CONTEXT_GB
        *first, late = self.shuffled()
        for rank in first:
            self.console.log(self.words.load_begin(before), rank)
        began = time.monotonic()
        await self._shards(share, late, before)
        await self.stall("postprocess")
        ranks = self.shuffled()
        for place, rank in enumerate(ranks):
            # The bar is at 100 %, and one rank after the other is through with repacking.
            await self.pause(POSTPROCESS_S * (0.5 if place == 0 else 0.5 / max(1, len(ranks) - 1)))
            seconds = time.monotonic() - began
            quant = self.checkpoint.quantization
            line = self.words.load_end(seconds, self.checkpoint.architecture, quant, before - share, share)
            self.console.log(line, rank)
        self.loaded.load_s = time.monotonic() - began
        self.loaded.weights_gb, self.loaded.available_gb = share, before - share

    async def _shards(self, share_gb: float, late: int, before_gb: float) -> None:
        """Read each file; the bar is rank 0's, and the last rank to begin writes into it."""
        total = len(self.checkpoint.shards)
        label = CLASSIC_LOAD_LABEL if self.words.classic else LOAD_LABEL
        bar = Bar(total, self.console.raw, label=label, shards=True, newline=self.words.classic)
        self.console.log(self.words.load_begin(before_gb), late)
        for done, path in enumerate(self.checkpoint.shards, start=1):
            await self.pause(WEIGHTS_S / total * self.chance.uniform(0.6, 1.4))
            self._fail_in_weights(done, total, share_gb)
            if done > total // 2:
                await self.stall("weights")
            read_shard(path)
            bar.step()
            self.gpus.show(used_gb=CONTEXT_GB + share_gb * done / total, busy=3)
        bar.close()

    def _fail_in_weights(self, done: int, total: int, share_gb: float) -> None:
        fault = self.knobs.fault
        asked = fault is not None and fault.kind is FaultKind.OOM
        if (asked and done > total * 2 // 3) or CONTEXT_GB + share_gb * done / total > GPU_GB:
            rank = min(int((fault and fault.where) or 0), self.console.ranks - 1)
            self.gpus.show(used_gb=GPU_GB, rank=rank)
            raise SchedulerFailed(rank, out_of_memory(self.options.release, rank))

    async def _pools(self) -> None:
        began = time.monotonic()
        await self.pause(POOL_S)
        fraction = float(self.options["mem_fraction_static"] or 0.859)
        room = GPU_GB * fraction - CONTEXT_GB - self.loaded.weights_gb
        tokens = int(room * 1024**3 / self._bytes_per_token())
        if self.knobs.has(FaultKind.NO_KV_MEMORY) or tokens < LEAST_TOKENS:
            least = 1 - self.loaded.available_gb / GPU_GB
            raise SchedulerFailed(0, no_kv_memory(self.options.release, fraction, least))
        asked = self.options["max_total_tokens"]
        tokens = min(tokens, int(asked)) if asked else tokens
        size = tokens * self._bytes_per_token() / 1024**3
        self.loaded.available_gb -= size
        pool = self.words.pool_end(self.loaded.available_gb)
        await self.each_rank(*self.words.kv_cache(tokens, size, latent=self.checkpoint.is_kimi), pool)
        self.loaded.tokens, self.loaded.kv_gb = tokens, size
        self.loaded.pool_s = time.monotonic() - began
        self.gpus.show(used_gb=CONTEXT_GB + self.loaded.weights_gb + size, busy=0)

    def _bytes_per_token(self) -> float:
        """On one GPU: Kimi's latent of 576 values a layer is on each, heads are spread over the ranks."""
        layers = int(self.checkpoint.config["num_hidden_layers"])
        return layers * 576 * 2 if self.checkpoint.is_kimi else layers * 2 * 1024 * 2 / self.console.ranks

    async def _graphs(self) -> None:
        if self.options.prefill_graphs:
            self.loaded.prefill_graph_s = await self._prefill_graphs()
        elif not self.words.classic:
            await self.each_rank(NO_PREFILL_GRAPH)
        if self.options.decode_graphs:
            self.loaded.decode_graph_s = await self._decode_graphs()

    async def _prefill_graphs(self) -> float:
        shapes = self.options.prefill_shapes
        began, before = time.monotonic(), self.loaded.available_gb
        await self.each_rank(self.words.prefill_graph_begin(shapes, before))
        bar = Bar(len(shapes), self.console.raw)
        for done, shape in enumerate(reversed(shapes), start=1):
            left = before - 0.2 * done / len(shapes)
            bar.describe(f"Capturing prefill shape (num_tokens={shape} avail_mem={left:.2f} GB)")
            await self.pause(GRAPH_S / 3 / len(shapes))
            bar.step()
        bar.close()
        self.loaded.available_gb = before - 0.2
        seconds = time.monotonic() - began
        await self.each_rank(self.words.prefill_graph_end(seconds, 0.2, self.loaded.available_gb))
        return seconds

    async def _decode_graphs(self) -> float:
        sizes = self.options.decode_sizes
        began, before = time.monotonic(), self.loaded.available_gb
        await self.each_rank(self.words.decode_graph_begin(before))
        bar = Bar(len(sizes), self.console.raw)
        for done, size in enumerate(reversed(sizes), start=1):
            left = before - GRAPH_GB * done / len(sizes)
            bar.describe(f"Capturing batches (bs={size} avail_mem={left:.2f} GB)")
            if done > len(sizes) // 3:
                await self.stall("cuda_graph")
            await self.pause(GRAPH_S * 2 / 3 / len(sizes))
            bar.step()
            self.gpus.show(busy=45)
        bar.close()
        self.loaded.available_gb = before - GRAPH_GB
        seconds = time.monotonic() - began
        await self.each_rank(self.words.decode_graph_end(sizes, seconds, GRAPH_GB, self.loaded.available_gb))
        self.gpus.show(busy=0)
        return seconds

    async def _capacity(self) -> None:
        await self.pause(0.1)
        context = int(self.options["context_length"] or self.checkpoint.context_length)
        chunked = int(self.options["chunked_prefill_size"] or 8192)
        most_prefill = int(self.options["max_prefill_tokens"] or 16384)
        running = int(self.options["max_running_requests"] or min(4096, max(1, self.loaded.tokens // 512)))
        available = self.loaded.available_gb
        self.console.log(self.words.capacity(self.loaded.tokens, chunked, most_prefill, running, context, available), 0)
        if self.words.tree_cache():
            await self.each_rank(*self.words.tree_cache())
        for line in self.words.timings(self.loaded.startup_time()):
            self.console.log(line)
