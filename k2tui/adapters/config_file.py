"""The config file: found, read, and written once as a starter."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from k2tui.core.errors import ConfigErrors, ExitCode, K2Error
from k2tui.core.settings import Settings

VARIABLE = "K2TUI_CONFIG"
LARGEST_BYTES = 4 << 20
"""A config that is larger was meant for something else."""

_STARTER = """\
# k2tui: what it watches and starts. `k2tui config check` says whether it is right.
# Without a node here, k2tui shows the machine that it runs on.

theme = "k2-dark"

# A machine that you reach with `ssh gpu-a`:
# [nodes.gpu-a]
# tags = ["prod"]

# A server on it. `r` on its row starts it:
# [servers.kimi]
# node = "gpu-a"
# setup = ". /opt/sglang/bin/activate"
# port = 30000
# profile = "base"

# Paste what you type today; `$VARIABLES`, pipes and && stay outside:
# [profiles.base]
# cmd = '''
# NCCL_PROTO=LL python3 -m sglang.launch_server \\
#   --model-path /shared/model \\
#   --tp-size 8
# '''

# ... and build on it:
# [profiles.reason]
# extends = "base"
# flags = { reasoning-parser = "kimi_k2" }
"""


class ConfigFile:
    """The one config file of this run: what `--config` names, else K2TUI_CONFIG, else the usual place."""

    def __init__(self, asked: str | None, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.source = "flag" if asked is not None else "environment" if environ.get(VARIABLE) else "default"
        """flag | environment | default: who says where it is."""
        named = asked if asked is not None else environ.get(VARIABLE)
        self.path = Path(named).expanduser() if named else default_path()
        self.loaded: bytes | None = None
        """The file as `load` read it; None: there was none, or it was not read yet."""

    def exists(self) -> bool:
        """True when something is there, be it a broken link."""
        return os.path.lexists(self.path)

    def load(self, themes: Collection[str] | None = None) -> Settings:
        """The settings in it; the machine itself when there is no file and none was asked for."""
        # `config path` must not pay for the checks of what it does not read.
        from k2tui.core.config import local_node  # noqa: PLC0415

        if self.source == "default" and not self.exists():
            node = local_node(this_machine())
            return Settings(nodes={node.name: node})
        data = self.read()
        settings = self.settings_of(self.text_of(data), themes)
        self.loaded = data
        return settings

    def settings_of(self, text: str, themes: Collection[str] | None = None) -> Settings:
        """The settings of this text, were it in the file. Raises ConfigErrors with every line that is wrong."""
        from k2tui.core.config import matching, settings_from  # noqa: PLC0415  as above
        from k2tui.core.toml_lines import key_lines  # noqa: PLC0415

        path = str(self.path)
        return settings_from(
            parsed_toml(text, path),
            path=path,
            locate=key_lines(text),
            themes=themes,
            ssh_hosts=lambda pattern: matching(self._ssh_aliases(), pattern),
            this_machine=this_machine(),
        )

    def write_starter(self) -> None:
        """Write the starter, 0600; never over something that is there."""
        path = str(self.path)
        try:
            if self.exists():
                raise K2Error(
                    f"{path} is there already, and was left as it is",
                    code="exists",
                    subject=path,
                    hint="k2tui config check reads it; move it away for a new one",
                    exit_code=ExitCode.USAGE,
                )
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise K2Error(
                f"{path} can't be written: {error.strerror}",
                code="unwritable",
                subject=path,
                hint="choose another place with --config",
                exit_code=ExitCode.USAGE,
            ) from error
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(starter_text())

    def _ssh_aliases(self) -> tuple[str, ...]:
        from k2tui.adapters.ssh_hosts import ssh_aliases  # noqa: PLC0415  most configs name no pattern

        home = self._environ.get("HOME")
        return ssh_aliases((Path(home) if home else Path.home()) / ".ssh" / "config")

    def read(self) -> bytes:
        """What is in the file; an unreadable one is one line for the operator."""
        try:
            with self.path.open("rb") as stream:
                data = stream.read(LARGEST_BYTES + 1)
        except FileNotFoundError as error:
            asked = {"flag": "--config", "environment": VARIABLE, "default": "the link"}[self.source]
            raise self._unreadable("no file", f"the file that {asked} names; k2tui config init writes one") from error
        except IsADirectoryError as error:
            raise self._unreadable("a directory", "a file, such as config.toml in it") from error
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise self._unreadable(f"a file that can't be read ({reason})", "one that you may read") from error
        if len(data) > LARGEST_BYTES:
            raise self._unreadable("a file above 4 MiB", "a config")
        return data

    def text_of(self, data: bytes) -> str:
        """The file's bytes as text whose lines all end in a newline, without a byte order mark."""
        try:
            text = data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            found = f"the byte 0x{data[error.start]:02x}"
            raise self._unreadable(found, "text in UTF-8; save it as UTF-8", line) from error
        return text if text.endswith("\n") else text + "\n"  # else the parser calls its last line "end of document"

    def _unreadable(self, found: str, expected: str, line: int | None = None) -> ConfigErrors:
        return _one_error(str(self.path), line, None, found, expected)


def load_settings(path: str | None, environ: Mapping[str, str]) -> Settings:
    """The settings by flag, environment, or the usual place. Raises ConfigErrors with every line that is wrong."""
    return ConfigFile(path, environ).load()


def starter_text() -> str:
    """What `config init` writes: everything in it is a comment but the theme."""
    return _STARTER


def default_path() -> Path:
    """The usual place of the config."""
    import platformdirs  # noqa: PLC0415  not needed when a file is named

    return Path(platformdirs.user_config_dir("k2tui", appauthor=False)) / "config.toml"


def trusted_hosts_path() -> Path:
    """k2tui's own known_hosts file, apart from ~/.ssh/known_hosts."""
    return _state_dir() / "known_hosts"


def audit_path() -> Path:
    """The audit log of this operator."""
    return _state_dir() / "audit.jsonl"


def this_machine() -> str:
    """The short host name, as a node may be called."""
    short = socket.gethostname().partition(".")[0]
    return (
        "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in short).strip("-")
        or "localhost"
    )


def _state_dir() -> Path:
    import platformdirs  # noqa: PLC0415  as above

    return Path(platformdirs.user_state_dir("k2tui", appauthor=False))


def parsed_toml(text: str, path: str) -> dict[str, Any]:
    """The document of a TOML text; a broken one is one line for the operator."""
    parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: dict[str, Any] = parser.loads(text)
    except (ValueError, RecursionError) as error:
        from k2tui.core.toml_lines import broken_place  # noqa: PLC0415

        reason, has_place, _ = str(error).partition(" (at ")
        line, column, key = broken_place(text, str(error)) if has_place else (None, None, None)
        if not has_place:  # a number of thousands of digits, or a thousand brackets
            reason = "nested too deep" if isinstance(error, RecursionError) else reason.partition(":")[0]
        found = f"broken TOML ({reason}{f', column {column}' if column else ''})"
        expected = "KEY = VALUE or [TABLE], text in quotes, each key once"
        raise _one_error(path, line, key, found, expected) from error
    return document


def _one_error(path: str, line: int | None, key: str | None, found: str, expected: str) -> ConfigErrors:
    from k2tui.core.config_findings import error_line  # noqa: PLC0415

    return ConfigErrors((error_line(path, line, key, found, expected),), subject=path)
