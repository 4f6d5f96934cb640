"""The logs of tests/logs, and short ways to read lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from k2tui.core.intake import LogIntake
from k2tui.core.launch import Launch

LOGS = Path(__file__).parent.parent / "logs"
REAL = LOGS / "real"
CORPUS = LOGS / "corpus"
REPORTS = LOGS / "reports"
"""More launches, written from public reports after the rules were: most of them were read right at first sight."""


def real(name: str) -> bytes:
    """A log of a real server, whole."""
    return (REAL / f"{name}.log").read_bytes()


def corpus_cases(*folders: Path) -> Iterator[tuple[str, bytes, Mapping[str, object]]]:
    """(name, log, right reading) of every reconstructed case, of all folders where none is named."""
    for folder in folders or (CORPUS, REPORTS):
        for path in sorted(folder.glob("*.json")):
            yield path.stem, path.with_suffix(".log").read_bytes(), json.loads(path.read_text(encoding="utf-8"))


def read(*lines: str, engine: str | None = None) -> Launch:
    """The launch of a log of these lines."""
    intake = LogIntake(engine=engine)
    intake.feed("".join(f"{line}\n" for line in lines).encode())
    intake.flush()
    return intake.launch
