"""What an expression of a package's source is worth, as far as that can be told without running it."""

from __future__ import annotations

import ast
import builtins
import operator
from typing import TYPE_CHECKING, Any

from k2tui.remote.source_world import (
    UNKNOWN,
    ClassRef,
    EnumMember,
    External,
    FuncRef,
    Generic,
    Imported,
    Instance,
    Method,
    Module,
    ModuleRef,
    SuperRef,
    World,
    class_body,
)

DEEPEST = 60
"""How many names and calls may lead to each other."""
MOST = 20_000
"""Items of one value."""
SUPPRESS = "==SUPPRESS=="
"""What `argparse.SUPPRESS` is."""

if TYPE_CHECKING:  # Python 3.8 has no `dict[...]` where it runs
    from collections.abc import Callable

    Scope = dict[str, object]
else:
    Scope = dict

_OPERATORS: dict[type, Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_KNOWN_EXTERNALS: dict[str, object] = {
    "argparse.SUPPRESS": SUPPRESS,
    "typing.TYPE_CHECKING": False,
    "ssl.CERT_NONE": 0,
    "sys.maxsize": 2**63 - 1,
}
_PLAIN = (str, int, float, list, tuple, dict, type(None))


class Values:
    """Worth of expressions over one package; what can't be told is UNKNOWN, and nothing raises for long."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._depth = 0

    def of_name(self, module: Module, name: str) -> object:
        """The value that a name has at the end of a module."""
        if name in module.values:
            return module.values[name]
        node = self.world.binding(module, name)
        if node is None:
            inner = self.world.module(f"{module.name}.{name}")
            return UNKNOWN if inner is None else ModuleRef(inner)
        module.values[name] = UNKNOWN  # while it is looked for: a name that leads to itself has no value
        module.values[name] = self._bound(module, node, name)
        for change in module.changes.get(name, ()):
            self._change(module, name, change)
        return module.values[name]

    def _bound(self, module: Module, node: ast.AST, name: str) -> object:
        if isinstance(node, ast.ClassDef):
            return ClassRef(module, node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return FuncRef(module, node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return self.world.imported(module, node, name)
        return self.of(node, module, {})

    def _change(self, module: Module, name: str, node: ast.stmt) -> None:
        if isinstance(node, ast.AugAssign):
            module.values[name] = _applied(type(node.op), module.values[name], self.of(node.value, module, {}))
        elif isinstance(node, ast.Expr):
            self.of(node.value, module, {})

    def forced(self, value: object) -> object:
        """The value itself, where it is a name that was imported."""
        for _ in range(DEEPEST):
            if not isinstance(value, Imported):
                return value
            module = self.world.module(value.module)
            if module is None:
                return External(f"{value.module}.{value.name}")
            value = self.of_name(module, value.name)
        return UNKNOWN

    def of(self, node: ast.AST | None, module: Module, scope: Scope) -> object:
        """The value of an expression in a module, with what `scope` binds."""
        method = getattr(self, f"_of_{type(node).__name__}", None)
        if method is None or self._depth > DEEPEST:
            return UNKNOWN
        self._depth += 1
        try:
            value: object = method(node, module, scope)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
            return UNKNOWN
        finally:
            self._depth -= 1
        return value

    def _forced_of(self, node: ast.AST | None, module: Module, scope: Scope) -> object:
        return self.forced(self.of(node, module, scope))

    def _of_Constant(self, node: ast.Constant, module: Module, scope: Scope) -> object:
        return External("...") if node.value is Ellipsis else node.value

    def _of_Name(self, node: ast.Name, module: Module, scope: Scope) -> object:
        if node.id in scope:
            return scope[node.id]
        value = self.of_name(module, node.id)
        is_builtin = value is UNKNOWN and self.world.binding(module, node.id) is None and hasattr(builtins, node.id)
        return External(node.id) if is_builtin else value

    def _items(self, nodes: list[ast.expr], module: Module, scope: Scope) -> list[object]:
        found: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.items_of(self._forced_of(node.value, module, scope))
                found.extend([UNKNOWN] if inner is None else inner)
            else:
                found.append(self.of(node, module, scope))
        return found[:MOST]

    def _of_List(self, node: ast.List, module: Module, scope: Scope) -> object:
        return self._items(node.elts, module, scope)

    def _of_Tuple(self, node: ast.Tuple, module: Module, scope: Scope) -> object:
        return tuple(self._items(node.elts, module, scope))

    def _of_Set(self, node: ast.Set, module: Module, scope: Scope) -> object:
        return self._items(node.elts, module, scope)

    def _of_Dict(self, node: ast.Dict, module: Module, scope: Scope) -> object:
        found: dict[object, object] = {}
        for key, value in zip(node.keys, node.values):  # noqa: B905  Python 3.8
            if key is None:
                inner = self._forced_of(value, module, scope)
                if isinstance(inner, dict):
                    found.update(inner)
                continue
            name = self._forced_of(key, module, scope)
            if isinstance(name, (str, int, float, EnumMember, ClassRef)):
                found[name] = self.of(value, module, scope)
        return found

    def _of_IfExp(self, node: ast.IfExp, module: Module, scope: Scope) -> object:
        test = self._forced_of(node.test, module, scope)
        if not isinstance(test, _PLAIN):
            return UNKNOWN
        return self.of(node.body if test else node.orelse, module, scope)

    def _of_BoolOp(self, node: ast.BoolOp, module: Module, scope: Scope) -> object:
        value: object = UNKNOWN
        for part in node.values:
            value = self._forced_of(part, module, scope)
            if not isinstance(value, _PLAIN):
                return UNKNOWN
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _of_UnaryOp(self, node: ast.UnaryOp, module: Module, scope: Scope) -> object:
        value = self._forced_of(node.operand, module, scope)
        if isinstance(node.op, ast.Not) and isinstance(value, _PLAIN):
            return not value
        return -value if isinstance(node.op, ast.USub) and isinstance(value, (int, float)) else UNKNOWN

    def _of_BinOp(self, node: ast.BinOp, module: Module, scope: Scope) -> object:
        left, right = self._forced_of(node.left, module, scope), self._forced_of(node.right, module, scope)
        if isinstance(node.op, ast.BitOr) and not (isinstance(left, int) and isinstance(right, int)):
            return Generic("Union", [left, right])
        return _applied(type(node.op), left, right)

    def _of_Compare(self, node: ast.Compare, module: Module, scope: Scope) -> object:
        left, right = self._forced_of(node.left, module, scope), self._forced_of(node.comparators[0], module, scope)
        if len(node.ops) != 1 or UNKNOWN in (left, right):
            return UNKNOWN
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            items = right if isinstance(right, str) else self.items_of(right)
            return UNKNOWN if items is None else (left in items) is isinstance(node.ops[0], ast.In)
        return _applied(type(node.ops[0]), left, right)

    def _of_JoinedStr(self, node: ast.JoinedStr, module: Module, scope: Scope) -> object:
        parts = []
        for part in node.values:
            value = self._forced_of(part.value if isinstance(part, ast.FormattedValue) else part, module, scope)
            parts.append(str(value) if isinstance(value, _PLAIN) else "…")
        return "".join(parts)

    def _of_Lambda(self, node: ast.Lambda, module: Module, scope: Scope) -> object:
        return FuncRef(module, node, around=scope)

    def _of_ListComp(self, node: ast.ListComp, module: Module, scope: Scope) -> object:
        found: list[object] = []
        rounds = node.generators[0]
        items = self.items_of(self._forced_of(rounds.iter, module, scope))
        if len(node.generators) != 1 or items is None:
            return UNKNOWN
        for item in items[:MOST]:
            inner = dict(scope)
            self.bind(rounds.target, item, inner)
            tests = [self._forced_of(test, module, inner) for test in rounds.ifs]
            if any(test is UNKNOWN for test in tests):
                return UNKNOWN
            if all(tests):
                found.append(self.of(node.elt, module, inner))
        return found

    _of_SetComp = _of_GeneratorExp = _of_ListComp

    def _of_Subscript(self, node: ast.Subscript, module: Module, scope: Scope) -> object:
        value: Any = self._forced_of(node.value, module, scope)
        inner: Any = node.slice
        if type(inner).__name__ == "Index":  # Python 3.8
            inner = inner.value
        if isinstance(value, (External, ClassRef)):
            arguments = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            head = value.last if isinstance(value, External) else value.node.name
            return Generic(head, [self._forced_of(argument, module, scope) for argument in arguments])
        if isinstance(inner, ast.Slice):
            ends = [self._forced_of(end, module, scope) if end else None for end in (inner.lower, inner.upper)]
            return value[slice(*ends)]
        return value[self._forced_of(inner, module, scope)]

    def _of_Attribute(self, node: ast.Attribute, module: Module, scope: Scope) -> object:
        return self.attribute(self._forced_of(node.value, module, scope), node.attr)

    def attribute(self, value: object, name: str) -> object:
        """The attribute of a value."""
        if isinstance(value, External):
            dotted = f"{value.name}.{name}"
            if dotted == "sys.argv":
                return ["", "serve"]
            return _KNOWN_EXTERNALS.get(dotted, External(dotted))
        if isinstance(value, ModuleRef):
            return self.of_name(value.module, name)
        if isinstance(value, SuperRef):
            return self._method(self.member(value.owner, name, above=True), value.bound)
        if isinstance(value, ClassRef):
            return self._of_class(value, name)
        if isinstance(value, FuncRef):
            return (
                ast.get_docstring(value.node)
                if name == "__doc__" and not isinstance(value.node, ast.Lambda)
                else UNKNOWN
            )
        if isinstance(value, EnumMember) and name in ("name", "value"):
            return getattr(value, name)
        if isinstance(value, (str, list, tuple, dict)):
            return Method(value, name)
        return self.special_attribute(value, name)

    def special_attribute(self, value: object, name: str) -> object:
        """For values that only a reader of flags knows."""
        return UNKNOWN

    def _of_class(self, value: ClassRef, name: str) -> object:
        if name in ("__name__", "__doc__"):
            return value.node.name if name == "__name__" else ast.get_docstring(value.node)
        found = self.member(value, name)
        if self.is_enum(value) and not isinstance(found, (FuncRef, EnumMember)) and found is not UNKNOWN:
            return EnumMember(name, found)
        return self._method(found, value)

    def _method(self, found: object, bound: object) -> object:
        if not isinstance(found, FuncRef) or isinstance(found.node, ast.Lambda):
            return self.default_of(found)
        words = {name.id for name in found.node.decorator_list if isinstance(name, ast.Name)}
        is_of_class = "classmethod" in words
        return FuncRef(found.module, found.node, owner=found.owner, bound=bound if is_of_class else None)

    def member(self, of: ClassRef, name: str, *, above: bool = False) -> object:
        """What a class, or the first of its bases that has it, binds a name to."""
        for statement in [] if above else class_body(of.node):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == name:
                return FuncRef(of.module, statement, owner=of)
            if isinstance(statement, ast.AnnAssign):
                targets: list[ast.expr] = [statement.target]
            elif isinstance(statement, ast.Assign):
                targets = statement.targets
            else:
                continue
            if statement.value is not None and any(isinstance(one, ast.Name) and one.id == name for one in targets):
                return self._forced_of(statement.value, of.module, _ClassScope(self, of))
        for base in self.bases(of):
            found = self.member(base, name)
            if found is not UNKNOWN:
                return found
        return UNKNOWN

    def bases(self, of: ClassRef) -> list[ClassRef]:
        """The classes of the package that it is made from, its first base first."""
        found = [self._forced_of(base, of.module, {}) for base in of.node.bases]
        return [base for base in found if isinstance(base, ClassRef) and base != of]

    def is_enum(self, of: ClassRef, depth: int = 0) -> bool:
        """Is it an enumeration?"""
        named = [self._forced_of(base, of.module, {}) for base in of.node.bases]
        return depth < DEEPEST and any(
            (isinstance(base, External) and base.last.endswith(("Enum", "Flag")))
            or (isinstance(base, ClassRef) and base != of and self.is_enum(base, depth + 1))
            for base in named
        )

    def default_of(self, value: object) -> object:
        """The default that `field(...)` or `Field(...)` gives; another value as it is."""
        is_field = (
            isinstance(value, Instance) and isinstance(value.of, External) and value.of.last in ("field", "Field")
        )
        if not is_field:
            return value
        assert isinstance(value, Instance)
        if "default" in value.named or value.arguments:
            return self.forced(value.named.get("default", value.arguments[0] if value.arguments else UNKNOWN))
        factory = self.forced(value.named.get("default_factory", UNKNOWN))
        if isinstance(factory, External) and factory.name in ("list", "dict", "set", "tuple"):
            return {} if factory.name == "dict" else []
        return UNKNOWN if factory is UNKNOWN else self.called(factory, [], {})

    def called(self, function: object, arguments: list[object], named: dict[str, object]) -> object:
        """What a call gives; the reader of statements knows more."""
        return UNKNOWN

    def items_of(self, value: object) -> list[object] | None:
        """What a loop over it goes through; None when that can't be told."""
        if isinstance(value, (list, tuple)):
            return list(value)
        if isinstance(value, (dict, str)):
            return list(value)
        if isinstance(value, ClassRef) and self.is_enum(value):
            names = [
                target.id
                for statement in class_body(value.node)
                if isinstance(statement, ast.Assign)
                for target in statement.targets
                if isinstance(target, ast.Name) and not target.id.startswith("_")
            ]
            return [EnumMember(name, self.member(value, name)) for name in names]
        return None

    def bind(self, target: ast.expr, value: object, scope: Scope) -> None:
        """Bind a target of an assignment or a loop."""
        if isinstance(target, ast.Name):
            scope[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = self.items_of(self.forced(value)) or []
            for place, inner in enumerate(target.elts):
                self.bind(inner, items[place] if place < len(items) else UNKNOWN, scope)


class _ClassScope(Scope):
    """Names of a class's body, each looked for when it is asked for."""

    def __init__(self, values: Values, of: ClassRef) -> None:
        super().__init__()
        self._values = values
        self._of = of
        self._own = {
            target.id: statement.value
            for statement in class_body(of.node)
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None
            for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
            if isinstance(target, ast.Name)
        }

    def __contains__(self, name: object) -> bool:
        return name in self._own

    def __getitem__(self, name: str) -> object:
        return self._values.of(self._own.get(name), self._of.module, {})


def _applied(kind: type, left: object, right: object) -> object:
    how = _OPERATORS.get(kind)
    if how is None or not (isinstance(left, _PLAIN) and isinstance(right, _PLAIN)):
        return UNKNOWN
    if kind in (ast.Mult, ast.LShift) and not all(
        isinstance(one, (int, float)) and abs(one) < most
        for one, most in ((left, 2**62), (right, 64 if kind is ast.LShift else 2**62))
    ):
        return UNKNOWN  # it could fill the memory
    return how(left, right)
