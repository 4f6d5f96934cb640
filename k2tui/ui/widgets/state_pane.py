"""What the witnesses of one server say, each with its age when it is late, and what was proved."""

from __future__ import annotations

from k2tui.core import words
from k2tui.core.views import ServerView, Witness
from k2tui.ui import present
from k2tui.ui.present import Freshness, freshness
from k2tui.ui.scene import LOOK_PERIOD_S, Scene
from k2tui.ui.spans import Line, cut, ends, width_of
from k2tui.ui.widgets.pane import Pane

_GLYPH = {True: "✓", False: "✗", None: "?"}
_ROLE = {True: "good", False: "bad", None: "muted"}

WITNESS_PERIOD_S: dict[str, float] = {"process": LOOK_PERIOD_S, "http": 30.0, "completion": 3600.0}
"""How often a witness is heard, where that differs from the probe's period. A completion is a thing of the past."""


def witness_lines(server: ServerView, now: float, width: int) -> list[Line]:
    """`✓ process  alive, pid 41233`; the completion is told by its proof."""
    shown = [witness for witness in server.witnesses if witness.name != "completion" or server.proof is None]
    return [_witness_line(witness, now, width) for witness in shown]


def _witness_line(witness: Witness, now: float, width: int) -> Line:
    period = WITNESS_PERIOD_S.get(witness.name, LOOK_PERIOD_S)
    fresh = freshness(now - witness.at, period)
    old = fresh in (Freshness.DIM, Freshness.GONE)
    says = words.UNKNOWN if fresh is Freshness.GONE else witness.says
    head: Line = (
        (f"{_GLYPH[witness.ok]} ", "stale" if old else _ROLE[witness.ok]),
        (f"{witness.name:<11}", "muted"),
        (cut(says, width - 20), "stale" if old else "text"),
    )
    late: Line = () if fresh is Freshness.FRESH else ((f"{present.age(now - witness.at)} old", "stale"),)
    return ends(head, late, width)


def proof_lines(server: ServerView, now: float, width: int) -> list[Line]:
    """What a real answer showed, when, and which effects of the flags it proved."""
    proof = server.proof
    if proof is None:
        return []
    when: Line = ()
    if server.proof_at is not None:
        when = ((f"{present.age(now - server.proof_at)} ago", "muted"),)
    room = width - width_of(when) - 1
    head: Line = (
        (f"{_GLYPH[proof.ok]} ", _ROLE[proof.ok]),
        (f"{'proof':<11}", "muted"),
        (cut(proof.text, room - 13), "text" if proof.ok else "bad"),
    )
    lines = [ends(head, when, width)]
    for check, passed, detail in proof.checks:
        if check == "completion" and passed:
            continue
        lines.append(
            (
                (f"{_GLYPH[passed]} ", _ROLE[passed]),
                (f"{check:<11}", "muted"),
                (cut(detail, width - 13), "text" if passed is not False else "bad"),
            )
        )
    return lines


class StatePane(Pane):
    """Witnesses and proof of the selected server."""

    title = "State"

    def show_server(self, server: ServerView | None, scene: Scene) -> None:
        """Draw what is known of this server's state."""
        if server is None:
            self.show([])
            return
        width = self.inner_width
        lines = [*proof_lines(server, scene.now, width), *witness_lines(server, scene.now, width)]
        self.show(lines or [(("nothing was seen of it yet", "muted"),)])
