"""One held connection: trust, logins, losses, jump hosts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.adapters import ssh_dial
from k2tui.adapters.known_hosts import fingerprint
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.link import LinkPhase
from k2tui.services.doors import NodeLink, Script
from tests.adapters.conftest import LinkTo, MakeSshd
from tests.sshd import Sshd, make_key
from tests.waiting import until

TRUE = Script("true", "echo yes")
WAITS = Script("waits", "echo here; cat >/dev/null")


async def refused(link: NodeLink) -> K2Error:
    """The error of a connect that must fail."""
    with pytest.raises(K2Error) as caught:
        await link.connect()
    assert link.state.code == caught.value.code
    assert link.state.reason == caught.value.message
    return caught.value


def as_ssh_keygen_shows_it(key: Path) -> str:
    command = ["ssh-keygen", "-l", "-f", str(key)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[1]


def certify(authority: Path, key: Path) -> None:
    command = ["ssh-keygen", "-q", "-s", str(authority), "-I", "test", "-h", "-n", "127.0.0.1", str(key)]
    subprocess.run(command, check=True)


def logins(server: Sshd) -> int:
    return server.log.count("Accepted publickey")


# trust


async def test_an_unknown_key_is_shown_and_can_be_trusted(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    link = link_to(sshd, knows=False)
    error = await refused(link)
    shown = as_ssh_keygen_shows_it(sshd.directory / "host_key.pub")
    assert (error.code, error.exit_code) == ("host_key_unknown", ExitCode.UNREACHABLE)
    assert shown in error.message
    assert (link.state.phase, link.state.fingerprint) == (LinkPhase.BLOCKED, shown)
    await link.trust_host_key()
    trusted = tmp_path / "k2tui" / "known_hosts"
    assert trusted.read_text() == sshd.known_hosts_line
    assert stat.S_IMODE(trusted.stat().st_mode) == 0o600
    await link.connect()
    assert link.state.phase is LinkPhase.UP


async def test_a_changed_key_is_never_waved_through(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    link = link_to(sshd)
    sshd.new_host_key()
    sshd.restart()
    error = await refused(link)
    assert error.code == "host_key_changed"
    assert fingerprint(sshd.host_public) in error.message
    assert link.state.phase is LinkPhase.BLOCKED
    before = (tmp_path / "k2tui" / "known_hosts").read_text()
    with pytest.raises(K2Error, match="has changed"):
        await link.trust_host_key()
    assert (tmp_path / "k2tui" / "known_hosts").read_text() == before


async def test_a_key_of_another_kind_than_the_known_one_is_a_change(
    sshd: Sshd, link_to: LinkTo, tmp_path: Path
) -> None:
    public = make_key(tmp_path / "other", kind="ecdsa")
    link = link_to(sshd, knows=False)
    (tmp_path / "k2tui" / "known_hosts").write_text(f"[127.0.0.1]:{sshd.port} {public}\n")
    assert (await refused(link)).code == "host_key_changed"


async def test_a_revoked_key_is_refused(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    link = link_to(sshd)
    with (tmp_path / "k2tui" / "known_hosts").open("a") as file:
        file.write(f"@revoked * {sshd.host_public}\n")
    assert (await refused(link)).code == "host_key_changed"


async def test_the_bare_name_vouches_for_every_port_but_makes_none_suspect(
    sshd: Sshd, link_to: LinkTo, tmp_path: Path
) -> None:
    link = link_to(sshd, knows=False)
    trusted = tmp_path / "k2tui" / "known_hosts"
    trusted.write_text(f"127.0.0.1 {make_key(tmp_path / 'other')}\n")
    assert (await refused(link)).code == "host_key_unknown"
    trusted.write_text(f"a broken line\n127.0.0.1 {sshd.host_public}\n")
    await link.connect()


async def test_a_certificate_of_an_unknown_authority_falls_back_to_the_plain_key(
    make_sshd: MakeSshd, link_to: LinkTo, tmp_path: Path
) -> None:
    authority = make_key(tmp_path / "authority")
    (server := make_sshd()).stop()
    certify(tmp_path / "authority", server.directory / "host_key.pub")
    server.lines = (f"HostCertificate {server.directory}/host_key-cert.pub",)
    server.start()
    link = link_to(server, knows=False)
    assert (await refused(link)).code == "host_key_unknown"
    assert link.state.fingerprint == fingerprint(server.host_public)
    await link.trust_host_key()
    await link.connect()
    other = link_to(server, knows=False)
    (tmp_path / "k2tui" / "known_hosts").write_text(f"@cert-authority [127.0.0.1]:* {authority}\n")
    await other.connect()


async def test_nothing_was_shown_nothing_is_trusted(sshd: Sshd, link_to: LinkTo) -> None:
    with pytest.raises(K2Error, match="has shown no unknown host key"):
        await link_to(sshd).trust_host_key()


# logins and ways


async def test_a_refused_login_blocks_and_says_why(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    make_key(tmp_path / "stranger")
    link = link_to(sshd, node=sshd.node(identity=str(tmp_path / "stranger")))
    error = await refused(link)
    assert error.code == "login_refused"
    assert f"node refused the login as {sshd.user}" in error.message
    assert error.hint is not None
    assert "SSH_AUTH_SOCK is not set" in error.hint
    assert link.state.phase is LinkPhase.BLOCKED


async def test_a_dead_agent_is_named(
    sshd: Sshd, link_to: LinkTo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "gone"))
    link = link_to(sshd, node=sshd.node(identity=None))
    error = await refused(link)
    assert error.hint == f"the agent socket is dead: SSH_AUTH_SOCK names a missing file, {tmp_path / 'gone'}"


async def test_a_missing_identity_is_a_matter_of_config(sshd: Sshd, link_to: LinkTo) -> None:
    error = await refused(link_to(sshd, node=sshd.node(identity="/no/such/key")))
    assert (error.code, error.exit_code) == ("config", ExitCode.USAGE)
    assert "/no/such/key" in error.message


async def test_a_key_with_a_passphrase_is_said_to_have_one(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    make_key(locked, passphrase="secret")
    error = await refused(link_to(sshd, node=sshd.node(identity=str(locked))))
    assert error.code == "login_refused"
    assert "ssh-add" in str(error.hint)


async def test_a_closed_port_is_tried_again_later(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd)
    sshd.stop()
    error = await refused(link)
    assert error.code == "refused"
    assert link.state.phase is LinkPhase.DOWN
    sshd.start()
    await link.connect()


async def test_a_name_that_nobody_has(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd, node=sshd.node(host="no-such-host.invalid"))
    assert (await refused(link)).code == "no_such_host"


async def test_a_silent_peer_is_given_up(sshd: Sshd, link_to: LinkTo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh_dial, "LOGIN_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        link = link_to(sshd, node=sshd.node(port=mute.getsockname()[1]))
        assert (await refused(link)).code == "timeout"


# ~/.ssh/config


def config_file(tmp_path: Path, text: str) -> tuple[Path, ...]:
    path = tmp_path / "ssh_config"
    path.write_text(text)
    return (path,)


async def test_an_alias_of_the_ssh_config_is_enough(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    (tmp_path / "their_hosts").write_text(sshd.known_hosts_line)
    config = config_file(
        tmp_path,
        f"Host gpu-*\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User {sshd.user}\n  IdentityFile {sshd.identity}\n"
        f"  UserKnownHostsFile {tmp_path}/their_hosts\n  RemoteCommand echo never\n  RequestTTY force\n"
        "  ForwardAgent yes\n",
    )
    bare = replace(sshd.node(), host="gpu-a", user=None, port=None, identity=None)
    link = link_to(sshd, node=bare, knows=False, ssh_config=config)
    assert (await link.run(TRUE)).stdout == b"yes\n"


async def test_the_nodes_own_settings_win(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    config = config_file(tmp_path, "Host *\n  Port 1\n  User nobody-here\n  IdentityFile /no/such/key\n")
    link = link_to(sshd, ssh_config=config)
    await link.connect()


async def test_no_host_check_in_the_ssh_config_is_not_obeyed(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    config = config_file(tmp_path, "Host *\n  StrictHostKeyChecking no\n  UserKnownHostsFile none\n")
    link = link_to(sshd, knows=False, ssh_config=config)
    assert (await refused(link)).code == "host_key_unknown"


@pytest.mark.parametrize("broken", ["Host *\n  Port twenty\n", 'Host *\n  HostName "half\n', "Host *\n  Port\n"])
async def test_a_broken_ssh_config_is_named(sshd: Sshd, link_to: LinkTo, tmp_path: Path, broken: str) -> None:
    link = link_to(sshd, node=replace(sshd.node(), port=None), ssh_config=config_file(tmp_path, broken))
    error = await refused(link)
    assert error.code == "config"
    assert str(tmp_path / "ssh_config") in error.message
    assert link.state.phase is LinkPhase.BLOCKED


# jump hosts


async def test_one_jump_host_carries_all_its_nodes(sshd: Sshd, make_sshd: MakeSshd, link_to: LinkTo) -> None:
    bastion = make_sshd()
    link_to(bastion)  # its key is known from here on
    bastion.directory.joinpath("authorized_keys").write_text(f"{sshd.public}\n")
    config = sshd.directory / "config"
    config.write_text(f"Host jump\n  HostName 127.0.0.1\n  Port {bastion.port}\n  IdentityFile {sshd.identity}\n")
    nodes = [replace(sshd.node(f"node-{number}"), proxy_jump="jump") for number in range(8)]
    links = [link_to(sshd, node=node, ssh_config=(config,)) for node in nodes]
    answers = await asyncio.gather(*(link.run(TRUE) for link in links))
    assert {answer.stdout for answer in answers} == {b"yes\n"}
    assert (logins(bastion), logins(sshd)) == (1, 8)
    bastion.cut()
    await until(lambda: all(link.state.code == "lost" for link in links))
    await asyncio.gather(*(link.connect() for link in links))
    assert logins(bastion) == 2


async def test_a_jump_host_of_the_ssh_config_is_used(sshd: Sshd, make_sshd: MakeSshd, link_to: LinkTo) -> None:
    bastion = make_sshd()
    link_to(bastion)
    config = sshd.directory / "config"
    config.write_text(
        f"Host jump\n  HostName 127.0.0.1\n  Port {bastion.port}\n  IdentityFile {bastion.identity}\n"
        "Host 127.0.0.1\n  ProxyJump jump\n"
    )
    link = link_to(sshd, ssh_config=(config,))
    await link.connect()
    assert logins(bastion) == 1


async def test_the_jump_hosts_key_can_be_trusted_too(sshd: Sshd, make_sshd: MakeSshd, link_to: LinkTo) -> None:
    bastion = make_sshd()
    config = sshd.directory / "config"
    config.write_text(f"Host jump\n  HostName 127.0.0.1\n  Port {bastion.port}\n  IdentityFile {bastion.identity}\n")
    link = link_to(sshd, node=replace(sshd.node(), proxy_jump=f"{sshd.user}@jump"), ssh_config=(config,))
    error = await refused(link)
    assert "the host key of node's jump host jump is not known" in error.message
    await link.trust_host_key()
    await link.connect()


async def test_a_node_that_the_jump_host_cannot_reach(sshd: Sshd, make_sshd: MakeSshd, link_to: LinkTo) -> None:
    bastion = make_sshd()
    link_to(bastion)
    config = sshd.directory / "config"
    config.write_text(f"Host jump\n  HostName 127.0.0.1\n  Port {bastion.port}\n  IdentityFile {bastion.identity}\n")
    link = link_to(sshd, node=replace(sshd.node(), proxy_jump="jump", port=1), ssh_config=(config,))
    assert (await refused(link)).code == "unreachable"


# losses


async def test_a_fleet_that_connects_at_once_is_not_turned_away(sshd: Sshd, link_to: LinkTo) -> None:
    links = [link_to(sshd, node=sshd.node(f"node-{number}")) for number in range(32)]
    await asyncio.gather(*(link.connect() for link in links))
    assert {link.state.phase for link in links} == {LinkPhase.UP}
    assert "MaxStartups" not in sshd.log


async def test_many_who_want_the_node_share_one_login(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd)
    await asyncio.gather(*(link.run(TRUE) for _ in range(6)), *(link.connect() for _ in range(6)))
    assert logins(sshd) == 1


async def test_a_cut_is_told_at_once_and_not_mended_behind_the_back(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd)
    stream = await link.open(WAITS)
    assert await stream.readline() == b"here\n"
    sshd.cut()
    with pytest.raises(K2Error) as caught:
        await stream.readline()
    assert caught.value.code == "lost"
    await stream.close()
    assert (link.state.phase, link.state.code) == (LinkPhase.DOWN, "lost")
    with pytest.raises(K2Error, match="the connection to node was lost"):
        await link.run(TRUE)
    assert logins(sshd) == 1
    await link.connect()
    assert (await link.run(TRUE)).stdout == b"yes\n"


async def test_writing_to_a_cut_link_puts_no_lines_on_the_terminal(
    sshd: Sshd, link_to: LinkTo, caplog: pytest.LogCaptureFixture
) -> None:
    link = link_to(sshd)
    stream = await link.open(Script("hold", "cat >/dev/null\n"))
    sshd.cut()
    for _ in range(20):
        with contextlib.suppress(K2Error, OSError):
            await stream.write(b"ping\n")
    await until(lambda: link.state.code == "lost")
    logging.getLogger("asyncio").warning("socket.send() raised exception.")
    assert not caplog.records
    await stream.close()


async def test_a_run_that_is_cut_is_told(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd)
    running = asyncio.ensure_future(link.run(Script("slow", "sleep 3600"), timeout_s=3.0))
    await until(lambda: any("sleep 3600" in process for process in sshd.processes()))
    sshd.cut()
    with pytest.raises(K2Error) as caught:
        await running
    assert caught.value.code == "lost"


async def test_drop_cuts_from_this_side(sshd: Sshd, link_to: LinkTo) -> None:
    link = link_to(sshd)
    stream = await link.open(WAITS)
    assert await stream.readline() == b"here\n"
    await link.drop()
    with pytest.raises(K2Error, match="lost"):
        await stream.readline()
    await until(lambda: link.state.phase is LinkPhase.DOWN)


async def test_what_an_rc_file_prints_is_dropped(make_sshd: MakeSshd, link_to: LinkTo, tmp_path: Path) -> None:
    noisy = tmp_path / "noisy.sh"
    noisy.write_text(
        '#!/bin/sh\necho "welcome, $SSH_ORIGINAL_COMMAND"\nprintf "no newline"\necho grumble >&2\n'
        'exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    noisy.chmod(0o755)
    server = make_sshd(f"ForceCommand {noisy}")
    link = link_to(server)
    done = await link.run(Script("both", "printf '\\377'; printf e >&2"))
    assert (done.stdout, done.stderr) == (b"\xff", b"e")
    stream = await link.open(Script("line", "echo first"))
    assert await stream.readline() == b"first\n"
    await stream.close()


async def test_a_shell_that_runs_nothing_is_told(make_sshd: MakeSshd, link_to: LinkTo) -> None:
    server = make_sshd("ForceCommand echo This account is currently not available.")
    link = link_to(server)
    for attempt in (link.run(TRUE), link.open(TRUE)):
        with pytest.raises(K2Error, match=r"ran no command; it said: This account is currently not available\.") as no:
            await attempt
        assert no.value.code == "no_shell"


async def test_a_node_that_gives_no_session_at_all_is_said_to_give_none(make_sshd: MakeSshd, link_to: LinkTo) -> None:
    link = link_to(make_sshd("MaxSessions 0"))
    for attempt in (link.open(WAITS), link.run(TRUE)):
        with pytest.raises(K2Error, match="opens no further session") as caught:
            await attempt
        assert caught.value.code == "no_channel"
