"""GPUs while a server is measured: only what the probe saw meanwhile, and each figure once."""

from __future__ import annotations

from k2tui.core.readings import GpuReading
from k2tui.services.benching.sampling import GpuLook, GpuSampler


def gpu(index: int, **figures: float) -> GpuReading:
    return GpuReading(index, f"GPU-{index}", **figures)  # type: ignore[arg-type]  # a mask is whole


def sampled(looks: list[GpuLook | None], *, begins: float | None, ends_before: int | None = None) -> GpuSampler:
    newest: list[GpuLook | None] = [None]
    sampler = GpuSampler(lambda: newest[0])
    if begins is not None:
        sampler.begin(begins)
    for at, look in enumerate(looks):
        if at == ends_before:
            sampler.end()
        newest[0] = look
        sampler.look(100.0)
    return sampler


def test_a_figure_is_taken_once_with_the_words_for_what_holds_it_back() -> None:
    look = GpuLook(103.0, [gpu(0, sm_clock_mhz=1980.0, power_w=700.0, temperature_c=60.0, throttle_mask=0x5), gpu(1)])
    first, second = sampled([look, look], begins=101.0).samples
    assert (first.at_s, first.gpu, first.clock_mhz, first.power_w, first.temp_c) == (3.0, 0, 1980.0, 700.0, 60.0)
    assert first.held_back == ("power cap",)
    assert (second.gpu, second.clock_mhz, second.held_back) == (1, None, ())


def test_what_was_seen_before_the_first_figure_and_after_the_last_does_not_count() -> None:
    looks: list[GpuLook | None] = [GpuLook(at, [gpu(0, sm_clock_mhz=at)]) for at in (100.5, 102.0, 104.0)]
    assert [one.clock_mhz for one in sampled(looks, begins=101.0, ends_before=2).samples] == [102.0]
    assert sampled(looks, begins=None).samples == ()


def test_without_a_probe_there_are_no_samples() -> None:
    assert sampled([None, None], begins=101.0).samples == ()
