"""Builds in `state.db`: what an engine accepts, by where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from k2tui.adapters.state.rows import text_of, text_or_none, transaction

if TYPE_CHECKING:
    import sqlite3

KEPT = 200
"""Installed engines; of more those that were read last."""
MOST_CHARS = 4 << 20
"""A longer document is not kept: it is read again."""


def known_build(db: sqlite3.Connection, host: str, python: str, engine: str) -> tuple[str, str] | None:
    """(stamp, document) as it was read last."""
    row = db.execute(
        "SELECT stamp, document FROM builds WHERE host = ? AND python = ? AND engine = ?",
        (text_of(host), text_of(python), text_of(engine)),
    ).fetchone()
    stamp, document = (None, None) if row is None else map(text_or_none, row)
    return None if stamp is None or document is None else (stamp, document)


def keep_build(
    db: sqlite3.Connection, host: str, python: str, engine: str, stamp: str, document: str, now: float
) -> None:
    """Keep it in the place of what was known."""
    if len(document) > MOST_CHARS:
        return
    with transaction(db):
        db.execute(
            "INSERT OR REPLACE INTO builds (host, python, engine, stamp, read_at, document) VALUES (?, ?, ?, ?, ?, ?)",
            (*map(text_of, (host, python, engine, stamp)), now, text_of(document)),
        )
        db.execute(
            "DELETE FROM builds WHERE (host, python, engine) IN (SELECT host, python, engine FROM builds"
            " ORDER BY read_at DESC LIMIT -1 OFFSET ?)",
            (KEPT,),
        )
