"""A real answer from a server: the only thing that counts as ready, and what it shows of the flags' effects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from k2tui.core.effects import REASONING, TOOLS, model_names
from k2tui.core.errors import K2Error
from k2tui.core.flags import flag_value
from k2tui.core.secrets import MASK, mask
from k2tui.core.views import Proof
from k2tui.services.doors import HttpDoor, HttpReply

PROMPT = "What is 17 times 3? Answer in one short sentence."
TOOL_PROMPT = "What is the weather in Paris right now? Call the tool."
TOKENS_PLAIN = 32
TOKENS_THINKING = 256
"""Tokens. A short thought and the answer; a thought that is cut shows its apartness as well."""
TOKENS_TOOL = 512
_TOOL: Mapping[str, object] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city right now",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_THINK_MARKS = ("<think>", "</think>", "◁think▷", "◁/think▷", "[THINK]", "[/THINK]", "<|START_THINKING|>", "<mm:think>")
_TOOL_MARKS = (
    "<tool_call>",
    "<|tool_call_begin|>",
    "<|tool_calls_section_begin|>",
    "<｜tool▁calls▁begin｜>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<function=",
)
_Check = tuple[str, bool | None, str]


class _NoProof(Exception):
    """Why there is no answer, as one sentence."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What of a completion the checks look at."""

    content: str
    reasoning: str | None
    """None when the reply has none; the field is called reasoning_content (SGLang) or reasoning (vLLM)."""
    calls: object
    tokens: int | None
    finish: str | None
    elapsed_s: float

    @property
    def is_cut(self) -> bool:
        """True when it ended at max_tokens."""
        return self.finish == "length"


async def prove(
    client: HttpDoor,
    *,
    argv: Sequence[str],
    checks: frozenset[str],
    max_s: float,
    api_key: str | None = None,
) -> Proof:
    """Ask the server for a completion and for what `checks` name, within `max_s` seconds in all.

    `argv` is what it was started with; its model must be the one that answers. Its API key is sent when it has one;
    `api_key` is for an argv whose secrets are masked. Never raises but on cancellation.
    """
    key = api_key or _key_of(argv)
    asker = _Asker(client, key, asyncio.get_running_loop().time() + max_s, max_s)
    known = frozenset({key}) if key else frozenset()
    try:
        model = await asker.own_model(argv)
        answer = await asker.complete(model, thinking=REASONING in checks)
    except _NoProof as why:
        text = mask(str(why), known)
        return Proof(False, text, (("completion", False, text),))
    found: list[_Check] = [_completion(answer)]
    if REASONING in checks:
        found.append(_reasoning(answer))
    if TOOLS in checks and found[0][1]:
        try:
            found.append(_tools(await asker.call_tool(model)))
        except _NoProof as why:
            found.append((TOOLS, None, f"could not tell: {mask(str(why), known)}"))
    failed = [check for check in found if check[1] is False]
    text = "; ".join(detail for _, _, detail in (failed or found))
    return Proof(not failed, text, tuple(found), answer.tokens, round(answer.elapsed_s, 3))


class _Asker:
    """One server, asked until the time is up."""

    def __init__(self, client: HttpDoor, key: str | None, until: float, max_s: float) -> None:
        self._client, self._until, self._max_s = client, until, max_s
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def own_model(self, argv: Sequence[str]) -> str:
        """The id to ask for. Raises when the port answers with a model that `argv` does not serve."""
        listed = _dict(await self._ask("GET", "/v1/models"))
        models = [_dict(model) for model in _list(listed.get("data"))]
        ids = [str(model["id"]) for model in models if model.get("id")]
        if not ids:
            raise _NoProof("/v1/models names no model")
        wanted = [_plain_path(name) for name in model_names(argv)]
        if not wanted:
            return ids[0]
        for model_id in ids:
            if _plain_path(model_id) in wanted:
                return model_id
        path = flag_value(argv, "model-path")
        if path is not None and path in await self._paths():
            return ids[0]
        raise _NoProof(f"another server answers on this port: it serves {', '.join(ids[:3])}, not {wanted[0]}")

    async def complete(self, model: str, *, thinking: bool) -> _Answer:
        """A short greedy completion."""
        tokens = TOKENS_THINKING if thinking else TOKENS_PLAIN
        try:
            return await self._chat({"model": model, "messages": _user(PROMPT), "max_tokens": tokens})
        except _NoProof as why:
            if "chat template" not in str(why):
                raise
        # a base model: it completes text, and has nothing to split
        return await self._generate("/v1/completions", {"model": model, "prompt": PROMPT, "max_tokens": tokens})

    async def call_tool(self, model: str) -> _Answer:
        """A completion that ought to be a call of get_weather."""
        asked = {"messages": _user(TOOL_PROMPT), "tools": [_TOOL], "tool_choice": "auto", "max_tokens": TOKENS_TOOL}
        return await self._chat({"model": model, **asked})

    async def _chat(self, body: Mapping[str, object]) -> _Answer:
        return await self._generate("/v1/chat/completions", body)

    async def _generate(self, path: str, body: Mapping[str, object]) -> _Answer:
        loop = asyncio.get_running_loop()
        began = loop.time()
        asked = {**body, "temperature": 0, "stream": False}
        reply = _dict(await self._ask("POST", path, asked))
        choices = _list(reply.get("choices"))
        if not choices:
            raise _NoProof("the reply holds no choices")
        choice = _dict(choices[0])
        message = _dict(choice.get("message"))
        thought = message.get("reasoning_content", message.get("reasoning"))
        tokens = _dict(reply.get("usage")).get("completion_tokens")
        return _Answer(
            content=_text(message.get("content")) or _text(choice.get("text")) or "",
            reasoning=_text(thought),
            calls=message.get("tool_calls"),
            tokens=tokens if isinstance(tokens, int) else None,
            finish=_text(choice.get("finish_reason")),
            elapsed_s=loop.time() - began,
        )

    async def _paths(self) -> set[object]:
        """What /server_info (SGLang) says it loaded; empty when it does not say."""
        try:
            info = _dict(await self._ask("GET", "/server_info"))
        except _NoProof:
            return set()
        return {info.get("model_path")}

    async def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> object:
        left = self._until - asyncio.get_running_loop().time()
        try:
            asked = self._client.ask(method, path, body=body, headers=self._headers)
            reply = await asyncio.wait_for(asked, max(left, 0.01))
        except asyncio.TimeoutError:
            raise _NoProof(f"no answer to {path} within {self._max_s:g} s") from None
        except K2Error as error:
            raise _NoProof(_short(error.message)) from None
        if reply.status != 200:
            raise _NoProof(_refusal(reply, path))
        try:
            return reply.json()
        except ValueError:
            raise _NoProof(f"{path} answered with something that is not JSON") from None


def _completion(answer: _Answer) -> _Check:
    if answer.tokens == 0 or not (answer.content.strip() or (answer.reasoning or "").strip() or answer.calls):
        return "completion", False, "the completion came back empty"
    count = "an answer" if answer.tokens is None else f"{answer.tokens} tokens"
    return "completion", True, f"{count} in {answer.elapsed_s:.1f} s"


def _reasoning(answer: _Answer) -> _Check:
    mark = next((mark for mark in _THINK_MARKS if mark in answer.content), None)
    if mark is not None:
        return REASONING, False, f"thinking stands in content ({mark}), not apart in reasoning_content"
    if (answer.reasoning or "").strip():
        if answer.content.strip():
            return REASONING, True, "reasoning apart from content"
        cut = f"; cut at {answer.tokens} tokens before the answer began" if answer.is_cut else ""
        return REASONING, True, f"reasoning apart{cut or ', with an empty content'}"
    if answer.is_cut:
        return REASONING, False, f"{answer.tokens} tokens went into content and none into reasoning_content"
    return REASONING, None, "could not tell about reasoning: the model did not think in this answer"


def _tools(answer: _Answer) -> _Check:
    calls = [_dict(_dict(call).get("function")) for call in _list(answer.calls)]
    if calls:
        name, arguments = calls[0].get("name"), calls[0].get("arguments")
        try:
            parsed: object = json.loads(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            parsed = None
        if name != "get_weather" or not isinstance(parsed, dict):
            return TOOLS, False, f"the tool call does not parse: {_short(f'{name} {arguments}')}"
        return TOOLS, True, "a tool call parses"
    for place, text in (("content", answer.content), ("reasoning_content", answer.reasoning or "")):
        mark = next((mark for mark in _TOOL_MARKS if mark in text), None)
        if mark is not None:
            return TOOLS, False, f"the tool call stands unparsed in {place} ({mark})"
    if answer.is_cut:
        return TOOLS, None, f"could not tell about tools: cut at {answer.tokens} tokens"
    return TOOLS, None, "could not tell about tools: the model answered without a call"


def _key_of(argv: Sequence[str]) -> str | None:
    key = flag_value(argv, "api-key")
    return None if key == MASK else key


def _refusal(reply: HttpReply, path: str) -> str:
    status = reply.status
    try:
        body = _dict(reply.json())
    except (ValueError, RecursionError):
        body = {}
    error = body.get("error")
    said = _text(_dict(error).get("message")) or _text(error) or _text(body.get("message")) or _text(body.get("detail"))
    words = f"HTTP {status} from {path}" + (f": {_short(said)}" if said else "")
    if status in (401, 403):
        return f"{words}; the server wants an API key that k2tui was not given"
    if status == 404:
        return f"{words}; what listens there is no such server"
    if status == 503:
        return f"{words}; it is still starting, or its scheduler does not answer"
    return words


def _user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def _plain_path(name: str) -> str:
    return name.rstrip("/") or name


def _short(text: str) -> str:
    """One printable line of at most 200 characters: what a server says is not to be trusted."""
    return "".join(char if char.isprintable() else " " for char in text)[:200].strip()


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
