"""Which changes are worth a line on the events list."""

from __future__ import annotations

from k2tui.core.events import Severity
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.verbs import VerbEvent
from k2tui.core.views import NodeView, ServerStatus, ServerView
from k2tui.core.words import PHASE_WORDS, failure_words

Told = tuple[str, str, Severity]
"""(subject, sentence, severity)."""

_VERB_SEVERITY = {
    "proved": Severity.GOOD,
    "failed": Severity.BAD,
    "stopped": Severity.INFO,
    "started": Severity.INFO,
    "evidence": Severity.INFO,
    "rollback": Severity.WARNING,
}
_STATUS_SEVERITY = {
    ServerStatus.CRASHED: Severity.BAD,
    ServerStatus.HUNG: Severity.BAD,
    ServerStatus.DEGRADED: Severity.BAD,
    ServerStatus.MISCONFIGURED: Severity.BAD,
    ServerStatus.STALE: Severity.WARNING,
    ServerStatus.READY: Severity.GOOD,
}

Shape = tuple[object, ...]
"""What of a node or server is worth showing at once; its figures may wait a moment."""


def node_shape(node: NodeView) -> Shape:
    """How the link stands, and which figures there are at all."""
    reading = node.reading
    told = (reading.host_at is None, len(reading.gpus), reading.no_gpus_because, reading.gpus_trouble, reading.xids)
    return (node.link.phase, *told)


def server_shape(server: ServerView) -> Shape:
    """Its state, how far it came, and which figures there are at all."""
    launch = server.launch
    came = None if launch is None else (launch.phase, launch.kind, launch.progress)
    return (
        server.status,
        server.doing,
        came,
        server.proof,
        server.serving is None,
        server.run,
        server.planned,
        server.disagreement,
        server.bench,
        server.last_bench,
        server.base,
    )


class NodeTeller:
    """Tells when a node's connection came or went; repeated tries are one event."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: tuple[LinkPhase, str | None] | None = None

    def of_link(self, state: LinkState) -> Told | None:
        """The event of this state, None when it is no news."""
        if state.phase is LinkPhase.CONNECTING and self._last == (LinkPhase.UP, None):
            # It broke and is being mended already: the moment in between was never seen.
            self._last = (LinkPhase.DOWN, "lost")
            return self._name, "the connection was lost", Severity.WARNING
        if state.phase not in (LinkPhase.UP, LinkPhase.DOWN, LinkPhase.BLOCKED):
            return None
        news = (state.phase, state.code)
        if news == self._last:
            return None
        self._last = news
        if state.phase is LinkPhase.UP:
            return self._name, "connected", Severity.GOOD
        words = state.reason or "out of reach"
        return self._name, words if state.hint is None else f"{words}; {state.hint}", Severity.BAD


class ServerTeller:
    """Tells a server's changes of status, and the steps of verbs."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: ServerStatus | None = None

    def of_view(self, view: ServerView) -> Told | None:
        """The event of a changed status; a step of a verb of ours tells its own."""
        if view.status is self._last or view.doing is not None:
            return None
        first, self._last = self._last is None, view.status
        if first and view.status in (ServerStatus.UNKNOWN, ServerStatus.DOWN):
            return None
        words = view.status.value
        launch = view.launch
        if launch is not None and launch.cause is not None and view.status in _STATUS_SEVERITY:
            why = failure_words(launch.cause.failure)
            words = f"{words} in {PHASE_WORDS[launch.phase]}: {why}: {launch.cause.line.strip()}"
        elif view.status is ServerStatus.HUNG and view.disagreement is not None:
            words = f"{words}: {view.disagreement}"
        return self._name, words, _STATUS_SEVERITY.get(view.status, Severity.INFO)

    def of_verb(self, step: VerbEvent) -> Told | None:
        """The event of a verb's step; progress and the closing `done` are not kept."""
        if step.type not in _VERB_SEVERITY:
            return None
        return self._name, step.text, _VERB_SEVERITY[step.type]
