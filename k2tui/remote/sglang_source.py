"""The flags of an SGLang as its source has them, for every layout from 0.4 on."""

from __future__ import annotations

from k2tui.remote.source_flags import Flags, Parser, annotation_of, fields_of, literals, name_of
from k2tui.remote.source_world import UNKNOWN, ClassRef, External, Generic, Instance, Module, World

SERVER_ARGS = "sglang.srt.server_args"


def read_sglang(world: World) -> tuple[list[dict[str, object]], list[str], list[str]]:
    """(flags, names of flags of which something could not be told, names of the fields of ServerArgs)."""
    flags = Flags(world)
    module = world.module(SERVER_ARGS)
    of = flags.of_name(module, "ServerArgs") if module is not None else UNKNOWN
    if module is None:
        return [], [], []
    if not isinstance(of, ClassRef):  # 0.5.20 on: the name is bound anew to a struct made of the class
        node = module.classes.get("ServerArgs")
        if node is None:
            return [], [], []
        of = ClassRef(module, node)
    module.values["ServerArgs"] = of
    reader = _ServerArgs(flags, module, of)
    flags.hooks["add_cli_args_from_dataclass"] = reader.add_fields
    flags.hooks["_declared_default"] = reader.declared_default
    flags.called(flags.attribute(of, "add_cli_args"), [Parser()], {})
    return flags.documents(), flags.unread, list(reader.fields)


class _ServerArgs:
    """The fields of ServerArgs: of the class itself, or of the namespaces that it is collected from."""

    def __init__(self, flags: Flags, module: Module, of: ClassRef) -> None:
        self._flags = flags
        declared = fields_of(flags, of)
        names = flags.items_of(flags.forced(flags.of_name(module, "_INPUT_NAMESPACES"))) or []
        for part in map(flags.forced, names):
            if isinstance(part, ClassRef):
                declared += fields_of(flags, part)
        self.fields = {name: (node, owner) for name, node, owner, _ in declared}
        places = {name: place for place, name in enumerate(_order(flags))}
        self.fields = dict(sorted(self.fields.items(), key=lambda one: places.get(one[0], len(places))))

    def declared_default(self, arguments: list[object], named: dict[str, object]) -> object:
        """`_declared_default(name)`: the default of a field."""
        name = self._flags.forced(arguments[0]) if arguments else UNKNOWN
        return self._default(str(name)) if str(name) in self.fields else UNKNOWN

    def _default(self, name: str) -> object:
        node, owner = self.fields[name]
        return (
            UNKNOWN
            if node.value is None
            else self._flags.default_of(self._flags.forced(self._flags.of(node.value, owner.module, {})))
        )

    def add_fields(self, arguments: list[object], named: dict[str, object]) -> object:
        """A flag for each field whose type carries help or an `Arg`."""
        for name, (node, owner) in self.fields.items():
            kind = annotation_of(self._flags, node, owner)
            if isinstance(kind, Generic) and kind.head == "Annotated" and kind.arguments:
                told = next((found for meta in kind.arguments[1:] if (found := _told(meta)) is not None), None)
                if told is not None and told.get("no_cli") is not True:
                    self._add(name, kind.arguments[0], told, has_default=node.value is not None)
        return None

    def _add(self, name: str, kind: object, told: dict[str, object], *, has_default: bool) -> None:
        told = {word: self._flags.forced(value) for word, value in told.items()}
        cli = told.get("cli_name")
        aliases = self._flags.items_of(told.get("aliases")) or []
        names = [cli if isinstance(cli, str) else f"--{name.replace('_', '-')}", *map(str, aliases)]
        given: dict[str, object] = {"help": told.get("help"), "dest": name}
        if has_default:
            given["default"] = self._default(name)
        if told.get("action") is not None:
            given["action"] = told["action"]
            more = told.get("action_kwargs")
            given.update({str(word): value for word, value in more.items()} if isinstance(more, dict) else {})
        else:
            given.update(self._by_type(_plain_type(kind), told))
            is_switch = given.get("action") == "store_true"
            is_list = "nargs" in given and told.get("nargs") is None
            if not has_default and not is_switch and not is_list and told.get("required") is not False:
                given["required"] = True
            if told.get("required") is True and not is_switch and not is_list:
                given["required"] = True
        self._flags.declare(names, given)

    def _by_type(self, kind: object, told: dict[str, object]) -> dict[str, object]:
        """How argparse is told of a field of this type."""
        parser = told.get("type_parser")
        given: dict[str, object] = {}
        if isinstance(kind, Generic) and kind.head == "Literal":
            values = literals(kind)
            given = {
                "type": parser or _scalar(External(type(values[0]).__name__)),
                "choices": told.get("choices") or values,
            }
        elif isinstance(kind, Generic) and kind.head in ("List", "list") and parser is None:
            given = {"type": _scalar(kind.arguments[0]), "nargs": told.get("nargs") or "+"}
            if told.get("choices"):
                given["choices"] = told["choices"]
        elif name_of(kind) == "bool":
            given = {"action": "store_true"}
        else:
            given = {"type": parser or _scalar(kind)}
            given.update({word: told[word] for word in ("choices", "nargs") if told.get(word)})
        return given


def _order(flags: Flags) -> list[object]:
    """The order of the fields, where it is written down beside them."""
    found = flags.world.module("sglang.srt.arg_groups.field_order")
    order = UNKNOWN if found is None else flags.of_name(found, "POSITIONAL_FIELD_ORDER")
    return flags.items_of(order) or []


def _told(meta: object) -> dict[str, object] | None:
    """What a mark of an annotated type tells: a bare text is help, `Arg(...)` is all."""
    if isinstance(meta, str):
        return {"help": meta}
    if isinstance(meta, Instance) and name_of(meta.of) == "Arg":
        return dict(meta.named)
    return None


def _plain_type(kind: object) -> object:
    """`X` of `Optional[X]` or `X | None`."""
    if isinstance(kind, Generic) and kind.head in ("Optional", "Union"):
        others = [one for one in kind.arguments if one is not None]
        if len(others) == 1:
            return others[0]
    return kind


def _scalar(kind: object) -> object:
    return kind if name_of(kind) in ("str", "int", "float") else External("str")
