"""The config that makes a found server one of the operator's own, to read and to copy."""

from __future__ import annotations

from k2tui.core.foreign.adoption import adoption_toml
from k2tui.core.found import FoundServer
from k2tui.core.views import ServerView
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.screens.describe import TextScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.grid_cells import foreign_words


class AdoptScreen(TextScreen):
    """The lines for the config; `y` copies them, and nothing else of what stands here."""

    def __init__(self, server: ServerView, found: FoundServer, path: str | None) -> None:
        name, node = server.settings.name, server.settings.node
        self.toml = adoption_toml(found, node, name)
        file = path or "your config (k2tui config path says where; k2tui config init makes one)"
        rows: list[Line | str] = [
            f"{name} was {foreign_words(server)}. k2tui looks at it, and changes nothing of it.",
            f"With these lines in {file}, a k2tui that is opened anew can start it. It does not end the one that runs: "
            "stop that as it was started, then press r here.",
            (),
            *(((line, "text"),) for line in self.toml.splitlines()),
        ]
        super().__init__(f"{node} › {name} › adopt", rows)

    def action_row_copy(self) -> None:
        self.k2.copy(self.toml, "the lines for the config")


def adopt_screen(server: ServerView, fleet: FleetLike) -> TextScreen:
    """What adopts this server; a sentence for one that is in the config."""
    name = server.settings.name
    if server.found is None:
        return TextScreen(name, [f"{name} is in your config: there is nothing to adopt."])
    return AdoptScreen(server, server.found, fleet.settings.path)
