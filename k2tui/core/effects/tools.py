"""Do tool calls parse? Texts in each family's markup, and what an answer shows.

The markups are those of SGLang 0.5.23 (function_call/*_detector.py); each text was given to `/parse_function_call` of
that release.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from k2tui.core.effects.answers import Answer, Call, first_of, parsed_arguments, printable_line
from k2tui.core.effects.checks import TOOLS
from k2tui.core.verdicts import Effect, Outcome

TOOL_PROMPT = "What is the weather in Paris right now? Call the tool."
TOOL: Mapping[str, object] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city right now",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "optional"},
            },
            "required": ["city"],
        },
    },
}
_Arguments = Mapping[str, str]
ONE: tuple[_Arguments, ...] = ({"city": "Paris", "unit": "celsius"},)
"""A call with an optional parameter."""
TWO: tuple[_Arguments, ...] = (*ONE, {"city": "Rome"})
"""Two calls at once, the second without it."""
MARKS = (
    *("<tool_call>", "<|tool_call_begin|>", "<|tool_calls_section_begin|>", "<｜tool▁calls▁begin｜>"),
    *("<｜tool_calls_begin｜>", "<｜DSML｜", "[TOOL_CALLS]", "<|python_tag|>", "<function=", "<minimax:tool_call>"),
    *("<|action_start|>", "<|tool_call_start|>"),
)
_KIMI_ID = re.compile(r"functions\.get_weather:\d+")


def _named(arguments: _Arguments, key: str = "arguments") -> str:
    return json.dumps({"name": "get_weather", key: arguments})


def _tagged(arguments: _Arguments, opening: str, closing: str) -> str:
    return "\n".join(f"{opening.format(name)}{value}{closing}" for name, value in arguments.items())


def _kimi(calls: Sequence[_Arguments]) -> str:
    inner = "".join(
        f"<|tool_call_begin|>functions.get_weather:{at}<|tool_call_argument_begin|>{json.dumps(one)}<|tool_call_end|>"
        for at, one in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def _deepseek(calls: Sequence[_Arguments]) -> str:
    inner = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{json.dumps(one)}\n```<｜tool▁call▁end｜>"
        for one in calls
    )
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def _deepseek_31(calls: Sequence[_Arguments]) -> str:
    inner = "".join(
        f"<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{json.dumps(one)}<｜tool▁call▁end｜>" for one in calls
    )
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def _deepseek_32(calls: Sequence[_Arguments]) -> str:
    opening, closing = '<｜DSML｜parameter name="{}" string="true">', "</｜DSML｜parameter>"
    inner = "\n".join(
        f'<｜DSML｜invoke name="get_weather">\n{_tagged(one, opening, closing)}\n</｜DSML｜invoke>' for one in calls
    )
    return f"<｜DSML｜function_calls>\n{inner}\n</｜DSML｜function_calls>"


def _qwen(calls: Sequence[_Arguments]) -> str:
    return "\n".join(f"<tool_call>\n{_named(one)}\n</tool_call>" for one in calls)


def _glm(calls: Sequence[_Arguments]) -> str:
    return "\n".join(
        "<tool_call>get_weather\n"
        + _tagged(one, "<arg_key>{}</arg_key>\n<arg_value>", "</arg_value>")
        + "\n</tool_call>"
        for one in calls
    )


def _llama(calls: Sequence[_Arguments]) -> str:
    return "<|python_tag|>" + ";".join(_named(one, "parameters") for one in calls)


def _mistral(calls: Sequence[_Arguments]) -> str:
    return f"[TOOL_CALLS] [{', '.join(_named(one) for one in calls)}]"


def _coder(calls: Sequence[_Arguments]) -> str:
    opening, closing = "<parameter={}>\n", "\n</parameter>"
    return "\n".join(
        f"<tool_call>\n<function=get_weather>\n{_tagged(one, opening, closing)}\n</function>\n</tool_call>"
        for one in calls
    )


def _minimax(calls: Sequence[_Arguments]) -> str:
    opening, closing = '<parameter name="{}">', "</parameter>"
    inner = "\n".join(f'<invoke name="get_weather">\n{_tagged(one, opening, closing)}\n</invoke>' for one in calls)
    return f"<minimax:tool_call>\n{inner}\n</minimax:tool_call>"


def _step3(calls: Sequence[_Arguments]) -> str:
    opening = '<steptml:parameter name="{}">'
    inner = "\n".join(
        '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">\n'
        + _tagged(one, opening, "</steptml:parameter>")
        + "\n</steptml:invoke><｜tool_call_end｜>"
        for one in calls
    )
    return f"<｜tool_calls_begin｜>\n{inner}\n<｜tool_calls_end｜>"


def _pythonic(calls: Sequence[_Arguments]) -> str:
    inner = (", ".join(f'{name}="{value}"' for name, value in one.items()) for one in calls)
    return f"[{', '.join(f'get_weather({words})' for words in inner)}]"


def _internlm(calls: Sequence[_Arguments]) -> str:
    return "".join(f"<|action_start|> <|plugin|>\n{_named(one, 'parameters')}<|action_end|>" for one in calls)


def _gpt_oss(calls: Sequence[_Arguments]) -> str:
    head = "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
    return "".join(f"{head}{json.dumps(one)}<|call|>" for one in calls)


def _lfm2(calls: Sequence[_Arguments]) -> str:
    return f"<|tool_call_start|>{_pythonic(calls)}<|tool_call_end|>"


_WRITERS: Mapping[str, Callable[[Sequence[_Arguments]], str]] = {
    "kimi_k2": _kimi,
    "deepseekv3": _deepseek,
    "deepseekv31": _deepseek_31,
    "deepseekv32": _deepseek_32,
    "qwen": _qwen,
    "qwen25": _qwen,
    "hermes": _qwen,
    "glm": _glm,
    "glm45": _glm,
    "llama3": _llama,
    "mistral": _mistral,
    "qwen3_coder": _coder,
    "step3p5": _coder,
    "nanbeige": _coder,
    "minimax-m2": _minimax,
    "step3": _step3,
    "pythonic": _pythonic,
    "interns1": _internlm,
    "gpt-oss": _gpt_oss,
    "lfm2": _lfm2,
}
FAMILIES = tuple(_WRITERS)
"""Tool-call parsers whose markup is known here."""


def call_text(parser: str, calls: Sequence[_Arguments]) -> str | None:
    """These calls of get_weather as a model of this parser's family writes them; None: its markup is not known."""
    writer = _WRITERS.get(parser)
    return None if writer is None else writer(calls)


def judge_parsed(wanted: Sequence[_Arguments], calls: Sequence[Call], what: str) -> str | None:
    """What is wrong with the calls that a parser found in such a text; None when nothing is."""
    found = [parsed_arguments(call.arguments) for call in calls if call.name == "get_weather"]
    if found == [dict(one) for one in wanted]:
        return None
    if len(calls) < len(wanted):
        return f"the parser finds {len(calls)} of {len(wanted)} calls in a text of its own family ({what})"
    return f"the parser reads {what} wrongly: {printable_line(' '.join(call.arguments for call in calls), 80)}"


def judge_call(answer: Answer, parser: str | None) -> tuple[Outcome, str]:
    """What an answer shows that ought to be a call of get_weather."""
    if answer.calls:
        call = answer.calls[0]
        if call.name != "get_weather" or parsed_arguments(call.arguments) is None:
            return (
                Outcome.NOT_PROVED,
                f"the tool call does not parse: {printable_line(f'{call.name} {call.arguments}')}",
            )
        if parser == "kimi_k2" and (call.id is None or _KIMI_ID.fullmatch(call.id) is None):
            said = "none" if call.id is None else printable_line(call.id, 40)
            return Outcome.NOT_PROVED, f"the call's id is {said}, where Kimi needs functions.get_weather:0"
        after = " after reasoning" if answer.reasoning.strip() else ""
        return Outcome.PROVED, f"a tool call parses{after}"
    for place, text in (("content", answer.content), ("reasoning_content", answer.reasoning)):
        mark = first_of(text, MARKS)
        if mark is not None:
            return Outcome.NOT_PROVED, f"the tool call stands unparsed in {place} ({mark})"
    if answer.is_cut:
        return Outcome.CANNOT, f"cut at {answer.tokens} tokens"
    return Outcome.CANNOT, "the model answered without a call"


def joined(given: str | None, seen: tuple[Outcome, str], setting: str | None) -> Effect:
    """One effect out of what was seen of a call, and of given texts (a few words on what parses; None: not asked)."""
    outcome, text = seen
    if outcome is Outcome.CANNOT:
        text = f"could not tell about tools: {text}"
    more = f"; {given}" if given and outcome is not Outcome.NOT_PROVED else ""
    return Effect(TOOLS, outcome, f"{text}{more}", setting)
