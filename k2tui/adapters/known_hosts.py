"""Host keys that k2tui was told to trust: a known_hosts file of its own, beside the operator's."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from k2tui.adapters.trouble import link_error
from k2tui.core.errors import K2Error

SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class OfferedKey:
    """A key that a host showed and that nobody vouches for."""

    node: str
    """For messages: the node, or the jump host on the way to it."""
    host: str
    """The name under which known_hosts files would have it: HostKeyAlias, else HostName."""
    port: int
    public: str
    """`ssh-ed25519 AAAA...`."""
    changed: bool
    """True when another key is known for the host."""

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.public)

    @property
    def line(self) -> str:
        """As known_hosts wants it."""
        return f"{entry_name(self.host, self.port)} {self.public}\n"


class HostKeyError(K2Error):
    """A host key stood in the way."""

    def __init__(self, offered: OfferedKey) -> None:
        if offered.changed:
            code = "host_key_changed"
            message = f"the host key of {offered.node} has changed: it now shows {offered.fingerprint}"
            hint = (
                f"somebody may stand in between; ask who runs {offered.host}, then remove the old key with "
                f"`ssh-keygen -R '{entry_name(offered.host, offered.port)}'`"
            )
        else:
            code = "host_key_unknown"
            message = f"the host key of {offered.node} is not known: {offered.fingerprint}"
            hint = "compare it with the host's own, then trust it"
        made = link_error(code, offered.node, message, hint)
        super().__init__(message, code=code, subject=offered.node, hint=hint, exit_code=made.exit_code)
        self.offered = offered


def entry_name(host: str, port: int) -> str:
    """`host`, or `[host]:port` away from the usual port."""
    return host if port == SSH_PORT else f"[{host}]:{port}"


def fingerprint(public: str) -> str:
    """`SHA256:...` of an OpenSSH public key line, as ssh-keygen -l shows it."""
    blob = base64.b64decode(public.split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode("ascii").rstrip("=")


def append_trusted(path: Path, offered: OfferedKey | None, *, node: str) -> None:
    """Write an unknown key down. Raises K2Error for a changed one, and when no key was offered."""
    if offered is None:
        raise link_error("config", node, f"{node} has shown no unknown host key", "connect to it first")
    if offered.changed:
        raise HostKeyError(offered)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        ends_open = path.is_file() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, ("\n" * ends_open + offered.line).encode("utf-8"))
        finally:
            os.close(file)
    except OSError as error:
        raise link_error("config", node, f"can't write {path}: {error.strerror}") from error
