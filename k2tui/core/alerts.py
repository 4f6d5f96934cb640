"""Rules over readings, and the alerts that they raise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from k2tui.core.events import Severity
from k2tui.core.lines import plain
from k2tui.core.secrets import mask

LONGEST_TEXT = 400
"""Characters of an alert's sentence: what a node prints may stand in it."""
SLOTS = ("text", "rule", "subject", "severity")
"""What `{...}` in a command's words is replaced by."""

_SLOT = re.compile(r"\{([a-z_]+)\}")
_LOUDNESS = (Severity.BAD, Severity.WARNING, Severity.INFO, Severity.GOOD)


@dataclass(frozen=True, slots=True)
class Alert:
    """A rule that holds of something, or held."""

    rule: str
    """The rule's name, such as `gpu_hot`; then, where a subject has several, which: `xid 79`, `disk_full /data`."""
    subject: str
    """`node/gpu-a`, `server/kimi`, `gpu/gpu-a/3`."""
    text: str
    """One sentence: what is so, and what to do."""
    severity: Severity
    began_at: float
    """Unix time."""
    ended_at: float | None = None
    """None while it holds."""
    acknowledged_at: float | None = None
    unseen_since: float | None = None
    """Unix time since which nobody can tell whether it still holds: its figures are old. None: it was seen just now."""

    @property
    def key(self) -> tuple[str, str, float]:
        """What tells it from every other."""
        return self.rule, self.subject, self.began_at

    @property
    def is_loud(self) -> bool:
        """Worth a bell, a command and a mark; the rest is only listed."""
        return self.severity in (Severity.WARNING, Severity.BAD)

    @property
    def is_open(self) -> bool:
        """It holds, and nobody has acknowledged it."""
        return self.ended_at is None and self.acknowledged_at is None


def subject_words(subject: str) -> str:
    """A subject as an operator says it: `gpu-a`, `kimi`, `gpu-a GPU 3`."""
    kind, _, name = subject.partition("/")
    if kind != "gpu":
        return name or subject
    node, _, index = name.rpartition("/")
    return f"{node} GPU {index}"


def sentence(alert: Alert) -> str:
    """The alert on one line, with what it is about in front: for a message that stands alone."""
    return f"{subject_words(alert.subject)}: {alert.text}"


def fit(text: str) -> str:
    """A sentence fit for a terminal, a command's argument and a file: one short line, secrets masked."""
    line = mask(" ".join(plain(text.replace("\n", " ")).split()))
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"


def in_order(alerts: Iterable[Alert]) -> tuple[Alert, ...]:
    """Those that want an eye first, then those that hold, then those that ended; each newest first."""
    return tuple(sorted(alerts, key=lambda one: (not one.is_open, one.ended_at is not None, -one.began_at)))


def as_json(alert: Alert) -> str:
    """The alert as one line of JSON, for commands."""
    return json.dumps(
        {
            "type": "alert",
            "rule": alert.rule,
            "subject": alert.subject,
            "severity": alert.severity.value,
            "text": sentence(alert),
            "began_at": alert.began_at,
            "ended_at": alert.ended_at,
        },
        ensure_ascii=False,
    )


def filled(command: Sequence[str], alert: Alert) -> tuple[str, ...]:
    """The command's words with `{text}` and the other slots filled in; other braces stay."""
    words = {
        "text": sentence(alert),
        "rule": alert.rule,
        "subject": subject_words(alert.subject),
        "severity": alert.severity.value,
    }
    return tuple(_SLOT.sub(lambda found: words.get(found[1], found[0]), word) for word in command)


def slots_of(text: str) -> tuple[str, ...]:
    """The names in braces of a text, in order."""
    return tuple(_SLOT.findall(text))


def several(alerts: Sequence[Alert]) -> Alert:
    """One alert in the place of many that came at once: the loudest of them, with their number."""
    loudest = min(alerts, key=lambda one: _LOUDNESS.index(one.severity))
    if len(alerts) == 1:
        return loudest
    rest = ", ".join(dict.fromkeys(one.rule for one in alerts))
    text = fit(f"{loudest.text} (and {len(alerts) - 1} more: {rest})")
    return Alert(loudest.rule, loudest.subject, text, loudest.severity, loudest.began_at)
