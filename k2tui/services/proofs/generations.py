"""The few answers that a proof needs, asked for at once, and the parsers on given texts before them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass

from k2tui.core.effects import reasoning, tools
from k2tui.core.effects.answers import Answer, Call, as_dict, as_list, as_text
from k2tui.core.effects.checks import REASONING, TOOLS
from k2tui.core.effects.completion import PROMPT
from k2tui.core.verdicts import Effect, Outcome
from k2tui.services.proofs.asker import COMPLETIONS, Asker, NoAnswer

TOKENS_PLAIN = 32
TOKENS_THINKING = 128
"""A short thought and the answer; a thought that is cut shows its apartness as well."""
TOKENS_TOOL = 192
GIVEN_S = 4.0
"""For one parser on one given text: it takes milliseconds."""
Came = Answer | NoAnswer


@dataclass
class Generations:
    """What came back; None: not asked for."""

    plain: Came | None = None
    whole: Came | None = None
    """As clients ask for it, in one piece: with thinking on where the model thinks."""
    streamed: Came | None = None
    call: Came | None = None
    steps: Came | None = None
    """As many tokens as the log needs to say how it decodes."""

    @property
    def every(self) -> tuple[Came, ...]:
        """All that were asked for, the plain one first."""
        found = (self.plain, self.whole, self.streamed, self.call, self.steps)
        return tuple(one for one in found if one is not None)

    @property
    def answer(self) -> Answer | None:
        """The first that came: any of them shows that the server answers."""
        return next((one for one in self.every if isinstance(one, Answer)), None)


@dataclass(frozen=True)
class Parsers:
    """The names of its parsers, as asked or as the server made them out; None: it has none."""

    reasoning: str | None
    tools: str | None


async def generated(
    asker: Asker, model: str, *, thinking: bool, unparsed: bool, call: bool, steps: int | None
) -> Generations:
    """Ask for all of it at once. `thinking`: for the reasoning parser; `unparsed`: as clients ask, where there is no
    such parser; `steps`: so many tokens whatever the model would say, None: not needed."""
    chat = {"model": model, "messages": _user(PROMPT)}
    asked: dict[str, Awaitable[Answer]] = {"plain": _plain(asker, model)}
    if thinking:
        asked["whole"] = asker.chat({**chat, "max_tokens": TOKENS_THINKING})
        asked["streamed"] = asker.stream({**chat, "max_tokens": TOKENS_THINKING})
    elif unparsed:
        asked["whole"] = asker.stream({**chat, "max_tokens": TOKENS_THINKING})
    if call:
        body = {"model": model, "messages": _user(tools.TOOL_PROMPT), "tools": [tools.TOOL], "tool_choice": "auto"}
        asked["call"] = asker.chat({**body, "max_tokens": TOKENS_TOOL})
    if steps is not None:
        text = {"model": model, "prompt": PROMPT, "max_tokens": steps, "ignore_eos": True}
        asked["steps"] = asker.generate(COMPLETIONS, text)
    came = await asyncio.gather(*(_answer(one) for one in asked.values()))
    return Generations(**dict(zip(asked, came, strict=True)))


def judged_reasoning(found: Generations, parser: str, setting: str | None) -> Effect:
    """What the answers show of the reasoning parser."""
    thinking: list[tuple[Outcome, str]] = []
    for where, came in (("in one piece", found.whole), ("in the stream", found.streamed)):
        if isinstance(came, Answer):
            thinking.append(reasoning.judge_thinking(came, where))
        elif came is not None:
            thinking.append((Outcome.CANNOT, f"{where}: {came}"))
    silent = (Outcome.CANNOT, f"with thinking off: {found.plain}")
    if isinstance(found.plain, Answer):
        silent = reasoning.judge_silent(found.plain, parser)
    return reasoning.joined(thinking, silent, setting)


def judged_call(found: Generations, given: str | None, parser: str | None, setting: str | None) -> Effect:
    """What the answer shows of the tool-call parser. `given`: what parses of given texts, a few words."""
    came = found.call
    if isinstance(came, Answer):
        return tools.joined(given, tools.judge_call(came, parser), setting)
    if came is not None and came.status == 400:  # vLLM without --enable-auto-tool-choice says so
        return tools.joined(given, (Outcome.NOT_PROVED, f"a request with tools is refused: {came}"), setting)
    return tools.joined(given, (Outcome.CANNOT, str(came or "not asked")), setting)


async def given_reasoning(asker: Asker, parser: str) -> str | None:
    """What is wrong with the reasoning parser by /separate_reasoning; None: nothing, or it can't be asked."""
    texts = reasoning.given_texts(parser)
    separated = await asyncio.gather(*(_separated(asker, parser, given.text) for given in texts))
    for given, apart in zip(texts, separated, strict=True):
        trouble = None if apart is None else reasoning.judge_given(given, *apart)
        if trouble is not None:
            return trouble
    return None


async def given_tools(asker: Asker, parsers: Parsers) -> tuple[str | None, str | None]:
    """(What is wrong with the tool-call parser by /parse_function_call, what of given texts parses); None: nothing."""
    parser = parsers.tools or ""
    texts = ((tools.ONE, "an optional parameter"), (tools.TWO, "two calls at once"))
    parsed: list[str] = []
    found = await asyncio.gather(*(_parsed(asker, parser, tools.call_text(parser, calls)) for calls, _ in texts))
    for (calls, what), came in zip(texts, found, strict=True):
        if came is None:
            continue
        trouble = tools.judge_parsed(calls, came, what)
        if trouble is not None:
            return trouble, None
        parsed.append(what)
    trouble, after = await _after_reasoning(asker, parsers) if parsed else (None, False)
    if after:
        parsed.append("a call after reasoning")
    return trouble, f"in given texts {', '.join(parsed)}" if parsed else None


def broken(check: str, trouble: str, setting: str | None) -> Effect:
    """A parser that failed on a given text."""
    assert check in (REASONING, TOOLS)
    return Effect(check, Outcome.NOT_PROVED, trouble, setting)


async def _plain(asker: Asker, model: str) -> Answer:
    """A short answer without thinking: in two dozen tokens a thought may not come to the point."""
    chat = {"model": model, "messages": _user(PROMPT), "max_tokens": TOKENS_PLAIN}
    try:
        return await asker.chat({**chat, "chat_template_kwargs": dict(reasoning.THINK_OFF)})
    except NoAnswer as why:
        if why.status != 400:
            raise
        if "chat template" in str(why):  # a base model: it completes text, and has nothing to split
            return await asker.generate(COMPLETIONS, {"model": model, "prompt": PROMPT, "max_tokens": TOKENS_PLAIN})
    return await asker.chat(chat)  # some take no arguments for their template


async def _after_reasoning(asker: Asker, parsers: Parsers) -> tuple[str | None, bool]:
    """(What is wrong with a call that follows a thought, it parses)."""
    parser = parsers.tools or ""
    call = tools.call_text(parser, tools.ONE)
    thought = None if parsers.reasoning is None else reasoning.thought_of(parsers.reasoning)
    if call is None or thought is None or parsers.reasoning is None:
        return None, False
    apart = await _separated(asker, parsers.reasoning, thought + call)
    if apart is None:
        return None, False
    came = await _parsed(asker, parser, apart[1])
    if came is None:
        return None, False
    if not came:
        return f"--reasoning-parser {parsers.reasoning} swallows a tool call that follows a thought", False
    return tools.judge_parsed(tools.ONE, came, "a call after reasoning"), True


async def _separated(asker: Asker, parser: str, text: str) -> tuple[str, str] | None:
    """(reasoning, content) of a text; None where the server has no such route, or can't do it with this parser."""
    try:
        body = {"text": text, "reasoning_parser": parser}
        reply = as_dict(await asker.document("POST", "/separate_reasoning", body, most_s=GIVEN_S))
    except NoAnswer:
        return None
    thought, content = as_text(reply.get("reasoning_text")), as_text(reply.get("text"))
    return None if thought is None and content is None else (thought or "", content or "")


async def _parsed(asker: Asker, parser: str, text: str | None) -> tuple[Call, ...] | None:
    """The calls in a text; None as above, or where the markup of this parser is not known."""
    if text is None:
        return None
    try:
        body = {"text": text, "tools": [tools.TOOL], "tool_call_parser": parser}
        reply = as_dict(await asker.document("POST", "/parse_function_call", body, most_s=GIVEN_S))
    except NoAnswer:
        return None
    if "calls" not in reply:
        return None
    rows = [as_dict(row) for row in as_list(reply["calls"])]
    return tuple(Call(as_text(row.get("name")) or "", as_text(row.get("parameters")) or "") for row in rows)


async def _answer(asked: Awaitable[Answer]) -> Came:
    try:
        return await asked
    except NoAnswer as why:
        return why


def _user(text: str) -> list[Mapping[str, str]]:
    return [{"role": "user", "content": text}]
