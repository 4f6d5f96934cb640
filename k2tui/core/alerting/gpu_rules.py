"""The rules about GPUs that hold without any config."""

from __future__ import annotations

from typing import Any

from k2tui.core.alerting.rows import XID_DAY_S, GpuRow, XidRow
from k2tui.core.alerting.rule import Rule, opposite
from k2tui.core.alerting.trends import Counted
from k2tui.core.events import Severity
from k2tui.core.xid import meaning_of, xid_label

POWER_CAP, SLOWED, HEAT, BRAKE = 0x4, 0x8, 0x20 | 0x40, 0x80
"""Bits of `GpuReading.throttle_mask`."""
LOAD_PERCENT = 30.0
"""A GPU that does less is not under load: why its clocks are low does not matter."""
HOT_C, COOL_C = 90.0, 85.0
MEMORY_HOT_C, MEMORY_COOL_C = 100.0, 95.0
SLOW_CLOCK = 0.75
"""Share of the highest clock: held below it by the power cap, a GPU is worth a note."""


def _gpu_lost(row: GpuRow) -> bool | None:
    gpu = row.gpu
    if gpu.fault is None:
        return False
    return "lost" in gpu.fault.lower() or (gpu.memory_used_mib is None and gpu.utilization_percent is None)


def _gpu_back(row: GpuRow) -> bool | None:
    return row.gpu.fault is None and row.gpu.memory_used_mib is not None


def _gpu_lost_words(row: GpuRow) -> str:
    return (
        f"the driver gives no figures ({row.gpu.fault}): what runs on it fails; drain the node, then reset or reboot it"
    )


def _held_down(row: GpuRow, bits: int, but_not: int = 0) -> bool | None:
    """Its clocks are held down for one of these reasons, under load."""
    mask, load = row.gpu.throttle_mask, row.gpu.utilization_percent
    if mask is None or load is None:
        return None
    return mask & bits != 0 and mask & but_not == 0 and load >= LOAD_PERCENT


def _heat(row: GpuRow) -> bool | None:
    return _held_down(row, HEAT)


def _heat_words(row: GpuRow) -> str:
    at = "" if row.gpu.temperature_c is None else f" at {row.gpu.temperature_c:.0f} °C"
    return f"slowed down by heat{at}{_clock(row)}: look at the fans and the air that comes in"


def _brake(row: GpuRow) -> bool | None:
    braked, slowed = _held_down(row, BRAKE), _held_down(row, SLOWED, HEAT)
    return None if braked is None or slowed is None else braked or slowed


def _brake_words(row: GpuRow) -> str:
    why = "the power brake" if (row.gpu.throttle_mask or 0) & BRAKE else "the hardware"
    return f"slowed down by {why}{_clock(row)}: look at the power supply and the machine's own power limit"


def _capped(row: GpuRow) -> bool | None:
    held, clock, most = _held_down(row, POWER_CAP, HEAT | BRAKE), row.gpu.sm_clock_mhz, row.gpu.sm_clock_max_mhz
    if held is None or clock is None or not most:
        return None
    return held and clock < SLOW_CLOCK * most


def _cap_words(row: GpuRow) -> str:
    limit = "" if row.gpu.power_limit_w is None else f" of {row.gpu.power_limit_w:.0f} W"
    return f"its power cap{limit} holds it far down{_clock(row)}: no fault, but it is slower than it could be"


def _hot(row: GpuRow) -> bool | None:
    core, memory = row.gpu.temperature_c, row.gpu.memory_temperature_c
    if core is None and memory is None:
        return None
    return (core is not None and core >= HOT_C) or (memory is not None and memory >= MEMORY_HOT_C)


def _cool(row: GpuRow) -> bool | None:
    core, memory = row.gpu.temperature_c, row.gpu.memory_temperature_c
    if core is None and memory is None:
        return None
    return (core is None or core < COOL_C) and (memory is None or memory < MEMORY_COOL_C)


def _hot_words(row: GpuRow) -> str:
    figures = (("", row.gpu.temperature_c), ("memory ", row.gpu.memory_temperature_c))
    told = ", ".join(f"{what}{figure:.0f} °C" for what, figure in figures if figure is not None)
    return f"{told}: it will slow down; look at the fans and the air that comes in"


def _ecc(row: GpuRow) -> bool | None:
    counted = _counted(row)
    if counted is None:
        return None
    return counted.grew_at is not None and row.moment.at - counted.grew_at <= XID_DAY_S


def _ecc_over(row: GpuRow) -> bool | None:
    """Errors are not taken back: it is over when the driver counts anew, or a day later."""
    counted = _counted(row)
    return None if counted is None else counted.count == 0


def _ecc_at(row: GpuRow) -> float | None:
    counted = _counted(row)
    return None if counted is None else counted.grew_at


def _ecc_words(row: GpuRow) -> str:
    counted = _counted(row) or Counted(0)
    reset = "; its rows are remapped by the next reset" if row.gpu.rows_pending else ""
    return f"{counted.by} more uncorrected memory error(s), {counted.count} in all: results may be wrong{reset}"


def _counted(row: GpuRow) -> Counted | None:
    return row.moment.trends.ecc.get((row.node.settings.name, row.gpu.uuid))


def _xid(row: XidRow) -> bool | None:
    return True  # rows are made of those that are news


def _never(row: XidRow) -> bool | None:
    return False


def _xid_at(row: XidRow) -> float | None:
    return row.xid.at


def _xid_severity(row: XidRow) -> Severity:
    return meaning_of(row.xid.number).severity


def _xid_words(row: XidRow) -> str:
    meaning = meaning_of(row.xid.number)
    return f"{xid_label(row.xid)}: {meaning.means}. {meaning.action}"


def _clock(row: GpuRow) -> str:
    gpu = row.gpu
    if gpu.sm_clock_mhz is None:
        return ""
    most = "" if gpu.sm_clock_max_mhz is None else f" of {gpu.sm_clock_max_mhz:.0f}"
    return f", {gpu.sm_clock_mhz:.0f}{most} MHz"


GPU_RULES: tuple[Rule[Any], ...] = (
    Rule(
        "gpu_lost",
        "the driver gives no figures of a GPU",
        *(GpuRow, _gpu_lost, _gpu_back, _gpu_lost_words),
        Severity.BAD,
        for_s=4.0,
    ),
    Rule(
        "gpu_hot",
        "a GPU is at 90 °C or more for a minute, or its memory at 100 °C",
        *(GpuRow, _hot, _cool, _hot_words),
        for_s=60.0,
    ),
    Rule(
        "gpu_heat",
        "heat slows a GPU down under load for a minute",
        *(GpuRow, _heat, opposite(_heat), _heat_words),
        for_s=60.0,
    ),
    Rule(
        "gpu_brake",
        "the power brake or the hardware slows a GPU down under load for 30 s",
        *(GpuRow, _brake, opposite(_brake), _brake_words),
        Severity.BAD,
        for_s=30.0,
    ),
    Rule(
        "gpu_power_cap",
        "its power cap holds a GPU under three quarters of its clock for ten minutes: a note",
        *(GpuRow, _capped, opposite(_capped), _cap_words),
        Severity.INFO,
        for_s=600.0,
    ),
    Rule(
        "gpu_ecc",
        "a GPU's uncorrected memory errors grow",
        *(GpuRow, _ecc, _ecc_over, _ecc_words),
        Severity.BAD,
        happened_at=_ecc_at,
        lasts_s=XID_DAY_S,
    ),
    Rule(
        "xid",
        "the kernel's log has a new error of a GPU",
        *(XidRow, _xid, _never, _xid_words),
        loudness=_xid_severity,
        happened_at=_xid_at,
        lasts_s=XID_DAY_S,
    ),
)
