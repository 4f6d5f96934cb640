"""The words that the system's ssh is called with, and what it says about a host before any login."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from k2tui.adapters.known_hosts import SSH_PORT, OfferedKey
from k2tui.adapters.openssh_words import read_stderr
from k2tui.adapters.trouble import link_error
from k2tui.core.settings import NodeSettings

ASK_S = 20.0
_FIXED: Mapping[str, str] = {
    "BatchMode": "yes",  # a prompt would go to the terminal under the screen
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",
    "ConnectTimeout": "15",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "RequestTTY": "no",
    "RemoteCommand": "none",
    "PermitLocalCommand": "no",
    "ClearAllForwardings": "yes",
    "LogLevel": "ERROR",
}


class SshCommand:
    """ssh to one node."""

    def __init__(self, node: NodeSettings, trusted_hosts: Path, ssh_config: tuple[Path, ...] | None) -> None:
        self._node = node
        self._trusted_hosts = trusted_hosts
        self._config = ssh_config
        self._resolved: dict[str, str] = {}
        self.socket: Path | None = None
        """Of the master connection that k2tui holds; None while there is none, or when the operator's own serves."""

    @property
    def who(self) -> str:
        return self._resolved.get("user", self._node.user or "the user of your ssh config")

    @property
    def first_hop(self) -> str:
        """The sshd that every login goes through: a jump host's, else the host's own."""
        jump = self._resolved.get("proxyjump", "none")
        if jump != "none":
            return jump.partition(",")[0]
        return f"{self._resolved.get('hostname', self._node.host)}:{self._resolved.get('port', SSH_PORT)}"

    async def resolve(self) -> None:
        """Ask ssh what its config says of this host. Raises K2Error config when it can't be used."""
        code, out, err = await self._ask(*self._where("-G"))
        if code != 0:
            error = read_stderr(self._node.name, self.who, 255, err)
            said = " ".join(err.decode("utf-8", "replace").split())
            raise error or link_error("config", self._node.name, f"ssh can't use its config: {said[:200]}")
        for line in out.decode("utf-8", "replace").splitlines():
            word, _, value = line.partition(" ")
            self._resolved.setdefault(word.lower(), value)  # the first of several counts

    async def operators_master_is_up(self) -> bool:
        """A ControlMaster of the operator's own, perhaps logged in with a second factor."""
        if self._resolved.get("controlpath", "none") == "none":
            return False
        code, _, _ = await self._ask(*self._where("-O", "check"))
        return code == 0

    def argv(self, *options: str, command: str | None = None, apart: bool = False) -> list[str]:
        """A whole command line. `apart`: on a connection of its own."""
        path = "none" if apart else None if self.socket is None else str(self.socket)
        control = [] if path is None else ["-o", f"ControlPath={path}"]
        if "ControlMaster=yes" not in options:
            control += ["-o", "ControlMaster=no"]
        words = self._where("-T", *options, *control, *self._options())  # of two values ssh takes the first
        return words if command is None else [*words, command]

    def _options(self) -> list[str]:
        # Beside the system's files: the operator's own stay as the config says, which may hold names with spaces.
        files = self._resolved.get("globalknownhostsfile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2")
        usual = [name for name in files.split() if name != "none"]
        known = " ".join(f'"{name}"' for name in (*usual, str(self._trusted_hosts)))
        fixed = {**_FIXED, "GlobalKnownHostsFile": known}
        return [word for keyword, value in fixed.items() for word in ("-o", f"{keyword}={value}")]

    def _where(self, *options: str) -> list[str]:
        node = self._node
        words = ["ssh", *options]
        for path in self._config or ():
            words += ["-F", str(path)]
        if self._config == ():
            words += ["-F", "none"]
        if node.user is not None:
            words += ["-l", node.user]
        if node.port is not None:
            words += ["-p", str(node.port)]
        if node.identity is not None:
            words += ["-i", os.path.expanduser(node.identity)]
        if node.proxy_jump is not None:
            words += ["-J", node.proxy_jump]
        return [*words, "--", node.host]

    async def shown_key(self, *, changed: bool) -> OfferedKey | None:
        """The key that the host shows, taken down by ssh itself on the way it always goes; no login is tried."""
        with tempfile.TemporaryDirectory(prefix="k2tui-") as folder:
            file = Path(folder) / "shown"
            options = {"StrictHostKeyChecking": "accept-new", "UserKnownHostsFile": str(file)}
            options |= {"GlobalKnownHostsFile": "none", "HashKnownHosts": "no", "PreferredAuthentications": "none"}
            words = [word for keyword, value in options.items() for word in ("-o", f"{keyword}={value}")]
            fixed = [word for key, value in _FIXED.items() if key not in options for word in ("-o", f"{key}={value}")]
            await self._ask(*self._where("-T", *words, *fixed, "-o", "ControlPath=none"), "true")
            try:
                _, kind, key = file.read_text(encoding="utf-8").split()[:3]
            except (OSError, ValueError):
                return None
        host = self._resolved.get("hostkeyalias") or self._resolved.get("hostname") or self._node.host
        port = int(self._resolved.get("port", SSH_PORT)) if "hostkeyalias" not in self._resolved else SSH_PORT
        return OfferedKey(self._node.name, host, port, f"{kind} {key}", changed)

    async def _ask(self, *argv: str) -> tuple[int, bytes, bytes]:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=ssh_environment(),
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), ASK_S)
        except BaseException:
            if process.returncode is None:
                process.kill()
            raise
        assert process.returncode is not None
        return process.returncode, out, err


def ssh_environment() -> dict[str, str]:
    """Ours, but no window may pop up and ask for a passphrase."""
    return {**os.environ, "SSH_ASKPASS_REQUIRE": "never"}


def private_directory() -> Path:
    """A new directory that only this user can enter, with a path short enough for a socket."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    usable = runtime is not None and len(runtime) < 40 and os.access(runtime, os.W_OK)
    return Path(tempfile.mkdtemp(prefix="k2-", dir=runtime if usable else "/tmp"))
