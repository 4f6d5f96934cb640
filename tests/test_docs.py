"""The docs are complete: each command, key, config key and word is in them, and what they name exists."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from k2tui.core.config import known_keys
from k2tui.core.errors import ExitCode
from k2tui.core.keymap import ACTIONS, Action
from scripts import tables

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
# Modules whose public classes are the things that an operator meets: each is in the glossary.
NOUNS = ("errors", "events", "keymap", "launch", "readings", "runs", "settings", "verbs", "views")
NOT_A_THING = {"K2Error", "ConfigErrors", "ExitCode"}
NO_FILE = {"nohup.out", "sglang.log", "state.json", "spec.json", "exit", "argv", "env.sh", "log", "sup.log", "NAME.py"}


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def glossary() -> str:
    return page("ARCHITECTURE.md").partition("\n## Words\n")[2].partition("\n## ")[0]


def test_the_tables_of_the_readme_are_what_the_code_says() -> None:
    text = page("README.md")
    assert tables.filled(text) == text, "run `make docs`"


@pytest.mark.parametrize("words", [words for words, _, _ in tables.every_command()], ids=lambda w: w or "app")
def test_every_command_is_in_the_readme(words: str) -> None:
    assert f"`k2tui {words}".rstrip() in page("README.md")


def test_every_command_says_what_it_does_and_so_does_every_option() -> None:
    silent = [words for words, _, does in tables.every_command() if not does]
    options = [
        f"{words} {action.option_strings[0]}"
        for words, parser, _ in tables.every_command()
        for action in parser._actions
        if action.option_strings and not action.help
    ]
    assert not silent + options


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_key_is_in_the_readme_with_its_action(action: Action) -> None:
    row = next(line for line in page("README.md").splitlines() if line.endswith(f"| `{action.id}` |"))
    assert all(f"`{key}`" in row.replace("\\|", "|") for key in action.keys)


@pytest.mark.parametrize("code", ExitCode, ids=lambda code: code.name)
def test_every_exit_code_is_in_the_readme(code: ExitCode) -> None:
    assert f"\n| {code.value} |" in page("README.md")


def test_every_config_key_is_in_the_example_with_a_comment() -> None:
    example = page("config.example.toml")
    assert keys_of(tomllib.loads(example)) == set(known_keys())
    for key in known_keys():
        word = re.escape(key.rpartition(".")[2]).replace(r"\*", r'"[a-z._]+"')
        lines = re.findall(rf"(?:^#.*\n)?^{word} = .*$", example, re.MULTILINE)
        assert any("#" in line for line in lines), key


def keys_of(document: dict[str, Any]) -> set[str]:
    """The keys of a config with `*` for a name that the operator chose."""
    found = set()
    for section, value in document.items():
        if section in ("nodes", "servers", "profiles", "matrix"):
            found |= {f"{section}.*.{key}" for table in value.values() for key in table}
        elif section == "alerts":
            found |= {f"alerts.{key}" for key in value if key != "rules"}
            found |= {f"alerts.rules.*.{key}" for rule in value["rules"].values() for key in rule}
        elif section == "keys":
            found.add("keys.*")
        elif isinstance(value, dict):
            found |= {f"{section}.{key}" for key in value}
        else:
            found.add(section)
    return found


@pytest.mark.parametrize("module", NOUNS)
def test_every_thing_has_its_word_in_the_glossary(module: str) -> None:
    tree = ast.parse((ROOT / "k2tui" / "core" / f"{module}.py").read_text(encoding="utf-8"))
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
    assert not sorted(name for name in classes - NOT_A_THING if f"`{name}`" not in glossary())


def rows_of_the_glossary() -> list[list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in glossary().splitlines() if "|" in line]
    return rows[2:]


@pytest.mark.parametrize("row", rows_of_the_glossary(), ids=lambda row: row[0])
def test_every_word_of_the_glossary_is_in_the_code(row: list[str]) -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "k2tui").rglob("*.py"))
    for name in re.findall(r"`([^`]+)`", row[1]):
        if "/" in name:
            assert (ROOT / "k2tui" / name).is_file(), name
        else:
            assert re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", source), name
    assert row[2]


def test_every_dependency_has_its_reason() -> None:
    declared = re.search(r"^dependencies = \[(.*?)^\]", page("pyproject.toml"), re.DOTALL | re.MULTILINE)
    assert declared is not None
    names = re.findall(r'"([a-z0-9-]+)', declared[1])
    reasons = page("ARCHITECTURE.md").partition("\n## Why each dependency\n")[2]
    assert names
    assert not [name for name in names if f"\n| {name} |" not in reasons]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", page("Makefile"), re.MULTILINE))


@pytest.mark.parametrize("name", PAGES)
def test_every_make_target_in_the_docs_exists(name: str) -> None:
    assert set(re.findall(r"(?:`| {4})make ([a-z][a-z-]*)", page(name))) <= targets()


def test_every_make_target_says_what_it_is_for() -> None:
    told = set(re.findall(r"^([a-z-]+):.*## ", page("Makefile"), re.MULTILINE))
    phony = re.search(r"^\.PHONY: (.*)$", page("Makefile"), re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == told == targets()


def named_files(text: str) -> set[str]:
    """What looks like a file of the repository in a page: in back-quotes, or the target of a link."""
    quoted = re.findall(r"`([\w./-]+)`", text)
    linked = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    files = {name for name in quoted if "/" in name or name.rpartition(".")[2] in ("py", "md", "toml", "sh", "svg")}
    return {*linked, *files}


@pytest.mark.parametrize("name", PAGES)
def test_every_file_named_in_the_docs_exists(name: str) -> None:
    missing = []
    for file in named_files(page(name)):
        if (
            Path(file).name in NO_FILE
            or file.startswith(("~", "/"))
            or "NAME" in file
            or "RUN-ID" in file
            or "PORT" in file
        ):
            continue
        if not any((base / file).exists() for base in (ROOT, ROOT / "k2tui")):
            missing.append(file)
    assert not missing


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_line_that_is_too_long_to_read(name: str) -> None:
    assert not [line for line in page(name).splitlines() if len(line) > 140 and not line.startswith("|")]
