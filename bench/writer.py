"""A busy server's log: `writer.py PATH LINES_PER_S SECONDS` appends at that pace, in bursts of ten milliseconds."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from bench.intake import busy_server

BURSTS_PER_S = 100


def main() -> None:
    """Write; a late burst is made up for, so that the pace holds on a busy machine."""
    path, lines_per_s, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    burst = busy_server(lines_per_s // BURSTS_PER_S)
    began, written = time.monotonic(), 0
    with path.open("ab", buffering=0) as log:
        while (elapsed := time.monotonic() - began) < seconds:
            due = int(elapsed * BURSTS_PER_S) - written
            if due > 0:
                log.write(burst * due)
                written += due
            time.sleep(1 / BURSTS_PER_S)
    print(written * (lines_per_s // BURSTS_PER_S))


if __name__ == "__main__":
    main()
