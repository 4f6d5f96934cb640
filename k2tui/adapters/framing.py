"""One constant command line for every remote script; the script itself travels through stdin.

So no login shell (bash, fish, tcsh) has to understand it, `ps` on the node shows neither it nor its arguments, and
what rc files print first can be told from what the script prints: a mark, new for each run, stands between them.
"""

from __future__ import annotations

import math
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.services.doors import Script

# Runs "$1" (the loader below) under a time limit where the node can set one.
_ENDS = 'command -v timeout >/dev/null 2>&1 && exec timeout {limit} sh -c "$1" "$0"; exec sh -c "$1" "$0"'
# Runs "$1" by bash where there is one: it can wait for input and time in one go, which costs no process a tick.
_STAYS = 'unset ENV BASH_ENV; command -v bash >/dev/null 2>&1 && exec bash -c "$1" "$0"; exec sh -c "$1" "$0"'
# Says its name (to `ps`), prints the mark (in two halves, so that a shell that prints its command line can't print
# it) and reads exactly `size` bytes: what follows them on stdin belongs to the script.
_LOADER = (
    ': {name}; printf "k2%s%s\\n" {head} {tail}; printf "k2%s%s\\n" {head} {tail} >&2; '
    'k2=$(dd ibs=1 count={size} obs=65536 2>/dev/null); eval "$k2"'
)


@dataclass(frozen=True, slots=True)
class Packed:
    """A script and its arguments, ready to be sent."""

    name: str
    command: str
    """For the login shell: words in single quotes, no newline, no exclamation mark."""
    stdin: bytes
    """The script, with its arguments set; what the script is to read comes after it."""
    mark: bytes
    """What the script's own output starts after, on stdout and on stderr."""


def pack(script: Script, args: Sequence[str], *, limit_s: float | None) -> Packed:
    """`limit_s`: the node itself ends it after this time; None for a script that stays until its stdin closes."""
    for argument in args:
        if "\0" in argument:
            raise ValueError(f"an argument of {script.name} has a NUL byte")
    text = f"set -- {shlex.join(args)}\n{script.text}".encode("utf-8", "surrogateescape")
    head, tail = secrets.token_hex(6), secrets.token_hex(6)
    name = f"k2tui-{script.name}"
    loader = _LOADER.format(name=name, head=head, tail=tail, size=len(text))
    start = _STAYS if limit_s is None else _ENDS.format(limit=math.ceil(limit_s) + 1)
    command = "exec " + shlex.join(("sh", "-c", start, name, loader))
    return Packed(script.name, command, text, f"k2{head}{tail}\n".encode("ascii"))


def after_mark(output: bytes, mark: bytes) -> bytes | None:
    """What the script printed; None when it never came to run."""
    found = output.find(mark)
    return None if found < 0 else output[found + len(mark) :]
