"""The conditions G1 to G7 that a measurement must meet before it may be compared, each with its reason in a sentence.

They are k2tui's own; what each guards against is in docs/benchmarks.md. A gate is red (False), met (True), or could not
be told (None): a server without /metrics makes no run bad.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from k2tui.core.benching.facts import ClientCost, Counters, Measured, PointFigures
from k2tui.core.benching.plan import BenchPlan, BenchTarget, CachePolicy
from k2tui.core.benching.result import GateResult, GpuSample
from k2tui.core.benching.statistics import median
from k2tui.core.gpu_words import THROTTLE_REASONS

TOKENS_APART = 0.02
"""Of the server's own count: the most by which ours may differ (G1)."""
MOST_CACHED = 0.01
"""Of the prompt tokens: the most that may come out of a cache that should not know the prompts (G3)."""
TEMPLATE_TOKENS = 16
"""Of each prompt: what a chat template puts before the nonce is the same in all of them, and may be in the cache."""
FEW_STREAMS = 8
MOST_LAG_MS = 5.0
"""With few streams: how late the generator may wake up, 99th percentile (G4)."""
MOST_LAG_SHARE = 0.25
"""With more: of the median gap between two chunks."""
MOST_CPU_SHARE = 0.7
"""Of a core: what the generator may use."""
GOOD_ENDS = ("length", "stop", "tool_calls")
CLOCK_APART = 0.03
"""Of a GPU's median clock over the run (G6)."""
STRAY_SHARE = 0.1
"""Of a GPU's readings: so few that are apart are the edges of the load, not a clock that drifts."""

_NO_METRICS = "could not be told: the server has no /metrics, or it does not say"
_HURTS = frozenset(reason.word for reason in THROTTLE_REASONS if reason.hurts)


def gates_of(
    measured: Measured, *, plan: BenchPlan, target: BenchTarget, samples: Sequence[GpuSample] = ()
) -> tuple[GateResult, ...]:
    """G1 to G7, in order."""
    alone = _alone(measured)
    return (
        _tokens(measured, alone.ok),
        alone,
        _cache(measured, plan, alone.ok),
        _client(measured),
        _ends(measured, target),
        _clocks(samples),
        _errors(measured),
    )


def _tokens(measured: Measured, is_alone: bool | None) -> GateResult:
    """G1: every token was counted by the server, and by its own counters too."""
    ended = [one for one in measured.requests if one.error is None and one.finish is not None]
    if not ended:
        return GateResult("G1", None, "could not be told: no request came to its end")
    missing = sum(one.usage_missing or one.osl is None for one in ended)
    if missing:
        return GateResult("G1", False, f"the server did not count the tokens of {missing} of {len(ended)} requests")
    ours = sum(one.osl or 0 for one in measured.requests)
    theirs = _delta(measured, "generation_tokens")
    if theirs is None:
        return GateResult("G1", None, f"{ours} tokens by usage; the counters {_NO_METRICS}")
    if is_alone is False:
        return GateResult("G1", None, f"{ours} tokens by usage; the server's counters have those of others in them")
    if theirs < 0:
        return GateResult("G1", None, "could not be told: the server's counters went back, it was started again")
    apart = abs(ours - theirs) / max(theirs, 1.0)
    told = f"{ours} tokens by usage, {theirs:.0f} by the server's counters"
    if apart <= TOKENS_APART:
        return GateResult("G1", True, f"{told}: {_percent(apart, 1)} apart")
    if any(one.error is not None or one.finish is None for one in measured.requests):
        return GateResult("G1", None, f"{told}: not to be compared, a request did not come to its end")
    return GateResult("G1", False, f"{told}: {_percent(apart, 1)} apart, more than {_percent(TOKENS_APART)}")


def _alone(measured: Measured) -> GateResult:
    """G2: nobody else used the server."""
    if measured.others:
        most = max(measured.others, key=lambda seen: seen.running - seen.ours)
        return GateResult("G2", False, f"the server ran {most.running} requests while {most.ours} were ours")
    before = _at(measured, "before")
    ours, theirs = len(measured.requests), _delta(measured, "requests")
    if theirs is not None and theirs > ours:
        return GateResult("G2", False, f"the server ended {theirs:.0f} requests meanwhile, {ours} of them ours")
    running = None if before is None else before.running
    if running is None:
        return GateResult("G2", None, f"whether others used the server {_NO_METRICS}")
    if running > 0 and not _counted_ours_alone(measured, theirs):
        ran = f"{running:.0f} request{'' if running == 1 else 's'}"
        return GateResult("G2", False, f"the server ran {ran} before the first of ours")
    return GateResult("G2", True, "the server ran our requests alone")


def _counted_ours_alone(measured: Measured, ended: float | None) -> bool:
    """The counters say that no request but ours ended, and that no tokens but ours were made.

    SGLang writes its gauge of running requests while it works: an idle server's stays at the last value, minutes long
    (seen with 0.5.14 on an H200), so the gauge alone is no witness.
    """
    made = _delta(measured, "generation_tokens")
    ours = sum(one.osl or 0 for one in measured.requests)
    if made is None or made < 0 or ended is None or ended > len(measured.requests):
        return False
    return made - ours <= TOKENS_APART * max(ours, 1)


def _cache(measured: Measured, plan: BenchPlan, is_alone: bool | None) -> GateResult:
    """G3: the prefix cache did not know the prompts."""
    found = _cached(measured, is_alone)
    told = None if found is None else f"{_percent(found[0], 1)} of the prompt tokens came out of the cache"
    if plan.policy is CachePolicy.WARM:
        return GateResult("G3", True, f"{told or 'the cache could not be looked at'}; asked for with a warm cache")
    if found is not None and found[1] > MOST_CACHED:
        more = f"; more than {_percent(MOST_CACHED)} beyond {TEMPLATE_TOKENS} tokens a prompt of the chat template"
        return GateResult("G3", False, f"{told}{more}")
    if plan.policy is CachePolicy.COLD:
        failed = next((flush for flush in measured.flushes if flush.ok is False), None)
        if failed is not None:
            return GateResult("G3", False, f"the cache could not be emptied: {failed.says or 'it did not say why'}")
        if not measured.flushes or any(flush.ok is None for flush in measured.flushes):
            seen = f" ({told})" if told else ""
            return GateResult("G3", None, f"could not be told: the server has no /flush_cache{seen}")
    if found is None or told is None:
        others = "its counters have those of others in them" if is_alone is False else "it has no /metrics"
        return GateResult("G3", None, f"could not be told: the server reports no cached tokens, and {others}")
    beyond = f", no more than {TEMPLATE_TOKENS} a prompt, as its chat template may" if found[0] > MOST_CACHED else ""
    return GateResult("G3", True, f"{told}{beyond}")


def _cached(measured: Measured, is_alone: bool | None) -> tuple[float, float] | None:
    """The share of prompt tokens that came out of the cache, and the same beyond what a chat template has in common.

    As each request says it, else by the server's counters where they are ours alone.
    """
    ours = [one for one in measured.requests if not one.is_warm_up and one.error is None and one.isl is not None]
    told = [(one.cached, one.isl) for one in ours if one.cached is not None and one.isl]
    if told and len(told) == len(ours):
        prompts = sum(isl for _, isl in told)
        beyond = sum(max(0, cached - TEMPLATE_TOKENS) for cached, _ in told)
        return sum(cached for cached, _ in told) / prompts, beyond / prompts
    cached, prompt = _delta(measured, "cached_tokens"), _delta(measured, "prompt_tokens")
    if is_alone is False or cached is None or not prompt or prompt < 0 or cached < 0:
        return None
    return cached / prompt, max(0.0, cached - TEMPLATE_TOKENS * len(measured.requests)) / prompt


def _client(measured: Measured) -> GateResult:
    """G4: the generator was quick enough to see what it measured."""
    if not measured.clients:
        return GateResult("G4", None, "could not be told: the generator did not say what it cost")
    gaps = {point.c: _median_gap(point) for point in measured.points}
    unknown: list[int] = []
    for client in measured.clients:
        if client.cpu_share is not None and client.cpu_share > MOST_CPU_SHARE:
            return GateResult(
                "G4",
                False,
                f"at c={client.c} the generator used {_percent(client.cpu_share)} of a core, "
                f"more than {_percent(MOST_CPU_SHARE)}",
            )
        limit_ms = _lag_limit(client, gaps.get(client.c))
        if limit_ms is None or client.lag_p99_ms is None:
            unknown.append(client.c)
        elif client.lag_p99_ms > limit_ms:
            return GateResult(
                "G4",
                False,
                f"at c={client.c} the generator woke up {client.lag_p99_ms:.1f} ms late (p99), more than "
                f"{limit_ms:.1f} ms",
            )
    if unknown:
        return GateResult("G4", None, f"how late the generator was could not be told at c={unknown[0]}")
    lags = max(client.lag_p99_ms or 0.0 for client in measured.clients)
    shares = [client.cpu_share for client in measured.clients if client.cpu_share is not None]
    used = f", and used at most {_percent(max(shares))} of a core" if shares else ""
    return GateResult("G4", True, f"the generator woke up at most {lags:.1f} ms late (p99){used}")


def _lag_limit(client: ClientCost, gap_ms: float | None) -> float | None:
    if client.c <= FEW_STREAMS:
        return MOST_LAG_MS
    return None if gap_ms is None else MOST_LAG_SHARE * gap_ms


def _median_gap(point: PointFigures) -> float | None:
    """Of its chunks; the bucket in which the middle lies."""
    total, seen = sum(point.icl_ms.values()), 0
    for gap_ms, count in sorted(point.icl_ms.items()):
        seen += count
        if 2 * seen >= total:
            return gap_ms
    return None


def _ends(measured: Measured, target: BenchTarget) -> GateResult:
    """G5: every request ended as it should, and the reasoning parser works."""
    ours = [one for one in measured.requests if one.error is None]
    broken = next((one for one in ours if one.matched is not None and "nan" in one.matched.casefold()), None)
    if broken is not None:
        return GateResult("G5", False, f"request {broken.number} was ended by {broken.matched!r}: the model gave NaN")
    ended = Counter(one.finish for one in ours if one.finish is not None)
    odd = [finish for finish in ended if finish not in GOOD_ENDS]
    if odd:
        return GateResult("G5", False, f"{_requests(ended[odd[0]])} ended by {odd[0]!r}")
    if target.reasoning_proved is False:
        return GateResult("G5", False, "the server's reasoning parser does not work, by the last look at it")
    if not ended:
        return GateResult("G5", None, "could not be told: no request came to its end")
    words = ", ".join(f"{count} by {finish}" for finish, count in sorted(ended.items()))
    return GateResult("G5", True, f"requests ended as they should: {words}")


def _clocks(samples: Sequence[GpuSample]) -> GateResult:
    """G6: no GPU was held back, and its clock stayed where it was."""
    if not samples:
        return GateResult("G6", None, "could not be told: no figures of the GPUs")
    held = sorted({(sample.gpu, word) for sample in samples for word in sample.held_back if word in _HURTS})
    if held:
        gpus = ", ".join(f"GPU {gpu} ({word})" for gpu, word in held[:4])
        return GateResult("G6", False, f"clocks were held down: {gpus}{' and others' if len(held) > 4 else ''}")
    looked = 0
    for gpu in sorted({sample.gpu for sample in samples}):
        clocks = [one.clock_mhz for one in samples if one.gpu == gpu and one.clock_mhz]
        if not clocks:
            continue
        looked += 1
        usual = median(clocks)
        apart = [clock for clock in clocks if abs(clock - usual) > CLOCK_APART * usual]
        if len(apart) > max(1.0, STRAY_SHARE * len(clocks)):
            return GateResult(
                "G6",
                False,
                f"GPU {gpu} ran at {min(clocks):.0f} to {max(clocks):.0f} MHz, {len(apart)} of {len(clocks)} readings "
                f"more than {_percent(CLOCK_APART)} from {usual:.0f}",
            )
    if not looked:
        return GateResult("G6", None, "could not be told: the driver does not say the clocks")
    gpus = "1 GPU" if looked == 1 else f"{looked} GPUs"
    return GateResult("G6", True, f"clocks of {gpus} were not held down, and stayed within {_percent(CLOCK_APART)}")


def _errors(measured: Measured) -> GateResult:
    """G7: nothing failed."""
    failed = [one for one in measured.requests if one.error is not None]
    count = max(len(failed), sum(point.failed for point in measured.points))
    if count:
        why = f": {failed[0].error}" if failed else ""
        return GateResult("G7", False, f"{_requests(count)} failed{why}")
    if measured.error is not None:
        return GateResult("G7", False, f"the measurement failed: {measured.error}")
    if not measured.requests:
        return GateResult("G7", None, "could not be told: no request was made")
    return GateResult("G7", True, f"{_requests(len(measured.requests))}, none failed")


def _requests(count: int) -> str:
    return "1 request" if count == 1 else f"{count} requests"


def _at(measured: Measured, when: str) -> Counters | None:
    return next((one for one in measured.counters if one.when == when), None)


def _delta(measured: Measured, name: str) -> float | None:
    """What a counter grew by from before the first request to after the last; None where it is not told."""
    before, after = _at(measured, "before"), _at(measured, "after")
    if before is None or after is None:
        return None
    first, last = getattr(before, name), getattr(after, name)
    return None if first is None or last is None else last - first


def _percent(share: float, digits: int = 0) -> str:
    """`2 %`."""
    return f"{share * 100:.{digits}f} %"
