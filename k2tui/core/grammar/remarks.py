"""What a clean log says of its settings in passing: deprecated, ignored, replaced by something else."""

from __future__ import annotations

import re

from k2tui.core.facts import LaunchFact, Line, Remarked
from k2tui.core.grammar.rule import Rule

_SETTING = r"[`'\"]?(--[a-z][\w-]+|[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[`'\"]?"
_DEPRECATED = re.compile(r"'?(--[a-z][\w-]+)'? is deprecated\b(?:.*?[Uu]se '?(--[a-z][\w={},.-]*[\w}]))?")
_IGNORED = re.compile(
    rf"{_SETTING}[^.;]{{0,40}}? (?:is|are|will be|was|being) (?:ignored|overridden|overwritten)\b"
    rf"|\b(?:[Ii]gnoring|[Oo]verriding|[Oo]verrides?) (?:the )?(?:value of )?{_SETTING}"
    rf"|{_SETTING}[^.;]{{0,40}}? ha(?:s|ve) no effect\b"
)
_BACKEND = re.compile(
    r"(?=.{0,400}?(?i:attention|quantiz|moe|gemm|backend|back-end))"
    r".{0,400}?\b(?:[Ff]all(?:s|ing)?|[Rr]oll(?:s|ing)?|[Ss]witch(?:es|ing)?)[ -]?(?:back )?to "
    r"(?:the )?[`'\"]?([A-Za-z][\w.-]*)"
)
_USED = re.compile(r"\bUsing (\w+) attention backend out of potential backends")
_DEFAULT = re.compile(r"Attention backend not (?:explicitly )?specified\. Use (\w+) backend by default")
_DETECTED = re.compile(r"reasoning_parser=([\w.-]+), tool_call_parser=([\w.-]+)")


def _deprecated(line: Line) -> LaunchFact | None:
    found = _DEPRECATED.search(line.message)
    return Remarked("deprecated_flag", found[1], found[2] or "", line=line) if found else None


def _ignored(line: Line) -> LaunchFact | None:
    message = line.message[:2000]
    if not any(word in message for word in ("ignor", "Ignor", "verrid", "verwritten", " effect")):
        return None
    found = _IGNORED.search(message)
    if found is None:
        return None
    return Remarked("setting_ignored", next(group for group in found.groups() if group), "", line=line)


def _backend(line: Line) -> LaunchFact | None:
    found = _BACKEND.match(line.message)
    if found is None:
        return None
    return Remarked("backend_replaced", line.message[:400], found[1].rstrip("."), line=line)


def _backend_used(line: Line) -> LaunchFact | None:
    found = _USED.search(line.message)
    return Remarked("backend_used", found[1], "", line=line) if found else None


def _backend_default(line: Line) -> LaunchFact | None:
    found = _DEFAULT.search(line.message)
    return Remarked("backend_default", found[1], "", line=line) if found else None


def _detected(line: Line) -> LaunchFact | None:
    found = _DETECTED.search(line.message)
    return Remarked("parsers_detected", found[1], found[2], line=line) if found else None


def _on_cpu(line: Line) -> LaunchFact:
    return Remarked("on_cpu", "", "", line=line)


RULES: tuple[Rule, ...] = tuple(
    Rule(word, read)
    for word, read in (
        ("' is deprecated", _deprecated),
        ("Ignoring", _ignored),
        ("verrid", _ignored),
        ("allback to ", _backend),
        ("all back to ", _backend),
        ("alling back to ", _backend),
        ("witching to ", _backend),
        ("attention backend out of potential backends", _backend_used),
        ("Attention backend not", _backend_default),
        ("Auto-detected template features", _detected),
        ("available_cpu_mem=", _on_cpu),
        ("Automatically detected platform cpu", _on_cpu),
    )
)
"""(a word of the line, what it means). None of these moves a launch. A sentence without a rare character in it can't be
looked for in every line: of settings that are ignored, those are found that are spelt after a capital or with a v."""
