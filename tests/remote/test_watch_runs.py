"""A node tells of its runs when they change, and is asked nothing in between."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.runs import Run, is_whole, parse_scan
from k2tui.services.run_scan import watching_script
from tests.fakes.shell_link import ShellLink
from tests.remote.node import EVERY_SHELL, Node
from tests.waiting import until


class Watching:
    """The script as it runs on a node."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdout is not None
        assert process.stdin is not None
        self._out, self.input = process.stdout, process.stdin

    async def word(self) -> tuple[Run, ...] | None:
        """The next that it says: a list, or None for "same"."""
        told = b""
        while not is_whole(told):
            line = await self._out.readline()
            if line == b"same\n":
                assert not told
                return None
            assert line, "it ended"
            told += line
        return parse_scan(told)

    async def change(self) -> tuple[Run, ...]:
        """The next list."""
        while (told := await self.word()) is None:
            pass
        return told

    async def end(self) -> int:
        self.input.close()
        return await self.process.wait()


@pytest.fixture
async def watching(node: Node) -> AsyncIterator[Watching]:
    assert isinstance(node.link, ShellLink)
    text, tools = watching_script(script).text, node.link.bin
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(str(tools / "sh"), "-c", text, "k2tui-watch_runs", str(node.home), "1"),
        stdin=pipe,
        stdout=pipe,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        limit=1 << 22,
        start_new_session=True,
    )
    made = Watching(process)
    yield made
    await made.end()


@EVERY_SHELL
async def test_a_run_that_begins_and_ends_is_told_and_nothing_else(node: Node, watching: Watching) -> None:
    assert await watching.word() == ()
    assert await watching.word() is None
    run = await node.start()
    told = await watching.change()
    while told != (run,):  # seen in the middle of its launch
        told = await watching.change()
    assert await watching.word() is None
    node.end("3")
    while told[0].exit_code != 3 or told[0].alive:
        told = await watching.change()
    assert await watching.word() is None


@EVERY_SHELL
async def test_it_ends_with_its_stdin_and_leaves_nothing(node: Node, watching: Watching) -> None:
    await watching.word()
    await watching.end()
    group = watching.process.pid
    await until(lambda: not _lives(group), "an end of all its processes")


@pytest.mark.parametrize("node", ["bash"], indirect=True)
async def test_a_new_period_is_heard_where_there_is_bash(node: Node, watching: Watching) -> None:
    await watching.word()
    watching.input.write(b"period 3600\n")
    assert await watching.word() is None
    run = await node.start()
    watching.input.write(b"period 1\n")
    assert (await watching.change())[0].run_id == run.run_id


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
