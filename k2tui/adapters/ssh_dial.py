"""How a connection to a node is made with asyncssh. Imported when the first one is made."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from k2tui.adapters.bastions import Bastions
from k2tui.adapters.handshakes import handshake
from k2tui.adapters.known_hosts import SSH_PORT, HostKeyError, OfferedKey, entry_name
from k2tui.adapters.ssh_wire import SshWire
from k2tui.adapters.trouble import link_error, login_refused
from k2tui.core.errors import K2Error

LOGIN_S = 15.0
CONNECT_S = 20.0
"""TCP and login together."""
KEEPALIVE_S, KEEPALIVE_COUNT = 5.0, 3
"""A silent peer is given up after about interval x (count + 1)."""

_CHEAP_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"
"""In front of asyncssh's own order, where the ssh config asks for none: a packet costs a fifth of what it costs with
chacha20-poly1305, and a watched fleet is hundreds of small packets a second."""

_PLAIN_KEYS = (
    *("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"),
    *("rsa-sha2-256", "rsa-sha2-512"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to reach, as the operator wrote it; what is None comes from ~/.ssh/config."""

    name: str
    """For messages."""
    host: str
    user: str | None = None
    port: int | None = None
    identity: str | None = None
    jump: str | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all connections share."""

    trusted_hosts: Path
    """k2tui's own known_hosts file; need not exist."""
    ssh_config: tuple[Path, ...] | None
    """None: ~/.ssh/config."""
    bastions: Bastions


async def dial(target: Target, around: Surroundings, through: SshWire | None = None) -> SshWire:
    """Be logged in, or raise a K2Error whose code is one of LinkState's."""
    try:
        return await _dial(target, around, through)
    except K2Error:
        raise
    except (OSError, asyncio.TimeoutError, asyncssh.Error, ValueError) as error:
        raise _explained(error, target) from error


async def _dial(target: Target, around: Surroundings, through: SshWire | None) -> SshWire:
    trust = _Trust()
    host: dict[str, Any] = {"host": target.host, "port": () if target.port is None else target.port}
    config = () if around.ssh_config is None else [str(path) for path in around.ssh_config]
    options = await asyncssh.SSHClientConnectionOptions.construct(
        **host,
        config=config,
        username=() if target.user is None else target.user,
        client_keys=() if target.identity is None else [str(Path(target.identity).expanduser())],
        client_factory=lambda: _Client(trust),
        known_hosts=trust.match,
        agent_forwarding=False,
        x11_forwarding=False,
        request_pty=False,
        command=None,
        login_timeout=LOGIN_S,
        connect_timeout=CONNECT_S,
        keepalive_interval=KEEPALIVE_S,
        keepalive_count_max=KEEPALIVE_COUNT,
    )
    await asyncio.to_thread(trust.load, _known_hosts_files(options, around.trusted_hosts))
    if through is None:
        through = await _jump(target, options, around)
    tunnel = None if through is None else through.connection

    async def connect(**more: Any) -> asyncssh.SSHClientConnection:
        ciphers = {} if options.config.get("Ciphers") else {"encryption_algs": _CHEAP_CIPHERS}
        async with handshake(f"{options.host}:{options.port}"):
            return await asyncssh.connect(**host, config=None, options=options, tunnel=tunnel, **ciphers, **more)

    try:
        try:
            connection = await connect()
        except (asyncssh.DisconnectError, ConnectionResetError) as error:
            if not trust.wants_a_plain_key(error):
                raise
            connection = await connect(server_host_key_algs=_PLAIN_KEYS)
    except asyncssh.Error as error:
        offered = trust.offered(target.name, error)
        if offered is None:
            raise
        raise HostKeyError(offered) from error
    wire = SshWire(connection, target.name)
    trust.wire = wire
    if connection.is_closed():
        wire.lost(None)
        raise wire.why_lost()
    return wire


async def _jump(target: Target, options: asyncssh.SSHClientConnectionOptions, around: Surroundings) -> SshWire | None:
    jump = target.jump or options.tunnel
    if not isinstance(jump, str) or jump.lower() in ("", "none"):
        return None

    async def hop(written: str, before: SshWire | None) -> SshWire:
        user, _, rest = written.rpartition("@")
        host, colon, port = rest.rpartition(":")
        jump_host = Target(
            f"{target.name}'s jump host {host or rest}",
            host if colon else rest,
            user=user or None,
            port=int(port) if colon else None,
            jump="none",
        )
        return await dial(jump_host, around, before)

    return await around.bastions.through(jump, hop)


def _known_hosts_files(options: asyncssh.SSHClientConnectionOptions, trusted_hosts: Path) -> list[Path]:
    config = options.config
    files: list[Path] = [trusted_hosts]
    for keyword, usual in (
        ("UserKnownHostsFile", ["~/.ssh/known_hosts", "~/.ssh/known_hosts2"]),
        ("GlobalKnownHostsFile", ["/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"]),
    ):
        named = config.get(keyword)
        files += [Path(name).expanduser() for name in (named if isinstance(named, list) else usual)]
    return files


class _Trust:
    """The host keys that are known, and the one that was shown."""

    def __init__(self) -> None:
        self._known = asyncssh.import_known_hosts("")
        self._shown: tuple[str, int, str] | None = None
        self._expected: list[Any] = []
        self.wire: SshWire | None = None

    def load(self, files: Sequence[Path]) -> None:
        """Read what exists; a line that is broken is no reason to know no host at all."""
        for file in files:
            try:
                text = file.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            for line in text.splitlines():
                try:
                    self._known.load(line)
                except ValueError:
                    continue

    def match(self, host: str, addr: str, port: int | None) -> tuple[list[Any], list[Any], list[Any]]:
        """(trusted, authorities, revoked). Away from the usual port, a key of the bare name counts as well."""
        trusted, authorities, revoked, *_ = self._known.match(entry_name(host, port or SSH_PORT), "", None)
        if port and not (trusted or authorities):
            trusted, authorities, more, *_ = self._known.match(host, "", None)
            revoked = [*revoked, *more]
        self._expected = list(trusted)
        return list(trusted), list(authorities), list(revoked)

    def wants_a_plain_key(self, error: Exception) -> bool:
        """No key was shown that could be told to the operator; asked for any plain key, the host would show one.

        Either it has no key of the kind that is known for it, or a certificate of an authority that is not known.
        """
        if self._shown is not None:
            return False
        return "CA key" in str(error) if isinstance(error, asyncssh.HostKeyNotVerifiable) else bool(self._expected)

    def show(self, host: str, port: int, key: asyncssh.SSHKey) -> None:
        self._shown = (host, port, " ".join(key.export_public_key().decode("utf-8").split()[:2]))

    def offered(self, node: str, error: Exception) -> OfferedKey | None:
        """What to tell about a host key, when that is what `error` is about."""
        if self._shown is not None:
            host, port, public = self._shown
            known = self._known.match(entry_name(host, port), "", None)
            return OfferedKey(node, host, port, public, changed=bool(known[0] or known[2]))
        if isinstance(error, asyncssh.HostKeyNotVerifiable):
            raise link_error("host_key_changed", node, f"the host key of {node} is not accepted: {error}") from error
        return None


class _Client(asyncssh.SSHClient):
    def __init__(self, trust: _Trust) -> None:
        self._trust = trust

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        """Asked only about a key that is not known; the answer is always no."""
        self._trust.show(host, port, key)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._trust.wire is not None:
            self._trust.wire.lost(exc)


def _explained(error: Exception, target: Target) -> K2Error:
    """One sentence and one thing to do, for everything that asyncssh and the system raise."""
    name = target.name
    where = target.host if target.port is None else f"{target.host}:{target.port}"
    match error:
        case asyncssh.PermissionDenied():
            return login_refused(name, target.user or "the user of your ssh config")
        case asyncssh.ConnectionLost() if "timeout" in str(error).lower():
            return link_error("timeout", name, f"{name} ({where}) did not come to a login within {LOGIN_S:g} s")
        case asyncssh.DisconnectError() | ConnectionResetError() | BrokenPipeError():
            hint = "its sshd may be refusing new logins for a moment (MaxStartups)"
            return link_error("lost", name, f"{name} ({where}) closed the connection before the login: {error}", hint)
        case asyncssh.ChannelOpenError():
            return link_error("unreachable", name, f"the jump host can't reach {name} ({where}): {error.reason}")
        case socket.gaierror():
            return link_error("no_such_host", name, f"no host is named {target.host}: {error.strerror}")
        case ConnectionRefusedError():
            return link_error("refused", name, f"{name} ({where}) refused the connection")
        case asyncio.TimeoutError() | TimeoutError():
            return link_error("timeout", name, f"{name} ({where}) did not answer within {CONNECT_S:g} s")
        case FileNotFoundError() | PermissionError() | IsADirectoryError():
            return link_error("config", name, f"can't read {error.filename} for {name}: {error.strerror}")
        case OSError():
            return link_error("unreachable", name, f"can't reach {name} ({where}): {error.strerror or error}")
        case asyncssh.KeyEncryptionError() | asyncssh.KeyImportError():
            advice = "has it a passphrase? then load it into an agent with ssh-add"
            return link_error(
                "login_refused", name, f"can't use {target.identity or 'a key'} for {name}: {error}", advice
            )
        case UnicodeError() if not isinstance(error, UnicodeDecodeError):
            return link_error("no_such_host", name, f"{target.host!r} is no host name: {error}")
        case _:
            return link_error("config", name, f"the ssh config can't be used for {name}: {error}", "correct that line")
