"""Several servers restarted together: what became of each, and which were not touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from k2tui.core.errors import ExitCode
from k2tui.core.verbs import VerbEvent


@dataclass(frozen=True)
class Several:
    """What is known so far."""

    names: tuple[str, ...]
    """In the order in which they are restarted."""
    begun: frozenset[str] = frozenset()
    codes: dict[str, ExitCode] = field(default_factory=dict)
    """How each ended."""

    def after(self, event: VerbEvent) -> Several:
        """The same after one more event."""
        codes = self.codes if event.exit_code is None else {**self.codes, event.server: event.exit_code}
        return replace(self, begun=self.begun | {event.server}, codes=codes)

    @property
    def verified(self) -> tuple[str, ...]:
        """Those that showed what they should."""
        return tuple(name for name in self.names if self.codes.get(name) is ExitCode.DONE)

    @property
    def failed(self) -> tuple[str, ...]:
        """Those that were begun and did not."""
        return tuple(name for name in self.names if name in self.begun and self.codes.get(name) is not ExitCode.DONE)

    @property
    def untouched(self) -> tuple[str, ...]:
        """Those that nothing was done to."""
        return tuple(name for name in self.names if name not in self.begun)

    @property
    def is_good(self) -> bool:
        """True when all are verified."""
        return len(self.verified) == len(self.names)

    @property
    def code(self) -> ExitCode:
        """The first that is not 0."""
        return next(
            (code for code in self.codes.values() if code is not ExitCode.DONE),
            ExitCode.DONE if self.is_good else ExitCode.BAD,
        )

    @property
    def sentence(self) -> str:
        """`2 of 4 are verified; kimi-3 is not; not touched: kimi-4`."""
        parts = [f"{len(self.verified)} of {len(self.names)} are verified"]
        if self.failed:
            parts.append(f"{_joined(self.failed)} {'is' if len(self.failed) == 1 else 'are'} not")
        if self.untouched:
            parts.append(f"not touched: {_joined(self.untouched)}")
        return "; ".join(parts)


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names)
