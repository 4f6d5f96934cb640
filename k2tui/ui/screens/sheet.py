"""The launch sheet: what will run, old against new, and what stands in its way, before anything happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.widget import Widget
from textual.widgets import Input

from k2tui.core.secrets import mask
from k2tui.core.verbs import Manner, OnFailure
from k2tui.ui import present, sheet_notes
from k2tui.ui.actions import DIALOG, SHEET, bindings
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.layout import Places
from k2tui.ui.screens.sheet_edits import SheetEdits
from k2tui.ui.sheet_choices import beginning_words
from k2tui.ui.sheet_notes import labelled
from k2tui.ui.sheet_state import Draft
from k2tui.ui.spans import Line, clip, joined, wrapped
from k2tui.ui.widgets.frame import Button, Buttons
from k2tui.ui.widgets.keys_line import KeysLine
from k2tui.ui.widgets.sheet_rows import TABLE_WIDTH

WIDEST = 164
MOVES = ("move.down", "move.up", "move.top", "move.bottom", "move.page_down", "move.page_up")
DRAIN_S = 60.0
"""How long running requests may end, where the server's config does not say."""
ASKED = "Type the node's name"


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of each part is said: as much as there is room for."""

    help: int
    """Rows on the selected flag."""
    command: int
    look: int
    gaps: bool
    """Blank rows between the parts."""


DETAILS = (Detail(5, 6, 6, True), Detail(4, 4, 4, True), Detail(3, 2, 3, False), Detail(2, 1, 2, False))
LEAST = Detail(1, 1, 2, False)
BRIEF = (Detail(4, 0, 4, True), Detail(2, 0, 3, False), Detail(1, 0, 2, False))


class LaunchSheet(SheetEdits):
    """Start or restart one server. Cancel has the focus, so `enter` alone never restarts."""

    HERE: ClassVar[tuple[str, ...]] = (
        *DIALOG,
        *SHEET,
        *MOVES,
        "bench.quick",
        "pane.zoom",
        "server.copy_command",
        "app.help",
    )
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "sheet.add",
        "sheet.edit",
        "sheet.remove",
        "sheet.profile",
        "sheet.take_back",
        "sheet.failure",
        "sheet.drain",
        "sheet.paste",
        "sheet.save",
        "pane.zoom",
        "sheet.dry_run",
        "server.copy_command",
        "sheet.reset",
        "pane.next",
        "app.open",
        "app.help",
        "app.back",
    )
    LABELS: ClassVar[Mapping[str, str]] = {
        "server.copy_command": "copy",
        "sheet.paste": "import",
        "sheet.failure": "failure",
        "sheet.take_back": "back",
        "sheet.save": "save",
        "pane.next": "field",
        "pane.zoom": "rows",
        "app.open": "press",
        "app.back": "cancel",
    }

    def __init__(
        self, fleet: FleetLike, name: str, draft: Draft | None = None, *, why: str = "restart", brief: bool = False
    ) -> None:
        """`brief`: only what changes, as a try has it. Raises K2Error when this can't be planned."""
        super().__init__(fleet, name, draft)
        server = self.view.settings
        self.why, self.brief = why, brief
        self.drain_s = server.drain_s
        self.could_drain_s = server.drain_s or DRAIN_S
        self.on_failure = OnFailure(server.on_failure)
        self.with_figure = why == "try" and self.view.last_bench is not None
        """A quick figure follows once it is proved."""
        self.zoomed = False
        """The rows alone, all of them."""
        self.confirm = Input(compact=True, id="confirm") if self._must_type else None
        self.keys = KeysLine(id="sheet-keys")
        self._buttons = Buttons([Button("", "Cancel"), self._go_button()])
        self._sizes: dict[tuple[int, int], tuple[int, list[Line]]] = {}
        """What `_parts` gave for a size, until something changes."""

    @property
    def verb(self) -> str:
        """What the button says."""
        return "Restart" if self.restarts else "Start"

    @property
    def obstacle(self) -> str | None:
        """Why it can't be pressed."""
        return sheet_notes.obstacle(self.plan, self.look, read_only=self.fleet.settings.read_only)

    @property
    def _must_type(self) -> bool:
        return self.plan.confirm_needed is not None and self.node.confirm == "always"

    def _go_button(self) -> Button:
        obstacle = self.obstacle
        return Button("go", self.verb, danger=self.restarts, off=obstacle is not None, because=obstacle or "")

    # ---- layout

    def fields(self) -> list[Widget]:
        fields: list[Widget] = [self.rows]
        if self.confirm is not None:
            fields.append(self.confirm)
        return [*fields, self._buttons]

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.keys

    @property
    def last_line(self) -> str:
        return "sheet-keys"

    def box_size(self, size: Size) -> Size:
        width = min(WIDEST, size.width)
        rows, notes = self._parts(width - 4, size.height - 2)
        return Size(width, min(size.height, max(rows + len(notes) + self._around + 2, 14)))

    @property
    def _around(self) -> int:
        """Rows of the head, the field and the buttons, with a blank one above these."""
        return 3 + (1 if self.confirm is not None else 0)

    def _parts(self, width: int, height: int) -> tuple[int, list[Line]]:
        """(Rows for the table, lines below it): with as much said as leaves room for the rows that matter."""
        made = self._sizes.get((width, height))
        if made is None:
            made = self._sizes[width, height] = self._make_parts(width, height)
        return made

    def _make_parts(self, width: int, height: int) -> tuple[int, list[Line]]:
        rows = self.rows_now()
        is_short = self.brief and not self.zoomed
        listed = [row for row in rows if row.is_changed or row.is_blocked] if is_short else rows
        heading = 2 if width >= TABLE_WIDTH else 1
        room = height - self._around
        if self.zoomed:
            return room, []
        least = min(len(listed), max(4, sum(row.is_changed for row in listed))) + heading
        details = BRIEF if self.brief else DETAILS
        notes = next(
            (notes for detail in details if len(notes := self._notes(width, detail)) + least <= room),
            None,
        )
        if notes is None:
            notes = self._notes(width, details[-1] if self.brief else LEAST)
            notes = notes[: max(0, room - heading - 3)]
        return max(heading + 1, min(room - len(notes), max(len(listed), 1) + heading)), notes

    def field_places(self, inner: Region) -> Places:
        rows, _ = self._parts(inner.width, inner.height)
        places = {
            "sheet-rows": Region(inner.x, inner.y + 1, inner.width, rows),
            "buttons": Region(inner.x, inner.bottom - 1, inner.width, 1),
        }
        if self.confirm is not None:
            at = len(self._ask_name) + 1
            places["confirm"] = Region(inner.x + at, inner.bottom - 2, max(10, min(30, inner.width - at)), 1)
        return places

    # ---- drawing

    @property
    def _ask_name(self) -> str:
        return f"{ASKED} ({self.node.name}):"

    def _title(self) -> Line:
        word = {"try": "Try on", "undo": "Undo on"}.get(self.why, self.verb)
        return ((f"{word} {self.name_of_server} on {self.node.name}", "title-focus"),)

    def _head(self, width: int) -> Line:
        run, draft = self.view.run, self.draft
        parts: list[Line] = [
            beginning_words(self.fleet.settings.profiles, draft, self.plan.profile.name, self.plan.replaces_run)
        ]
        if self.restarts and run is not None:
            pid = f", pid {run.child.pid}" if run.child is not None else ""
            parts.append((("replaces ", "muted"), (f"run {present.run_time(run.run_id)}{pid}", "warning")))
        else:
            parts.append((("not running now", "muted"),))
        if draft.edits:
            parts.append(((f"{len(draft.edits)} edit{'s' if len(draft.edits) > 1 else ''}", "changed"),))
        return clip(joined(parts), width)

    def _notes(self, width: int, detail: Detail) -> list[Line]:
        """All that is said below the rows."""
        key = {name: present.key_text(self.k2.actions[name].keys[0]) for name in ("sheet.drain", "sheet.failure")}
        now = self.k2.clock.monotonic()
        groups: list[list[Line]] = [self._help(width, detail.help)]
        if detail.command:
            command = wrapped(self.plan.command, width - sheet_notes.LABEL, detail.command)
            groups.append(labelled("Command", [((text, "text"),) for text in command]))
        before = sheet_notes.look_lines(self.look, width, detail.look, now)
        build = sheet_notes.build_line(self.build, self.build_trouble, reading=self.is_reading_build)
        groups.append([*before, *labelled("Build", [build])])
        how: list[Line] = []
        if self.restarts:
            line = sheet_notes.drain_line(self.view.serving, self.drain_s, self.could_drain_s, key["sheet.drain"])
            how += labelled("Requests", [line])
        after = sheet_notes.after_lines(self.plan, width - sheet_notes.LABEL, 2 if detail.gaps else 1)
        how += labelled("After start", after)
        if self.why == "try":
            quick = present.key_text(self.k2.actions["bench.quick"].keys[0])
            how += labelled("Then", [sheet_notes.figure_line(self.view.last_bench, self.with_figure, quick)])
        how += labelled(
            "On failure", [sheet_notes.failure_line(self.plan, self.on_failure, key["sheet.failure"], width)]
        )
        groups.append(how)
        groups.append(self._said(width))
        lines: list[Line] = []
        for group in groups:
            if group and detail.gaps:
                lines.append(())
            lines += group
        return lines

    def _help(self, width: int, most: int) -> list[Line]:
        """On the selected row; as tall for every row, so that nothing jumps while the cursor moves."""
        tallest = max((len(sheet_notes.help_lines(row, width, most)) for row in self.rows_now()), default=0)
        lines = sheet_notes.help_lines(self.rows.selected, width, most)
        return [*lines, *([()] * (tallest - len(lines)))]

    def _said(self, width: int) -> list[Line]:
        """Warnings and complaints."""
        said: list[Line] = []
        due = self.plan.confirm_needed
        if self.drain_s and self.node.confirm == "busy":
            due = None  # the requests that it is due for may end first, as their own line says
        for warning in (*self.plan.warnings, *((due,) if due else ())):
            said += [((f"! {text}", "warning"),) for text in wrapped(warning, width - 2, 2)]
        for error in self.errors:
            said += [((f"✗ {text}", "bad"),) for text in wrapped(error, width - 2, 3)]
        for words in self.said:
            said += [((part, "good"),) for part in wrapped(words, width, 2)]
        return said

    def draw(self) -> None:
        width, height = self.frame.room
        inner = width - 4
        if inner < 10:
            return
        run = self.view.run
        old_title = "PROFILE" if run is None else "RUNNING" if run.alive else "LAST RUN"
        shows_all = self.zoomed or not self.brief
        self.rows.show_rows(self.rows_now(), old_title=old_title, all_of_them=shows_all)
        self._sizes.clear()  # now that a row is selected there is more to say
        rows, notes = self._parts(inner, height - 2)
        lines: list[Line] = [self._head(inner), *([()] * rows), *notes]
        if self.confirm is not None:
            self.confirm.cursor_blink = False
            lines += [()] * (height - 4 - len(lines))
            lines.append(((self._ask_name, "text"),))
        self.frame.show(self._title(), lines)
        self._buttons.replace([Button("", "Cancel"), self._go_button()])
        self.draw_note()

    def draw_note(self) -> None:
        """The last line: what the app has to say, else the keys."""
        note = self.k2.note
        if note is not None and note.until > self.k2.clock.monotonic() and note.text:
            self.keys.show_note(note.text, note.role)
        else:
            self.keys.show_keys([self.k2.actions[action_id] for action_id in self.SHOWN], labels=self.LABELS)

    def lay_out(self) -> None:
        self._sizes.clear()
        super().lay_out()

    def began(self) -> None:
        super().began()
        self.lay_out()
        first = next((row for row in self.rows.listed if row.is_changed), None)
        if first is not None:
            self.rows.select(first.setting.name)

    def draw_again(self) -> None:
        self.lay_out()

    def on_click(self) -> None:
        self.draw_again()

    # ---- keys

    def action_pane_zoom(self) -> None:
        self.zoomed = not self.zoomed
        self.set_focus(self.rows)
        self.draw_again()

    def action_sheet_drain(self) -> None:
        if not self.restarts:
            self.say("nothing runs that could be drained")
            return
        self.drain_s = 0.0 if self.drain_s else self.could_drain_s
        self.draw_again()

    def action_bench_quick(self) -> None:
        if self.why != "try":
            self.say("a quick figure follows a try alone")
            return
        self.with_figure = not self.with_figure
        self.draw_again()

    def action_sheet_failure(self) -> None:
        ways = [way for way in OnFailure if way is not OnFailure.ROLLBACK or self.plan.no_way_back is None]
        at = ways.index(self.on_failure) if self.on_failure in ways else -1
        self.on_failure = ways[(at + 1) % len(ways)]
        self.draw_again()

    def action_sheet_dry_run(self) -> None:
        first = f"Would stop run {self.plan.replaces_run}, then start" if self.restarts else "Would start"
        profile = self.plan.profile
        where = f" in {profile.cwd}" if profile.cwd else ""
        setup = f" after `{mask(profile.setup, profile.secrets)}`" if profile.setup else ""
        self.say(f"{first} this command on {self.plan.node}{where}{setup}. Nothing was done.")

    def action_server_copy_command(self) -> None:
        self.k2.copy(self.plan.command, "the command")

    def action_app_back(self) -> None:
        if self.prompt is not None:
            self.close_prompt()
        elif self.zoomed:
            self.action_pane_zoom()
        else:
            self.dismiss(None)

    def action_app_help(self) -> None:
        from k2tui.ui.screens.help import keys_help  # noqa: PLC0415  only when asked for

        self.app.push_screen(keys_help(self.k2, "the launch sheet", self.HERE))

    def _move(self, way: str) -> None:
        if self.prompt is not None:
            self.typing_help.step(way)
            return
        if self.focused is not self.rows:
            self.set_focus(self.rows)
        self.rows.move(way)
        self.draw_again()

    # ---- go

    def pressed(self, answer: str) -> None:
        if not answer:
            self.dismiss(None)
            return
        obstacle = self.obstacle
        if obstacle is not None:
            self.complain(f"not now: {obstacle}")
            return
        if self.confirm is not None and self.confirm.value != self.node.name:
            self.set_focus(self.confirm)
            self.complain(f"that is not the name of the node: {self.node.name}")
            return
        confirm = self.node.name if self.plan.confirm_needed is not None else None
        why = "start" if self.why == "restart" and not self.restarts else self.why
        manner = Manner(self.drain_s if self.restarts else 0.0, self.on_failure, why)
        self.dismiss("go")
        if self.why == "try":
            self.k2.want_figure(self.name_of_server, self.with_figure)
        self.k2.launch(self.name_of_server, self.change, restart=self.restarts, confirm=confirm, manner=manner)
