"""The link that a node's settings ask for. Nothing is imported or opened before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from k2tui.adapters.asyncssh_link import AsyncsshLink
from k2tui.adapters.bastions import Bastions
from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.openssh_link import OpensshLink
from k2tui.core.settings import NodeSettings
from k2tui.services.doors import NodeLink


def make_link(
    node: NodeSettings,
    *,
    trusted_hosts: Path,
    ssh_config: Sequence[Path] | None = None,
    bastions: Bastions | None = None,
) -> NodeLink:
    """`ssh_config`: None = ~/.ssh/config, () = none at all. Hand the same `bastions` to all links of a process."""
    match node.transport:
        case "local":
            return LocalLink(node.name)
        case "openssh":
            return OpensshLink(node, trusted_hosts=trusted_hosts, ssh_config=ssh_config)
        case _:
            return AsyncsshLink(node, trusted_hosts=trusted_hosts, ssh_config=ssh_config, bastions=bastions)
