"""Settings cut down to what one command is about, so that it connects to nothing else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.settings import Settings


def only_server(settings: Settings, name: str) -> Settings:
    """The settings with this server and its node alone."""
    if name not in settings.servers:
        raise K2Error(
            f"no server {name!r} in the config",
            code="no_such_server",
            subject=name,
            hint=f"servers: {', '.join(settings.servers) or 'none'}",
            exit_code=ExitCode.MISSING,
        )
    node = settings.servers[name].node
    return replace(settings, nodes={node: settings.nodes[node]}, servers={name: settings.servers[name]})


def only_nodes(settings: Settings, names: Collection[str]) -> Settings:
    """The settings with these nodes alone; all of them when no name is given."""
    for name in names:
        if name not in settings.nodes:
            raise K2Error(
                f"no node {name!r} in the config",
                code="no_such_node",
                subject=name,
                hint=f"nodes: {', '.join(settings.nodes) or 'none'}",
                exit_code=ExitCode.MISSING,
            )
    kept = set(names) or set(settings.nodes)
    return replace(
        settings,
        nodes={name: node for name, node in settings.nodes.items() if name in kept},
        servers={name: server for name, server in settings.servers.items() if server.node in kept},
    )
