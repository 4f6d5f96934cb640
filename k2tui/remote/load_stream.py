"""One streamed answer: each event with its time, what it carried, and how many tokens the server had counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from k2tui.remote.load_http import HttpError, Reply, plain
from k2tui.remote.load_sse import EventReader

EMPTY, REASONING, CONTENT, TOOL, FINISH, USAGE = range(6)
"""What an event carried. EMPTY: a role, or a delta without text. FINISH: why it ended, no text. USAGE: no choice."""
PAYLOAD = frozenset({REASONING, CONTENT, TOOL})

MOST_COUNT = 10**12
MOST_ERROR_BODY = 64 << 10
_decode_from = json.JSONDecoder().raw_decode


class Stream(Reply):
    """The event log of one request. Times are time.perf_counter."""

    def __init__(self, ended: Callable[[Stream], None] | None = None) -> None:
        self.sent_at = 0.0
        self.head_at: float | None = None
        self.ended_at: float | None = None
        self.done_at: float | None = None
        """`[DONE]`."""
        self.status: int | None = None
        self.events: list[tuple[float, int, int, int | None]] = []
        """(time, kind, characters, completion tokens so far; None where the event does not say), as they came."""
        self.usage: Mapping[str, Any] | None = None
        """The newest that the server gave."""
        self.finish: str | None = None
        self.matched: str | None = None
        self.error: str | None = None
        self.was_cut = False
        """By us, on purpose: what came until then counts."""
        self._ended = ended
        self._reader = EventReader()
        self._body: list[bytes] = []

    @property
    def is_untouched(self) -> bool:
        """Not a byte of an answer came."""
        return self.head_at is None

    def on_head(self, status: int, headers: Mapping[str, str], at: float) -> None:
        self.head_at, self.status = at, status
        if status == 200 and "json" in headers.get("content-type", ""):
            self.error = "the server answered without a stream"

    def on_body(self, payload: bytes, at: float) -> None:
        if self.status == 200:
            for data in self._reader.feed(payload):
                self._event(data, at)
        elif sum(map(len, self._body)) < MOST_ERROR_BODY:
            self._body.append(payload)

    def on_end(self, error: str | None, at: float) -> None:
        self.ended_at = at
        if self.status is not None and self.status != 200:
            self.error = f"HTTP {self.status}: {said_in(b''.join(self._body))}"
        elif self.was_cut:
            self.error = None
        elif self.error is None and self.finish is None and self.done_at is None:
            self.error = error or "the stream ended before its end"
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(self)

    def _event(self, data: bytes, at: float) -> None:
        if data == b"[DONE]":
            self.done_at = at
        elif data:
            try:
                text = data.decode("utf-8").strip()
                document, end = _decode_from(text)
                if end != len(text):
                    raise ValueError
                self._document(document, at)
            except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
                self._break("an event of the stream is none that a model server sends")

    def _document(self, document: Any, at: float) -> None:
        """Shapes: `/v1/chat/completions` and `/v1/completions` of SGLang 0.4.6 to 0.5.23 and vLLM 0.6 to 0.32."""
        choices, usage = document.get("choices"), document.get("usage")
        kind, size = USAGE, 0
        if choices:
            kind, choice = EMPTY, choices[0]
            delta = choice.get("delta")
            if delta is None:  # /v1/completions
                delta = {"content": choice.get("text")}
            if text := delta.get("reasoning_content") or delta.get("reasoning"):
                kind, size = REASONING, len(text)
            if (calls := delta.get("tool_calls")) and (carried := sum(map(_size_of_call, calls))):
                kind, size = TOOL, size + carried
            if text := delta.get("content"):
                kind, size = CONTENT, size + len(text)
            if (finish := choice.get("finish_reason")) is not None:
                self._finished(finish, choice.get("matched_stop"))
                kind = FINISH if kind == EMPTY else kind
            usage = usage or choice.get("usage")
        elif fault := document.get("error"):
            self._break(f"the server broke off: {said_in(json.dumps(fault).encode())}")
        count = None
        if usage is not None:
            count = whole(usage.get("completion_tokens"))  # before it is kept: it may be none at all
            self.usage = usage
        self.events.append((at, kind, size, count))

    def _break(self, why: str) -> None:
        self.error = why
        raise HttpError(why)

    def _finished(self, finish: object, matched: object) -> None:
        self.finish = plain(str(finish), 40)
        if matched is not None:
            self.matched = plain(str(matched), 80)


def _size_of_call(call: Any) -> int:
    function = call.get("function") or {}
    return len(function.get("name") or "") + len(function.get("arguments") or "")


def whole(value: object) -> int | None:
    """A count that a server told; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_COUNT:
        return None
    return value


def said_in(body: bytes) -> str:
    """What the body of an error says, as one line."""
    text = body.decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return plain(text) or "no reason was given"
    for _ in range(3):
        if not isinstance(document, dict):
            break
        document = next((document[name] for name in ("error", "message", "detail") if document.get(name)), None)
    return plain(document if isinstance(document, str) else text) or "no reason was given"
