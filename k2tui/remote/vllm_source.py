"""The flags of `vllm serve` as its source has them: those written out, and those made of the fields of its configs."""

from __future__ import annotations

from typing import Any

from k2tui.remote.source_calls import literals
from k2tui.remote.source_flags import Flags, Parser, annotation_of, fields_of, name_of
from k2tui.remote.source_world import UNKNOWN, ClassRef, External, Generic, World

CLI_ARGS = ("vllm.entrypoints.openai.cli_args", "vllm.entrypoints.common.cli_args")
"""Where the server's parser is made: up to 0.2x, and since."""
_SIZES = (
    *("max_model_len", "max_num_batched_tokens", "max_num_scheduled_tokens", "kv_cache_memory_bytes"),
    *("safetensors_prefetch_block_size", "max_num_queued_tokens"),
)
"""Fields whose flags take 1k and 1K, where the build has a reader for that."""


def read_vllm(world: World) -> tuple[list[dict[str, object]], list[str], list[str]]:
    """(flags, names of flags of which something could not be told, nothing)."""
    flags = Flags(world)
    configs = _Configs(flags)
    flags.hooks.update(
        {
            "get_kwargs": configs.kwargs,
            "get_field": configs.field,
            "optional_type": _first,
            "parse_type": _first,
            "nullable_kvs": _first,
            "load_general_plugins": lambda arguments, named: None,
        }
    )
    for name in CLI_ARGS:
        module = world.module(name)
        if module is not None:
            flags.called(flags.of_name(module, "make_arg_parser"), [Parser()], {})
            break
    return flags.documents(), flags.unread, []


def _first(arguments: list[object], named: dict[str, object]) -> object:
    return arguments[0] if arguments else UNKNOWN


class _Configs:
    """What vLLM's own `get_kwargs` makes of a config class: how argparse is told of each of its fields."""

    def __init__(self, flags: Flags) -> None:
        self._flags = flags

    def field(self, arguments: list[object], named: dict[str, object]) -> object:
        """`get_field(cls, name)`: the default of a field."""
        of, name = (self._flags.forced(one) for one in (*arguments, UNKNOWN, UNKNOWN)[:2])
        return self._flags.attribute(of, name) if isinstance(of, ClassRef) and isinstance(name, str) else UNKNOWN

    def kwargs(self, arguments: list[object], named: dict[str, object]) -> object:
        """Field name to named arguments of its flag."""
        of = self._flags.forced(arguments[0]) if arguments else UNKNOWN
        if not isinstance(of, ClassRef):
            return UNKNOWN
        found: dict[str, object] = {}
        for name, node, owner, text in fields_of(self._flags, of):
            kind = annotation_of(self._flags, node, owner)
            if name_of(kind) in ("ClassVar", "InitVar"):
                continue
            default = self._flags.of(node.value, owner.module, {}) if node.value is not None else UNKNOWN
            given: dict[str, object] = {"default": self._flags.default_of(self._flags.forced(default)), "help": text}
            given.update(self._by_types(name, self._alternatives(kind)))
            found[name] = given
        return found

    def _alternatives(self, kind: object) -> list[object]:
        """The types that a field may have, aliases and annotations taken off."""
        kind = self._flags.forced(kind)
        if isinstance(kind, Generic) and kind.head in ("Union", "Optional"):
            found = [one for argument in kind.arguments for one in self._alternatives(argument)]
            return [*found, None] if kind.head == "Optional" else found
        if isinstance(kind, Generic) and kind.head in ("Annotated", "SkipValidation"):
            return self._alternatives(kind.arguments[0])
        return [kind]

    def _by_types(self, name: str, kinds: list[object]) -> dict[str, object]:
        words = [name_of(kind) for kind in kinds]
        nothing = None in kinds
        if any(isinstance(kind, ClassRef) and self._is_config(kind) for kind in kinds):
            return {"type": "json"}
        if set(words) - {None} == {"bool", "str"} and nothing and self._has_optional_values():
            return {"type": "str", "nargs": "?"}
        if "bool" in words:
            return {"action": External("argparse.BooleanOptionalAction")}
        if "Literal" in words:
            return self._of_literal(kinds[words.index("Literal")], "str" in words, nothing)
        for word in ("tuple", "list", "set", "List"):
            if word in words:
                return self._of_several(word, kinds[words.index(word)])
        if "int" in words:
            is_size = name in _SIZES and self._reads_sizes(name)
            return {"type": "size" if is_size else "int"}
        if "float" in words:
            return {"type": "float"}
        is_dict = "dict" in words or "Dict" in words
        if is_dict and ("str" in words or any(_is_other(kind) for kind in kinds)):
            return {"type": External("union_dict_and_str")}
        return {"type": "json" if is_dict else "str"}

    def _of_literal(self, kind: object, is_open: bool, nothing: bool) -> dict[str, object]:
        """A closed set of words; where any other text is taken too they are only a hint."""
        values = literals(kind) if isinstance(kind, Generic) else []
        given: dict[str, object] = {"type": type(values[0]).__name__ if values else "str"}
        if not is_open:
            given["choices"] = [*sorted(values, key=str), *([None] if nothing else [])]
        return given

    def _of_several(self, word: str, kind: object) -> dict[str, object]:
        arguments = kind.arguments if isinstance(kind, Generic) else []
        inner = self._flags.forced(arguments[0]) if arguments else External("str")
        given: dict[str, object] = {"nargs": "+"}
        if word == "tuple" and External("...") not in arguments:
            given["nargs"] = len(arguments)
        if isinstance(inner, Generic) and inner.head == "Literal":
            given["choices"] = sorted(literals(inner), key=str)
            inner = External("str")
        plain = name_of(inner) in ("int", "float", "str")
        given["type"] = inner if plain else External("str")
        return given

    def _is_config(self, of: ClassRef) -> bool:
        """A dataclass: its flag takes JSON."""
        marks = [self._flags.forced(self._flags.of(_called(node), of.module, {})) for node in of.node.decorator_list]
        return any(name_of(mark) in ("dataclass", "config") for mark in marks)

    def _reads_sizes(self, name: str) -> bool:
        module = self._flags.world.module("vllm.engine.arg_utils")
        return module is not None and (name == "max_model_len" or f'"{name}"' in module.source)

    def _has_optional_values(self) -> bool:
        module = self._flags.world.module("vllm.engine.arg_utils")
        return module is not None and "{bool, str, type(None)}" in module.source


def _called(node: Any) -> Any:
    return getattr(node, "func", node)


def _is_other(kind: object) -> bool:
    """A type that is not of Python itself."""
    return isinstance(kind, ClassRef) or (isinstance(kind, External) and "." in kind.name)
