"""What a node is told to start a server, and what it answers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from k2tui.core.flags import flag_value
from k2tui.core.printable import printable
from k2tui.core.runs import Run, parse_scan
from k2tui.core.secrets import masked_argv
from k2tui.core.settings import LaunchProfile

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class LaunchAnswer:
    """What launch, prepare or begin said: the run, or why there is none."""

    run: Run | None = None
    code: str | None = None
    """already_running | start_in_progress | gpus_taken | port_taken | no_cwd | no_program | setup_failed |
    no_such_run | launch_failed."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Words by key, such as pid, run, server, who, detail."""


@dataclass(frozen=True, slots=True)
class Container:
    """What docker is asked for, beside the command."""

    image: str
    gpus: tuple[int, ...] = ()


def launch_payload(spec: str, profile: LaunchProfile, supervisor: str, container: Container | None = None) -> bytes:
    """The launch script's stdin: quoted assignments that a shell reads. Secrets stand here and nowhere else."""
    argv = shlex.join(masked_argv(profile.argv, profile.secrets))
    parts = {"k2_spec": spec, "k2_argv": argv, "k2_env": start_text(profile, container)}
    parts |= {"k2_sup": supervisor, "k2_whole": "1"}
    text = "".join(f"{name}={shlex.quote(value)}\n" for name, value in parts.items())
    if "\0" in text:
        raise ValueError("no argument, variable or path can hold a NUL byte")
    return text.encode("utf-8", "surrogateescape")


def start_text(profile: LaunchProfile, container: Container | None = None) -> str:
    """env.sh: the directory, the setup line, the variables and the arguments, for the shell that becomes the server."""
    lines = [] if profile.cwd is None else [f"k2_cwd={shlex.quote(profile.cwd)}"]
    setup = None if profile.setup is None else shlex.quote(profile.setup)
    if setup is not None and container is None:
        lines.append(f"k2_setup={setup}")
    lines.append("k2_exports() {")
    if setup is not None and container is not None:
        lines.append(f"export K2_SETUP={setup}")
    for name, value in profile.env.items():
        if _ENV_NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r} is no variable's name")
        lines.append(f"export {name}={shlex.quote(value)}")
    # shlex.join leaves plain words bare; a lone first word such as `A=b` is a word here as well
    lines += [":", "}", f"set -- {shlex.join(profile.argv)}"]
    return "\n".join(lines if container is None else [*lines, *_in_container(profile, container)])


def session_name(server: str) -> str:
    """What a tmux session, a unit or a container of this server is called, or begins with."""
    return "k2tui-" + re.sub(r"[^A-Za-z0-9_-]", "_", server)[:80]


def _in_container(profile: LaunchProfile, container: Container) -> list[str]:
    """The rest of env.sh that makes the command one of docker.

    The variables go by name alone, so docker takes the values from its own environment and none stands in a process
    list. k2_name and k2_dir are the starter's. The setup line runs inside, before the engine.
    """
    model = flag_value(profile.argv, "model-path") or flag_value(profile.argv, "model")
    mounts = [path for path in (model,) if path is not None and path.startswith("/")]
    if any(set(path) & set(',"\n') for path in (*mounts, profile.cwd or "")):
        raise ValueError("docker can mount no path with a comma, a quote or a line break in it")
    names = [*profile.env, *(() if profile.setup is None else ("K2_SETUP",))]
    lines = []
    if profile.setup is not None:
        inside = shlex.quote('eval "$K2_SETUP" || exit; unset K2_SETUP; exec "$@"')
        lines.append(f'set -- sh -c {inside} k2tui "$@"')
    lines.append(f'set -- {shlex.quote(container.image)} "$@"')
    lines += [f'set -- -e {name} "$@"' for name in reversed(names)]
    lines += [
        f'set -- --mount {shlex.quote(f"type=bind,source={path},target={path},readonly")} "$@"' for path in mounts
    ]
    if profile.cwd is not None:
        if profile.cwd == "~" or profile.cwd.startswith("~/"):
            lines.append(f"k2_cwd=$HOME{shlex.quote(profile.cwd[1:])}")
        lines.append('set -- --mount "type=bind,source=$k2_cwd,target=$k2_cwd" -w "$k2_cwd" "$@"')
    lines.append('set -- --mount "type=bind,source=$k2_dir,target=$k2_dir,readonly" "$@"')
    devices = f'"device={",".join(map(str, container.gpus))}"' if container.gpus else "all"
    asks = f'set -- --gpus {shlex.quote(devices)} "$@"'
    lines.append(asks if container.gpus else f"! command -v nvidia-smi >/dev/null 2>&1 || {asks}")
    lines.append(
        'set -- docker run --rm --init --pull never --name "$k2_name" --label "k2tui.run=${k2_dir##*/}" '
        '--network host --ipc host "$@"'
    )
    return lines


def parse_launch(output: bytes) -> LaunchAnswer | None:
    """What launch, prepare or begin said; None when it did not come to say anything."""
    head, _, rest = output.partition(b"\n")
    words = head.decode("utf-8", "replace").split(" ", 1)
    if words[0] in ("launched", "planned"):
        runs = parse_scan(rest)
        return LaunchAnswer(runs[0]) if runs else None
    if words[0] == "refused" and len(words) > 1:
        pairs = (line.partition(" ") for line in rest.decode("utf-8", "replace").split("\n"))
        return LaunchAnswer(None, words[1].strip(), {key: printable(value).strip() for key, _, value in pairs if key})
    return None
