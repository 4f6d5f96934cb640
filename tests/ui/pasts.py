"""A fleet with a past: figures as functions of time, gaps, and what happened."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from textual.screen import Screen

from k2tui.core.errors import K2Error
from k2tui.core.link import LinkPhase
from k2tui.core.series import Annotation, Quantity, Samples, SeriesKey
from k2tui.core.settings import Settings
from k2tui.ui.app import K2App
from k2tui.ui.screens.base import K2Screen
from tests.fakes.fleet import DAY, FakeFleet, gpus, reading, settings_of

Form = Callable[[float], float | None]


def _nothing(_: float) -> float | None:
    return None


class PastFleet(FakeFleet):
    """Its past is made by a function of time for each series; asking can be held up or go wrong."""

    def __init__(self, settings: Settings, forms: Mapping[SeriesKey, Form]) -> None:
        super().__init__(settings, simulated=True)
        self.forms = dict(forms)
        self.asked_for: list[tuple[float, float, int]] = []
        """(since, until, steps) of every look."""
        self.gate.set()
        self.broken: K2Error | None = None

    async def past(self, keys: Sequence[SeriesKey], since: float, until: float, steps: int) -> tuple[Samples, ...]:
        self.asked_for.append((since, until, steps))
        await self.gate.wait()
        await asyncio.sleep(0)
        if self.broken is not None:
            raise self.broken
        step_s = (until - since) / steps
        made = []
        for key in keys:
            form = self.forms.get(key, _nothing)
            mean = tuple(form(since + (place + 0.5) * step_s) for place in range(steps))
            made.append(Samples(key, since, step_s, mean))
        return tuple(made)


def _wave(middle: float, swing: float, period_s: float) -> Form:
    return lambda at: middle + swing * math.sin(at / period_s) + swing / 5 * math.sin(at * 7.3)


def _unless(form: Form, begun: float, ended: float) -> Form:
    return lambda at: None if begun <= at < ended else form(at)


def with_a_past(**changes: object) -> PastFleet:
    """kimi on gpu-a served for the last two hours; a restart 240 s ago, and nobody looked from 600 to 480 s ago."""
    subject = "server/kimi"

    def served(form: Form) -> Form:
        def alive(at: float) -> float | None:
            return 0.0 if DAY - 240 <= at < DAY - 200 else form(at)

        return _unless(_unless(alive, DAY - 600, DAY - 480), 0.0, DAY - 7200)

    forms: dict[SeriesKey, Form] = {
        SeriesKey(subject, Quantity.DECODE): served(_wave(1200, 260, 70)),
        SeriesKey(subject, Quantity.PREFILL): served(lambda at: max(0.0, 22_000 * math.sin(at / 23))),
        SeriesKey(subject, Quantity.RUNNING): served(lambda at: float(round(18 + 6 * math.sin(at / 70)))),
        SeriesKey(subject, Quantity.WAITING): served(lambda at: float(max(0, round(9 * math.sin(at / 41))))),
        SeriesKey(subject, Quantity.KV_USAGE): served(_wave(0.44, 0.2, 110)),
        SeriesKey(subject, Quantity.TTFT_P95): served(_wave(0.21, 0.06, 90)),
    }
    for index in range(8):
        gpu = f"gpu/gpu-a/{index}"
        forms[SeriesKey(gpu, Quantity.GPU_LOAD)] = served(_wave(78 + index, 9, 70))
        forms[SeriesKey(gpu, Quantity.GPU_MEMORY)] = served(lambda _, n=index: 88_000.0 + 100 * n)  # type: ignore[misc]
        forms[SeriesKey(gpu, Quantity.GPU_POWER)] = served(_wave(400 + 9 * index, 40, 70))
        forms[SeriesKey(gpu, Quantity.GPU_TEMPERATURE)] = served(_wave(55 + 3 * index, 3, 300))
    node = "node/gpu-a"
    forms[SeriesKey(node, Quantity.CPU)] = served(_wave(22, 6, 60))
    forms[SeriesKey(node, Quantity.MEMORY)] = served(lambda _: 310e9)
    forms[SeriesKey(node, Quantity.DISK_READ)] = served(_wave(60e6, 40e6, 80))
    forms[SeriesKey(node, Quantity.DISK_WRITE)] = served(_wave(20e6, 5e6, 80))
    forms[SeriesKey(node, Quantity.NET_RX)] = served(_wave(3e6, 1e6, 80))
    forms[SeriesKey(node, Quantity.NET_TX)] = served(_wave(9e6, 2e6, 80))
    fleet = PastFleet(settings_of(**changes), forms)  # type: ignore[arg-type]
    for name in fleet.settings.nodes:
        fleet.link(name, phase=LinkPhase.UP, round_trip_s=0.018)
        fleet.read(name, reading(fleet.clock, gpus(8)))
    fleet.begin("kimi")
    fleet.ready("kimi")
    fleet.annotated = [
        Annotation(DAY - 240, subject, "restart: +NCCL_PROTO=LL +NCCL_ALGO=Ring", "restart"),
        Annotation(DAY - 90, "gpu/gpu-a/7", "GPU 7 is at 84 °C, throttled by heat", "alert"),
        Annotation(DAY - 60, "server/other", "restart of a stranger", "restart"),
    ]
    return fleet


class AppAt(K2App):
    """The app with one screen alone, so that its test is of nothing else."""

    def __init__(self, screen: K2Screen, fleet: FakeFleet, **options: Any) -> None:
        super().__init__(fleet, clock=fleet.clock, **options)
        self._first = screen

    def get_default_screen(self) -> Screen[Any]:
        return self._first
