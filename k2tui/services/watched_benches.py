"""What is known of the benchmarks of one server, beside what its watch sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from k2tui.core.benching.live import BenchLive
    from k2tui.core.benching.result import BenchResult


@dataclass
class WatchedBenches:
    """Whoever changes one of these refreshes the watch."""

    live: BenchLive | None = None
    """The one that goes on now."""
    last: BenchResult | None = None
    """The newest that was kept."""
    base: BenchResult | None = None
    """What the operator made its base."""
