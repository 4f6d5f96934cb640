"""What a start or restart would do, and what an operator should know before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.effects import wanted
from k2tui.core.errors import K2Error
from k2tui.core.flags import flag_value
from k2tui.core.foreign.owner import not_ours
from k2tui.core.link import LinkPhase
from k2tui.core.profiles import command_text, parse_command, resolve, resolved, warnings_of
from k2tui.core.run_profile import proved_before, ways_back, ways_to_undo
from k2tui.core.runs import Run
from k2tui.core.secrets import masked_argv, masked_env
from k2tui.core.setting_checks import check_settings
from k2tui.core.settings import LaunchProfile, NodeSettings, ServerSettings, Settings
from k2tui.core.verbs import LaunchPlan, ProfileChange
from k2tui.services.doors import NodeLink
from k2tui.services.server_watch import ServerWatch
from k2tui.services.verb_tools import watched_only


@dataclass(frozen=True)
class Planning:
    """Plans over all servers of a fleet; touches nothing."""

    settings: Callable[[], Settings]
    """The config as it is now."""
    watches: Mapping[str, ServerWatch]
    link: Callable[[str], NodeLink]
    """The connection to a node, by name."""
    gpu_names: Callable[[ServerSettings], Sequence[str]] = lambda _: ()
    """What the GPUs of a server are called, as far as that is known."""
    kept_runs: Callable[[str], Sequence[Run]] = lambda _: ()
    """Runs of a server that this side remembers beside those of its node."""

    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan:
        """What a start or restart would do, from what is known now. K2Error where there is nothing to start."""
        change = change or ProfileChange()
        settings, watch = self.settings(), self.watches[name]
        server, view = watch.settings, watch.view
        profile_name = change.profile or server.profile
        if profile_name is None:
            raise watched_only(name) if watch.found_alive is None else not_ours(watch.found_alive, name)
        runs = self.runs(name)
        found = resolved(settings, profile_name, server, change, runs=runs, build=view.build)
        profile = found.profile
        live = view.run if view.run is not None and view.run.alive is True else None
        back_to, no_way_back = self._way(name, runs, ways_back(runs, live), "was verified yet")
        undo_to, _ = self._way(name, runs, ways_to_undo(runs, view.run), "")
        argv, env = shown = masked_argv(profile.argv, profile.secrets), masked_env(profile.env, profile.secrets)
        return LaunchPlan(
            server=name,
            node=server.node,
            profile=profile,
            command=command_text(profile),
            replaces_run=None if live is None else live.run_id,
            confirm_needed=self.confirm_sentence(name, live=live is not None),
            warnings=(*self._read_otherwise(change, profile_name), *self._warnings(name, profile)),
            sources=found.sources,
            checks=check_settings(argv, env, engine=server.engine, build=view.build, gpu_names=self.gpu_names(server)),
            build=view.build,
            expects=wanted(proved_before(runs), shown, policy=settings.verify_checks, build=view.build).words,
            back_to=back_to,
            no_way_back=no_way_back,
            undo_to=undo_to,
        )

    def runs(self, name: str) -> tuple[Run, ...]:
        """What is known of a server's runs, newest first; none that was only planned."""
        known = {
            run.run_id: run for run in (*self.kept_runs(name), *self.watches[name].view.runs) if not run.is_planned
        }
        return tuple(known[run_id] for run_id in sorted(known, reverse=True))

    def confirm_sentence(self, name: str, *, live: bool) -> str | None:
        """Why a change of this server must be confirmed; None when it need not."""
        watch = self.watches[name]
        policy = self._node(name).confirm
        if policy == "always":
            return f'confirm = "always" on {watch.settings.node}'
        running = None if watch.http is None else watch.http.running
        if policy == "busy" and live and running:
            return f"{running} request{'s are' if running != 1 else ' is'} running and would be cut off"
        return None

    def rivals(self, name: str) -> list[str]:
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

    def _way(self, name: str, runs: Sequence[Run], ways: Iterable[Run], missing: str) -> tuple[str | None, str | None]:
        """The first of these runs that can be started again, else why there is none."""
        why: str | None = None
        for run in ways:
            try:
                resolve(self.settings(), None, self.watches[name].settings, ProfileChange(run=run.run_id), runs=runs)
            except K2Error as error:
                why = why or error.message
                continue
            return run.run_id, None
        return None, why or f"no run of {name} {missing}"

    def _read_otherwise(self, change: ProfileChange, profile: str) -> tuple[str, ...]:
        """What of a pasted command was left out or read otherwise."""
        if change.run is not None:
            return ()
        if change.cmd is not None:
            return parse_command(change.cmd).warnings
        return warnings_of(self.settings().profiles, profile)

    def _warnings(self, name: str, profile: LaunchProfile) -> tuple[str, ...]:
        node = self._node(name).name
        link = self.link(node).state
        warnings = [f"{rival} runs on the same GPUs: stop it first" for rival in self.rivals(name)]
        if flag_value(profile.argv, "api-key") is not None:
            warnings.append(f"the API key stands in the command: every user of {node} can read it in ps")
        if link.phase is not LinkPhase.UP:
            warnings.append(f"{node} is not connected: {link.reason or 'not reached yet'}")
        return tuple(warnings)

    def _node(self, name: str) -> NodeSettings:
        return self.settings().nodes[self.watches[name].settings.node]
