"""The rules about servers that hold without any config."""

from __future__ import annotations

from typing import Any

from k2tui.core.alerting.rows import ServerRow, ServingRow
from k2tui.core.alerting.rule import Rule, opposite
from k2tui.core.events import Severity
from k2tui.core.fields import of_base
from k2tui.core.views import ServerStatus
from k2tui.core.words import PHASE_WORDS, failure_words

SLOW_DECODE, USUAL_DECODE = 0.70, 0.85
"""Shares of the usual tokens a second: below the first it is raised, above the second it is over."""
BELOW_BASE, NEAR_BASE = 80.0, 90.0
"""Percent of its base: below the first it is raised, above the second it is over."""
WITNESS_OLD_S = 60.0

_UNSEEN = (ServerStatus.UNKNOWN, ServerStatus.STALE)
_UP_AGAIN = (ServerStatus.READY, ServerStatus.UNPROVED, ServerStatus.DOWN)


def _is(row: ServerRow, status: ServerStatus) -> bool | None:
    now = row.server.status
    return None if now in _UNSEEN else now is status


def _crashed(row: ServerRow) -> bool | None:
    return _is(row, ServerStatus.CRASHED)


def _up_again(row: ServerRow) -> bool | None:
    """What loads again may fail again: only what came up, or was stopped as asked, is over."""
    status = row.server.status
    if status in (*_UNSEEN, ServerStatus.LOADING):
        return None
    return status in _UP_AGAIN


def _crashed_at(row: ServerRow) -> float | None:
    return None if row.server.run is None else row.server.run.ended_at


def _crashed_words(row: ServerRow) -> str:
    run = row.server.run
    code = "" if run is None or run.exit_code is None else f" (exit {run.exit_code})"
    return _failed(row, f"crashed{code}")


def _failed(row: ServerRow, head: str) -> str:
    launch, advice = row.server.launch, row.server.advice
    words = head if launch is None else f"{head} in {PHASE_WORDS[launch.phase]}"
    if launch is not None and launch.cause is not None:
        words = f"{words}: {failure_words(launch.cause.failure)}: {launch.cause.line.strip()}"
    return f"{words}; {advice[0].text}" if advice else words


def _hung(row: ServerRow) -> bool | None:
    return False if _is_deaf(row) else _is(row, ServerStatus.HUNG)


def _hung_words(row: ServerRow) -> str:
    return _failed(row, "hung")


def _degraded(row: ServerRow) -> bool | None:
    return _is(row, ServerStatus.DEGRADED)


def _degraded_words(row: ServerRow) -> str:
    proof = row.server.proof
    return _failed(row, "degraded" if proof is None or proof.ok else f"degraded: {proof.text}")


def _misconfigured(row: ServerRow) -> bool | None:
    return _is(row, ServerStatus.MISCONFIGURED)


def _misconfigured_words(row: ServerRow) -> str:
    return _failed(row, "misconfigured")


def _is_deaf(row: ServerRow) -> bool:
    """It does not work any more, and its web server says that it is well."""
    said = next((one for one in row.server.witnesses if one.name == "http"), None)
    if row.server.status is not ServerStatus.HUNG or said is None:
        return False
    return said.ok is True and row.moment.now - said.at <= WITNESS_OLD_S


def _zombie(row: ServerRow) -> bool | None:
    return None if row.server.status in _UNSEEN else _is_deaf(row)


def _zombie_words(row: ServerRow) -> str:
    why = row.server.disagreement or "its web server says that it is well, but it does no work"
    return f"a zombie: {why}; restart it"


def _slow(row: ServingRow) -> bool | None:
    share = _decode_share(row)
    return None if share is None else share < SLOW_DECODE


def _slow_over(row: ServingRow) -> bool | None:
    if row.serving.running == 0:
        return True
    share = _decode_share(row)
    return None if share is None else share > USUAL_DECODE


def _decode_share(row: ServingRow) -> float | None:
    """Of the usual tokens a second; None while it does nothing, or nobody knows what is usual."""
    rate = row.serving.decode_tokens_per_s
    if not row.serving.running or rate is None or row.server.status is ServerStatus.LOADING:
        return None
    usual = row.moment.usual(row.server, row.serving)
    return rate / usual if usual else None


def _slow_words(row: ServingRow) -> str:
    usual = row.moment.usual(row.server, row.serving) or 0.0
    rate, running = row.serving.decode_tokens_per_s or 0.0, row.serving.running
    head = f"{rate:,.0f} tok/s in all with {running} running, usually {usual:,.0f} with this configuration"
    return f"{head}; look at its GPUs' clocks and at who else works on {row.node.settings.name}"


def _below_base(row: ServingRow) -> bool | None:
    share = of_base(row.server, row.serving)
    return None if share is None else share < BELOW_BASE


def _near_base(row: ServingRow) -> bool | None:
    """Also where it has none any more, or has nothing to do."""
    base, running, rate = row.server.base, row.serving.running, row.serving.decode_tokens_per_s
    if base is None or running == 0:
        return True
    if running is not None and running > 1 and rate is not None and base.decode_tps:
        return rate / running > base.decode_tps * NEAR_BASE / 100 or None  # one of several is no faster than one alone
    share = of_base(row.server, row.serving)
    return None if share is None else share > NEAR_BASE


def _below_base_words(row: ServingRow) -> str:
    base, rate = row.server.base, row.serving.decode_tokens_per_s or 0.0
    measured = 0.0 if base is None or base.decode_tps is None else base.decode_tps
    head = f"{rate:.1f} tok/s of one stream, its base is {measured:.1f}"
    return f"{head}: measure it again (k2tui bench {row.server.settings.name}), and compare what changed"


def _queue_grows(row: ServingRow) -> bool | None:
    queue = row.moment.trends.queues.get(row.server.settings.name)
    return None if queue is None else queue.grows


def _queue_over(row: ServingRow) -> bool | None:
    queue = row.moment.trends.queues.get(row.server.settings.name)
    return None if queue is None else queue.shrinks


def _queue_words(row: ServingRow) -> str:
    queue = row.moment.trends.queues[row.server.settings.name]
    grown = f"from {queue.lows[0]} to {row.serving.waiting} requests"
    return f"its queue has only grown for five minutes, {grown}: more comes than it can do"


def _retracts(row: ServingRow) -> bool | None:
    retracted = row.serving.retracted
    return None if retracted is None else retracted > 0


def _retracts_over(row: ServingRow) -> bool | None:
    retracted = row.serving.retracted
    return None if retracted is None else retracted == 0


def _retracts_words(row: ServingRow) -> str:
    return (
        f"it takes requests back for lack of KV memory ({row.serving.retracted} just now) and does their work twice; "
        "let fewer run at once (--max-running-requests), or give the cache more (--mem-fraction-static)"
    )


SERVER_RULES: tuple[Rule[Any], ...] = (
    Rule(
        "server_crashed",
        "a server's process is gone and nobody asked for it",
        *(ServerRow, _crashed, _up_again, _crashed_words),
        Severity.BAD,
        happened_at=_crashed_at,
    ),
    Rule(
        "server_hung",
        "a server is alive and silent beyond the limit of its phase",
        *(ServerRow, _hung, opposite(_hung), _hung_words),
        Severity.BAD,
        for_s=10.0,
    ),
    Rule(
        "server_zombie",
        "a server's web server says that it is well, and it does not work",
        *(ServerRow, _zombie, opposite(_zombie), _zombie_words),
        Severity.BAD,
        for_s=10.0,
    ),
    Rule(
        "server_degraded",
        "a server serves wrongly or only in part",
        *(ServerRow, _degraded, opposite(_degraded), _degraded_words),
        Severity.BAD,
        for_s=10.0,
    ),
    Rule(
        "server_misconfigured",
        "an engine refused its arguments, or runs otherwise than it was asked",
        *(ServerRow, _misconfigured, opposite(_misconfigured), _misconfigured_words),
        Severity.BAD,
        for_s=2.0,
    ),
    Rule(
        "slow_decode",
        "a server gives less than 70 % of what its configuration usually gives at this load, for 3 min",
        *(ServingRow, _slow, _slow_over, _slow_words),
        for_s=180.0,
    ),
    Rule(
        "below_base",
        "a server's only stream gets less than 80 % of its base for 1 min",
        *(ServingRow, _below_base, _near_base, _below_base_words),
        for_s=60.0,
    ),
    Rule(
        "queue_grows",
        "a server's queue has only grown for 5 min",
        *(ServingRow, _queue_grows, _queue_over, _queue_words),
    ),
    Rule(
        "kv_retractions",
        "a server takes requests back for lack of KV memory for 2 min",
        *(ServingRow, _retracts, _retracts_over, _retracts_words),
        for_s=120.0,
    ),
)
