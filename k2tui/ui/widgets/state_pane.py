"""What the witnesses of one server say, each with its age when it is late, and what was proved."""

from __future__ import annotations

from k2tui.core import words
from k2tui.core.fields import IDLE_PERIOD_S, look_period_s
from k2tui.core.verdicts import Outcome
from k2tui.core.views import ServerView, Witness
from k2tui.ui import present
from k2tui.ui.present import Freshness, freshness
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, cut, ends, width_of, wrapped
from k2tui.ui.widgets.effect_rows import effect_lines, engine_lines
from k2tui.ui.widgets.grid_cells import foreign_words
from k2tui.ui.widgets.pane import Pane

_GLYPH = {True: "✓", False: "✗", None: "?"}
_ROLE = {True: "good", False: "bad", None: "muted"}

WITNESS_PERIOD_S: dict[str, float] = {
    **dict.fromkeys(("port", "http", "scheduler", "metrics"), IDLE_PERIOD_S),
    "completion": 3600.0,
    "heartbeat": 3600.0,
}
"""How often a witness is heard, where that differs from a look at the process."""
LATELY_S = 10.0
PAST = ("completion", "heartbeat")
"""Witnesses of something that happened once: how long ago that was is part of what they say."""


def witness_lines(server: ServerView, now: float, width: int) -> list[Line]:
    """`✓ process  alive, pid 41233`; the completion is told by its proof."""
    shown = [witness for witness in server.witnesses if witness.name != "completion" or server.proof is None]
    return [_witness_line(witness, now, width, look_period_s(server)) for witness in shown]


def _witness_line(witness: Witness, now: float, width: int, look_s: float) -> Line:
    period = WITNESS_PERIOD_S.get(witness.name, look_s)
    fresh = freshness(now - witness.at, period)
    old = fresh in (Freshness.DIM, Freshness.GONE)
    says = words.UNKNOWN if fresh is Freshness.GONE else witness.says
    head: Line = (
        (f"{_GLYPH[witness.ok]} ", "stale" if old else _ROLE[witness.ok]),
        (f"{witness.name:<11}", "muted"),
        (cut(says, width - 20), "stale" if old else "text"),
    )
    age = present.age(now - witness.at)
    late: Line = () if fresh is Freshness.FRESH else ((f"{age} old", "stale"),)
    if witness.name in PAST and now - witness.at > LATELY_S:
        late = ((f"{age} ago", "muted"),)
    return ends(head, late, width)


def proof_lines(server: ServerView, now: float, width: int, *, rows: int = 1) -> list[Line]:
    """What a real answer showed, when, and which effects of the flags it proved, each in at most `rows`."""
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
    told = [effect for effect in proof.effects if (effect.check, effect.outcome) != ("completion", Outcome.PROVED)]
    return [*lines, *engine_lines(server, width), *effect_lines(told, width, most=rows)]


def disagreement_lines(server: ServerView, width: int, rows: int) -> list[Line]:
    """Where its witnesses contradict each other, in one sentence; empty while they agree."""
    if server.disagreement is None:
        return []
    said = wrapped(f"! {server.disagreement}", width, rows)
    return [((text, "bad"),) for text in said]


class StatePane(Pane):
    """Witnesses and proof of the selected server."""

    title = "State"

    def show_server(self, server: ServerView | None, scene: Scene) -> None:
        """Draw what is known of this server's state."""
        if server is None:
            self.show([])
            return
        width = self.inner_width
        lines = [
            *(((text, "warning"),) for text in wrapped(foreign_words(server), width, 2)),
            *disagreement_lines(server, width, 2),
            *proof_lines(server, scene.now, width),
            *witness_lines(server, scene.now, width),
        ]
        self.show(lines or [(("nothing was seen of it yet", "muted"),)])
