"""A server that is known by its URL alone: what it tells of its own system."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping

from k2tui.core.benching.keys import system_of
from k2tui.core.benching.plan import BenchTarget
from k2tui.core.benching.result import BenchSystem
from k2tui.core.benching.targets import base_url
from k2tui.core.effects.answers import as_dict, as_list
from k2tui.core.errors import K2Error
from k2tui.core.printable import printable
from k2tui.services.doors import HttpDoor

AskUrl = Callable[[str], HttpDoor]
"""A client of the server at a base URL. The caller closes it."""

_ROUTES = ("/v1/models", "/server_info", "/get_server_info", "/model_info", "/get_model_info", "/version")
"""SGLang's under their newer and older names, and vLLM's; none of them makes it generate."""
_NOT_SET = frozenset({"max_total_num_tokens", "max_req_input_len", "status", "version"})
"""What stands beside the arguments in SGLang's `/server_info` and is another at each start."""
_MOST = 400


async def system_at(target: BenchTarget, ask: AskUrl | None) -> BenchSystem:
    """What the server behind a URL says of itself; what it does not tell is None."""
    if ask is None:
        return BenchSystem()
    door = ask(base_url(target))
    try:
        said = await asyncio.gather(*(_said(door, route, target.api_key) for route in _ROUTES))
    finally:
        await door.aclose()
    models, new_info, old_info, new_model, old_model, version = said
    info, model = new_info or old_info, new_model or old_model
    engine = "sglang" if info else "vllm" if "version" in version else None
    listed = next(iter(as_list(models.get("data"))), None)
    path = _text(info.get("model_path")) or _text(model.get("model_path")) or _text(as_dict(listed).get("id"))
    return system_of(
        argv=("server", *_arguments(info)),
        engine=engine,
        model=path,
        version=_text(info.get("version")) or _text(version.get("version")),
        quantization=_text(info.get("quantization")),
        secrets=() if target.api_key is None else (target.api_key,),
    )


async def _said(door: HttpDoor, route: str, api_key: str | None) -> Mapping[str, object]:
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    try:
        reply = await door.ask("GET", route, headers=headers)
        return as_dict(reply.json()) if reply.status == 200 else {}
    except (K2Error, ValueError, RecursionError):
        return {}


def _arguments(info: Mapping[str, object]) -> Iterator[str]:
    """The arguments that it runs with, as a command would have them; what is off or not set is left out."""
    for name, value in sorted(info.items())[:_MOST]:
        if name in _NOT_SET or value is None or value is False or not name.replace("_", "").isalnum():
            continue
        if value is True:
            yield f"--{name}"
        elif isinstance(value, str | int | float) and value != "":
            yield f"--{name}={printable(str(value))[:_MOST]}"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
