"""One server, asked until the time is up; whatever goes wrong is one sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing

from k2tui.core.effects.answers import Answer, StreamedAnswer, as_dict, as_text, printable_line, read_answer
from k2tui.core.effects.reasoning import is_decided
from k2tui.core.errors import K2Error
from k2tui.services.doors import HttpDoor, HttpReply

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


class NoAnswer(Exception):
    """Why there is no answer, as one sentence."""

    def __init__(self, sentence: str, *, status: int | None = None, is_late: bool = False) -> None:
        super().__init__(sentence)
        self.status = status
        """Of HTTP, where that was the trouble."""
        self.is_late = is_late
        """The time was up."""


class Asker:
    """`until` is of the loop's clock; `max_s` stands in the sentence when it is over."""

    def __init__(self, client: HttpDoor, key: str | None, until: float, max_s: float) -> None:
        self._client, self._until, self._max_s = client, until, max_s
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.tokens = 0
        """Made by the server for us until now."""

    async def reply(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        with_key: bool = True,
        most_s: float | None = None,
    ) -> HttpReply:
        """The whole answer, whatever its status."""
        headers = self._headers if with_key else {}
        try:
            asked = self._client.ask(method, path, body=body, headers=headers)
            return await asyncio.wait_for(asked, self._left(most_s))
        except asyncio.TimeoutError:
            limit_s = self._max_s if most_s is None else min(most_s, self._max_s)
            raise NoAnswer(f"no answer to {path} within {limit_s:g} s", is_late=True) from None
        except K2Error as error:
            raise NoAnswer(printable_line(error.message), is_late=error.code == "http_timeout") from None

    async def document(
        self, method: str, path: str, body: Mapping[str, object] | None = None, *, most_s: float | None = None
    ) -> object:
        """The answer's JSON; raises NoAnswer for anything but a 200 with JSON in it."""
        reply = await self.reply(method, path, body, most_s=most_s)
        if reply.status != 200:
            raise NoAnswer(refusal(reply, path), status=reply.status)
        try:
            return reply.json()
        except (ValueError, RecursionError):
            raise NoAnswer(f"{path} answered with something that is not JSON") from None

    async def chat(self, body: Mapping[str, object]) -> Answer:
        """A greedy chat completion in one piece."""
        return await self.generate(CHAT, body)

    async def generate(self, path: str, body: Mapping[str, object]) -> Answer:
        """A greedy completion in one piece."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        document = await self.document("POST", path, {**body, "temperature": 0, "stream": False})
        answer = read_answer(document, loop.time() - began)
        if answer is None:
            raise NoAnswer("the reply holds no choices")
        self.tokens += answer.tokens or 0
        return answer

    async def stream(self, body: Mapping[str, object]) -> Answer:
        """The same piece by piece, ended as soon as it shows how reasoning and content stand in it.

        What came before the time was up counts as a cut answer.
        """
        loop = asyncio.get_running_loop()
        began, streamed = loop.time(), StreamedAnswer()
        asked = {**body, "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}
        try:
            async with aclosing(self._client.events(CHAT, body=asked, headers=self._headers)) as events:
                while not streamed.is_over and not is_decided(streamed.content, streamed.reasoning):
                    streamed.take(await asyncio.wait_for(anext(events), self._left()))
        except StopAsyncIteration:
            pass
        except asyncio.TimeoutError:
            if not streamed.pieces:
                raise NoAnswer(f"no answer to {CHAT} within {self._max_s:g} s", is_late=True) from None
            streamed.finish = "length"
        except K2Error as error:
            if not streamed.pieces:
                raise NoAnswer(printable_line(error.message), is_late=error.code == "http_timeout") from None
            streamed.trouble = error.message
        answer = streamed.answer(loop.time() - began)
        self.tokens += answer.tokens or 0
        if streamed.trouble is not None:
            raise NoAnswer(f"the stream broke off: {printable_line(streamed.trouble)}")
        return answer

    def _left(self, most_s: float | None = None) -> float:
        left = max(self._until - asyncio.get_running_loop().time(), 0.01)
        return left if most_s is None else min(left, most_s)


def refusal(reply: HttpReply, path: str) -> str:
    """What a status other than 200 means, with the server's own words."""
    status = reply.status
    try:
        body = as_dict(reply.json())
    except (ValueError, RecursionError):
        body = {}
    error = body.get("error")
    said = (
        as_text(as_dict(error).get("message"))
        or as_text(error)
        or as_text(body.get("message"))
        or as_text(body.get("detail"))
    )
    words = f"HTTP {status} from {path}" + (f": {printable_line(said)}" if said else "")
    if status in (401, 403):
        return f"{words}; the server wants an API key that k2tui was not given"
    if status == 404:
        return f"{words}; what listens there is no such server"
    if status == 503:
        return f"{words}; it is still starting, or its scheduler does not answer"
    return words
