"""What was looked at before a launch, and what stands in its way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Weight(Enum):
    """How much a finding weighs."""

    FINE = "fine"
    NOTE = "note"
    """Worth knowing; nothing goes wrong."""
    WARN = "warn"
    """May fail, or will not do what was meant."""
    BLOCK = "block"
    """Must fail: the start is refused."""
    UNKNOWN = "unknown"
    """Could not be looked at."""


@dataclass(frozen=True, slots=True)
class SettingCheck:
    """What is known of one flag or variable on this build."""

    name: str
    """As `Setting.name` has it: `--tp-size`, or a variable's name."""
    weight: Weight
    text: str
    """A few words for a table: `known`, `no effect in this version`, `gone: use --cuda-graph-max-bs-decode`."""
    basis: str = ""
    """Where that is known from, one sentence; empty for what the build itself says."""
    replacement: str | None = None
    """With dashes, when there is one."""


@dataclass(frozen=True, slots=True)
class PreflightItem:
    """One thing that was looked at."""

    name: str
    """ssh | program | port | model | disk | gpus | flags | env | clients."""
    weight: Weight
    text: str
    """A few words: `port 30000 will be free`."""
    hint: str | None = None
    """What to do about it."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """All that was looked at before a launch."""

    items: tuple[PreflightItem, ...]
    checks: tuple[SettingCheck, ...] = ()
    """One for each flag and variable of what is to be run."""

    @property
    def blocks(self) -> tuple[PreflightItem, ...]:
        """What must fail."""
        return tuple(item for item in self.items if item.weight is Weight.BLOCK)

    @property
    def warnings(self) -> tuple[PreflightItem, ...]:
        """What may fail."""
        return tuple(item for item in self.items if item.weight is Weight.WARN)
