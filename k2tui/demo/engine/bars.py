"""tqdm's bytes: carriage returns, redraws that leave out what came too fast, smoothed rates."""

from __future__ import annotations

import time
from collections.abc import Callable

_BLOCKS = " ▏▎▍▌▋▊▉█"
_WIDTH = 10
_SMOOTHING = 0.3
MIN_INTERVAL_S = 0.1
"""A step sooner after the last drawing is not drawn."""


class Bar:
    """One progress bar, drawn as tqdm draws it into a file."""

    def __init__(
        self,
        total: int,
        write: Callable[[str], object],
        *,
        label: str = "",
        shards: bool = False,
        newline: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`shards`: SGLang's own format, `51% Completed | 33/64`; `newline`: each drawing ends its line (0.5.9)."""
        self.total, self.done, self.label = total, 0, label
        self._write, self._shards, self._newline, self._clock = write, shards, newline, clock
        self._began = self._drawn_at = clock()
        self._drawn_done = 0
        self._width = 0
        self._steps, self._seconds = _Average(), _Average()
        self._closed = False
        self._draw()

    def describe(self, label: str) -> None:
        """Another label; always drawn at once."""
        self.label = label
        self._draw()

    def step(self, count: int = 1) -> None:
        """So many more are done; drawn unless the last drawing was just now."""
        self.done += count
        now = self._clock()
        if now - self._drawn_at < MIN_INTERVAL_S:
            return
        self._steps.add(self.done - self._drawn_done)
        self._seconds.add(now - self._drawn_at)
        self._draw()
        self._drawn_at, self._drawn_done = self._clock(), self.done

    def close(self) -> None:
        """The last drawing, with the mean rate, and the end of the line."""
        if self._closed:
            return
        self._closed = True
        self._steps, self._seconds = _Average(), _Average()
        self._draw()
        self._write("\n")

    def _draw(self) -> None:
        text = self._text() + ("\n" if self._newline else "")
        self._write("\r" + text + " " * (self._width - len(text)))
        self._width = len(text)

    def _text(self) -> str:
        elapsed = self._clock() - self._began
        seconds = self._seconds.value
        rate = self._steps.value / seconds if seconds else self.done / elapsed if elapsed and self.done else 0.0
        left = clock_text((self.total - self.done) / rate) if rate else "?"
        speed = f"{rate:5.2f}it/s" if rate >= 1 else f"{1 / rate:5.2f}s/it" if rate else "?it/s"
        fraction = self.done / self.total
        head = f"{self.label}: " if self.label else ""
        bar = " Completed | " if self._shards else f"|{_drawn(fraction)}| "
        return f"{head}{fraction * 100:3.0f}%{bar}{self.done}/{self.total} [{clock_text(elapsed)}<{left}, {speed}]"


class _Average:
    """tqdm's exponential moving average."""

    def __init__(self) -> None:
        self._last, self._count = 0.0, 0

    def add(self, value: float) -> None:
        self._last = _SMOOTHING * value + (1 - _SMOOTHING) * self._last
        self._count += 1

    @property
    def value(self) -> float:
        return self._last / (1 - (1 - _SMOOTHING) ** self._count) if self._count else 0.0


def clock_text(seconds: float) -> str:
    """`03:28`, or `1:02:03` from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def _drawn(fraction: float) -> str:
    whole, part = divmod(int(fraction * _WIDTH * 8), 8)
    if whole >= _WIDTH:
        return _BLOCKS[-1] * _WIDTH
    return _BLOCKS[-1] * whole + _BLOCKS[part] + " " * (_WIDTH - whole - 1)
