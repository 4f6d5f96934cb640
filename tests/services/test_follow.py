"""Every byte of a log once, whatever happens to the file and to the connection."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from k2tui.adapters.links import make_link
from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from k2tui.core.errors import K2Error
from k2tui.services.doors import NodeLink, RealClock
from k2tui.services.follow import CHUNK_BYTES, LogChunk, LogFollower, log_size, read_range
from k2tui.services.node_watch import NodeWatch
from tests.services import writer
from tests.sshd import MARK, Sshd
from tests.waiting import until

NEEDED = "sh dd stat tail head cat od tr sleep date uname df timeout"
"""All that a node needs to have, when it has no bash."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "a log"


@pytest.fixture(params=["bash", "sh"])
def shell(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """With bash on the node, and without."""
    if request.param == "sh":
        monkeypatch.setenv("PATH", str(bare_tools(tmp_path / "bin")))
    return str(request.param)


def bare_tools(folder: Path) -> Path:
    folder.mkdir()
    for name in NEEDED.split():
        found = shutil.which(name)
        assert found is not None, f"this machine has no {name}"
        (folder / name).symlink_to(os.path.realpath(found))
    return folder


@pytest_asyncio.fixture
async def link(shell: str) -> AsyncIterator[NodeLink]:
    local = LocalLink("here")
    yield local
    await local.close()


def follower(link: NodeLink, log: Path, *, inode: int = 0, offset: int = 0) -> LogFollower:
    return LogFollower(link, script("follow"), str(log), clock=RealClock(), inode=inode, offset=offset)


class Reader:
    """Gathers what a follower gives, in the background."""

    def __init__(self, source: LogFollower) -> None:
        self.source = source
        self.chunks: list[LogChunk] = []
        self._task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        async for chunk in self.source.chunks():
            self.chunks.append(chunk)

    @property
    def data(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks)

    @property
    def events(self) -> list[str]:
        return [chunk.event for chunk in self.chunks if chunk.event is not None]

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self.source.close()


async def test_what_is_there_and_what_comes_is_read(link: NodeLink, log: Path) -> None:
    log.write_bytes(b"one\n\xff\x00")
    reader = Reader(follower(link, log))
    await until(lambda: reader.data == b"one\n\xff\x00")
    with log.open("ab") as file:
        file.write(b"bar  51%\r")
    await until(lambda: reader.data == b"one\n\xff\x00bar  51%\r")
    with log.open("ab") as file:
        file.write(b"\0")
    await until(lambda: reader.data.endswith(b"\r\0"))
    assert reader.events == []
    assert (reader.source.inode, reader.source.offset) == (log.stat().st_ino, log.stat().st_size)
    await reader.close()


async def test_chunks_are_bounded_and_say_where_they_are(link: NodeLink, log: Path) -> None:
    log.write_bytes(os.urandom(3_000_000))
    reader = Reader(follower(link, log))
    await until(lambda: len(reader.data) == 3_000_000)
    assert reader.data == log.read_bytes()
    place = 0
    for chunk in reader.chunks:
        assert (chunk.offset, chunk.size, chunk.inode) == (place, 3_000_000, log.stat().st_ino)
        assert len(chunk.data) <= CHUNK_BYTES
        place += len(chunk.data)
    await reader.close()


async def test_a_log_that_is_read_gives_a_sign_of_life(link: NodeLink, log: Path) -> None:
    log.write_bytes(b"")
    reader = Reader(follower(link, log))
    await until(lambda: reader.chunks)
    assert reader.chunks[0] == LogChunk(b"", log.stat().st_ino, 0, 0)
    await reader.close()


async def test_reading_goes_on_where_it_was_left(link: NodeLink, log: Path) -> None:
    log.write_bytes(b"first second")
    reader = Reader(follower(link, log, inode=log.stat().st_ino, offset=6))
    await until(lambda: reader.data == b"second")
    assert reader.events == []
    await reader.close()


async def test_only_what_was_handed_on_counts(link: NodeLink, log: Path) -> None:
    data = os.urandom(3 * CHUNK_BYTES)
    log.write_bytes(data)
    first = follower(link, log)
    async with aclosing(first.chunks()) as chunks:  # type: ignore[type-var]  # it is an async generator
        taken = (await anext(chunks)).data
    assert first.offset == len(taken)
    rest = Reader(follower(link, log, inode=first.inode, offset=first.offset))
    await until(lambda: len(taken + rest.data) == len(data))
    assert taken + rest.data == data
    await rest.close()


async def test_a_log_that_is_not_there_yet_is_waited_for(link: NodeLink, log: Path) -> None:
    reader = Reader(follower(link, log))
    await until(lambda: reader.events == ["missing"])
    log.write_bytes(b"born")
    await until(lambda: reader.data == b"born")
    assert reader.events == ["missing"]
    await reader.close()


async def test_a_directory_is_said_to_be_no_log(link: NodeLink, log: Path) -> None:
    log.mkdir()
    reader = Reader(follower(link, log))
    await until(lambda: reader.events == ["not-a-file"])
    await reader.close()


async def test_a_cut_log_is_read_from_its_start(link: NodeLink, log: Path) -> None:
    log.write_bytes(b"a long first life\n")
    reader = Reader(follower(link, log))
    await until(lambda: reader.data)
    log.write_bytes(b"second\n")
    await until(lambda: reader.data == b"a long first life\nsecond\n")
    assert reader.events == ["truncated"]
    await reader.close()


async def test_a_renamed_log_is_read_to_its_end_and_then_the_new_one(link: NodeLink, log: Path) -> None:
    log.write_bytes(b"old\n")
    reader = Reader(follower(link, log))
    await until(lambda: reader.data == b"old\n")
    with log.open("ab") as file:
        log.rename(log.with_name("log.1"))
        file.write(b"last words of the old\n")
        file.flush()
        log.write_bytes(b"new\n")
        await until(lambda: reader.data.endswith(b"new\n"))
    assert reader.data == b"old\nlast words of the old\nnew\n"
    assert reader.events == ["rotated"]
    assert reader.source.inode == log.stat().st_ino
    await reader.close()


async def test_a_removed_log_is_let_go(link: NodeLink, log: Path) -> None:
    log.write_bytes(b"old\n")
    reader = Reader(follower(link, log))
    await until(lambda: reader.data == b"old\n")
    log.unlink()
    await until(lambda: reader.events == ["missing"])
    log.write_bytes(b"new\n")
    await until(lambda: reader.data == b"old\nnew\n")
    await reader.close()


async def test_another_file_in_the_same_place_is_noticed_at_the_next_start(link: NodeLink, log: Path) -> None:
    log.write_bytes(b"other")
    reader = Reader(follower(link, log, inode=log.stat().st_ino + 1, offset=3))
    await until(lambda: reader.data == b"other")
    assert reader.events == ["rotated"]
    await reader.close()


async def test_a_log_that_was_cut_and_grew_past_the_old_end_while_nobody_looked_is_noticed(log: Path) -> None:
    link = LocalLink("here")
    log.write_bytes(b"x" * 100)
    reader = Reader(follower(link, log))
    await until(lambda: len(reader.data) == 100)
    stream = reader.source._stream
    assert stream is not None
    log.write_bytes(b"y" * 200)  # same inode, larger: only the bytes before the offset tell
    await stream.close()
    await until(lambda: reader.data == b"x" * 100 + b"y" * 200)
    assert reader.events == ["truncated"]
    await reader.close()
    await link.close()


async def test_size_and_any_part_can_be_asked_for(link: NodeLink, log: Path) -> None:
    log.write_bytes(bytes(range(256)) * 4)
    assert await log_size(link, script("log_size"), str(log)) == (log.stat().st_ino, 1024)
    assert await read_range(link, script("read"), str(log), 250, 10) == bytes(
        [250, 251, 252, 253, 254, 255, 0, 1, 2, 3]
    )
    assert await read_range(link, script("read"), str(log), 1020, 100) == bytes([252, 253, 254, 255])
    assert await read_range(link, script("read"), str(log), 5000, 100) == b""
    for asked in (log_size(link, script("log_size"), "/no/such"), read_range(link, script("read"), "/no/such", 0, 1)):
        with pytest.raises(K2Error) as caught:
            await asked
        assert caught.value.code == "no_log"


async def test_a_tilde_is_the_nodes_home(link: NodeLink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "log").write_bytes(b"home\n")
    assert (await log_size(link, script("log_size"), "~/log"))[1] == 5
    assert await read_range(link, script("read"), "~/log", 0, 9) == b"home\n"
    reader = Reader(follower(link, Path("~/log")))
    await until(lambda: reader.data == b"home\n")
    await reader.close()


# over a real sshd


@pytest.mark.parametrize("transport", ["asyncssh", "openssh"])
async def test_a_hundred_thousand_lines_a_second_and_five_cuts_lose_no_byte(
    sshd: Sshd, tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setenv(MARK, sshd.mark)  # so that processes of this side are seen as well
    trusted = tmp_path / "known_hosts"
    trusted.write_text(sshd.known_hosts_line)
    link = make_link(sshd.node(transport=transport), trusted_hosts=trusted, ssh_config=())
    watch = NodeWatch(link, script("probe"), RealClock(), lambda: None, jitter=lambda: 0.0)
    watch.start()
    lines = 500_000
    process = await asyncio.create_subprocess_exec(sys.executable, writer.__file__, str(log), str(lines), "100000")
    ended = asyncio.ensure_future(process.wait())
    followed, cuts, step = hashlib.sha256(), 0, 10_000_000
    source = follower(link, log)
    async with aclosing(source.chunks()) as chunks:  # type: ignore[type-var]  # it is an async generator
        async for chunk in chunks:
            followed.update(chunk.data)
            assert chunk.event in (None, "missing")
            if cuts < 5 and source.offset > (cuts + 1) * step:
                cuts += 1
                if cuts % 2:
                    assert sshd.cut() > 0
                else:
                    await link.drop()
            if ended.done() and source.offset == log.stat().st_size:
                break
    assert cuts == 5
    assert followed.hexdigest() == hashlib.sha256(log.read_bytes()).hexdigest()
    await watch.close()
    await link.close()
    await until(lambda: not sshd.processes(), "an end without processes")
