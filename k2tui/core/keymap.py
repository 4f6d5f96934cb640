"""The key map: each action with an id, a key and one meaning that holds on every screen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a key can do."""

    id: str
    """`scope.verb`; what `[keys]` in the config names."""
    keys: tuple[str, ...]
    """Textual key names; the first is the one that is shown."""
    label: str
    """A word or two for the last line of a screen."""
    meaning: str
    """One sentence for help and the palette."""
    scope: str = "anywhere"
    """anywhere | server | log | sheet: where it acts."""


ACTIONS: tuple[Action, ...] = ()
"""Filled by the key map of the design; actions of later work are absent, not dead."""
