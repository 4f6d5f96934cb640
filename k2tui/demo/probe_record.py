"""What a probe said in a few ticks, to be said again by many nodes with figures that move."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from k2tui.services.doors import NodeLink, RemoteStream, Script

TICKS = 6
"""As many as come between two looks at disks and processes, and one."""
QUESTIONS = ("ask processes", "ask kernel journal")
_LEVELS = frozenset({"load", "mem"})
"""Words of a tick that go up and down; all others count up."""
_MOVES = {"utilization.gpu": (70, 100), "power.draw": (420, 690), "temperature.gpu": (48, 74)}
"""Columns of a GPU row that are never the same twice, and between what they move."""


@dataclass(frozen=True)
class ProbeRecord:
    """Lines of one probe, whole."""

    before: tuple[bytes, ...]
    """Up to the first tick."""
    rounds: tuple[tuple[bytes, ...], ...]
    """A tick each, and what came after it."""
    answers: Mapping[str, bytes] = field(default_factory=dict)
    """To what was asked on its standard input, by the first two words."""

    def greeting(self) -> bytes:
        """The first words, with the clock as it is now."""
        return b"".join(_with_clock(line) for line in self.before)

    def ticks(self) -> Iterator[tuple[bytes, ...]]:
        """For ever: the pieces of each tick as they would leave a node: its own lines, then the GPUs'."""
        names = self._columns()
        steps = _steps([each[0] for each in self.rounds])
        count = 0
        while True:
            for lines in self.rounds:
                own = [_counted(lines[0], steps, count // len(self.rounds))]
                own += [line for line in lines[1:] if not line.startswith((b"gpu ", b"fields "))]
                gpus = [_moved(line, names) for line in lines if line.startswith(b"gpu ")]
                columns = [line for line in lines if line.startswith(b"fields ") and not count]
                yield tuple(filter(None, (b"".join(own), b"".join([*columns, *gpus]))))
                count += 1

    def _columns(self) -> Sequence[str]:
        for line in (line for each in self.rounds for line in each):
            if line.startswith(b"fields "):
                return line.decode().split()[2].split(",")
        return ()


async def record_probe(link: NodeLink, probe: Script, *disks: str) -> ProbeRecord:
    """Listen to a node's probe for a few ticks of a second, then ask it what can be asked."""
    stream = await link.open(probe, ("1", "", "", *(disks or ("/", "/dev/shm"))))
    before: list[bytes] = []
    rounds: list[list[bytes]] = []
    answers: dict[str, bytes] = {}
    try:
        while len(rounds) <= TICKS:
            line = await stream.readline()
            if not line:
                break
            if line.startswith(b"tick "):
                rounds.append([])
            (rounds[-1] if rounds else before).append(line)
        for question in QUESTIONS:
            await stream.write(f"{question}\n".encode("ascii"))
            answers[" ".join(question.split()[:2])] = await _answer(stream)
    finally:
        await stream.close()
    return ProbeRecord(tuple(before), tuple(tuple(each) for each in rounds[:TICKS]), answers)


async def _answer(stream: RemoteStream) -> bytes:
    """From "began TAG" to "ended TAG CODE", whatever else is said in between."""
    tag, lines = b"", []
    while line := await stream.readline():
        word, _, rest = line.partition(b" ")
        if not tag and word == b"began" and rest.split()[0] != b"df":
            tag = rest.split()[0]
        if tag and (word == tag or rest.split()[:1] == [tag]):
            lines.append(line)
            if word == b"ended":
                break
    return b"".join(lines)


def _with_clock(line: bytes) -> bytes:
    """A greeting whose `up` and `now` are of this moment."""
    with open("/proc/uptime", "rb") as file:
        up = file.read().split()[0]
    line = re.sub(rb"\bup=\S+", b"up=" + up, line)
    return re.sub(rb"\bnow=\S+", b"now=%.6f" % time.time(), line)


def _steps(ticks: Sequence[bytes]) -> dict[str, list[float]]:
    """How far each counter of a tick goes in one round of the record."""
    first, last = _words(ticks[0]), _words(ticks[-1])
    found = {}
    for name, value in first.items():
        if name in _LEVELS:
            continue
        begin, end = _numbers(value), _numbers(last.get(name, ""))
        if begin and len(begin) == len(end):
            found[name] = [
                (there - here) * len(ticks) / (len(ticks) - 1) for here, there in zip(begin, end, strict=True)
            ]
    return found


def _counted(line: bytes, steps: dict[str, list[float]], rounds: int) -> bytes:
    """A tick whose counters have gone on for so many rounds."""
    words = _words(line)
    for name, step in steps.items():
        value = words.get(name, "")
        numbers = _numbers(value)
        if len(numbers) == len(step):
            whole = "." not in value
            told = [number + each * rounds for number, each in zip(numbers, step, strict=True)]
            words[name] = ",".join(f"{number:.0f}" if whole else f"{number:.2f}" for number in told)
    return ("tick " + " ".join(f"{name}={value}" for name, value in words.items()) + "\n").encode()


def _moved(line: bytes, names: Sequence[str]) -> bytes:
    """A GPU's row with other figures."""
    values = line.decode().removeprefix("gpu ").rstrip("\n").split(", ")
    if len(values) == len(names):
        for place, name in enumerate(names):
            if name in _MOVES:
                low, high = _MOVES[name]
                values[place] = (
                    f"{random.uniform(low, high):.2f}" if "." in values[place] else str(random.randint(low, high))
                )
    return ("gpu " + ", ".join(values) + "\n").encode()


def _words(line: bytes) -> dict[str, str]:
    pairs = (word.partition("=") for word in line.decode("ascii", "replace").split()[1:])
    return {name: value for name, _, value in pairs}


def _numbers(value: str) -> list[float]:
    try:
        return [float(word) for word in value.split(",")]
    except ValueError:
        return []
