"""How fast the simulated model is: what its configuration, its start and its streams make of it.

The figures are the demo's own truth, so that a comparison can be told right from wrong: NCCL_PROTO=LL gives 9 % more
tok/s of one stream than Simple, LL128 4 %; NCCL_ALGO=Tree takes 3 %, and no CUDA graphs 38 %.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TOKENS_PER_S = 60.0
"""Of one stream at pace 1, where nothing makes it faster or slower."""
PREFILL_TOKENS_PER_S = 9000.0
SATURATION = 32
"""All streams together come to no more than so many times the rate of one."""
_PROTO: Mapping[str, float] = {"LL": 1.09, "LL128": 1.04}
_ALGO: Mapping[str, float] = {"Tree": 0.97}
_NO_GRAPHS = 0.62
_START_CV = 0.01
_START_MOST = 0.02
_REQUEST_CV = 0.004


def configured(env: Mapping[str, str], *, graphs: bool) -> float:
    """What a configuration makes of the rate: 1.0 is NCCL_PROTO=Simple with CUDA graphs."""
    return (
        _PROTO.get(env.get("NCCL_PROTO", ""), 1.0)
        * _ALGO.get(env.get("NCCL_ALGO", ""), 1.0)
        * (1.0 if graphs else _NO_GRAPHS)
    )


def start_number(node: Path | None) -> int:
    """How many engines were started on this node before; this one counts from now on. 0 where there is no node."""
    if node is None or not node.is_dir():
        return 0
    file = os.open(node / "starts", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(file, b".")
        return os.fstat(file).st_size
    finally:
        os.close(file)


@dataclass
class Speed:
    """Of one engine, from its start to its end."""

    rate: float = TOKENS_PER_S
    """Tokens a second of a stream that is alone."""
    prefill_rate: float = PREFILL_TOKENS_PER_S
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    _of_request: float = 1.0

    @classmethod
    def of(cls, rate: float, configuration: float, *, pace: float, node: Path | None) -> Speed:
        """`rate`: tok/s as the demo was told; each start is a little faster or slower, the same ones each time."""
        number = start_number(node)
        chance = random.Random(f"{'' if node is None else node.name} {number}")
        luck = max(-_START_MOST, min(_START_MOST, chance.gauss(0.0, _START_CV))) if number else 0.0
        return cls(rate * configuration * (1.0 + luck), PREFILL_TOKENS_PER_S / max(pace, 1e-6), chance)

    def another_request(self) -> None:
        """Each request is a little faster or slower too."""
        self._of_request = 1.0 + self.chance.gauss(0.0, _REQUEST_CV)

    def step_s(self, streams: int) -> float:
        """Seconds of one decode step: a token for each of so many streams."""
        return (1.0 + (max(1, streams) - 1) / SATURATION) / (self.rate * self._of_request)

    def prefill_s(self, tokens: int) -> float:
        """Seconds that so many prompt tokens take."""
        return tokens / self.prefill_rate
