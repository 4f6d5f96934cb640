"""The tables of `state.db`, and how an earlier file becomes the present one."""

from __future__ import annotations

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE launches (
            id INTEGER PRIMARY KEY,
            host TEXT NOT NULL,
            model TEXT NOT NULL,
            engine TEXT,
            config TEXT NOT NULL,
            server TEXT NOT NULL,
            run_id TEXT NOT NULL,
            began_at REAL NOT NULL,
            kind TEXT NOT NULL,
            ready_s REAL,
            cached_share REAL,
            pace_per_s REAL,
            version TEXT,
            UNIQUE (host, server, run_id)
        )""",
        "CREATE INDEX launches_newest ON launches (host, model, began_at)",
        """CREATE TABLE launch_phases (
            launch INTEGER NOT NULL REFERENCES launches (id) ON DELETE CASCADE,
            phase TEXT NOT NULL,
            took_s REAL,
            slower INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (launch, phase)
        ) WITHOUT ROWID""",
    ),
    (
        # `place` is a block of time and a series in one number (see adapters/state/readings.py), `figures` is packed.
        """CREATE TABLE series (
            id INTEGER PRIMARY KEY CHECK (id < 1048576),
            subject TEXT NOT NULL,
            quantity TEXT NOT NULL,
            UNIQUE (subject, quantity)
        )""",
        "CREATE TABLE seconds (place INTEGER PRIMARY KEY, figures BLOB NOT NULL)",
        "CREATE TABLE minutes (place INTEGER PRIMARY KEY, figures BLOB NOT NULL)",
        """CREATE TABLE rates (
            config TEXT NOT NULL,
            running INTEGER NOT NULL,
            newest INTEGER NOT NULL,
            minutes INTEGER NOT NULL,
            figures BLOB NOT NULL,
            PRIMARY KEY (config, running)
        ) WITHOUT ROWID""",
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            subject TEXT NOT NULL,
            text TEXT NOT NULL,
            severity TEXT NOT NULL
        )""",
        "CREATE INDEX events_newest ON events (at)",
        """CREATE TABLE alerts (
            rule TEXT NOT NULL,
            subject TEXT NOT NULL,
            began_at REAL NOT NULL,
            text TEXT NOT NULL,
            severity TEXT NOT NULL,
            ended_at REAL,
            acknowledged_at REAL,
            PRIMARY KEY (rule, subject, began_at)
        ) WITHOUT ROWID""",
        "CREATE TABLE last_look (only INTEGER PRIMARY KEY CHECK (only = 1), at REAL NOT NULL)",
    ),
    (
        # What an engine accepts, by where it is installed; `stamp` changes when its files do.
        """CREATE TABLE builds (
            host TEXT NOT NULL,
            python TEXT NOT NULL,
            engine TEXT NOT NULL,
            stamp TEXT NOT NULL,
            read_at REAL NOT NULL,
            document TEXT NOT NULL,
            PRIMARY KEY (host, python, engine)
        ) WITHOUT ROWID""",
        # The node is right about its runs, and keeps twenty of a server: this is what is remembered of the others.
        """CREATE TABLE runs (
            host TEXT NOT NULL,
            server TEXT NOT NULL,
            run_id TEXT NOT NULL,
            document TEXT NOT NULL,
            PRIMARY KEY (host, server, run_id)
        ) WITHOUT ROWID""",
    ),
)
"""Statements that lead from each schema to the next; the schema's number (`user_version`) is how many were done.

One that was released is never changed: what comes later is put behind it.
"""
