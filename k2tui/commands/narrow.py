"""Settings cut down to what one command is about, so that it connects to nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from k2tui.core.errors import no_such
from k2tui.core.settings import Settings


def only_server(settings: Settings, name: str) -> Settings:
    """The settings with this server and its node alone."""
    if name not in settings.servers:
        raise no_such("server", name, settings.servers)
    node = settings.servers[name].node
    return replace(settings, nodes={node: settings.nodes[node]}, servers={name: settings.servers[name]})


def only_servers(settings: Settings, names: Sequence[str]) -> Settings:
    """The settings with these servers and their nodes alone."""
    parts = [only_server(settings, name) for name in names]
    nodes = {name: node for part in parts for name, node in part.nodes.items()}
    return replace(settings, nodes=nodes, servers={name: settings.servers[name] for name in names})


def narrowed(settings: Settings, name: str) -> Settings:
    """The same, but with everything for a name that no config has: a server that somebody else started may have it."""
    return only_server(settings, name) if name in settings.servers else settings


def only_nodes(settings: Settings, names: Collection[str]) -> Settings:
    """The settings with these nodes alone; all of them when no name is given."""
    for name in names:
        if name not in settings.nodes:
            raise no_such("node", name, settings.nodes)
    kept = set(names) or set(settings.nodes)
    return replace(
        settings,
        nodes={name: node for name, node in settings.nodes.items() if name in kept},
        servers={name: server for name, server in settings.servers.items() if server.node in kept},
    )
