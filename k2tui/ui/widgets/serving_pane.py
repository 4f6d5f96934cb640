"""What a server does now: requests, tokens a second, cache and latencies, with their source and age."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.fields import serving_period_s
from k2tui.core.serving import Latency, RankServing, ServingReading
from k2tui.core.views import ServerStatus, ServerView
from k2tui.core.words import UNKNOWN
from k2tui.ui import present
from k2tui.ui.present import Freshness, freshness
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, Span, cell, clip, joined, spread, width_of, wrapped
from k2tui.ui.widgets.grid import Trend
from k2tui.ui.widgets.grid_cells import KV_FULL, rate_words
from k2tui.ui.widgets.pane import Pane

SOURCE_WORDS = {"loads": "/v1/loads", "metrics": "/metrics", "server_info": "/server_info", "log": "its log"}
LABEL = 10
COMPACT_ROWS = 6
"""Rows of a pane up to which latencies share one line."""
TREND_WIDTH = 30
_PERCENTILE = 9


def source_note(serving: ServingReading | None, now: float) -> Line:
    """`/metrics, <5 s old`: where the figures are from, and how old they are at most."""
    if serving is None:
        return ()
    period = serving_period_s(serving)
    old = now - serving.at
    fresh = freshness(old, period) is Freshness.FRESH
    words = f"<{period:.0f} s old" if old < period else f"{present.age(old)} old"
    source = SOURCE_WORDS.get(serving.source, serving.source)
    return ((source, "muted"), (", ", "muted"), (words, "muted" if fresh else "stale"))


def tokens_words(tokens: float | None) -> str:
    """`812`, `41 k`, `1.3 M`: a number of tokens in three figures."""
    if tokens is None:
        return UNKNOWN
    for limit, divisor, unit in ((999.5, 1, ""), (999_500, 1e3, " k")):
        if tokens < limit:
            return f"{tokens / divisor:.0f}{unit}"
    return f"{tokens / 1e6:.1f} M"


def _labelled(label: str, *parts: Line) -> Line:
    return ((f"{label:<{LABEL}}", "muted"), *joined(parts))


def _figure(value: str, unit: str, role: str) -> Line:
    return ((value, "muted" if value == UNKNOWN else role), (f" {unit}", "muted"))


def _rates(serving: ServingReading, role: str) -> Line:
    return _labelled(
        "tok/s",
        _figure(rate_words(serving.decode_tokens_per_s), "decode", "strong" if role == "text" else role),
        _figure(rate_words(serving.prefill_tokens_per_s), "prefill", role),
        (("all streams", "muted"),),
    )


def _requests(serving: ServingReading, role: str) -> Line:
    waiting = "warning" if serving.waiting and role == "text" else role
    most: Line = () if serving.most_running is None else ((f"{serving.most_running} at most", "muted"),)
    return _labelled(
        "requests",
        _figure(present.number(serving.running), "running", role),
        _figure(present.number(serving.waiting), "waiting", waiting),
        most,
    )


def _cache(serving: ServingReading, role: str, width: int) -> Line:
    usage, capacity = serving.kv_usage, serving.capacity_tokens
    full = usage is not None and usage >= KV_FULL and role == "text"
    parts: list[Line] = []
    if usage is not None and width >= 66:
        filled, rest = present.bar(usage, 12)
        parts.append(((filled, "warning" if full else "gpu-calm"), (rest, "bar-rest")))
    parts.append(((present.percent(usage), "warning" if full else role),))
    if capacity is not None:
        used = None if usage is None else usage * capacity
        parts.append(((f"{tokens_words(used)} of {tokens_words(capacity)} tokens", role),))
    parts.append((("prefix hit ", "muted"), (present.percent(serving.cache_hit), role)))
    return clip(_labelled("KV cache", *parts), width)


def _steps(serving: ServingReading, role: str) -> Line:
    """Speculative decoding and retractions, where there are any."""
    parts: list[Line] = []
    if serving.accept_length is not None:
        parts.append(_figure(f"{serving.accept_length:.2f}", "tokens a step accepted", role))
    if serving.retracted:
        over = "" if serving.window_s is None else f" in {present.age(serving.window_s)}"
        parts.append(((f"{serving.retracted} requests taken back for lack of KV memory{over}", "warning"),))
    return _labelled("steps", *parts) if parts else ()


def _latencies(serving: ServingReading) -> list[tuple[str, Latency]]:
    named = (("TTFT", serving.ttft), ("ITL", serving.itl), ("E2E", serving.e2e))
    return [(name, latency) for name, latency in named if latency is not None]


def _window_words(serving: ServingReading, latencies: Sequence[tuple[str, Latency]], now: float) -> str:
    counted = next((latency.count for name, latency in latencies if name != "ITL"), latencies[0][1].count)
    over = "" if serving.window_s is None else f" over {present.age(serving.window_s)}"
    at = serving.latencies_at
    late = "" if at is None or now - at < 1.5 * serving_period_s(serving) else f", {present.age(now - at)} old"
    return f"{counted} request{'' if counted == 1 else 's'}{over}{late}"


def latency_table(serving: ServingReading, role: str, now: float) -> list[Line]:
    """A row for each latency, with its percentiles."""
    latencies = _latencies(serving)
    if not latencies:
        return []
    head: list[Span] = [(" " * LABEL, "muted")]
    head += [cell(name, _PERCENTILE, "muted", right=True) for name in ("p50", "p95", "p99")]
    head.append((f"  {_window_words(serving, latencies, now)}", "muted"))
    lines: list[Line] = [tuple(head)]
    for name, latency in latencies:
        figures, unit = _in_one_unit((latency.p50_s, latency.p95_s, latency.p99_s))
        spans = [cell(one, _PERCENTILE, "muted" if one == UNKNOWN else role, right=True) for one in figures]
        lines.append(((f"{name:<{LABEL}}", "muted"), *spans, (f" {unit}", "muted")))
    return lines


def _latency_line(serving: ServingReading, role: str, now: float, width: int) -> Line:
    """`TTFT 100/250/400 ms  ITL 9/11/13 ms  p50/p95/p99 of 12 requests over 60 s`."""
    latencies = _latencies(serving)
    if not latencies:
        return ()
    parts: list[Line] = []
    for name, latency in latencies:
        figures = (latency.p50_s, latency.p95_s, latency.p99_s)
        parts.append(((f"{name} ", "muted"), (_three(figures), role)))
    words = _window_words(serving, latencies, now)
    for tail in (f"p50/p95/p99 of {words}", "p50/p95/p99", ""):
        line = joined([*parts, ((tail, "muted"),)] if tail else parts)
        if width_of(line) <= width:
            return line
    return clip(joined(parts), width)


def _in_one_unit(figures: Sequence[float | None]) -> tuple[list[str], str]:
    """Latencies in milliseconds, in seconds where one is long, and the unit."""
    largest = max((figure for figure in figures if figure is not None), default=0.0)
    scale, unit, digits = (1.0, "s", 1) if largest >= 10 else (1000.0, "ms", 1 if largest < 0.01 else 0)
    return [UNKNOWN if figure is None else f"{figure * scale:.{digits}f}" for figure in figures], unit


def _three(figures: Sequence[float | None]) -> str:
    """`104/210/384 ms`."""
    words, unit = _in_one_unit(figures)
    return UNKNOWN if all(figure is None for figure in figures) else f"{'/'.join(words)} {unit}"


def _rank(rank: RankServing) -> Line:
    words = f"{present.number(rank.running)}+{present.number(rank.waiting)}"
    usage = "" if rank.kv_usage is None else f" {present.percent(rank.kv_usage)}"
    return ((f"DP{rank.rank} ", "muted"), (f"{words}{usage}", "text"))


def warning_lines(serving: ServingReading, width: int, rows: int) -> list[Line]:
    """The rank that does otherwise than the rest, and a gauge that is stuck."""
    lines: list[Line] = []
    for said in (serving.bad_rank, serving.stuck):
        if said is not None:
            lines += [
                ((f"{'! ' if not number else '  '}{text}", "warning"),)
                for number, text in enumerate(wrapped(said, width - 2, 2))
            ]
    return lines[:rows]


def _believed(server: ServerView, now: float) -> tuple[ServingReading | None, str]:
    serving = server.serving
    if serving is None:
        return None, "muted"
    fresh = freshness(now - serving.at, serving_period_s(serving))
    if fresh is Freshness.GONE:
        return None, "muted"
    return serving, "stale" if fresh is Freshness.DIM or server.status is ServerStatus.STALE else "text"


def compact_lines(server: ServerView, now: float, width: int) -> list[Line]:
    """Everything in three or four lines; empty where nothing is known."""
    serving, role = _believed(server, now)
    if serving is None:
        return []
    waiting = "warning" if serving.waiting and role == "text" else role
    full = serving.kv_usage is not None and serving.kv_usage >= KV_FULL and role == "text"
    parts: list[Line] = [
        _figure(rate_words(serving.decode_tokens_per_s), "tok/s total", "strong" if role == "text" else role),
        _figure(present.number(serving.running), "running", role),
        _figure(present.number(serving.waiting), "waiting", waiting),
        (("KV ", "muted"), (present.percent(serving.kv_usage), "warning" if full else role)),
        _figure(rate_words(serving.prefill_tokens_per_s), "tok/s prefill", role),
        (("hit ", "muted"), (present.percent(serving.cache_hit), role)),
    ]
    if serving.accept_length is not None:
        parts.append((("accept ", "muted"), (f"{serving.accept_length:.2f}", role)))
    lines = spread(parts, width)
    latencies = _latency_line(serving, role, now, width)
    return [*lines, *warning_lines(serving, width, 2), *([latencies] if latencies else [])]


def serving_lines(server: ServerView, now: float, width: int, height: int, trend: Trend | None = None) -> list[Line]:
    """What fits of the figures: all with names where there is room, else in few lines."""
    serving, role = _believed(server, now)
    if serving is None:
        if server.serving is not None:
            return [((f"the last figures are {present.age(now - server.serving.at)} old", "stale"),)]
        serves = server.status in (ServerStatus.READY, ServerStatus.UNPROVED, ServerStatus.DEGRADED)
        return [(("no figures yet" if serves else "it does not serve", "muted"),)]
    warned = warning_lines(serving, width, 4)
    table = latency_table(serving, role, now)
    steps = _steps(serving, role)
    wanted = 3 + len(table) + len(warned) + (1 if steps else 0)
    if height < wanted or height <= COMPACT_ROWS:
        lines = compact_lines(server, now, width)
        return lines[:height]
    rates = _rates(serving, role)
    room = width - width_of(rates) - 2
    if trend is not None and room >= 12:
        wide = min(TREND_WIDTH, room)
        rates = (*rates, (" " * (width - width_of(rates) - wide), "text"), *trend(server.settings.name, wide))
    lines = [rates, _requests(serving, role), _cache(serving, role, width)]
    lines += [steps] if steps else []
    lines += [*warned, *table]
    ranks = spread([_rank(rank) for rank in serving.ranks], width - LABEL)
    for number, row in enumerate(ranks[: max(0, height - len(lines))]):
        lines.append(((f"{'ranks' if not number else '':<{LABEL}}", "muted"), *row))
    return [clip(line, width) for line in lines[:height]]


def measured_lines(server: ServerView, scene: Scene, width: int, *, named: bool) -> list[Line]:
    """The benchmark that goes on, the base beside the live figure, and the last benchmark; `named`: in columns."""
    if server.bench is None and server.base is None and server.last_bench is None:
        return []
    from k2tui.ui.widgets.bench_cells import bench_lines  # noqa: PLC0415  only where something was measured

    return bench_lines(server, scene.now, scene.wall, width, LABEL if named else 0)


class ServingPane(Pane):
    """The live figures of the selected server."""

    title = "Serving"

    def __init__(self, *, trend: Trend | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._trend = trend

    def show_server(self, server: ServerView | None, scene: Scene) -> None:
        """Draw its figures."""
        if server is None:
            self.show([])
            return
        measured = measured_lines(server, scene, self.inner_width, named=self.page > COMPACT_ROWS)
        kept = min(len(measured), 2 if self.page > COMPACT_ROWS + 2 else 1 if server.bench is not None else 0)
        lines = serving_lines(server, scene.now, self.inner_width, self.page - kept, self._trend)
        spare = max(kept, self.page - len(lines))
        self.show([*lines[:1], *measured[:spare], *lines[1:]], source_note(server.serving, scene.now))
