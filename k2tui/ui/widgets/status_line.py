"""The first line: health in one row, never taller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from k2tui.core.events import Severity
from k2tui.core.fields import PERIODS_GONE, PROBE_PERIOD_S, serving_period_s
from k2tui.core.link import LinkPhase
from k2tui.core.readings import NodeReading
from k2tui.core.views import NodeView, ServerStatus
from k2tui.ui import present
from k2tui.ui.present import STATUS_GLYPH, STATUS_ROLE, Freshness, freshness
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, clip, ends, joined, width_of
from k2tui.ui.widgets.pane import Drawn

_BAD = (ServerStatus.CRASHED, ServerStatus.HUNG, ServerStatus.MISCONFIGURED, ServerStatus.DEGRADED)
_COUNTED = (
    ServerStatus.READY,
    ServerStatus.LOADING,
    ServerStatus.UNPROVED,
    *_BAD,
    ServerStatus.STALE,
    ServerStatus.DOWN,
    ServerStatus.UNKNOWN,
)


def server_counts(scene: Scene, *, words: bool = True) -> Line:
    """`● 3 ready  ◐ 1 loading  ✗ 1 crashed`; without words `● 3  ◐ 1  ✗ 1`."""
    counts = Counter(server.status for server in scene.servers)
    return joined(
        [
            (
                (f"{STATUS_GLYPH[status]} ", STATUS_ROLE[status]),
                (f"{counts[status]} {status.value}" if words else f"{counts[status]}", "text"),
            )
            for status in _COUNTED
            if counts[status]
        ]
    )


def node_counts(scene: Scene) -> Line:
    """`4 nodes  1 out of reach`."""
    total = len(scene.nodes)
    lost = sum(1 for node in scene.nodes if node.link.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED))
    words: list[Line] = [((f"{total} node{'' if total == 1 else 's'}", "text"),)]
    if lost:
        words.append(((f"{lost} out of reach", "bad"),))
    return joined(words)


def any_lost(scene: Scene) -> bool:
    """True when a node is out of reach."""
    return any(node.link.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED) for node in scene.nodes)


_memory: dict[str, tuple[NodeReading, int, float, float]] = {}
"""By node: its newest reading, its GPUs, and their memory in use and in all, so that only what is new is added up."""


def _memory_of(node: NodeView) -> tuple[NodeReading, int, float, float]:
    name, reading = node.settings.name, node.reading
    kept = _memory.get(name)
    if kept is None or kept[0] is not reading:
        used = sum(gpu.memory_used_mib or 0.0 for gpu in reading.gpus)
        total = sum(gpu.memory_total_mib or 0.0 for gpu in reading.gpus)
        kept = _memory[name] = (reading, len(reading.gpus), used, total)
    return kept


def gpu_counts(scene: Scene) -> Line:
    """`32 GPU  VRAM 2.7/3.1 T`: what nodes told lately; empty when none did."""
    told = [
        _memory_of(node)
        for node in scene.nodes
        if node.reading.gpus_at is not None
        and node.link.phase is LinkPhase.UP
        and freshness(scene.now - node.reading.gpus_at, PROBE_PERIOD_S) is not Freshness.GONE
    ]
    count = sum(one[1] for one in told)
    if not count:
        return ()
    used, total = sum(one[2] for one in told), sum(one[3] for one in told)
    return ((f"{count} GPU  ", "text"), (f"VRAM {present.vram(used, total)}", "muted"))


def work_counts(scene: Scene) -> Line:
    """`1 284 tok/s total  queue 12`: what all servers do together; empty when none tells."""
    told = [
        server.serving
        for server in scene.servers
        if server.serving is not None
        and server.status is not ServerStatus.STALE
        and scene.now - server.serving.at <= PERIODS_GONE * serving_period_s(server.serving)
    ]
    rates = [one.decode_tokens_per_s for one in told if one.decode_tokens_per_s is not None]
    words: list[Line] = []
    if rates:
        words.append(((f"{present.number(sum(rates))} tok/s total", "text"),))
    queues = [one.waiting for one in told if one.waiting is not None]
    if queues:
        waiting = sum(queues)
        words.append(((f"queue {waiting}", "warning" if waiting else "muted"),))
    return joined(words)


def alert_mark(scene: Scene) -> Line:
    """`! 2 alerts`: loud ones that hold and that nobody has acknowledged; empty when there are none."""
    held = [alert for alert in scene.alerts if alert.is_open and alert.is_loud]
    if not held:
        return ()
    return (
        (
            f"! {len(held)} alert{'' if len(held) == 1 else 's'}",
            "bad" if any(one.severity is Severity.BAD for one in held) else "warning",
        ),
    )


def status_line(
    place: Sequence[str],
    facts: Sequence[Line],
    scene: Scene,
    width: int,
    *,
    extra: Line = (),
    brief: Line = (),
    keep: int = 1,
) -> Line:
    """` k2tui  fleet › gpu-b   facts …          !1  simulated  read-only  14:02`; facts go when there is no room.

    `brief` says the first fact in fewer columns, for when it and those up to `keep` do not all fit.
    """
    where: list[Line] = [((" k2tui", "brand"),)]
    crumbs = [((name, "strong" if last else "text"),) for name, last in ((n, n == place[-1]) for n in place)]
    where.append(joined(crumbs, (" › ", "muted")))
    marks: list[Line] = []
    if extra:
        marks.append(extra)
    alerts = alert_mark(scene)
    if alerts:
        marks.append(alerts)
    if scene.simulated:
        marks.append((("simulated", "simulated"),))
    if scene.read_only:
        marks.append((("read-only", "warning"),))
    marks.append(((present.clock_minute(scene.wall), "muted"), (" ", "text")))
    right = joined(marks)
    left = joined(where, ("  ", "text"))
    wide = width_of(joined([left, *facts[:keep]], (" │ ", "rule"))) + width_of(right) + 2 > width
    for fact in [brief, *facts[1:]] if brief and wide else facts:
        if not fact:
            continue
        longer = joined([left, fact], (" │ ", "rule"))
        if width_of(longer) + width_of(right) + 2 > width:
            break
        left = longer
    return ends(clip(left, width - width_of(right) - 1), right, width)


class StatusLine(Drawn):
    """One row at the top."""

    def show_line(self, line: Line) -> None:
        """Show this."""
        self.put([(line, None)])
