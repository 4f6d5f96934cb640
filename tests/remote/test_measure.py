"""The load generator as it runs on a node: its program through stdin, a real shell, a real python, a real leash."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from tests.fakes.truth_server import COMMAND, TruthServer
from tests.remote.conftest import shell_bin
from tests.remote.load_stage import Told, spec
from tests.remote.test_read_build import PYTHONS, executable, runs
from tests.waiting import until

PROGRAM = script("loadgen.py").text.encode()


class Node:
    """A shell that measures."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.told = Told()
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def send(self, line: bytes) -> None:
        self.stdin.write(b"%d\n%s%s\n" % (len(PROGRAM), PROGRAM, line))

    async def read(self, kind: str | None = None) -> None:
        """Up to the next line of a kind, or all of them."""
        while line := await self.stdout.readline():
            self.told.lines.append(json.loads(line))
            if self.told.lines[-1]["type"] == kind:
                return
        assert kind is None

    async def ended(self) -> Told:
        """What it said, once it has ended by itself."""
        await self.read()
        self.stdin.close()
        assert await self.process.wait() == 0
        return self.told


@pytest.fixture(params=["dash"])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return shell_bin(request.param, tmp_path / "bin")


EVERY_SHELL = pytest.mark.parametrize("shell", ["dash", "bash", "busybox"], indirect=True)


@asynccontextmanager
async def node(shell: Path, python: str = sys.executable, setup: str = "", cwd: str = "") -> AsyncIterator[Node]:
    """The script with its arguments, as the links start it."""
    pipe = asyncio.subprocess.PIPE
    env = {**os.environ, "PATH": f"{shell}{os.pathsep}{os.environ['PATH']}", "HOME": str(shell)}
    command = (str(shell / "sh"), "-c", script("measure").text, "k2tui-measure", python, setup, cwd)
    made = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=env, limit=1 << 20)
    try:
        yield Node(made)
    finally:
        if made.returncode is None:
            made.kill()
        await made.wait()


@EVERY_SHELL
async def test_a_measurement_runs_through_a_shell(shell: Path) -> None:
    async with TruthServer() as server, node(shell) as here:
        here.send(spec(server.port, max_tokens=100, repeats=2))
        told = await here.ended()
    assert (told.error, told.lines[-1]["type"]) == (None, "end")
    assert [line["osl"] for line in told.requests] == [len(truth.times) for truth in server.measured] == [100, 100]
    assert all(line["decode_tps"] > 0 for line in told.requests)


@pytest.mark.parametrize("python", PYTHONS)
async def test_older_and_newer_pythons_measure_alike(python: str, shell: Path) -> None:
    if not runs(python):
        pytest.skip(f"no {python} on this machine")
    async with TruthServer() as server, node(shell, python) as here:
        plan: dict[str, Any] = {"procedure": "sweep", "concurrencies": [3], "hold_s": 0.5, "max_tokens": 30}
        here.send(spec(server.port, **plan))
        told = await here.ended()
    assert told.one("hello")["python"].startswith(python.removeprefix("python"))
    assert (told.error, told.one("point")["failed"]) == (None, 0)
    assert told.one("point")["output_tokens"] == 30 * len(told.requests) > 0


@EVERY_SHELL
async def test_when_the_leash_is_let_go_it_ends_and_says_what_it_has(shell: Path) -> None:
    async with TruthServer() as server, node(shell) as here:
        here.send(spec(server.port, max_tokens=100_000, budget_s=1000))
        await here.read("figure")
        await until(lambda: server.measured and len(server.measured[0].times) > 50)
        here.stdin.close()
        told = await here.ended()
        assert told.error == "stopped"
        assert told.requests[0]["osl"] > 40
        await until(lambda: not server.streams)


async def test_when_nobody_reads_any_more_it_ends(shell: Path) -> None:
    async with TruthServer() as server:
        readable, writable = os.pipe()
        os.set_inheritable(writable, True)
        text = script("measure").text
        command = (str(shell / "sh"), "-c", text, "k2tui-measure", sys.executable, "", "")
        process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, stdout=writable)
        os.close(writable)
        assert process.stdin is not None
        process.stdin.write(b"%d\n%s%s\n" % (len(PROGRAM), PROGRAM, spec(server.port, max_tokens=10**6, budget_s=1000)))
        await until(lambda: server.measured)
        os.close(readable)
        await process.wait()
        await until(lambda: not server.streams)


async def test_the_server_in_its_own_process_is_killed(shell: Path) -> None:
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(*COMMAND, "{}", stdin=pipe, stdout=pipe)
    assert server.stdout is not None
    port = int(await server.stdout.readline())
    async with node(shell) as here:
        here.send(spec(port, procedure="sweep", concurrencies=[16], max_tokens=100_000))
        await here.read("figure")
        while not any(line["c"] == 16 and line["tokens"] > 500 for line in here.told.of("figure")):
            await here.read("figure")
        server.send_signal(signal.SIGKILL)
        await server.wait()
        told = await here.ended()
    assert told.error == "server_gone"
    assert [line["error"] for line in told.requests] == ["the connection was cut"] * 16
    assert told.one("point")["failed"] == 16


@pytest.mark.parametrize(
    ("how", "code", "says"),
    [
        ({"python": '/no/where "python"\x01'}, "no_python", 'there is no /no/where "python" on the node'),
        ({"setup": "false"}, "setup_failed", "the setup line failed"),
        ({"setup": "exit 3"}, "setup_failed", "the setup line failed"),
        ({"cwd": "/no/where"}, "no_directory", "there is no directory /no/where on the node"),
    ],
)
@EVERY_SHELL
async def test_what_stands_in_the_way_is_said(how: dict[str, str], code: str, says: str, shell: Path) -> None:
    async with node(shell, **how) as here:
        here.send(spec(1))
        told = await here.ended()
    assert [line["type"] for line in told.lines] == ["error", "end"]
    assert told.error == code
    assert told.one("error")["message"].startswith(says)


@pytest.mark.parametrize("python", ["", "vllm", "/opt/venv/bin/sglang"])
async def test_without_a_python_the_first_python3_is_taken(python: str, shell: Path, tmp_path: Path) -> None:
    executable(shell / "python3", f'#!/bin/sh\n: >{tmp_path}/taken\nexec {sys.executable} "$@"\n')
    async with node(shell, python) as here:
        here.send(b"{}")
        told = await here.ended()
    assert (tmp_path / "taken").exists()
    assert told.error == "bad_spec"


async def test_a_setup_line_and_a_directory_come_before_the_python(shell: Path, tmp_path: Path) -> None:
    executable(tmp_path / "venv/bin/mine", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    async with node(shell, "mine", setup="PATH=$PWD/bin:$PATH", cwd=str(tmp_path / "venv")) as here:
        here.send(b"{}")
        assert (await here.ended()).error == "bad_spec"


async def test_a_python_that_is_too_old_is_told(shell: Path) -> None:
    old = "import sys; sys.version_info = (3, 6, 15); exec(sys.argv[-1])"
    executable(shell / "old", f"#!/bin/sh\nexec {sys.executable} -S -c '{old}' \"$@\"\n")
    async with node(shell, "old") as here:
        here.send(spec(1))
        told = await here.ended()
    assert told.error == "old_python"
    assert "this is 3.6" in told.one("error")["message"]


async def test_it_is_measured_through_a_link_and_its_close_ends_it() -> None:
    async with TruthServer() as server:
        link = LocalLink("here")
        stream = await link.open(script("measure"), (sys.executable, "", ""))
        await stream.write(b"%d\n%s%s\n" % (len(PROGRAM), PROGRAM, spec(server.port, max_tokens=10**6, budget_s=1000)))
        assert json.loads(await stream.readline())["type"] == "hello"
        await until(lambda: server.measured)
        await stream.close()
        await until(lambda: not server.streams)
        await link.close()
