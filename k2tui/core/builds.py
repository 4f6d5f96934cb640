"""What an installed engine accepts: its flags as its own source or parser holds them."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum


class Takes(Enum):
    """What follows a flag."""

    NOTHING = "nothing"
    ONE = "one"
    SEVERAL = "several"
    """One or more words, or any number of them."""
    MAYBE = "maybe"
    """One word or none."""


@dataclass(frozen=True, slots=True)
class BuildFlag:
    """One flag of one build."""

    name: str
    """The first long name without dashes: `tp-size`."""
    takes: Takes = Takes.ONE
    aliases: tuple[str, ...] = ()
    """Other names without dashes, short ones among them."""
    type: str | None = None
    """str | int | float | bool (a switch) | json | size (`64k`); None: not known."""
    default: str | None = None
    """As the source writes it; `None` is the word None. None: not known, or there is none."""
    choices: tuple[str, ...] | None = None
    """What it takes; None: anything of its type, or not known."""
    required: bool = False
    help: str | None = None
    deprecated: bool = False
    replacement: str | None = None
    """What the build itself says should be used instead, with dashes."""
    refused: bool = False
    """The parser knows it only to say that it is gone: using it ends the launch."""

    @property
    def names(self) -> tuple[str, ...]:
        """All of its names, the first one first."""
        return (self.name, *self.aliases)


@dataclass(frozen=True)
class Build:
    """An engine as it is installed on a node, or a release that is known."""

    engine: str
    """sglang | vllm."""
    flags: tuple[BuildFlag, ...]
    version: str | None = None
    how: str = "source"
    """source (its files were read) | argparse (its parser was asked) | table (a release that k2tui knows)."""
    path: str | None = None
    """Where the package lies on the node."""
    modified: tuple[str, ...] | None = None
    """Files that are not as they were installed, by their path in the package; None: can't be told."""
    commit: str | None = None
    """Of a checkout that it runs from."""
    note: str | None = None
    """What an operator should know of how this was learned, such as the nearest lower version that was taken."""
    took_s: float | None = None
    """How long the reading took on the node."""
    loaded: tuple[str, ...] | None = None
    """Large modules that were loaded for it, such as torch; empty where the source was enough, None: not known."""


class Match(Enum):
    """How a name is understood by a build's parser."""

    EXACT = "exact"
    ALIAS = "alias"
    PREFIX = "prefix"
    """The beginning of one name, and of no other: argparse takes it."""
    AMBIGUOUS = "ambiguous"
    """The beginning of several names: argparse refuses it."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Found:
    """What a name is in a build."""

    match: Match
    flag: BuildFlag | None = None
    names: tuple[str, ...] = ()
    """Without dashes. Ambiguous: those that it begins; unknown: those that are near; else the one that was meant."""


def look_up(build: Build, name: str) -> Found:
    """What a build's parser makes of a flag's name, with or without dashes.

    As argparse has it: a full name first, then the beginning of exactly one, two names of the same flag counted as two.
    vLLM's parser takes `_` for `-`, and `--flag.key` for a part of a JSON argument.
    """
    plain = name.strip().lstrip("-").partition("=")[0]
    if build.engine == "vllm":
        plain = plain.partition(".")[0].replace("_", "-")
    flags = {known: flag for flag in reversed(build.flags) for known in reversed(flag.names)}
    flag = flags.get(plain)
    if flag is not None:
        return Found(Match.EXACT if plain == flag.name else Match.ALIAS, flag, (plain,))
    begun = tuple(known for known in flags if known.startswith(plain) and len(known) > 1) if plain else ()
    if len(begun) == 1:
        return Found(Match.PREFIX, flags[begun[0]], begun)
    if begun:
        return Found(Match.AMBIGUOUS, None, tuple(sorted(begun)))
    return Found(Match.UNKNOWN, None, tuple(get_close_matches(plain.replace("_", "-"), flags, n=3, cutoff=0.7)))
