"""The config that makes a found server one of the operator's own, to read and to copy."""

from __future__ import annotations

from collections.abc import Mapping

from k2tui.core.foreign.adoption import adoption_toml
from k2tui.core.found import FoundServer
from k2tui.core.keymap import moved
from k2tui.core.views import ServerView
from k2tui.ui.actions import EVERYWHERE, bindings
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.screens.describe import TextScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.grid_cells import foreign_words


class AdoptScreen(TextScreen):
    """The lines for the config; `y` copies them, and nothing else of what stands here."""

    HERE = (*EVERYWHERE, "server.restart")
    BINDINGS = bindings(*HERE)
    SHOWN = ("row.copy", "server.restart", "move.down", "move.up", "app.help", "app.back")

    def __init__(self, server: ServerView, found: FoundServer, path: str | None, keys: Mapping[str, str]) -> None:
        """`keys`: those that the operator moved."""
        name, node = server.settings.name, server.settings.node
        self.name_of_server = name
        self.toml = adoption_toml(found, node, name)
        file = path or "your config (k2tui config path says where; k2tui config init makes one)"
        key = next(action.keys[0] for action in moved(keys) if action.id == "server.restart")
        rows: list[Line | str] = [
            f"{name} was {foreign_words(server)}. k2tui looks at it, and changes nothing of it.",
            f"With these lines in {file}, a k2tui that is opened anew can start it. It does not end the one that runs. "
            f"Or start it anew from here with {key}: k2tui writes the lines, stops it by its identity, and starts the "
            "same command as one of yours, after you have typed the node's name.",
            (),
            *(((line, "text"),) for line in self.toml.splitlines()),
        ]
        super().__init__(f"{node} › {name} › adopt", rows)

    def action_server_restart(self) -> None:
        """Write them, and start it anew as one of ours, after the node's name was typed."""
        self.k2.ask_adopt(self.name_of_server)

    def action_row_copy(self) -> None:
        self.k2.copy(self.toml, "the lines for the config")


def adopt_screen(server: ServerView, fleet: FleetLike) -> TextScreen:
    """What adopts this server; a sentence for one that is in the config."""
    name = server.settings.name
    if server.found is None:
        return TextScreen(name, [f"{name} is in your config: there is nothing to adopt."])
    return AdoptScreen(server, server.found, fleet.settings.path, fleet.settings.keys)
