from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest

from k2tui.adapters.config_file import audit_path
from k2tui.adapters.state import file as state_file
from k2tui.adapters.state import launches as state_launches
from k2tui.adapters.state.db import StateDb, state_path
from k2tui.adapters.state.launches import KEPT
from k2tui.adapters.state.schema import MIGRATIONS
from k2tui.core.errors import K2Error
from k2tui.core.history import usual
from k2tui.core.launch import LaunchKind, LaunchPhase
from k2tui.services.doors import LaunchHistory
from tests.adapters.recorder import one

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "state.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[StateDb]:
    store = StateDb(path, clock=lambda: 1_780_000_000.0)
    yield store
    await store.close()


@contextmanager
def recorder(path: Path, model: str, count: int, limit_bytes: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that records; with `limit_bytes` no file of it may grow beyond that."""
    command = [sys.executable, "-m", "tests.adapters.recorder", str(path), model, str(count)]
    command += [] if limit_bytes is None else [str(limit_bytes)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def out(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout


async def refused(store: LaunchHistory) -> K2Error:
    with pytest.raises(K2Error) as caught:
        await store.record(one(1))
    assert caught.value.code == "history"
    assert caught.value.message.startswith("history is not kept: ")
    return caught.value


def raw(path: Path, *statements: str) -> list[tuple[object, ...]]:
    """The last statement's rows, by a connection of the test's own."""
    with closing(sqlite3.connect(path)) as db:
        rows: list[tuple[object, ...]] = []
        for statement in statements:
            rows = db.execute(statement).fetchall()
        db.commit()
        return rows


def test_it_lies_beside_the_audit_log() -> None:
    assert state_path().name == "state.db"
    assert state_path().parent == audit_path().parent


async def test_what_was_recorded_comes_back_as_it_was(store: StateDb, path: Path) -> None:
    await store.record(one(3))
    assert await store.recall("gpu-a", "/m") == (one(3),)
    await store.close()
    again = StateDb(path)
    assert await again.recall("gpu-a", "/m") == (one(3),)
    await again.close()


async def test_unknown_figures_stay_unknown(store: StateDb) -> None:
    bare = replace(
        one(1), kind=LaunchKind.CRASHED, ready_s=None, cached_share=None, pace_per_s=None, version=None, slower=()
    )
    await store.record(replace(bare, key=replace(bare.key, engine=None), phases_s={}))
    assert await store.recall("gpu-a", "/m") == (replace(bare, key=replace(bare.key, engine=None), phases_s={}),)


async def test_each_phase_is_a_row(store: StateDb, path: Path) -> None:
    await store.record(one(3))
    rows = raw(path, "SELECT phase, took_s, slower FROM launch_phases ORDER BY phase")
    assert rows == [("args", 3.0, 0), ("weights", 3.5, 1)]


async def test_only_this_model_on_this_host_is_recalled_newest_first(store: StateDb) -> None:
    for number in (2, 3, 1):
        await store.record(one(number))
    await store.record(one(4, "/other"))
    await store.record(one(5, host="gpu-b"))
    assert await store.recall("gpu-a", "/m") == (one(3), one(2), one(1))


async def test_the_same_run_is_replaced_and_only_that(store: StateDb) -> None:
    await store.record(one(1))
    await store.record(one(1, server="twin"))
    ended = replace(one(1), kind=LaunchKind.STOPPED, phases_s={LaunchPhase.ARGS: 1.0}, slower=())
    await store.record(ended)
    assert set(map(repr, await store.recall("gpu-a", "/m"))) == {repr(ended), repr(one(1, server="twin"))}


async def test_of_each_model_and_host_the_newest_are_kept(store: StateDb, path: Path) -> None:
    await store.record(one(0, "/other"))
    for number in range(KEPT + 3):
        await store.record(one(number))
    kept = await store.recall("gpu-a", "/m")
    assert [past.run_id for past in kept] == [f"run-{number}" for number in range(KEPT + 2, 2, -1)]
    assert len(await store.recall("gpu-a", "/other")) == 1
    assert raw(path, "SELECT count(DISTINCT launch) FROM launch_phases") == [(KEPT + 1,)]


async def test_names_that_are_no_text_are_kept(store: StateDb) -> None:
    odd = one(1, "/m/\udcff\n'; DROP TABLE launches; --")
    await store.record(odd)
    (back,) = await store.recall("gpu-a", odd.key.model)
    assert back.phases_s == odd.phases_s


async def test_words_of_a_newer_k2tui_are_left_out(store: StateDb, path: Path) -> None:
    for number in (1, 2):
        await store.record(one(number))
    raw(path, "UPDATE launches SET kind = 'dreaming' WHERE run_id = 'run-1'")
    raw(path, "UPDATE launch_phases SET phase = 'prefetch' WHERE phase = 'args'")
    (back,) = await store.recall("gpu-a", "/m")
    assert back.phases_s == {LaunchPhase.WEIGHTS: 2.5}


async def test_only_its_owner_can_read_it(path: Path) -> None:
    old = os.umask(0)
    try:
        store = StateDb(path)
        await store.record(one(1))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        await store.close()
    finally:
        os.umask(old)
    assert set(modes.values()) == {0o600}
    assert {"state.db", "state.db-wal"} <= set(modes)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_file_that_others_can_read_is_closed_to_them(store: StateDb, path: Path) -> None:
    path.parent.mkdir()
    path.touch(mode=0o644)
    await store.record(one(1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_nothing_is_made_before_it_is_used(path: Path) -> None:
    await StateDb(path).close()
    assert not path.parent.exists()


async def test_sqlite_works_in_a_thread_of_its_own(store: StateDb, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    monkeypatch.setattr(state_launches, "record", lambda db, past: threads.append(threading.current_thread().name))
    await asyncio.gather(*(store.record(one(number)) for number in range(3)))
    assert len(threads) == 3
    assert len(set(threads)) == 1
    assert threads[0] != threading.current_thread().name


async def test_several_k2tui_record_at_once(store: StateDb, path: Path) -> None:
    with recorder(path, "/a", 30) as first, recorder(path, "/b", 30) as second:
        for number in range(20):
            await store.record(one(number, "/c"))
        assert [await asyncio.to_thread(process.wait) for process in (first, second)] == [0, 0]
    assert [len(await store.recall("gpu-a", model)) for model in ("/a", "/b", "/c")] == [30, 30, 20]


async def test_what_was_kept_survives_a_kill_in_mid_write(store: StateDb, path: Path) -> None:
    for kill_after in (1, 7, 20):
        with recorder(path, f"/{kill_after}", KEPT) as process:
            said = [await asyncio.to_thread(out(process).readline) for _ in range(kill_after)]
            process.kill()
            said += [line for line in out(process).read().splitlines(keepends=True) if line.endswith(b"\n")]
        kept = await store.recall("gpu-a", f"/{kill_after}")
        assert {f"run-{int(line)}" for line in said} <= {past.run_id for past in kept}
        assert all(set(past.phases_s) == {LaunchPhase.ARGS, LaunchPhase.WEIGHTS} for past in kept)
    assert raw(path, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("spoil", ["text", "torn", "middle"])
async def test_a_broken_file_is_set_aside_and_said(path: Path, spoil: str) -> None:
    first = StateDb(path)
    for number in range(40):
        await first.record(one(number))
    await first.close()
    data = path.read_bytes()
    broken = {"text": b"no database at all\n" * 100, "torn": data[:5000], "middle": data[:4096] + b"\xa5" * 40000}[
        spoil
    ]
    path.write_bytes(broken)
    store = StateDb(path, clock=lambda: 1_780_000_000.0)
    await store.record(one(99))
    (aside,) = path.parent.glob("state.db.broken-*")
    assert aside.read_bytes() == broken
    assert aside.name.startswith("state.db.broken-20260528T")
    (note,) = store.notes()
    assert aside.name in note
    assert store.notes() == ()
    assert await store.recall("gpu-a", "/m") == (one(99),)
    await store.close()


async def test_a_file_that_breaks_while_it_is_open_is_set_aside_too(store: StateDb, path: Path) -> None:
    await store.record(one(1))
    for file in path.parent.glob("state.db*"):
        file.write_bytes(b"\xa5" * 20000)
    await store.record(one(2))
    assert await store.recall("gpu-a", "/m") == (one(2),)
    assert len(store.notes()) == 1


async def test_two_that_find_it_broken_set_it_aside_once(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"no database at all\n" * 100)
    stores = [StateDb(path) for _ in range(6)]
    await asyncio.gather(*(store.record(one(n)) for n, store in enumerate(stores)))
    assert len([*path.parent.glob("state.db.broken-*")]) == 1
    assert len(await stores[0].recall("gpu-a", "/m")) == 6
    assert sum(len(store.notes()) for store in stores) == 1
    for store in stores:
        await store.close()


async def test_a_newer_schema_is_refused_and_left_as_it_is(store: StateDb, path: Path) -> None:
    path.parent.mkdir()
    raw(path, "CREATE TABLE later (x)", f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    error = await refused(store)
    assert f"schema {len(MIGRATIONS) + 1}" in error.message
    assert "newer k2tui" in error.message
    assert error.hint is not None
    assert raw(path, "SELECT name FROM sqlite_master") == [("later",)]


@pytest.mark.parametrize("schema", range(len(MIGRATIONS) + 1))
async def test_every_earlier_schema_becomes_the_present_one(store: StateDb, path: Path, schema: int) -> None:
    path.parent.mkdir()
    done = [statement for migration in MIGRATIONS[:schema] for statement in migration]
    raw(path, *done, f"PRAGMA user_version = {schema}")
    await store.record(one(1))
    assert await store.recall("gpu-a", "/m") == (one(1),)
    assert raw(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]


async def test_a_further_table_is_one_more_migration(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = StateDb(path)
    await first.record(one(1))
    await first.close()
    monkeypatch.setattr(state_file, "MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE jobs (x)", "CREATE TABLE benches (y)")))
    store = StateDb(path)
    assert await store.recall("gpu-a", "/m") == (one(1),)
    assert ("benches",) in raw(path, "SELECT name FROM sqlite_master")
    await store.close()


async def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = StateDb(path)
    await first.record(one(1))
    await first.close()
    before = raw(path, "SELECT name FROM sqlite_master")
    with monkeypatch.context() as patch:
        patch.setattr(state_file, "MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE jobs (x)", "CREATE NONSENSE")))
        store = StateDb(path)
        await refused(store)
        await store.close()
    assert raw(path, "SELECT name FROM sqlite_master") == before
    again = StateDb(path)
    assert await again.recall("gpu-a", "/m") == (one(1),)
    await again.close()


async def test_a_full_disk_is_said_and_kept_again_once_there_is_room(store: StateDb, path: Path) -> None:
    await store.record(one(0))
    pages = int(str(raw(path, "PRAGMA page_count")[0][0]))
    await store._run(lambda db: db.execute(f"PRAGMA max_page_count = {pages}").fetchone())  # a disk of that size
    big = replace(one(1), version="x" * 100_000)
    with pytest.raises(K2Error) as caught:
        await store.record(big)
    assert "full" in caught.value.message
    assert caught.value.hint == "free the disk"
    await store.record(big)
    assert await store.recall("gpu-a", "/m") == (big, one(0))


@pytest.mark.parametrize("limit_bytes", [0, 1024, 20_000])
def test_a_disk_that_takes_no_more_is_an_error_and_no_crash(path: Path, limit_bytes: int) -> None:
    with recorder(path, "/m", KEPT, limit_bytes) as process:
        _, said = process.communicate()
    assert b"K2Error: history is not kept: " in said


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
async def test_a_directory_that_can_not_be_written_is_said(store: StateDb, path: Path) -> None:
    path.parent.mkdir(mode=0o500)
    assert "Permission denied" in (await refused(store)).message


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here")
async def test_a_place_that_is_read_only_is_said() -> None:
    store = StateDb(Path("/proc/self/k2tui/state.db"))
    await refused(store)
    await store.close()


async def test_a_place_that_can_not_be_made_is_said(store: StateDb, path: Path) -> None:
    path.parent.touch()
    assert "exists" in (await refused(store)).message


async def test_a_link_or_a_directory_in_its_place_is_refused(store: StateDb, path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path.parent / "real")
    assert "symbolic link" in (await refused(store)).message
    path.unlink()
    path.mkdir()
    await refused(store)
    path.rmdir()
    os.mkfifo(path)
    assert "no regular file" in (await refused(store)).message


async def test_a_program_that_holds_it_too_long_is_said(
    store: StateDb, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_file, "BUSY_S", 0.1)
    await StateDb(path).record(one(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "locked" in (await refused(store)).message
    await store.record(one(2))
    assert len(await store.recall("gpu-a", "/m")) == 2


async def test_what_was_asked_for_before_the_end_is_written(path: Path) -> None:
    store = StateDb(path)
    writing = [asyncio.ensure_future(store.record(one(number))) for number in range(5)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*writing)
    await store.close()
    await refused(store)
    assert raw(path, "SELECT count(*) FROM launches") == [(5,)]


def test_it_is_loaded_without_sqlite() -> None:
    program = "import sys, k2tui.adapters.state.db; sys.exit('sqlite3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("value", ["'long'", "x'00ff'", "-3", "9e999", "1e12", "x'ff' || 'a'"])
async def test_a_value_that_is_no_time_is_left_out(store: StateDb, path: Path, value: str) -> None:
    await store.record(one(1))
    raw(
        path,
        f"UPDATE launch_phases SET took_s = {value} WHERE phase = 'args'",
        f"UPDATE launches SET ready_s = {value}",
    )
    (back,) = await store.recall("gpu-a", "/m")
    assert back.phases_s == {LaunchPhase.WEIGHTS: 1.5}
    assert back.ready_s is None
    assert usual((back,), LaunchPhase.WEIGHTS, back.key) is not None


@pytest.mark.parametrize("column", ["run_id", "server", "config", "began_at", "kind"])
async def test_a_row_that_does_not_say_what_it_is_of_is_left_out(store: StateDb, path: Path, column: str) -> None:
    for number in (1, 2):
        await store.record(one(number))
    raw(path, f"UPDATE launches SET {column} = x'ff00' WHERE run_id = 'run-1'")
    assert await store.recall("gpu-a", "/m") == (one(2),)


async def test_text_that_is_no_utf_8_breaks_nothing(store: StateDb, path: Path) -> None:
    await store.record(one(1))
    raw(path, "UPDATE launches SET version = CAST(x'ff61' AS TEXT)")
    (back,) = await store.recall("gpu-a", "/m")
    assert back.version == "\ufffda"


@pytest.mark.parametrize("table", ["launches", "launch_phases"])
async def test_a_file_with_a_table_missing_is_set_aside(path: Path, table: str) -> None:
    first = StateDb(path)
    await first.record(one(1))
    await first.close()
    raw(path, f"DROP TABLE {table}")
    store = StateDb(path)
    await store.record(one(2))
    assert await store.recall("gpu-a", "/m") == (one(2),)
    assert "no such table" in store.notes()[0]
    assert len([*path.parent.glob("state.db.broken-*")]) == 1
    await store.close()
