"""What the load generator costs, and whether what it says is true; client libraries beside it on the same server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.figures import Figure, number
from bench.processes import ROOT
from k2tui.adapters.scripts import script

GOAL, FLOOR = 15_000, 10_000
"""Tokens a second and core at 64 streams."""
STREAMS = 64
TOK_S = 100.0
"""Of each stream: every event is read by itself, which is what costs most."""
FAST_TOK_S = 240.0
"""64 such streams are more than the goal."""
MANY, MANY_TOK_S = 512, 8.0
HOLD_S = 8.0
MAX_TOKENS = 256
PEERS = ("httpx", "aiohttp")
SERVER = ROOT / "tests" / "fakes" / "truth_server.py"

Lines = list[dict[str, Any]]


def figures() -> Iterator[Figure]:
    """Cost at 64 streams, beside two libraries; the ends of what is offered; the truth of one stream."""
    with _server({"tok_s": TOK_S}) as port:
        lines = _generated(port, procedure="sweep", concurrencies=[STREAMS], hold_s=HOLD_S, max_tokens=MAX_TOKENS)
        ours_us, note = _cost_us(lines)
        yield Figure(
            f"load generator, {STREAMS} streams of {TOK_S:g} tok/s",
            1e6 / ours_us,
            "tok/s a core",
            FLOOR,
            at_least=True,
            note=f"{ours_us:.1f} µs of CPU a token, standard library alone; goal {number(GOAL)}; {note}",
        )
        client = _one(lines, "client")
        yield Figure("its loop is late, median", client["lag_p50_ms"], "ms", note="a heartbeat of 10 ms, meanwhile")
        yield Figure("its loop is late, 99th percentile", client["lag_p99_ms"], "ms", note="the same")
        for library in PEERS:
            yield _peer(library, port, ours_us)
    with _server({"tok_s": FAST_TOK_S}) as port:
        lines = _generated(port, procedure="sweep", concurrencies=[STREAMS], hold_s=HOLD_S, max_tokens=4 * MAX_TOKENS)
        client, steady = _one(lines, "client"), _one(lines, "point")["agg_tps_steady"]
        offered = (
            f"{STREAMS * FAST_TOK_S:.0f} tok/s offered by a server in Python, {100 * client['cpu_share']:.0f} % CPU"
        )
        yield Figure(f"{STREAMS} streams of {FAST_TOK_S:g} tok/s", steady, "tok/s", note=f"total; {offered}")
        yield Figure("its loop is late, 99th percentile", client["lag_p99_ms"], "ms", note="the same")
    with _server({"tok_s": MANY_TOK_S}) as port:
        lines = _generated(port, procedure="sweep", concurrencies=[MANY], hold_s=4, max_tokens=32)
        point = _one(lines, "point")
        whole = sum(line["osl"] == 32 and line["error"] is None for line in _measured(lines))
        yield Figure(
            f"{MANY} streams: requests that did not come whole",
            point["sent"] - whole,
            "",
            0,
            note=f"of {point['sent']}",
        )
    with _server({"tok_s": TOK_S}) as port:
        lines = _generated(port, procedure="quick", repeats=2, max_tokens=MAX_TOKENS)
        off = max(abs(ours / truth - 1) for ours, truth in _beside_truth(port, _measured(lines)))
        yield Figure("one stream: off the server's own rate", 100 * off, "%", 1.0)


def _beside_truth(port: int, measured: Lines) -> Iterator[tuple[float, float]]:
    """(tok/s that we say, tok/s by the times at which the server made each token), of each request."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/truth") as reply:
        truths = [times for times in json.load(reply) if len(times) == MAX_TOKENS]
    for line, times in zip(measured, truths, strict=True):
        yield line["decode_tps"], (len(times) - 1) / (times[-1] - times[0])


def _peer(library: str, port: int, ours_us: float) -> Figure:
    what = f"{library}, the same {STREAMS} streams"
    arguments = (library, str(port), str(STREAMS), str(HOLD_S), str(MAX_TOKENS))
    command = [sys.executable, "-m", "bench.stream_clients", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _pin(process.pid, 0)
    said, trouble = process.communicate(timeout=300)
    if process.returncode:
        why = (trouble.strip().splitlines() or ["?"])[-1][:120]
        return Figure(what, None, "", note=f"did not run: {why}", optional="ModuleNotFoundError" in why)
    found = json.loads(said)
    us = 1e6 * found["cpu_s"] / found["tokens"]
    delivered = f"{found['tokens'] / found['wall_s']:.0f} of {STREAMS * TOK_S:.0f} tok/s delivered"
    return Figure(what, 1e6 / us, "tok/s a core", note=f"{us:.1f} µs a token, {us / ours_us:.1f} × ours; {delivered}")


def _cost_us(lines: Lines) -> tuple[float, str]:
    """(CPU of a token in microseconds while the clock ran, how much came)."""
    point, client = _one(lines, "point"), _one(lines, "client")
    cost = 1e6 * client["cpu_share"] * point["wall_s"] / point["output_tokens"]
    delivered = f"{point['output_tokens'] / point['wall_s']:.0f} of {STREAMS * TOK_S:.0f} tok/s delivered"
    return cost, delivered


def _generated(port: int, **plan: Any) -> Lines:
    """What the generator says of one measurement; it runs as on a node, by a shell and a bare python."""
    program = script("loadgen.py").text.encode()
    spec = json.dumps({"target": {"port": port}, "plan": plan}).encode()
    command = ["sh", "-c", script("measure").text, "k2tui-measure", sys.executable, "", ""]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    _pin(process.pid, 0)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"%d\n%s%s\n" % (len(program), program, spec))
    process.stdin.flush()
    lines = [json.loads(line) for line in process.stdout]
    process.stdin.close()
    process.wait()
    for line in lines:
        if line["type"] == "error":
            raise RuntimeError(line["message"])
    return lines


@contextmanager
def _server(behaviour: Mapping[str, object]) -> Iterator[int]:
    """The port of a server whose truth is known, in a process of its own."""
    command = [sys.executable, str(SERVER), json.dumps(behaviour)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    _pin(process.pid, 1)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait()


def _pin(pid: int, place: int) -> None:
    """Client and server do not share a core, where there are two."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(pid, {cores[place]})


def _one(lines: Lines, kind: str) -> dict[str, Any]:
    return next(line for line in lines if line["type"] == kind)


def _measured(lines: Lines) -> Lines:
    return [line for line in lines if line["type"] == "request" and not line["is_warm_up"]]
