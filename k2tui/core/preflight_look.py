"""What a node is asked before a launch, and what it answers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from k2tui.core.printable import printable
from k2tui.core.settings import LaunchProfile


@dataclass(frozen=True, slots=True)
class Holder:
    """Who listens on a port."""

    pid: int | None = None
    """None: it can't be told, another user's process."""
    session: int | None = None
    command: str = ""


@dataclass(frozen=True, slots=True)
class DiskLook:
    """A file system."""

    path: str
    """A directory of it."""
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class NodeLook:
    """What remote/preflight.sh saw. None: it was not looked at, or the answer did not come."""

    home: str | None = None
    home_writable: bool | None = None
    disks: tuple[DiskLook, ...] = ()
    """That of k2tui's home first."""
    missing_cwd: str | None = None
    """The directory that is not there."""
    setup: str | None = None
    """An exit code, `ended` or `slow`: the setup line failed, left the shell, or took too long."""
    has_program: bool | None = None
    model: str | None = None
    """dir | file | none | slow."""
    ports: Mapping[int, Holder | None] = field(default_factory=dict)
    """A port that was looked at to who listens there; None: nobody."""
    is_whole: bool = False
    """The answer came to its end."""


def look_payload(profile: LaunchProfile, *, program: str, model: str) -> bytes:
    """The script's stdin: quoted assignments. An empty word is not looked at."""
    words = {
        "k2_cwd": profile.cwd or "",
        "k2_setup": profile.setup or "",
        "k2_path": profile.env.get("PATH", ""),
        "k2_program": program,
        "k2_model": model,
        "k2_whole": "1",
    }
    text = "".join(f"{name}={shlex.quote(value)}\n" for name, value in words.items())
    return text.replace("\0", "").encode("utf-8", "surrogateescape")


def parse_look(output: bytes) -> NodeLook:
    """What the script said; what can't be read is left out."""
    lines = [printable(line) for line in output.decode("utf-8", "replace").split("\n")]
    if "k2pre 1" not in lines:
        return NodeLook()
    lines = lines[lines.index("k2pre 1") + 1 :]
    seen: dict[str, object] = {"is_whole": "k2end" in lines}
    disks: list[DiskLook] = []
    ports: dict[int, Holder | None] = {}
    for line in lines:
        tag, _, rest = line.partition(" ")
        first, _, more = rest.partition(" ")
        match tag:
            case "home" if first in ("yes", "no"):
                seen |= {"home_writable": first == "yes", "home": more}
            case "disk" if (found := re.fullmatch(r"(\d{1,18}) (\d{1,18}) (.+)", rest)) is not None:
                disks.append(DiskLook(found[3], int(found[1]) * 1024, int(found[2]) * 1024))
            case "cwd":
                seen["missing_cwd"] = rest
            case "setup" if re.fullmatch(r"\d{1,3}|ended|slow", rest):
                seen["setup"] = rest
            case "program" if first in ("yes", "no"):
                seen["has_program"] = first == "yes"
            case "model" if rest in ("dir", "file", "none", "slow"):
                seen["model"] = rest
            case "port" if port := re.fullmatch(r"(\d{1,5}) (?:(free)|(hidden)|held (\d+) (\d+) \d+ ?(.*))", rest):
                ports[int(port[1])] = None if port[2] else _holder(port)
    return NodeLook(**seen, disks=tuple(disks), ports=ports)  # type: ignore[arg-type]  # names and types as above


def _holder(found: re.Match[str]) -> Holder:
    return Holder() if found[3] else Holder(int(found[4]), int(found[5]), found[6].strip())
