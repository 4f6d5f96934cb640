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
_NO_HOST = re.compile(
    r"(?:Error|Exception|Warning|Exit|Interrupt)$|^(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|Error|Note)$"
)
"""What stands in front of a colon without being a machine."""
_MOST_HOSTS = 512
_SIGHTINGS = 2
"""In front of so many records a name is a machine's."""


class Wrapping:
    """Takes it off again. A machine's name is taken off every line once it stood in front of a record."""

    def __init__(self) -> None:
        self._hosts: dict[str, int] = {}
        """Name to how many records it stood in front of."""

    def inside(self, text: str) -> list[tuple[str, str]]:
        """(line, machine) of what stands inside; the line itself, without a machine, where there is nothing around."""
        if text.startswith('{"log":"'):
            return [(part, "") for part in _docker(text)]
        if (found := _RECORD.match(text)) is not None and _NO_HOST.search(found["host"]) is None:
            if len(self._hosts) < _MOST_HOSTS or found["host"] in self._hosts:
                others = max(self._hosts.values(), default=0) >= _SIGHTINGS
                self._hosts[found["host"]] = _SIGHTINGS if others else self._hosts.get(found["host"], 0) + 1
            return [(text[found.end() :], found["host"])]
        if (
            self._hosts
            and (found := _HOST.match(text)) is not None
            and self._is_host(found["host"], text[found.end() :])
        ):
            return [(text[found.end() :], found["host"])]
        return [(text, "")]

    def _is_host(self, name: str, rest: str) -> bool:
        """It stood in front of records, or stands as they do where other machines are known."""
        if _NO_HOST.search(name) is not None:
            return False
        if rest.lstrip().startswith("Traceback (most recent call last)") and max(self._hosts.values()) >= _SIGHTINGS:
            self._hosts.setdefault(name, _SIGHTINGS)
        return self._hosts.get(name, 0) >= _SIGHTINGS

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
