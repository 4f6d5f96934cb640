"""The audit log: one line of JSON for every change that an operator made, and who made it."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from k2tui.core.errors import K2Error
from k2tui.core.secrets import mask


class AuditFile:
    """Appends to one file that only its owner can read; satisfies services.doors.Audit."""

    def __init__(self, path: Path, *, user: str, clock: Callable[[], float] = time.time) -> None:
        """`user` is user@host of the person at the keyboard."""
        self._path = path
        self._user = user
        self._clock = clock

    def write(self, *, node: str, action: str, subject: str, detail: str, result: str) -> None:
        """Append one line. Raises K2Error when it can't: a change that can't be written down isn't made."""
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock())),
            "user": self._user,
            "node": node,
            "action": action,
            "subject": subject,
            "diff": mask(detail),
            "result": mask(result),
        }
        line = (json.dumps(entry, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
        try:
            descriptor = self._open()
            try:
                while line:
                    line = line[os.write(descriptor, line) :]
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._refused(error.strerror or type(error).__name__) from error

    def _open(self) -> int:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        if self._path.is_symlink():
            raise self._refused("it is a symbolic link")
        descriptor = os.open(self._path, flags, 0o600)
        found = os.fstat(descriptor)
        reason = None
        if not stat.S_ISREG(found.st_mode):
            reason = "it is no regular file"
        elif found.st_uid != os.geteuid():
            reason = "it belongs to another user"
        elif found.st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
        if reason is not None:
            os.close(descriptor)
            raise self._refused(reason)
        return descriptor

    def _refused(self, reason: str) -> K2Error:
        return K2Error(
            f"the audit log {self._path} can't be written: {reason}",
            code="audit",
            subject=str(self._path),
            hint="nothing is changed without it; free the disk or move that file away",
        )
