"""The flags of an engine as its source declares them: calls of `add_argument` and fields that become flags."""

from __future__ import annotations

import ast
import re
from typing import Any

from k2tui.remote.source_calls import Calls, literals
from k2tui.remote.source_values import SUPPRESS
from k2tui.remote.source_world import (
    UNKNOWN,
    ClassRef,
    EnumMember,
    External,
    FuncRef,
    Generic,
    Imported,
    Instance,
    World,
    class_body,
)

MOST_FLAGS = 3000

_REPLACEMENT = re.compile(
    r"(?:[Uu]se|in favou?r of|[Aa]lias (?:for|of)|replaced by|switch to|renamed to|=> ?)\s*"
    r"(?:(?P<quote>[`'\"])(?P<quoted>--[A-Za-z][\w-]*(?:[= ][^`'\"]{1,60})?)(?P=quote)"
    r"|[`'\"]?(?P<bare>--[A-Za-z][\w-]*(?:\.\w+)?(?:=[\w{},-]*[\w}])?(?: \{[\w,-]+\}| <[\w-]+>)?))"
)
"""What a help text says should be used: a flag, with its value where that is quoted together with it."""
_DEPRECATED = re.compile(r"\W*(?i:deprecated)\b|(?i:.*\[deprecated\])", re.DOTALL)
_PLAIN_TYPES = {"str": "str", "int": "int", "float": "float", "bool": "bool", "loads": "json", "nullable_str": "str"}


class Declared:
    """One flag as it was declared: its option strings, and the named arguments of its declaration."""

    def __init__(self, names: list[str], given: dict[str, object]) -> None:
        self.names = names
        self.given = given


class Parser:
    """The parser that flags are added to, or a group of it."""


class _Adder:
    def __init__(self, name: str) -> None:
        self.name = name


class Flags(Calls):
    """Reads what the source adds to a parser."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.declared: list[Declared] = []
        self.unread: list[str] = []
        """Flags of which something could not be told."""

    def special_attribute(self, value: object, name: str) -> object:
        """Methods of the parser."""
        return _Adder(name) if isinstance(value, Parser) else UNKNOWN

    def special_call(self, function: object, arguments: list[object], named: dict[str, object]) -> object:
        """`add_argument` and the making of groups."""
        if not isinstance(function, _Adder):
            return UNKNOWN
        if function.name in ("add_argument_group", "add_mutually_exclusive_group"):
            return Parser()
        if function.name == "add_argument" and len(self.declared) < MOST_FLAGS:
            names = [name for name in map(self.forced, arguments) if isinstance(name, str)]
            if names and len(names) == len(arguments):
                self.declare(names, named)
        return UNKNOWN

    def declare(self, names: list[str], given: dict[str, object]) -> None:
        """Take a flag in; what has no dashes is no flag."""
        if all(name.startswith("-") for name in names):
            self.declared.append(Declared(names, given))

    def documents(self) -> list[dict[str, object]]:
        """Every flag that was declared, as the document has it."""
        found: dict[str, dict[str, object]] = {}
        for declared in self.declared:
            one = self._document(declared)
            found.setdefault(str(one["name"]), one)
        return list(found.values())

    def _document(self, declared: Declared) -> dict[str, object]:
        given = {name: self.forced(value) for name, value in declared.given.items()}
        action = given.get("action")
        names = self._all_names(declared.names, action)
        help_text = given.get("help")
        if not isinstance(help_text, str) or help_text == SUPPRESS:
            help_text = None
        name, *others = sorted(names, key=lambda one: not one.startswith("--"))
        choices = self._choices(given, name)
        one: dict[str, object] = {
            "name": name.lstrip("-"),
            "aliases": [other.lstrip("-") for other in others],
            "takes": self._takes(given, action),
            "type": self._type(given),
            "default": self._default(given, action, name),
            "choices": choices,
            "required": given.get("required") is True,
            "help": help_text,
        }
        one.update(self._retired(given, action, help_text))
        if isinstance(given.get("dest"), str):
            one["dest"] = given["dest"]
        if one["takes"] == "nothing":
            one["type"] = None
        elif one["type"] == "str" and isinstance(one["default"], str) and one["default"][:1] == "{":
            one["type"] = "json"
        return one

    def _all_names(self, names: list[str], action: object) -> list[str]:
        if not isinstance(action, External) or action.last != "BooleanOptionalAction":
            return names
        found = [f"--no-{name[2:]}" for name in names if name.startswith("--")]
        if self._pairs_enable_with_disable():
            swaps = {"--enable-": "--disable-", "--disable-": "--enable-"}
            found += [new + name[len(old) :] for name in names for old, new in swaps.items() if name.startswith(old)]
        return [*names, *found]

    def _pairs_enable_with_disable(self) -> bool:
        """vLLM's own parser takes `--disable-x` for `--no-enable-x` since 0.3x."""
        module = self.world.module("vllm.utils.argparse_utils")
        return module is not None and "EnableDisableAction" in module.names

    def _takes(self, given: dict[str, object], action: object) -> str:
        nargs = given.get("nargs")
        if isinstance(action, str) and (action.startswith("store_") or action in ("count", "help", "version")):
            return "nothing"
        if isinstance(action, External) and action.last == "BooleanOptionalAction":
            return "nothing"
        if "nargs" not in given and isinstance(action, ClassRef):
            nargs = self._parameter(action, "nargs")
        if isinstance(nargs, int):
            return "nothing" if nargs == 0 else "one" if nargs == 1 else "several"
        return {"?": "maybe", "*": "several", "+": "several", "...": "several"}.get(str(nargs), "one")

    def _parameter(self, action: ClassRef, name: str) -> object:
        """The default of a parameter of an action's `__init__`."""
        made = self.member(action, "__init__")
        if not isinstance(made, FuncRef):
            return UNKNOWN
        given = made.node.args
        pairs = [
            *zip([one.arg for one in given.args][::-1], list(given.defaults)[::-1]),  # noqa: B905  Python 3.8
            *((one.arg, node) for one, node in zip(given.kwonlyargs, given.kw_defaults)),  # noqa: B905
        ]
        return next((self.of(node, made.module, {}) for word, node in pairs if word == name), UNKNOWN)

    def _type(self, given: dict[str, object]) -> str | None:
        if "type" not in given:
            return "str"
        kind = given["type"]
        if isinstance(kind, (External, FuncRef)):
            word = kind.last if isinstance(kind, External) else kind.name
            if word in _PLAIN_TYPES:
                return _PLAIN_TYPES[word]
            if "json" in word or (isinstance(kind, FuncRef) and "attr='loads'" in ast.dump(kind.node)):
                return "json"
            return "size" if word.startswith("human_readable_int") else None
        return kind if isinstance(kind, str) and kind in ("str", "int", "float", "bool", "json", "size") else None

    def _choices(self, given: dict[str, object], name: str) -> list[str] | None:
        if given.get("choices") is None:
            return None
        items = self.items_of(given["choices"])
        words = [None if items is None else word_of(self.forced(item)) for item in items or [UNKNOWN]]
        if None in words:
            self.unread.append(name)
            return None
        return [word for word in words if word is not None]

    def _default(self, given: dict[str, object], action: object, name: str) -> str | None:
        if "default" in given:
            value = self.default_of(given["default"])
        elif action in ("store_true", "store_false"):
            value = action == "store_false"
        elif isinstance(action, ClassRef):
            value = self._parameter(action, "default")
            value = None if value is UNKNOWN else value
        else:
            value = None
        if value == SUPPRESS:
            return None
        word = word_of(value)
        if word is None:
            self.unread.append(name)
        return word

    def _retired(self, given: dict[str, object], action: object, help_text: str | None) -> dict[str, object]:
        by_action = isinstance(action, ClassRef) and action.node.name.startswith("Deprecated")
        by_word = help_text is not None and _DEPRECATED.match(help_text) is not None
        if not (by_action or by_word or given.get("deprecated") is True):
            return {"deprecated": False, "replacement": None, "refused": False}
        new = given.get("new_flag")
        if not isinstance(new, str):
            told = " ".join(text for text in (help_text, given.get("error_message")) if isinstance(text, str))
            found = _REPLACEMENT.search(told)
            new = (found["quoted"] or found["bare"]) if found else None
        refused = isinstance(action, ClassRef) and self._refuses(action, given)
        return {"deprecated": True, "replacement": new, "refused": refused}

    def _refuses(self, action: ClassRef, given: dict[str, object]) -> bool:
        """Does using it end the launch?"""
        call = self.member(action, "__call__")
        body = call.node.body if isinstance(call, FuncRef) and isinstance(call.node, ast.FunctionDef) else []
        for node in body:
            if _ends(node):
                return True
            if isinstance(node, ast.If) and any(map(_ends, node.body)) and "error_message" in ast.dump(node.test):
                return isinstance(given.get("error_message"), str)
        return False


def _ends(node: ast.stmt) -> bool:
    called: Any = getattr(node, "value", None)
    return isinstance(node, ast.Raise) or (isinstance(called, ast.Call) and getattr(called.func, "attr", "") == "error")


def word_of(value: object) -> str | None:
    """A default or a choice as a word; None when it can't be told."""
    if isinstance(value, EnumMember):
        return word_of(value.value)
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float, type(None))):
        return repr(value)
    if isinstance(value, (list, tuple)):
        words = [word_of(item) for item in value]
        if None in words:
            return None
        return repr([item.value if isinstance(item, EnumMember) else item for item in value])
    if isinstance(value, dict):
        return repr(value) if all(word_of(one) is not None for one in value.values()) else None
    if isinstance(value, Instance):
        return "{…}" if isinstance(value.of, ClassRef) else None
    return None


def fields_of(flags: Flags, of: ClassRef) -> list[tuple[str, ast.AnnAssign, ClassRef, str | None]]:
    """(name, declaration, class that has it, text below it) of each field; those of its bases first."""
    found: dict[str, tuple[str, ast.AnnAssign, ClassRef, str | None]] = {}
    for base in reversed(flags.bases(of)):
        found.update({one[0]: one for one in fields_of(flags, base)})
    body = class_body(of.node)
    for place, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            below: Any = body[place + 1] if place + 1 < len(body) else None
            text = getattr(getattr(below, "value", None), "value", None) if isinstance(below, ast.Expr) else None
            found[node.target.id] = (node.target.id, node, of, text if isinstance(text, str) else None)
    return list(found.values())


def annotation_of(flags: Flags, node: ast.AnnAssign, of: ClassRef) -> object:
    """The type of a field; one that is written as text is read."""
    return annotation(flags, flags.of(node.annotation, of.module, {}), of)


def annotation(flags: Flags, value: object, of: ClassRef) -> object:
    """A type as a value, names looked up."""
    value = flags.forced(value)
    if isinstance(value, str):
        try:
            return annotation(flags, flags.of(ast.parse(value, mode="eval").body, of.module, {}), of)
        except (SyntaxError, ValueError):
            return UNKNOWN
    return value


def name_of(value: object) -> str | None:
    """The last word of a type, a class or a function."""
    if isinstance(value, External):
        return value.last
    if isinstance(value, (FuncRef, Imported)):
        return value.name
    if isinstance(value, ClassRef):
        return value.node.name
    return value.head if isinstance(value, Generic) else None


__all__ = ["Flags", "Parser", "annotation_of", "fields_of", "literals", "name_of", "word_of"]
