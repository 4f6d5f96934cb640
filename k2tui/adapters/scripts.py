"""The scripts that are carried to a node, read from the package."""

from __future__ import annotations

from functools import cache
from importlib import resources

from k2tui.services.doors import Script


@cache
def script(name: str) -> Script:
    """`k2tui/remote/NAME.sh` as it stands in the package."""
    file = resources.files("k2tui.remote").joinpath(f"{name}.sh")
    return Script(name, file.read_text(encoding="utf-8"))
