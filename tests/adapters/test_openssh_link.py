"""The system's own ssh: what it says is understood, and one login serves all."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.adapters.known_hosts import fingerprint
from k2tui.adapters.openssh_words import read_stderr
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.link import LinkPhase
from k2tui.services.doors import NodeLink, Script
from tests.adapters.conftest import LinkTo, MakeSshd
from tests.sshd import Sshd, make_key
from tests.waiting import until

TRUE = Script("true", "echo yes")
WAITS = Script("waits", "echo here; cat >/dev/null")


async def refused(link: NodeLink) -> K2Error:
    with pytest.raises(K2Error) as caught:
        await link.connect()
    assert link.state.code == caught.value.code
    return caught.value


async def test_an_unknown_key_is_shown_and_can_be_trusted(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    link = link_to(sshd, "openssh", knows=False)
    assert (await refused(link)).code == "host_key_unknown"
    assert (link.state.phase, link.state.fingerprint) == (LinkPhase.BLOCKED, fingerprint(sshd.host_public))
    await link.trust_host_key()
    assert (tmp_path / "k2tui" / "known_hosts").read_text() == sshd.known_hosts_line
    await link.connect()
    assert link.state.phase is LinkPhase.UP


async def test_a_changed_key_is_never_waved_through(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd, "openssh")
    sshd.new_host_key()
    sshd.restart()
    error = await refused(link)
    assert error.code == "host_key_changed"
    assert link.state.fingerprint == fingerprint(sshd.host_public)
    with pytest.raises(K2Error, match="has changed"):
        await link.trust_host_key()


async def test_a_refused_login_blocks(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    make_key(tmp_path / "stranger")
    link = link_to(sshd, "openssh", node=sshd.node(identity=str(tmp_path / "stranger")))
    error = await refused(link)
    assert (error.code, link.state.phase) == ("login_refused", LinkPhase.BLOCKED)
    assert f"as {sshd.user}" in error.message


async def test_a_closed_port_is_tried_again_later(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd, "openssh")
    sshd.stop()
    assert (await refused(link)).code == "refused"
    assert link.state.phase is LinkPhase.DOWN
    sshd.start()
    await link.connect()


async def test_a_name_that_nobody_has(sshd: Sshd, link_to: LinkTo) -> None:
    assert (await refused(link_to(sshd, "openssh", node=sshd.node(host="no-such-host.invalid")))).code == "no_such_host"


async def test_a_broken_ssh_config_is_named(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    config.write_text("Host *\n  Prot 22\n")
    error = await refused(link_to(sshd, "openssh", ssh_config=(config,)))
    assert (error.code, error.exit_code) == ("config", ExitCode.USAGE)
    assert f"{config}: line 2" in error.message


async def test_an_alias_of_the_ssh_config_is_enough(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    (tmp_path / "their hosts").write_text(sshd.known_hosts_line)
    config = tmp_path / "ssh_config"
    config.write_text(
        f"Host gpu-*\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User {sshd.user}\n  IdentityFile {sshd.identity}\n"
        f'  UserKnownHostsFile "{tmp_path}/their hosts"\n  RemoteCommand echo never\n  RequestTTY force\n'
    )
    bare = replace(sshd.node(), host="gpu-a", user=None, port=None, identity=None)
    link = link_to(sshd, "openssh", node=bare, knows=False, ssh_config=(config,))
    assert (await link.run(TRUE)).stdout == b"yes\n"


async def test_one_login_serves_all(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd, "openssh")
    held = await link.open(WAITS)
    await asyncio.gather(*(link.run(TRUE) for _ in range(6)))
    assert sshd.log.count("Accepted publickey") == 1
    await held.close()


async def test_a_master_of_the_operators_own_is_used(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    socket = sshd.directory / "own"
    config.write_text(f"Host *\n  ControlPath {socket}\n  StrictHostKeyChecking accept-new\n")
    words = ["ssh", "-F", str(config), "-M", "-N", "-i", str(sshd.identity), "-p", str(sshd.port)]
    words += ["-o", f"UserKnownHostsFile={tmp_path}/theirs", "-l", sshd.user, "127.0.0.1"]
    master = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.DEVNULL)
    await until(socket.exists)
    link = link_to(sshd, "openssh", ssh_config=(config,))
    assert (await link.run(TRUE)).stdout == b"yes\n"
    assert sshd.log.count("Accepted publickey") == 1
    await link.close()
    assert (await link_to(sshd, "openssh", ssh_config=(config,)).run(TRUE)).stdout == b"yes\n"  # closing left it alone
    master.terminate()
    await master.wait()


async def test_a_cut_is_told_at_once(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd, "openssh")
    stream = await link.open(WAITS)
    assert await stream.readline() == b"here\n"
    sshd.cut()
    with pytest.raises(K2Error) as caught:
        await stream.readline()
    assert caught.value.code == "lost"
    await stream.close()
    await until(lambda: link.state.phase is LinkPhase.DOWN)
    await link.connect()
    assert (await link.run(TRUE)).stdout == b"yes\n"


async def test_a_shell_that_runs_nothing_is_told(make_sshd: MakeSshd, link_to: LinkTo) -> None:
    link = link_to(make_sshd("ForceCommand echo This account is currently not available."), "openssh")
    with pytest.raises(K2Error, match=r"ran no command; it said: This account is currently not available\."):
        await link.run(TRUE)


async def test_without_an_ssh_program_the_way_out_is_named(
    sshd: Sshd, link_to: LinkTo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = link_to(sshd, "openssh")
    monkeypatch.setenv("PATH", str(tmp_path))
    error = await refused(link)
    assert (error.code, error.hint) == ("config", 'use transport = "asyncssh"')


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("ssh: connect to host gpu-a port 22: Connection refused", "refused"),
        ("ssh: connect to host gpu-a port 22: Connection timed out", "timeout"),
        ("ssh: connect to host gpu-a port 22: No route to host", "unreachable"),
        ("ssh: Could not resolve hostname gpu-z: Name or service not known", "no_such_host"),
        ("me@gpu-a: Permission denied (publickey,keyboard-interactive).", "login_refused"),
        ("Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures", "login_refused"),
        ("No ED25519 host key is known for gpu-a and you have requested strict checking.", "host_key_unknown"),
        ("@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@@@@", "host_key_changed"),
        ("kex_exchange_identification: Connection closed by remote host", "lost"),
        ("client_loop: send disconnect: Broken pipe", "lost"),
        ("Timeout, server gpu-a not responding.", "timeout"),
        ("mux_client_request_session: read from master failed: Broken pipe", "lost"),
        ("/home/me/.ssh/config: line 3: Bad configuration option: prot", "config"),
    ],
)
def test_what_ssh_says_is_understood(said: str, code: str) -> None:
    error = read_stderr("gpu-a", "me", 255, f"debug\n{said}\r\n".encode())
    assert error is not None
    assert (error.code, error.subject) == (code, "gpu-a")
    assert "\n" not in error.message


def test_what_a_command_says_is_not_taken_for_ssh() -> None:
    assert read_stderr("gpu-a", "me", 1, b"bash: Permission denied (publickey") is None
    assert read_stderr("gpu-a", "me", 255, b"curl: (52) empty reply") is None
