"""A look at the weight files of a server's model, where they lie on its node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from k2tui.core.checkpoint import Checkpoint, parse
from k2tui.core.flags import Arguments, arguments
from k2tui.services.doors import NodeLink, Script

LOOK_LIMIT_S = 60.0
"""The script bounds its own steps; all of them together take less."""

_NO_SHARDS = frozenset(
    {"dummy", "gguf", "mistral", "presharded", "remote", "remote_instance", "sharded_state", "tensorizer"}
)
"""Load formats that read no shards, or others than the directory's index names."""
_CACHES = (
    ("HF_HUB_CACHE", ""),
    ("HUGGINGFACE_HUB_CACHE", ""),
    ("HF_HOME", "/hub"),
    ("XDG_CACHE_HOME", "/huggingface/hub"),
)
"""Variables that move the hub's cache, in the order in which they count, and what follows them."""


async def look(
    link: NodeLink, script: Script, *, argv: Sequence[str], env: Mapping[str, str], cwd: str | None
) -> Checkpoint | None:
    """The checkpoint that this command loads; None when it names none or its files are not on the node."""
    args = look_args(argv, env, cwd)
    if args is None:
        return None
    done = await link.run(script, args, timeout_s=LOOK_LIMIT_S)
    found = parse(done.stdout)
    if found is not None and env.get("SGLANG_SORT_WEIGHT_FILES", "").strip().startswith("-"):
        return replace(found, is_sorted=False)
    return found


def look_args(argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> tuple[str, ...] | None:
    """What remote/weights.sh is told: model, revision, directory, download directory, caches of the hub."""
    command = arguments(argv)
    model = model_of(argv)
    if not model or "\0" in model or _value(command, "load-format") in _NO_SHARDS:
        return None
    caches = [f"{env[name].rstrip('/')}{below}" for name, below in _CACHES if env.get(name)]
    return (model, _value(command, "revision"), cwd or "", _value(command, "download-dir"), *caches)


def model_of(argv: Sequence[str]) -> str | None:
    """The path or the hub's name of the model that a command serves; None when it names none."""
    command = arguments(argv)
    if named := _value(command, "model-path"):
        return named
    if command.head[-1:] != ("serve",):
        return None
    return next((part.tokens[0] for part in command.parts if part.name is None), None)


def _value(command: Arguments, name: str) -> str:
    part = command.find(name)
    return part.values[0] if part is not None and part.values else ""
