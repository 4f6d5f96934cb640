"""What holds for a node however it is reached."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.link import LinkPhase
from k2tui.services.doors import NodeLink, Script
from tests.sshd import MARK, Sshd
from tests.waiting import until

SAYS_ALL = Script("says", 'printf "%s|" "$@"; cat; printf "on stderr" >&2; exit 7')
ECHO = Script("echo", 'echo hello; while IFS= read -r line; do printf "%s\\n" "$line"; done')
STAYS = Script("stays", "echo here; sleep 3600")
WAITS = Script("waits", "echo here; cat >/dev/null")


async def test_output_errors_and_code_come_back_exactly(link: NodeLink) -> None:
    done = await link.run(SAYS_ALL, ["a b", "it's", "$HOME `id`", "two\nlines", "", "\\n!"], stdin=b"\xff\x00in\n")
    assert done.stdout == b"a b|it's|$HOME `id`|two\nlines||\\n!|\xff\x00in\n"
    assert (done.stderr, done.code) == (b"on stderr", 7)


async def test_the_first_script_connects(link: NodeLink) -> None:
    before = link.state.phase
    await link.run(Script("true", "true"))
    assert (before, link.state.phase) == (LinkPhase.IDLE, LinkPhase.UP)


async def test_megabytes_of_any_bytes_come_through(link: NodeLink) -> None:
    data = bytes(range(256)) * (3 << 12)
    done = await link.run(Script("cat", "cat; cat /dev/null >&2"), stdin=data)
    assert done.stdout == data


async def test_a_script_need_not_read_its_stdin(link: NodeLink) -> None:
    done = await link.run(Script("deaf", "echo done"), stdin=b"x" * (1 << 20))
    assert done.stdout == b"done\n"


async def test_a_script_that_does_not_end_is_ended(link: NodeLink, sshd: Sshd) -> None:
    with pytest.raises(K2Error) as caught:
        await link.run(STAYS, timeout_s=0.5)
    assert caught.value.code == "timeout"
    assert "stays on node did not end within 0.5 s" in caught.value.message
    await until(lambda: not any("sleep 3600" in process for process in sshd.processes()))


async def test_a_run_that_is_given_up_leaves_nothing(link: NodeLink, sshd: Sshd) -> None:
    task = asyncio.ensure_future(link.run(STAYS, timeout_s=2.0))
    await until(lambda: any("sleep 3600" in process for process in sshd.processes()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not any("sleep 3600" in process for process in sshd.processes()))


async def test_a_held_script_talks_both_ways(link: NodeLink) -> None:
    stream = await link.open(ECHO)
    assert await stream.readline() == b"hello\n"
    await stream.write(b"\xfe one\ntwo\n")
    assert await stream.readline() == b"\xfe one\n"
    assert await stream.read(2) == b"tw"
    assert await stream.readline() == b"o\n"
    await stream.close()


async def test_a_held_script_ends_with_its_stdin(link: NodeLink, sshd: Sshd) -> None:
    stream = await link.open(WAITS)
    assert await stream.readline() == b"here\n"
    await until(lambda: any("k2tui-waits" in process for process in sshd.processes()))
    await stream.close()
    await until(lambda: not any("k2tui-waits" in process for process in sshd.processes()))


async def test_the_end_of_a_held_script_is_an_empty_line(link: NodeLink) -> None:
    stream = await link.open(Script("short", "echo one; printf two"))
    assert [await stream.readline() for _ in range(3)] == [b"one\n", b"two", b""]
    await stream.close()


async def test_a_long_line_comes_whole(link: NodeLink) -> None:
    stream = await link.open(Script("long", "head -c 3000000 /dev/zero; echo; echo after"))
    assert len(await stream.readline()) == 3_000_001
    assert await stream.readline() == b"after\n"
    await stream.close()


async def test_more_scripts_than_sshd_has_sessions_for(link: NodeLink) -> None:
    held = await asyncio.gather(*(link.open(ECHO) for _ in range(14)))
    ran = await asyncio.gather(*(link.run(SAYS_ALL, [str(number)]) for number in range(10)))
    assert [done.stdout for done in ran] == [f"{number}|".encode() for number in range(10)]
    assert [await stream.readline() for stream in held] == [b"hello\n"] * 14
    await asyncio.gather(*(stream.close() for stream in held))


async def test_a_nul_in_an_argument_is_refused(link: NodeLink) -> None:
    with pytest.raises(ValueError, match="NUL"):
        await link.run(SAYS_ALL, ["a\0b"])


async def test_closing_ends_what_is_held(link: NodeLink, sshd: Sshd) -> None:
    stream = await link.open(WAITS)
    assert await stream.readline() == b"here\n"
    await link.close()
    await until(lambda: not any("k2tui-waits" in process for process in sshd.processes()))


def test_making_links_costs_no_heavy_import() -> None:
    code = (
        "import sys; from pathlib import Path; from k2tui.adapters.links import make_link;"
        "from k2tui.core.settings import NodeSettings;"
        "[make_link(NodeSettings('n', 'h', transport=t), trusted_hosts=Path('x')) "
        "for t in ('asyncssh', 'openssh', 'local')];"
        "print([name for name in ('asyncssh', 'httpx', 'httpcore', 'cryptography') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("transport", ["local", "asyncssh", "openssh"])
async def test_a_k2tui_that_is_killed_leaves_nothing_on_either_side(sshd: Sshd, tmp_path: Path, transport: str) -> None:
    (tmp_path / "known_hosts").write_text(sshd.known_hosts_line)
    code = f"""
import asyncio, pathlib
from k2tui.adapters.links import make_link
from k2tui.adapters.scripts import script
from k2tui.core.settings import NodeSettings

async def main():
    node = NodeSettings("node", "127.0.0.1", port={sshd.port}, user={sshd.user!r}, identity={str(sshd.identity)!r},
                        transport={transport!r})
    link = make_link(node, trusted_hosts=pathlib.Path({str(tmp_path / "known_hosts")!r}), ssh_config=())
    probe = await link.open(script("probe"), ["1", "", "", "/"])
    follow = await link.open(script("follow"), ["/no/such/log", "0", "0", ""])
    print(await probe.readline(), await follow.readline(), flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""
    k2tui = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, env={**os.environ, MARK: sshd.mark}
    )
    assert k2tui.stdout is not None
    said = await k2tui.stdout.readline()
    k2tui.kill()
    await k2tui.wait()
    assert b"hello k2p1" in said
    await until(lambda: not sshd.processes(), "an end without processes")
