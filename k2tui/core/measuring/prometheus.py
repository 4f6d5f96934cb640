"""Prometheus text, read only where its name is asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

MOST_BYTES = 8 << 20
"""Of one answer; what comes after it is not read. A real server's is 60 to 120 KB."""
MOST_SAMPLES = 20_000
"""Of the names that are asked for, in one answer."""

_PREFIX = r"(?:sglang|vllm)[:_]"
_LABELS = r'(?:\{((?:[^"{}\n]|"(?:[^"\\\n]|\\.)*")*)\})?'
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\\n]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: what it is of, and its value, which is finite."""

    labels: Mapping[str, str]
    value: float


Samples = Mapping[str, tuple[Sample, ...]]
"""By the metric's name without the engine's prefix; a name that was not seen is missing."""


class MetricsReader:
    """Reads the metrics of some names out of a long text; made once, since a pattern is compiled from them.

    The format: https://prometheus.io/docs/instrumenting/exposition_formats. Both engines write `ENGINE:NAME`; a
    collector between may have made `ENGINE_NAME` of it.
    """

    def __init__(self, names: Iterable[str]) -> None:
        words = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
        self._line = re.compile(rf"\n{_PREFIX}({words}){_LABELS} ([^ \n]+)")

    def read(self, body: bytes) -> Samples:
        """The samples of the names. Never raises: what can't be read, is NaN or has no end is left out."""
        text = "\n" + body[:MOST_BYTES].decode("utf-8", "replace")
        found: dict[str, list[Sample]] = {}
        for count, line in enumerate(self._line.finditer(text)):
            if count >= MOST_SAMPLES:
                break
            name, labels, written = line.groups()
            value = _number(written)
            if value is not None:
                found.setdefault(name, []).append(Sample(_labels(labels or ""), value))
        return {name: tuple(samples) for name, samples in found.items()}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@lru_cache(maxsize=8192)
def _labels(text: str) -> Mapping[str, str]:
    """Label texts are the same at every look: each is taken apart once."""
    return dict(_LABEL.findall(text[:4096]))
