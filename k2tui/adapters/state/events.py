"""Events, alerts and the last look in `state.db`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from k2tui.adapters.state.rows import number_of, text_of, transaction
from k2tui.core.alerts import Alert
from k2tui.core.events import Event, Severity

if TYPE_CHECKING:
    import sqlite3

KEPT_S = 30 * 86400.0
"""How long events, and alerts that ended, are remembered ..."""
KEPT_EVENTS = 20_000
"""... and of events no more than the newest of these."""
SAME_S = 5.0
"""The same words of the same subject within this time are one event that several k2tui saw."""

_COLUMNS = "rule, subject, text, severity, began_at, ended_at, acknowledged_at"
_SEVERITIES = {severity.value: severity for severity in Severity}


def note(db: sqlite3.Connection, events: Sequence[Event]) -> None:
    """Keep them; one that another k2tui noted is not kept twice."""
    with transaction(db):
        for event in events:
            subject, text = text_of(event.subject), text_of(event.text)
            db.execute(
                "INSERT INTO events (at, subject, text, severity) SELECT ?, ?, ?, ? WHERE NOT EXISTS ("
                "SELECT 1 FROM events WHERE at BETWEEN ? AND ? AND subject = ? AND text = ?)",
                (
                    *(event.at, subject, text, event.severity.value),
                    *(event.at - SAME_S, event.at + SAME_S, subject, text),
                ),
            )


def noted(db: sqlite3.Connection, since: float, most: int) -> tuple[Event, ...]:
    """The newest since then, oldest first."""
    rows = db.execute(
        "SELECT at, subject, text, severity FROM events WHERE at >= ? ORDER BY at DESC, id DESC LIMIT ?",
        (since, max(0, most)),
    ).fetchall()
    found = [_event(row) for row in reversed(rows)]
    return tuple(event for event in found if event is not None)


def put_alert(db: sqlite3.Connection, alert: Alert) -> None:
    """Keep it in the place of the one with its key."""
    with transaction(db):
        _put(db, alert)


def claim_alert(db: sqlite3.Connection, alert: Alert) -> Alert | None:
    """Keep it, and give None; else what is there of its rule and subject: the one that holds, or the one of its key."""
    with transaction(db):
        row = db.execute(
            f"SELECT {_COLUMNS} FROM alerts WHERE rule = ? AND subject = ? AND (ended_at IS NULL OR began_at = ?)"
            " ORDER BY ended_at IS NULL DESC, began_at DESC LIMIT 1",
            (text_of(alert.rule), text_of(alert.subject), alert.began_at),
        ).fetchone()
        theirs = None if row is None else _alert(row)
        if theirs is None:
            _put(db, alert)
    return theirs


def _put(db: sqlite3.Connection, alert: Alert) -> None:
    db.execute(
        f"INSERT OR REPLACE INTO alerts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(text_of(alert.rule), text_of(alert.subject), text_of(alert.text), alert.severity.value),
            *(alert.began_at, alert.ended_at, alert.acknowledged_at),
        ),
    )


def put_alerts(db: sqlite3.Connection, since: float) -> tuple[Alert, ...]:
    """Those that hold, and those that began since then; oldest first."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM alerts WHERE ended_at IS NULL OR began_at >= ? ORDER BY began_at, rule, subject",
        (since,),
    )
    found = [_alert(row) for row in rows]
    return tuple(alert for alert in found if alert is not None)


def left_at(db: sqlite3.Connection) -> float | None:
    """When a k2tui last looked."""
    row = db.execute("SELECT at FROM last_look").fetchone()
    return None if row is None else number_of(row[0])


def looking(db: sqlite3.Connection, at: float) -> None:
    """A k2tui looks now. A clock that was set back counts as it is: the last word is the true one."""
    with transaction(db):
        db.execute("INSERT OR REPLACE INTO last_look (only, at) VALUES (1, ?)", (at,))


def drop_old(db: sqlite3.Connection, now: float) -> None:
    """Events and ended alerts of more than a month ago, and what is more than many."""
    with transaction(db):
        db.execute("DELETE FROM events WHERE at < ?", (now - KEPT_S,))
        db.execute(
            "DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?)",
            (KEPT_EVENTS,),
        )
        db.execute("DELETE FROM alerts WHERE ended_at < ?", (now - KEPT_S,))


def _event(row: Sequence[object]) -> Event | None:
    at, subject, text, severity = row
    when, loud = number_of(at), _SEVERITIES.get(severity) if isinstance(severity, str) else None
    if when is None or loud is None or not (isinstance(subject, str) and isinstance(text, str)):
        return None
    return Event(when, subject, text, loud)


def _alert(row: Sequence[object]) -> Alert | None:
    rule, subject, text, severity, began_at, ended_at, acknowledged_at = row
    began, loud = number_of(began_at), _SEVERITIES.get(severity) if isinstance(severity, str) else None
    if began is None or loud is None or not (isinstance(rule, str) and isinstance(subject, str)):
        return None
    if not isinstance(text, str):
        return None
    return Alert(rule, subject, text, loud, began, number_of(ended_at), number_of(acknowledged_at))
