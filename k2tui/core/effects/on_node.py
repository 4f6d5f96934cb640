"""What the node itself shows of a run: who listens on its port, and its ranks with their environment.

The words are those of remote/listener.sh and remote/rank_env.sh.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from k2tui.core.effects.answers import printable_line
from k2tui.core.effects.checks import ENVIRONMENT, IDENTITY, RANKS
from k2tui.core.flags import flag_value, has_flag
from k2tui.core.secrets import MASK, is_secret_name, mask
from k2tui.core.verdicts import Effect, Outcome

MOST_RANKS = 1024
SHOWN_BYTES = 400
"""Of a variable's value that a node tells; remote/rank_env.sh cuts there."""
_RANK_TITLES = ("sglang::scheduler", "VLLM::Worker")
_ALONE_TITLES = ("VLLM::EngineCore",)
"""One process that is its own rank, where there are no workers."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Who listens on a port."""

    word: str
    """ours | foreign | none | unknown."""
    pid: int | None = None
    command: str = ""
    """Of a process that is not ours; or why it is unknown."""


@dataclass(frozen=True, slots=True)
class RankProcess:
    """One process of an engine that does the work, with the variables that were asked for."""

    pid: int
    title: str
    is_readable: bool = True
    """False: its environment can't be read, or its own title was written over it."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Variable to its value; None: not set. A secret's value is never told: it is `***`."""


def parse_listener(output: bytes) -> Listener:
    """The answer of remote/listener.sh; unknown for what is none."""
    lines = output.decode("utf-8", "replace").splitlines()
    if not lines or lines[-1] != "k2end":
        return Listener("unknown", None, "the node did not say it to the end")
    for line in lines:
        word, _, rest = line.partition(" ")
        if word in ("ours", "foreign"):
            pid, _, command = rest.partition(" ")
            return Listener(word, int(pid) if pid.isdecimal() else None, mask(printable_line(command)))
        if word in ("none", "unknown"):
            return Listener(word, None, mask(printable_line(rest)))
    return Listener("unknown", None, "the node did not say it")


def judge_identity(listener: Listener | None, port: int) -> Effect:
    """Is who answers the one that was launched? None: there is no run of k2tui's to compare with."""
    if listener is None:
        text = "k2tui did not launch it, so that there is nothing to compare with"
        return Effect(IDENTITY, Outcome.CANNOT, text)
    match listener.word:
        case "ours":
            text = f"port {port} is answered by the run's own process (pid {listener.pid})"
            return Effect(IDENTITY, Outcome.PROVED, text)
        case "foreign":
            who = f"pid {listener.pid} ({listener.command or '?'})"
            text = f"port {port} is answered by another process, {who}: it is not the server that was launched"
            return Effect(IDENTITY, Outcome.NOT_PROVED, text)
        case "none":
            return Effect(IDENTITY, Outcome.NOT_PROVED, f"nothing listens on port {port} of the node")
        case _:
            why = f": {listener.command}" if listener.command else ""
            return Effect(IDENTITY, Outcome.CANNOT, f"who listens on port {port} can't be told{why}")


def parse_ranks(output: bytes) -> tuple[RankProcess, ...] | None:
    """The answer of remote/rank_env.sh; None when it is not whole."""
    lines = output.decode("utf-8", "replace").split("\n")
    if "k2end" not in lines[-2:]:
        return None
    ranks: dict[int, RankProcess] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        number, _, rest = rest.partition(" ")
        if not number.isdecimal():
            continue
        pid = int(number)
        if word == "rank" and len(ranks) < MOST_RANKS:
            ranks[pid] = RankProcess(pid, printable_line(rest, 80), env={})
        elif word == "dark" and pid in ranks:
            ranks[pid] = RankProcess(pid, ranks[pid].title, is_readable=False)
        elif word == "set" and pid in ranks:
            name, _, value = rest.partition(" ")
            ranks[pid] = RankProcess(pid, ranks[pid].title, env={**ranks[pid].env, name: value})
        elif word == "unset" and pid in ranks:
            ranks[pid] = RankProcess(pid, ranks[pid].title, env={**ranks[pid].env, rest: None})
    return tuple(ranks.values())


def presence_only(name: str, value: str | None) -> bool:
    """A variable of which only the name may be looked at: its value is a secret."""
    return is_secret_name(name) or (value is not None and MASK in value)


def judge_variable(name: str, value: str | None, ranks: Sequence[RankProcess], lines: Sequence[str]) -> Effect:
    """Is this variable set (None: gone) on every rank? `lines` of the server's log, for NCCL's own word."""
    seen = [rank for rank in ranks if rank.is_readable and name in rank.env]
    if not seen:
        return _by_nccl(name, value, ranks, lines)
    count = f"of {len(ranks)} rank{'s' if len(ranks) != 1 else ''}"
    have = [rank for rank in seen if rank.env[name] is not None]
    if value is None:
        if not have:
            return Effect(ENVIRONMENT, Outcome.PROVED, f"{name} is set on none {count}", name)
        return Effect(ENVIRONMENT, Outcome.NOT_PROVED, f"{name} is still set on {len(have)} {count}", name)
    if presence_only(name, value):
        right, shown = have, "is set"
    else:
        told = _as_told(value)
        right, shown = [rank for rank in have if rank.env[name] == told], f"is {printable_line(value, 60)}"
    text = f"{name} {shown} on {len(right)} {count}"
    if len(right) == len(ranks):
        if value is not None and _size(value) > SHOWN_BYTES and not presence_only(name, value):
            text = f"{name} begins as asked on {len(right)} {count}; what follows {SHOWN_BYTES} bytes is not compared"
            return Effect(ENVIRONMENT, Outcome.CANNOT, text, name)
        return Effect(ENVIRONMENT, Outcome.PROVED, text, name)
    other = next((rank for rank in seen if rank not in right), None)
    if other is None:
        return Effect(ENVIRONMENT, Outcome.CANNOT, f"{text}; the others' environment can't be read", name)
    is_now = other.env[name]
    what = "not set" if is_now is None else mask(printable_line(is_now, 60))
    return Effect(ENVIRONMENT, Outcome.NOT_PROVED, f"{text}; on {other.title} it is {what}", name)


def _as_told(value: str) -> str:
    """A value as remote/rank_env.sh tells it."""
    data = re.sub(rb"[\x00-\x09\x0b-\x1f]", b"\t", value.encode("utf-8", "surrogateescape")).replace(b"\n", b"\x01")
    return data[:SHOWN_BYTES].decode("utf-8", "replace")


def _size(value: str) -> int:
    return len(value.encode("utf-8", "surrogateescape"))


def judge_ranks(argv: Sequence[str], ranks: Sequence[RankProcess], setting: str | None) -> Effect:
    """Are there as many processes as the flags ask for on this node?"""
    wanted = ranks_asked(argv)
    titled = [rank for rank in ranks if rank.title.startswith(_RANK_TITLES)]
    found = titled or [rank for rank in ranks if rank.title.startswith(_ALONE_TITLES)]
    if wanted is None or not found:
        return Effect(RANKS, Outcome.CANNOT, "no process of it names itself a rank", setting)
    words = f"{len(found)} of {wanted} rank{'s' if wanted != 1 else ''} live on this node"
    return Effect(RANKS, Outcome.PROVED if len(found) == wanted else Outcome.NOT_PROVED, words, setting)


def ranks_asked(argv: Sequence[str]) -> int | None:
    """Ranks on one node by these flags: tp x pp x dp over the nodes; None where a figure is none.

    With data-parallel attention SGLang's dp ranks are among the tp ranks.
    """
    figures = []
    for name in ("tp-size", "pp-size", "dp-size", "nnodes"):
        text = flag_value(argv, name)
        if text is not None and not (text.isdecimal() and len(text) < 10):
            return None
        figures.append(int(text) if text else 1)
    tp, pp, dp, nodes = figures
    if has_flag(argv, "enable-dp-attention") or has_flag(argv, "attn-dp-size"):
        dp = 1
    return max(1, tp * pp * dp // max(1, nodes))


def _by_nccl(name: str, value: str | None, ranks: Sequence[RankProcess], lines: Sequence[str]) -> Effect:
    said = f"{name} set by environment to {value}"
    if value is not None and not presence_only(name, value):
        for line in lines:
            if said in line:
                rest = line[line.index(said) + len(said) :]
                if not rest[:1].isalnum():
                    return Effect(ENVIRONMENT, Outcome.PROVED, f"NCCL itself says: {said}", name)
    why = "its ranks' environment can't be read" if ranks else "no process of it was found"
    return Effect(ENVIRONMENT, Outcome.CANNOT, f"{name}: {why}", name)
