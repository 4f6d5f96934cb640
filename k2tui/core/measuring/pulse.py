"""Signs of life of a server's scheduler, and how long there has been none while there is work."""

from __future__ import annotations

from dataclasses import dataclass, replace

from k2tui.core.measuring.look import Look

DOUBT_AFTER_S = 4.0
"""Seconds without a sign of life, with work to do, after which the scheduler itself is asked."""
DEAD_AFTER_S = 20.0
"""Seconds without any sign of life, and with a question unanswered, after which it is called hung; SGLang's own health
check gives up after as long."""
MOST_PATIENCE_S = 60.0
URGENT_QUESTIONS = 3
HEARTBEAT_S = 300.0
"""A scheduler that has nothing to do is asked for a sign of life so often."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """What is known of the scheduler's life; times are time.monotonic."""

    moved_at: float | None = None
    """The newest sign: a figure of its own that changed, a batch line, an answer that went through it."""
    working_since: float | None = None
    """Since when there is work without a pause; None while there is none."""
    looked_at: float | None = None
    """The last look at its figures."""
    asked_at: float | None = None
    """The last question that goes through the scheduler."""
    unanswered_since: float | None = None
    """The first of such questions in a row that got no answer in time; None when the last one did."""
    questions: int = 0
    """Asked since the last sign that came by itself."""

    @property
    def still_s(self) -> float | None:
        """Seconds without a sign of life while there was work, up to the last look; None while there is none to do."""
        if self.working_since is None or self.looked_at is None:
            return None
        since = self.working_since if self.moved_at is None else max(self.working_since, self.moved_at)
        return max(0.0, self.looked_at - since)

    @property
    def is_doubtful(self) -> bool:
        """It should have moved: the scheduler is asked."""
        return self.unanswered_since is not None or (self.still_s or 0.0) >= DOUBT_AFTER_S

    @property
    def is_urgent(self) -> bool:
        """The doubt is young: looks come quickly."""
        return self.is_doubtful and self.questions <= URGENT_QUESTIONS

    def owes_question(self, now: float) -> bool:
        """It is time to ask the scheduler. Less and less often: each question leaves a line, or waits in a queue."""
        if not self.is_doubtful:
            return False
        patience_s = min(MOST_PATIENCE_S, DOUBT_AFTER_S * 2 ** min(10, self.questions))
        return self.questions == 0 or self.asked_at is None or now - self.asked_at >= patience_s

    @property
    def is_dead(self) -> bool:
        """No answer, and no sign of life for long, as far as anybody looked."""
        began = self.unanswered_since
        if began is None:
            return False
        if self.working_since is not None:
            began = min(began, self.working_since)
        if self.moved_at is not None:
            began = max(began, self.moved_at)
        return max(self.looked_at or 0.0, self.asked_at or 0.0) - began >= DEAD_AFTER_S


def looked(pulse: Pulse, before: Look | None, look: Look, *, working: bool) -> Pulse:
    """The pulse after one more look; `before` is the previous one at the same source. `working`: there is work to do,
    by this look or by what else is known."""
    if before is not None and _signs(before) != _signs(look):
        pulse = alive(pulse, look.at)
    since = None if not working else look.at if pulse.working_since is None else pulse.working_since
    return replace(pulse, looked_at=look.at, working_since=since)


def alive(pulse: Pulse, at: float) -> Pulse:
    """A sign of life came by itself at `at`: whatever got no answer before it is forgotten."""
    if pulse.moved_at is not None and pulse.moved_at >= at:
        return pulse
    return replace(pulse, moved_at=at, unanswered_since=None, questions=0)


def answered(pulse: Pulse, asked_at: float, at: float) -> Pulse:
    """A question that goes through the scheduler was answered: it lives, even if it makes no token."""
    moved_at = max(at, pulse.moved_at or at)
    return replace(pulse, moved_at=moved_at, asked_at=asked_at, unanswered_since=None, questions=pulse.questions + 1)


def unanswered(pulse: Pulse, asked_at: float) -> Pulse:
    """A question that goes through the scheduler got no answer in its time."""
    since = asked_at if pulse.unanswered_since is None else pulse.unanswered_since
    return replace(pulse, asked_at=asked_at, unanswered_since=since, questions=pulse.questions + 1)


def _signs(look: Look) -> object:
    """What only the scheduler changes. The HTTP side's open requests are none of it."""
    ranks = tuple(
        (rank.written_at, rank.running, rank.waiting, rank.used_tokens, rank.decode_tokens) for rank in look.ranks
    )
    return ranks, look.counters.decode_tokens, look.counters.prefill_tokens
