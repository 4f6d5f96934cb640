"""The host aliases of an ssh config: what `Host` lines name, without wildcards."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from pathlib import Path

_LINE = re.compile(r"\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*?)\s*$")
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_DEEPEST = 16
"""Includes in includes, as OpenSSH limits them."""


def ssh_aliases(config: Path) -> tuple[str, ...]:
    """Every alias of this ssh config and of what it includes, each once, in order; none when there is no such file."""
    return tuple(dict.fromkeys(_aliases(config, config.parent, _DEEPEST)))


def _aliases(config: Path, home: Path, depth: int) -> Iterator[str]:
    try:
        text = config.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return  # ssh itself goes on without a file that it can't read
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        words = [quoted or bare for quoted, bare in _WORD.findall(found[2])]
        keyword = found[1].lower()
        if keyword == "host":
            yield from (word for word in words if not re.search(r"[*?!]", word))
        elif keyword == "include" and depth:
            for word in words:
                for path in sorted(glob.glob(str(home / Path(word).expanduser()))):
                    yield from _aliases(Path(path), home, depth - 1)
