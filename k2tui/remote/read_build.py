"""read_build ENGINE STAMP HOW: what the engine of this interpreter accepts, as one line of JSON; it is not imported.

HOW is `script` for an engine that is started by a program of its own: that does not look into the working directory.
With the STAMP of an earlier answer, and nothing changed since, only that is said. Where the source can't be read the
engine's own parser is asked, which imports it and all that it needs.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
import time
from typing import Any

from k2tui.remote.installed_package import Package, commit, locate, modified, stamp_of
from k2tui.remote.sglang_source import read_sglang
from k2tui.remote.source_flags import word_of
from k2tui.remote.source_world import World
from k2tui.remote.vllm_source import CLI_ARGS, read_vllm

READER = "1"
"""Grows when the document does: what an older reader wrote is then read again."""
FEWEST_FLAGS = 20
"""An engine of fewer was not understood."""
HEAVY = ("torch", "transformers", "numpy", "triton", "sglang", "vllm")
_LIMITS = {"name": 120, "help": 400, "default": 300, "type": 20, "takes": 20, "replacement": 200}
_READERS = {"sglang": read_sglang, "vllm": read_vllm}


def main(arguments: list[str]) -> None:
    """Print the document."""
    engine, known, how = [*arguments, "", "", ""][:3]
    if how == "script":
        sys.path[:] = [place for place in sys.path if place]
    began = time.monotonic()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an engine prints while it is imported is no part of the answer
    document = answer(engine, known)
    document.update(
        took_s=round(time.monotonic() - began, 3),
        python=sys.executable,
        python_version=".".join(map(str, sys.version_info[:3])),
        loaded=[name for name in HEAVY if name in sys.modules],
    )
    out.write(json.dumps(document) + "\n")
    out.flush()


def answer(engine: str, known: str) -> dict[str, Any]:
    """The document, or why there is none."""
    if engine not in _READERS:
        return {"k2build": 1, "missing": f"{engine} is no engine that is known here"}
    package = locate(engine)
    if package is None:
        return {"k2build": 1, "missing": f"{sys.executable} has no {engine}"}
    stamp = stamp_of(package, READER)
    if stamp == known:
        return {"k2build": 1, "stamp": stamp, "same": True}
    return {"k2build": 1, "stamp": stamp, **read(package)}


def read(package: Package) -> dict[str, Any]:
    """Flags, version and what was changed."""
    notes: list[str] = []
    try:
        flags, unread, fields = _READERS[package.name](World(package.name, package.root))
    except Exception as error:  # whatever a source can hold: the parser knows it too
        flags, unread, fields = [], [], []
        notes.append(f"its source could not be read: {type(error).__name__}: {error}")
    how = "source"
    if len(flags) < FEWEST_FLAGS:
        how = "argparse"
        flags, trouble = _ask_parser(package.name)
        unread = []
        notes.append(trouble or "its source could not be read, so its own parser was asked")
    changed, note = modified(package)
    notes += [note] if note else []
    if unread:
        named = sorted(set(unread))
        notes.append(f"not everything could be told of {', '.join(named[:8])}{' ...' if len(named) > 8 else ''}")
    return {
        "engine": package.name,
        "version": package.version,
        "how": how,
        "path": package.root,
        "modified": changed,
        "commit": commit(package),
        "note": "; ".join(notes)[:1000] or None,
        "flags": [_cut(flag) for flag in flags],
        "fields": fields,
    }


def _cut(flag: dict[str, object]) -> dict[str, object]:
    """A flag with its texts no longer than anybody reads, and without what is as usual."""
    found: dict[str, object] = {}
    for name, value in flag.items():
        if isinstance(value, str):
            found[name] = " ".join(value.split())[: _LIMITS.get(name, 200)]
        elif isinstance(value, list) and (value or name != "aliases"):
            found[name] = [str(one)[:120] for one in value[:500]]
        elif value is True:
            found[name] = True
    return found


def _ask_parser(engine: str) -> tuple[list[dict[str, object]], str | None]:
    """The flags of the engine's own parser, which is imported; or why that can't be done."""
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    try:
        if engine == "sglang":
            parser = argparse.ArgumentParser()
            importlib.import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
        else:
            made = next(name for name in CLI_ARGS if importlib.util.find_spec(name) is not None)
            parser = importlib.import_module(made).create_parser_for_docs()
        return [_of_action(action) for action in parser._actions if _is_flag(action)], None
    except BaseException as error:
        return [], f"neither its source nor its own parser could be read: {type(error).__name__}: {str(error)[:300]}"


def _is_flag(action: Any) -> bool:
    return bool(action.option_strings) and action.dest != "help"


def _of_action(action: Any) -> dict[str, object]:
    """One action of argparse as the document has a flag."""
    name, *others = sorted((one for one in action.option_strings), key=lambda one: not one.startswith("--"))
    kind = getattr(action.type, "__name__", "str")
    types = {"str": "str", "int": "int", "float": "float", "loads": "json", "human_readable_int": "size"}
    takes = {0: "nothing", None: "one", 1: "one", "?": "maybe"}.get(action.nargs, "several")
    deprecated = type(action).__name__.startswith("Deprecated") or getattr(action, "deprecated", False)
    return {
        "name": name.lstrip("-"),
        "aliases": [other.lstrip("-") for other in others],
        "takes": takes,
        "type": None if takes == "nothing" else types.get(kind, "json" if "json" in kind else None),
        "default": None if action.default == "==SUPPRESS==" else word_of(action.default),
        "choices": None if action.choices is None else [str(choice) for choice in action.choices],
        "required": bool(action.required),
        "help": action.help if isinstance(action.help, str) and action.help != "==SUPPRESS==" else None,
        "deprecated": bool(deprecated),
        "replacement": getattr(action, "new_flag", None),
        "refused": bool(getattr(action, "error_message", None)),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
