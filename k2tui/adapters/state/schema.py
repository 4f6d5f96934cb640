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
    (
        # A benchmark's document is whole but for its requests and samples; columns repeat what is asked for.
        """CREATE TABLE bench_runs (
            bench_id TEXT PRIMARY KEY,
            subject TEXT NOT NULL,
            node TEXT,
            procedure TEXT NOT NULL,
            began_at REAL NOT NULL,
            tool TEXT NOT NULL,
            tool_version TEXT NOT NULL,
            formula_set TEXT NOT NULL,
            run_id TEXT,
            series_id TEXT,
            profile TEXT,
            elapsed_s REAL,
            decode_tps REAL,
            e2e_tps REAL,
            ttft_any_ms REAL,
            ttft_answer_ms REAL,
            best_total_tps REAL,
            prefill_tps REAL,
            valid INTEGER NOT NULL,
            error TEXT,
            workload_key TEXT,
            system_key TEXT,
            config_hash TEXT,
            changed TEXT,
            document TEXT NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX bench_runs_newest ON bench_runs (subject, began_at)",
        "CREATE INDEX bench_runs_alike ON bench_runs (system_key, workload_key)",
        """CREATE TABLE bench_requests (
            bench_id TEXT NOT NULL REFERENCES bench_runs (bench_id) ON DELETE CASCADE,
            place INTEGER NOT NULL,
            c INTEGER NOT NULL,
            number INTEGER NOT NULL,
            began_s REAL NOT NULL,
            e2e_ms REAL,
            isl INTEGER,
            osl INTEGER,
            reasoning_tokens INTEGER,
            cached INTEGER,
            ttft_any_ms REAL,
            ttft_answer_ms REAL,
            decode_tps REAL,
            e2e_tps REAL,
            chunks INTEGER NOT NULL,
            c_first_assumed INTEGER NOT NULL,
            usage_missing INTEGER NOT NULL,
            finish TEXT,
            matched TEXT,
            error TEXT,
            is_warm_up INTEGER NOT NULL,
            PRIMARY KEY (bench_id, place)
        ) WITHOUT ROWID""",
        """CREATE TABLE bench_points (
            bench_id TEXT NOT NULL REFERENCES bench_runs (bench_id) ON DELETE CASCADE,
            place INTEGER NOT NULL,
            c INTEGER NOT NULL,
            agg_tps_steady REAL,
            agg_tps_total REAL,
            steady INTEGER NOT NULL,
            window_s REAL,
            decode_tps REAL,
            sent INTEGER NOT NULL,
            failed INTEGER,
            output_tokens INTEGER,
            PRIMARY KEY (bench_id, place)
        ) WITHOUT ROWID""",
        # A distribution of one point: the unit is in its name.
        """CREATE TABLE bench_spreads (
            bench_id TEXT NOT NULL,
            place INTEGER NOT NULL,
            name TEXT NOT NULL,
            n INTEGER,
            smallest REAL,
            p50 REAL NOT NULL,
            p90 REAL,
            p99 REAL,
            largest REAL,
            PRIMARY KEY (bench_id, place, name),
            FOREIGN KEY (bench_id, place) REFERENCES bench_points (bench_id, place) ON DELETE CASCADE
        ) WITHOUT ROWID""",
        """CREATE TABLE bench_samples (
            bench_id TEXT NOT NULL REFERENCES bench_runs (bench_id) ON DELETE CASCADE,
            place INTEGER NOT NULL,
            at_s REAL NOT NULL,
            gpu INTEGER NOT NULL,
            clock_mhz REAL,
            power_w REAL,
            temp_c REAL,
            held_back TEXT NOT NULL,
            PRIMARY KEY (bench_id, place)
        ) WITHOUT ROWID""",
        # What a system key is the hash of: flags and variables in `argv` and `env` as JSON.
        """CREATE TABLE bench_systems (
            system_key TEXT PRIMARY KEY,
            model TEXT,
            revision TEXT,
            quantization TEXT,
            engine TEXT,
            version TEXT,
            argv TEXT NOT NULL,
            env TEXT NOT NULL,
            image TEXT,
            gpus TEXT,
            driver TEXT,
            power_limit_w REAL,
            topology TEXT
        ) WITHOUT ROWID""",
        """CREATE TABLE bench_base (
            subject TEXT PRIMARY KEY,
            bench_id TEXT NOT NULL REFERENCES bench_runs (bench_id) ON DELETE CASCADE
        ) WITHOUT ROWID""",
        """CREATE TABLE bench_series (
            series_id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            server TEXT NOT NULL,
            stage TEXT NOT NULL,
            began_at REAL NOT NULL,
            updated_at REAL NOT NULL,
            owner TEXT,
            document TEXT NOT NULL
        ) WITHOUT ROWID""",
    ),
)
"""Statements that lead from each schema to the next; the schema's number (`user_version`) is how many were done.

One that was released is never changed: what comes later is put behind it.
"""
