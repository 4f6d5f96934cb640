"""A server that somebody started by hand, written as config: what makes it one of the operator's own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from k2tui.core.flags import Part, arguments
from k2tui.core.found import FoundServer
from k2tui.core.secrets import MASK
from k2tui.core.toml_lines import dotted, toml_string

_NO_CONFIG_HAS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")
"""Control characters, which the config refuses, and what was none before it was read."""
_SET_ANYWAY = frozenset({"SPT_NOENV", "PYTHONUNBUFFERED", "VIRTUAL_ENV", "CONDA_PREFIX"})
"""Variables that k2tui sets itself, or that `python` says as well."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def adoption_toml(found: FoundServer, node: str, name: str) -> str:
    """The lines of a config: the server, and a profile of the same name with its exact command.

    What can't be written (a secret, a control character) is left out, and a comment says so.
    """
    notes: list[str] = []
    words = [*_variables(found, notes), *_command(found, notes)]
    server: list[tuple[str, str]] = [("node", toml_string(node)), ("engine", toml_string(found.engine))]
    if python := _python(found):
        server.append(("python", toml_string(python)))
    if found.cwd is not None and not _NO_CONFIG_HAS.search(found.cwd):
        server.append(("cwd", toml_string(found.cwd)))
    if found.gpus and not _chooses_gpus(found):
        server.append(("gpus", toml_string(_ranges(found.gpus))))
    if found.port is not None:
        server.append(("port", str(found.port)))
    server.append(("profile", toml_string(name)))
    if found.env_unknown:
        notes.append("its environment could not be read: what it needs of one goes in front of the command")
    if found.container is not None:
        notes.append(f"it runs in {found.container}: started from here, it would run outside of it")
    return "\n".join(
        [
            f"[{dotted(('servers', name))}]",
            *(f"{key} = {value}" for key, value in server),
            "",
            f"[{dotted(('profiles', name))}]",
            *(f"# {note}" for note in notes),
            f"cmd = {_text(words)}",
            "",
        ]
    )


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


def _command(found: FoundServer, notes: list[str]) -> list[str]:
    """The program, then a word or more for each flag with its values."""
    shown = arguments(_without_interpreter(found.argv))
    words = [shlex.join(shown.head)]
    for part in shown.parts:
        reasons = [reason for token in part.tokens if (reason := _unwritable(token))]
        if reasons:
            notes.append(f"{reasons[0]}, so it was left out: {_named(part)}")
        else:
            words.append(shlex.join(part.tokens))
    return words


def _named(part: Part) -> str:
    return "an argument" if part.name is None else f"--{part.name}"


def _unwritable(text: str) -> str | None:
    if MASK in text:
        return "its value is a secret"
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


def _text(words: Sequence[str]) -> str:
    """The command, a flag a line, between quotes of TOML that need no escapes where that is possible."""
    lines = " \\\n  ".join(words)
    if "'''" in lines:
        return toml_string(" ".join(words))
    return f"'''\n{lines}\n'''"


def _ranges(gpus: Sequence[int]) -> str:
    """`0-3,6`."""
    parts: list[list[int]] = []
    for gpu in sorted(set(gpus)):
        if parts and parts[-1][1] == gpu - 1:
            parts[-1][1] = gpu
        else:
            parts.append([gpu, gpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
