"""What stands in each cell of the table of benchmarks, and how a benchmark stands beside live figures. Pure."""

from __future__ import annotations

import time

from k2tui.core.benching.live import BenchLive
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.words import PROCEDURE_WORDS, best_point
from k2tui.core.views import ServerView
from k2tui.core.words import UNKNOWN, duration
from k2tui.ui import present
from k2tui.ui.spans import Line, Span, clip, joined, width_of

GATE_IDS = ("G1", "G2", "G3", "G4", "G5", "G6", "G7")
GATE_GLYPH = {True: ("✓", "good"), False: ("✗", "bad"), None: ("?", "warning")}
"""How a gate is drawn that was met, is red, and could not be told."""
NO_GATE: Span = ("·", "muted")
BAR = 10


def tps(value: float | None) -> str:
    """Tokens a second: `90.0`, `1 284`; a dash where there is none."""
    return present.number(value, digits=1 if value is not None and abs(value) < 999.95 else 0)


def figure_of(result: BenchResult) -> tuple[str, str]:
    """The headline and whose tok/s it is: (`90.0`, `one stream`), (`1 284`, `total, c=16`)."""
    if result.procedure is Procedure.PREFILL and result.slope is not None:
        return tps(result.slope.prefill_tps), "prefill"
    if result.decode_tps is not None:
        return tps(result.decode_tps), "one stream"
    best = best_point(result)
    return (UNKNOWN, "") if best is None else (tps(result.best_total_tps), f"total, c={best.c}")


def headline_words(result: BenchResult) -> str:
    """`90.0 tok/s one stream`; a dash where nothing was measured."""
    value, whose = figure_of(result)
    return f"{value} tok/s {whose}" if whose else UNKNOWN


def what_words(result: BenchResult) -> str:
    """`quick`, `sweep 1–32`, `prefill`; of an imported one the tool."""
    if result.procedure is Procedure.IMPORTED:
        return result.tool
    word = PROCEDURE_WORDS[result.procedure]
    streams = sorted(point.c for point in result.points)
    if not streams or streams[-1] == 1:
        return word
    return f"{word} {streams[0]}–{streams[-1]}" if len(streams) > 1 else f"{word} {streams[0]}"


def half_interval(result: BenchResult) -> str:
    """Half of the 95 % interval over its requests: `±0.4`."""
    low, high = result.decode_tps_low, result.decode_tps_high
    return UNKNOWN if low is None or high is None else f"±{(high - low) / 2:.1f}"


def gate_spans(result: BenchResult) -> Line:
    """One mark for each of G1 to G7."""
    told = {gate.id: gate.ok for gate in result.gates}
    return tuple(GATE_GLYPH[told[name]] if name in told else NO_GATE for name in GATE_IDS)


def figure_role(result: BenchResult) -> str:
    """A figure that may be compared stands out; a red one does not."""
    return "strong" if result.valid else "stale"


def when_words(at: float) -> str:
    """`11-30 14:00`, in this machine's time."""
    return time.strftime("%m-%d %H:%M", time.localtime(at))


def last_words(result: BenchResult, wall: float) -> str:
    """`90.0 tok/s one stream, c=1, 14:00`: with the day where that is another one."""
    same_day = time.localtime(wall)[:3] == time.localtime(result.began_at)[:3]
    when = present.clock_minute(result.began_at) if same_day else when_words(result.began_at)
    c = ", c=1" if result.decode_tps is not None and result.procedure is not Procedure.PREFILL else ""
    return f"{headline_words(result)}{c}, {when}"


# ---- beside live figures


def live_figure(live: BenchLive) -> str:
    """`90.1 tok/s one stream`, `1 204 tok/s of all 8 streams`; empty before the first."""
    if live.c is not None and live.c > 1 and live.total_tps is not None:
        return f"{tps(live.total_tps)} tok/s of all {live.c} streams"
    if live.decode_tps is not None:
        return f"{tps(live.decode_tps)} tok/s one stream"
    return f"{tps(live.total_tps)} tok/s of all streams" if live.total_tps is not None else ""


def live_line(live: BenchLive, now: float, width: int) -> Line:
    """`90.1 tok/s one stream so far  ━━━━━╸────  request 2 of 3  9 s`."""
    figure = live_figure(live)
    parts: list[Line] = [((figure, "strong"), (" so far", "muted")) if figure else (("measuring", "phase-loading"),)]
    tail: list[Line] = [((live.text, "text"),), ((duration(max(0.0, now - live.began_at)), "muted"),)]
    if live.fraction is not None:
        filled, rest = present.bar(live.fraction, BAR)
        with_bar = joined([*parts, ((filled, "bar"), (rest, "bar-rest")), *tail])
        if width_of(with_bar) <= width:
            return with_bar
    for kept in (tail, tail[:1]):
        line = joined([*parts, *kept])
        if width_of(line) <= width:
            return line
    return clip(line, width)


def live_cell(live: BenchLive, width: int) -> Line:
    """The same in the few columns of a grid: `bench 90.1 tok/s 2 of 3`."""
    one = live.total_tps if live.c is not None and live.c > 1 else live.decode_tps
    head: Line = (("bench ", "phase-loading"), (tps(one), "strong"), (" tok/s ", "muted"))
    if one is None:
        return clip((("bench ", "phase-loading"), (live.text, "text")), width)
    room = width - width_of(head)
    if live.fraction is not None and room >= 4:
        filled, rest = present.bar(live.fraction, min(BAR, room))
        return (*head, (filled, "bar"), (rest, "bar-rest"))
    return clip(head, width)


def base_parts(server: ServerView, label: int = 0) -> Line:
    """`base 90.0 tok/s one stream, now 63.6 = 71 %`; the share only where one stream runs, as the base had.

    `label`: columns of the first word.
    """
    base = server.base
    if base is None:
        return ()
    head: Line = ((f"{'base':<{label}}" if label else "base ", "muted"), (headline_words(base), "text"))
    serving = server.serving
    rate = None if serving is None else serving.decode_tokens_per_s
    if base.decode_tps is None or serving is None or rate is None or not serving.running:
        return head
    if serving.running > 1:
        return (*head, (f", {serving.running} streams now", "muted"))
    share = rate / base.decode_tps
    role = "bad" if share < 0.7 else "warning" if share < 0.9 else "good"
    return (*head, (", now ", "muted"), (f"{tps(rate)} = {present.percent(share)}", role))


def bench_lines(server: ServerView, now: float, wall: float, width: int, label: int = 0) -> list[Line]:
    """What is measured now, the base, and the last benchmark; empty where nothing was ever measured.

    `label`: columns of the first word of each line; 0: as wide as it is.
    """
    lines: list[Line] = []
    if server.bench is not None:
        head = f"{'bench':<{label}}" if label else "bench "
        lines.append(((head, "phase-loading"), *live_line(server.bench, now, width - len(head))))
    base = base_parts(server, label)
    if base:
        lines.append(base)
    last = server.last_bench
    if last is not None and server.bench is None and (server.base is None or last.bench_id != server.base.bench_id):
        red = "" if last.valid else ", failed" if last.error is not None else ", red gates"
        head = f"{'measured':<{label}}" if label else "last bench "
        lines.append(((head, "muted"), (last_words(last, wall), figure_role(last)), (red, "warning")))
    return [clip(line, width) for line in lines]
