"""An audit log in memory."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class MemoryAudit:
    """Keeps (node, action, subject, detail, result); refuses when it is told to be full."""

    lines: list[tuple[str, str, str, str, str]] = field(default_factory=list)
    full: bool = False

    def write(self, *, node: str, action: str, subject: str, detail: str, result: str) -> None:
        if self.full:
            raise OSError("No space left on device")
        self.lines.append((node, action, subject, detail, result))

    @property
    def results(self) -> list[str]:
        return [line[-1] for line in self.lines]
