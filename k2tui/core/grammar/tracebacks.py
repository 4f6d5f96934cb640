"""Tracebacks of several processes in one log: the one exception of each chain that explains it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from k2tui.core.facts import Fault, Line, Standing, StopSeen
from k2tui.core.grammar.prefix import parse_line
from k2tui.core.grammar.rule import REQUEST_LOGS
from k2tui.core.grammar.signatures import ERRNO, UNKNOWN, failure_of, standing_of, was_asked_to_end
from k2tui.core.grammar.stacks import FRAME, engine_of, is_main, phase_of, phase_of_call, reads_arguments
from k2tui.core.launch import LaunchPhase

HEADER = "Traceback (most recent call last)"
DIRECT = "The above exception was the direct cause of the following exception"
DURING = "During handling of the above exception, another exception occurred"

HEADINGS = (
    "hit an exception",
    "failed to start",
    "Exception in worker",
    "Engine background task failed",
    "Error executing method",
    "encountered a fatal error",
    "output_handler failed",
)
"""What a process says in front of the traceback that ends it."""

WORDS = (HEADER, DIRECT, DURING, *HEADINGS)
"""What calls this reader; while a traceback is open it is given every line."""

_HEADING = re.compile("|".join((*map(re.escape, HEADINGS), r"[Ii]nitialization failed", r"^Process \S+:\s*$")))
_METHOD = re.compile(r"method '?(\w+)")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(?:: |:?$)")
_NO_EXCEPTION = re.compile(r"(?:Killed|Aborted|Terminated|Quit|Hangup)\b|\w+:$")
_REFUSED_TYPE = re.compile(r"(?:[\w.]*\.)?(?:\w*ValidationError|ArgumentError)\b|Value error, |Assertion failed, ")
"""Only a reader of arguments raises these."""
_REFUSAL = re.compile(r"(?:[\w.]*\.)?(?:ValueError|AssertionError|OSError|NotImplementedError)\b")
"""And these, where the arguments are read."""
_SETTINGS = frozenset(
    ("bad_argument", "remote_code", "model_not_found", "model_gated", "quantization", "unknown_architecture")
)
_NO_SETTINGS = frozenset(("internal_port_taken", "port_taken", "rendezvous", "host_memory", "missing_package"))
"""Failure classes that a setting causes, and such that no setting causes, whatever the exception is called."""
_BENIGN = re.compile(r"Exception ignored in|--- Logging error ---")
_CAUGHT = re.compile(
    r"Exception in (?:thread|ASGI application|callback)|Task exception was never retrieved|(?:future|handle): <"
)
"""What stands in front of a traceback that ended a thread, a task or a request, and no process."""
_HELPER = "multiprocessing/resource_tracker.py"
"""A helper process of Python that tidies up; what it dies of ends nobody."""
_FOREIGN_LINES = 64
"""After so many lines of others, a traceback that never came to its exception is over."""
_COMPILER = re.compile(
    r"\berror\s*: |: (?:command )?not found$|nvcc fatal|ptxas fatal|ld: cannot find|undefined reference to"
)
_MESSAGE_LINES = 200
_CHAINS = 32
"""More processes than these don't print tracebacks line by line at once."""


@dataclass(slots=True)
class _Chain:
    number: int
    heading: bool
    """A process said that this traceback ends it."""
    bare: bool
    """Printed by no logger: nothing caught it, unless a record stands before it."""
    after_record: bool
    level: str | None
    """A logger's level in front of every line of it; None where only the first has a prefix, or none has."""
    rank: str | None
    state: str = "frames"
    joint: str = ""
    frames: int = 0
    main: bool = False
    arguments: bool = False
    phase: LaunchPhase | None = None
    engine: str | None = None
    best: Line | None = None
    text: str = ""
    building: bool = False
    """The message holds a compiler's output."""
    built: bool = False
    """The compiler's own line was found."""
    blank: bool = False
    foreign: int = 0
    """Lines of the same voice that did not belong to it."""
    helper: bool = False
    """It is of a process that nobody needs."""
    lead: Line | None = None
    """The record in front of it, which may state the exception's message first."""
    lines: int = field(default=_MESSAGE_LINES)


Before = Callable[[], tuple[str, int]]


def _nothing() -> tuple[str, int]:
    return "", 0


class TracebackReader:
    """Follows the tracebacks of one log."""

    def __init__(self) -> None:
        self._chains: dict[tuple[str, str, str], _Chain] = {}
        self._headings: dict[tuple[str, str, str], str] = {}
        """By voice, the method that a heading names, or nothing."""
        self._count = 0
        self._headers = 0
        """Tracebacks that had a head, also those that nobody minds."""

    @property
    def active(self) -> bool:
        """It needs to see every line."""
        return bool(self._chains)

    def read(self, line: Line, before: Before = _nothing) -> Fault | StopSeen | None:
        """What the line adds to a traceback; `before` gives the log's last line in front of it that was not blank,
        and its number."""
        message, chain = line.message, self._chain_of(line)
        if message.startswith(REQUEST_LOGS):
            return None
        if HEADER in message:
            self._headers += 1
            self._begin(line, chain, before()[0])
            return None
        if chain is None:
            if any(heading in message for heading in HEADINGS):
                if len(self._headings) > _CHAINS:
                    self._headings.clear()
                named = _METHOD.search(message)
                self._headings[line.voice] = named[1] if named else ""
            elif message.startswith((DIRECT, DURING)):
                return self._begin_without_header(line, parse_line(*before()))
            elif not self._headers and FRAME.match(message):
                self._begin(line, None, "")  # the log was cut here: its first traceback has lost its head
                return self._continue(line, self._chains[line.voice])
            return None
        if line.level != chain.level or (line.stamp is not None and chain.level is None):
            chain.foreign += 1
            if chain.state == "message" or chain.foreign > _FOREIGN_LINES:
                del self._chains[line.voice]
            return None
        return self._continue(line, chain)

    def _chain_of(self, line: Line) -> _Chain | None:
        """The traceback that the line may go on; one whose head stood in a bar had lost the service in front."""
        chain = self._chains.get(line.voice)
        if chain is None and line.service:
            chain = self._chains.pop((line.host, "", line.speaker), None)
            if chain is not None:
                self._chains[line.voice] = chain
        return chain

    def _begin(self, line: Line, chain: _Chain | None, previous: str) -> None:
        if chain is not None and (chain.state == "joined" or (chain.state == "frames" and chain.frames == 0)):
            chain.state, chain.frames = "frames", 0
            return
        if len(self._chains) >= _CHAINS:
            self._chains.clear()
        method = self._headings.pop(line.voice, None)
        heading = method is not None or _HEADING.search(line.message) is not None
        bare = not line.is_record
        before = parse_line(previous)
        if _BENIGN.match(before.message) or line.level in ("DEBUG", "INFO", "WARNING"):
            return
        if bare and not heading:
            heading = _HEADING.search(before.message) is not None
        elif line.rank is not None and line.level is None and line.message.startswith(HEADER):
            heading = True
        self._count += 1
        self._chains[line.voice] = _Chain(
            self._count,
            heading=heading,
            bare=bare,
            after_record=(before.is_record and not line.speaker and line.message.startswith(HEADER))
            or _CAUGHT.match(before.message) is not None,
            level=line.level,
            rank=line.rank,
            phase=phase_of(method) if method else None,
            lead=before if (before.speaker, before.level) == (line.speaker, line.level) and before.level else None,
        )

    def _begin_without_header(self, line: Line, before: Line) -> Fault | StopSeen | None:
        """A chain whose first traceback was left out: only its exception stands before the joint."""
        if before.is_record or not _is_exception(before.message):
            return None
        self._begin(line, None, "")
        chain = self._chains[line.voice]
        fault = self._exception(before, chain)
        chain.state, chain.joint = "joined", line.message
        return fault

    def _continue(self, line: Line, chain: _Chain) -> Fault | StopSeen | None:
        message = line.message
        if not message.strip():
            chain.blank = True
            return None
        if message.startswith((DIRECT, DURING)):
            chain.state, chain.joint = "joined", message
            return None
        if found := FRAME.match(message):
            _note_frame(chain, found["file"], found["function"])
            return None
        if chain.state == "message":
            return self._more_of_message(line, chain)
        if message[0].isspace():
            chain.phase = phase_of_call(message) or chain.phase
            return None
        if not _is_exception(message):
            return None
        return self._exception(line, chain)

    def _exception(self, line: Line, chain: _Chain) -> Fault | StopSeen | None:
        chain.state, chain.blank, chain.lines = "message", False, _MESSAGE_LINES
        text = line.message.strip()
        if was_asked_to_end(text):
            return StopSeen(line=line) if text.startswith("KeyboardInterrupt") else None
        if chain.best is not None and (chain.built or not _is_better(text, chain.text, chain.joint)):
            return self._fault(chain.best, chain.text, chain)
        chain.building = failure_of(text) == "build_failed"
        said = chain.lead.message.strip() if chain.lead is not None else ""
        return self._fault(chain.lead if said and text.endswith(f": {said}") and chain.lead else line, text, chain)

    def _more_of_message(self, line: Line, chain: _Chain) -> Fault | None:
        """A message of several lines: the first that states the fault is wanted."""
        text = line.message.strip()
        chain.lines -= 1
        bare = chain.text.endswith(":")
        if chain.lines <= 0 or (chain.blank and not chain.building and not bare):
            del self._chains[line.voice]
            return None
        states_it = (
            text.startswith(("Value error, ", "Assertion failed, "))
            or ("Tried to allocate" in text and "Tried to allocate" not in chain.text)
            or (chain.building and _COMPILER.search(text) is not None)
            or (bare and failure_of(text) != UNKNOWN)
        )
        if not states_it:
            return None
        if chain.building:
            chain.building, chain.built = False, True
            return self._fault(line, text, chain, "build_failed")
        return self._fault(line, text, chain)

    def _fault(self, line: Line, text: str, chain: _Chain, failure: str | None = None) -> Fault:
        chain.best, chain.text = line, text
        failure = failure or ("build_failed" if chain.built else failure_of(text))
        return Fault(
            text,
            failure,
            standing=standing_of(text),
            fatal=not chain.helper and (chain.heading or (chain.bare and (chain.main or not chain.after_record))),
            refusal=chain.bare and not chain.heading and not _is_worker(line) and _is_refusal(text, failure, chain),
            phase=chain.phase,
            chain=chain.number,
            engine=chain.engine,
            line=line if line.rank is not None or chain.rank is None else _with_rank(line, chain.rank),
        )


def _is_refusal(text: str, failure: str, chain: _Chain) -> bool:
    if failure in _SETTINGS:
        return True
    if failure in _NO_SETTINGS:
        return False
    if _REFUSED_TYPE.match(text) is not None:
        return True
    return chain.arguments and _REFUSAL.match(text) is not None


def _is_worker(line: Line) -> bool:
    return line.speaker.startswith(("Worker", "EngineCore", "VllmWorker"))


def _with_rank(line: Line, rank: str) -> Line:
    return replace(line, rank=rank)


def _note_frame(chain: _Chain, file: str, function: str) -> None:
    if chain.state == "message":  # a frame without a new header: the message was code that looked like text
        chain.state = "frames"
    chain.frames += 1
    chain.helper = chain.helper or file.endswith(_HELPER)
    if chain.frames == 1:
        chain.main = chain.main or is_main(file, function)
    chain.arguments = chain.arguments or reads_arguments(file, function)
    chain.phase = phase_of(function) or chain.phase
    chain.engine = chain.engine or engine_of(file)


def _is_exception(message: str) -> bool:
    return _EXCEPTION.match(message) is not None and _NO_EXCEPTION.match(message) is None


def _is_better(text: str, best: str, joint: str) -> bool:
    """Of two exceptions of one chain, does the later one explain more?"""
    new, old = standing_of(text), standing_of(best)
    if new is not old and Standing.ECHO in (new, old):
        return new > old
    if (ERRNO.search(text) is None) is not (ERRNO.search(best) is None):
        return ERRNO.search(text) is not None
    if joint.startswith(DURING):
        return True
    return failure_of(best) == UNKNOWN and failure_of(text) != UNKNOWN
