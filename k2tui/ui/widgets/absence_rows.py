"""What happened while nobody looked, in a sentence and as a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from k2tui.core.absence import Absence
from k2tui.core.events import Event, Severity
from k2tui.core.secrets import mask
from k2tui.core.words import duration
from k2tui.ui import present
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, cut, wrapped
from k2tui.ui.widgets.event_rows import SEVERITY_GLYPH, TEXT_ROLE, day_and_second
from k2tui.ui.widgets.pane import SIDE, Pane

if TYPE_CHECKING:
    from k2tui.ui.app import K2App

MOST_ROWS = 4
"""Of the sentence; more is on the list."""
_LOUDEST = (Severity.BAD, Severity.WARNING, Severity.GOOD, Severity.INFO)


@dataclass(frozen=True, slots=True)
class Told:
    """The same thing that happened to somebody once or more often."""

    text: str
    severity: Severity


def told(absence: Absence) -> list[Told]:
    """`kimi restarted 2× (last 03:12, +NCCL_PROTO=LL)`, `gpu-b XID 79 at 04:39`: the loudest first."""
    groups: dict[tuple[str, str], list[Event]] = {}
    for event in absence.events:
        groups.setdefault((event.subject, _head(event)), []).append(event)
    found = [
        Told(_words(head, events), max((e.severity for e in events), key=_loudness))
        for (_, head), events in groups.items()
    ]
    return sorted(found, key=lambda one: -_loudness(one.severity))


def _loudness(severity: Severity) -> int:
    return -_LOUDEST.index(severity)


def _head(event: Event) -> str:
    """What happened, without the particulars after a colon; with the subject in front."""
    head = event.text.replace("\n", "; ").partition(": ")[0].strip()
    subject = event.subject
    return head if not subject or head.split(" ", 1)[0] == subject else f"{subject} {head}"


def _words(head: str, events: Sequence[Event]) -> str:
    newest = events[-1]
    at, rest = present.clock_minute(newest.at), newest.text.replace("\n", "; ").partition(": ")[2].strip()
    if len(events) > 1:
        return mask(f"{head} {len(events)}× (last {at}{', ' + rest if rest else ''})")
    return mask(f"{head} at {at}{': ' + rest if rest else ''}")


def away_words(absence: Absence) -> str:
    """`since you left 9 h ago`."""
    return f"since you left {present.age(absence.back_at - absence.left_at)} ago"


def sentence(absence: Absence) -> str:
    """All of it in one sentence."""
    parts = [one.text for one in told(absence)]
    if absence.complete:
        return "; ".join(parts) or "nothing happened that anybody wrote down"
    return "; ".join([*parts, "not all nodes have been asked yet"])


def absence_text(absence: Absence) -> list[str]:
    """The whole list, to read: oldest first."""
    back, left = absence.back_at, absence.left_at
    lines = [f"{away_words(absence)}, at {day_and_second(left, back)}; away for {duration(back - left)}", ""]
    for event in absence.events:
        subject = f"{event.subject}  " if event.subject else ""
        lines.append(f"{day_and_second(event.at, back)}  {SEVERITY_GLYPH[event.severity]} {subject}{event.text}")
    if not absence.events:
        lines.append("nothing happened that anybody wrote down")
    if not absence.complete:
        lines.append("not all nodes have been asked yet")
    return lines


class AbsencePane(Pane):
    """The sentence on the home screen, until the operator takes it away."""

    title = "Since you left"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._absence: Absence | None = None
        self._dismissed_left_at: float | None = None

    def is_wanted(self, absence: Absence | None) -> bool:
        """False once this absence was taken away."""
        return absence is not None and absence.left_at != self._dismissed_left_at

    def wanted_rows(self, absence: Absence | None, width: int) -> int:
        """Rows with the title on a screen of so many columns; 0: it is not to be shown."""
        if absence is None or not self.is_wanted(absence):
            return 0
        return 1 + len(_rows(absence, width - 2 * SIDE))

    def show_absence(self, absence: Absence | None, scene: Scene) -> None:
        """Draw it."""
        self._absence = absence
        self.lay_out()

    def dismiss(self) -> None:
        """The operator has read it: it is not shown again in this session."""
        if self._absence is not None:
            self._dismissed_left_at = self._absence.left_at

    @property
    def text(self) -> list[str]:
        """The whole list, for `enter`."""
        return [] if self._absence is None else absence_text(self._absence)

    def lay_out(self) -> None:
        absence = self._absence
        if absence is None:
            self.show([])
            return
        self.title = away_words(absence).capitalize()
        app: K2App = self.app  # type: ignore[assignment]  # Textual types it as App[Any]
        opens, away, back = (
            present.key_text(app.actions[one].keys[0]) for one in ("app.open", "alert.acknowledge", "app.back")
        )
        said = ((opens, "key"), (" all of it  ", "muted"), (f"{away} {back}", "key"), (" take it away", "muted"))
        self.show(_rows(absence, self.inner_width), said)


def _rows(absence: Absence, width: int) -> list[Line]:
    """The sentence over a few rows, each part in the colour of how loud it is."""
    text = sentence(absence)
    rows = wrapped(text, width, MOST_ROWS)
    roles: list[str] = []
    for one in told(absence):
        roles += [TEXT_ROLE[one.severity]] * (len(one.text) + 2)
    roles += ["muted"] * (len(text) - len(roles)) if len(roles) < len(text) else []
    lines: list[Line] = []
    begun = 0
    for row in rows:
        whole = row.rstrip("…")
        begun = max(begun, text.find(whole, begun))
        lines.append(_coloured(row, roles[begun : begun + len(row)]))
        begun += len(whole)
    return lines or [((cut(text, width), "muted"),)]


def _coloured(text: str, roles: Sequence[str]) -> Line:
    line: list[tuple[str, str]] = []
    for place, char in enumerate(text):
        role = roles[place] if place < len(roles) else "text"
        if line and line[-1][1] == role:
            line[-1] = (line[-1][0] + char, role)
        else:
            line.append((char, role))
    return tuple(line)
