"""What a request asks for, and what of it this server does not know."""

from __future__ import annotations

import json

COMPLETIONS = "/completions"
CHAT = "/chat/completions"

# What may be left out, in the order of trial, with the words by which a refusal names it.
_OPTIONS = (
    ("continuous_usage_stats", ("continuous_usage",)),
    ("stream_options", ("stream_options", "include_usage")),
    ("ignore_eos", ("ignore_eos",)),
    ("max_tokens", ("max_tokens", "max_completion_tokens")),
    ("temperature", ("temperature",)),
    ("system message", ("system",)),
)
_NOTES = {
    "continuous_usage_stats": "the server does not count as it goes",
    "stream_options": "the server refuses stream_options",
    "ignore_eos": "the server refuses ignore_eos: answers may end early",
    "max_tokens": "the server wants max_completion_tokens",
    "temperature": "the server refuses temperature 0",
    "system message": "the server refuses a system message: the nonce stands in the user's",
}


class Wish:
    """The form of every request of one measurement."""

    def __init__(self, path: str, model: str, *, ignore_eos: bool) -> None:
        self.model = model
        self._is_chat = not path.endswith(COMPLETIONS) or path.endswith(CHAT)
        self._left_out: list[str] = [] if ignore_eos else ["ignore_eos"]
        self._refused: list[str] = []

    @property
    def ignore_eos(self) -> bool:
        return "ignore_eos" not in self._left_out

    @property
    def note(self) -> str | None:
        """What the server refused, for a person; None: nothing."""
        return "; ".join(_NOTES[option] for option in self._refused) or None

    def body(self, nonce: str, text: str, max_tokens: int) -> bytes:
        """The JSON of one request. The nonce comes first of all, so that no cache can have what is behind it."""
        asked: dict[str, object] = {"model": self.model, "stream": True}
        if not self._is_chat:
            asked["prompt"] = f"{nonce}\n{text}"
        elif "system message" in self._left_out:
            asked["messages"] = [{"role": "user", "content": f"{nonce}\n{text}"}]
        else:
            asked["messages"] = [{"role": "system", "content": nonce}, {"role": "user", "content": text}]
        asked["max_completion_tokens" if "max_tokens" in self._left_out else "max_tokens"] = max_tokens
        if "temperature" not in self._left_out:
            asked["temperature"] = 0
        if "stream_options" not in self._left_out:
            options = {"include_usage": True}
            if "continuous_usage_stats" not in self._left_out:
                options["continuous_usage_stats"] = True
            asked["stream_options"] = options
        if self.ignore_eos:
            asked["ignore_eos"] = True
        return json.dumps(asked).encode()

    def without(self, status: int | None, said: str) -> bool:
        """Leave out what a refusal names, else the next that can be left out; False: it is no such refusal."""
        if status not in (400, 422):
            return False
        said = said.lower()
        left = [option for option, _ in _OPTIONS if option not in self._left_out]
        if not self._is_chat and "system message" in left:
            left.remove("system message")
        named = [option for option, words in _OPTIONS if option in left and any(word in said for word in words)]
        if not left or (not named and "stream" in said and "stream_options" not in said):
            return False
        option = (named or left)[0]
        self._left_out.append(option)
        self._refused.append(option)
        return True
