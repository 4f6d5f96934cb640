"""The file of `state.db`: where it lies, who may hold it, what is done when it is broken."""

from __future__ import annotations

import asyncio
import fcntl
import os
import queue
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from k2tui.adapters.config_file import audit_path
from k2tui.adapters.state.rows import transaction
from k2tui.adapters.state.schema import MIGRATIONS
from k2tui.core.errors import K2Error

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

_HALF_MADE = ("no such table", "no such column", "has no column named", "already exists")

BUSY_S = 5.0
"""How long a second k2tui may hold the file."""

MOUNTS = Path("/proc/mounts")
_REMOTE = (
    "nfs",
    "cifs",
    "smb",
    "fuse.",
    "lustre",
    "beegfs",
    "gpfs",
    "ceph",
    "glusterfs",
    "afs",
    "9p",
    "wekafs",
    "panfs",
)
"""Begins of the types of file systems that several machines share: there SQLite's WAL, which shares memory, breaks."""


def state_path() -> Path:
    """Where this operator's `state.db` is: beside the audit log."""
    return audit_path().with_name("state.db")


class StateFile:
    """One file, opened at the first use, by one thread of its own.

    Several k2tui may use it at once. What can't be read or written is a K2Error (code `history`); a broken file is set
    aside, and a note says so.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._thread = _Thread("k2tui-state")
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._notes: list[str] = []
        self._noting = threading.Lock()
        self._closed = False

    def notes(self) -> tuple[str, ...]:
        """What there is to say since the last call."""
        with self._noting:
            notes, self._notes = tuple(self._notes), []
        return notes

    async def close(self) -> None:
        """Let go of the file, once what was asked for is written."""
        if self._closed:
            return
        self._closed = True
        try:
            await asyncio.wrap_future(self._thread.submit(self._let_go))
        finally:
            self._thread.end()

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed:
            raise self._refused("k2tui is closing", None)
        return await asyncio.wrap_future(self._thread.submit(lambda: self._work(work)))

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """In the thread: the work on an open file; once more on a new one when that was broken."""
        import sqlite3  # noqa: PLC0415  most commands need none

        for last in (False, True):
            try:
                return work(self._opened())
            except (OSError, sqlite3.Error) as error:
                self._let_go()
                if _is_corrupt(error) and not last:
                    self._try_to_set_aside(str(error))
                    continue
                raise self._refused(_reason(error), _hint(error)) from error
            except K2Error:
                self._let_go()
                raise
        raise AssertionError("unreachable")

    def _opened(self) -> sqlite3.Connection:
        import sqlite3  # noqa: PLC0415

        if self._connection is not None:
            return self._connection
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._alone():  # a file that is made, migrated or set aside is seen by one k2tui only
            self._inode = self._made()
            self._connection = db = sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None)
            db.text_factory = _decoded
            remote = _is_remote(self._path.parent)
            db.execute(f"PRAGMA journal_mode = {'DELETE' if remote else 'WAL'}")
            db.execute(f"PRAGMA synchronous = {'FULL' if remote else 'NORMAL'}")
            db.execute("PRAGMA foreign_keys = ON")
            self._migrate(db)
        return db

    def _made(self) -> int:
        """The file's inode; made empty and 0600 when there is none, so that SQLite's own files are like it."""
        if self._path.is_symlink():
            raise self._refused("it is a symbolic link", "move it away")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise self._refused("it is no regular file", "move it away")
            if found.st_uid != os.geteuid():
                raise self._refused("it belongs to another user", "move it away")
            if found.st_mode & 0o077:
                os.fchmod(descriptor, 0o600)
            return found.st_ino
        finally:
            os.close(descriptor)

    def _migrate(self, db: sqlite3.Connection) -> None:
        if self._schema(db) == len(MIGRATIONS):
            return
        with transaction(db):
            for number in range(self._schema(db), len(MIGRATIONS)):
                for statement in MIGRATIONS[number]:
                    db.execute(statement)
            db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _schema(self, db: sqlite3.Connection) -> int:
        schema = int(db.execute("PRAGMA user_version").fetchone()[0])
        if schema > len(MIGRATIONS):
            raise self._refused(
                f"a newer k2tui wrote it (schema {schema}, this one knows {len(MIGRATIONS)})",
                "use that k2tui, or move the file away",
            )
        return schema

    def _try_to_set_aside(self, reason: str) -> None:
        with suppress(OSError):  # then the second try says what is wrong
            self._set_aside(reason)

    def _set_aside(self, reason: str) -> None:
        """Rename the broken file with what belongs to it, unless another k2tui just did."""
        aside = self._path.with_name(f"{self._path.name}.broken-{_stamp(self._clock())}-{os.getpid()}")
        with self._alone():
            if os.stat(self._path).st_ino != self._inode:
                return
            for tail in ("-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.rename(f"{self._path}{tail}", f"{aside}{tail}")
            os.rename(self._path, aside)
        with self._noting:
            self._notes.append(f"{self._path} was broken ({reason}): it is now {aside.name}, and the history is empty")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path.with_name(f"{self._path.name}.lock"), flags, 0o600)
        try:
            end = time.monotonic() + BUSY_S
            while not _locked(descriptor):
                if time.monotonic() > end:
                    raise self._refused("another program holds its lock", "end the k2tui that hangs")
                time.sleep(0.02)
            yield
        finally:
            os.close(descriptor)

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _refused(self, reason: str, hint: str | None) -> K2Error:
        return K2Error(
            f"history is not kept: {self._path}: {reason}", code="history", subject=str(self._path), hint=hint
        )


class _Thread:
    """One thread for one thing at a time. The interpreter does not wait for it: a file system may hang for ever."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._due: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Do it after all that was asked for before."""
        future: Future[T] = Future()
        self._due.put((future, work))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        return future

    def end(self) -> None:
        """Take nothing more; what was asked for is done first."""
        self._due.put(None)

    def _run(self) -> None:
        while (due := self._due.get()) is not None:
            future, work = due
            if not future.set_running_or_notify_cancel():
                continue
            try:
                done = work()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(done)


def _is_remote(folder: Path) -> bool:
    """It lies on a file system of another machine, as far as this machine tells."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    place = f"{os.path.realpath(folder)}/"
    found = ("", "")
    for words in (line.split(" ") for line in lines):
        if len(words) < 3:
            continue
        point = words[1].replace("\\040", " ").rstrip("/") + "/"
        if place.startswith(point) and len(point) >= len(found[0]):  # of two at one place the later lies on top
            found = (point, words[2])
    return found[1].startswith(_REMOTE)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _stamp(at: float) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))


def _is_corrupt(error: Exception) -> bool:
    """Its bytes are no database (what Python gives for all else is a subclass), or its tables are not all there."""
    import sqlite3  # noqa: PLC0415

    half_made = isinstance(error, sqlite3.OperationalError) and any(words in str(error) for words in _HALF_MADE)
    return half_made or type(error) is sqlite3.DatabaseError


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__


def _hint(error: Exception) -> str | None:
    reason = _reason(error).lower()
    if "full" in reason or "space" in reason or "quota" in reason:
        return "free the disk"
    if "locked" in reason:
        return "another program holds it"
    return None if "no such" in reason else "make it writable, or move it away"
