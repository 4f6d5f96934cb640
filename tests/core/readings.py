"""A reading of a log against the right one that a case states."""

from __future__ import annotations

from collections.abc import Mapping

from k2tui.core.diagnosis import diagnose

PARTS = ("kind", "phase", "progress", "line")


def read_case(data: bytes, want: Mapping[str, object]) -> Mapping[str, object]:
    """The document for a case, with the context that its JSON gives."""
    context = {name: want[name] for name in ("observed_at", "process_alive", "probe") if name in want}
    return diagnose([data], context).to_json()


def words(line: object) -> str | None:
    """A line without what a comparison ignores: surrounding and repeated blanks."""
    return None if line is None else " ".join(str(line).split())


def accepted(want: Mapping[str, object], name: str, others: str) -> list[object]:
    """What the case takes as right: its own reading, and others that are right too."""
    more = want.get(others)
    return [want[name], *(more if isinstance(more, list) else [])]


def is_right(got: Mapping[str, object], want: Mapping[str, object], *, prefixed: bool = False) -> list[str]:
    """What is wrong with a reading; empty when it is right."""
    return list(wrong_parts(got, want, prefixed=prefixed).values())


def wrong_parts(got: Mapping[str, object], want: Mapping[str, object], *, prefixed: bool = False) -> dict[str, str]:
    """The parts of a reading that are wrong, each with what it says and should say."""
    wrong: dict[str, str] = {}
    phase = "weights" if got["phase"] == "postprocess" else got["phase"]
    if got["kind"] != want["kind"]:
        wrong["kind"] = f"kind {got['kind']}, not {want['kind']}"
    if phase not in accepted(want, "phase_reached", "phase_any"):
        wrong["phase"] = f"phase {phase}, not {want['phase_reached']}"
    progress, bar = got["progress"], want["progress"]
    seen = {name: progress[name] for name in ("done", "total", "unit")} if isinstance(progress, Mapping) else None
    if seen != bar:
        wrong["progress"] = f"progress {seen}, not {bar}"
    cause = got["root_cause"]
    line = words(cause["line"]) if isinstance(cause, Mapping) else None
    lines = [words(text) for text in accepted(want, "error_line", "error_line_any")]
    if line not in lines and not (prefixed and line is not None and any(text and text in line for text in lines)):
        wrong["line"] = f"line {line!r}, not {lines[0]!r}"
    return wrong
