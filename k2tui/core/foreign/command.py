"""Whether a command line is an engine's main process, and which port it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from k2tui.core.flags import flag_value

DEFAULT_PORTS: Mapping[str, int] = {"sglang": 30000, "vllm": 8000}
"""Where an engine listens that is not told otherwise."""

_PYTHON = re.compile(r"(?:.*/)?python[\d.]*t?")
_WITH_VALUE = frozenset({"-X", "-W", "--check-hash-based-pycs"})
_SCRIPTS: Mapping[str, str] = {
    "/sglang/launch_server.py": "sglang",
    "/vllm/entrypoints/openai/api_server.py": "vllm",
    "/vllm/entrypoints/api_server.py": "vllm",
}


def main_engine(argv: Sequence[str]) -> str | None:
    """sglang or vllm, when this is the command line of an engine itself; None for what only starts or names one.

    `timeout 9 python3 -m sglang.launch_server` is the process of `timeout`, and the engine is another one.
    """
    if not argv:
        return None
    if _PYTHON.fullmatch(argv[0]) is None:
        return _served(argv[0], argv[1:])
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] == "-m":
            return _module(argv[at + 1 :])
        if argv[at] == "-c":
            return None
        at += 2 if argv[at] in _WITH_VALUE else 1
    if at == len(argv):
        return None
    by_path = next((engine for end, engine in _SCRIPTS.items() if argv[at].endswith(end)), None)
    return by_path or _served(argv[at], argv[at + 1 :])


def asked_port(argv: Sequence[str], engine: str) -> tuple[int | None, bool]:
    """The port that a command asks for, or the engine's own; and whether the command names it.

    None where it serves nobody: a node of a server over several nodes, other than the first.
    """
    rank = flag_value(argv, "node-rank")
    if flag_value(argv, "headless") is not None or "--headless" in argv or (rank or "0").strip("0"):
        return None, False
    asked = flag_value(argv, "port")
    if asked is not None and re.fullmatch(r"[0-9]{1,5}", asked) and 0 < int(asked) < 1 << 16:
        return int(asked), True
    return DEFAULT_PORTS[engine], False


def _module(words: Sequence[str]) -> str | None:
    """Of `-m MODULE ...`."""
    if not words:
        return None
    module = words[0]
    if module == "sglang.launch_server":
        return "sglang"
    if re.fullmatch(r"vllm\.entrypoints\.(?:\w+\.)?api_server", module):
        return "vllm"
    package = module.partition(".")[0]
    return _served(package, words[1:]) if re.fullmatch(r"(?:sglang|vllm)(?:\..*)?", module) else None


def _served(program: str, words: Sequence[str]) -> str | None:
    """Of `sglang serve ...` and `vllm serve ...`."""
    name = program.rpartition("/")[2]
    return name if name in DEFAULT_PORTS and list(words[:1]) == ["serve"] else None
