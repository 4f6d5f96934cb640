"""How often a server is asked, and whether it may be made to generate: what k2tui allows itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from k2tui.core.pace import Shown

IDLE_PERIOD_S = 30.0
"""Each look leaves a line in the server's log: one that has nothing to do is not asked more often."""
DOUBT_PERIOD_S = 2.0
"""While a server is suspected of being dead, whoever looks or not."""


class Sight(Enum):
    """How much an operator sees of a server now."""

    FOCUSED = "focused"
    """Its details are on screen."""
    ON_SCREEN = "on screen"
    """A row of it is."""
    HIDDEN = "hidden"
    DETACHED = "detached"
    """Nobody looks at all."""


_BUSY_PERIOD_S = {Sight.FOCUSED: 2.0, Sight.ON_SCREEN: 5.0, Sight.HIDDEN: 15.0, Sight.DETACHED: 30.0}
"""Log lines carry the figures in between."""
LOGGED_PERIOD_S = 10.0
"""Of one of many rows, when its log tells as well."""
_METRICS_PERIOD_S = {Sight.FOCUSED: 2.0, Sight.ON_SCREEN: 30.0}
"""`/metrics` of a real server is 100 KB, and costs twice as much as the rest of a look."""


def sight_of(shown: Shown, *, server: str) -> Sight:
    """How much is seen of one server."""
    if not shown.attached:
        return Sight.DETACHED
    if shown.server == server:
        return Sight.FOCUSED
    return Sight.ON_SCREEN if server in shown.servers else Sight.HIDDEN


def http_period_s(sight: Sight, *, busy: bool | None, doubt: bool = False, log_tells: bool = False) -> float:
    """Seconds between two looks at a server's figures. `busy` None: nobody knows yet, so it may be.

    `log_tells`: batch lines of its log came just now, and say the same for nothing.
    """
    if doubt:
        return DOUBT_PERIOD_S
    if busy is False:
        return IDLE_PERIOD_S
    if log_tells and sight is Sight.ON_SCREEN:
        return LOGGED_PERIOD_S
    return _BUSY_PERIOD_S[sight]


def metrics_period_s(sight: Sight, *, busy: bool | None) -> float | None:
    """Seconds between two looks at `/metrics` beside the main figures; None: not beside them now."""
    return None if busy is False else _METRICS_PERIOD_S.get(sight)


def may_generate(generate: str, *, doubt: bool, capturing: bool, job_running: bool, asked: bool = False) -> bool:
    """May a server be made to generate now? The one function for every caller.

    A completion does, and so does SGLang's `/health`. `generate` is the config's on-doubt | never | always. While
    a capture or a job is on, nothing may: it would land in the captured data. `asked`: the operator asked for it (a
    start is verified), which needs no doubt and no leave of the config.
    """
    if capturing or job_running:
        return False
    if asked:
        return True
    return generate == "always" or (generate == "on-doubt" and doubt)


_CAPTURE_FLAGS = ("--debug-tensor-dump-output-folder", "--forward-hooks")
_CAPTURE_VARIABLES = ("DUMPER_ENABLE", "SGLANG_HS_DUMP_DIR")
_OFF = ("", "0", "false", "none")


def shows_capture(argv: Sequence[str], env: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> bool:
    """Does a server's command or environment show that it keeps what passes through it, whoever sent it?

    Flags and variables of SGLang 0.5.6 to 0.5.23, and of a patch for hidden states. What only returns hidden states
    to the one who asks for them (`--enable-return-hidden-states`) keeps nothing.
    """
    flags = {word.partition("=")[0] for word in argv if word.startswith("--")}
    variables = dict(env)
    return any(flag in flags for flag in _CAPTURE_FLAGS) or any(
        variables.get(name, "").lower() not in _OFF for name in _CAPTURE_VARIABLES
    )
