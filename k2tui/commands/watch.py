"""`k2tui watch [NODE:]PATH`: settings for the app on one log that is already there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from k2tui.commands.wires import Wires
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.settings import NodeSettings, ServerSettings, Settings

HERE = "here"


def watch_settings(target: str, wires: Wires) -> Settings:
    """One node and one watched log. A node of the config is used as it stands there, any other name goes to ssh."""
    node_name, path = split_target(target)
    if node_name is None:
        if not Path(path).is_file():
            what = f"{path} is no file" if Path(path).exists() else f"no file {path} on this machine"
            raise K2Error(
                what,
                code="no_such_file",
                subject=path,
                hint="a log on a node is NODE:PATH",
                exit_code=ExitCode.MISSING,
            )
        node = NodeSettings(name=HERE, host=HERE, transport="local")
        path = str(Path(path).resolve())
    else:
        node = NodeSettings(name=node_name, host=node_name)
    settings = wires.settings()
    node = settings.nodes.get(node.name, node)
    server = ServerSettings(name=Path(path).name, node=node.name, log=path)
    return replace(settings, nodes={node.name: node}, servers={server.name: server}, probe_generate="never")


def split_target(target: str) -> tuple[str | None, str]:
    """(node, path) of `NODE:PATH`; the node is None for a path of this machine."""
    if Path(target).exists():
        return None, target
    node, colon, path = target.partition(":")
    if not colon or not node or "/" in node or not path:
        return None, target
    return node, path
