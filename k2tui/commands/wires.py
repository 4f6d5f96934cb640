"""What a plain command is handed: the way to its settings and to a fleet with real doors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from k2tui.core.settings import Settings
    from k2tui.services.doors import Script
    from k2tui.services.fleet import Fleet


@dataclass(frozen=True)
class Wires:
    """Made by cli.py, the only place that knows adapters."""

    settings: Callable[[], Settings]
    """Reads and checks the config; raises ConfigErrors."""
    fleet: Callable[[Settings], Fleet]
    """A fleet on these settings, not opened yet."""
    script: Callable[[str], Script]
    """A remote script by its name."""
