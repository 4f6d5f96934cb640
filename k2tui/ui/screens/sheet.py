"""The launch sheet: what will run, old against new, and the exact command, before anything happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.widget import Widget
from textual.widgets import Input

from k2tui.core.errors import ConfigErrors, K2Error
from k2tui.core.settings_between import Setting, settings_between
from k2tui.core.verbs import LaunchPlan
from k2tui.ui import present
from k2tui.ui.actions import DIALOG, SHEET, bindings
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.layout import Places
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.screens.moving import Moves
from k2tui.ui.sheet_state import Draft, Edit, edit_of
from k2tui.ui.spans import Line, Span, joined, wrapped
from k2tui.ui.widgets.frame import Button, Buttons
from k2tui.ui.widgets.keys_line import KeysLine
from k2tui.ui.widgets.prompt import Prompt
from k2tui.ui.widgets.sheet_rows import SheetRows

WIDEST = 120
MOVES = ("move.down", "move.up", "move.top", "move.bottom", "move.page_down", "move.page_up")


class LaunchSheet(Moves, Dialog):
    """Start or restart one server. Cancel has the focus, so `enter` alone never restarts."""

    HERE: ClassVar[tuple[str, ...]] = (*DIALOG, *SHEET, *MOVES, "server.copy_command", "app.help")
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "sheet.add",
        "sheet.remove",
        "sheet.edit",
        "sheet.profile",
        "sheet.dry_run",
        "server.copy_command",
        "sheet.take_back",
        "sheet.reset",
        "pane.next",
        "app.open",
        "app.help",
        "app.back",
    )
    LABELS: ClassVar[Mapping[str, str]] = {
        "server.copy_command": "copy",
        "pane.next": "field",
        "app.open": "press",
        "app.back": "cancel",
    }

    def __init__(self, fleet: FleetLike, name: str) -> None:
        self.fleet, self.name_of_server = fleet, name
        self.view = fleet.server(name)
        self.node = fleet.settings.nodes[self.view.settings.node]
        self.draft = Draft()
        self.plan: LaunchPlan = fleet.plan(name)
        self.errors: tuple[str, ...] = ()
        self.said: tuple[str, ...] = ()
        self.rows = SheetRows(id="sheet-rows")
        self.confirm = Input(compact=True, id="confirm") if self._must_type else None
        self.keys = KeysLine(id="sheet-keys")
        self.prompt: Prompt | None = None
        self._buttons = Buttons([Button("", "Cancel"), Button("go", self.verb, danger=self.restarts)])
        super().__init__()

    @property
    def restarts(self) -> bool:
        """True when a run that lives is replaced."""
        return self.plan.replaces_run is not None

    @property
    def verb(self) -> str:
        """What the button says."""
        return "Restart" if self.restarts else "Start"

    @property
    def _must_type(self) -> bool:
        return self.plan.confirm_needed is not None and self.node.confirm == "always"

    # ---- layout

    def fields(self) -> list[Widget]:
        fields: list[Widget] = [self.rows]
        if self.confirm is not None:
            fields.append(self.confirm)
        return [*fields, self._buttons]

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.keys

    def box_size(self, size: Size) -> Size:
        width = min(WIDEST, size.width)
        wanted = len(self.settings()) + 2 + 2 + self._below(width - 4) + 2
        return Size(width, min(size.height, max(wanted, 16)))

    def _below(self, width: int) -> int:
        """Rows under the flags: notes, a field, the buttons, and blanks between."""
        return len(self._notes(width)) + 3 + (2 if self.confirm is not None else 0)

    def _places(self, size: Size) -> Places:
        places = dict(super()._places(Size(size.width, size.height - 1)))
        bottom = Region(0, size.height - 1, size.width, 1)
        places["prompt" if self.prompt is not None else "sheet-keys"] = bottom
        return places

    def field_places(self, inner: Region) -> Places:
        rows = max(4, inner.height - 2 - self._below(inner.width))
        places = {
            "sheet-rows": Region(inner.x, inner.y + 2, inner.width, rows),
            "buttons": Region(inner.x, inner.bottom - 1, inner.width, 1),
        }
        if self.confirm is not None:
            places["confirm"] = Region(inner.x + 34, inner.bottom - 3, max(10, min(30, inner.width - 34)), 1)
        return places

    # ---- drawing

    def _title(self) -> Line:
        return ((f"{self.verb} {self.name_of_server} on {self.node.name}", "title-focus"),)

    def _head(self, width: int) -> Line:
        run = self.view.run
        profile: list[Span] = [("profile ", "muted"), (self.plan.profile.name, "strong")]
        parts: list[Line] = [tuple(profile)]
        if self.restarts and run is not None:
            pid = f", pid {run.child.pid}" if run.child is not None else ""
            parts.append((("replaces ", "muted"), (f"run {present.run_time(run.run_id)}{pid}", "warning")))
        else:
            parts.append((("not running now", "muted"),))
        if self.draft.edits:
            parts.append(((f"{len(self.draft.edits)} edit{'s' if len(self.draft.edits) > 1 else ''}", "changed"),))
        return joined(parts)

    def _notes(self, width: int) -> list[Line]:
        """Command, warnings and complaints below the rows."""
        short = self.size.height < 30
        notes: list[Line] = [(("Command on the node", "title"),)]
        notes += [((text, "text"),) for text in wrapped(self.plan.command, width, 2 if short else 6)]
        for warning in (*self.plan.warnings, *((self.plan.confirm_needed,) if self.plan.confirm_needed else ())):
            notes += [((f"! {text}", "warning"),) for text in wrapped(warning, width - 2, 2)]
        for error in self.errors:
            notes += [((f"✗ {text}", "bad"),) for text in wrapped(error, width - 2, 3)]
        for text in self.said:
            notes += [((part, "good"),) for part in wrapped(text, width, 2)]
        return notes

    def draw(self) -> None:
        width, height = self.frame.room
        inner = width - 4
        if inner < 10:
            return
        rows: list[Line] = [self._head(inner)]
        rows += [()] * max(0, height - 2 - len(rows) - self._below(inner) + 1)
        rows += self._notes(inner)
        if self.confirm is not None:
            self.confirm.cursor_blink = False
            rows += [(), ((f"Type the node's name ({self.node.name}): ", "text"),)]
        self.frame.show(self._title(), rows)
        run = self.view.run
        old_title = "PROFILE" if run is None else "RUNNING" if run.alive else "LAST RUN"
        self.rows.show_settings(self.settings(), old_title=old_title)
        self.keys.show_keys([self.k2.actions[action_id] for action_id in self.SHOWN], labels=self.LABELS)

    def settings(self) -> list[Setting]:
        """Every flag and variable, old against new."""
        run = self.view.run
        profile = self.plan.profile
        if run is not None:
            return settings_between((run.argv, dict(run.env)), (profile.argv, profile.env), profile.secrets)
        base = self.fleet.plan(self.name_of_server).profile
        return settings_between((base.argv, base.env), (profile.argv, profile.env), profile.secrets)

    # ---- editing

    def use(self, draft: Draft) -> bool:
        """Plan again with this draft; what is wrong with it is shown and the draft is left as it was."""
        try:
            plan = self.fleet.plan(self.name_of_server, draft.change())
        except ConfigErrors as error:
            self.errors, self.said = error.lines, ()
            self._redraw()
            return False
        except K2Error as error:
            self.errors, self.said = (str(error),), ()
            self._redraw()
            return False
        self.draft, self.plan, self.errors, self.said = draft, plan, (), ()
        self._redraw()
        return True

    def _redraw(self) -> None:
        self.lay_out()

    def _ask(self, label: str, value: str, done: Callable[[str], None]) -> None:
        if self.prompt is not None:
            return

        def finished(text: str) -> None:
            self._close_prompt()
            done(text)

        self.prompt = Prompt(label, value=value, on_done=finished)
        self.mount(self.prompt)
        self.lay_out()

    def type_ahead(self, event: events.Key) -> bool:
        """Keys that came before the prompt had the focus are for the prompt."""
        return self.prompt is not None and event.key != "escape" and self.prompt.type_ahead(event)

    def _close_prompt(self) -> None:
        if self.prompt is not None:
            prompt, self.prompt = self.prompt, None
            prompt.remove()
            self.set_focus(self.rows)
            self._redraw()

    def _add(self, text: str) -> None:
        edit = edit_of(text)
        if edit is not None:
            self.use(self.draft.with_edit(edit))

    def action_sheet_add(self) -> None:
        self._ask("add --flag value, or NAME=value:", "", self._add)

    def action_sheet_edit(self) -> None:
        setting = self._selected()
        if setting is None or setting.new is None:
            return
        between = "=" if setting.is_env else " "
        self._ask("edit:", f"{setting.name}{between}{setting.new}", self._add)

    def action_sheet_remove(self) -> None:
        setting = self._selected()
        if setting is not None and setting.new is not None:
            self.use(self.draft.with_edit(Edit(setting.name, None, setting.is_env)))

    def action_sheet_take_back(self) -> None:
        self.use(self.draft.taken_back())

    def action_sheet_reset(self) -> None:
        self.use(self.draft.reset())

    def action_sheet_profile(self) -> None:
        from k2tui.ui.screens.help import choose_screen  # noqa: PLC0415  only when asked for

        def chosen(name: str | None) -> None:
            if name:
                self.use(Draft(profile=name))

        names = list(self.fleet.settings.profiles)
        self.app.push_screen(choose_screen("Profile", names, self.plan.profile.name), chosen)

    def action_sheet_dry_run(self) -> None:
        first = f"Would stop run {self.plan.replaces_run}, then start" if self.restarts else "Would start"
        profile = self.plan.profile
        where = f" in {profile.cwd}" if profile.cwd else ""
        setup = f" after `{profile.setup}`" if profile.setup else ""
        self.said = (f"{first} this command on {self.plan.node}{where}{setup}. Nothing was done.",)
        self._redraw()

    def action_server_copy_command(self) -> None:
        self.k2.copy(self.plan.command, "the command")

    def _selected(self) -> Setting | None:
        settings = self.rows.settings
        return settings[self.rows.cursor] if self.rows.cursor < len(settings) else None

    # ---- keys

    def action_app_back(self) -> None:
        if self.prompt is not None:
            self._close_prompt()
        else:
            self.dismiss(None)

    def action_app_help(self) -> None:
        from k2tui.ui.screens.help import keys_help  # noqa: PLC0415  only when asked for

        self.app.push_screen(keys_help(self.k2, "the launch sheet", self.HERE))

    def _move(self, way: str) -> None:
        if self.prompt is not None:
            return
        if self.focused is not self.rows:
            self.set_focus(self.rows)
        self.rows.move(way)

    def pressed(self, answer: str) -> None:
        if not answer:
            self.dismiss(None)
            return
        if self.errors:
            return
        if self.confirm is not None and self.confirm.value != self.node.name:
            self.errors = (f"that is not the name of the node: {self.node.name}",)
            self.set_focus(self.confirm)
            self._redraw()
            self.errors = ()
            return
        confirm = self.node.name if self.plan.confirm_needed is not None else None
        self.dismiss("go")
        self.k2.launch(self.name_of_server, self.draft.change(), restart=self.restarts, confirm=confirm)
