"""Questions before something is stopped, cut off or trusted. Cancel has the focus."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Region, Size
from textual.widget import Widget
from textual.widgets import Input

from k2tui.core import words
from k2tui.core.errors import K2Error
from k2tui.core.flags import flag_value
from k2tui.core.settings import NodeSettings
from k2tui.core.views import NodeView, ServerView
from k2tui.ui.actions import DIALOG, bindings
from k2tui.ui.layout import Places
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.spans import Line, wrapped
from k2tui.ui.widgets.frame import Button, Buttons

WIDTH = 72
LABEL = 12


class ConfirmDialog(Dialog):
    """A few rows, perhaps a name to type, and Cancel first."""

    BINDINGS = bindings(*DIALOG)

    def __init__(self, title: str, rows: Sequence[Line], button: Button, *, node: str, type_name: bool) -> None:
        self._buttons = Buttons([Button("", "Cancel"), button])
        self._typed = Input(compact=True, id="name") if type_name else None
        super().__init__()
        self._title, self._rows, self._node = title, list(rows), node
        self._complaint = ""

    def fields(self) -> list[Widget]:
        return [self._buttons] if self._typed is None else [self._typed, self._buttons]

    def box_size(self, size: Size) -> Size:
        return Size(WIDTH, len(self._rows) + 5 + (2 if self._typed is not None else 0))

    def field_places(self, inner: Region) -> Places:
        places = {"buttons": Region(inner.x, inner.bottom - 1, inner.width, 1)}
        if self._typed is not None:
            places["name"] = Region(inner.x + 26, inner.bottom - 3, inner.width - 26, 1)
        return places

    def draw(self) -> None:
        rows: list[Line] = [(), *self._rows, ()]
        if self._typed is not None:
            self._typed.cursor_blink = False
            rows.append((("Type the node's name: ", "text"), (self._complaint, "bad")))
        self.frame.show(((self._title, "title-focus"),), rows)

    def pressed(self, answer: str) -> None:
        if not answer:
            self.dismiss(None)
        elif self._typed is not None and self._typed.value != self._node:
            self._complaint = ""
            self.k2.say(f"that is not the name of the node: {self._node}", "warning")
            self.set_focus(self._typed)
        else:
            self.dismiss(self._node)


def _fact(label: str, text: str, role: str = "text") -> Line:
    return ((f"{label:<{LABEL}}", "muted"), (text, role))


def _must_type(node: NodeSettings) -> bool:
    return node.confirm == "always"


def stop_dialog(server: ServerView, node: NodeSettings) -> ConfirmDialog:
    """Stop this server? Names all that will be gone."""
    name, run, launch = server.settings.name, server.run, server.launch
    rows: list[Line] = [_fact("server", name, "strong"), _fact("node", f"{node.name} ({node.host})")]
    if run is not None:
        rows.append(_fact("run", f"{run.run_id}, profile {run.profile or words.UNKNOWN}"))
        rows.append(_fact("pid", words.UNKNOWN if run.child is None else str(run.child.pid)))
        rows.append(_fact("started by", run.started_by or words.UNKNOWN))
    model = launch.model if launch is not None and launch.model else _flag(server, "model-path")
    rows.append(_fact("model", model or words.UNKNOWN))
    return ConfirmDialog(
        f"Stop {name} on {node.name}",
        [*rows, (), (("Requests that run now are cut off.", "warning"),)],
        Button("stop", f"Stop {name}", danger=True),
        node=node.name,
        type_name=_must_type(node),
    )


def _flag(server: ServerView, name: str) -> str | None:
    return None if server.run is None else flag_value(server.run.argv, name)


def confirm_dialog(word: str, name: str, node: NodeSettings, error: K2Error) -> ConfirmDialog:
    """The node says that somebody is served just now."""
    return ConfirmDialog(
        f"{word.capitalize()} {name} on {node.name}",
        [((text, "warning"),) for text in wrapped(error.message, WIDTH - 6, 4)],
        Button("yes", f"{word.capitalize()} anyway", danger=True),
        node=node.name,
        type_name=_must_type(node),
    )


def trust_dialog(node: NodeView) -> ConfirmDialog:
    """The node offers a key that nobody has seen."""
    name, link = node.settings.name, node.link
    rows: list[Line] = [
        _fact("node", name, "strong"),
        _fact("host", node.settings.host),
        _fact("key", link.fingerprint or words.UNKNOWN, "strong"),
        (),
        (("This key is in none of your known_hosts files. Compare the", "text"),),
        (("fingerprint with the one that the machine's owner tells you.", "text"),),
    ]
    return ConfirmDialog(
        f"Unknown host key of {name}", rows, Button("trust", "Trust this key", danger=True), node=name, type_name=False
    )
