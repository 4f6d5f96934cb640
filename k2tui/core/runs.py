"""A run: one start of a server on a node, and what the node keeps of it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from k2tui.core.printable import printable as printable  # noqa: PLC0414 others read a node's text with it, from here
from k2tui.core.run_verdict_json import read_verdict
from k2tui.core.secrets import mask, masked_argv, masked_env
from k2tui.core.settings import LaunchProfile, ServerSettings
from k2tui.core.verdicts import RunVerdict

_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_FILE = re.compile(r"(.*?)/(spec\.json|state\.json|exit|stop|verdict):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process that can't be mistaken for another: a pid alone can."""

    boot_id: str
    pid: int
    start_ticks: int
    """Field 22 of /proc/PID/stat."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run as the node's run directory tells it."""

    server: str
    run_id: str
    """YYYYMMDDTHHMMSSZ-xxxx, the node's clock and four random hex digits."""
    directory: str
    """Absolute path on the node."""
    supervisor: ProcessIdentity | None = None
    child: ProcessIdentity | None = None
    session_id: int | None = None
    alive: bool | None = None
    """True while a process of the run's session with a checked identity lives; None when not looked at."""
    port: int | None = None
    gpus: tuple[int, ...] = ()
    argv: tuple[str, ...] = ()
    """Secrets masked."""
    env: tuple[tuple[str, str], ...] = ()
    """The profile's variables, secrets masked."""
    profile: str | None = None
    started_by: str | None = None
    """user@host of the operator's machine."""
    exit_code: int | None = None
    ended_at: float | None = None
    """Unix time of the node's clock; None while it runs, or when no exit was recorded."""
    stop_asked: bool = False
    """An operator asked it to stop (a file in the run directory says so)."""

    started_at: float | None = None
    """Unix time of the node's clock; of a planned one when it was planned."""
    restarts: int = 0
    """How often the supervisor started it again after a crash."""
    cwd: str | None = None
    setup: str | None = None
    """Secrets masked."""
    why: str = "start"
    """start | restart | try | undo | rollback | adopt | matrix | ab."""
    replaces: str | None = None
    """Id of the run that it was to follow; None for a first start."""
    is_planned: bool = False
    """Its directory is written and nothing was started: a restart that is on its way, or that was interrupted."""
    kept_by: str = "setsid"
    """setsid | systemd | tmux | docker: what its supervisor is kept by."""
    verdict: RunVerdict | None = None
    """What was proved of it; None while nothing was."""
    engine: str | None = None
    """sglang | vllm."""
    kept_as: str | None = None
    """The name of its tmux session, systemd unit or container; None under setsid, and while it is planned."""

    @property
    def log_path(self) -> str:
        """The run's one log file on the node."""
        return f"{self.directory}/log"

    @property
    def attach(self) -> str | None:
        """What shows its log in a terminal on the node; None where nothing can be attached to."""
        return f"tmux attach -t {shlex.quote(f'={self.kept_as}')}" if self.kept_by == "tmux" and self.kept_as else None


def directory_name(server: str) -> str:
    """A server's name as a directory's: other than letters, digits and ._- as %XX of its UTF-8 bytes."""
    kept = "".join(
        char if char in _NAME else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))
        for char in server
    )
    return f"%2E{kept[1:]}" if kept.startswith(".") else kept


def server_name(directory: str) -> str:
    """The server's name from its directory's."""
    plain = re.sub(rb"%([0-9A-F]{2})", lambda found: bytes.fromhex(found[1].decode()), directory.encode())
    return plain.decode("utf-8", "replace")


def spec_json(
    server: ServerSettings,
    profile: LaunchProfile,
    *,
    port: int,
    started_by: str,
    why: str = "start",
    replaces: str | None = None,
) -> str:
    """What a run is, on one line of ASCII, secrets masked; the node puts the run id in front."""
    known = profile.secrets
    spec = {
        "server": server.name,
        "engine": server.engine,
        "port": port,
        "gpus": list(server.gpus),
        "profile": profile.name,
        "started_by": started_by,
        "why": why,
        "replaces": replaces,
        "kept_by": server.supervisor,
        "cwd": profile.cwd,
        "setup": None if profile.setup is None else mask(profile.setup, known),
        "on_crash_restarts": server.on_crash_restarts,
        "on_crash_window_s": server.on_crash_window_s,
        "argv": list(masked_argv(profile.argv, known)),
        "env": masked_env(profile.env, known),
    }
    return json.dumps(spec)


def parse_scan(output: bytes) -> tuple[Run, ...]:
    """The runs in the words of `k2_tell` (remote/runs.sh), newest first. What can't be read is left out."""
    alive: dict[str, str] = {}
    files: dict[str, dict[str, str]] = {}
    for line in output.decode("utf-8", "replace").split("\n"):
        if line.startswith("run ") and line[4:6] in ("0 ", "1 ", "p "):
            alive[line[6:]] = line[4]
        elif (found := _FILE.fullmatch(line)) and found[1] in alive:
            files.setdefault(found[1], {}).setdefault(found[2], found[3])
    runs = [_run(directory, living, files.get(directory, {})) for directory, living in alive.items()]
    return tuple(sorted((run for run in runs if run is not None), key=_age, reverse=True))


def is_whole(output: bytes) -> bool:
    """True when a script's answer came to its end."""
    return output.rstrip().endswith(b"k2end")


def _run(directory: str, lives: str, files: Mapping[str, str]) -> Run | None:
    parts = directory.rsplit("/", 2)
    is_planned = lives == "p"
    spec, state = _object(files.get("spec.json")) or {}, {} if is_planned else _object(files.get("state.json"))
    if state is None or len(parts) != 3:
        return None
    boot = state.get("boot_id")
    kept_by = _text(spec.get("kept_by")) or _text(state.get("kept_by")) or "setsid"
    env = spec.get("env")
    code, ended_at = _exit(files.get("exit"))
    return Run(
        server=_text(spec.get("server")) or server_name(parts[1]),
        run_id=parts[2],
        directory=directory,
        supervisor=_identity(boot, state.get("supervisor_pid"), state.get("supervisor_start_ticks")),
        child=_identity(boot, state.get("child_pid"), state.get("child_start_ticks")),
        session_id=_int(state.get("session_id")),
        alive=lives == "1",
        port=_int(spec.get("port")),
        gpus=tuple(gpu for gpu in map(_int, _list(spec.get("gpus"))) if gpu is not None),
        argv=tuple(map(str, _list(spec.get("argv")))),
        env=tuple((str(name), str(value)) for name, value in env.items()) if isinstance(env, dict) else (),
        profile=_text(spec.get("profile")),
        started_by=_text(spec.get("started_by")),
        exit_code=code,
        ended_at=ended_at,
        stop_asked="stop" in files,
        started_at=_int((spec if is_planned else state).get("started_at")),
        restarts=_int(state.get("restarts")) or 0,
        cwd=_text(spec.get("cwd")),
        setup=_text(spec.get("setup")),
        why=_text(spec.get("why")) or "start",
        replaces=_text(spec.get("replaces")),
        is_planned=is_planned,
        kept_by=kept_by,
        verdict=read_verdict(files.get("verdict", "")),
        engine=_text(spec.get("engine")),
        kept_as=_text(state.get("kept_as")) or None,
    )


def _age(run: Run) -> tuple[str, bool, int]:
    """What sorts runs by their start: the second in the id, and within one second the supervisor's start."""
    started = 0 if run.supervisor is None else run.supervisor.start_ticks
    return run.run_id.rpartition("-")[0], run.is_planned, started


def _object(text: str | None) -> dict[str, object] | None:
    try:
        found: object = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _identity(boot: object, pid: object, ticks: object) -> ProcessIdentity | None:
    if isinstance(boot, str) and isinstance(pid, int) and isinstance(ticks, int):
        return ProcessIdentity(boot, pid, ticks)
    return None


def _exit(text: str | None) -> tuple[int | None, float | None]:
    words = (text or "").split()
    if len(words) != 2 or not all(re.fullmatch(r"[0-9]{1,12}", word) for word in words):
        return None, None
    return int(words[0]), float(words[1])


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
