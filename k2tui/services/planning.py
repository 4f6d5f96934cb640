"""What a start or restart would do, and what an operator should know before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from k2tui.core.foreign.owner import not_ours
from k2tui.core.link import LinkPhase
from k2tui.core.profiles import command_text, resolve, warnings_of
from k2tui.core.settings import NodeSettings, Settings
from k2tui.core.verbs import LaunchPlan, ProfileChange
from k2tui.services.doors import NodeLink
from k2tui.services.launching import watched_only
from k2tui.services.server_watch import ServerWatch


@dataclass(frozen=True)
class Planning:
    """Plans over all servers of a fleet; touches nothing."""

    settings: Settings
    watches: Mapping[str, ServerWatch]
    link: Callable[[str], NodeLink]
    """The connection to a node, by name."""

    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan:
        """What a start or restart would do, from what is known now. K2Error where there is nothing to start."""
        change = change or ProfileChange()
        server = self.watches[name].settings
        profile_name = change.profile or server.profile
        if profile_name is None:
            found = self.watches[name].found_alive
            raise watched_only(name) if found is None else not_ours(found, name)
        profile = resolve(self.settings, profile_name, server, change)
        run = self.watches[name].view.run
        live = run is not None and run.alive is True
        return LaunchPlan(
            server=name,
            node=server.node,
            profile=profile,
            command=command_text(profile),
            replaces_run=run.run_id if run is not None and live else None,
            confirm_needed=self.confirm_sentence(name, live=live),
            warnings=(*warnings_of(self.settings.profiles, profile_name), *self._warnings(name)),
        )

    def confirm_sentence(self, name: str, *, live: bool) -> str | None:
        """Why a change of this server must be confirmed; None when it need not."""
        watch = self.watches[name]
        policy = self._node(name).confirm
        if policy == "always":
            return f'confirm = "always" on {watch.settings.node}'
        running = None if watch.http is None else watch.http.running
        if policy == "busy" and live and running:
            return f"{running} running request(s) would be cut off"
        return None

    def _warnings(self, name: str) -> tuple[str, ...]:
        node = self._node(name).name
        link = self.link(node).state
        warnings = [f"{rival} runs on the same GPUs: stop it first" for rival in self._rivals(name)]
        if self.watches[name].api_key is not None:
            warnings.append(f"the API key stands in the command: every user of {node} can read it in ps")
        if link.phase is not LinkPhase.UP:
            warnings.append(f"{node} is not connected: {link.reason or 'not reached yet'}")
        return tuple(warnings)

    def _rivals(self, name: str) -> list[str]:
        """Other servers of the node that run now and share a GPU with this one."""
        own = self.watches[name].settings
        others = [watch.view for watch in self.watches.values() if watch.settings.name != name]
        return [
            other.settings.name
            for other in others
            if other.settings.node == own.node
            and set(other.settings.gpus) & set(own.gpus)
            and other.run is not None
            and other.run.alive
        ]

    def _node(self, name: str) -> NodeSettings:
        return self.settings.nodes[self.watches[name].settings.node]
