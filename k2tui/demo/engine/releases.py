"""The SGLang releases whose flags and formats the engine can play."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Release:
    """One release of SGLang, as far as its log and flags differ."""

    version: str
    prog: str
    """What argparse calls the program in its errors."""
    spec_name: str
    """The file beside this module with the release's flags and resolved server arguments."""
    classic: bool
    """The 0.5.9 family: newline bars, `Init torch distributed`, `ServerArgs(...)`; else the 0.5.10+ family."""
    nccl: str
    site: str = "/opt/sglang/lib/python3.11/site-packages/sglang"
    """Where its files lie, in warnings and tracebacks."""

    def spec(self) -> Mapping[str, Any]:
        """`flags` (rows for argparse) and `server_args` (name to value on a CUDA machine, in the log's order)."""
        text = resources.files("k2tui.demo.engine").joinpath(self.spec_name).read_text(encoding="utf-8")
        return json.loads(text)  # type: ignore[no-any-return]


CURRENT = Release("0.5.23", "sglang serve", "sglang_0_5_23.json", classic=False, nccl="2.29.7")
CLASSIC = Release("0.5.9", "launch_server.py", "sglang_0_5_9.json", classic=True, nccl="2.27.5")
RELEASES: Mapping[str, Release] = {release.version: release for release in (CURRENT, CLASSIC)}
