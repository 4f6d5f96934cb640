"""All that is known of one GPU, as lines of text."""

from __future__ import annotations

import time

from k2tui.core import words
from k2tui.core.events import Severity
from k2tui.core.gpu_words import gpu_warnings, held_without_process, is_free, throttle_reasons
from k2tui.core.owners import Holder, Owners
from k2tui.core.readings import GpuReading, Xid
from k2tui.core.secrets import mask
from k2tui.core.views import NodeView
from k2tui.core.words import UNKNOWN
from k2tui.core.xid import meaning_of, xid_label, xids_of
from k2tui.ui import present
from k2tui.ui.present import number
from k2tui.ui.spans import Line
from k2tui.ui.widgets.gpu_columns import heat_role, pcie_words

Row = Line | str
LABEL = 16
MOST_XIDS = 12
_ROLE = {Severity.INFO: "muted", Severity.GOOD: "good", Severity.WARNING: "warning", Severity.BAD: "bad"}


def _row(label: str, text: str, role: str = "text") -> Line:
    return ((f"{label:<{LABEL}}", "muted"), (text, role if text != UNKNOWN else "muted"))


def gpu_text(node: NodeView, gpu: GpuReading, owners: Owners, now: float) -> list[Row]:
    """What is wrong and what to do, who holds its memory, its figures, and errors with advice."""
    reading = node.reading
    rows: list[Row] = [((f"GPU {gpu.index} of {node.settings.name}", "title"), (f"  {gpu.name or UNKNOWN}", "text"))]
    if gpu.fault is not None:
        rows.append(_row("fault", gpu.fault, "bad"))
    if is_free(reading, gpu):
        rows.append(_row("free", "nobody uses it", "good"))
    rows += [*_wrong(gpu), *_holders(node, gpu, owners), (), *_figures(node, gpu, now), *_errors(node, gpu)]
    return rows


def _figures(node: NodeView, gpu: GpuReading, now: float) -> list[Row]:
    reading = node.reading
    age = None if reading.gpus_at is None else now - reading.gpus_at
    limit = "" if gpu.power_limit_w is None else f" of {gpu.power_limit_w:.0f} W"
    power = UNKNOWN if gpu.power_w is None else f"{gpu.power_w:.0f}{limit or ' W'}"
    most = "" if gpu.sm_clock_max_mhz is None else f" of {gpu.sm_clock_max_mhz:.0f}"
    clock = UNKNOWN if gpu.sm_clock_mhz is None else f"{gpu.sm_clock_mhz:.0f}{most} MHz"
    best = "" if gpu.pcie_width_max is None else f", at best gen{gpu.pcie_gen_max or '?'} x{gpu.pcie_width_max}"
    reasons = throttle_reasons(gpu.throttle_mask)
    held = UNKNOWN if gpu.throttle_mask is None else "; ".join(reason.means for reason in reasons) or "nothing"
    rows: list[Row] = [
        _row("figures", f"{present.age(age)} old", "text"),
        _row("load", number(gpu.utilization_percent, "%")),
        _row("memory", _memory(gpu)),
        _row("power", power),
        _row("temperature", number(gpu.temperature_c, "C"), heat_role(gpu.temperature_c)),
        _row("memory at", number(gpu.memory_temperature_c, "C")),
        _row("clock", clock),
        _row("memory clock", number(gpu.memory_clock_mhz, "MHz")),
        _row("clocks held by", held, "warning" if any(reason.hurts for reason in reasons) else "text"),
        _row("state", gpu.pstate or UNKNOWN),
        _row("fan", number(gpu.fan_percent, "%")),
        _row("PCIe", f"{pcie_words(gpu)}{best}"),
        _row("ECC", _ecc(gpu)),
        _row("persistence", _yes_no(gpu.persistence)),
        _row("MIG", _yes_no(gpu.mig)),
        _row("bus", gpu.pcie_bus or UNKNOWN),
        _row("uuid", gpu.uuid),
        _row("driver", reading.driver or UNKNOWN),
    ]
    if reading.gpus_trouble is not None:
        rows.append(_row("trouble", reading.gpus_trouble, "warning"))
    return rows


def _memory(gpu: GpuReading) -> str:
    used, total = gpu.memory_used_mib, gpu.memory_total_mib
    if used is None or total is None:
        return UNKNOWN
    return f"{used / 1024:.1f} of {total / 1024:.1f} GiB, {(total - used) / 1024:.1f} free"


def _ecc(gpu: GpuReading) -> str:
    if gpu.ecc_uncorrected is None:
        return "off, or the driver does not say"
    rows = "; a row waits to be remapped" if gpu.rows_pending else ""
    return f"{gpu.ecc_uncorrected} errors that can't be corrected since the driver was loaded{rows}"


def _yes_no(value: bool | None) -> str:
    return UNKNOWN if value is None else "on" if value else "off"


def _wrong(gpu: GpuReading) -> list[Row]:
    warnings = gpu_warnings(gpu)
    if not warnings:
        return []
    return [(), (("What is to be said of it", "title"),), *(((one.text, _ROLE[one.severity]),) for one in warnings)]


def _when(xid: Xid) -> str:
    return UNKNOWN if xid.at is None else time.strftime("%m-%d %H:%M:%S", time.localtime(xid.at))


def _errors(node: NodeView, gpu: GpuReading) -> list[Row]:
    reading = node.reading
    rows: list[Row] = [(), (("Errors in the kernel's log", "title"),)]
    if reading.xids_unknown_because is not None:
        return [*rows, ((f"unknown: {reading.xids_unknown_because}", "muted"),)]
    if reading.xids_at is None:
        return [*rows, (("nobody has looked yet", "muted"),)]
    xids = xids_of(reading, gpu)
    if not xids:
        return [*rows, (("none", "good"),)]
    for xid in reversed(xids[-MOST_XIDS:]):
        meaning = meaning_of(xid.number)
        rows.append(
            _row(_when(xid), f"{xid_label(xid)}: {meaning.means} ({meaning.blame.value})", _ROLE[meaning.severity])
        )
        rows.append(_row("", f"→ {meaning.action}"))
        rows.append(_row("", mask(xid.text), "muted"))
    if len(xids) > MOST_XIDS:
        rows.append(((f"and {len(xids) - MOST_XIDS} older ones", "muted"),))
    return rows


def _holders(node: NodeView, gpu: GpuReading, owners: Owners) -> list[Row]:
    reading = node.reading
    rows: list[Row] = [(), (("Processes that hold its memory", "title"),)]
    if reading.gpu_processes_at is None:
        return [*rows, (("unknown: nobody has asked yet, or the driver can't say", "muted"),)]
    holders = owners.holders(gpu)
    rows += [_holder(holder) for holder in holders] or [(("none", "muted"),)]
    why = held_without_process(reading, gpu)
    if why:
        size = words.size((gpu.memory_used_mib or 0.0) * 2**20)
        rows += [(), ((f"{size} are held, and no process is listed. Where to look, the likeliest first:", "warning"),)]
        rows += [f"→ {reason}" for reason in why]
    return rows


def _holder(holder: Holder) -> Line:
    held, process = holder.held, holder.process
    size = UNKNOWN if held.memory_mib is None else f"{held.memory_mib / 1024:.1f} GiB"
    if process is None:
        pid = f"pid {held.pid}" if held.pid else "a process of another namespace"
        return _row(size, f"{pid}  {mask(held.name or '')}  its user is not known: it may run in a container")
    began = (
        "" if process.began_at is None else f" since {time.strftime('%m-%d %H:%M', time.localtime(process.began_at))}"
    )
    server = f"  Server {holder.server}" if holder.server is not None else "  no Server of yours"
    return _row(size, f"pid {process.pid}  {process.user}{began}{server}  {mask(process.title)}")
