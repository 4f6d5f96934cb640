"""What a launch sheet says beside its rows: preflight, build, requests, proofs, what follows a failure. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from k2tui.core.builds import Build
from k2tui.core.flag_values import takes_words
from k2tui.core.preflight import Preflight, PreflightItem, SettingCheck, Weight
from k2tui.core.serving import ServingReading
from k2tui.core.verbs import LaunchPlan, OnFailure
from k2tui.core.words import UNKNOWN
from k2tui.ui import present
from k2tui.ui.setting_rows import HEAVY, WEIGHT_GLYPH, WEIGHT_ROLE, SheetRow
from k2tui.ui.spans import Line, Span, clip, joined, spread, width_of, wrapped
from k2tui.ui.widgets.bench_cells import headline_words

if TYPE_CHECKING:
    from k2tui.core.benching.result import BenchResult

_MORE = "  · 99 more"
_RESOLVED, _MANY = " as resolved", 2
LABEL = 12
"""Columns of the words at the left: `Preflight`, `On failure`."""
READ_ONLY = "k2tui is read-only (--read-only, or read_only = true)"
FAILURE_WORDS = {OnFailure.ROLLBACK: "roll back", OnFailure.ASK: "ask", OnFailure.LEAVE: "leave"}


@dataclass(frozen=True)
class Look:
    """What the node said when it was looked at for this launch."""

    found: Preflight | None = None
    """The last look that came to its end."""
    at: float | None = None
    """Unix time of its end."""
    since: float | None = None
    """time.monotonic at which a look began that goes on now; None while none does."""
    trouble: str | None = None
    """Why the last look came to nothing."""

    @property
    def goes_on(self) -> bool:
        """True while what was found may be of an earlier draft."""
        return self.since is not None


def obstacle(plan: LaunchPlan, look: Look, *, read_only: bool) -> str | None:
    """Why this can't be started, in one sentence; None when nothing is known to stand in its way."""
    if read_only:
        return READ_ONLY
    checks = [f"{check.name} {check.text}" for check in plan.checks if check.weight is Weight.BLOCK]
    if checks:
        return checks[0]
    if look.found is None or look.goes_on:
        return None
    found = [item.text + (f"; {item.hint}" if item.hint else "") for item in look.found.blocks]
    found += [f"{check.name} {check.text}" for check in look.found.checks if check.weight is Weight.BLOCK]
    return found[0] if found else None


def checks_now(plan: LaunchPlan, look: Look) -> Sequence[SettingCheck]:
    """What is known of each setting: from the look when it is of this draft, for it has seen the node."""
    return look.found.checks if look.found is not None and not look.goes_on and look.found.checks else plan.checks


# ---- preflight


def look_lines(look: Look, width: int, most: int, now: float) -> list[Line]:
    """What stands in the way first, a line each; then all the rest in a row. Requests have a line of their own."""
    lines: list[Line] = []
    quiet: list[PreflightItem] = []
    if look.trouble is not None:
        lines += [((text, "warning"),) for text in wrapped(f"? not looked at: {look.trouble}", width - LABEL, 2)]
    if look.found is not None:
        loud = sorted((item for item in look.found.items if item.weight in HEAVY), key=_lightness)
        quiet = [item for item in look.found.items if item.weight not in HEAVY and item.name != "clients"]
        for item in loud:
            words = f"{WEIGHT_GLYPH[item.weight]} {item.text}" + (f"; {item.hint}" if item.hint else "")
            role = "stale" if look.goes_on else WEIGHT_ROLE[item.weight]
            lines += [((text, role),) for text in wrapped(words, width - LABEL, 2)]
    room = max(1, most - len(lines))
    state: list[Line] = []
    if look.goes_on:
        again = "looking again…" if look.found is not None else "looking…"
        waited = max(0.0, now - (look.since or now))
        state.append(((again if waited < 1 else f"{again} {present.age(waited)}", "key"),))
    elif look.at is not None and look.found is not None:
        state.append(((f"at {present.clock_second(look.at)}", "muted"),))
    items = [*state, *(_item(item, faded=look.goes_on) for item in quiet)]
    return labelled("Preflight", [*lines, *_dotted(items, width - LABEL, room)])


def _dotted(items: Sequence[Line], width: int, most: int) -> list[Line]:
    """`ssh ok  · disk 1.2 TB  · 2 more`, over a few rows."""
    rows = spread(items, width, gap=4)
    hidden = 0
    if len(rows) > most:
        rows = spread(items, width - len(_MORE), gap=4)
        hidden = sum(len(row) + 1 for row in rows[most:]) // 2
    lines = [tuple(("  · " if text == "    " else text, role) for text, role in row) for row in rows[:most]]
    if hidden:
        lines[-1] = (*lines[-1], (f"  · {hidden} more", "muted"))
    return [clip(line, width) for line in lines]


def _lightness(item: PreflightItem) -> int:
    return 0 if item.weight is Weight.BLOCK else 1


def _item(item: PreflightItem, *, faded: bool) -> Line:
    if faded:
        return ((item.text, "stale"),)
    mark = "? " if item.weight is Weight.UNKNOWN else ""
    return ((f"{mark}{item.text}", "muted" if item.weight is Weight.UNKNOWN else "text"),)


# ---- build


def build_line(build: Build | None, trouble: str | None, *, reading: bool) -> Line:
    """`sglang 0.5.23 (from its source)   modified: deepseek_v2.py`."""
    if build is None:
        if trouble is not None:
            return (("not read: ", "warning"), (trouble, "text"))
        return (("reading which flags it accepts…" if reading else "not read", "muted"),)
    how = {"source": "read from its source", "argparse": "asked from its parser", "table": "from k2tui's own table"}
    parts: list[Line] = [((f"{build.engine} {build.version or UNKNOWN}", "text"),)]
    if build.modified:
        names = ", ".join(path.rpartition("/")[2] for path in build.modified[:3])
        more = f" and {len(build.modified) - 3} more" if len(build.modified) > 3 else ""
        parts.append(((f"modified: {names}{more}", "warning"),))
    parts.append(((f"{len(build.flags)} flags {how.get(build.how, build.how)}", "muted"),))
    if build.note:
        parts.append(((build.note, "muted"),))
    return joined(parts)


# ---- the selected row


def help_lines(row: SheetRow | None, width: int, most: int) -> list[Line]:
    """What is known of a row: its check in full with the basis, what it takes, and the build's own words."""
    if row is None or most < 1:
        return []
    first: list[Line] = [((row.setting.name, "strong"),)]
    if row.flag is not None:
        first.append((("takes ", "muted"), (takes_words(row.flag), "text")))
        if row.flag.default not in (None, "None"):
            first.append(((f"default {row.flag.default}", "muted"),))
    lines: list[Line] = [clip(joined(first), width)]
    check = row.check
    if check is not None and (check.basis or check.weight in (*HEAVY, Weight.NOTE)):
        words = f"{WEIGHT_GLYPH[check.weight]} {check.text}" + (f" ({check.basis})" if check.basis else "")
        rows = max(1, (most - 1) if not row.about else (most - 1 + 1) // 2)
        lines += [((text, WEIGHT_ROLE[check.weight]),) for text in wrapped(words, width, rows)]
    if row.about:
        lines += [((text, "muted"),) for text in wrapped(row.about, width, most - len(lines))]
    return lines[:most] if len(lines) > 1 or row.flag is not None else []


# ---- how it is done


def request_words(serving: ServingReading | None) -> str:
    """`2 requests running, 1 waiting`; a dash where nobody says."""
    if serving is None or serving.running is None:
        return f"{UNKNOWN} requests running"
    waiting = f", {serving.waiting} waiting" if serving.waiting else ""
    return f"{serving.running or 'no'} request{'' if serving.running == 1 else 's'} running{waiting}"


def drain_line(serving: ServingReading | None, drain_s: float, could_s: float, key: str) -> Line:
    """`2 requests running: cut off   K drains up to 60 s first`."""
    words = request_words(serving)
    busy = serving is not None and bool(serving.running or serving.waiting)
    if drain_s > 0:
        return ((f"{words}: up to {drain_s:.0f} s to end", "text"), (f"   {key} cuts off", "muted"))
    fate = "" if serving is not None and not busy else ": cut off"
    return ((f"{words}{fate}", "warning" if busy else "text"), (f"   {key} drains up to {could_s:.0f} s", "muted"))


def failure_line(plan: LaunchPlan, chosen: OnFailure, key: str, width: int) -> Line:
    """`○ roll back to the run of 11-29 14:02   ● ask   ○ leave   F changes it`; the chosen one alone where narrow."""
    line: list[Span] = []
    for choice in FAILURE_WORDS:
        is_chosen = choice is chosen
        off = choice is OnFailure.ROLLBACK and plan.no_way_back is not None
        role = "strong" if is_chosen else "key-off" if off else "muted"
        mark = "● " if is_chosen else "○ "
        line += [(mark, "strong" if is_chosen else "muted"), (failure_words(plan, choice), role), ("   ", "text")]
    line.append((f"{key} changes it", "muted"))
    why: Line = ()
    if plan.no_way_back is not None:
        why = ((f"   {plan.no_way_back}", "warning" if chosen is OnFailure.ROLLBACK else "muted"),)
    if width_of((*line, *why)) > width - LABEL:
        ways = [way for way in FAILURE_WORDS if way is not OnFailure.ROLLBACK or plan.no_way_back is None]
        others = ", ".join(failure_words(plan, way) for way in ways if way is not chosen)
        line = [(failure_words(plan, chosen), "strong"), (f"   {key}: {others}", "muted")]
    return clip((*line, *why), width - LABEL)


def failure_words(plan: LaunchPlan, choice: OnFailure) -> str:
    """`roll back to the run of 11-29 14:02`."""
    if choice is OnFailure.ROLLBACK and plan.back_to is not None:
        return f"roll back to the run of {present.run_time(plan.back_to)}"
    return FAILURE_WORDS[choice]


def after_lines(plan: LaunchPlan, width: int, most: int) -> list[Line]:
    """What is looked at after the start. Values that are only read back are counted where there are many."""
    resolved = [words for words in plan.expects if words.endswith(_RESOLVED)]
    words = list(plan.expects or ("a plain answer",))
    if len(resolved) > _MANY:
        words = [*(one for one in words if one not in resolved), f"{len(resolved)} values as resolved"]
    return [((text, "text"),) for text in wrapped("; ".join(words), width, most)]


def figure_line(last: BenchResult | None, wanted: bool, key: str) -> Line:
    """`a quick figure, compared with 63.6 tok/s one stream   b: none`."""
    if not wanted:
        return (("no figure", "muted"), (f"   {key}: a quick one", "muted"))
    than = "" if last is None else f", compared with {headline_words(last)}"
    return ((f"a quick figure{than}", "text"), (f"   {key}: none", "muted"))


def labelled(label: str, lines: Sequence[Line]) -> list[Line]:
    """The lines in a column of their own, the label beside the first."""
    return [((f"{label if at == 0 else '':<{LABEL}}", "title"), *line) for at, line in enumerate(lines)]
