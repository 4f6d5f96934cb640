"""What stands in front of a message: runtimes, processes and loggers, each known here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from k2tui.core.facts import Line
from k2tui.core.grammar.rule import REQUEST_LOGS

_RUNTIME = (
    r"(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d) "  # docker --timestamps
    r"(?: ?(?:stdout|stderr)(?: [FP] |  (?=\S)| ))?"  # containerd, exports of clouds
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]+ [^\s:\[]+(?:\[\d+\])?: "  # journald, syslog
    r"|\[(?P<pod>pod/\S+)\] "  # kubectl logs --prefix
    r"|\[\d+,\d+\]<(?:stdout|stderr)>:"  # mpirun --tag-output
    r"|\d{1,4}: "  # srun --label
    r"|(?P<service>[\w.-]+) {0,40}\| )"  # compose
)
_PROCESS = r"\((?P<process>[A-Za-z][\w.:-]*(?: \w+=\w+)*) pid=(?P<pid>\d+)(?:, ip=[\d.]+)?\) ?"
_TORCH_RANK = r"\[rank(?P<torch_rank>\d+)\]: ?"
_SGLANG = (
    r"\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{3})?)(?P<ranks>(?: [A-Z][A-Z_]*\d{1,6})*)"
    r"(?: encode_\w+(?:\[\d+\])?)?\] ?"  # an encoder's processes
)
_VLLM = (
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<vllm_stamp>\d\d-\d\d \d\d:\d\d:\d\d)"
    r" (?:\[[\w./-]+:\d+\]|[\w./-]+:\d+\]) ?"
)
_C10D = r"\[(?P<c10d>[WEIF])\d{3,4} [\d:.]+ [\w./-]+:\d+\] ?"
_LEVEL = r"(?P<plain_level>INFO|WARNING|ERROR|CRITICAL)(?:: +| {2,}| (?=[\w./-]+\.py:\d+))"

_PREFIX = re.compile(
    rf"(?:{_RUNTIME}){{0,3}}(?:{_PROCESS}){{0,2}}(?:{_TORCH_RANK})? ?(?:{_SGLANG})?(?:{_VLLM}|{_C10D}|{_LEVEL})?"
)

_GLUED = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|(?<=\])\[rank\d+\]:"
    r"|(?<=[^ |(])\((?:Vllm)?(?:Worker|EngineCore|APIServer)[\w.-]*(?: rank=\d+)? pid=\d+\) "
)
"""Where another process began to write before a line was finished."""

_PARALLEL = re.compile(r"(?:DP|PP|TP|EP|[PD]?CP)\d+")

_C10D_LEVELS = {"W": "WARNING", "E": "ERROR", "I": "INFO", "F": "CRITICAL"}


def parse_line(text: str, number: int = 0, *, whole: str | None = None, host: str = "") -> Line:
    """The line with its prefixes told apart; `whole` is what an operator is shown when `text` is one piece of it."""
    found = _PREFIX.match(text)
    if found is None:  # it can't be: every part is optional
        return Line(whole or text, text, number)
    process, pid = found["process"], found["pid"]
    level = found["level"] or found["plain_level"]
    if found["c10d"]:
        level = _C10D_LEVELS[found["c10d"]]
    return Line(
        text=text if whole is None else whole,
        message=text[found.end() :],
        number=number,
        stamp=found["stamp"] or found["vllm_stamp"],
        rank=_rank(found["ranks"], process, found["torch_rank"]),
        service=found["service"] or found["pod"] or "",
        host=host,
        speaker=f"{process} pid={pid}" if process else f"rank{found['torch_rank']}" if found["torch_rank"] else "",
        level=level,
    )


def stamp_of(text: str) -> str | None:
    """The logger's own time that a line begins with, as printed."""
    found = _PREFIX.match(text)
    return None if found is None else found["stamp"] or found["vllm_stamp"]


def _rank(printed: str | None, process: str | None, torch_rank: str | None) -> str | None:
    if printed:
        return printed.strip()
    if process and not process.startswith("EngineCore"):  # its DP number stands there without data parallelism too
        if parallel := _PARALLEL.findall(process):
            return " ".join(parallel)
        if " rank=" in process:
            return f"rank {process.split(' rank=')[1].split()[0]}"
    return None if torch_rank is None else f"rank {torch_rank}"


def pieces(text: str, number: int = 0, *, whole: str | None = None, host: str = "") -> Iterator[Line]:
    """A line as its writers meant it: a record that another process wrote into a bar is a piece of its own.

    `whole` is what an operator is shown, `host` the machine, where something stood around the text.
    """
    cuts = [found.start() for found in _GLUED.finditer(text)]
    if cuts:
        line = parse_line(text, number, whole=whole, host=host)
        if line.message.startswith(REQUEST_LOGS):
            yield line  # users' words may hold a piece of any log
            return
        own = _PREFIX.match(text)
        stamp_at = own.start("stamp") - 1 if own is not None else -1
        cuts = [cut for cut in cuts if cut not in (0, stamp_at)]
    if not cuts:
        yield parse_line(text, number, whole=whole, host=host)
        return
    service = ""
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        line = parse_line(text[start:end], number, whole=text if whole is None else whole, host=host)
        service = service or line.service
        yield line if line.service == service else replace(line, service=service)
