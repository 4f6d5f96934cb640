"""Lines without their numbers, names and paths: what is left is a format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

REAL = Path(__file__).parent.parent / "logs" / "real"
REPLIES = Path(__file__).parent.parent / "logs" / "replies"

_STAMP = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?P<rank> TP\d+)?\] ")
_RULES: tuple[tuple[str, str], ...] = (
    (r"server_args=.*", "server_args=…"),
    (r"'/?[\w./-]*/[\w./-]*'", "'PATH'"),
    (r"https?://[\d.]+:\d+", "URL"),
    (r"\d+\.\d+\.\d+\.\d+:\d+", "PEER"),
    (r"\('[\d.]+', \d+\)", "ADDRESS"),
    (r"\[[\d, ]*\]", "[LIST]"),
    (r"\['[0-9a-f', ]*'\]", "[LIST]"),
    (r"(?<= type=)\w+", "CLASS"),
    (r"(?<=quant=)[\w-]+", "METHOD"),
    (r"(?<=_parser=)\w+", "PARSER"),
    (r"(?<=dtype: )torch\.\w+|(?<=dtype=)torch\.\w+|(?<=dtype: torch\.)\w+", "DTYPE"),
    (r"(?<=generation config: ).*", "{PARAMS}"),
    (r"cpu graph: (True|False)|cuda graph: (True|False)", "GRAPH"),
    (r"available_(cpu|gpu)_mem", "available_mem"),
    (r"(?<=: )[█▏▎▍▌▋▊▉ ]*\d+%\|[█▏▎▍▌▋▊▉ ]*\|", " N%|BAR|"),
    (r"^ *\d+%\|[█▏▎▍▌▋▊▉ ]*\|", "N%|BAR|"),
    (r"-?\d+(\.\d+)?", "N"),
    (r", *N(it/s|s/it)|, \?it/s", ", RATE"),
    (r"\[N:N<(N:N|\?)", "[CLOCK"),
    (r" +", " "),
)


def shape(line: str) -> str:
    """The format of one line or bar; the rank in its prefix is left out."""
    text = _STAMP.sub("[T] ", line).rstrip()
    for pattern, replacement in _RULES:
        text = re.sub(pattern, replacement, text)
    return text


def pieces(log: bytes) -> list[str]:
    """Every line, every redraw of a bar, and every line that was glued to a bar."""
    text = log.decode("utf-8", "replace")
    return [piece for piece in re.split(r"[\r\n]+|(?=\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", text) if piece.strip()]


def is_stamped(piece: str) -> bool:
    """A line of the logger or of uvicorn."""
    return _STAMP.match(piece) is not None


def is_bar(piece: str) -> bool:
    """A drawing of a bar."""
    return re.search(r"\d+% ?(Completed \||\|)", piece) is not None


def rank_of(piece: str) -> str | None:
    """`TP3`."""
    found = _STAMP.match(piece)
    return None if found is None or found["rank"] is None else found["rank"].strip()


def shapes(logs: Iterable[bytes]) -> set[str]:
    """The formats of all stamped lines and bars."""
    return {shape(piece) for log in logs for piece in pieces(log) if is_stamped(piece) or is_bar(piece)}


def real_shapes(*names: str) -> set[str]:
    """The same of real logs."""
    return shapes((REAL / f"{name}.log").read_bytes() for name in names)
