"""How the GPUs of a server do while it is measured: clocks, power, heat, and what holds them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from k2tui.core.benching.result import GpuSample
from k2tui.core.gpu_words import throttle_reasons
from k2tui.core.readings import GpuReading

IDLE = "idle"
"""The one reason for low clocks that is none."""


@dataclass(frozen=True, slots=True)
class GpuLook:
    """The newest figures of the GPUs that a server has."""

    at: float
    """time.monotonic at which they came."""
    gpus: Sequence[GpuReading]


class GpuSampler:
    """Gathers what the node's probe says between the measurement's first figure and its last."""

    def __init__(self, newest: Callable[[], GpuLook | None]) -> None:
        """`newest`: None where nobody can say."""
        self._newest = newest
        self._since: float | None = None
        self._seen: float | None = None
        self._samples: list[GpuSample] = []

    @property
    def samples(self) -> tuple[GpuSample, ...]:
        """All that was gathered, in order."""
        return tuple(self._samples)

    def begin(self, now: float) -> None:
        """The server works from now on: what the probe saw before does not count."""
        if self._since is None:
            self._since = now

    def end(self) -> None:
        """It does not work for us any more."""
        self._newest = _nothing

    def look(self, began: float) -> None:
        """Take what is new; `began` is time.monotonic of the run's start."""
        look = self._newest() if self._since is not None else None
        if look is None or self._since is None or look.at <= self._since or look.at == self._seen:
            return
        self._seen = look.at
        self._samples += (_sample(gpu, look.at - began) for gpu in look.gpus)


def _sample(gpu: GpuReading, at_s: float) -> GpuSample:
    reasons = throttle_reasons(gpu.throttle_mask)
    return GpuSample(
        at_s=round(at_s, 3),
        gpu=gpu.index,
        clock_mhz=gpu.sm_clock_mhz,
        power_w=gpu.power_w,
        temp_c=gpu.temperature_c,
        held_back=tuple(reason.word for reason in reasons if reason.word != IDLE),
    )


def _nothing() -> None:
    return None
