"""One measurement: the server, the streams, the prompts, and what is said of them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from k2tui.remote.load_body import Wish
from k2tui.remote.load_client import Client, Pending
from k2tui.remote.load_door import Door
from k2tui.remote.load_figures import FORMULA_SET, request_figures, rounded
from k2tui.remote.load_http import HttpError
from k2tui.remote.load_prompts import Prompts
from k2tui.remote.load_server import Server
from k2tui.remote.load_spec import Spec
from k2tui.remote.load_stream import whole

SETTLE_S = 5.0
"""How long the counters are waited for, before they are read, to be done with what we asked."""
SETTLE_EVERY_S = 0.2
LOOK_EVERY_S = 1.0
WARM_UP_TOKENS = 64
RECONNECT_S = 1.0


class GoneError(Exception):
    """The measurement can't go on: a code and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Session:
    """What every procedure works with. `say` takes one line of the wire format."""

    def __init__(self, spec: Spec, say: Callable[[dict[str, Any]], None], began_at: float) -> None:
        self.target, self.plan = spec.target, spec.plan
        self.began_at = began_at
        self.prompts = Prompts(spec.plan.prompts, seed=spec.plan.seed, warm=spec.plan.policy == "warm")
        door = Door(spec.target)
        self.client = Client(door, spec.target.path)
        self.server = Server(door)
        self.is_stopped = False
        self.engine = spec.target.engine
        self.longest: int | None = None
        """Tokens that the model takes at most, prompt and answer together."""
        self.wish = Wish(spec.target.path, spec.target.model or "", ignore_eos=True)
        self.chars_a_token: float | None = None
        """Of the first prompt, with its nonce and its template among the tokens; None where nobody counted them."""
        self._say = say
        self._number = 0
        self._received = 0
        """Tokens of all requests that were told."""
        self._first_counters: dict[str, float | None] | None = None
        self._was_reached = False

    def say(self, kind: str, **fields: Any) -> None:
        """One line."""
        self._say({"type": kind, **fields})

    def now_s(self) -> float:
        """Since the generator's start."""
        return round(perf_counter() - self.began_at, 4)

    def stop(self) -> None:
        """End at once; what was measured is still said."""
        self.is_stopped = True
        self.client.close()

    async def open(self) -> None:
        """Reach the server, and say hello. Raises GoneError."""
        began_at = perf_counter()
        await self.open_streams(1)
        connected_ms = (perf_counter() - began_at) * 1000
        models = await self.server.models()
        engine, version, speculative = await self.server.about()
        self.engine = self.engine or engine
        named = self.target.model or next((m["id"] for m in models if isinstance(m.get("id"), str)), None)
        if named is None:
            raise GoneError("no_model", "the server does not say which model it has: name it")
        of_model = next((m for m in models if m.get("id") == named), {})
        longest = of_model.get("max_model_len")
        self.longest = longest if isinstance(longest, int) and longest > 0 else None
        if self.target.speculative is not None:
            speculative = self.target.speculative
        wants_eos = not speculative if self.plan.ignore_eos is None else self.plan.ignore_eos
        self.wish = Wish(self.target.path, named, ignore_eos=wants_eos)
        self.say(
            "hello",
            formula_set=FORMULA_SET,
            prompt_set=self.prompts.name,
            nonce=self.prompts.nonce,
            python=".".join(map(str, sys.version_info[:3])),
            model=named,
            engine=self.engine,
            version=version,
            connected_ms=rounded(connected_ms),
        )

    async def open_streams(self, count: int) -> None:
        """Have this many connections open and warm. Raises GoneError."""
        try:
            await self.client.open(count)
        except HttpError as error:
            raise self._gone(error) from None
        self._was_reached = True

    async def probe(self) -> None:
        """One request for one token, which finds out what this server refuses. Raises GoneError."""
        while not self.is_stopped:
            nonce, text = self.prompts.first()
            log = await self.request(nonce, text, 1, c=1, is_warm_up=True, is_told=False)
            if log.error is None or not self.wish.without(log.status, log.error):
                break
        else:
            return
        self.tell(log, 1, is_warm_up=True)
        if log.error is not None:
            raise GoneError("refused", f"the first request was not answered: {log.error}")
        prompt_tokens = whole((log.usage or {}).get("prompt_tokens"))
        self.chars_a_token = len(text) / prompt_tokens if prompt_tokens else None

    async def request(
        self, nonce: str, text: str, max_tokens: int, *, c: int, is_warm_up: bool = False, is_told: bool = True
    ) -> Pending:
        """One request to its end, said as a line. Raises GoneError where none can be made any more."""
        body = self.wish.body(nonce, text, max_tokens)
        try:
            log = await self.client.stream(body)
        except HttpError:
            await asyncio.sleep(RECONNECT_S)
            try:
                log = await self.client.stream(body)
            except HttpError as error:
                raise self._gone(error) from None
        if is_told and log.sent_at:
            self.tell(log, c, is_warm_up=is_warm_up)
        return log

    def tell(self, log: Pending, c: int, *, is_warm_up: bool = False) -> None:
        """The line of a request; its number is by the order in which they end."""
        self._number += 1
        figures = request_figures(log, self._number, c, self.began_at, is_warm_up)
        self._received += figures["osl"] or 0
        self.say("request", **figures)

    async def warm_up(self) -> Pending:
        """A short request that is part of no figure."""
        nonce, text = self.prompts.next()
        return await self.request(nonce, text, min(WARM_UP_TOKENS, self.plan.max_tokens), c=1, is_warm_up=True)

    async def tell_counters(self, when: str, *, settle_s: float = SETTLE_S) -> None:
        """Read the counters, once they stand still and the server is done with what we asked."""
        ends_at = perf_counter() + settle_s
        counters = await self.server.counters()
        while counters is not None and perf_counter() < ends_at and not self.is_stopped:
            await asyncio.sleep(SETTLE_EVERY_S)
            newer = await self.server.counters()
            is_still, counters = newer == counters, newer or counters
            if is_still and self._has_counted(counters):
                break
        if counters is not None:
            self._first_counters = self._first_counters or counters
            self.say("counters", at_s=self.now_s(), when=when, **counters)

    def _has_counted(self, counters: dict[str, float | None]) -> bool:
        """All that we got is counted; where tokens are not: no more runs than before us.

        What SGLang says of running requests may be old, and it counts the tokens of a request at its end: one that was
        cut has its end a little later.
        """
        first, made = self._first_counters or counters, counters["generation_tokens"]
        if made is not None:
            return made - (first["generation_tokens"] or 0.0) >= self._received
        return (counters["running"] or 0.0) <= (first["running"] or 0.0)

    async def flush(self) -> None:
        """Empty the cache, where nobody else is at work."""
        running = await self.server.running()
        if running:
            ok: bool | None = False
            says = f"{running} requests run: their cache was left"
        else:
            ok, says = await self.server.flush(self.engine)
        self.say("flush", at_s=self.now_s(), ok=ok, says=says)

    async def watch_others(self) -> None:
        """Say it whenever more requests run than ours, about once a second; ends when the server never tells."""
        while not self.is_stopped:
            running = await self.server.running()
            ours = self.client.most_in_flight()
            if not self.server.tells_running:
                return
            if running is not None and running > ours:
                self.say("others", at_s=self.now_s(), running=running, ours=ours)
            await asyncio.sleep(LOOK_EVERY_S)

    def _gone(self, error: HttpError) -> GoneError:
        """Never reached at all, or no more."""
        return GoneError("server_gone" if self._was_reached else "unreachable", str(error))

    def close(self) -> None:
        """Close every connection."""
        self.client.close()
        self.server.close()
