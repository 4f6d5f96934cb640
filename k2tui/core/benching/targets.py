"""Which server a benchmark is about: a URL as it was typed, or the command of a server that runs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from k2tui.core.benching.plan import BenchTarget
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import has_flag

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<user>[^/?#]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s/?#:@\[\]]+)(?::(?P<port>\d{1,5}))?"
    r"(?P<path>/[^\s?#]*)?(?P<rest>[?#].*)?",
    re.IGNORECASE,
)
_CHAT = "/chat/completions"
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_url(name: str) -> bool:
    """It names a server by its URL: no server of a config is called so."""
    return name.lower().startswith(("http://", "https://"))


def url_target(url: str, api_key: str | None = None) -> BenchTarget:
    """The server behind a URL: its base, with or without `/v1`, or its route for chats.

    Raises K2Error (usage) for what is no such URL, and for one with a password in it: a URL is shown and kept.
    """
    found = _URL.fullmatch(url.strip())
    if found is None:
        raise _unusable("it is no URL of a server")
    if found["user"]:
        raise _unusable("it holds a name or a password, and a URL is shown and kept")
    if found["rest"]:
        raise _unusable("it must end with its path")
    scheme, path = found["scheme"].lower(), (found["path"] or "").rstrip("/")
    port = int(found["port"] or _DEFAULT_PORTS[scheme])
    if not 0 < port < 65536:
        raise _unusable(f"there is no port {port}")
    return BenchTarget(
        name=url.strip().rstrip("/"),
        host=found["host"].strip("[]"),
        port=port,
        path=_chat_path(path),
        tls=scheme == "https",
        api_key=api_key,
    )


def base_url(target: BenchTarget) -> str:
    """What the other routes of the same server are below: without `/v1` and the route for chats."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    prefix = target.path.removesuffix(_CHAT).removesuffix("/v1")
    return f"{'https' if target.tls else 'http'}://{host}:{target.port}{prefix}"


def _chat_path(path: str) -> str:
    if path.endswith(_CHAT):
        return path
    return f"{path}{_CHAT}" if path.endswith("/v1") else f"{path}/v1{_CHAT}"


def _unusable(why: str) -> K2Error:
    return K2Error(  # the URL itself is not said again: it may hold a password
        f"this URL can't be measured: {why}",
        code="usage",
        hint="give it as http://HOST:PORT, and a key by --api-key-env NAME",
        exit_code=ExitCode.USAGE,
    )


def decodes_speculatively(argv: Sequence[str]) -> bool | None:
    """By its command: a draft model makes several tokens a step. None where no command is known."""
    if not argv:
        return None
    return any(has_flag(argv, name) for name in ("speculative-algorithm", "speculative-config"))
