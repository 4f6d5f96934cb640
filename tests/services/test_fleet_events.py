"""What is worth a line on the events list."""

from __future__ import annotations

from k2tui.core.events import Severity
from k2tui.core.launch import Cause, Launch, LaunchKind, LaunchPhase
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.settings import ServerSettings
from k2tui.core.verbs import VerbEvent
from k2tui.core.views import ServerStatus, ServerView
from k2tui.services.fleet_events import NodeTeller, ServerTeller

UP = LinkState(LinkPhase.UP)
CONNECTING = LinkState(LinkPhase.CONNECTING)
REFUSED = LinkState(LinkPhase.DOWN, code="refused", reason="gpu-a: connection refused", hint="is sshd up?")
KIMI = ServerSettings(name="kimi", node="gpu-a", profile="base")


def texts(teller: NodeTeller, *states: LinkState) -> list[str]:
    return [told[1] for told in map(teller.of_link, states) if told is not None]


def test_repeated_tries_are_one_event() -> None:
    states = (CONNECTING, REFUSED, CONNECTING, REFUSED, CONNECTING, REFUSED)
    assert texts(NodeTeller("gpu-a"), *states) == ["gpu-a: connection refused; is sshd up?"]


def test_a_loss_is_told_also_when_it_was_mended_before_anybody_looked() -> None:
    assert texts(NodeTeller("gpu-a"), UP, CONNECTING, UP) == ["connected", "the connection was lost", "connected"]


def test_a_first_look_at_what_is_down_is_no_news() -> None:
    assert ServerTeller("kimi").of_view(ServerView(KIMI, ServerStatus.DOWN)) is None


def test_a_crash_is_told_with_its_line() -> None:
    cause = Cause("torch.OutOfMemoryError: CUDA out of memory", 12, "TP3", "oom_weights")
    launch = Launch(phase=LaunchPhase.WEIGHTS, kind=LaunchKind.CRASHED, cause=cause)
    told = ServerTeller("kimi").of_view(ServerView(KIMI, ServerStatus.CRASHED, launch=launch))
    words = (
        "crashed in weights: GPU memory ran out while the weights were loaded:"
        " torch.OutOfMemoryError: CUDA out of memory"
    )
    assert told == ("kimi", words, Severity.BAD)


def test_while_k2tui_changes_it_the_verb_tells() -> None:
    assert ServerTeller("kimi").of_view(ServerView(KIMI, ServerStatus.LOADING, doing="starting")) is None


def test_of_a_verb_the_turning_points_are_kept() -> None:
    steps = [VerbEvent(kind, "kimi", 0.0, kind) for kind in ("preflight", "started", "phase", "progress", "proved")]
    told = [ServerTeller("kimi").of_verb(step) for step in steps]
    assert [event[1] for event in told if event is not None] == ["started", "proved"]
