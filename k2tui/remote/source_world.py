"""The modules of a package as their source has them: what a name stands for, found without running anything."""

from __future__ import annotations

import ast
import os


class Unknown:
    """A value that can't be told from the source."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "…"


UNKNOWN = Unknown()


class External:
    """Something outside of the package, by its dotted name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, External) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def last(self) -> str:
        """Its own name: `Optional` of `typing.Optional`."""
        return self.name.rpartition(".")[2]


class Imported:
    """A name that was imported from a module of the package, not looked up yet."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name


class ModuleRef:
    """A module of the package."""

    def __init__(self, module: Module) -> None:
        self.module = module


class ClassRef:
    """A class of the package."""

    def __init__(self, module: Module, node: ast.ClassDef) -> None:
        self.module = module
        self.node = node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassRef) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)


class SuperRef:
    """`super()` in a method of `owner`, called on `bound`."""

    def __init__(self, owner: ClassRef, bound: object) -> None:
        self.owner = owner
        self.bound = bound


class FuncRef:
    """A function or method of the package."""

    def __init__(
        self,
        module: Module,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        *,
        owner: ClassRef | None = None,
        bound: object = None,
        around: dict[str, object] | None = None,
    ) -> None:
        self.module = module
        self.node = node
        self.owner = owner
        self.bound = bound
        self.around = around or {}

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")


class EnumMember:
    """One member of an enumeration."""

    def __init__(self, name: str, value: object) -> None:
        self.name = name
        self.value = value


class Generic:
    """A type with arguments: `Optional[int]` is `Optional` of `[int]`; `X | Y` is a Union."""

    def __init__(self, head: str, arguments: list[object]) -> None:
        self.head = head
        self.arguments = arguments


class Instance:
    """What a class was called with."""

    def __init__(self, of: object, arguments: list[object], named: dict[str, object]) -> None:
        self.of = of
        self.arguments = arguments
        self.named = named


class Method:
    """A method of a plain value, such as `keys` of a dict."""

    def __init__(self, of: object, name: str) -> None:
        self.of = of
        self.name = name


class Module:
    """One file, and what its names are bound to at its top level."""

    def __init__(self, name: str, path: str, source: str) -> None:
        self.name = name
        self.path = path
        self.source = source
        self.package = name if os.path.basename(path) == "__init__.py" else name.rpartition(".")[0]
        self.names: dict[str, ast.AST] = {}
        self.maybe: dict[str, ast.AST] = {}
        """What is bound only in a branch that may not be taken."""
        self.changes: dict[str, list[ast.stmt]] = {}
        """`NAMES += [...]` and `NAMES.extend([...])` after a name was bound."""
        self.values: dict[str, object] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        """The same for classes alone: a name may be bound to something else afterwards."""
        self._gather(ast.parse(source, path).body, self.names)

    def _gather(self, body: list[ast.stmt], into: dict[str, ast.AST]) -> None:
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                into[node.name] = node
                if isinstance(node, ast.ClassDef):
                    self.classes[node.name] = node
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    into[alias.asname or alias.name.partition(".")[0]] = node
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        into[target.id] = node.value
            elif isinstance(node, ast.AnnAssign):
                if isinstance(node.target, ast.Name) and node.value is not None:
                    into[node.target.id] = node.value
            elif isinstance(node, ast.If):
                self._gather(node.body, self.maybe)
                self._gather(node.orelse, self.maybe if _is_elif(node) else into)
            elif isinstance(node, ast.Try):
                self._gather(node.body, into)
                for handler in node.handlers:
                    self._gather(handler.body, self.maybe)
                self._gather(node.orelse + node.finalbody, into)
            elif isinstance(node, ast.With):
                self._gather(node.body, into)
            else:
                self._change(node)

    def _change(self, node: ast.stmt) -> None:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.changes.setdefault(node.target.id, []).append(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
                self.changes.setdefault(called.value.id, []).append(node)


def _is_elif(node: ast.If) -> bool:
    return len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)


class World:
    """The files of one package, read when they are asked for."""

    def __init__(self, package: str, root: str) -> None:
        self.package = package
        self.root = root
        self.read: list[str] = []
        """Paths of the files that were read."""
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """The module of this dotted name; None when it is no file of the package, or can't be read."""
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    def _load(self, name: str) -> Module | None:
        first, _, rest = name.partition(".")
        if first != self.package:
            return None
        base = os.path.join(self.root, *rest.split(".")) if rest else self.root
        for path in (os.path.join(base, "__init__.py"), base + ".py"):
            try:
                with open(path, "rb") as file:
                    source = file.read().decode("utf-8", "replace")
            except OSError:
                continue
            self.read.append(path)
            try:
                return Module(name, path, source)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        return None

    def binding(self, module: Module, name: str) -> ast.AST | None:
        """What a name of a module is bound to: its value's expression, a class, a function or an import."""
        return module.names.get(name) or module.maybe.get(name)

    def imported(self, module: Module, node: ast.Import | ast.ImportFrom, name: str) -> object:
        """What an import binds this name to."""
        alias = next((one for one in node.names if (one.asname or one.name.partition(".")[0]) == name), None)
        if alias is None:
            return UNKNOWN
        if isinstance(node, ast.Import):
            target = alias.name if alias.asname else alias.name.partition(".")[0]
            return self._module_or_external(target)
        base = _absolute(module.package, node.level, node.module or "")
        if base.partition(".")[0] != self.package:
            return External(f"{base}.{alias.name}")
        return Imported(base, alias.name)

    def _module_or_external(self, name: str) -> object:
        found = self.module(name)
        return External(name) if found is None else ModuleRef(found)


def _absolute(package: str, level: int, name: str) -> str:
    if not level:
        return name
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - level + 1])
    return f"{base}.{name}" if name else base


def class_body(node: ast.ClassDef) -> list[ast.stmt]:
    """The statements of a class, those in its branches among them."""
    found: list[ast.stmt] = []
    for statement in node.body:
        found += [*statement.body, *statement.orelse] if isinstance(statement, ast.If) else [statement]
    return found
