"""What the figures of a GPU mean, in words: what holds it back, what is wrong with it, whether it is free."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from k2tui.core.events import Severity
from k2tui.core.readings import GpuProcess, GpuReading, NodeReading

BUSY_PERCENT = 5.0
"""Less is a GPU that does nothing worth speaking of."""
HELD_MIB = 1024.0
"""Less is what a driver keeps for itself, up to 616 MiB on an H200; a CUDA context alone takes about 500."""
LEAST_HOT_C = 90.0
HUNG_POWER_SHARE = 0.3
"""Of the power limit: a GPU that claims to be at work all the time and draws less waits rather than computes."""
HUNG_BUSY_PERCENT = 99.0
ODD_CLOCK_SHARE = 0.6
"""Of the highest clock: a GPU at work that runs slower, and gives no reason, is held by something else."""


@dataclass(frozen=True, slots=True)
class ThrottleReason:
    """One bit of the driver's mask of reasons why clocks are not as high as they could be."""

    bit: int
    word: str
    """Short, for a cell."""
    means: str
    """A sentence's part, for a pane."""
    hurts: bool
    """It costs speed under load; the others are how a GPU rests, or what somebody set."""


THROTTLE_REASONS: tuple[ThrottleReason, ...] = (
    ThrottleReason(0x1, "idle", "nothing runs, so the clocks rest", False),
    ThrottleReason(0x2, "set clocks", "somebody has set its clocks (nvidia-smi -ac or -lgc)", False),
    ThrottleReason(0x4, "power cap", "it draws as much as its power limit allows", True),
    ThrottleReason(0x8, "hw slowdown", "its hardware halves the clocks or worse: heat, or power that is missing", True),
    ThrottleReason(0x10, "sync boost", "it keeps to the slowest GPU of its sync boost group", True),
    ThrottleReason(0x20, "sw heat", "the driver slows it down, because it is warmer than it should run", True),
    ThrottleReason(0x40, "hw heat", "its hardware halves the clocks or worse, because it is too hot", True),
    ThrottleReason(0x80, "power brake", "the power supply has asked it to brake", True),
    ThrottleReason(0x100, "display clocks", "a display holds its clocks", False),
)
"""nvml.h's clocksEventReasons, old name clocksThrottleReasons; what they mean is in `nvidia-smi --help-query-gpu`."""

_POWER_CAP, _HEAT, _BRAKE, _SLOWDOWN, _IDLE = 0x4, 0x60, 0x80, 0x8, 0x1
_KNOWN_BITS = sum(reason.bit for reason in THROTTLE_REASONS)


def throttle_reasons(mask: int | None) -> tuple[ThrottleReason, ...]:
    """All reasons of a mask; bits that nobody here knows are one reason."""
    if not mask:
        return ()
    found = tuple(reason for reason in THROTTLE_REASONS if mask & reason.bit)
    unknown = mask & ~_KNOWN_BITS
    if unknown:
        found += (ThrottleReason(unknown, f"0x{unknown:x}", f"a reason that is not known here (0x{unknown:x})", False),)
    return found


def throttle_words(mask: int | None) -> str | None:
    """`power cap, hw heat`; empty when nothing holds the clocks, None when the driver did not say."""
    return None if mask is None else ", ".join(reason.word for reason in throttle_reasons(mask))


def is_held_back(gpu: GpuReading) -> bool:
    """Something costs it speed now, while it is at work."""
    return is_busy(gpu) is True and any(reason.hurts for reason in throttle_reasons(gpu.throttle_mask))


def is_busy(gpu: GpuReading) -> bool | None:
    """It computes; None when nobody can say (lost, or cut into MIG instances)."""
    return None if gpu.utilization_percent is None else gpu.utilization_percent > BUSY_PERCENT


def processes_on(reading: NodeReading, gpu: GpuReading) -> tuple[GpuProcess, ...]:
    """Those that the driver lists for it, the largest first."""
    found = (process for process in reading.gpu_processes if process.gpu_uuid == gpu.uuid)
    return tuple(sorted(found, key=lambda process: -(process.memory_mib or 0.0)))


def has_unlisted(reading: NodeReading) -> bool:
    """Memory of a GPU is held, and no process of it is listed."""
    return any((gpu.memory_used_mib or 0.0) > HELD_MIB and not processes_on(reading, gpu) for gpu in reading.gpus)


def is_free(reading: NodeReading, gpu: GpuReading) -> bool | None:
    """Nobody uses it: no load, next to no memory held, no process listed. None when its figures do not say."""
    if gpu.fault is not None or gpu.mig:
        return False
    if gpu.utilization_percent is None or gpu.memory_used_mib is None:
        return None
    return not is_busy(gpu) and gpu.memory_used_mib < HELD_MIB and not processes_on(reading, gpu)


def held_without_process(reading: NodeReading, gpu: GpuReading) -> tuple[str, ...]:
    """Why memory may be held where no process is listed, likeliest first, and where to look; empty when none is."""
    if reading.gpu_processes_at is None or gpu.memory_used_mib is None or gpu.memory_used_mib < HELD_MIB or gpu.mig:
        return ()
    listed = processes_on(reading, gpu)
    server = next((process for process in listed if "cuda-mps-server" in (process.name or "")), None)
    if listed and server is None:
        return ()
    mps = "An MPS server holds it for its clients: echo get_client_list PID | nvidia-cuda-mps-control names them."
    if server is not None:
        return (mps.replace("PID", str(server.pid)),)
    device = f"/dev/nvidia{gpu.index}"
    return (
        f"A process in a container or of another user that this login can't see: sudo fuser -v {device} lists all.",
        "A process that hangs in the driver (state D in ps): look for XIDs; it can't be killed, a reset or a reboot "
        "frees the GPU.",
        "A process that has just died (defunct in ps) and whose memory is still being given back: wait a minute, or "
        "two after a large model.",
        f"The MPS daemon (nvidia-cuda-mps-control): {mps[0].lower()}{mps[1:]}",
    )


def pcie_warning(gpu: GpuReading) -> str | None:
    """A link that is narrower or slower than it could be. An idle GPU rests at generation 1: no warning."""
    if gpu.pcie_width is not None and gpu.pcie_width_max is not None and gpu.pcie_width < gpu.pcie_width_max:
        return (
            f"PCIe runs at x{gpu.pcie_width} of x{gpu.pcie_width_max}: check its seating, its riser and the slot; "
            "copies between host and GPUs are slow"
        )
    if gpu.pcie_gen is not None and gpu.pcie_gen_max is not None and gpu.pcie_gen < gpu.pcie_gen_max and is_busy(gpu):
        return (
            f"PCIe runs at generation {gpu.pcie_gen} of {gpu.pcie_gen_max} under load: check the slot and the BIOS's "
            "setting of its speed"
        )
    return None


@dataclass(frozen=True, slots=True)
class GpuWarning:
    """One thing that is wrong with a GPU."""

    name: str
    """A word that stays the same while it holds, such as `hw_heat`."""
    text: str
    """A short sentence without its full stop: what is so, and where there is something to do, that."""
    severity: Severity = Severity.WARNING


def gpu_warnings(gpu: GpuReading) -> tuple[GpuWarning, ...]:
    """All that is wrong with it, the worst first."""
    found = [*_damage(gpu), *_heat_and_power(gpu), *_odd_figures(gpu), *_modes(gpu)]
    return tuple(sorted(found, key=lambda warning: _ORDER.index(warning.severity)))


_ORDER = (Severity.BAD, Severity.WARNING, Severity.INFO, Severity.GOOD)


def _damage(gpu: GpuReading) -> Iterator[GpuWarning]:
    if gpu.fault is not None:
        yield GpuWarning("fault", f"the driver says: {gpu.fault}", Severity.BAD)
    if gpu.recovery_action is not None:
        yield GpuWarning("recovery", f"the driver says that it needs: {gpu.recovery_action}", Severity.BAD)
    if gpu.ecc_uncorrected:
        errors = "1 memory error" if gpu.ecc_uncorrected == 1 else f"{gpu.ecc_uncorrected} memory errors"
        yield GpuWarning("ecc", f"{errors} that can't be corrected: reset it", Severity.BAD)
    if gpu.rows_pending:
        yield GpuWarning("rows_pending", "a bad row of memory waits for a spare one: reset it at the next quiet time")
    link = pcie_warning(gpu)
    if link is not None:
        yield GpuWarning("pcie", link)


def _heat_and_power(gpu: GpuReading) -> Iterator[GpuWarning]:
    mask = gpu.throttle_mask or 0
    degrees = "" if gpu.temperature_c is None else f" at {gpu.temperature_c:.0f} °C"
    if mask & 0x40:
        yield GpuWarning("hw_heat", f"too hot{degrees}: its hardware slows it down; check fans and air", Severity.BAD)
    elif mask & 0x20:
        yield GpuWarning("sw_heat", f"too warm{degrees}: the driver slows it down; check fans and air")
    elif gpu.temperature_c is not None and gpu.temperature_c >= LEAST_HOT_C:
        yield GpuWarning("hot", f"hot{degrees}")
    if mask & _BRAKE:
        yield GpuWarning(
            "power_brake", "the power supply makes it brake: check the supplies and their feed", Severity.BAD
        )
    elif mask & _SLOWDOWN and not mask & _HEAT:
        yield GpuWarning("hw_slowdown", "its hardware slows it down, and heat is not the reason: check its power")
    if mask & _POWER_CAP and is_busy(gpu):
        limit = "" if gpu.power_limit_w is None else f" of {gpu.power_limit_w:.0f} W"
        yield GpuWarning("power_cap", f"at its power limit{limit}", Severity.INFO)


def _odd_figures(gpu: GpuReading) -> Iterator[GpuWarning]:
    if gpu.utilization_percent is None:
        return
    at_work = gpu.utilization_percent >= HUNG_BUSY_PERCENT
    watts, most_watts = gpu.power_w, gpu.power_limit_w
    if at_work and watts is not None and most_watts and watts < HUNG_POWER_SHARE * most_watts:
        yield GpuWarning(
            "busy_but_cool",
            f"{gpu.utilization_percent:.0f} % busy at {watts:.0f} of {most_watts:.0f} W: it may wait rather than "
            "compute, as in a collective that hangs",
        )
    no_reason = gpu.throttle_mask is not None and not gpu.throttle_mask & ~_IDLE
    clock, most_clock = gpu.sm_clock_mhz, gpu.sm_clock_max_mhz
    if at_work and no_reason and clock is not None and most_clock and clock < ODD_CLOCK_SHARE * most_clock:
        yield GpuWarning("low_clock", f"{clock:.0f} of {most_clock:.0f} MHz under load, for no told reason")


def _modes(gpu: GpuReading) -> Iterator[GpuWarning]:
    if gpu.mig:
        yield GpuWarning("mig", "it is cut into MIG instances: its own figures say little", Severity.INFO)
    if gpu.persistence is False:
        yield GpuWarning(
            "persistence", "persistence mode is off: each look wakes it up (nvidia-smi -pm 1)", Severity.INFO
        )
