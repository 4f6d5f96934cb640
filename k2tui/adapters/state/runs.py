"""Runs in `state.db`: the node is right about its runs, and keeps few of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from k2tui.adapters.state.rows import text_of, text_or_none, transaction
from k2tui.core.run_document import run_from_json, run_json
from k2tui.core.runs import Run

if TYPE_CHECKING:
    import sqlite3

KEPT = 200
"""Runs of one server on one host."""


def keep_runs(db: sqlite3.Connection, host: str, runs: Sequence[Run]) -> None:
    """Keep these as they are now told; what is only planned is no run yet."""
    rows = [
        (text_of(host), text_of(run.server), text_of(run.run_id), run_json(run)) for run in runs if not run.is_planned
    ]
    with transaction(db):
        db.executemany("INSERT OR REPLACE INTO runs (host, server, run_id, document) VALUES (?, ?, ?, ?)", rows)
        for server in {row[1] for row in rows}:
            db.execute(
                "DELETE FROM runs WHERE host = ? AND server = ? AND run_id IN (SELECT run_id FROM runs"
                " WHERE host = ? AND server = ? ORDER BY run_id DESC LIMIT -1 OFFSET ?)",
                (text_of(host), server, text_of(host), server, KEPT),
            )


def kept_runs(db: sqlite3.Connection, host: str, server: str) -> tuple[Run, ...]:
    """Newest first: a run's id begins with its time."""
    found = db.execute(
        "SELECT document FROM runs WHERE host = ? AND server = ? ORDER BY run_id DESC LIMIT ?",
        (text_of(host), text_of(server), KEPT),
    ).fetchall()
    read = (run_from_json(document) for (row,) in found if (document := text_or_none(row)) is not None)
    return tuple(run for run in read if run is not None)
