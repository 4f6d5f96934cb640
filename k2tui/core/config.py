"""A config document becomes settings, or all that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from k2tui.core import config_checks as check
from k2tui.core.config_alerts import alert_keys, read_alerts
from k2tui.core.config_checks import UnfitError
from k2tui.core.config_findings import Findings, Schema, listed, nearest, shown
from k2tui.core.config_matrix import MATRIX, check_matrix, read_matrix
from k2tui.core.config_profiles import PROFILE, check_profiles, engine_said, read_profile
from k2tui.core.keymap import ACTIONS, Action, clashes, moved
from k2tui.core.settings import NodeSettings, ProfileSettings, ServerSettings, Settings
from k2tui.core.toml_lines import KeyPath, Locate

_NOT_YET = "no such key: this version has not got it yet; take it out"
_TOP: Schema = {"theme": check.line, "read_only": check.switch, "mouse": check.switch}
_SECTIONS: Mapping[str, Schema] = {
    "probe": {"generate": check.one_of("on-doubt", "never", "always")},
    "verify": {"checks": check.one_of("diff", "all", "none"), "max_s": check.seconds},
    "fleet": {"from_ssh_config": check.line},
}
_NODE: Schema = {
    "host": check.address,
    "user": check.address,
    "port": check.port,
    "proxy_jump": check.address,
    "identity": check.home_path,
    "transport": check.one_of("asyncssh", "openssh", "local"),
    "home": check.home_path,
    "disks": check.ListOf(check.path, '["/data", "/dev/shm"]'),
    "tags": check.ListOf(check.line, '["prod"]'),
    "confirm": check.one_of("never", "busy", "always"),
}
_SERVER: Schema = {
    "node": check.name,
    "engine": check.one_of("sglang", "vllm"),
    "setup": check.text,
    "python": check.program,
    "cwd": check.home_path,
    "gpus": check.gpus,
    "port": check.port,
    "profile": check.name,
    "log": check.home_path,
    "on_crash": check.on_crash,
    "supervisor": check.one_of("setsid", "systemd", "tmux", "docker"),
    "image": check.image,
    "on_failure": check.one_of("ask", "rollback", "leave"),
    "drain": check.duration,
}
_FIELDS: Mapping[str, str] = {"drain": "drain_s"}
"""Keys of a server whose setting has its unit in the name."""
_NAMED: Mapping[str, Schema] = {"nodes": _NODE, "servers": _SERVER, "profiles": PROFILE, "matrix": MATRIX}
_RESERVED: Mapping[str, Mapping[str, str]] = {
    "": {"jobs": _NOT_YET},
    "nodes": {},
    "servers": {"nodes": 'node = "NAME": nodes is reserved for one server over several nodes'},
    "profiles": {"capture": _NOT_YET},
    "matrix": {},
}


def known_keys() -> tuple[str, ...]:
    """Every key that a config may hold, `*` for a name that the operator chooses."""
    return (
        *_TOP,
        *(f"{section}.{key}" for section, schema in _SECTIONS.items() for key in schema),
        *(f"{section}.*.{key}" for section, schema in _NAMED.items() for key in schema),
        *alert_keys(),
        "keys.*",
    )


def settings_from(
    document: Mapping[str, object],
    *,
    path: str,
    locate: Locate,
    actions: Sequence[Action] = ACTIONS,
    themes: Collection[str] | None = None,
    ssh_hosts: Callable[[str], Sequence[str]] | None = None,
    this_machine: str | None = None,
) -> Settings:
    """The settings of a parsed document. Raises ConfigErrors with every line that is wrong.

    `themes` are the names that exist, None where nobody has looked; `ssh_hosts` gives the aliases of the operator's
    ssh config for a pattern; `this_machine` is the node that is shown when there is no other.
    """
    findings = Findings(path, locate)
    known = [*_TOP, *_SECTIONS, *_NAMED, "alerts", "keys"]
    for name, value in document.items():
        if name in _RESERVED[""]:
            findings.add((name,), shown((name,), value), _RESERVED[""][name])
        elif name not in known:
            findings.unknown_key((name,), value, known)
    top = findings.table((), {name: value for name, value in document.items() if name in _TOP}, _TOP)
    if themes is not None and "theme" in top and top["theme"] not in themes:
        findings.unknown(("theme",), top["theme"], themes, "a theme")
    sections = {name: findings.table((name,), document.get(name, {}), schema) for name, schema in _SECTIONS.items()}
    named = {name: _named_tables(findings, name, document.get(name, {})) for name in _NAMED}

    nodes = {name: _node(name, table) for name, table in named["nodes"].items()}
    pattern = sections["fleet"].get("from_ssh_config")
    _add_ssh_hosts(nodes, ssh_hosts(pattern) if pattern and ssh_hosts else ())
    if not nodes and pattern is None and this_machine is not None:
        nodes[this_machine] = local_node(this_machine)
    profiles = {name: read_profile(findings, name, table) for name, table in named["profiles"].items()}
    check_profiles(findings, profiles, _names(document, "profiles", profiles))
    servers = {
        name: _server(
            findings, name, table, _names(document, "nodes", nodes), _names(document, "profiles", profiles), profiles
        )
        for name, table in named["servers"].items()
    }
    matrices = {name: read_matrix(findings, name, table) for name, table in named["matrix"].items()}
    server_names, profile_names = _names(document, "servers", servers), _names(document, "profiles", profiles)
    for matrix in matrices.values():
        check_matrix(findings, matrix, servers, server_names, profile_names)
    alerts = read_alerts(findings, document.get("alerts", {}))
    keys = _keys(findings, document.get("keys", {}), actions)
    findings.raise_if_any()
    return Settings(
        path=path,
        **top,
        probe_generate=sections["probe"].get("generate", Settings.probe_generate),
        verify_checks=sections["verify"].get("checks", Settings.verify_checks),
        verify_max_s=sections["verify"].get("max_s", Settings.verify_max_s),
        from_ssh_config=pattern,
        nodes=MappingProxyType(nodes),
        servers=MappingProxyType(servers),
        profiles=MappingProxyType(profiles),
        alerts=alerts,
        matrices=MappingProxyType(matrices),
        keys=MappingProxyType(keys),
    )


def local_node(name: str) -> NodeSettings:
    """The machine that k2tui runs on, reached without SSH."""
    return NodeSettings(name=name, host=name, transport="local")


def matching(aliases: Sequence[str], pattern: str) -> tuple[str, ...]:
    """The aliases that a `from_ssh_config` pattern takes, each once, in order."""
    return tuple(dict.fromkeys(alias for alias in aliases if fnmatchcase(alias, pattern)))


def _named_tables(findings: Findings, section: str, value: object) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    for name, table in findings.entries((section,), value).items():
        at = (section, name)
        if not isinstance(table, dict):
            findings.add(at, shown(at, table), f"a table: [{section}.NAME] stands before such keys")
            continue
        try:
            check.name(name)
        except UnfitError as error:
            findings.add(at, shown(at, name), error.expected)
        tables[name] = findings.table(at, table, _NAMED[section], _RESERVED[section])
    return tables


def _node(name: str, table: dict[str, Any]) -> NodeSettings:
    return NodeSettings(name=name, **{"host": name, **table})


def _add_ssh_hosts(nodes: dict[str, NodeSettings], aliases: Sequence[str]) -> None:
    """What the operator wrote by hand wins over the ssh config."""
    by_hand = {*nodes, *(node.host for node in nodes.values())}
    for alias in aliases:
        try:
            check.name(alias)
        except UnfitError:
            continue  # an alias that no path on a node could carry
        if alias not in by_hand:
            nodes[alias] = NodeSettings(name=alias, host=alias)


def _names(document: Mapping[str, object], section: str, read: Collection[str]) -> Collection[str] | None:
    """All names of a section, also of tables with errors; None when they can't be told."""
    written = document.get(section, {})
    return list(dict.fromkeys([*written, *read])) if isinstance(written, dict) else None


def _server(
    findings: Findings,
    name: str,
    table: dict[str, Any],
    nodes: Collection[str] | None,
    profile_names: Collection[str] | None,
    profiles: Mapping[str, ProfileSettings],
) -> ServerSettings:
    at = ("servers", name)
    node, profile = table.get("node"), table.get("profile")
    if node is None and not findings.touches((*at, "node")) and not findings.touches((*at, "nodes")):
        findings.add((*at, "node"), "nothing", f"the name of a node{listed(nodes or ())}")
    if node is not None and not findings.touches(("fleet",)):
        findings.dangling((*at, "node"), node, nodes, "node")
    if profile is not None:
        findings.dangling((*at, "profile"), profile, profile_names, "profile")
    elif "log" not in table and not findings.touches((*at, "profile")) and not findings.touches((*at, "log")):
        expected = f"profile = NAME{listed(profile_names or ())} to start it, or log = PATH to watch it"
        findings.add((*at, "profile"), "nothing", expected)
    if profile is not None and "log" in table:
        expected = "profile or log, not both: what k2tui starts has a log of its own"
        findings.add((*at, "log"), shown((), table["log"]), expected)
    _check_image(findings, at, table)
    restarts, window_s = table.get("on_crash", (0, 0.0))
    rest = {_FIELDS.get(key, key): value for key, value in table.items() if key != "on_crash"}
    server = ServerSettings(name=name, on_crash_restarts=restarts, on_crash_window_s=window_s, **{"node": "", **rest})
    said = engine_said(profiles, profile)
    if said is None or said == server.engine:
        return server
    if "engine" in table:
        expected = f'"{said}": that is what the command of profile {profile} starts'
        findings.add((*at, "engine"), shown((), server.engine), expected)
    return replace(server, engine=said)


def _check_image(findings: Findings, at: KeyPath, table: Mapping[str, Any]) -> None:
    """Docker needs an image, and nothing else has a use for one."""
    is_docker = table.get("supervisor") == "docker"
    if is_docker and "image" not in table and not findings.touches((*at, "image")):
        findings.add((*at, "image"), "nothing", 'the name of an image: supervisor = "docker" runs it in one')
    if not is_docker and "image" in table and not findings.touches((*at, "supervisor")):
        expected = 'supervisor = "docker" beside it: nothing else runs in an image'
        findings.add((*at, "image"), shown((), table["image"]), expected)


def _keys(findings: Findings, value: object, actions: Sequence[Action]) -> dict[str, str]:
    """The moved keys; each action exists, and no key means two things."""
    ids = [action.id for action in actions]
    keys: dict[str, str] = {}
    for name, item in findings.entries(("keys",), value).items():
        if name not in ids:
            expected = "the id of an action (k2tui's help lists them)"
            findings.add(("keys", name), "an unknown action", expected, meant=nearest(name, ids))
        elif (found := findings.read(("keys", name), item, check.key)) is not None:
            keys[name] = found
    usual = set(clashes(actions))
    for key, first, second in clashes(moved(keys, actions)):
        if (key, first, second) in usual:
            continue
        mine, other = (second, first) if second in keys else (first, second)
        expected = f"a key of its own: {other} has it already; move that one too, or choose another"
        findings.add(("keys", mine), shown((), key), expected)
    return keys
