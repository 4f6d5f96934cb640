"""A real OpenSSH sshd for tests: on a free loopback port, with keys of its own, for the user who runs the tests.

It never touches the system's sshd nor anybody's ~/.ssh.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from k2tui.core.settings import NodeSettings

MISSING = "these tests need a real sshd: `apt-get install openssh-server` (it need not be started)"
MARK = "K2TUI_TEST"
"""In the environment of everything that a login starts, so that nothing can be left behind unseen."""


def find_sshd() -> str:
    """The absolute path that sshd insists on. Fails when there is none."""
    found = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.fail(MISSING)
    return found


def make_key(path: Path, *, kind: str = "ed25519", passphrase: str = "") -> str:
    """A new key pair; its public half as `kind key`."""
    for old in (path, path.with_suffix(".pub")):
        old.unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "", "-f", str(path)], check=True)
    return " ".join(path.with_suffix(".pub").read_text(encoding="ascii").split()[:2])


class Sshd:
    """The server: `start`, `stop`, `cut` (kill the connections), `new_host_key`."""

    def __init__(self, directory: Path, *, env: Mapping[str, str] | None = None, lines: tuple[str, ...] = ()) -> None:
        self.directory = directory
        self.home = directory / "home"
        self.home.mkdir(parents=True)
        self.user = getpass.getuser()
        self.identity = directory / "client_key"
        self.public = make_key(self.identity)
        self.host_public = make_key(directory / "host_key")
        self.mark = uuid.uuid4().hex
        self.lines = lines
        """Further lines of sshd_config."""
        self.env = {"HOME": str(self.home), MARK: self.mark, "PATH": os.environ.get("PATH", os.defpath), **(env or {})}
        (directory / "authorized_keys").write_text(f"{self.public}\n", encoding="ascii")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def known_hosts_line(self) -> str:
        """What a client has to know."""
        return f"[127.0.0.1]:{self.port} {self.host_public}\n"

    @property
    def log(self) -> str:
        """What sshd said."""
        return (self.directory / "sshd.log").read_text(encoding="utf-8", errors="replace")

    def node(self, name: str = "node", *, transport: str = "asyncssh", **changes: str | int | None) -> NodeSettings:
        """Settings that reach it; the host key is not part of them."""
        settings = {"host": "127.0.0.1", "port": self.port, "user": self.user, "identity": str(self.identity)}
        return NodeSettings(name, transport=transport, **{**settings, **changes})  # type: ignore[arg-type]  # by name

    def start(self) -> None:
        """Listen. Returns once a client is answered."""
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, parents=True, exist_ok=True)
        here = self.directory
        setenv = " ".join(f'"{name}={value}"' for name, value in self.env.items())
        config = here / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {here}/host_key\nPidFile {here}/pid\n"
            f"AuthorizedKeysFile {here}/authorized_keys\nPermitRootLogin yes\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nSetEnv {setenv}\n"
            + "".join(f"{line}\n" for line in self.lines),
            encoding="utf-8",
        )
        command = [find_sshd(), "-D", "-E", str(here / "sshd.log"), "-f", str(config)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        while not self._answers():
            assert self._process.poll() is None, f"sshd did not start: {self.log}"
            time.sleep(0.02)

    def _answers(self) -> bool:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", self.port)) != 0:
                return False
            return client.recv(4) == b"SSH-"

    def stop(self) -> None:
        """Refuse new connections and cut the live ones."""
        process, self._process = self._process, None
        if process is not None:
            children = self.connections(process.pid)
            process.kill()
            process.wait()
            _kill(children)

    def restart(self) -> None:
        """Stop and start on the same port."""
        self.stop()
        self.start()

    def cut(self) -> int:
        """Kill the process of every live connection; how many there were."""
        assert self._process is not None
        return _kill(self.connections(self._process.pid))

    @staticmethod
    def connections(pid: int) -> list[int]:
        """The sshd processes below this one, each a connection or half of one."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                child = int(entry.name)
                found.append(child)
                found += [below for below in Sshd.connections(child) if _is_sshd(below)]
        return found

    def new_host_key(self) -> None:
        """From the next start on, another host key, as after a new installation, or with somebody in between."""
        self.host_public = make_key(self.directory / "host_key")

    def processes(self) -> list[str]:
        """`PID command` of what logins started and that still lives."""
        needle = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if needle in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found.append(f"{entry.name} {command[:120]}")
            except OSError:
                continue
        return found


def _is_sshd(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("sshd")
    except OSError:
        return False


def _kill(pids: list[int]) -> int:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return len(pids)


def running(directory: Path) -> Iterator[Sshd]:
    """The body of a fixture: a server that runs meanwhile."""
    server = Sshd(directory)
    server.start()
    yield server
    server.stop()
