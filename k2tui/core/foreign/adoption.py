"""A server that somebody started by hand, written as config: what makes it one of the operator's own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.core.flags import Part, arguments
from k2tui.core.found import FoundServer
from k2tui.core.secrets import MASK
from k2tui.core.settings import ProfileSettings, ServerSettings
from k2tui.core.toml_lines import dotted, toml_string

_NO_CONFIG_HAS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")
"""Control characters, which the config refuses, and what was none before it was read."""
_SET_ANYWAY = frozenset({"SPT_NOENV", "PYTHONUNBUFFERED", "VIRTUAL_ENV", "CONDA_PREFIX"})
"""Variables that k2tui sets itself, or that `python` says as well."""
_SECRET = "its value is a secret"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Adoption:
    """What a found server is as one of the config's own."""

    server: ServerSettings
    profile: ProfileSettings
    notes: tuple[str, ...] = ()
    """What can't come along, a sentence each."""
    secrets: tuple[str, ...] = ()
    """Arguments that were left out because their value is a secret: `--api-key`."""

    @property
    def toml(self) -> str:
        """The lines of a config: the server, and a profile of the same name with its exact command."""
        server = self.server
        rows: list[tuple[str, str]] = [("node", toml_string(server.node)), ("engine", toml_string(server.engine))]
        rows += [(key, toml_string(value)) for key, value in (("python", server.python), ("cwd", server.cwd)) if value]
        if server.gpus:
            rows.append(("gpus", toml_string(_ranges(server.gpus))))
        if server.port is not None:
            rows.append(("port", str(server.port)))
        rows.append(("profile", toml_string(self.profile.name)))
        return "\n".join(
            [
                f"[{dotted(('servers', server.name))}]",
                *(f"{key} = {value}" for key, value in rows),
                "",
                f"[{dotted(('profiles', self.profile.name))}]",
                *(f"# {note}" for note in self.notes),
                f"cmd = {_text(self.profile.cmd or '')}",
                "",
            ]
        )


def adoption_toml(found: FoundServer, node: str, name: str) -> str:
    """The lines of a config: the server, and a profile of the same name with its exact command.

    What can't be written (a secret, a control character) is left out, and a comment says so.
    """
    return adoption_of(found, node, name).toml


def adoption_of(found: FoundServer, node: str, name: str) -> Adoption:
    """The same as settings, with what was left out."""
    notes: list[str] = []
    secrets: list[str] = []
    words = [*_variables(found, notes), *_command(found, notes, secrets)]
    if found.env_unknown:
        notes.append("its environment could not be read: what it needs of one goes in front of the command")
    if found.container is not None:
        notes.append(f"it runs in {found.container}: started from here, it would run outside of it")
    server = ServerSettings(
        name=name,
        node=node,
        engine=found.engine,
        python=_python(found),
        cwd=found.cwd if found.cwd is not None and not _NO_CONFIG_HAS.search(found.cwd) else None,
        gpus=() if _chooses_gpus(found) else tuple(sorted(set(found.gpus))),
        port=found.port,
        profile=name,
    )
    cmd = " \\\n  ".join(words)
    cmd = " ".join(words) if "'''" in cmd else f"{cmd}\n"
    return Adoption(server, ProfileSettings(name, cmd=cmd), tuple(notes), tuple(secrets))


def _chooses_gpus(found: FoundServer) -> bool:
    """Its own words say which GPUs it uses: with `gpus` beside them, `--base-gpu-id 3` would count from GPU 3 on."""
    if any(variable == "CUDA_VISIBLE_DEVICES" for variable, _ in found.env):
        return True
    return any(part.name == "base-gpu-id" for part in arguments(found.argv).parts)


def _variables(found: FoundServer, notes: list[str]) -> list[str]:
    words = []
    for variable, value in found.env:
        if variable in _SET_ANYWAY or not _NAME.fullmatch(variable):
            continue
        if reason := _unwritable(value):
            notes.append(f"{reason}, so it was left out: {variable}")
        else:
            words.append(f"{variable}={shlex.quote(value) if value else ''}")
    return words


def _command(found: FoundServer, notes: list[str], secrets: list[str]) -> list[str]:
    """The program, then a word or more for each flag with its values."""
    shown = arguments(_without_interpreter(found.argv))
    words = [shlex.join(shown.head)]
    for part in shown.parts:
        reasons = [reason for token in part.tokens if (reason := _unwritable(token))]
        if reasons:
            notes.append(f"{reasons[0]}, so it was left out: {_named(part)}")
            if reasons[0] == _SECRET:
                secrets.append(_named(part))
        else:
            words.append(shlex.join(part.tokens))
    return words


def _named(part: Part) -> str:
    return "an argument" if part.name is None else f"--{part.name}"


def _unwritable(text: str) -> str | None:
    if MASK in text:
        return _SECRET
    return "it has a character that no config can hold" if _NO_CONFIG_HAS.search(text) else None


def _without_interpreter(argv: Sequence[str]) -> tuple[str, ...]:
    """`/opt/vllm/bin/python3 /opt/vllm/bin/vllm serve ...` as one types it: the script names its interpreter."""
    is_script = len(argv) > 2 and argv[2] == "serve" and argv[1].rpartition("/")[2] in ("sglang", "vllm")
    return tuple(argv[1:]) if is_script else tuple(argv)


def _python(found: FoundServer) -> str | None:
    """The interpreter of the environment that it was started in, where its command has only a bare name."""
    if not found.argv or "/" in found.argv[0] or found.argv[0].rpartition("/")[2].startswith(("sglang", "vllm")):
        return None
    env = dict(found.env)
    root = env.get("VIRTUAL_ENV") or env.get("CONDA_PREFIX") or ""
    if not root.startswith("/") or _NO_CONFIG_HAS.search(root):
        return None
    return f"{root.rstrip('/')}/bin/{found.argv[0]}"


def _text(cmd: str) -> str:
    """The command between quotes of TOML that need no escapes where that is possible."""
    return f"'''\n{cmd}'''" if cmd.endswith("\n") else toml_string(cmd)


def _ranges(gpus: Sequence[int]) -> str:
    """`0-3,6`."""
    parts: list[list[int]] = []
    for gpu in sorted(set(gpus)):
        if parts and parts[-1][1] == gpu - 1:
            parts[-1][1] = gpu
        else:
            parts.append([gpu, gpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
