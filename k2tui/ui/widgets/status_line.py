"""The first line: health in one row, never taller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from k2tui.core.link import LinkPhase
from k2tui.core.views import ServerStatus
from k2tui.ui import present
from k2tui.ui.present import STATUS_GLYPH, STATUS_ROLE, Freshness, freshness
from k2tui.ui.scene import PROBE_PERIOD_S, Scene
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


def gpu_counts(scene: Scene) -> Line:
    """`32 GPU  VRAM 2.7/3.1 T`: what nodes told lately; empty when none did."""
    gpus = [
        gpu
        for node in scene.nodes
        if node.reading.gpus_at is not None
        and freshness(scene.now - node.reading.gpus_at, PROBE_PERIOD_S) is not Freshness.GONE
        for gpu in node.reading.gpus
    ]
    if not gpus:
        return ()
    used = sum(gpu.memory_used_mib or 0.0 for gpu in gpus)
    total = sum(gpu.memory_total_mib or 0.0 for gpu in gpus)
    return ((f"{len(gpus)} GPU  ", "text"), (f"VRAM {present.vram(used, total)}", "muted"))


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
    """` k2tui  fleet › gpu-b   facts …          simulated  read-only  14:02`; facts go when there is no room.

    `brief` says the first fact in fewer columns, for when it and those up to `keep` do not all fit.
    """
    where: list[Line] = [((" k2tui", "brand"),)]
    crumbs = [((name, "strong" if last else "text"),) for name, last in ((n, n == place[-1]) for n in place)]
    where.append(joined(crumbs, (" › ", "muted")))
    marks: list[Line] = []
    if extra:
        marks.append(extra)
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
