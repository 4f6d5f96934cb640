"""What a node's kernel log says of its GPUs, and which program may read it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from k2tui.core.lines import plain
from k2tui.core.readings import Xid
from k2tui.core.xid import read_kernel_line, without_echoes

MOST_XIDS = 50
"""The newest; a storm fills no memory."""
OVERLAP_S = 5.0
"""Asked again of the time before, so that no line falls between two looks; lines that come twice count once."""
PERIOD_S = 30.0
REFUSED_PERIOD_S = 600.0
"""Who may not read the log now may be allowed to later."""
_MOST_WORDS = 160

_SOURCES = ("journal", "dmesg")
_NO_PERMISSION = (
    "no permission to read the kernel's log: add the login to the group systemd-journal or adm "
    "(or set kernel.dmesg_restrict=0)"
)
_NOTHING_THERE = "neither journalctl nor dmesg is there to read the kernel's log"
_TOO_SLOW = "reading the kernel's log took longer than 10 s"
_TIME_OUT_CODES = ("124", "137")


class KernelLog:
    """Asks the journal, then dmesg where the journal has nothing to say; `xids` are the newest errors."""

    def __init__(self) -> None:
        self.xids: tuple[Xid, ...] = ()
        self.unknown_because: str | None = None
        self.source = 0
        """Which program is asked next."""
        self._seen: dict[str, Xid] = {}
        self._refused: dict[str, str] = {}
        self._asked_until: float | None = None
        self._known_until: float | None = None
        self._readable = self._waits = False
        self.is_settled = False
        """The last question found the log, or found that nobody can read it; else another program is asked next."""

    def begin(self, *, rebooted: bool) -> None:
        """Another probe speaks; after a reboot the log is another one."""
        self.source, self._refused = 0, {}
        self._readable = self._waits = self.is_settled = False
        if rebooted:
            self.xids, self._seen, self._known_until = (), {}, None

    @property
    def period_s(self) -> float:
        """Between two questions, as things stand."""
        if self._waits or self._readable:
            return PERIOD_S
        return REFUSED_PERIOD_S if self.is_settled else 0.0

    def question(self, node_now: float | None) -> str:
        """What to ask the probe; `node_now`: unix time by the node's clock."""
        self._asked_until, self._waits = node_now, True
        source = _SOURCES[self.source]
        if source == "journal" and self._readable and self._known_until is not None:
            return f"ask kernel journal {max(0, math.floor(self._known_until - OVERLAP_S))}"
        return f"ask kernel {source}"

    def answered(self, lines: Sequence[str], code: str, boot_at: float | None) -> None:
        """What the program printed, and its exit code."""
        self._waits = False
        source = _SOURCES[self.source]
        fresh = [(line, xid) for line in lines if (xid := read_kernel_line(line, boot_at)) is not None]
        remarks = [plain(line).strip() for line in lines if not _is_stamped(line)]
        refusal = None if fresh else self._refusal(source, remarks, code)
        if refusal is not None:
            self._refuse(source, refusal)
            return
        self.unknown_because, self._readable, self.is_settled, self._refused = None, True, True, {}
        self._known_until = self._asked_until
        self._add(fresh)

    def _add(self, fresh: Iterable[tuple[str, Xid]]) -> None:
        new = {line: xid for line, xid in fresh if line not in self._seen}
        if new:
            together = sorted((self._seen | new).items(), key=lambda item: item[1].at or 0.0)
            self._seen = dict(together[-2 * MOST_XIDS :])
            self.xids = without_echoes(self._seen.values())[-MOST_XIDS:]

    def _refusal(self, source: str, remarks: Sequence[str], code: str) -> str | None:
        """Why the answer is none; None when it is one, be it an empty one."""
        said = " ".join(remarks)
        if "ermi" in said or "not seeing messages" in said:  # "Operation not permitted", "insufficient permissions"
            return _NO_PERMISSION
        if code == "127" or "No journal files" in said:
            return _NOTHING_THERE
        if code in _TIME_OUT_CODES:
            return _TOO_SLOW
        if source == "journal" and not self._readable and "No entries" in said:
            return "the journal has no messages of the kernel"
        if code != "0" and not (source == "journal" and "No entries" in said):
            return f"the kernel's log can't be read: {said[:_MOST_WORDS] or f'{source} ended with {code}'}"
        return None

    def _refuse(self, source: str, why: str) -> None:
        self._refused[source] = why
        self._readable = False
        self.is_settled = self.source + 1 == len(_SOURCES)
        if not self.is_settled:
            self.source += 1
            return
        self.source = 0
        told = list(self._refused.values())
        self.unknown_because = next((why for why in told if why == _NO_PERMISSION), None) or next(
            (why for why in told if why != _NOTHING_THERE), _NOTHING_THERE
        )


def _is_stamped(line: str) -> bool:
    """It is a message of the kernel, not a remark of the program that shows it."""
    return line[:1].isdigit() or line.startswith(("[", "<"))
