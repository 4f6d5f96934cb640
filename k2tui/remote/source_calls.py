"""What a function of a package's source gives, and what its statements do to names, without running it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from k2tui.remote.source_values import MOST, Scope, Values
from k2tui.remote.source_world import (
    UNKNOWN,
    ClassRef,
    External,
    FuncRef,
    Generic,
    Instance,
    Method,
    Module,
    SuperRef,
    World,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DEEPEST_CALL = 12
MOST_STATEMENTS = 60_000
"""Of all functions together: what needs more is no list of flags."""

_PURE = {
    "str": (
        *("lower", "upper", "replace", "join", "strip", "lstrip", "rstrip", "split", "startswith", "endswith"),
        *("title", "capitalize", "removeprefix", "removesuffix"),
    ),
    "list": ("append", "extend", "copy", "remove", "insert", "index", "sort", "count", "pop"),
    "tuple": ("index", "count"),
    "dict": ("keys", "values", "items", "get", "copy", "update", "pop", "setdefault"),
}
_OF_SETS = {"add": "append", "update": "extend", "union": "extend", "discard": "remove"}
"""Methods of a set, which is kept as a list."""


class _Returned(Exception):
    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


class _Left(Exception):
    """`break`, `continue` or `raise`."""

    def __init__(self, node: ast.stmt) -> None:
        super().__init__()
        self.node = node


class Calls(Values):
    """Values with calls: of plain builtins, of the package's own functions, and of `hooks`."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.hooks: dict[str, Callable[[list[object], dict[str, object]], object]] = {}
        """By the name of a function of the package: what stands in for it."""
        self._calls = 0
        self._statements = 0

    def _of_Call(self, node: ast.Call, module: Module, scope: Scope) -> object:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and "" in scope:
            return scope[""]
        function = self.of(node.func, module, scope)
        arguments = self._items(node.args, module, scope)
        named: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.of(keyword.value, module, scope)
            if keyword.arg is not None:
                named[keyword.arg] = value
                continue
            inner = self.forced(value)
            if not isinstance(inner, dict):
                named["**"] = UNKNOWN
            else:
                named.update({str(name): one for name, one in inner.items()})
        return self.called(self.forced(function), arguments, named)

    def called(self, function: object, arguments: list[object], named: dict[str, object]) -> object:
        """What this call gives."""
        if isinstance(function, FuncRef):
            hook = self.hooks.get(function.name)
            return self._run(function, arguments, named) if hook is None else hook(arguments, named)
        if isinstance(function, Method):
            return self._method_called(function, [self.forced(one) for one in arguments], named)
        if isinstance(function, ClassRef):
            return Instance(function, arguments, named)
        if isinstance(function, External):
            return self._external(function, arguments, named)
        return self.special_call(function, arguments, named)

    def special_call(self, function: object, arguments: list[object], named: dict[str, object]) -> object:
        """For values that only a reader of flags knows."""
        return UNKNOWN

    def _external(self, function: External, arguments: list[object], named: dict[str, object]) -> object:
        values = [self.forced(one) for one in arguments]
        name = function.name
        if function.last in ("field", "Field"):
            return Instance(function, values, named)
        if name == "sys.modules.get":
            return None  # nothing was imported
        if name in ("os.getenv", "os.environ.get"):
            return values[1] if len(values) > 1 else named.get("default")
        if function.last == "get_args" and isinstance(values[0], Generic):
            return tuple(literals(values[0]))
        if name in ("list", "tuple", "set", "frozenset", "sorted") and not named:
            items = self.items_of(values[0]) if values else []
            if items is None:
                return UNKNOWN
            items = sorted(items) if name == "sorted" else items  # type: ignore[type-var]
            return tuple(items) if name == "tuple" else items
        if name == "dict":
            return {**values[0], **named} if values and isinstance(values[0], dict) else dict(named)
        if name == "len" and isinstance(values[0], (str, list, tuple, dict)):
            return len(values[0])
        if name == "enumerate":
            items = self.items_of(values[0])
            return UNKNOWN if items is None else list(enumerate(items))
        if name in ("str", "int", "float", "bool") and values and isinstance(values[0], (str, int, float)):
            return {"str": str, "int": int, "float": float, "bool": bool}[name](values[0])
        if name in ("copy.deepcopy", "copy.copy"):
            return values[0]
        if name == "getattr" and isinstance(values[1], str):
            found = self.attribute(values[0], values[1])
            return values[2] if found is UNKNOWN and len(values) > 2 else found
        return UNKNOWN

    def _method_called(self, method: Method, values: list[object], named: dict[str, object]) -> object:
        of: Any = method.of
        kind = type(of).__name__
        name = method.name
        if kind == "list" and name in _OF_SETS:
            inner = self.items_of(values[0]) if values else None
            if name == "union":
                return UNKNOWN if inner is None else of + inner
            if name == "discard" and values[0] not in of:
                return None
            name = _OF_SETS[name]
        if name not in _PURE.get(kind, ()):
            return UNKNOWN
        if kind == "str" and name == "join":
            items = self.items_of(values[0])
            return of.join(map(str, items)) if items is not None else UNKNOWN
        if kind == "list" and name == "extend":
            values = [[UNKNOWN] if (inner := self.items_of(values[0])) is None else inner]
        found = getattr(of, name)(*values, **named)
        return list(found) if kind == "dict" and name in ("keys", "values", "items") else found

    def _run(self, function: FuncRef, arguments: list[object], named: dict[str, object]) -> object:
        """The value that a function of the package returns."""
        scope: Scope = dict(function.around)
        if function.owner is not None:
            scope[""] = SuperRef(function.owner, function.bound)
        if function.bound is not None:
            arguments = [function.bound, *arguments]
        self._bind_parameters(function, arguments, named, scope)
        if isinstance(function.node, ast.Lambda):
            return self.of(function.node.body, function.module, scope)
        if self._calls >= DEEPEST_CALL:
            return UNKNOWN
        self._calls += 1
        try:
            self.run(function.node.body, function.module, scope)
        except _Returned as returned:
            return returned.value
        except _Left:
            return UNKNOWN
        finally:
            self._calls -= 1
        return None

    def _bind_parameters(
        self, function: FuncRef, arguments: list[object], named: dict[str, object], scope: Scope
    ) -> None:
        given = function.node.args
        names = [one.arg for one in [*getattr(given, "posonlyargs", []), *given.args]]
        defaults = [*[None] * (len(names) - len(given.defaults)), *given.defaults]
        pairs = [*zip(names, defaults), *((one.arg, node) for one, node in zip(given.kwonlyargs, given.kw_defaults))]  # noqa: B905  Python 3.8
        for name, default in pairs:
            scope[name] = UNKNOWN if default is None else self.of(default, function.module, {})
        scope.update(zip(names, arguments))  # noqa: B905
        if given.vararg is not None:
            scope[given.vararg.arg] = list(arguments[len(names) :])
        known = {name for name, _ in pairs}
        scope.update({name: value for name, value in named.items() if name in known})
        if given.kwarg is not None:
            scope[given.kwarg.arg] = {name: value for name, value in named.items() if name not in known}

    def run(self, body: list[ast.stmt], module: Module, scope: Scope) -> None:
        """Do these statements, as far as they can be done without running anything."""
        for node in body:
            self._statements += 1
            if self._statements > MOST_STATEMENTS:
                raise _Left(node)
            self._do(node, module, scope)

    def _do(self, node: ast.stmt, module: Module, scope: Scope) -> None:
        if isinstance(node, ast.Return):
            raise _Returned(self.of(node.value, module, scope) if node.value is not None else None)
        if isinstance(node, (ast.Break, ast.Continue, ast.Raise)):
            raise _Left(node)
        if isinstance(node, ast.Expr):
            self.of(node.value, module, scope)
        elif isinstance(node, ast.Assign):
            value = self.of(node.value, module, scope)
            for target in node.targets:
                self._assign(target, value, module, scope)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, self.of(node.value, module, scope), module, scope)
        elif isinstance(node, ast.AugAssign):
            both = ast.BinOp(_loaded(node.target), node.op, node.value)
            self._assign(node.target, self.of(both, module, scope), module, scope)
        elif isinstance(node, ast.If):
            test = self.forced(self.of(node.test, module, scope))
            plain = isinstance(test, (str, int, float, list, tuple, dict, type(None)))
            self.run(node.body if plain and test else node.orelse, module, scope)
        elif isinstance(node, ast.For):
            self._loop(node, module, scope)
        elif isinstance(node, (ast.With, ast.Try)):
            self.run(node.body, module, scope)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                scope[name] = self.world.imported(module, node, name)
        elif isinstance(node, ast.FunctionDef):
            scope[node.name] = FuncRef(module, node, around=scope)
        elif isinstance(node, ast.Delete):
            self._delete(node, module, scope)

    def _loop(self, node: ast.For, module: Module, scope: Scope) -> None:
        items = self.items_of(self.forced(self.of(node.iter, module, scope)))
        for item in (items or [])[:MOST]:
            self.bind(node.target, item, scope)
            try:
                self.run(node.body, module, scope)
            except _Left as left:
                if isinstance(left.node, ast.Break):
                    break
                if not isinstance(left.node, ast.Continue):
                    raise

    def _assign(self, target: ast.expr, value: object, module: Module, scope: Scope) -> None:
        if isinstance(target, ast.Subscript):
            of = self.forced(self.of(target.value, module, scope))
            key: Any = self.forced(self.of(_inside(target), module, scope))
            if isinstance(of, dict) and isinstance(key, str):
                of[key] = value
        else:
            self.bind(target, value, scope)

    def _delete(self, node: ast.Delete, module: Module, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                of = self.forced(self.of(target.value, module, scope))
                key = self.forced(self.of(_inside(target), module, scope))
                if isinstance(of, dict):
                    of.pop(key, None)


def literals(of: Generic) -> list[object]:
    """The values of a `Literal`, those of literals in it among them."""
    found: list[object] = []
    for argument in of.arguments:
        found += literals(argument) if isinstance(argument, Generic) else [argument]
    return found


def _inside(target: ast.Subscript) -> ast.expr:
    inner: Any = target.slice
    found: ast.expr = inner.value if type(inner).__name__ == "Index" else inner  # Python 3.8
    return found


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return target
