"""The one way to change anything: read-only, confirmation and the audit log are kept here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from k2tui.core.errors import ExitCode, K2Error
from k2tui.services.doors import Audit

T = TypeVar("T")


@dataclass
class Ongoing:
    """A change of many steps that is being made."""

    result: str = "done"
    """What the audit log says when it has come to its end."""


class Gate:
    """Lets a change through, or says why not."""

    def __init__(self, audit: Audit, *, read_only: bool = False) -> None:
        self._audit = audit
        self.read_only = read_only

    def check(self, *, node: str, subject: str, action: str, confirm_needed: str | None, confirm: str | None) -> None:
        """Raise K2Error when the change may not happen: read-only, or a confirmation that is due and missing."""
        if self.read_only:
            raise K2Error(
                f"{action} {subject}: k2tui is read-only",
                code="read_only",
                subject=subject,
                hint="start it without --read-only and without read_only = true",
                exit_code=ExitCode.USAGE,
            )
        if confirm_needed is not None and confirm != node:
            raise K2Error(
                f"{action} {subject} needs a confirmation: {confirm_needed}",
                code="confirm_needed",
                subject=subject,
                hint=f"confirm with the node's name: --confirm {node}",
                exit_code=ExitCode.USAGE,
            )

    async def change(
        self,
        do: Callable[[], Awaitable[T]],
        *,
        node: str,
        subject: str,
        action: str,
        detail: str = "",
        confirm_needed: str | None = None,
        confirm: str | None = None,
    ) -> T:
        """Do it, with its beginning and its end in the audit log. A change that can't be written down isn't made."""
        self.check(node=node, subject=subject, action=action, confirm_needed=confirm_needed, confirm=confirm)
        self._audit.write(node=node, action=action, subject=subject, detail=detail, result="began")
        try:
            result = await do()
        except BaseException as error:
            failed = f"failed: {_outcome(error)}"
            self._audit.write(node=node, action=action, subject=subject, detail=detail, result=failed)
            raise
        self._audit.write(node=node, action=action, subject=subject, detail=detail, result="done")
        return result

    @contextmanager
    def changing(
        self,
        *,
        node: str,
        subject: str,
        action: str,
        detail: str = "",
        confirm_needed: str | None = None,
        confirm: str | None = None,
    ) -> Iterator[Ongoing]:
        """The same around a change that tells its steps; `left`: whoever followed it went away before its end."""
        self.check(node=node, subject=subject, action=action, confirm_needed=confirm_needed, confirm=confirm)

        def write(result: str) -> None:
            self._audit.write(node=node, action=action, subject=subject, detail=detail, result=result)

        write("began")
        ongoing = Ongoing()
        try:
            yield ongoing
        except BaseException as error:
            left = isinstance(error, (GeneratorExit, asyncio.CancelledError))
            write("left" if left else f"failed: {_outcome(error)}")
            raise
        write(ongoing.result)


def _outcome(error: BaseException) -> str:
    return error.code if isinstance(error, K2Error) else type(error).__name__
