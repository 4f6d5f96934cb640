"""What a running server says all the time: batches, statistics, answered requests.

They are recognised by the head of the line, before anything else is tried; their fields are read only when somebody
needs them.
"""

from __future__ import annotations

import re

from k2tui.core.facts import Beat, BeatKind, Line
from k2tui.core.figures import figure, whole

_ROUTES = (
    r"/(?:generate|v1/completions|v1/chat/completions|v1/responses|v1/messages|v1/embeddings|v1/rerank|v1/score"
    r"|encode|classify|inference/v1/generate|api/chat|api/generate|invocations|vertex_generate)(?=[ ?])"
)
"""Routes on which the model works."""

_RUNTIME_HEAD = r"(?:\d{4}-\d\d-\d\dT\S+ (?:stderr|stdout) F |[\w.-]+ +\| )?"
_REQUEST = rf'INFO: +[\w.:\[\]-]+ - "(?:(POST {_ROUTES})|[A-Z]+ /)'

HEAD = re.compile(
    rf"{_RUNTIME_HEAD}(?:"
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?((?: [A-Z_]+\d+)*)\] "
    r"(?:(Decode batch)|(Prefill batch[.,] #new-seq: 1, #new-token: 1, #cached-token: 0,)|(Prefill batch)"
    rf"|{_REQUEST})"
    r"|(?:\((?:APIServer|ApiServer)\S* pid=\d+\) )?"
    rf"(?:{_REQUEST}|INFO [\d-]+ [\d:]+ \[?(?:loggers|metrics)\.py:\d+\] (?:"
    r"((?:(?:Engine \d+|\d+ Engines Aggregated): )?Avg prompt throughput: 0\.0 tokens/s, "
    r"Avg generation throughput: 0\.0 )|(Engine|\d+ Engines|Avg prompt)))"
    r")"
)
"""Groups: 1 ranks, 2 decode, 3 a health check's prefill, 4 prefill, 5 and 6 a request, 7 idle statistics, 8 others.

What tells nothing new has a group of its own: of each group and rank the newest line stands for all.
"""

_NOTHING_NEW = frozenset((None, 1))
"""`lastindex` of answers on other routes: nothing of them moves a server that is up."""

_GENERATES = re.compile(_ROUTES)
_FIELD = re.compile(r"(#?[\w ./()-]*?): ([\d.]+)")
_ANSWER = re.compile(r'"(GET|HEAD|POST) (\S+) HTTP/[\d.]+" (\d{3})')
_STATS = re.compile(
    r"Avg prompt throughput: ([\d.]+) tokens/s, Avg generation throughput: ([\d.]+) tokens/s, "
    r"Running: (\d+) reqs(?:, Swapped: \d+ reqs)?(?:, (?:Waiting|Pending): (\d+) reqs)?"
    r"(?:.*?KV cache usage: ([\d.]+)%)?"
)

ENGINES = {BeatKind.DECODE: "sglang", BeatKind.PREFILL: "sglang", BeatKind.STATS: "vllm"}
"""Whose heartbeat it is; requests are answered by the same web server in both."""

WORDS = ("Decode batch", "Prefill batch", "Avg prompt throughput", ' - "POST /', ' - "GET /')
"""For lines whose head is not the usual one."""


def tells_nothing(head: re.Match[str]) -> bool:
    """The heartbeat is an answer on a route that does not generate."""
    return head.lastindex in _NOTHING_NEW


def read_beat(line: Line) -> Beat | None:
    """The heartbeat with its fields; None for a line that is none, or a request that tells nothing."""
    message = line.message
    if message.startswith("Decode batch"):
        return _batch(line, BeatKind.DECODE)
    if message.startswith("Prefill batch"):
        return _batch(line, BeatKind.PREFILL)
    if found := _STATS.search(message):
        prompt, generated, usage = figure(found[1]), figure(found[2]), figure(found[5])
        return Beat(
            BeatKind.STATS,
            running=whole(found[3]),
            queued=whole(found[4]),
            tokens_per_s=generated,
            usage=None if usage is None else usage / 100,
            idle=prompt == 0 and generated == 0,
            line=line,
        )
    if found := _ANSWER.search(message):
        return _answer(line, found[1], found[2], int(found[3]))
    return None


def _answer(line: Line, method: str, route: str, status: int) -> Beat | None:
    if method == "POST":
        return Beat(BeatKind.REQUEST, line=line) if _GENERATES.match(f"{route} ") else None
    if status == 200 and route.split("?")[0] in ("/health", "/health_generate", "/ping"):
        return Beat(BeatKind.POLL, probe=True, line=line)
    return None


def _batch(line: Line, kind: BeatKind) -> Beat:
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(line.message[:1000]):
        fields.setdefault(name.strip(" ,."), value)
    new_tokens, new_requests = _whole(fields, "#new-token"), _whole(fields, "#new-seq")
    running = _whole(fields, "#running-req")
    if kind is BeatKind.PREFILL and running is not None and new_requests is not None:
        running += new_requests
    return Beat(
        kind,
        running=running,
        queued=_whole(fields, "#queue-req"),
        tokens_per_s=_number(fields, "gen throughput (token/s)"),
        usage=_number(fields, "token usage", "full token usage"),
        probe=new_tokens == 1 and new_requests == 1 and _whole(fields, "#cached-token") in (0, None),
        line=line,
    )


def _number(fields: dict[str, str], *names: str) -> float | None:
    for name in names:
        if name in fields:
            return figure(fields[name])
    return None


def _whole(fields: dict[str, str], name: str) -> int | None:
    value = _number(fields, name)
    return None if value is None else int(value)
