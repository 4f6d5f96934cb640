"""Series of benchmarks in `state.db`: where each is, and which k2tui makes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from k2tui.adapters.state.rows import text_of, text_or_none, transaction
from k2tui.core.benching.series import SeriesState
from k2tui.core.benching.series_document import state_from_json, state_json

if TYPE_CHECKING:
    import sqlite3

KEPT = 500
"""Series; of more the newest."""


def keep_series(db: sqlite3.Connection, state: SeriesState) -> None:
    """Keep it as it stands, its owner with it."""
    plan = state.plan
    texts = (plan.series_id, plan.name, plan.server, state.stage.value)
    owner = None if state.owner is None else text_of(state.owner)
    with transaction(db):
        db.execute(
            "INSERT OR REPLACE INTO bench_series"
            " (series_id, name, server, stage, began_at, updated_at, owner, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*map(text_of, texts), state.began_at, state.updated_at, owner, text_of(json.dumps(state_json(state)))),
        )
        db.execute(
            "DELETE FROM bench_series WHERE series_id IN (SELECT series_id FROM bench_series"
            " ORDER BY began_at DESC, series_id DESC LIMIT -1 OFFSET ?)",
            (KEPT,),
        )


def series(db: sqlite3.Connection, most: int) -> tuple[SeriesState, ...]:
    """Newest first. What can't be read is left out."""
    rows = db.execute(
        "SELECT document, owner FROM bench_series ORDER BY began_at DESC, series_id DESC LIMIT ?", (max(0, most),)
    ).fetchall()
    found = (_state(row) for row in rows)
    return tuple(state for state in found if state is not None)


def claim_series(db: sqlite3.Connection, series_id: str, owner: str, seen: str | None) -> bool:
    """Make `owner` its owner, if that is still `seen`; of several that ask at once one alone succeeds."""
    with transaction(db):
        done = db.execute(
            "UPDATE bench_series SET owner = ? WHERE series_id = ? AND owner IS ?",
            (text_of(owner), text_of(series_id), None if seen is None else text_of(seen)),
        )
        return done.rowcount == 1


def _state(row: Sequence[object]) -> SeriesState | None:
    """The document, with the owner by its column: a claim writes that alone."""
    document, owner = map(text_or_none, row)
    state = None if document is None else state_from_json(document)
    return None if state is None else replace(state, owner=owner)
