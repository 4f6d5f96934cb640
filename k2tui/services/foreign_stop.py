"""Stops an engine that k2tui did not start: by its identity, with the tree below it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from k2tui.core.errors import K2Error
from k2tui.core.foreign.stopping import ForeignLook, parse_look
from k2tui.core.found import FoundServer
from k2tui.core.stop_report import StopReport, parse_stop
from k2tui.services.doors import NodeLink, Script

QUIT_S = 5
"""How long SGLang may take to end its tree by itself after a QUIT."""
LOOK_LIMIT_S = 20.0
KILL_LIMIT_S = 60.0
"""What a stop may take on top of its patience."""


def stop_foreign_script(script: Callable[[str], Script]) -> Script:
    """The script with what the scripts of runs share in front."""
    return Script("stop_foreign", f"{script('runs').text}\n{script('stop_foreign').text}")


class ForeignStopper:
    """Looks at, and stops, what somebody else started on one node."""

    def __init__(self, link: NodeLink, script: Script) -> None:
        """`script`: of `stop_foreign_script`."""
        self._link, self._script = link, script

    async def look(self, name: str, found: FoundServer) -> ForeignLook:
        """What a stop of it would hit, looked at now; changes nothing."""
        process = found.process.identity
        args = (str(process.pid), process.boot_id, str(process.start_ticks), "look")
        done = await self._link.run(self._script, args, timeout_s=LOOK_LIMIT_S)
        look = parse_look(done.stdout)
        if look is None:
            raise self._broke_off("look at", name, "look_failed", done.code)
        return look

    async def stop(self, name: str, found: FoundServer, *, grace_s: float) -> StopReport:
        """TERM, then QUIT where the engine has a use for it, then KILL. K2Error where anything of it lives on."""
        process = found.process.identity
        quit_s = QUIT_S if found.engine == "sglang" else 0
        args = (str(process.pid), process.boot_id, str(process.start_ticks), "stop", f"{grace_s:.0f}", str(quit_s))
        done = await self._link.run(self._script, args, timeout_s=grace_s + quit_s + KILL_LIMIT_S)
        report = parse_stop(done.stdout)
        if report is None or not report.is_whole:
            raise self._broke_off("stop of", name, "stop_failed", done.code)
        if report.left or (report.was_running and not (report.asked or report.killed)):
            why = report.sentence if report.left else "it belongs to another user"
            raise K2Error(
                f"{name} could not be stopped: {why}",
                code="stop_failed",
                subject=name,
                hint="what can't be killed waits in the kernel, often for a GPU or a file system"
                if report.left
                else None,
            )
        return report

    def _broke_off(self, what: str, name: str, code: str, exit_code: int) -> K2Error:
        node = self._link.name
        return K2Error(
            f"the {what} {name} on {node} broke off with exit {exit_code}",
            code=code,
            subject=node,
            hint=f"k2tui doctor {node}",
        )
