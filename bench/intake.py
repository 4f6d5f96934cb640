"""How many lines a second of CPU the log intake takes: what busy servers print, and noise that it does not know."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.figures import Figure

LIMIT_LINES_PER_CPU_S = 150_000
LINES = 200_000
CHUNK_BYTES = 64 << 10


def busy_server(lines: int) -> bytes:
    """Decode and prefill heartbeats and access lines, as SGLang 0.5 prints them."""
    kinds = (
        "[2026-11-02 10:00:{s:02} TP0] Decode batch, #running-req: {r}, #token: {t}, token usage: 0.31, "
        "cuda graph: True, gen throughput (token/s): 90.1{d}, #queue-req: 0",
        "[2026-11-02 10:00:{s:02} TP0] Prefill batch, #new-seq: 1, #new-token: {t}, #cached-token: 0, "
        "token usage: 0.31, #running-req: {r}, #queue-req: 0",
        '[2026-11-02 10:00:{s:02}] INFO:     10.0.0.7:4{t:04} - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    )
    made = (kinds[n % 3].format(s=n // 2000 % 60, r=n % 32, t=n % 9000, d=n % 10) for n in range(lines))
    return ("\n".join(made) + "\n").encode()


def unknown_noise(lines: int) -> bytes:
    """Lines of a library that no rule knows."""
    made = (
        f"[2026-11-02 10:00:{n // 2000 % 60:02} TP{n % 8}] layer {n % 61} expert {n % 384} moved" for n in range(lines)
    )
    return ("\n".join(made) + "\n").encode()


def figures() -> Iterator[Figure]:
    """Both kinds of line."""
    for name, data in (("a busy server", busy_server(LINES)), ("unknown lines", unknown_noise(LINES))):
        rate = max(_rate(data) for _ in range(3))
        yield Figure(f"log intake, {name}", rate, "lines/CPU-s", LIMIT_LINES_PER_CPU_S, at_least=True)


def _rate(data: bytes) -> float:
    from k2tui.core.intake import LogIntake

    intake = LogIntake()
    began = time.process_time()
    for start in range(0, len(data), CHUNK_BYTES):
        intake.feed(data[start : start + CHUNK_BYTES], 0.0)
    taken = time.process_time() - began
    if intake.lines_seen != LINES:
        raise RuntimeError(f"{intake.lines_seen} lines of {LINES} were seen")
    return LINES / taken
