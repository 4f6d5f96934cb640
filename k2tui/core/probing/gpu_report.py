"""What remote/gpu_details.sh says, as lines for a screen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from k2tui.core.lines import plain

MOST_LINES = 400
MOST_CHARS = 240

_GPU_HEAD = re.compile(r"GPU (\d{1,4}): ")
_LINK = re.compile(r"Link (\d{1,3}): (?:(\d[\d.]*) GB/s|<(\w+)>)")
_LINK_ERRORS = re.compile(r"Link (\d{1,3}): ([A-Za-z ]{1,40}?)(?: Errors?)?: (\d{1,19})")
_TIME_OUT_CODES = (124, 137)
_NO_SMI = 127


@dataclass
class Section:
    """What nvidia-smi answered to one question."""

    name: str
    lines: list[str] = field(default_factory=list)
    code: int | None = None
    """None: the answer broke off."""


def sections_of(output: str) -> tuple[Section, ...]:
    """The answers, in the order of the questions; free of terminal escapes."""
    found: list[Section] = []
    for line in output.splitlines():
        tag, _, words = line.partition(" ")
        if tag == "section":
            found.append(Section(words))
        elif found and tag == "line" and len(found[-1].lines) < MOST_LINES:
            found[-1].lines.append(plain(words).rstrip()[:MOST_CHARS])
        elif found and tag == "end" and words.isascii() and words.isdigit():
            found[-1].code = int(words)
    return tuple(found)


def report(sections: Sequence[Section]) -> tuple[str, ...]:
    """All of it for a screen: a heading, its lines, an empty line."""
    lines: list[str] = []
    for section in sections:
        title, read = _READERS.get(section.name, (section.name, _as_it_is))
        lines += [title, *(f"  {line}" for line in _told(section, read)), ""]
    return tuple(lines[:-1])


def _told(section: Section, read: Callable[[Sequence[str]], Iterator[str]]) -> list[str]:
    if section.code == _NO_SMI:
        return ["there is no nvidia-smi on this node"]
    if section.code is None or section.code in _TIME_OUT_CODES:
        return ["nvidia-smi did not answer: the driver may hang; look for XIDs and for processes in state D"]
    if section.code != 0:
        words = next((line for line in section.lines if line.strip()), f"it ended with {section.code}")
        return [f"nvidia-smi says: {words.strip()}"]
    return list(read(section.lines)) or ["nothing"]


def _as_it_is(lines: Sequence[str]) -> Iterator[str]:
    text = "\n".join(lines).strip("\n")
    yield from text.split("\n") if text else ()


def _pcie(lines: Sequence[str]) -> Iterator[str]:
    """`gpu rxpci txpci` in MB/s."""
    for line in lines:
        words = line.split()
        if len(words) >= 3 and words[0].isdigit():
            received, sent = (f"{word} MB/s" if word.isdigit() else "—" for word in words[1:3])
            yield f"GPU {words[0]}: receives {received}, sends {sent}"


def _by_gpu(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The lines under each `GPU n: NAME` heading."""
    gpu: str | None = None
    below: list[str] = []
    for line in lines:
        head = _GPU_HEAD.match(line)
        if head is None:
            below.append(line)
            continue
        if gpu is not None:
            yield gpu, below
        gpu, below = head[1], []
    if gpu is not None:
        yield gpu, below


def _links(lines: Sequence[str]) -> Iterator[str]:
    """`18 links at 26.562 GB/s`, and those that are down by number."""
    for gpu, below in _by_gpu(lines):
        speeds: Counter[str] = Counter()
        down: list[str] = []
        for found in filter(None, map(_LINK.search, below)):
            if found[2]:
                speeds[found[2]] += 1
            else:
                down.append(found[1])
        parts = [f"{count} links at {speed} GB/s each" for speed, count in speeds.items()]
        if down:
            parts.append(f"down: {', '.join(down)}")
        yield f"GPU {gpu}: {'; '.join(parts) or 'no NVLink'}"


def _link_errors(lines: Sequence[str]) -> Iterator[str]:
    for gpu, below in _by_gpu(lines):
        errors = [
            f"{found[3]} {found[2].strip().lower()} on link {found[1]}"
            for found in filter(None, map(_LINK_ERRORS.search, below))
            if int(found[3])
        ]
        yield f"GPU {gpu}: {', '.join(errors) or 'none'}"


def _ecc(lines: Sequence[str]) -> Iterator[str]:
    for words in (line.split(", ") for line in lines):
        if len(words) == 4:
            corrected, uncorrected, ever = (_figure(word) for word in words[1:])
            yield f"GPU {words[0]}: {corrected} corrected, {uncorrected} not, since the driver came; {ever} not, ever"


def _rows(lines: Sequence[str]) -> Iterator[str]:
    for words in (line.split(", ") for line in lines):
        if len(words) == 5:
            text = f"{words[0]}: {_figure(words[1])} after corrected errors, {_figure(words[2])} after others"
            if words[3] == "Yes":
                text += "; one waits for the next reset"
            if words[4] == "Yes":
                text += "; one could not be replaced: ask for a new GPU"
            yield text


def _figure(word: str) -> str:
    return word if word.isdigit() else "—"


_READERS: Mapping[str, tuple[str, Callable[[Sequence[str]], Iterator[str]]]] = {
    "topology": ("How the GPUs are connected", _as_it_is),
    "pcie": ("PCIe traffic now", _pcie),
    "links": ("NVLink", _links),
    "link_errors": ("NVLink errors", _link_errors),
    "ecc": ("Memory errors", _ecc),
    "rows": ("Memory rows that were replaced", _rows),
}
