"""What a rule of the alerts is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from k2tui.core.alerting.rows import Row
from k2tui.core.events import Severity

R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class Rule(Generic[R]):
    """One thing to be told of, and when it is over. It looks at each row of one kind."""

    name: str
    means: str
    """One sentence for the list of rules."""
    on: type[R]
    """The kind of row."""
    when: Callable[[R], bool | None]
    """Whether it holds; None: nobody can tell, which neither raises nor ends anything."""
    until: Callable[[R], bool | None]
    """Whether it is over. Between `when` and `until` lies the margin that keeps an alert from coming and going."""
    say: Callable[[R], str]
    """The alert's sentence; it is asked once, as the alert is raised."""
    severity: Severity = Severity.WARNING
    for_s: float = 0.0
    """`when` must hold for so long before it is raised, and `until` before it ends; by the readings' own times."""
    loudness: Callable[[R], Severity] | None = None
    """The severity where it depends on what was seen."""
    happened_at: Callable[[R], float | None] | None = None
    """Unix time at which it happened last, for what happens in a moment: that is the alert's beginning, and what
    happens after an operator acknowledged it is a new alert."""
    lasts_s: float | None = None
    """It is over so long after its beginning, whatever is seen; None: only `until` ends it."""


def opposite(holds: Callable[[R], bool | None]) -> Callable[[R], bool | None]:
    """Holds where the other does not; unknown stays unknown."""

    def over(row: R) -> bool | None:
        verdict = holds(row)
        return None if verdict is None else not verdict

    return over
