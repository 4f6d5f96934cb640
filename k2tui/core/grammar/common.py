"""What any server in Python prints: the web server, argparse, torch, the shell."""

from __future__ import annotations

import re

from k2tui.core.facts import (
    EndSeen,
    Fault,
    HttpStarted,
    JobSeen,
    LaunchFact,
    Line,
    PortAsked,
    PortBound,
    ServiceEnded,
    Standing,
    StopSeen,
    Waiting,
)
from k2tui.core.grammar.rule import Rule, says
from k2tui.core.grammar.signatures import failure_of, standing_of

_REFUSED = re.compile(
    r"^[\w./ -]{1,80}: error: "
    r"(?:unrecognized arguments|ambiguous option|argument |the following arguments are required|invalid |.*--)"
)
_ARGPARSE = re.compile(
    r": error: (?:unrecognized arguments: |ambiguous option: |argument \S+: |the following arguments are required: )"
)
_PROGRAM = re.compile(r"^(sglang|vllm|launch_server\.py|api_server\.py)\b")
_ENGINE_OF_PROGRAM = {"sglang": "sglang", "launch_server.py": "sglang", "vllm": "vllm", "api_server.py": "vllm"}
_ASKED_PORT = re.compile(r"--port[ =](\d{1,5})(?!\d)")
_URL_PORT = re.compile(r"(?:on|at) (?:https?://)?(?:\S*:)?(\d{1,5})(?!\d)")
_KILLED = re.compile(
    r"^(?:Killed|Aborted|Terminated|Segmentation fault)(?: +\(core dumped\))?\s*$"
    r"|^\S+: line \d+: +\d+ (?:Killed|Aborted|Terminated|Segmentation fault)\b"
    r"(?=.*(?:sglang|vllm|python)|[^\w]*$)"
)

_RDMA = re.compile(r"\bibv_\w+ failed|nvshmem\S*:\d+: (?:non-zero status|NULL value|.*failed)")
_EXITED = re.compile(r"(?P<service>[\w.-]+) exited with code (?P<code>\d{1,3})$")


def _refused(line: Line) -> LaunchFact | None:
    message = line.message
    if not _REFUSED.match(message):
        return None
    program = _PROGRAM.match(message)
    if program is None and _ARGPARSE.search(message) is None:
        return None  # a compiler refuses its own flags in nearly the same words
    engine = _ENGINE_OF_PROGRAM[program[1]] if program else None
    return Fault(message, "bad_argument", fatal=True, refusal=True, engine=engine, line=line)


def _bind_failed(line: Line) -> LaunchFact:
    failure = "bad_host" if "[Errno 99]" in line.message else "port_taken"
    return Fault(line.message, failure, fatal=True, line=line)


def _port(line: Line) -> LaunchFact | None:
    found = _URL_PORT.search(line.message)
    return PortBound(int(found[1]), line=line) if found and 0 < int(found[1]) < 65536 else None


def _barrier(line: Line) -> LaunchFact:
    return Fault(line.message, failure_of(line.message), standing_of(line.message), line=line)


def _collective_timeout(line: Line) -> LaunchFact:
    return Fault(line.message, "nccl_timeout", Standing.WATCHDOG, fatal=True, line=line)


def _torch_watchdog(line: Line) -> LaunchFact:
    reason = line.message.split("terminated with exception: ", 1)[1]
    if line.message.lstrip().startswith("what():"):
        return _abort(line)
    if "Watchdog caught" in reason:
        return _collective_timeout(line)
    return Fault(line.message, failure_of(reason), standing_of(reason), fatal=True, line=line)


def _asked(line: Line) -> LaunchFact | None:
    found = _ASKED_PORT.search(line.message)
    return PortAsked(int(found[1]), line=line) if found else None


def _abort(line: Line) -> LaunchFact:
    return Fault(line.message, failure_of(line.message), Standing.ECHO, fatal=True, line=line)


def _fatal_error(line: Line) -> LaunchFact:
    """A segmentation fault is a cause; an abort follows from one that was said before."""
    return Fault(line.message, failure_of(line.message), standing_of(line.message), fatal=True, line=line)


def _host_killed(line: Line) -> LaunchFact:
    return Fault(line.message, "host_memory", line=line)


def _native(line: Line) -> LaunchFact | None:
    """A library in C that says why it gives up, without an exception of Python's."""
    return Fault(line.message, "rdma", line=line) if _RDMA.search(line.message) else None


def _compiler(line: Line) -> LaunchFact:
    return Fault(line.message, "build_failed", line=line)


def _shutting_down(line: Line) -> LaunchFact | None:
    return StopSeen(line=line) if line.message == "Shutting down" else None


def _container_ended(line: Line) -> LaunchFact | None:
    """What compose says of a service."""
    found = _EXITED.match(line.message)
    if found is None:
        return None
    if line.is_record:
        return None
    return ServiceEnded(found["service"], int(found["code"]), line=line)


def _shell(line: Line) -> LaunchFact | None:
    return EndSeen(line=line) if _KILLED.match(line.message) else None


RULES: tuple[Rule, ...] = tuple(
    Rule(word, read)
    for word, read in (
        ("Started server process [", says(HttpStarted())),
        ("Waiting for application startup.", says(HttpStarted())),
        ("Application startup complete.", says(HttpStarted(complete=True))),
        ("Uvicorn running on", _port),
        ("Granian HTTP/2 server on", _port),
        ("error while attempting to bind on address", _bind_failed),
        (": error: ", _refused),
        ("Shutting down", _shutting_down),
        ("Application startup failed", says(EndSeen())),
        (" exited with code ", _container_ended),
        ("Killed", _shell),
        ("Aborted", _shell),
        ("Segmentation fault", _shell),
        ("terminate called after", _abort),
        ("Fatal Python error", _fatal_error),
        ("monitoredBarrier", _barrier),
        ("Watchdog caught collective operation timeout", _collective_timeout),
        ("Process group watchdog thread terminated with exception: ", _torch_watchdog),
        ("sglang.launch_server", _asked),
        ("sglang serve --", _asked),
        ("vllm serve", _asked),
        ("vllm.entrypoints.openai.api_server", _asked),
        ("TCP client failed to connect", says(Waiting("rendezvous"))),
        ("Out of memory: Killed process", _host_killed),
        ("ibv_", _native),
        ("nvshmem", _native),
        (": fatal error: ", _compiler),
        ("Saving hidden states to", says(JobSeen())),
        ("Loading dataset from", says(JobSeen())),
    )
)
"""(a word of the line, what it means)."""
