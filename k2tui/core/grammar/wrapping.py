"""What a collector puts around every line of a log: a machine's name in front, or JSON about it."""

from __future__ import annotations

import json
import re

from k2tui.core.lines import plain

_NAME = r"(?P<host>(?=[\w.-]*[A-Za-z])[A-Za-z0-9][\w.-]{0,62})"
_RECORD = re.compile(
    _NAME + r": ?(?=\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:"
    r"|\((?:Worker|VllmWorker|EngineCore|APIServer)\S* )"
)
"""A machine's name in front of a record of an engine: pdsh, clush and dsh write so, and so do many scripts."""
_HOST = re.compile(_NAME + ": ?")
_MOST_HOSTS = 512


class Wrapping:
    """Takes it off again. A machine's name is taken off every line once it stood in front of a record."""

    def __init__(self) -> None:
        self._hosts: set[str] = set()

    def inside(self, text: str) -> list[tuple[str, str]]:
        """(line, machine) of what stands inside; the line itself, without a machine, where there is nothing around."""
        if text.startswith('{"log":"'):
            return [(part, "") for part in _docker(text)]
        if (found := _RECORD.match(text)) is not None:
            if len(self._hosts) < _MOST_HOSTS:
                self._hosts.add(found["host"])
            return [(text[found.end() :], found["host"])]
        if self._hosts and (found := _HOST.match(text)) is not None and found["host"] in self._hosts:
            return [(text[found.end() :], found["host"])]
        return [(text, "")]

    def plain(self, text: str) -> str:
        """The last of what stands inside."""
        return self.inside(text)[-1][0]


def _docker(text: str) -> list[str]:
    """A line of docker's json-file driver: `{"log": ..., "stream": ..., "time": ...}`."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    log = found.get("log") if isinstance(found, dict) else None
    if not isinstance(log, str):
        return [text]
    return [plain(part) for part in re.split(r"[\r\n]", log) if part.strip()] or [""]
