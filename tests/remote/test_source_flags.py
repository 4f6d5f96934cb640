"""The flags of an engine, told from its source alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k2tui.remote.sglang_source import read_sglang
from k2tui.remote.source_values import Values
from k2tui.remote.source_world import UNKNOWN, World
from k2tui.remote.vllm_source import read_vllm
from tests.remote.engine_packages import MIDDLE, NEW, OLD, VLLM, write

Flags = dict[str, dict[str, Any]]


def read(files: dict[str, str], root: Path) -> tuple[Flags, list[str]]:
    """Flags by name and the fields of an engine."""
    engine = next(iter(files)).partition("/")[0]
    write(root, files)
    flags, unread, fields = (read_vllm if engine == "vllm" else read_sglang)(World(engine, str(root / engine)))
    assert not unread
    return {str(flag["name"]): flag for flag in flags}, fields


def told(flag: dict[str, Any]) -> tuple[Any, ...]:
    return flag["takes"], flag["type"], flag["default"], flag["choices"], flag["aliases"], flag["required"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model-path", ("one", "str", "None", None, ["model"], True)),
        ("load-format", ("one", "str", "auto", ["auto", "pt", "gguf", "remote"], [], False)),
        ("tensor-parallel-size", ("one", "int", "1", None, ["tp-size", "t"], False)),
        ("quantization", ("one", "str", "None", None, [], False)),
        ("fractions", ("several", "float", "None", None, [], False)),
        ("context-length", ("one", "size", "None", None, [], False)),
        ("overrides", ("one", "json", "{}", None, [], False)),
        ("disable-cuda-graph", ("nothing", None, "False", None, [], False)),
        ("overlap", ("nothing", None, "True", None, ["no-overlap"], False)),
        ("lora-paths", ("several", "str", "None", None, [], False)),
        ("device", ("maybe", "str", None, None, [], False)),
        ("enable-flashmla", ("nothing", None, "None", None, [], False)),
        ("reasoning-parser", ("one", "str", "None", ["auto", "deepseek-r1", "kimi_k2"], [], False)),
        ("log-info", ("nothing", None, "False", None, [], False)),
    ],
)
def test_calls_of_add_argument_are_read(name: str, expected: tuple[Any, ...], tmp_path: Path) -> None:
    flags, _ = read(OLD, tmp_path)
    assert told(flags[name]) == expected


def test_what_the_old_layout_says_equals_what_its_own_parser_holds(tmp_path: Path) -> None:
    flags, fields = read(OLD, tmp_path)
    for name in ("torch_that_is_not_there", "heavy_that_is_not_there"):
        write(tmp_path, {f"{name}/__init__.py": "class Kimi: pass\n"})
    program = """
import argparse, json
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser(add_help=False)
ServerArgs.add_cli_args(parser)
print(json.dumps([[a.option_strings, a.nargs, a.choices, str(a.default), a.required] for a in parser._actions]))
"""
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    takes = {"0": "nothing", "None": "one", "?": "maybe"}
    theirs = {
        tuple(sorted(option.lstrip("-") for option in options)): (
            takes.get(str(nargs), "several"),
            choices,
            None if default == "==SUPPRESS==" else default,
            required,
        )
        for options, nargs, choices, default, required in json.loads(done.stdout)
    }
    ours = {
        tuple(sorted([name, *flag["aliases"]])): (flag["takes"], flag["choices"], flag["default"], flag["required"])
        for name, flag in flags.items()
    }
    assert ours == theirs
    assert fields[:3] == ["model_path", "load_format", "tp_size"]


def test_what_is_deprecated_tells_what_to_use(tmp_path: Path) -> None:
    flags, _ = read(OLD, tmp_path)
    old = [(name, flag["replacement"], flag["refused"]) for name, flag in flags.items() if flag["deprecated"]]
    assert old == [
        ("enable-flashmla", "--attention-backend flashmla", True),
        ("old-way", "--new-way", False),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model-path", ("one", "str", "None", None, ["model"], True)),
        ("tp-size", ("one", "int", "1", None, ["tensor-parallel-size"], False)),
        ("attention-backend", ("one", "str", "None", ["triton", "fa3", "aiter"], [], False)),
        ("mode", ("one", "str", "serial", ["serial", "overlap"], [], False)),
        ("cuda-graph-bs-decode", ("several", "int", "None", None, [], False)),
        ("hooks", ("one", "json", "None", None, [], False)),
        ("enable-metrics", ("nothing", None, "False", None, [], False)),
        ("fp8-gemm-backend", ("one", "str", "auto", None, [], False)),
        ("cuda-graph-bs", ("several", "int", "None", None, [], False)),
    ],
)
def test_annotated_fields_become_flags(name: str, expected: tuple[Any, ...], tmp_path: Path) -> None:
    flags, fields = read(MIDDLE, tmp_path)
    assert told(flags[name]) == expected
    assert not {"internal", "plain"} & set(flags)
    assert {"internal", "plain"} < set(fields)
    assert flags["cuda-graph-bs"]["replacement"] == "--cuda-graph-bs-decode"


def test_fields_of_namespaces_come_in_the_order_that_is_written_down(tmp_path: Path) -> None:
    flags, fields = read(NEW, tmp_path)
    assert [name for name in flags if not name.startswith("filler")] == [
        *("model-path", "tp-size", "urls", "load-format", "parser")
    ]
    assert told(flags["urls"]) == ("several", "str", "[]", None, [], False)
    assert flags["load-format"]["choices"] == ["auto", "gguf"]
    assert (flags["parser"]["choices"], flags["parser"]["default"]) == (["auto", "kimi_k2", "qwen3"], "auto")
    assert fields[:2] == ["model_path", "tp_size"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model", ("one", "str", "a/b", None, [], False)),
        ("dtype", ("one", "str", "auto", ["auto", "bfloat16", "half"], [], False)),
        ("quantization", ("one", "str", "None", None, [], False)),
        ("seed", ("one", "int", "0", None, [], False)),
        ("max-model-len", ("one", "size", "None", None, [], False)),
        ("enforce-eager", ("nothing", None, "False", None, ["no-enforce-eager"], False)),
        ("served-model-name", ("several", "str", "None", None, [], False)),
        ("inner", ("one", "json", "{…}", None, [], False)),
        ("extra", ("one", "json", "{}", None, [], False)),
        ("old", ("nothing", None, "False", None, [], False)),
        ("origins", ("one", "json", "None", None, [], False)),
        ("port", ("one", "int", "8000", None, [], False)),
        ("api-server-count", ("one", "int", "None", None, ["asc"], False)),
    ],
)
def test_fields_of_vllms_configs_become_flags(name: str, expected: tuple[Any, ...], tmp_path: Path) -> None:
    flags, _ = read(VLLM, tmp_path)
    assert told(flags[name]) == expected
    assert "kind" not in flags
    assert flags["old"]["deprecated"]
    assert flags["model"]["help"] == "Name of the model."
    assert flags["port"]["help"] == "where it listens"


@pytest.mark.parametrize(
    "source",
    [
        "x = y\ny = x\nz = x",
        "z = [z]",
        "def f(): return f()\nz = f()",
        "class A(A): pass\nz = A.b",
        "z = 'a' * 10**10",
        "z = 1 << 10**10",
        "z = 2 ** 10**8",
        "def f():\n    while True: pass\nz = f()",
        "z = open('/etc/passwd').read()",
        "z = __import__('os').system('true')",
        "z = {}['x']",
        "z = [a for a in range(10**12)]",
        "z = 1 / 0",
    ],
)
def test_no_source_runs_or_hangs_or_fills_the_memory(source: str, tmp_path: Path) -> None:
    write(tmp_path, {"pkg/module.py": source})
    world = World("pkg", str(tmp_path / "pkg"))
    module = world.module("pkg.module")
    assert module is not None
    value = Values(world).of_name(module, "z")
    assert value in (UNKNOWN, [UNKNOWN])


@given(st.text())
@settings(max_examples=50)
def test_no_text_breaks_the_reader(text: str) -> None:
    world = World("sglang", "/nowhere")
    assert read_sglang(world) == ([], [], [])
    from k2tui.remote.source_world import Module

    try:
        module = Module("sglang.x", "x.py", text)
    except (SyntaxError, ValueError):
        return
    for name in list(module.names):
        Values(world).of_name(module, name)
