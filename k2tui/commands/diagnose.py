"""`k2tui diagnose FILE`: what a launch log says."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from k2tui.commands.output import Output
from k2tui.core.diagnosis import Diagnosis, diagnose, judge
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.intake import LogIntake
from k2tui.core.launch import LaunchKind

READ_BYTES = 1 << 20
POLL_S = 0.5
"""Between two looks at a file that grows: a plain file can't be waited for."""
GOOD = (LaunchKind.LOADING, LaunchKind.READY, LaunchKind.STOPPED)


def main(args: argparse.Namespace) -> int:
    """Read the file, or standard input for `-`, and say what it is. Exit 0 for loading, ready, stopped; else 1."""
    output = Output(as_json=args.json)
    context = _context(args.context)
    if args.follow:
        return _follow(args.file, context, output)
    with _open(args.file) as stream:
        diagnosis = diagnose(_chunks(stream), context)
    _say(diagnosis, output)
    return _code(diagnosis)


def _follow(path: str, context: dict[str, object] | None, output: Output) -> int:
    """Say it again whenever it changed; ends when the launch is no longer loading."""
    intake = LogIntake()
    told: object = None
    with _open(path) as stream:
        while True:
            if data := stream.read(READ_BYTES):
                intake.feed(data)
                continue
            intake.flush()
            diagnosis = judge(intake, context)
            if diagnosis.to_json() != told:
                told = diagnosis.to_json()
                _say(diagnosis, output)
            if diagnosis.launch.kind is not LaunchKind.LOADING or path == "-":
                return _code(diagnosis)
            time.sleep(POLL_S)


def _say(diagnosis: Diagnosis, output: Output) -> None:
    if output.as_json:
        output.json(diagnosis.to_json())
        return
    for line in diagnosis.to_text():
        output.line(line)


def _code(diagnosis: Diagnosis) -> int:
    return int(ExitCode.DONE if diagnosis.launch.kind in GOOD else ExitCode.BAD)


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while data := stream.read(READ_BYTES):
        yield data


def _open(path: str) -> BinaryIO:
    if path == "-":
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise _unreadable(path, error) from error


def _context(path: str | None) -> dict[str, object] | None:
    """`--context FILE`: {observed_at, process_alive, probe, ...}, what a log alone cannot say."""
    if path is None:
        return None
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise K2Error(
            f"{path} is not JSON: {error}", code="bad_context", subject=path, exit_code=ExitCode.USAGE
        ) from error
    if not isinstance(value, dict):
        raise K2Error(f"{path} holds no JSON object", code="bad_context", subject=path, exit_code=ExitCode.USAGE)
    return value


def _unreadable(path: str, error: OSError) -> K2Error:
    missing = isinstance(error, FileNotFoundError)
    return K2Error(
        f"{path} can't be read: {error.strerror}",
        code="no_such_file" if missing else "unreadable",
        subject=path,
        exit_code=ExitCode.MISSING if missing else ExitCode.USAGE,
    )
