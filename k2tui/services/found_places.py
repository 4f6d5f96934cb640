"""Gives what somebody else started its place in the fleet: a server of the config that it is, or a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from k2tui.core.foreign.owner import adopts, writes_a_run_log
from k2tui.core.found import FoundServer
from k2tui.core.settings import ServerSettings, Settings
from k2tui.services.found_servers import FoundNames

GONE_KEPT_S = 900.0
"""How long what ended is still listed: an operator wants to see that it did, and why."""


class FoundPlaces:
    """Which name of the fleet each found server has, and which of them are gone."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        """`settings`: the config as it is now."""
        self._settings = settings
        self._names = FoundNames(lambda: settings().servers, several_nodes=len(settings().nodes) > 1)
        self._here: dict[str, frozenset[str]] = {}
        """Names that a node's found servers have now."""
        self._gone: dict[str, float] = {}
        """Name to time.monotonic at which its process was first seen to be gone."""

    def place(
        self, node: str, found: Sequence[FoundServer], now: float, *, busy: Collection[str]
    ) -> dict[str, FoundServer]:
        """Each found server of a node under its name, as of time.monotonic `now`.

        `busy`: servers of the config that run as k2tui's own; what else has their port is another server.
        """
        self._names.forget(node, found)
        servers = self._settings().servers.values()
        free = [server for server in servers if server.node == node and server.name not in busy]
        placed: dict[str, FoundServer] = {}
        for one in found:
            # A run of some k2tui's is no server of this config because of its port: the port's lock tells whose it is.
            name = None if writes_a_run_log(one) else adopts(one, free)
            if name is None or name in placed:
                name = self._names.name_of(one, node)
            placed[name] = one
            self._gone.pop(name, None)
        for name in self.left(node, placed):
            self._gone.setdefault(name, now)
        self._here[node] = frozenset(placed) | frozenset(self.left(node, placed))
        return placed

    def left(self, node: str, placed: Sequence[str] | dict[str, FoundServer]) -> list[str]:
        """Names of this node's servers that are not among the placed ones any more."""
        return [name for name in self._here.get(node, ()) if name not in placed]

    def settings_of(self, name: str, node: str, found: FoundServer) -> ServerSettings:
        """What a config would say of it."""
        return ServerSettings(name=name, node=node, engine=found.engine, gpus=found.gpus, port=found.port)

    def forgotten(self, now: float) -> list[str]:
        """Names that are no longer listed, each told once: they ended a while ago, and are in no config."""
        due = [name for name, at in self._gone.items() if now - at > GONE_KEPT_S]
        for name in due:
            del self._gone[name]
            self._here = {node: names - {name} for node, names in self._here.items()}
        return [name for name in due if name not in self._settings().servers]
