"""The resolved configuration, as frozen data. Reading and checking it is `core/config.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

FlagValue = bool | str | int | float | tuple["FlagScalar", ...] | Mapping[str, object]
"""True: a bare switch; False: absent; a tuple: several values; a mapping: one JSON argument."""
FlagScalar = str | int | float


@dataclass(frozen=True)
class NodeSettings:
    """How one node is reached and treated."""

    name: str
    host: str
    user: str | None = None
    port: int | None = None
    proxy_jump: str | None = None
    identity: str | None = None
    transport: str = "asyncssh"
    """asyncssh | openssh | local."""
    home: str = "~/.k2tui"
    """Where k2tui keeps runs on the node; a leading `~` is the node's own."""
    disks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    confirm: str = "busy"
    """never | busy | always."""


@dataclass(frozen=True)
class ServerSettings:
    """One server on one node; `log` alone makes it a watched one that k2tui never starts."""

    name: str
    node: str
    engine: str = "sglang"
    setup: str | None = None
    """A shell line run on the node before the engine, such as `. /opt/sglang/bin/activate`."""
    python: str | None = None
    cwd: str | None = None
    gpus: tuple[int, ...] = ()
    port: int | None = None
    profile: str | None = None
    log: str | None = None
    on_crash_restarts: int = 0
    """How often the supervisor may start it again within `on_crash_window_s`; 0 = stay down."""
    on_crash_window_s: float = 0.0
    supervisor: str = "setsid"
    """setsid | systemd | tmux | docker: what keeps its supervisor on the node."""
    image: str | None = None
    """With docker: what it runs in."""
    on_failure: str = "ask"
    """ask | rollback | leave: what follows a restart that failed."""
    drain_s: float = 0.0
    """How long running requests may go on before a restart stops it."""


@dataclass(frozen=True)
class ProfileSettings:
    """A profile as written, before inheritance."""

    name: str
    extends: str | None = None
    cmd: str | None = None
    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()


@dataclass(frozen=True)
class AlertRuleSettings:
    """A rule of the operator's own; or changes of one that holds without config: None is then what that one has."""

    name: str
    on: str | None = None
    """node | gpu | server."""
    when: str | None = None
    """What must hold, in the words of the filter language."""
    until: str | None = None
    """What ends it; None: the opposite of `when`, with a margin of 5 % on numbers."""
    for_s: float | None = None
    """How long `when` must hold before it is raised, and `until` before it ends."""
    severity: str | None = None
    """info | warning | bad."""
    say: str | None = None
    """The sentence; `{field}` is filled in."""


@dataclass(frozen=True)
class AlertSettings:
    """What an operator is told of, and how."""

    bell: bool = True
    command: tuple[str, ...] = ()
    """Run on this machine for each alert, without a shell; `{text}` and others are filled in."""
    off: tuple[str, ...] = ()
    """Names of rules that are not looked at."""
    rules: Mapping[str, AlertRuleSettings] = field(default_factory=dict)


@dataclass(frozen=True)
class MatrixSettings:
    """An unattended series of restarts over flags and variables."""

    name: str
    server: str
    profile: str | None = None
    """What the combinations are put on top of; None: the server's own."""
    env: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variable to its values; an empty value leaves it out."""
    flags: Mapping[str, tuple[FlagValue, ...]] = field(default_factory=dict)
    """Flag to its values; False leaves it out."""
    profiles: tuple[str, ...] = ()
    """Whole profiles to compare, instead of one with combinations."""
    restarts: int = 3
    launch_limit_s: float = 360.0
    leave: str = "as-found"
    """as-found | best."""
    prescreen: bool = False
    """Look at each NCCL setting with a small all-reduce first, without loading weights."""
    max_tokens: int = 256
    repeats: int = 3


@dataclass(frozen=True)
class Settings:
    """Everything of one config file, checked."""

    path: str | None = None
    """The file it came from; None: no file, the machine itself is shown."""
    theme: str = "k2-dark"
    read_only: bool = False
    mouse: bool = False
    probe_generate: str = "on-doubt"
    """on-doubt | never | always: may k2tui ask a server for a token to learn its state?"""
    verify_checks: str = "diff"
    """diff | all | none: which effect checks follow the completion after a start."""
    verify_max_s: float = 20.0
    from_ssh_config: str | None = None
    nodes: Mapping[str, NodeSettings] = field(default_factory=dict)
    servers: Mapping[str, ServerSettings] = field(default_factory=dict)
    profiles: Mapping[str, ProfileSettings] = field(default_factory=dict)
    alerts: AlertSettings = AlertSettings()
    matrices: Mapping[str, MatrixSettings] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    """Action id to key, only those that the operator moved."""


@dataclass(frozen=True)
class LaunchProfile:
    """A resolved profile on a server: exactly what runs."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    setup: str | None = None
    cwd: str | None = None
    secrets: frozenset[str] = frozenset()
    """Values that must never be shown."""
