"""What a node is told to start a server, and what it answers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from k2tui.core.runs import Run, parse_scan, printable
from k2tui.core.secrets import masked_argv
from k2tui.core.settings import LaunchProfile

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class LaunchAnswer:
    """What the launch script said: the run, or why there is none."""

    run: Run | None = None
    code: str | None = None
    """already_running | start_in_progress | gpus_taken | port_taken | no_cwd | no_program | setup_failed |
    launch_failed."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Words by key, such as pid, run, server, who, detail."""


def launch_payload(spec: str, profile: LaunchProfile, supervisor: str) -> bytes:
    """The launch script's stdin: quoted assignments that a shell reads. Secrets stand here and nowhere else."""
    argv = shlex.join(masked_argv(profile.argv, profile.secrets))
    parts = {"k2_spec": spec, "k2_argv": argv, "k2_env": start_text(profile), "k2_sup": supervisor, "k2_whole": "1"}
    text = "".join(f"{name}={shlex.quote(value)}\n" for name, value in parts.items())
    if "\0" in text:
        raise ValueError("no argument, variable or path can hold a NUL byte")
    return text.encode("utf-8", "surrogateescape")


def start_text(profile: LaunchProfile) -> str:
    """env.sh: the directory, the setup line, the variables and the arguments, for the shell that becomes the server."""
    lines = [] if profile.cwd is None else [f"k2_cwd={shlex.quote(profile.cwd)}"]
    if profile.setup is not None:
        lines.append(f"k2_setup={shlex.quote(profile.setup)}")
    lines.append("k2_exports() {")
    for name, value in profile.env.items():
        if _ENV_NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no variable's name")
        lines.append(f"export {name}={shlex.quote(value)}")
    # shlex.join leaves plain words bare; a lone first word such as `A=b` is a word here as well
    lines += [":", "}", f"set -- {shlex.join(profile.argv)}"]
    return "\n".join(lines)


def parse_launch(output: bytes) -> LaunchAnswer | None:
    """What the launch script said; None when it did not come to say anything."""
    head, _, rest = output.partition(b"\n")
    words = head.decode("utf-8", "replace").split(" ", 1)
    if words[0] == "launched":
        runs = parse_scan(rest)
        return LaunchAnswer(runs[0]) if runs else None
    if words[0] == "refused" and len(words) > 1:
        pairs = (line.partition(" ") for line in rest.decode("utf-8", "replace").split("\n"))
        return LaunchAnswer(None, words[1].strip(), {key: printable(value).strip() for key, _, value in pairs if key})
    return None
