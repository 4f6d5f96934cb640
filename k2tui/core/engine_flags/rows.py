"""One flag of a release as one row of text, and back.

    NAME[,ALIAS...] TYPE[+|?] [=DEFAULT] [|CHOICE...] [.FIELD] [~[REPLACEMENT]] [!]

`switch` takes nothing, `+` several words, `?` one or none, `any` is a type that is not known. Without `=` the default
is None, or False of a switch; `=` alone is no default, or one that is not known, and an empty text is two backticks.
`.FIELD` is the argument's name in the engine where it differs from the flag's, `.` for none. `~` is deprecated, `~~`
ends the launch, `!` is required. A blank is `␣`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from k2tui.core.builds import BuildFlag, Takes

_SIGNS = {"one": "", "several": "+", "maybe": "?"}
_BY_SIGN = {"": Takes.ONE, "+": Takes.SEVERAL, "?": Takes.MAYBE}


class Row(NamedTuple):
    """A flag, and the name of the engine's argument that it sets."""

    flag: BuildFlag
    field: str | None
    """None: it sets none of its own."""


def flag_row(flag: Mapping[str, object], field: str | None) -> str:
    """The row of a flag as remote/read_build.py says it."""
    name, default, choices = str(flag["name"]), flag.get("default"), flag.get("choices")
    is_switch = flag["takes"] == "nothing"
    words = [
        ",".join([name, *_texts(flag.get("aliases"))]),
        "switch" if is_switch else f"{flag.get('type') or 'any'}{_SIGNS[str(flag['takes'])]}",
    ]
    if default != ("False" if is_switch else "None"):
        words.append(f"={'' if default is None else default or '``'}")
    if choices is not None:
        words.append("|" + "|".join(_texts(choices)))
    if field != name.replace("-", "_"):
        words.append(f".{field or ''}")
    if flag.get("deprecated"):
        words.append(f"{'~~' if flag.get('refused') else '~'}{flag.get('replacement') or ''}")
    if flag.get("required"):
        words.append("!")
    return " ".join(word.replace(" ", "␣") for word in words)


def parse_row(text: str) -> Row:
    """The flag of a row."""
    names, kind, *rest = (word.replace("␣", " ") for word in text.split())
    name, *aliases = names.split(",")
    sign = kind[-1] if kind[-1] in "+?" else ""
    takes = Takes.NOTHING if kind == "switch" else _BY_SIGN[sign]
    plain = kind.removesuffix(sign)
    given = {word[0]: word[1:] for word in rest}
    default = given.get("=", "False" if takes is Takes.NOTHING else "None")
    retired = given.get("~")
    flag = BuildFlag(
        name,
        takes,
        tuple(aliases),
        type="bool" if takes is Takes.NOTHING else None if plain == "any" else plain,
        default=None if default == "" else "" if default == "``" else default,
        choices=tuple(given["|"].split("|")) if "|" in given else None,
        required="!" in given,
        deprecated=retired is not None,
        replacement=(retired or "").removeprefix("~") or None,
        refused=(retired or "").startswith("~"),
    )
    return Row(flag, given.get(".", name.replace("-", "_")) or None)


def _texts(words: object) -> list[str]:
    return [str(word) for word in words] if isinstance(words, list) else []
