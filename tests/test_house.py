"""The arrows between the rooms, the size of the modules, and what Python 3.10 can read."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "k2tui"
MODULES = sorted(PACKAGE.rglob("*.py"))
PYTHON_FILES = sorted(
    path
    for folder in ("k2tui", "tests", "bench", "scripts")
    for path in (ROOT / folder).rglob("*.py")
    if "kit" not in path.relative_to(ROOT).parts
)

MOST_LINES = 450

# What a room may import of k2tui, besides itself and the version in k2tui/__init__.py.
ROOMS: dict[str, frozenset[str]] = {
    "core": frozenset(),
    "adapters": frozenset({"core", "services.doors", "remote"}),
    "services": frozenset({"core"}),
    "ui": frozenset({"core", "services"}),
    "commands": frozenset({"core", "services"}),
    "demo": frozenset({"core", "adapters", "services", "commands", "remote"}),
    "remote": frozenset(),
    "cli": frozenset({"core", "adapters", "services", "ui", "commands", "demo"}),
    "__main__": frozenset({"cli"}),
}

# Which rooms may import a distribution that is not in the standard library.
THIRD_PARTY: dict[str, frozenset[str]] = {
    "textual": frozenset({"ui"}),
    "rich": frozenset({"ui"}),
    "asyncssh": frozenset({"adapters", "demo"}),
    "httpx": frozenset({"adapters", "demo", "services"}),
    "httpcore": frozenset({"adapters"}),
    "safetensors": frozenset({"adapters", "demo", "remote"}),
    "tomli": frozenset({"adapters"}),
    "tomlkit": frozenset({"adapters"}),
    "platformdirs": frozenset({"adapters"}),
    "torch": frozenset({"remote"}),
    "sglang": frozenset({"remote"}),
    "numpy": frozenset({"remote"}),
}

# A plain command starts without these; each is imported inside the verb that needs it.
HEAVY = ("textual", "rich", "asyncssh", "httpx", "asyncio", "sqlite3")

# Names that Python 3.10 does not have.
NEWER_THAN_3_10: dict[str, frozenset[str]] = {
    "asyncio": frozenset({"TaskGroup", "timeout", "timeout_at", "Runner", "Barrier"}),
    "enum": frozenset({"StrEnum", "ReprEnum", "verify", "member", "nonmember", "global_enum_repr"}),
    "typing": frozenset({"Self", "Never", "LiteralString", "assert_never", "assert_type", "NotRequired", "Required"})
    | frozenset({"Unpack", "TypeVarTuple", "reveal_type", "dataclass_transform", "override", "TypeAliasType"}),
    "datetime": frozenset({"UTC"}),
    "contextlib": frozenset({"chdir"}),
    "itertools": frozenset({"batched"}),
    "hashlib": frozenset({"file_digest"}),
    "collections.abc": frozenset({"Buffer"}),
}
BUILTINS_NEWER_THAN_3_10 = frozenset({"ExceptionGroup", "BaseExceptionGroup", "EncodingWarning"})

# What core may not touch: the world. (`open` is looked for by name.)
WORLD = frozenset(
    {"asyncio", "io", "multiprocessing", "os", "pathlib", "selectors", "shutil", "signal", "socket", "sqlite3"}
    | {"subprocess", "sys", "tempfile", "threading", "time", "urllib", "http", "ssl", "glob", "fcntl", "pty"}
)


def room_of(path: Path) -> str:
    """The first part below k2tui/: a folder, or the module's own name."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def name_of(path: Path) -> str:
    """The dotted name of a module of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports_of(path: Path, *, for_types: bool = True) -> Iterator[str]:
    """Every module that a file imports, anywhere in it, as a dotted name."""
    package = name_of(path) if path.name == "__init__.py" else name_of(path).rpartition(".")[0]

    def walk(node: ast.AST) -> Iterator[str]:
        if _only_for_types(node) and not for_types:
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                below = f"{base}.{alias.name}"
                yield below if base.split(".")[0] == "k2tui" and _is_module(below) else base
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    yield from walk(tree_of(path))


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def may_use(room: str, imported: str) -> bool:
    """May a module of `room` import `k2tui.<imported>`?"""
    if imported.split(".")[0] in ("", room):
        return True
    return any(imported == allowed or imported.startswith(f"{allowed}.") for allowed in ROOMS[room])


def ids(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_every_module_is_in_a_known_room() -> None:
    assert {room_of(path) for path in MODULES} <= {*ROOMS, "__init__"}


@pytest.mark.parametrize("path", [p for p in MODULES if p != PACKAGE / "__init__.py"], ids=lambda p: p.stem)
def test_a_module_uses_only_the_rooms_it_may(path: Path) -> None:
    room = room_of(path)
    ours = {name.partition(".")[2] for name in imports_of(path) if name.split(".")[0] == "k2tui"}
    assert not sorted(name for name in ours if not may_use(room, name)), f"{room} may use {sorted(ROOMS[room])}"


@pytest.mark.parametrize("path", MODULES, ids=ids(MODULES))
def test_a_third_party_library_stays_in_its_rooms(path: Path) -> None:
    room = room_of(path)
    for name in imports_of(path):
        top = name.split(".")[0]
        if top not in sys.stdlib_module_names and top != "k2tui":
            assert room in THIRD_PARTY.get(top, frozenset()), f"{name} in {room}"


@pytest.mark.parametrize("path", [p for p in MODULES if room_of(p) == "services"], ids=lambda p: p.stem)
def test_services_name_libraries_only_for_types(path: Path) -> None:
    tops = {name.split(".")[0] for name in imports_of(path, for_types=False)}
    assert tops <= {*sys.stdlib_module_names, "k2tui"}


@pytest.mark.parametrize("path", [p for p in MODULES if room_of(p) == "core"], ids=lambda p: p.stem)
def test_core_does_not_touch_the_world(path: Path) -> None:
    assert not sorted({name.split(".")[0] for name in imports_of(path)} & WORLD)
    calls = {n.func.id for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not calls & {"open", "print", "input", "exec", "eval"}


def test_only_the_command_line_knows_the_demo() -> None:
    users = {room_of(p) for p in MODULES for name in imports_of(p) if name.split(".")[:2] == ["k2tui", "demo"]}
    assert users <= {"demo", "cli"}


@pytest.mark.parametrize("path", PYTHON_FILES, ids=ids(PYTHON_FILES))
def test_a_module_is_short_enough_to_read(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", [p for p in PYTHON_FILES if p.is_relative_to(PACKAGE)], ids=name_of)
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(tree_of(path)), "a module opens with one line"


def newer_names(tree: ast.Module) -> Iterator[str]:
    """Names in a module that Python 3.10 lacks, other than behind a version check."""
    modules: dict[str, str] = {}

    def walk(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.If) and "version_info" in ast.dump(node.test):
            return
        match node:
            case ast.Import(names=names):
                modules.update({(alias.asname or alias.name): alias.name for alias in names})
                yield from (alias.name for alias in names if alias.name == "tomllib")
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{a.name}" for a in names if a.name in NEWER_THAN_3_10.get(module, ()))
                if module == "tomllib":
                    yield module
            case ast.Attribute(value=ast.Name(id=owner), attr=attr):
                if attr in NEWER_THAN_3_10.get(modules.get(owner, ""), ()):
                    yield f"{owner}.{attr}"
            case ast.Name(id=name) if name in BUILTINS_NEWER_THAN_3_10:
                yield name
            case ast.AST() if type(node).__name__ == "TryStar":  # a name that Python 3.10 does not have
                yield "except*"
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    yield from walk(tree)


@pytest.mark.parametrize("path", PYTHON_FILES, ids=ids(PYTHON_FILES))
def test_a_module_can_be_read_by_python_3_10(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert not list(newer_names(ast.parse(source, str(path), feature_version=(3, 10))))


def test_the_check_for_newer_names_finds_them() -> None:
    source = (
        "import asyncio\nfrom enum import StrEnum\nasyncio.timeout(1)\nraise ExceptionGroup('', [])\nimport tomllib"
    )
    assert set(newer_names(ast.parse(source))) == {"enum.StrEnum", "asyncio.timeout", "ExceptionGroup", "tomllib"}


def loaded_after(program: str, tmp_path: Path) -> set[str]:
    """The modules in a new interpreter once it ran `program`, which may end in SystemExit."""
    tail = "import sys; sys.stdout.write('\\n@' + ' '.join(sorted(sys.modules)))"
    code = f"try:\n    {program}\nexcept SystemExit:\n    pass\n{tail}"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("\n@")[2].split())


def test_core_costs_nothing_of_the_outside(tmp_path: Path) -> None:
    names = [name_of(path) for path in MODULES if room_of(path) == "core"]
    tops = {name.split(".")[0] for name in loaded_after(f"import {', '.join(names)}", tmp_path)}
    bare = {name.split(".")[0] for name in loaded_after("pass", tmp_path)}
    assert tops - bare <= {*sys.stdlib_module_names, "k2tui"}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["config", "path"]], ids=" ".join)
def test_a_plain_command_starts_without_the_heavy_libraries(arguments: list[str], tmp_path: Path) -> None:
    program = f"import sys; sys.argv[1:] = {arguments!r}; import k2tui.cli; k2tui.cli.main()"
    assert not loaded_after(program, tmp_path) & set(HEAVY)


def test_the_modules_of_the_commands_load_no_heavy_library(tmp_path: Path) -> None:
    names = [name_of(path) for path in MODULES if room_of(path) == "commands"]
    assert not loaded_after(f"import {', '.join(names)}", tmp_path) & {"textual", "rich", "asyncssh", "httpx"}


def test_the_services_load_without_any_library(tmp_path: Path) -> None:
    names = [name_of(path) for path in MODULES if room_of(path) == "services"]
    tops = {name.split(".")[0] for name in loaded_after(f"import {', '.join(names)}", tmp_path)}
    assert not tops & set(THIRD_PARTY)


@pytest.mark.parametrize("path", sorted((PACKAGE / "remote").glob("*.sh")), ids=lambda p: p.name)
def test_what_goes_to_a_node_is_plain_sh(path: Path) -> None:
    subprocess.run(["sh", "-n", str(path)], check=True)
    source = path.read_text(encoding="utf-8")
    assert not [word for word in ("[[ ", "function ", "<<<", "&>", "pipefail", "local ") if word in source]
