"""What every full screen has: a health line, panes, a line of keys, and the keys that move between them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.layout import Layout
from textual.screen import Screen

from k2tui.core.pace import Shown
from k2tui.core.views import ServerView
from k2tui.ui.actions import CHANGING, OWN, READ_ONLY, handler_of
from k2tui.ui.layout import PlacedLayout, Places
from k2tui.ui.present import number
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line
from k2tui.ui.widgets.keys_line import KeysLine
from k2tui.ui.widgets.log_pane import LogPane
from k2tui.ui.widgets.pane import Pane, give_rooms
from k2tui.ui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from k2tui.ui.app import K2App
    from k2tui.ui.command_typing import CommandTyping
    from k2tui.ui.widgets.prompt import Prompt

LEAST_WIDTH, LEAST_HEIGHT = 60, 15
"""Below this a screen only says that it is too small."""
TICKS_BETWEEN, STEADY_TICKS_BETWEEN = 5, 40
"""Twentieths of a second between two looks at a fleet that changes; where nothing is on its way, the figures of a probe
that speaks every two seconds are not worth more. A key, an alert and a new event are shown at once."""
ONE_PANE_WIDTH, ONE_PANE_HEIGHT = 80, 24
"""Below this one pane is shown at a time."""


class K2Screen(Screen[None], inherit_bindings=False):
    """Panes of one scene. A subclass says which panes there are, where they go, and what they show."""

    AUTO_FOCUS = ""
    HERE: ClassVar[tuple[str, ...]] = ()
    """Ids of the actions that act here; BINDINGS is made of them."""
    SHOWN: ClassVar[tuple[str, ...]] = ()
    """Those of them that stand on the last line, in order."""
    crumb = ""

    def __init__(self) -> None:
        super().__init__()
        self._placed = PlacedLayout(self._places)
        self.status = StatusLine(id="status")
        self.keys = KeysLine(id="keys")
        self.prompt: Prompt | None = None
        self.typing: CommandTyping | None = None
        """What helps to type a command, while one is typed."""
        self.zoomed = False
        self.held = False
        self.attached = True
        """False: the terminal is detached, so nobody looks."""
        self.scene: Scene | None = None
        self._handlers: dict[str, str] | None = None
        self._seen_revision = -1
        self._seen_news = -1
        self._told: Shown | None = None
        self._shown_places: Places = {}
        self._good_for = 0.0
        """Twentieths of a second after which ages read otherwise."""
        self._held_lines = 0
        self._held_end = 0
        self._held_revision = 0
        self._held_told = (-1, -1)

    # ---- what a subclass says

    def make_panes(self) -> list[Pane]:
        """All panes, in the order of `tab`."""
        raise NotImplementedError

    def arrange_panes(self, area: Region) -> Places:
        """Where they go between the first and the last line."""
        raise NotImplementedError

    def draw(self, scene: Scene) -> None:
        """Hand the scene to the panes."""
        raise NotImplementedError

    def status_row(self, scene: Scene, width: int) -> Line:
        """The health line."""
        raise NotImplementedError

    @property
    def chosen_server(self) -> ServerView | None:
        """The server that keys act on."""
        return None

    @property
    def chosen_node(self) -> str | None:
        """The node that keys act on."""
        server = self.chosen_server
        return None if server is None else server.settings.node

    def targets(self, verb: str) -> list[str]:
        """The servers that a verb acts on here; says so where there are none."""
        return []

    def forget_marks(self) -> None:
        """What was marked is dealt with."""

    @property
    def log_pane(self) -> LogPane | None:
        """The log on this screen."""
        return None

    def looked_at(self, scene: Scene) -> Shown:
        """What an operator sees here: it is looked at more often than the rest."""
        server, node = self.chosen_server, self.chosen_node
        return Shown(
            nodes=frozenset(() if node is None else (node,)),
            servers=frozenset(() if server is None else (server.settings.name,)),
        )

    # ---- how it lives

    @property
    def layout(self) -> Layout:
        return self._placed

    @property
    def k2(self) -> K2App:
        """The app, by its own type."""
        app: K2App = self.app  # type: ignore[assignment]  # Textual types it as App[Any]
        return app

    def compose(self) -> ComposeResult:
        self.panes = self.make_panes()
        yield self.status
        yield from self.panes
        yield self.keys

    def on_mount(self) -> None:
        self.redraw()

    def on_screen_resume(self) -> None:
        self._told = None
        if self.focused is None and self.panes:
            self.set_focus(self.first_pane())
        self.redraw()

    def on_resize(self) -> None:
        self.redraw()

    def first_pane(self) -> Pane:
        """The pane that has the focus at first."""
        return self.panes[0]

    @property
    def pane(self) -> Pane | None:
        """The pane with the focus."""
        return self.focused if isinstance(self.focused, Pane) else None

    @property
    def visible_panes(self) -> list[Pane]:
        """Those that are on screen now."""
        return [pane for pane in self.panes if pane.id in self._shown_places]

    def pulse(self, fleet_revision: int, ticks: float) -> bool:
        """Show what changed; True when the log had. Costs a few comparisons when nothing did.

        `ticks` is how many twentieths of a second passed since the last redraw: the fleet is drawn four times a
        second at most, the log at each pulse.
        """
        if self.scene is None:
            return False  # its panes are not there yet: mounting draws it first
        if self.held:
            self._count_held()
            return False
        log = self.log_pane
        moved = log is not None and log.catch_up()
        changed = fleet_revision != self._seen_revision
        if ticks >= (self._ticks_between() if changed else self._good_for):
            self.redraw()
        return moved

    def _ticks_between(self) -> int:
        scene, fleet = self.scene, self.k2.fleet
        if scene is None or scene.is_moving or fleet.news != self._seen_news:
            return TICKS_BETWEEN
        return STEADY_TICKS_BETWEEN

    def redraw(self) -> None:
        """Take the scene and show it; panes paint only what differs."""
        if self.held or not self.is_attached:
            return
        self._seen_revision = self.k2.fleet.revision
        self._seen_news = self.k2.fleet.news
        self.k2.ticks = 0
        self.scene = Scene.of(self.k2.fleet, self.k2.clock)
        self._good_for = 20 * self.scene.good_for_s
        self._follow_places()
        self.draw(self.scene)
        self.draw_lines()
        self.tell_shown()

    def tell_shown(self) -> None:
        """Say to the fleet what is on screen, when that has changed."""
        if self.scene is None or self.k2.front is not self:
            return
        shown = replace(self.looked_at(self.scene), attached=self.attached)
        if shown != self._told:
            self._told = shown
            self.k2.fleet.look_at(shown)

    def tell_attached(self, attached: bool) -> None:
        """The terminal was detached, or somebody is there again."""
        self.attached = attached
        self.tell_shown()

    def draw_lines(self) -> None:
        """The first and the last line."""
        if self.scene is None:
            return
        width = self.size.width
        if self.is_too_small:
            text = f" {width}×{self.size.height} is too small, {LEAST_WIDTH}×{LEAST_HEIGHT} is the least"
            self.status.show_line(((text, "warning"),))
        else:
            self.status.show_line(self.status_row(self.scene, width))
        if self.prompt is not None:
            return
        note = self.k2.note
        if note is not None:
            self.keys.show_note(note.text, note.role)
        else:
            server = self.chosen_server
            watched = server is not None and (server.settings.profile is None or server.found is not None)
            off = READ_ONLY if self.scene.read_only else CHANGING if watched else ()
            actions = self.k2.actions
            shown = [actions[action_id] for action_id in self.shown_now()]
            if server is not None and server.found is not None:  # no verb touches it; this is what can be done
                offered = (actions["server.adopt"] if one.id == "server.restart" else one for one in shown)
                shown = [one for one in offered if one.id not in OWN]
            self.keys.show_keys(shown, off=off, labels=self._labels())

    def shown_now(self) -> tuple[str, ...]:
        """The actions of the last line at this moment."""
        return self.SHOWN

    def _labels(self) -> dict[str, str]:
        """Words for this moment: what does not run is started, not restarted."""
        server = self.chosen_server
        runs = server is not None and server.run is not None and server.run.alive
        return {} if server is None or runs else {"server.restart": "start"}

    def hold_line(self) -> Line:
        """Said in the first line while the screen is held."""
        if not self.held:
            return ()
        lines = f"{number(self._held_lines)} line{'' if self._held_lines == 1 else 's'}"
        changes = f"{self._held_changes} change{'' if self._held_changes == 1 else 's'}"
        return ((f"held: {lines} and {changes} since", "warning"),)

    @property
    def _held_changes(self) -> int:
        return self.k2.fleet.revision - self._held_revision

    def _count_held(self) -> None:
        log = self.log_pane
        lines = 0 if log is None else log.ring.end - self._held_end
        told = (lines, self._held_changes)
        if told != self._held_told and self.scene is not None:
            self._held_told = told
            self._held_lines = lines
            self.draw_lines()

    def toggle_hold(self) -> None:
        """Hold everything still, or go on."""
        self.held = not self.held
        log = self.log_pane
        self._held_revision = self.k2.fleet.revision
        self._held_end = 0 if log is None else log.ring.end
        self._held_told = (-1, -1)
        self._held_lines = 0
        if log is not None:
            log.held = self.held
            log.redraw()
        if self.held:
            self._count_held()
        else:
            self.redraw()

    # ---- where things are

    @property
    def is_too_small(self) -> bool:
        """True when there is room for a sentence only."""
        return self.size.width < LEAST_WIDTH or self.size.height < LEAST_HEIGHT

    def _places(self, size: Size) -> Places:
        width, height = size
        bottom = Region(0, height - 1, width, 1)
        places: dict[str, Region] = {"status": Region(0, 0, width, 1)}
        if self.prompt is None:
            places["keys"] = bottom
        else:
            places["prompt"] = bottom
        area = Region(0, 1, width, max(0, height - 2))
        if width >= LEAST_WIDTH and height >= LEAST_HEIGHT:
            places.update(self._pane_places(area))
        if self.typing is not None and self.typing.is_wanted:
            rows = min(self.typing.wanted_rows, max(2, height // 2))
            places["typing-help"] = Region(0, height - 1 - rows, width, rows)
        return places

    def _pane_places(self, area: Region) -> Places:
        small = area.width < ONE_PANE_WIDTH or area.height + 2 < ONE_PANE_HEIGHT
        if self.zoomed or small:
            pane = self.pane or self.first_pane()
            return {} if pane.id is None else {pane.id: area}
        return self.arrange_panes(area)

    def _follow_places(self) -> None:
        """Lay out again when the scene asks for other places."""
        places = self._places(self.size)
        if places != self._shown_places:
            self._shown_places = places
            above = () if self.typing is None else (self.typing.help,)
            give_rooms((self.status, self.keys, *self.panes, *above), places)
            self.status.refresh(layout=True)  # a child's wish makes the screen place all of them again

    def relayout(self) -> None:
        """The places have changed for another reason than the scene."""
        self._follow_places()
        self.redraw()

    def focus_step(self, step: int) -> None:
        """Go to the next pane that is, or could be, on screen."""
        one = self.zoomed or len(self.visible_panes) < 2
        ring: list[Pane] = self.panes if one else self.visible_panes
        if not ring:
            return
        at = ring.index(self.pane) if self.pane in ring else -1
        self.set_focus(ring[(at + step) % len(ring)])
        self.relayout()

    # ---- keys

    @property
    def hears_keys(self) -> bool:
        """True while keys act at once: not while something is typed, and not before the first scene was drawn."""
        return self.prompt is None and self.scene is not None

    def handler_of_key(self, event: events.Key) -> str | None:
        """What a key does here, with the keys that the operator moved; the same as the bindings say."""
        if self._handlers is None:
            actions = [self.k2.actions[action_id] for action_id in self.HERE]
            self._handlers = {key: handler_of(action.id) for action in actions for key in action.keys}
        return self._handlers.get(event.character if event.is_printable and event.character else event.key)
