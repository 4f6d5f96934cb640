"""What nodes keep of the time in which nobody looked, as events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from k2tui.core.absence import Absence
from k2tui.core.alerts import fit
from k2tui.core.events import Event, Severity
from k2tui.core.launch import Launch, LaunchPhase
from k2tui.core.link import LinkPhase
from k2tui.core.over_time.notes import began_at, changes_between, clock_ahead_s
from k2tui.core.readings import Xid
from k2tui.core.runs import Run
from k2tui.core.views import NodeView, ServerStatus, ServerView
from k2tui.core.words import PHASE_WORDS, duration, failure_words
from k2tui.core.xid import gpu_of, meaning_of, xid_sentence

RESTART_S = 300.0
"""A stop that a start follows within this time is part of a restart."""
SAME_S = 120.0
"""What was noted of the same server so close to what its node tells is the same thing, told with less."""
MOST_EVENTS = 500
MOST_CHANGES = 4

_STATUS_WORDS = frozenset(status.value for status in ServerStatus) - {ServerStatus.STALE.value}
_BAD_NOW = (ServerStatus.CRASHED, ServerStatus.HUNG, ServerStatus.DEGRADED, ServerStatus.MISCONFIGURED)


def was_asked(node: NodeView, servers: Sequence[ServerView]) -> bool:
    """The node told all that it keeps, or is out of reach."""
    if node.link.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED):
        return True
    reading = node.reading
    if node.link.phase is not LinkPhase.UP or reading.host_at is None:
        return False
    if reading.xids_at is None and reading.xids_unknown_because is None:
        return False
    return all(_is_seen(server) for server in servers if server.settings.node == node.settings.name)


def _is_seen(server: ServerView) -> bool:
    """Its runs were looked at; a server that is only watched has none."""
    return server.seen_at is not None or server.settings.profile is None


def happened(
    absence: Absence, nodes: Sequence[NodeView], servers: Sequence[ServerView], noted: Sequence[Event]
) -> tuple[Event, ...]:
    """What the nodes keep of an absence, and what was noted meanwhile, oldest first. `noted` may begin before it: then
    it tells how things stood."""
    told: list[Event] = []
    for node in nodes:
        told += _of_node(node, absence)
    by_name = {node.settings.name: node for node in nodes}
    for server in servers:
        on = by_name.get(server.settings.node)
        if on is not None and on.link.phase is LinkPhase.UP and _is_seen(server):
            told += _of_server(server, on, absence, _last_word(noted, server.settings.name, absence.left_at))
    told = [event for event in told if absence.left_at <= event.at <= absence.back_at]
    told += [event for event in noted if _adds(event, told, absence)]
    return tuple(sorted(told, key=lambda event: event.at)[-MOST_EVENTS:])


def _adds(event: Event, told: Sequence[Event], absence: Absence) -> bool:
    """It is of that time, worth a word, and no node tells the same."""
    if not absence.left_at < event.at <= absence.back_at or event.severity is Severity.INFO:
        return False
    return not any(one.subject == event.subject and abs(one.at - event.at) <= SAME_S for one in told)


def _last_word(noted: Sequence[Event], server: str, before: float) -> str | None:
    """The status that was noted last of a server; None where none was."""
    words = (event.text.split(" ", 1)[0] for event in reversed(noted) if event.subject == server and event.at <= before)
    return next((word for word in words if word in _STATUS_WORDS), None)


# ---- nodes


def _of_node(node: NodeView, absence: Absence) -> Iterator[Event]:
    name, reading = node.settings.name, node.reading
    if node.link.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED):
        why = "" if node.link.reason is None else f": {node.link.reason}"
        yield Event(absence.back_at, name, f"out of reach{why}", Severity.BAD)
        return
    ahead_s = clock_ahead_s(reading.clock_offset_s)
    groups: dict[tuple[int | None, int | None], list[Xid]] = {}
    for xid in reading.xids:
        if xid.at is not None and absence.left_at <= xid.at - ahead_s <= absence.back_at:
            gpu = gpu_of(xid, reading.gpus)
            groups.setdefault((None if gpu is None else gpu.index, xid.number), []).append(xid)
    for xids in groups.values():
        newest = xids[-1]
        words = xid_sentence(newest, gpu_of(newest, reading.gpus))
        often = f" ({len(xids)} times)" if len(xids) > 1 else ""
        yield Event((newest.at or 0.0) - ahead_s, name, fit(words + often), meaning_of(newest.number).severity)


# ---- servers


def _of_server(server: ServerView, node: NodeView, absence: Absence, then: str | None) -> Iterator[Event]:
    name, ahead_s = server.settings.name, clock_ahead_s(node.reading.clock_offset_s)
    events = [*_of_runs(server, ahead_s), *_of_launch(server, node), *_of_supervisor(server, node, ahead_s)]
    yield from events
    if any(absence.left_at <= event.at <= absence.back_at for event in events):
        return
    run, status = server.run, server.status
    if run is not None and run.alive is False and run.ended_at is None and not run.stop_asked:
        if then not in (None, "crashed", "down"):
            rebooted = run.child is not None and node.reading.boot_id not in (None, run.child.boot_id)
            why = f": {node.settings.name} was rebooted" if rebooted else ""
            yield Event(absence.back_at, name, f"ended, and nothing tells when{why}", Severity.BAD)
    elif then is not None and status in _BAD_NOW and then != status.value:
        yield Event(absence.back_at, name, fit(f"{status.value} now, was {then}{_cause(server.launch)}"), Severity.BAD)


def _of_runs(server: ServerView, ahead_s: float) -> Iterator[Event]:
    name = server.settings.name
    runs = server.runs or (() if server.run is None else (server.run,))
    dated = sorted(((at, run) for run in runs if (at := began_at(run)) is not None), key=lambda one: one[0])
    for number, (at, run) in enumerate(dated):
        before = dated[number - 1][1] if number else None
        yield Event(at - ahead_s, name, fit(_began(run, before, at)), Severity.INFO)
        if run.ended_at is None:
            continue
        next_at = dated[number + 1][0] if number + 1 < len(dated) else None
        if run.stop_asked and next_at is not None and next_at - run.ended_at <= RESTART_S:
            continue
        launch = server.launch if server.run is not None and server.run.run_id == run.run_id else None
        text, severity = _ended(run, launch)
        yield Event(run.ended_at - ahead_s, name, fit(text), severity)


def _began(run: Run, before: Run | None, at: float) -> str:
    """`restarted by ann@desk: +NCCL_PROTO=LL`."""
    by = "" if run.started_by is None else f" by {run.started_by}"
    if before is None:
        return f"started{by}"
    again = before.ended_at is not None and at - before.ended_at <= RESTART_S
    changes = changes_between(before, run)
    more = len(changes) - MOST_CHANGES
    words = " ".join(changes[:MOST_CHANGES]) + (f" and {more} more" if more > 0 else "")
    return f"{'restarted' if again else 'started'}{by}: {words or 'same command'}"


def _ended(run: Run, launch: Launch | None) -> tuple[str, Severity]:
    if run.stop_asked:
        return "stopped", Severity.INFO
    if run.exit_code == 0:
        return "ended by itself (exit 0)", Severity.WARNING
    return f"crashed (exit {run.exit_code}){_cause(launch)}", Severity.BAD


def _cause(launch: Launch | None) -> str:
    """`: GPU memory ran out while the weights were loaded`; the phase where no line explains it."""
    if launch is None:
        return ""
    if launch.cause is None:
        return f": in {PHASE_WORDS[launch.phase]}"
    return f": {failure_words(launch.cause.failure)}"


def _of_launch(server: ServerView, node: NodeView) -> Iterator[Event]:
    """When it came up, by its log; and when it failed, where there is no run that tells it."""
    launch, offset = server.launch, node.reading.clock_offset_s
    if launch is None or offset is None:
        return
    name, to_unix_s = server.settings.name, launch.clock_ahead_s - offset
    first = next((span.began for span in launch.spans if span.began is not None), None)
    ready = next((span.began for span in launch.spans if span.phase is LaunchPhase.READY), None)
    if ready is not None:
        took = "" if first is None or ready <= first else f" after {duration(ready - first)}"
        yield Event(ready + to_unix_s, name, f"ready{took}", Severity.GOOD)
    if launch.failed_at is not None and server.run is None:
        yield Event(launch.failed_at + to_unix_s, name, fit(f"failed{_cause(launch)}"), Severity.BAD)


def _of_supervisor(server: ServerView, node: NodeView, ahead_s: float) -> Iterator[Event]:
    """When the supervisor started it again after a crash: its present process is younger than its run."""
    run = server.run
    if run is None or not run.restarts or run.child is None:
        return
    found = next((one for one in node.processes if one.identity == run.child), None)
    if found is not None and found.began_at is not None:
        times = "" if run.restarts == 1 else f", {run.restarts} times in this run"
        text = f"restarted by its supervisor after a crash{times}"
        yield Event(found.began_at - ahead_s, server.settings.name, text, Severity.BAD)
