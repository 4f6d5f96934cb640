"""What a GPU's figures mean."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.events import Severity
from k2tui.core.gpu_words import (
    gpu_warnings,
    held_without_process,
    is_busy,
    is_free,
    is_held_back,
    pcie_warning,
    processes_on,
    throttle_reasons,
    throttle_words,
)
from k2tui.core.readings import GpuProcess, GpuReading, NodeReading

IDLE = GpuReading(
    0,
    "GPU-0",
    utilization_percent=0.0,
    memory_used_mib=4.0,
    memory_total_mib=143771.0,
    power_w=78.0,
    power_limit_w=700.0,
    temperature_c=30.0,
    sm_clock_mhz=345.0,
    sm_clock_max_mhz=1980.0,
    throttle_mask=0x1,
    pcie_gen=5,
    pcie_gen_max=5,
    pcie_width=16,
    pcie_width_max=16,
    persistence=True,
)
"""As a real H200 rests."""
AT_WORK = replace(
    IDLE,
    utilization_percent=100.0,
    memory_used_mib=130000.0,
    power_w=640.0,
    temperature_c=66.0,
    sm_clock_mhz=1815.0,
    throttle_mask=0,
)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (None, None),
        (0, ""),
        (0x1, "idle"),
        (0x4, "power cap"),
        (0x48, "hw slowdown, hw heat"),
        (0x24, "power cap, sw heat"),
        (0x80, "power brake"),
        (0x1000, "0x1000"),
        (0x1F2, "set clocks, sync boost, sw heat, hw heat, power brake, display clocks"),
    ],
)
def test_every_reason_has_a_word(mask: int | None, words: str | None) -> None:
    assert throttle_words(mask) == words


@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_no_bit_of_a_mask_is_lost(mask: int) -> None:
    assert sum(reason.bit for reason in throttle_reasons(mask)) == mask


@pytest.mark.parametrize(
    ("gpu", "held"),
    [
        (IDLE, False),
        (AT_WORK, False),
        (replace(AT_WORK, throttle_mask=0x4), True),
        (replace(AT_WORK, throttle_mask=0x2), False),
        (replace(IDLE, throttle_mask=0x4), False),
        (replace(AT_WORK, throttle_mask=None), False),
        (replace(AT_WORK, utilization_percent=None, throttle_mask=0x40), False),
    ],
)
def test_only_a_gpu_at_work_is_held_back(gpu: GpuReading, held: bool) -> None:
    assert is_held_back(gpu) is held


def test_whether_a_lost_gpu_works_is_unknown() -> None:
    assert is_busy(GpuReading(0, "GPU-0", fault="GPU is lost")) is None


def names(gpu: GpuReading) -> list[str]:
    return [warning.name for warning in gpu_warnings(gpu)]


@pytest.mark.parametrize(
    ("gpu", "wanted"),
    [
        (IDLE, []),
        (AT_WORK, []),
        (GpuReading(0, ""), []),
        (replace(IDLE, fault="GPU is lost"), ["fault"]),
        (replace(IDLE, recovery_action="Reset"), ["recovery"]),
        (replace(IDLE, ecc_uncorrected=2, rows_pending=True), ["ecc", "rows_pending"]),
        (replace(IDLE, ecc_uncorrected=0, rows_pending=False), []),
        (replace(AT_WORK, throttle_mask=0x48, temperature_c=92.0), ["hw_heat"]),
        (replace(AT_WORK, throttle_mask=0x20), ["sw_heat"]),
        (replace(AT_WORK, temperature_c=93.0), ["hot"]),
        (replace(AT_WORK, throttle_mask=0x88), ["power_brake"]),
        (replace(AT_WORK, throttle_mask=0x8), ["hw_slowdown"]),
        (replace(AT_WORK, throttle_mask=0x4), ["power_cap"]),
        (replace(IDLE, throttle_mask=0x4), []),
        (replace(AT_WORK, power_w=120.0), ["busy_but_cool"]),
        (replace(AT_WORK, sm_clock_mhz=990.0), ["low_clock"]),
        (replace(AT_WORK, sm_clock_mhz=990.0, throttle_mask=0x4), ["power_cap"]),
        (replace(IDLE, mig=True, persistence=False), ["mig", "persistence"]),
        (replace(AT_WORK, pcie_width=8), ["pcie"]),
        (replace(AT_WORK, pcie_width=8, persistence=False, fault="x"), ["fault", "pcie", "persistence"]),
    ],
)
def test_what_is_wrong_is_said_and_nothing_else(gpu: GpuReading, wanted: list[str]) -> None:
    assert names(gpu) == wanted


def test_each_warning_says_what_to_do_in_one_line() -> None:
    (warning,) = gpu_warnings(replace(AT_WORK, throttle_mask=0x40, temperature_c=91.6))
    assert warning.text == "too hot at 92 °C: its hardware slows it down; check fans and air"
    assert warning.severity is Severity.BAD


@pytest.mark.parametrize(
    ("gpu", "word"),
    [
        (IDLE, None),
        (replace(IDLE, pcie_gen=1), None),
        (replace(AT_WORK, pcie_gen=1), "generation 1 of 5 under load"),
        (replace(IDLE, pcie_width=8), "x8 of x16"),
        (replace(AT_WORK, pcie_width=8, pcie_gen=1), "x8 of x16"),
        (replace(AT_WORK, pcie_gen=None, pcie_width=None), None),
        (replace(AT_WORK, pcie_gen=1, utilization_percent=None), None),
    ],
)
def test_a_slow_link_is_marked_where_it_is_no_rest(gpu: GpuReading, word: str | None) -> None:
    warning = pcie_warning(gpu)
    assert (warning is None) if word is None else (warning is not None and word in warning)


def node(*processes: GpuProcess, asked: bool = True) -> NodeReading:
    return NodeReading(gpus=(IDLE,), gpu_processes=processes, gpu_processes_at=1.0 if asked else None)


SERVER = GpuProcess("GPU-0", 1533, 29536.0, "sglang::scheduler")


@pytest.mark.parametrize(
    ("reading", "gpu", "free"),
    [
        (node(), IDLE, True),
        (node(asked=False), IDLE, True),
        (node(SERVER), IDLE, False),
        (node(replace(SERVER, gpu_uuid="GPU-1")), IDLE, True),
        (node(), replace(IDLE, memory_used_mib=2000.0), False),
        (node(), AT_WORK, False),
        (node(), replace(IDLE, utilization_percent=None), None),
        (node(), replace(IDLE, memory_used_mib=None), None),
        (node(), replace(IDLE, fault="GPU is lost"), False),
        (node(), replace(IDLE, mig=True, utilization_percent=None), False),
    ],
)
def test_a_free_gpu_has_no_load_no_memory_and_no_process(
    reading: NodeReading, gpu: GpuReading, free: bool | None
) -> None:
    assert is_free(reading, gpu) is free


def test_the_largest_process_comes_first() -> None:
    small, other = GpuProcess("GPU-0", 1, 10.0), GpuProcess("GPU-1", 2, 99.0)
    assert processes_on(node(small, other, SERVER), IDLE) == (SERVER, small)


HOLDS = replace(IDLE, memory_used_mib=139000.0)


@pytest.mark.parametrize(
    ("reading", "gpu"),
    [
        (node(), IDLE),
        (node(SERVER), HOLDS),
        (node(asked=False), HOLDS),
        (node(), replace(HOLDS, memory_used_mib=None)),
        (node(), replace(HOLDS, mig=True)),
    ],
    ids=["nothing held", "a process", "nobody asked", "unknown", "instances"],
)
def test_nothing_is_explained_where_nothing_is_odd(reading: NodeReading, gpu: GpuReading) -> None:
    assert held_without_process(reading, gpu) == ()


def test_memory_without_a_process_is_explained_in_the_order_of_likelihood() -> None:
    told = held_without_process(node(), replace(HOLDS, index=3))
    assert [next(word for word in WORDS if word in line) for line in told] == list(WORDS)
    assert "/dev/nvidia3" in told[0]


WORDS = ("container", "state D", "defunct", "MPS")


def test_an_mps_server_is_named_when_it_is_what_is_listed() -> None:
    (told,) = held_without_process(node(GpuProcess("GPU-0", 77, 30.0, "/usr/bin/nvidia-cuda-mps-server")), HOLDS)
    assert "get_client_list 77" in told
