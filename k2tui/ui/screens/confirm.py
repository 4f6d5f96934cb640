"""Questions before something is stopped, cut off or trusted. Cancel has the focus."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core import words
from k2tui.core.errors import K2Error
from k2tui.core.flags import flag_value
from k2tui.core.settings import NodeSettings
from k2tui.core.views import NodeView, ServerView
from k2tui.ui.screens.question import EDGES, WIDTH, QuestionDialog
from k2tui.ui.spans import Line, wrapped
from k2tui.ui.widgets.frame import Button

LABEL = 12


class ConfirmDialog(QuestionDialog):
    """A few rows, perhaps a name to type, and Cancel first. It is answered with the node's name."""

    def __init__(self, title: str, rows: Sequence[Line], button: Button, *, node: str, type_name: bool) -> None:
        super().__init__(title, lambda _width: list(rows), [button], names=(node,) if type_name else ())
        self._node = node

    def answered(self, answer: str) -> str:
        return self._node


def fact(label: str, text: str, role: str = "text") -> Line:
    """One row: what, and what it is."""
    return ((f"{label:<{LABEL}}", "muted"), (text, role))


def must_type(node: NodeSettings) -> bool:
    """True where the node's name is to be typed."""
    return node.confirm == "always"


def stop_dialog(server: ServerView, node: NodeSettings) -> ConfirmDialog:
    """Stop this server? Names all that will be gone."""
    name, run, launch = server.settings.name, server.run, server.launch
    rows: list[Line] = [fact("server", name, "strong"), fact("node", f"{node.name} ({node.host})")]
    if run is not None:
        rows.append(fact("run", f"{run.run_id}, profile {run.profile or words.UNKNOWN}"))
        rows.append(fact("pid", words.UNKNOWN if run.child is None else str(run.child.pid)))
        rows.append(fact("started by", run.started_by or words.UNKNOWN))
    model = launch.model if launch is not None and launch.model else _flag(server, "model-path")
    rows.append(fact("model", model or words.UNKNOWN))
    return ConfirmDialog(
        f"Stop {name} on {node.name}",
        [*rows, (), (("Requests that run now are cut off.", "warning"),)],
        Button("stop", f"Stop {name}", danger=True),
        node=node.name,
        type_name=must_type(node),
    )


def _flag(server: ServerView, name: str) -> str | None:
    return None if server.run is None else flag_value(server.run.argv, name)


def confirm_dialog(word: str, name: str, node: NodeSettings, error: K2Error) -> ConfirmDialog:
    """The node says that somebody is served just now."""
    return ConfirmDialog(
        f"{word.capitalize()} {name} on {node.name}",
        [((text, "warning"),) for text in wrapped(error.message, WIDTH - EDGES, 4)],
        Button("yes", f"{word.capitalize()} anyway", danger=True),
        node=node.name,
        type_name=must_type(node),
    )


def adopt_dialog(name: str, node: NodeSettings, error: K2Error) -> ConfirmDialog:
    """Start this found server anew as one of ours? The fleet has looked at what a stop of it would hit."""
    return ConfirmDialog(
        f"Start {name} on {node.name} anew as one of yours",
        [
            *(((text, "warning"),) for text in wrapped(error.message, WIDTH - EDGES, 12)),
            (),
            (("Requests that run now are cut off.", "warning"),),
        ],
        Button("adopt", f"Adopt {name}", danger=True),
        node=node.name,
        type_name=True,
    )


def trust_dialog(node: NodeView) -> ConfirmDialog:
    """The node offers a key that nobody has seen."""
    name, link = node.settings.name, node.link
    rows: list[Line] = [
        fact("node", name, "strong"),
        fact("host", node.settings.host),
        fact("key", link.fingerprint or words.UNKNOWN, "strong"),
        (),
        (("This key is in none of your known_hosts files. Compare the", "text"),),
        (("fingerprint with the one that the machine's owner tells you.", "text"),),
    ]
    return ConfirmDialog(
        f"Unknown host key of {name}", rows, Button("trust", "Trust this key", danger=True), node=name, type_name=False
    )
