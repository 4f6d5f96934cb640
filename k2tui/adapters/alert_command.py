"""The operator's own command for alerts: run on this machine, without a shell."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from k2tui.core.alerts import fit
from k2tui.core.errors import K2Error

LIMIT_S = 10.0
"""A command that takes longer is killed, with what it started."""
MOST_SAID = 2000
"""Bytes of its standard error that are read."""
HINT = "see command under [alerts] in the config"


class AlertCommand:
    """Runs one command at a time to its end; satisfies services.alarm.CommandRunner."""

    def __init__(self, env: Mapping[str, str] | None = None, *, limit_s: float = LIMIT_S) -> None:
        self._env = dict(os.environ if env is None else env)
        self._limit_s = limit_s

    async def run(self, argv: Sequence[str], told: str) -> None:
        """Run it with `told` (JSON) in K2TUI_ALERT_JSON and on its standard input. Raises K2Error when it failed."""
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={**self._env, "K2TUI_ALERT_JSON": told},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise self._failed(argv, f"can't be run: {reason}") from error
        try:
            said = await asyncio.wait_for(_spoken(process, told.encode("utf-8", "replace")), self._limit_s)
        except asyncio.TimeoutError as error:
            raise self._failed(argv, f"was killed: it took longer than {self._limit_s:.0f} s") from error
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode != 0:
            words = fit(said.decode("utf-8", "replace"))
            raise self._failed(argv, f"failed (exit {process.returncode})" + (f": {words}" if words else ""))

    def _failed(self, argv: Sequence[str], what: str) -> K2Error:
        name = fit(argv[0]) if argv else ""
        return K2Error(f"the command for alerts, {name}, {what}", code="alert_command", subject=name, hint=HINT)


async def _spoken(process: asyncio.subprocess.Process, told: bytes) -> bytes:
    """Tell it, and wait for its end; the beginning of what it said on standard error."""
    assert process.stdin is not None
    assert process.stderr is not None
    with contextlib.suppress(ConnectionError):  # it need not read
        process.stdin.write(told)
        await process.stdin.drain()
    process.stdin.close()
    said = b""
    while piece := await process.stderr.read(MOST_SAID):
        said = (said + piece)[:MOST_SAID]
    await process.wait()
    return said
