"""Where the witnesses of a server say different things, in one sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statements:
    """What each witness of one server says now. None: it says nothing, or was not asked."""

    process_alive: bool | None = None
    schedulers: int | None = None
    """Scheduler processes that are left."""
    schedulers_before: int = 0
    """The most that were seen in this run."""
    log_ready: bool = False
    """Its log says that it came up, and nothing of an end."""
    log_hung: bool = False
    """Its log is silent where it should not be."""
    listening: bool | None = None
    """Something listens on its port."""
    port: int | None = None
    http_ok: bool | None = None
    http_says: str | None = None
    scheduler_silent_s: float | None = None
    """Since a question that goes through the scheduler got no answer."""
    still_s: float | None = None
    """Without a token or another sign of life, with work to do."""
    at_work: int | None = None
    """Requests in the batch, in the queue or open."""
    completion_ok: bool | None = None
    completion_says: str | None = None


def disagreement(said: Statements) -> str | None:
    """One sentence for the gravest contradiction; None while nobody contradicts another."""
    if said.process_alive is False:
        if said.http_ok:
            return f"no process of this run is left, but something answers on port {said.port}: another server"
        return None
    missing = said.schedulers_before - (said.schedulers if said.schedulers is not None else said.schedulers_before)
    front = _front(said)
    if missing > 0:
        left = (
            "no scheduler process is left"
            if said.schedulers == 0
            else f"{missing} of its {said.schedulers_before} scheduler processes {'is' if missing == 1 else 'are'} gone"
        )
        return f"{front}, but {left}{_no_token(said)}"
    if said.scheduler_silent_s is not None:
        return f"{front}, but its scheduler has answered nothing for {_age(said.scheduler_silent_s)}{_no_token(said)}"
    if said.log_ready and said.listening is False:
        return f"its log says ready and its process lives, but nothing listens on port {said.port}"
    if said.log_ready and said.http_ok is False:
        return f"its log says ready and its process lives, but HTTP does not answer: {said.http_says}"
    if said.http_ok and said.completion_ok is False:
        return f"HTTP answers, but a completion failed: {said.completion_says}"
    if said.log_hung and said.completion_ok:
        return "its log is silent as if it hung, but a completion came back"
    if said.log_hung and said.http_ok:
        return "its log is silent as if it hung, but HTTP answers"
    return None


def _front(said: Statements) -> str:
    if said.http_ok:
        return "HTTP answers"
    return "its process lives" if said.process_alive else "its log says ready"


def _no_token(said: Statements) -> str:
    if not said.at_work or said.still_s is None or said.still_s < 1:
        return ""
    requests = "a request" if said.at_work == 1 else f"{said.at_work} requests"
    return f", with {requests} in work and no token for {_age(said.still_s)}"


def _age(seconds: float) -> str:
    """In steps, so that a sentence does not change at each second."""
    if seconds < 10:
        return f"{max(1, int(seconds))} s"
    if seconds < 60:
        return f"{int(seconds / 5) * 5} s"
    return f"{int(seconds / 60)} min"
