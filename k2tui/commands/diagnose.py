"""`k2tui diagnose FILE`: what a launch log says."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from difflib import get_close_matches
from io import BufferedReader
from pathlib import Path

from k2tui.commands.output import Output
from k2tui.core.diagnosis import Diagnosis, diagnose, judge
from k2tui.core.diagnosis_text import phase_line, to_text, verdict
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.intake import LogIntake
from k2tui.core.launch import LaunchKind, LaunchPhase

READ_BYTES = 1 << 20
POLL_S = 0.5
"""Between two looks at a file that grows: a plain file can't be waited for."""
_CONTEXT: dict[str, tuple[type | tuple[type, ...], str]] = {
    "observed_at": ((str, int, float), "time"),
    "process_alive": (bool, "true or false"),
    "exit_code": (int, "number"),
    "stop_asked": (bool, "true or false"),
    "probe": (dict, "object"),
    "checkpoint": (dict, "object"),
    "moving": (dict, "object"),
}
"""Key to its type, and that in words."""
GOOD = (LaunchKind.LOADING, LaunchKind.READY, LaunchKind.STOPPED)


def main(args: argparse.Namespace) -> int:
    """Read the file, or standard input for `-`, and say what it is. Exit 0 for loading, ready, stopped; else 1."""
    output = Output(as_json=args.json)
    context = _context(args.context)
    if not args.json:
        for problem in odd_keys(context or {}):
            output.aside(f"{args.context}: {problem}")
    if args.follow:
        return _follow(args.file, context, output)
    with _open(args.file) as stream:
        diagnosis = diagnose(_chunks(stream), context)
        written_s = (
            None
            if "observed_at" in (context or {}) or args.file == "-"
            else max(0.0, time.time() - os.fstat(stream.fileno()).st_mtime)
        )
    _say(diagnosis, output, written_s=written_s)
    return int(ExitCode.BAD) if diagnosis.is_empty and diagnosis.lines else _code(diagnosis)


def _follow(path: str, context: dict[str, object] | None, output: Output) -> int:
    """Tell each step as it comes; ends with the whole answer when the launch is no longer loading."""
    told = Told(output)
    diagnosis = None
    for intake, now in _growing(path):
        diagnosis = judge(intake, context if context or now is None else {"observed_at": now})
        told.step(diagnosis)
        if diagnosis.launch.kind is not LaunchKind.LOADING:
            break
    if diagnosis is None:
        diagnosis = judge(LogIntake(), context)
    if not output.as_json:
        _say(diagnosis, output)
    return _code(diagnosis)


def _growing(path: str) -> Iterator[tuple[LogIntake, float | None]]:
    """The log as far as it was read, each time that there is news or half a second went by; with the log clock's now.

    A file that was cut or replaced is begun anew. Standard input ends at its end.
    """
    intake, position, caught_up = LogIntake(near=log_clock_now()), 0, False
    stream = _open(path)
    try:
        while True:
            if data := stream.read1(READ_BYTES):
                intake.feed(data, log_clock_now() if caught_up else None)
                position += len(data)
                if path == "-":
                    yield intake, None
                continue
            intake.flush()
            yield intake, None if path == "-" else log_clock_now()
            if path == "-":
                return
            caught_up = True
            time.sleep(POLL_S)
            if _is_another(stream, path, position):
                stream.close()
                stream, intake = _open(path), LogIntake(near=log_clock_now())
                position, caught_up = 0, False
    finally:
        if path != "-":
            stream.close()


def _is_another(stream: BufferedReader, path: str, position: int) -> bool:
    """Under that name there is another file now, or a shorter one."""
    try:
        there, here = os.stat(path), os.fstat(stream.fileno())
    except OSError:
        return False
    return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino) or there.st_size < position


def log_clock_now() -> float:
    """This machine's local time as logs print it."""
    now = time.time()
    return now + time.localtime(now).tm_gmtoff


class Told:
    """What was said of a log that is followed: on a terminal one line that changes, elsewhere a line for each step."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._document: object = None
        self._step: tuple[LaunchPhase, str | None, int | None] | None = None

    def step(self, diagnosis: Diagnosis) -> None:
        """Say what is new."""
        output, launch = self._output, diagnosis.launch
        if output.as_json:
            document = diagnosis.to_json()
            news = {**document, "silence_s": None}  # grows by itself
            if news != self._document:
                self._document = news
                output.json(document)
            return
        if launch.kind is not LaunchKind.LOADING:
            return
        step = (launch.phase, launch.detail, None if launch.progress is None else int(10 * launch.progress.fraction))
        if output.is_terminal:
            if self._step is not None and launch.phase is not self._step[0] and (over := phase_line(launch)):
                output.line(over)
            output.live(_short(verdict(diagnosis), shutil.get_terminal_size().columns))
        elif step != self._step:
            output.line(verdict(diagnosis))
        self._step = step


def _short(text: str, width: int) -> str:
    return text if len(text) < width else f"{text[: max(1, width - 2)]}…"


def _say(diagnosis: Diagnosis, output: Output, *, written_s: float | None = None) -> None:
    if output.as_json:
        output.json(diagnosis.to_json())
        return
    width = shutil.get_terminal_size().columns if output.is_terminal else None
    for line in to_text(diagnosis, width=width, written_s=written_s):
        output.line(line)


def _code(diagnosis: Diagnosis) -> int:
    return int(ExitCode.DONE if diagnosis.launch.kind in GOOD else ExitCode.BAD)


def _chunks(stream: BufferedReader) -> Iterator[bytes]:
    while data := stream.read(READ_BYTES):
        yield data


def _open(path: str) -> BufferedReader:
    if path == "-":
        return open(sys.stdin.fileno(), "rb", closefd=False)
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
    except (ValueError, RecursionError) as error:
        raise K2Error(
            f"{path} is not JSON: {error}", code="bad_context", subject=path, exit_code=ExitCode.USAGE
        ) from error
    if not isinstance(value, dict):
        raise K2Error(f"{path} holds no JSON object", code="bad_context", subject=path, exit_code=ExitCode.USAGE)
    return value


def odd_keys(context: dict[str, object]) -> list[str]:
    """What a context holds that nobody will look at: an unknown key, a value of another type."""
    odd: list[str] = []
    for key, value in context.items():
        if key not in _CONTEXT:
            close = get_close_matches(key, _CONTEXT, n=1)
            odd += [f"{key} is unknown; did you mean {close[0]}?"] if close else []
        elif value is not None and not isinstance(value, _CONTEXT[key][0]):
            odd.append(f"{key} is not looked at: it is no {_CONTEXT[key][1]}")
    return odd


def _unreadable(path: str, error: OSError) -> K2Error:
    missing = isinstance(error, FileNotFoundError)
    return K2Error(
        f"{path} can't be read: {error.strerror}",
        code="no_such_file" if missing else "unreadable",
        subject=path,
        exit_code=ExitCode.MISSING if missing else ExitCode.USAGE,
    )
