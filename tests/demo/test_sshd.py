"""The demo's SSH server: commands really run, byte by byte, and nothing outlives its channel for long."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import asyncssh
import pytest

from k2tui.demo.sshd import DemoSshd, write_private_key
from tests.demo.waiting import until


@pytest.fixture
async def sshd(tmp_path: Path) -> AsyncIterator[DemoSshd]:
    environments = {}
    for name in ("gpu-a", "gpu-b"):
        (tmp_path / name).mkdir()
        environments[name] = {"HOME": str(tmp_path / name), "PATH": "/usr/bin:/bin", "WHO": name}
    server = DemoSshd(environments, write_private_key(tmp_path / "key"))
    await server.start()
    (tmp_path / "known").write_text(server.known_hosts_line(), encoding="ascii")
    yield server
    await server.close()


async def connected(sshd: DemoSshd, tmp_path: Path, user: str = "gpu-a") -> asyncssh.SSHClientConnection:
    return await asyncssh.connect(
        "127.0.0.1",
        sshd.port,
        username=user,
        client_keys=[str(tmp_path / "key")],
        known_hosts=str(tmp_path / "known"),
        config=None,
    )


async def test_a_user_is_a_node(sshd: DemoSshd, tmp_path: Path) -> None:
    for name in ("gpu-a", "gpu-b"):
        async with await connected(sshd, tmp_path, name) as connection:
            done = await connection.run('echo "$WHO"; pwd', encoding=None)
            assert done.stdout == f"{name}\n{tmp_path / name}\n".encode()


async def test_input_ends_and_bytes_are_bytes(sshd: DemoSshd, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4000
    async with await connected(sshd, tmp_path) as connection:
        done = await connection.run("cat; echo >&2 done", input=data, encoding=None)
        assert done.stdout == data
        assert done.stderr == b"done\n"


async def test_much_output_waits_for_its_reader(sshd: DemoSshd, tmp_path: Path) -> None:
    (tmp_path / "gpu-a" / "big").write_bytes(b"0123456789abcdef" * 1_000_000)
    async with await connected(sshd, tmp_path) as connection:
        process = await connection.create_process("cat big", encoding=None)
        digest, size = hashlib.sha256(), 0
        while data := await process.stdout.read(100_000):
            digest.update(data)
            size += len(data)
        assert size == 16_000_000
        assert digest.digest() == hashlib.sha256((tmp_path / "gpu-a" / "big").read_bytes()).digest()


async def test_status_and_signal_come_back(sshd: DemoSshd, tmp_path: Path) -> None:
    async with await connected(sshd, tmp_path) as connection:
        assert (await connection.run("exit 7")).exit_status == 7
        killed = await connection.run("kill -9 $$")
        assert killed.exit_signal is not None
        assert killed.exit_signal[0] == "KILL"
        process = await connection.create_process("echo on; exec sleep 1000")
        await process.stdout.readline()
        process.send_signal("TERM")
        assert (await process.wait()).exit_signal is not None


async def test_a_command_that_ignores_its_channel_is_killed(sshd: DemoSshd, tmp_path: Path) -> None:
    connection = await connected(sshd, tmp_path)
    process = await connection.create_process("trap '' TERM HUP; echo on; while :; do sleep 1000; done", encoding=None)
    await process.stdout.readline()
    assert len(sshd.groups) == 1
    assert sshd.cut("gpu-a") == 1
    await until(lambda: not sshd.groups)


async def test_what_left_the_session_lives_on(sshd: DemoSshd, tmp_path: Path) -> None:
    async with await connected(sshd, tmp_path) as connection:
        await connection.run(
            "setsid sh -c 'while [ ! -e go ]; do sleep 0.05; done; echo here > there' </dev/null >/dev/null 2>&1 &"
        )
    sshd.cut("gpu-a")
    (tmp_path / "gpu-a" / "go").touch()
    await until((tmp_path / "gpu-a" / "there").exists)


async def test_only_loopback_is_forwarded(sshd: DemoSshd, tmp_path: Path) -> None:
    async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(hello, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with await connected(sshd, tmp_path) as connection:
        reader, _ = await connection.open_connection("127.0.0.1", port, encoding=None)
        assert await reader.read() == b"hello"
        with pytest.raises(asyncssh.ChannelOpenError) as refused:
            await connection.open_connection("192.0.2.1", port)
        assert refused.value.code == asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED
    server.close()


async def test_strangers_stay_out(sshd: DemoSshd, tmp_path: Path) -> None:
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    with pytest.raises(asyncssh.PermissionDenied):
        await asyncssh.connect(
            "127.0.0.1",
            sshd.port,
            username="gpu-a",
            client_keys=[stranger],
            known_hosts=str(tmp_path / "known"),
            config=None,
            agent_path=None,
        )
    with pytest.raises((asyncssh.Error, OSError)):
        async with await connected(sshd, tmp_path, "gpu-z") as connection:
            await connection.run("true")


async def test_a_node_can_be_out_of_reach_and_come_back(sshd: DemoSshd, tmp_path: Path) -> None:
    sshd.refuse("gpu-a")
    with pytest.raises((asyncssh.Error, OSError)):
        async with await connected(sshd, tmp_path) as connection:
            await connection.run("true")
    sshd.refuse("gpu-a", refused=False)
    async with await connected(sshd, tmp_path) as connection:
        assert (await connection.run("true")).exit_status == 0
