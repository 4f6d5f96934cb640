"""Where a process's output goes, and what it is contained in, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from k2tui.core.runs import printable

_CONTAINERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("docker", re.compile(r"docker[-/]([0-9a-f]{12})[0-9a-f]{52}")),
    ("podman", re.compile(r"libpod-(?:conmon-)?([0-9a-f]{12})[0-9a-f]{52}")),
    ("containerd", re.compile(r"(?:cri-containerd[-:]|/containerd/|kubepods\S*/)([0-9a-f]{12})[0-9a-f]{52}")),
    ("cri-o", re.compile(r"crio-([0-9a-f]{12})[0-9a-f]{52}")),
    ("lxc", re.compile(r"/lxc(?:\.payload)?[./]([A-Za-z0-9_.-]{1,64})")),
    ("slurm job", re.compile(r"/slurm\S*/job_([0-9]{1,12})")),
)
_UNIT = re.compile(r"/([A-Za-z0-9_.@\\-]{1,100}\.service)(?:/|\Z)")
_NO_UNIT = re.compile(r"(?:sshd?|user@.*|cron|crond|atd|slurmd|slurmstepd|docker|containerd|kubelet|rsyslog)\.service")
"""Units whose children are not what the unit is for."""

Outputs = Mapping[str, tuple[str, str]]
"""Descriptor `1` or `2`: (file | elsewhere | other, target)."""


def container_of(groups: Sequence[str]) -> str | None:
    """`docker 1f2e3d4c5b6a`, `slurm job 4711`, from a process's control groups; None where it is in none."""
    for kind, pattern in _CONTAINERS:
        for group in groups:
            if found := pattern.search(group):
                return f"{kind} {found[1]}"
    return None


def own_unit(unit: str) -> bool:
    """A systemd service is for what runs in it, and not only where a login or a container began."""
    return _NO_UNIT.fullmatch(unit) is None


def where_output_goes(
    outputs: Outputs, engine: str, *, may_look: bool, user: str, shell: Mapping[str, str], groups: Sequence[str]
) -> tuple[str | None, str | None]:
    """The regular file that its log goes to, or a few words for what it goes to instead.

    SGLang logs to standard error, vLLM to standard output; where only one of them is a file, that one has the log.
    """
    if not may_look:
        return None, f"its output may not be looked at: it belongs to {user}"
    order = ("1", "2") if engine == "vllm" else ("2", "1")
    for number in order:
        what, target = outputs.get(number, ("", ""))
        if what == "file":
            return target, None
    what, target = next((outputs[number] for number in order if number in outputs), ("", ""))
    return None, _words(what, target, shell, groups)


def _words(what: str, target: str, shell: Mapping[str, str], groups: Sequence[str]) -> str:
    container = container_of(groups)
    if what == "elsewhere" and target.endswith(" (deleted)"):
        return f"its log {target.removesuffix(' (deleted)')} was deleted"
    if what == "elsewhere":
        return f"its log {target} is in the files of {container or 'a container'}"
    if target.startswith(("/dev/pts/", "/dev/tty")):
        return f"its output goes to the terminal {target.removeprefix('/dev/')}{_multiplexer(shell)}"
    if target.startswith("/dev/null"):
        return "its output is thrown away: /dev/null"
    unit = next((unit for group in groups for unit in _UNIT.findall(group) if own_unit(unit)), None)
    if container is not None and container.startswith(("docker", "podman")):
        program, _, name = container.partition(" ")
        return f"its output goes to {program}: {program} logs {name}"
    if unit is not None and target.startswith("socket:"):
        return f"its output goes to the journal: journalctl -u {printable(unit)}"
    for kind in ("pipe", "socket"):
        if target.startswith(f"{kind}:"):
            return f"its output goes to a {kind}"
    return f"its output goes to {target}" if target else "it has no output"


def _multiplexer(shell: Mapping[str, str]) -> str:
    if pane := shell.get("TMUX_PANE"):
        return f", tmux pane {pane[:20]}"
    if session := shell.get("STY"):
        return f", screen {session[:60]}"
    return ""
