"""How the connection to a node stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class LinkPhase(Enum):
    """How the connection to a node stands."""

    IDLE = "idle"
    CONNECTING = "connecting"
    UP = "up"
    DOWN = "down"
    """Lost or refused; the next try is planned."""
    BLOCKED = "blocked"
    """Will not be tried again before the operator acts: a host key, a login, a broken ssh config."""


@dataclass(frozen=True, slots=True)
class LinkState:
    """The connection, with the reason when it is not up."""

    phase: LinkPhase = LinkPhase.IDLE
    code: str | None = None
    """host_key_unknown | host_key_changed | login_refused | refused | unreachable | no_such_host | timeout | lost |
    no_shell | config."""
    reason: str | None = None
    hint: str | None = None
    fingerprint: str | None = None
    """SHA256:... of the key that was offered, for host_key_unknown and host_key_changed."""
    attempt: int = 0
    retry_at: float | None = None
    """time.monotonic of the next try; None when none is planned."""
    round_trip_s: float | None = None
