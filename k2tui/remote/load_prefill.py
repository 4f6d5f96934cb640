"""The prefill slope: how much later the first token comes behind a longer prompt."""

from __future__ import annotations

from k2tui.remote.load_client import Pending
from k2tui.remote.load_figures import prefill_slope, ttft_any_ms
from k2tui.remote.load_live import Live
from k2tui.remote.load_meter import Meter
from k2tui.remote.load_session import Session
from k2tui.remote.load_stream import whole

ANSWERS = (1, 4, 16, 64)
"""Tokens of an answer, tried in turn: a parser may keep the first ones back."""
USUAL_CHARS = 4.4
"""A token of English, where the server does not count."""
SPARE_TOKENS = 64


async def prefill(session: Session) -> None:
    """Measure short and long prompts in turn and say it. Raises GoneError, after what was measured is said."""
    plan = session.plan
    live = Live(session, 2 * plan.repeats)
    found: tuple[list[Pending], list[Pending]] = ([], [])
    meter = Meter()
    try:
        live.text = "warm-up"
        sizes, answer = await _calibrated(session)
        if plan.policy == "cold":
            await session.flush()
        if plan.policy == "warm":
            for size in sizes:
                await session.request(
                    session.prompts.fresh(), session.prompts.of_length(size), answer, c=1, is_warm_up=True
                )
        meter.close()
        meter = Meter()
        for turn in range(plan.repeats):
            for place in (0, 1) if turn % 2 == 0 else (1, 0):
                if session.is_stopped:
                    return
                live.about((), 1, f"prompt {live.done + 1} of {live.of}")
                text = session.prompts.of_length(sizes[place])
                log = await session.request(session.prompts.fresh(), text, answer, c=1)
                if log.sent_at:
                    found[place].append(log)
                live.done += 1
    finally:
        live.close()
        slope = prefill_slope(*([pair for log in logs if (pair := _pair(log))] for logs in found))
        if slope is not None:
            session.say("slope", **slope)
        session.say("client", **meter.figures(1))


def _pair(log: Pending) -> tuple[float, float] | None:
    """(prompt tokens that were not in the cache, TTFT in ms)."""
    usage, ttft_ms = log.usage or {}, ttft_any_ms(log)
    prompt = whole(usage.get("prompt_tokens"))
    if log.error is not None or prompt is None or ttft_ms is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = whole(details.get("cached_tokens")) if isinstance(details, dict) else None
    return float(prompt - (cached or 0)), ttft_ms


def lengths_of(session: Session) -> tuple[int, int]:
    """Tokens of the short and of the long prompts: as asked for, as far as the model takes them."""
    short, long = session.plan.prompt_lengths
    if session.longest is not None:
        long = max(short + 1, min(long, session.longest - ANSWERS[-1] - SPARE_TOKENS))
    return short, long


async def _calibrated(session: Session) -> tuple[tuple[int, int], int]:
    """((characters of the short and of the long prompts), tokens of an answer that show a first one)."""
    wanted = lengths_of(session)
    per_token, answer = session.chars_a_token or USUAL_CHARS, ANSWERS[0]
    seen: list[tuple[int, int]] = []
    for tokens in (wanted[0], min(4 * wanted[0], wanted[1])):
        size = round(tokens * per_token)
        for answer in [tries for tries in ANSWERS if tries >= answer]:
            nonce, text = session.prompts.fresh(), session.prompts.of_length(size)
            log = await session.request(nonce, text, answer, c=1, is_warm_up=True)
            if ttft_any_ms(log) is not None or session.is_stopped:
                break
        seen.append((size, whole((log.usage or {}).get("prompt_tokens")) or 0))
    (short, short_tokens), (long, long_tokens) = seen
    always = 0.0
    if 0 < short_tokens < long_tokens:
        per_token = (long - short) / (long_tokens - short_tokens)
        always = short_tokens - short / per_token  # the template and the nonce
    sizes = [max(1, round((tokens - always) * per_token)) for tokens in wanted]
    return (sizes[0], sizes[1]), answer
