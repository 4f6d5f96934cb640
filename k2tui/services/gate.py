"""The one way to change anything: read-only, confirmation and the audit log are kept here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from k2tui.core.errors import ExitCode, K2Error
from k2tui.services.doors import Audit

T = TypeVar("T")


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
            outcome = error.code if isinstance(error, K2Error) else type(error).__name__
            self._audit.write(node=node, action=action, subject=subject, detail=detail, result=f"failed: {outcome}")
            raise
        self._audit.write(node=node, action=action, subject=subject, detail=detail, result="done")
        return result
