"""What goes into rows of `state.db` and what comes out of them: a column holds whatever was written to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, and no other writer in between."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def text_of(text: str) -> str:
    """As SQLite takes it: without halves of surrogate pairs, which names of files may hold."""
    return text.encode("utf-8", "backslashreplace").decode()


def text_or_none(value: object) -> str | None:
    """The same; None for what is no text."""
    return text_of(value) if isinstance(value, str) else None


def number_of(value: object, *, most: float = math.inf) -> float | None:
    """Finite, from 0 to `most`; None for all else."""
    if not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= most else None
