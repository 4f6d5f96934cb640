"""What stands in each cell of the server grid. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.core.benching.live import BenchLive
from k2tui.core.fields import PROBE_PERIOD_S, gpus_of, look_period_s, model_name, serving_period_s
from k2tui.core.link import LinkPhase
from k2tui.core.readings import GpuReading
from k2tui.core.serving import ServingReading
from k2tui.core.views import NodeView, ServerStatus, ServerView
from k2tui.core.words import PHASE_WORDS, UNKNOWN, duration, phase_time
from k2tui.ui import present
from k2tui.ui.present import STATUS_GLYPH, STATUS_ROLE, Freshness, freshness
from k2tui.ui.scene import Scene, since
from k2tui.ui.spans import Line, Span, cell, width_of
from k2tui.ui.widgets.cause_rows import failure_of
from k2tui.ui.widgets.phase_rows import phase_rows, progress_spans

FAILED = (ServerStatus.CRASHED, ServerStatus.HUNG, ServerStatus.MISCONFIGURED)
FOREIGN = "◇"
"""In front of a server that somebody else started."""
KV_FULL = 0.9
"""Share of the KV cache from which new requests wait, or running ones are taken back."""
_OUT = (LinkPhase.DOWN, LinkPhase.BLOCKED)


@dataclass(frozen=True, slots=True)
class GridRow:
    """One server, or a node that has none."""

    node: NodeView
    server: ServerView | None

    @property
    def key(self) -> str:
        """What stays the same when the rows are sorted."""
        return f"{self.node.settings.name}/{self.server.settings.name if self.server else ''}"


def server_words(row: GridRow) -> str:
    """Its name, marked where somebody else started it."""
    if row.server is None:
        return UNKNOWN
    name = row.server.settings.name
    return f"{FOREIGN} {name}" if row.server.found is not None else name


def node_cell(row: GridRow, scene: Scene, width: int) -> Line:
    return (cell(row.node.settings.name, width, "text"),)


def server_cell(row: GridRow, scene: Scene, width: int) -> Line:
    return (cell(server_words(row), width, "strong" if row.server else "muted"),)


def state_words(row: GridRow) -> Span:
    """Its state with its glyph, and the role of that."""
    if row.node.link.phase is LinkPhase.BLOCKED:
        return "! BLOCKED", "bad"
    if row.server is None:
        up = row.node.link.phase is LinkPhase.UP
        return ("up", "muted") if up else (row.node.link.phase.value, "bad")
    status = row.server.status
    word = status.value
    if status is ServerStatus.DOWN and row.server.doing is None:
        return f"{STATUS_GLYPH[status]} {word}", "muted"
    failed_already = status in FAILED and row.server.run is not None and row.server.run.alive
    if row.server.doing is not None and not (row.server.doing == "starting" and failed_already):
        word = row.server.doing
    return f"{STATUS_GLYPH[status]} {word.upper()}", STATUS_ROLE[status]


def state_cell(row: GridRow, scene: Scene, width: int) -> Line:
    words, role = state_words(row)
    return (cell(words, width, role),)


def foreign_words(server: ServerView) -> str:
    """`not started by k2tui: root, pid 41233, since 10:50`; empty for servers of the config."""
    found = server.found
    if found is None:
        return ""
    began = found.process.began_at
    since_words = "" if began is None else f", since {present.clock_minute(began)}"
    where = "" if found.container is None else f", in {found.container}"
    return f"not started by k2tui: {found.process.user}, pid {found.process.pid}{since_words}{where}"


def interrupted_words(server: ServerView) -> str:
    """`restart interrupted: run 11-30 14:02 never started; the old one runs on`; else empty."""
    planned = server.planned
    if planned is None or server.doing is not None:
        return ""
    if server.run is not None and server.run.alive:
        old = "the old one runs on"
    else:
        old = "the old one is gone" if planned.replaces is not None else "nothing runs"
    return f"restart interrupted: run {present.run_time(planned.run_id)} never started; {old}"


def progress_cell(row: GridRow, scene: Scene, width: int) -> Line:
    """The present phase with its bar; the reason when its node is out of reach; the failure when it failed."""
    link, server = row.node.link, row.server
    if link.phase in _OUT:
        return (cell(present.link_words(link, scene.now), width, "bad"),)
    if server is not None and interrupted_words(server):
        return (cell("restart interrupted", width, "warning"),)
    if server is not None and server.bench is not None:
        return bench_cell(server.bench, width)
    launch = server.launch if server is not None else None
    settled = server is None or launch is None or server.status in (ServerStatus.READY, ServerStatus.DOWN)
    if server is None or launch is None or settled:
        return (cell(_settled_words(server), width, "muted"),)
    if launch.cause is not None:
        return (cell(failure_of(launch), width, "bad"),)
    if server.status is ServerStatus.UNPROVED:
        words = "log says ready, no answer seen yet"
        return (cell(words if width >= len(words) else "no answer seen yet", width, "phase-doubt"),)
    if server.proof is not None and not server.proof.ok:
        return (cell(server.proof.text, width, "warning"),)
    word = f"{PHASE_WORDS[launch.phase]:<9} "
    detail: Line = ((f" {launch.detail}", "warning"),) if launch.detail else ()
    bar = progress_spans(launch, width - len(word) - width_of(detail), unit=False)
    if not bar:
        now = next((step for step in phase_rows(launch, scene.log_now(server)) if step.state == "now"), None)
        bar = ((phase_time(now.elapsed_s), "text"),) if now is not None and now.elapsed_s is not None else ()
    return ((word, "text"), *bar, *detail)


def bench_cell(live: BenchLive, width: int) -> Line:
    """The benchmark that goes on, with the figure so far."""
    from k2tui.ui.widgets.bench_cells import live_cell  # noqa: PLC0415  not needed for the first paint

    return live_cell(live, width)


def _settled_words(server: ServerView | None) -> str:
    if server is None:
        return UNKNOWN
    if server.found is not None:
        return foreign_words(server)
    proof = server.proof
    is_proved = proof is not None and proof.ok and server.status is ServerStatus.READY
    return proof.text if proof is not None and is_proved else UNKNOWN


def up_s_of(row: GridRow, scene: Scene) -> float | None:
    """Seconds since it is ready or since its launch began, or since a foreign one began."""
    server, offset = row.server, row.node.reading.clock_offset_s
    if server is None or server.status is ServerStatus.STALE or offset is None:
        return None
    ahead = 0.0 if server.launch is None else server.launch.clock_ahead_s
    lasting = since(server, scene.wall + offset - ahead)
    if lasting is None and server.found is not None and server.found.process.began_at is not None:
        return max(0.0, scene.wall - server.found.process.began_at)
    return lasting


def coarse(seconds: float | None) -> str:
    """A duration that changes once a minute after the first one: `14 s`, `12m`, `3h12m`, `1d02h`."""
    if seconds is None or seconds >= 3600:
        return duration(seconds)
    return f"{int(seconds // 60)}m" if seconds >= 60 else f"{int(seconds)} s"


def up_cell(row: GridRow, scene: Scene, width: int) -> Line:
    lasting = up_s_of(row, scene)
    return (cell(coarse(lasting), width, "text" if lasting is not None else "muted", right=True),)


def profile_words(row: GridRow) -> str:
    """The profile that runs, else the one that would."""
    server = row.server
    if server is None:
        return UNKNOWN
    if server.found is not None:
        return "foreign"
    run = server.run
    return (run.profile if run is not None and run.alive else None) or server.settings.profile or UNKNOWN


def model_words(row: GridRow) -> str:
    """The last part of the model's path."""
    return (model_name(row.server) if row.server else None) or UNKNOWN


def profile_cell(row: GridRow, scene: Scene, width: int) -> Line:
    return (cell(profile_words(row), width, "muted"),)


def model_cell(row: GridRow, scene: Scene, width: int) -> Line:
    return (cell(model_words(row), width, "muted"),)


# ---- what it does


def serving_of(row: GridRow, now: float) -> tuple[ServingReading | None, str]:
    """Its figures where they are still to be believed, and the role of their age."""
    serving = row.server.serving if row.server is not None else None
    if serving is None or row.server is None:
        return None, "muted"
    fresh = freshness(now - serving.at, serving_period_s(serving))
    if fresh is Freshness.GONE:
        return None, "muted"
    return serving, "stale" if fresh is Freshness.DIM or row.server.status is ServerStatus.STALE else "text"


def rate_words(tokens_per_s: float | None) -> str:
    """Tokens a second: `0`, `9.1`, `90.1`, `1 284`, `128 k`."""
    if tokens_per_s is None:
        return UNKNOWN
    if tokens_per_s >= 99_999.5:
        return f"{tokens_per_s / 1000:.0f} k"
    return present.number(tokens_per_s, digits=1 if 0 < tokens_per_s < 99.95 else 0)


def count_words(count: int | None) -> str:
    """`0`, `1284`, `12k`: four figures at most."""
    return UNKNOWN if count is None else f"{count}" if count < 10_000 else f"{count // 1000}k"


def latency_words(seconds: float | None) -> str:
    """`210 ms`, `12.5 s`: four figures at most."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds * 1000:.0f} ms" if seconds < 9.9995 else f"{seconds:.1f} s"


def _figure(text: str, width: int, role: str) -> Line:
    return (cell(text, width, "muted" if text == UNKNOWN else role, right=True),)


def rate_cell(row: GridRow, scene: Scene, width: int) -> Line:
    serving, role = serving_of(row, scene.now)
    return _figure(rate_words(serving.decode_tokens_per_s if serving else None), width, role)


def running_cell(row: GridRow, scene: Scene, width: int) -> Line:
    serving, role = serving_of(row, scene.now)
    return _figure(count_words(serving.running if serving else None), width, role)


def queue_cell(row: GridRow, scene: Scene, width: int) -> Line:
    serving, role = serving_of(row, scene.now)
    waiting = serving.waiting if serving else None
    return _figure(count_words(waiting), width, "warning" if waiting and role == "text" else role)


def kv_cell(row: GridRow, scene: Scene, width: int) -> Line:
    serving, role = serving_of(row, scene.now)
    usage = serving.kv_usage if serving else None
    full = usage is not None and usage >= KV_FULL and role == "text"
    return _figure(present.percent(usage), width, "warning" if full else role)


def ttft_cell(row: GridRow, scene: Scene, width: int) -> Line:
    serving, role = serving_of(row, scene.now)
    ttft = serving.ttft if serving else None
    return _figure(latency_words(ttft.p95_s if ttft else None), width, role)


# ---- its GPUs


def _gpus(row: GridRow, now: float) -> tuple[Sequence[GpuReading], Freshness]:
    """The GPUs of the row's server (of the node, when it names none), and how old their figures are."""
    at = row.node.reading.gpus_at
    fresh = freshness(None if at is None else now - at, PROBE_PERIOD_S)
    return row.node.reading.gpus if row.server is None else gpus_of(row.server, row.node), fresh


def load_cell(row: GridRow, scene: Scene, width: int) -> Line:
    gpus, fresh = _gpus(row, scene.now)
    known = [gpu.utilization_percent for gpu in gpus if gpu.utilization_percent is not None]
    if not known or fresh is Freshness.GONE:
        return _figure(UNKNOWN, width, "muted")
    return _figure(f"{sum(known) / len(known):.0f} %", width, "stale" if fresh is Freshness.DIM else "text")


def vram_cell(row: GridRow, scene: Scene, width: int) -> Line:
    gpus, fresh = _gpus(row, scene.now)
    used = [gpu.memory_used_mib for gpu in gpus if gpu.memory_used_mib is not None]
    total = [gpu.memory_total_mib for gpu in gpus if gpu.memory_total_mib is not None]
    if not used or not total or fresh is Freshness.GONE:
        return _figure(UNKNOWN, width, "muted")
    words = present.of_total(sum(used), sum(total), 1024, "G")
    if len(words) > width:  # `952/1123 G` of eight large GPUs is `0.9/1.1 T`
        words = f"{sum(used) / 1024**2:.1f}/{sum(total) / 1024**2:.1f} T"
    return _figure(words, width, "stale" if fresh is Freshness.DIM else "text")


def age_cell(row: GridRow, scene: Scene, width: int) -> Line:
    seen = row.server.seen_at if row.server else row.node.reading.host_at
    if seen is None:
        return _figure(UNKNOWN, width, "muted")
    old = scene.now - seen
    fresh = freshness(old, look_period_s(row.server) if row.server else PROBE_PERIOD_S)
    text = "" if fresh is Freshness.FRESH else present.age(old)
    return (cell(text, width, "stale" if fresh is not Freshness.GONE else "warning", right=True),)


def good_until(row: GridRow, scene: Scene) -> float:
    """time.monotonic until which the cells read the same with the same views: ages show only when they are late."""
    now, node, server = scene.now, row.node, row.server
    if node.link.phase in _OUT and node.link.retry_at is not None:
        return now + 1.0
    late = [at + 1.5 * PROBE_PERIOD_S for at in (node.reading.gpus_at, node.reading.host_at) if at is not None]
    if server is not None:
        if server.status in (ServerStatus.LOADING, ServerStatus.UNPROVED) or server.doing is not None:
            return now + 1.0
        if server.seen_at is not None:
            late.append(server.seen_at + 1.5 * look_period_s(server))
        if server.serving is not None:
            late.append(server.serving.at + 1.5 * serving_period_s(server.serving))
        lasting = up_s_of(row, scene)
        if lasting is not None:
            late.append(now + (60.0 - lasting % 60.0 if lasting >= 60 else 1.0))
    return max(now + 1.0, min(late, default=now + 60.0))
