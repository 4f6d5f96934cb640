"""What each witness of a server says, put side by side."""

from __future__ import annotations

from dataclasses import dataclass

from k2tui.core.disagreement import Statements
from k2tui.core.launch import Advice, Launch, LaunchKind
from k2tui.core.runs import Run
from k2tui.core.status import answers_all_the_same, is_hung_by_silence
from k2tui.core.views import Proof, Witness
from k2tui.services.log_watch import LogWatch
from k2tui.services.proving import Proving
from k2tui.services.serving_watch import ServingWatch
from k2tui.services.subject import Schedulers, Subject


@dataclass(frozen=True)
class Known:
    """Everything that the witnesses of one server are made of."""

    subject: Subject
    log: LogWatch | None
    launch: Launch | None
    serving: ServingWatch
    proof: Proof | None
    proof_at: float | None
    port: int | None
    answers: bool
    """Its log is silent, and it answers all the same."""


def advised(launch: Launch | None) -> tuple[Advice, ...]:
    """What to do about it; nothing where no log was read."""
    from k2tui.core.advice import advice_for  # noqa: PLC0415  keeps the first paint cheap

    return () if launch is None else advice_for(launch)


def answers_after_all(
    launch: Launch | None, silent_s: float | None, serving: ServingWatch, proving: Proving, now: float
) -> bool:
    """Its log has been silent for so long, but it has answered since (see core.status); `now` is time.monotonic."""
    http, proof_at = serving.http, proving.proof_at
    if serving.pulse.unanswered_since is not None:
        return False
    return answers_all_the_same(
        launch,
        silent_s=silent_s,
        proof=proving.proof,
        proof_age_s=None if proof_at is None else now - proof_at,
        idle_age_s=now - http.at if http is not None and http.is_idle else None,
    )


def witnesses(known: Known) -> tuple[Witness, ...]:
    """One for each that said something."""
    said: list[Witness] = []
    serving = known.serving
    if (process := _process(known.subject)) is not None:
        said.append(process)
    if (port := _port(known)) is not None:
        said.append(port)
    if known.log is not None and known.log.seen_at is not None:
        said.append(Witness("log", *_log(known.log, answers=known.answers), known.log.seen_at))
    if serving.log_beat is not None:
        traffic = serving.log_beat.traffic
        words = "an answered request" if traffic.running is None else f"{traffic.running} running"
        queued = "" if traffic.queued is None or traffic.running is None else f", {traffic.queued} in the queue"
        said.append(Witness("heartbeat", True, f"{words}{queued}", serving.log_beat.at))
    if serving.http is not None:
        said.append(Witness("http", serving.http.ok, serving.http.says, serving.http.at))
    for name, one in (("scheduler", serving.scheduler), ("metrics", serving.metrics)):
        if one is not None:
            said.append(Witness(name, one.ok, one.says, one.at))
    if known.proof is not None and known.proof_at is not None:
        said.append(Witness("completion", known.proof.ok, known.proof.text, known.proof_at))
    return tuple(said)


def statements(known: Known, now: float) -> Statements:
    """The same as figures, for the sentence about where they contradict each other."""
    serving, launch, subject = known.serving, known.launch, known.subject
    http, pulse = serving.http, serving.pulse
    if http is not None and subject.is_alive is False and http.at <= (subject.seen_at or 0.0):
        http = None  # that was said by the process that is gone
    silent = None if pulse.unanswered_since is None else now - max(pulse.unanswered_since, pulse.moved_at or 0.0)
    return Statements(
        process_alive=subject.is_alive,
        schedulers=subject.schedulers.left,
        schedulers_before=subject.schedulers.most,
        log_ready=launch is not None and launch.kind is LaunchKind.READY,
        log_hung=is_hung_by_silence(launch),
        listening=None if http is None else http.listening,
        port=known.port,
        http_ok=None if http is None else http.ok,
        http_says=None if http is None else http.says,
        scheduler_silent_s=silent,
        still_s=pulse.still_s,
        at_work=serving.at_work,
        completion_ok=None if known.proof is None else known.proof.ok,
        completion_says=None if known.proof is None else known.proof.text,
    )


def _log(log: LogWatch, *, answers: bool) -> tuple[bool, str]:
    if log.problem is not None:
        return False, log.problem
    if answers:
        return False, "silent as if it hung, but the server answers"
    return not log.missing, "no such file" if log.missing else "followed"


def _process(subject: Subject) -> Witness | None:
    run, found, missing = subject.run, subject.found, subject.schedulers.missing
    if subject.is_log_alone or subject.seen_at is None:
        return None
    if found is not None:
        by = f"pid {found.process.pid}, started by {found.process.user}"
        words = f"gone, {by}" if subject.found_gone else f"alive, {by}{_schedulers(subject.schedulers)}"
        return Witness("process", not subject.found_gone and not missing, words, subject.seen_at)
    if run is None:
        return None
    if run.alive:
        words = ("alive" if run.child is None else f"alive, pid {run.child.pid}") + _schedulers(subject.schedulers)
        return Witness("process", not missing, words, subject.seen_at)
    ok = None if run.alive is None or run.stop_asked else False
    return Witness("process", ok, _end(run), subject.seen_at)


def _end(run: Run) -> str:
    if run.alive is None:
        return "not looked at"
    if run.exit_code is not None:
        return f"gone, exit {run.exit_code}"
    return "gone, no exit was recorded"


def _schedulers(schedulers: Schedulers) -> str:
    if schedulers.left is None:
        return ""
    if schedulers.missing:
        return f", {schedulers.left} of {schedulers.most} schedulers left"
    return f", {schedulers.left} scheduler{'' if schedulers.left == 1 else 's'}"


def _port(known: Known) -> Witness | None:
    http, found = known.serving.http, known.subject.found
    if http is not None and http.listening is not None:
        words = f"{known.port} {'is open' if http.listening else 'refuses connections'}"
        return Witness("port", http.listening, words, http.at)
    if found is not None and found.listening is not None and known.subject.found_at is not None:
        words = f"{found.port} {'is listened on' if found.listening else 'is not listened on'}"
        return Witness("port", found.listening, words, known.subject.found_at)
    return None
