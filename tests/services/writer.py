"""Writes LINES log lines to PATH, about RATE a second: progress bars, bytes that are no UTF-8, NULs.

Usage: python writer.py PATH LINES RATE. The lines depend on nothing but their number.
"""

from __future__ import annotations

import random
import sys
import time


def sample(count: int = 997) -> list[bytes]:
    """Lines of a busy server, each with something nasty in it."""
    chance = random.Random(7)
    lines = []
    for number in range(count):
        head = b"[2026-11-29 12:00:%02d TP0] Decode batch, #running-req: %d, #token: 123456, token usage: 0.51, "
        nasty = bytes(chance.randrange(256) for _ in range(40)).replace(b"\n", b"")
        bar = b"\rLoading safetensors checkpoint shards:  51%\r" if number % 7 == 0 else b""
        lines.append(head % (number % 60, number) + nasty + bar + b"\n")
    return lines


def main(path: str, lines: int, rate: int) -> None:
    texts = sample()
    begin, done = time.monotonic(), 0
    with open(path, "ab", buffering=0) as file:
        while done < lines:
            count = min(max(1, rate // 50), lines - done)
            file.write(b"".join(texts[(done + number) % len(texts)] for number in range(count)))
            done += count
            time.sleep(max(0.0, begin + done / rate - time.monotonic()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
