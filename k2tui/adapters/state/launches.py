"""Launches in `state.db`, phase by phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from k2tui.adapters.state.rows import number_of, text_of, text_or_none, transaction
from k2tui.core.history import LONGEST_S, LaunchKey, PastLaunch
from k2tui.core.launch import LaunchKind, LaunchPhase

if TYPE_CHECKING:
    import sqlite3

KEPT = 50
"""Launches of one model on one host."""

_PHASES = {phase.value: phase for phase in LaunchPhase}
_KINDS = {kind.value: kind for kind in LaunchKind}


def record(db: sqlite3.Connection, past: PastLaunch) -> None:
    """Keep it, and of its model and host only the newest; one of the same server and run is replaced."""
    key = past.key
    host, model, server, run_id = text_of(key.host), text_of(key.model), text_of(past.server), text_of(past.run_id)
    row = (
        *(host, model, text_or_none(key.engine), text_of(key.config), server, run_id, past.began_at, past.kind.value),
        *(past.ready_s, past.cached_share, past.pace_per_s, text_or_none(past.version)),
    )
    with transaction(db):
        db.execute("DELETE FROM launches WHERE host = ? AND server = ? AND run_id = ?", (host, server, run_id))
        added = db.execute(
            "INSERT INTO launches (host, model, engine, config, server, run_id, began_at, kind, ready_s, cached_share,"
            " pace_per_s, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        db.executemany(
            "INSERT INTO launch_phases (launch, phase, took_s, slower) VALUES (?, ?, ?, ?)",
            [
                (added.lastrowid, phase.value, past.phases_s.get(phase), phase in past.slower)
                for phase in LaunchPhase
                if phase in past.phases_s or phase in past.slower
            ],
        )
        db.execute(
            "DELETE FROM launches WHERE id IN (SELECT id FROM launches"
            " WHERE host = ? AND model = ? ORDER BY began_at DESC, id DESC LIMIT -1 OFFSET ?)",
            (host, model, KEPT),
        )


def recalled(db: sqlite3.Connection, host: str, model: str) -> tuple[PastLaunch, ...]:
    """Launches of this model on this host, newest first."""
    host, model = text_of(host), text_of(model)
    launches = db.execute(
        "SELECT id, engine, config, server, run_id, began_at, kind, ready_s, cached_share, pace_per_s, version"
        " FROM launches WHERE host = ? AND model = ? ORDER BY began_at DESC, id DESC LIMIT ?",
        (host, model, KEPT),
    ).fetchall()
    phases: dict[object, list[Sequence[object]]] = {}
    for number, *phase in db.execute(
        "SELECT launch, phase, took_s, slower FROM launch_phases JOIN launches ON id = launch"
        " WHERE host = ? AND model = ?",
        (host, model),
    ):
        phases.setdefault(number, []).append(phase)
    read = (_past(host, model, row, phases.get(row[0], ())) for row in launches)
    return tuple(past for past in read if past is not None)


def _past(host: str, model: str, row: Sequence[object], phases: Sequence[Sequence[object]]) -> PastLaunch | None:
    """A column holds whatever was written to it: what can't be so is left out, with its row where it names that."""
    _, engine, config, server, run_id, began_at, kind, ready_s, cached_share, pace_per_s, version = row
    began, of_kind = number_of(began_at), _KINDS.get(kind) if isinstance(kind, str) else None
    if not (isinstance(config, str) and isinstance(server, str) and isinstance(run_id, str)):
        return None
    if began is None or of_kind is None:
        return None
    known = [
        (_PHASES[name], took_s, slower) for name, took_s, slower in phases if isinstance(name, str) and name in _PHASES
    ]
    took = [(phase, number_of(took_s, most=LONGEST_S)) for phase, took_s, _ in known]
    return PastLaunch(
        run_id=run_id,
        server=server,
        key=LaunchKey(host, model, text_or_none(engine), config),
        began_at=began,
        kind=of_kind,
        phases_s={phase: took_s for phase, took_s in took if took_s is not None},
        ready_s=number_of(ready_s, most=LONGEST_S),
        cached_share=number_of(cached_share, most=1.0),
        pace_per_s=number_of(pace_per_s),
        version=text_or_none(version),
        slower=tuple(phase for phase in LaunchPhase for name, _, slower in known if phase is name and slower == 1),
    )
