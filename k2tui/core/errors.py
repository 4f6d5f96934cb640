"""What can go wrong, said so that an operator can act on it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every plain command (product contract)."""

    DONE = 0
    """Done and true."""
    BAD = 1
    """Done, but the answer is bad: not verified, crashed, refused because it already runs."""
    USAGE = 2
    """Wrong words or a wrong config; nothing was done."""
    MISSING = 3
    """No such thing, or it is not running."""
    UNREACHABLE = 4
    """The node can't be reached."""
    INTERRUPTED = 130


class K2Error(Exception):
    """One sentence on what happened and to what, and one on what to do about it."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        subject: str | None = None,
        hint: str | None = None,
        exit_code: ExitCode = ExitCode.BAD,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """A stable word for programs, such as `already_running` or `host_key_changed`."""
        self.subject = subject
        """The node, server or file that it happened to."""
        self.hint = hint
        """What to do, in one sentence; None when there is nothing to do."""
        self.exit_code = exit_code

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}; {self.hint}"


def no_such(kind: str, name: str, known: Iterable[str]) -> K2Error:
    """The config has no node or server (`kind`) of this name; what it has is the way out."""
    return K2Error(
        f"no {kind} {name!r} in the config",
        code=f"no_such_{kind}",
        subject=name,
        hint=f"{kind}s: {', '.join(known) or 'none'}",
        exit_code=ExitCode.MISSING,
    )


class ConfigErrors(K2Error):
    """Everything that is wrong with a config, one line each."""

    def __init__(self, lines: tuple[str, ...], *, subject: str | None = None) -> None:
        super().__init__("\n".join(lines), code="config", subject=subject, exit_code=ExitCode.USAGE)
        self.lines = lines
