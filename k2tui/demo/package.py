"""The sglang that lies on a demo node: source to be read and a program to be run, as an installer leaves them."""

from __future__ import annotations

import ast
import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

from k2tui.core.builds import BuildFlag, Takes
from k2tui.core.engine_flags import release

_LAUNCH_SERVER = """import sys

from k2tui.demo.engine.server import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
_SERVER_ARGS_HEAD = '''"""The flags of this release, as its parser is told of them."""

from __future__ import annotations

import argparse
import dataclasses
import json


def human_readable_int(text):
    factor = {"k": 1024, "m": 1024**2, "g": 1024**3}.get(text[-1:].lower(), 1)
    return int(text[:-1]) * factor if factor > 1 else int(text)


def checked_word(text):
    return str(text)


class DeprecatedAction(argparse.Action):
    def __init__(self, option_strings, dest, nargs=None, new_flag=None, **kwargs):
        super().__init__(option_strings, dest, nargs=nargs, **kwargs)
        self.new_flag = new_flag

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, values or True)


@dataclasses.dataclass
class ServerArgs:
'''
_TYPES: Mapping[str | None, str] = {
    "int": "int",
    "float": "float",
    "json": "json.loads",
    "size": "human_readable_int",
    None: "checked_word",
}


def write_package(site: Path, version: str) -> None:
    """Put it below a directory of packages."""
    files = {
        "sglang/__init__.py": f'__version__ = "{version}"\n',
        "sglang/version.py": f'__version__ = "{version}"\n',
        "sglang/launch_server.py": _LAUNCH_SERVER,
        "sglang/srt/__init__.py": "",
        "sglang/srt/server_args.py": server_args_source(version),
        f"sglang-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n",
    }
    for name, text in files.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    rows = [f"{name},sha256={_digest(text)},{len(text.encode())}" for name, text in files.items()]
    record = f"sglang-{version}.dist-info/RECORD"
    (site / record).write_text("\n".join([*rows, f"{record},,", ""]), encoding="utf-8")


def server_args_source(version: str) -> str:
    """A module that declares the flags of a release as SGLang's own does; read or run, it says the same."""
    flags = release("sglang", version).flags
    ordered = sorted(flags, key=lambda flag: not flag.required)  # a dataclass wants fields without a default first
    fields = [f"    {_field(flag)}: object{'' if flag.required else f' = {_default(flag)!r}'}" for flag in ordered]
    calls = [f"        parser.add_argument({', '.join(_arguments(flag))})" for flag in flags]
    method = ["", "    @staticmethod", "    def add_cli_args(parser):"]
    return _SERVER_ARGS_HEAD + "\n".join([*fields, *method, *calls, ""])


def _field(flag: BuildFlag) -> str:
    return flag.name.replace("-", "_").replace(".", "_")


def _arguments(flag: BuildFlag) -> list[str]:
    is_toggle = any(name.startswith("no-") and name[3:] in flag.names for name in flag.aliases)
    names = [name for name in flag.names if not (is_toggle and name.startswith("no-") and name[3:] in flag.names)]
    found = [repr(f"{'-' if len(name) == 1 else '--'}{name}") for name in names]
    if flag.deprecated:
        found += ["action=DeprecatedAction", *(["nargs=0"] if flag.takes is Takes.NOTHING else [])]
        if flag.replacement is not None:
            found.append(f"new_flag={flag.replacement!r}")
    elif is_toggle:
        found.append("action=argparse.BooleanOptionalAction")
    elif flag.takes is Takes.NOTHING:
        found.append('action="store_true"')
    if flag.takes is not Takes.NOTHING:
        if flag.type in _TYPES:
            found.append(f"type={_TYPES[flag.type]}")
        if flag.takes in (Takes.SEVERAL, Takes.MAYBE):
            found.append('nargs="+"' if flag.takes is Takes.SEVERAL else 'nargs="?"')
    if flag.choices is not None:
        found.append(f"choices={list(flag.choices)!r}")
    if flag.required:
        found.append("required=True")
    elif flag.default is not None:
        found.append(f"default={_default(flag)!r}")
    return found


def _default(flag: BuildFlag) -> object:
    """The value that the word of a default stands for."""
    if flag.default is None or flag.default == "None":
        return None
    if flag.takes is Takes.ONE and flag.type == "str":
        return flag.default
    try:
        return ast.literal_eval(flag.default)
    except (ValueError, SyntaxError):
        return flag.default


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
