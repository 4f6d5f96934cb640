"""What went wrong on the way to a node, said so that an operator can act on it."""

from __future__ import annotations

import os
from pathlib import Path

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.link import LinkPhase

BLOCKING = frozenset({"host_key_unknown", "host_key_changed", "login_refused", "config"})
"""Trying again would not help, and could lock the account: the operator acts first."""

_HINTS = {
    "refused": "is sshd running there, and is the port right?",
    "no_such_host": "check `host` in the config and the name in ~/.ssh/config",
    "timeout": "is the machine up, and does a firewall drop the port?",
    "unreachable": "is the network or the VPN up?",
}


def link_error(code: str, node: str, message: str, hint: str | None = None) -> K2Error:
    """`code` is one of services.doors.LinkState.code."""
    exit_code = ExitCode.USAGE if code == "config" else ExitCode.UNREACHABLE
    return K2Error(message, code=code, subject=node, hint=hint or _HINTS.get(code), exit_code=exit_code)


def phase_after(error: K2Error) -> LinkPhase:
    """Whether to try again after this error."""
    return LinkPhase.BLOCKED if error.code in BLOCKING else LinkPhase.DOWN


def took_too_long(node: str, script: str, limit_s: float) -> K2Error:
    """A short script that did not end."""
    return K2Error(
        f"{script} on {node} did not end within {limit_s:g} s",
        code="timeout",
        subject=node,
        hint="the node is overloaded, or one of its disks hangs",
        exit_code=ExitCode.UNREACHABLE,
    )


def login_refused(node: str, who: str, detail: str = "") -> K2Error:
    """With the reason that is easiest to miss: an agent that is gone."""
    return link_error("login_refused", node, f"{node} refused the login as {who}{detail}", _agent_hint())


def _agent_hint() -> str:
    """Inside tmux the agent's socket goes stale after a new login."""
    socket = os.environ.get("SSH_AUTH_SOCK")
    if not socket:
        return "no ssh agent is known here (SSH_AUTH_SOCK is not set): set `identity`, or start one and ssh-add a key"
    if not Path(socket).exists():
        return f"the agent socket is dead: SSH_AUTH_SOCK names a missing file, {socket}"
    return "is the right key in the agent (ssh-add -l) or in `identity`, and is `user` right?"


class PortClosed(K2Error):
    """The node was reached, the port was not."""

    def __init__(self, node: str, port: int, reason: str, hint: str | None = None) -> None:
        super().__init__(
            f"port {port} on {node}: {reason}", code="port_closed", subject=node, hint=hint, exit_code=ExitCode.MISSING
        )


def forwarding_forbidden(node: str, port: int) -> PortClosed:
    """sshd's own refusal."""
    return PortClosed(
        node,
        port,
        "the node's sshd forbids TCP forwarding (AllowTcpForwarding no, or a PermitOpen list)",
        "HTTP goes through the SSH connection; allow forwarding to 127.0.0.1 in its sshd_config",
    )
