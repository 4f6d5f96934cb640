"""Keys that act on the selected server or its node, and keys of the log pane."""

from __future__ import annotations

import shlex

from k2tui.core.errors import K2Error
from k2tui.core.views import ServerView
from k2tui.ui.logview import LEVEL_WORDS, rank_order
from k2tui.ui.present import key_text
from k2tui.ui.screens.moving import MovingScreen
from k2tui.ui.widgets.grid_cells import foreign_words
from k2tui.ui.widgets.launch_pane import LaunchPane
from k2tui.ui.widgets.log_pane import LogPane


class ServerKeysScreen(MovingScreen):
    """A full screen on which a server is selected."""

    def server_or_word(self) -> ServerView | None:
        """The selected server; says so when there is none."""
        server = self.chosen_server
        if server is None:
            self.k2.say("no server is selected", "warning")
        return server

    def own_server(self, verb: str) -> ServerView | None:
        """The selected server when it is k2tui's to change; says why not when it is not."""
        server = self.server_or_word()
        if server is None or server.found is None:
            return server
        key = key_text(self.k2.actions["server.adopt"].keys[0])
        name = server.settings.name
        self.k2.say(f"{verb} {name}: {foreign_words(server)}; {key} shows the config that adopts it", "warning")
        return None

    @property
    def marked_servers(self) -> list[str]:
        """The servers that are marked here."""
        return []

    def targets(self, verb: str) -> list[str]:
        marked = self.marked_servers
        if marked:
            return marked
        server = self.own_server(verb)
        return [] if server is None else [server.settings.name]

    def action_server_restart(self) -> None:
        if self.marked_servers:
            self.k2.restart_marked(self.marked_servers, done=self.forget_marks)
            return
        server = self.own_server("restart")
        if server is not None:
            self.k2.begin_restart(server.settings.name)

    def action_server_stop(self) -> None:
        if self.marked_servers:
            self.k2.stop_marked(self.marked_servers, done=self.forget_marks)
            return
        server = self.own_server("stop")
        if server is not None:
            self.k2.ask_stop(server.settings.name)

    def action_server_try(self) -> None:
        if self.targets("try"):
            self.open_command("try ")

    def action_server_try_again(self) -> None:
        change = self.k2.last_try
        if change is None:
            key = key_text(self.k2.actions["server.try"].keys[0])
            self.k2.say(f"nothing was tried yet; {key} tries a change", "warning")
            return
        names = self.targets("try")
        if names:
            self.k2.try_change(names, change, done=self.forget_marks)

    def action_server_undo(self) -> None:
        server = self.own_server("undo")
        if server is not None:
            self.k2.undo(server.settings.name)

    def action_server_verify(self) -> None:
        server = self.own_server("verify")
        if server is not None:
            self.k2.verify(server.settings.name)

    def action_bench_quick(self) -> None:
        server = self.server_or_word()
        if server is not None:
            self.k2.bench(server.settings.name)

    def action_bench_choose(self) -> None:
        server = self.server_or_word()
        if server is not None:
            self.k2.choose_bench(server.settings.name)

    def action_server_runs(self) -> None:
        server = self.server_or_word()
        if server is not None:
            self.k2.go_runs(server.settings.name)

    def action_server_history(self) -> None:
        server = self.server_or_word()
        if server is not None:
            self.k2.go_history(server.settings.name)

    def action_server_adopt(self) -> None:
        from k2tui.ui.screens.adopt import adopt_screen  # noqa: PLC0415  seldom needed

        server = self.server_or_word()
        if server is None:
            return
        if server.found is None:
            self.k2.say(f"{server.settings.name} is in your config: there is nothing to adopt", "text")
        else:
            self.k2.push_screen(adopt_screen(server, self.k2.fleet))

    def action_server_describe(self) -> None:
        server = self.server_or_word()
        if server is not None:
            self.k2.describe(server.settings.name)

    def action_server_copy_command(self) -> None:
        server = self.server_or_word()
        if server is None:
            return
        if server.found is not None:
            self.k2.copy(shlex.join(server.found.argv), f"the command of {server.settings.name}, secrets masked")
            return
        try:
            command = self.k2.fleet.plan(server.settings.name).command
        except K2Error as error:
            self.k2.fail(error)
            return
        self.k2.copy(command, f"the command of {server.settings.name}")

    def action_go_log(self) -> None:
        server = self.server_or_word()
        if server is not None:
            self.k2.go_server(server.settings.name, log=True)

    def action_node_connect(self) -> None:
        name = self.chosen_node
        if name is None:
            self.k2.say("no node is selected", "warning")
        else:
            self.k2.connect_node(name)


class LogKeysScreen(ServerKeysScreen):
    """A full screen that shows the log of the selected server."""

    launch: LaunchPane

    def __init__(self) -> None:
        super().__init__()
        self.run_id: str | None = None
        """Whose log is shown; None: the newest run's."""

    @property
    def the_log(self) -> LogPane:
        """The log pane; every screen of this kind has one."""
        pane = self.log_pane
        assert pane is not None
        return pane

    def follow_ring(self) -> None:
        """Show the log of the chosen server and run; the newest run may be another one by now."""
        server, pane = self.chosen_server, self.the_log
        if server is None:
            return
        name = server.settings.name
        try:
            ring = self.k2.fleet.ring(name) if self.run_id is None else self.k2.fleet.run_ring(name, self.run_id)
        except K2Error as error:
            self.run_id = None
            self.k2.fail(error)
            return
        pane.known_secrets = self.k2.secrets_of(name)
        pane.use(ring)

    def action_log_follow(self) -> None:
        self.the_log.toggle_follow()

    def action_log_wrap(self) -> None:
        self.the_log.toggle_wrap()

    def action_log_time(self) -> None:
        self.the_log.time_column = not self.the_log.time_column
        self.the_log.redraw()

    def action_log_level(self) -> None:
        pane = self.the_log
        pane.set_filter(level=(pane.view.filter.level + 1) % len(LEVEL_WORDS))

    def action_log_rank_before(self) -> None:
        self._rank(-1)

    def action_log_rank_after(self) -> None:
        self._rank(1)

    def action_log_rank_all(self) -> None:
        self.the_log.set_filter(rank=None)

    def action_log_merge(self) -> None:
        self.the_log.toggle_merge()

    def show_rank(self, rank: str) -> None:
        """Only this rank's lines."""
        self.the_log.set_filter(rank=rank or None)

    def _rank(self, step: int) -> None:
        server = self.chosen_server
        launch = None if server is None else server.launch
        ranks = sorted(launch.ranks_seen, key=rank_order) if launch is not None else []
        if not ranks:
            self.k2.say("no rank was seen in this log", "warning")
            return
        now = self.the_log.view.filter.rank
        at = ranks.index(now) + step if now in ranks else (0 if step > 0 else len(ranks) - 1)
        self.the_log.set_filter(rank=ranks[at % len(ranks)])

    def action_log_older_run(self) -> None:
        self._run(1)

    def action_log_newer_run(self) -> None:
        self._run(-1)

    def _run(self, step: int) -> None:
        server = self.chosen_server
        runs = [] if server is None else [run.run_id for run in server.runs]
        if not runs:
            self.k2.say("there is no other run", "warning")
            return
        at = (runs.index(self.run_id) if self.run_id in runs else 0) + step
        if not 0 <= at < len(runs):
            self.k2.say("this is the newest run" if step < 0 else "this is the oldest run that is kept", "text")
            return
        self.show_run(None if at == 0 else runs[at])

    def show_run(self, run_id: str | None) -> None:
        """Show the log of this run; None: the newest."""
        self.run_id = run_id
        self.follow_ring()
        self.redraw()

    def action_log_save(self) -> None:
        server = self.chosen_server
        name = "log" if server is None else server.settings.name
        self.k2.save(f"{name}.log", self.the_log.shown_lines())

    def action_log_failure(self) -> None:
        server = self.chosen_server
        cause = None if server is None or server.launch is None else server.launch.cause
        if cause is None:
            self.k2.say("nothing failed here", "text")
            return
        pane = self.the_log
        if self.run_id is not None:
            self.show_run(None)
        if not pane.go_to(cause.line_number - 1 - pane.ring.line_number_base):
            self.k2.say(f"line {cause.line_number} of the log is no longer held", "warning")
        elif pane not in self.visible_panes:
            self.look_at_log()

    @property
    def enter_explains(self) -> bool:
        """True when `enter` leads to the line that explains the failure: the pane that tells of it has the focus."""
        return self.pane is self.launch and self.launch.points_at_cause

    def go_to_failure(self) -> None:
        """The line that explains the failure, in the log, ready to be read on."""
        self.action_log_failure()
        self.look_at_log()

    def look_at_log(self) -> None:
        """The log gets the focus, and with it the screen where one pane is shown."""
        self.set_focus(self.the_log)
        self.relayout()

    def shown_now(self) -> tuple[str, ...]:
        return ("app.open", *(one for one in self.SHOWN if one != "app.open")) if self.enter_explains else self.SHOWN

    def _labels(self) -> dict[str, str]:
        labels = super()._labels()
        return {**labels, "app.open": "the line in the log"} if self.enter_explains else labels
