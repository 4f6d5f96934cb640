"""The scripts that are carried to a node, read from the package."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from k2tui.services.doors import Script

_PARTS = "k2tui.remote"
_NEEDED = re.compile(r"^from k2tui\.remote\.(\w+) import", re.MULTILINE)
_OPENING = """import sys, types
for name in ("k2tui", "k2tui.remote"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
def part(name, text):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
"""


@cache
def script(name: str) -> Script:
    """`k2tui/remote/NAME.sh` as it stands in the package; for `NAME.py` the text of `program`."""
    if name.endswith(".py"):
        return Script(name, program(name.removesuffix(".py")))
    return Script(name, _text(f"{name}.sh"))


def program(name: str) -> str:
    """`k2tui/remote/NAME.py` with the parts that it imports, as one text for a python that has nothing of k2tui."""
    parts: dict[str, str] = {}
    _gather(name, parts)
    texts = [f"part({f'{_PARTS}.{part}'!r}, {text!r})\n" for part, text in parts.items()]
    return f"{_OPENING}{''.join(texts)}sys.modules[{f'{_PARTS}.{name}'!r}].main(sys.argv[1:])\n"


def _gather(name: str, parts: dict[str, str]) -> None:
    """What a part imports comes before it."""
    text = _text(f"{name}.py")
    for needed in _NEEDED.findall(text):
        if needed not in parts:
            _gather(needed, parts)
    parts[name] = text


def _text(file: str) -> str:
    return resources.files(_PARTS).joinpath(file).read_text(encoding="utf-8")
