"""What the system's ssh means by what it prints on stderr."""

from __future__ import annotations

import re

from k2tui.adapters.trouble import link_error, login_refused
from k2tui.core.errors import K2Error

_MEANS: tuple[tuple[str, str, str], ...] = (
    ("host_key_changed", "the host key of {node} has changed", "IDENTIFICATION HAS CHANGED|REVOKED HOST KEY"),
    (
        "host_key_unknown",
        "the host key of {node} is not known",
        "host key is known for|Host key verification failed|authenticity of host",
    ),
    (
        "login_refused",
        "",
        r"Permission denied(?: \(|, please)|Too many authentication failures|No more authentication methods",
    ),
    (
        "config",
        "ssh can't use its configuration for {node}",
        r"Bad configuration option|terminating, \d+ bad|garbage at end of line|Can't open user config file|"
        r"[Mm]issing argument|Bad owner or permissions|unsupported option|extra arguments|no argument after keyword",
    ),
    ("no_such_host", "no host is named as {node} says", "Could not resolve hostname|Name or service not known"),
    ("unreachable", "there is no route to {node}", "No route to host|Network is unreachable"),
    ("refused", "{node} refused the connection", "connect to (?:host|address) .+ Connection refused"),
    ("timeout", "{node} did not answer", "timed out|Timeout, server"),
    (
        "lost",
        "the connection to {node} was lost",
        r"Connection (?:to .+ )?(?:closed|reset|aborted)|Broken pipe|kex_exchange|lost connection|banner exchange|"
        r"from master failed|hello exchange failed|Control socket connect|client_loop: send disconnect",
    ),
)
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{20,}")


def read_stderr(node: str, who: str, code: int, stderr: bytes) -> K2Error | None:
    """The K2Error that ssh's own words stand for; None when they are the remote command's."""
    if code != 255:
        return None
    said = stderr.decode("utf-8", "replace")
    for word, message, pattern in _MEANS:
        found = re.search(pattern, said)
        if found is None:
            continue
        line = _line_of(said, found.start())
        if word == "login_refused":
            return login_refused(node, who, f": {line}")
        return link_error(word, node, f"{message.format(node=node)}: {line}")
    return None


def fingerprint_in(stderr: bytes) -> str | None:
    """The SHA256 fingerprint that ssh shows with a changed key."""
    found = _FINGERPRINT.search(stderr.decode("utf-8", "replace"))
    return found[0] if found else None


def _line_of(said: str, at: int) -> str:
    start = said.rfind("\n", 0, at) + 1
    return said[start:].split("\n", 1)[0].strip(" \r@")
