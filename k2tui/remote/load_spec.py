"""What the load generator is told to measure: one JSON line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

MOST_STREAMS = 1024
MOST_TOKENS = 1_000_000
PROCEDURES = ("quick", "sweep", "prefill")
POLICIES = ("fresh", "cold", "warm")


@dataclass
class Target:
    """Where the server is, and what is known of it. None: not known."""

    port: int
    host: str = "127.0.0.1"
    path: str = "/v1/chat/completions"
    tls: bool = False
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    engine: str | None = None
    """sglang | vllm."""
    speculative: bool | None = None


@dataclass
class Plan:
    """How it is measured; the fields of core's plan of the same name."""

    procedure: str = "quick"
    concurrencies: tuple[int, ...] = (1,)
    max_tokens: int = 256
    repeats: int = 3
    policy: str = "fresh"
    budget_s: float = 25.0
    hold_s: float = 30.0
    prompts: tuple[str, ...] = ()
    prompt_lengths: tuple[int, int] = (256, 8192)
    ignore_eos: bool | None = None
    seed: int | None = None


@dataclass
class Spec:
    """One measurement."""

    target: Target
    plan: Plan


def read_spec(line: bytes) -> Spec:
    """The line, checked. Raises ValueError with a sentence; the key is never in it."""
    try:
        document = json.loads(line)
    except ValueError:
        raise ValueError("the first line is no JSON") from None
    if not isinstance(document, dict):
        raise ValueError("the first line is no JSON object")
    target, plan = document.get("target"), document.get("plan", {})
    if not isinstance(target, dict) or not isinstance(plan, dict):
        raise ValueError("the first line has no target, or a plan that is none")
    return Spec(_target(target), _plan(plan))


def _target(said: dict[str, Any]) -> Target:
    return Target(
        port=_whole(said, "port", 0, 1, 65535),
        host=_word(said, "host") or "127.0.0.1",
        path=_word(said, "path") or "/v1/chat/completions",
        tls=said.get("tls") is True,
        api_key=_word(said, "api_key"),
        model=_text(said, "model"),
        engine=_word(said, "engine"),
        speculative=_choice(said, "speculative"),
    )


def _plan(said: dict[str, Any]) -> Plan:
    usual = Plan()
    concurrencies = [_one(c, "concurrencies", 1, MOST_STREAMS) for c in _list(said, "concurrencies", [1])]
    lengths = [_one(n, "prompt_lengths", 16, MOST_TOKENS) for n in _list(said, "prompt_lengths", [256, 8192])]
    if len(lengths) != 2 or lengths[0] >= lengths[1]:
        raise ValueError("prompt_lengths are not a short and a long one")
    prompts = _list(said, "prompts", [])
    if not all(isinstance(prompt, str) and prompt for prompt in prompts):
        raise ValueError("prompts has something that is no text")
    seed = said.get("seed")
    return Plan(
        procedure=_of(said, "procedure", usual.procedure, PROCEDURES),
        concurrencies=tuple(dict.fromkeys(concurrencies)) or (1,),
        max_tokens=_whole(said, "max_tokens", usual.max_tokens, 1, MOST_TOKENS),
        repeats=_whole(said, "repeats", usual.repeats, 1, 10_000),
        policy=_of(said, "policy", usual.policy, POLICIES),
        budget_s=_seconds(said, "budget_s", usual.budget_s),
        hold_s=_seconds(said, "hold_s", usual.hold_s),
        prompts=tuple(prompts),
        prompt_lengths=(lengths[0], lengths[1]),
        ignore_eos=_choice(said, "ignore_eos"),
        seed=None if seed is None else _one(seed, "seed", -(1 << 63), 1 << 63),
    )


def _text(said: dict[str, Any], name: str) -> str | None:
    value = said.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return value


def _word(said: dict[str, Any], name: str) -> str | None:
    """A text that may stand in the head of a request."""
    value = _text(said, name)
    if value is not None and not (value.isascii() and value.isprintable() and " " not in value):
        raise ValueError(f"{name} has a character that can't be sent")
    return value


def _choice(said: dict[str, Any], name: str) -> bool | None:
    value = said.get(name)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"{name} is neither true, false nor null")
    return value


def _of(said: dict[str, Any], name: str, usual: str, known: tuple[str, ...]) -> str:
    value = said.get(name, usual)
    if value not in known:
        raise ValueError(f"{name} is none of {', '.join(known)}")
    return str(value)


def _list(said: dict[str, Any], name: str, usual: list[Any]) -> list[Any]:
    value = said.get(name, usual)
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")
    return value


def _whole(said: dict[str, Any], name: str, usual: int, low: int, high: int) -> int:
    return _one(said.get(name, usual), name, low, high)


def _one(value: object, name: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} is no whole number from {low} to {high}")
    return value


def _seconds(said: dict[str, Any], name: str, usual: float) -> float:
    value = said.get(name, usual)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 86_400:
        raise ValueError(f"{name} is no number of seconds")
    return float(value)
