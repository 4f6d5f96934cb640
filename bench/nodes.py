"""`nodes.py COUNT HOME`: so many played nodes, and a home whose config names them. Says `ready`, then obeys its stdin.

`cut N` drops every byte to the last N nodes, `mend` lets them through again; the end of stdin ends it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from k2tui.core.settings import Settings
from k2tui.demo.played import PlayedFleet

ENGINE_PORT = "engine-port"
"""The file in the home that tells where the HTTP side of all servers is."""


async def main() -> None:
    """Play until stdin closes."""
    count, home = int(sys.argv[1]), Path(sys.argv[2])
    loop = asyncio.get_running_loop()
    async with PlayedFleet(count) as fleet:
        (home / "config.toml").write_text(config(fleet.settings), encoding="utf-8")
        state = home / ".local" / "state" / "k2tui"
        state.mkdir(parents=True, exist_ok=True)
        (state / "known_hosts").write_text(fleet.known_hosts(), encoding="ascii")
        engine = next(iter(fleet.settings.servers.values())).port
        (home / ENGINE_PORT).write_text(str(engine), encoding="ascii")
        print("ready", flush=True)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            word, _, number = line.strip().partition(" ")
            if word == "cut":
                fleet.cut(fleet.names[-int(number) :])
            elif word == "mend":
                fleet.mend()
            print(word, flush=True)


def config(settings: Settings) -> str:
    """The settings as a file."""
    lines = []
    for node in settings.nodes.values():
        lines += [f"[nodes.{node.name}]", f"host = {_text(node.host)}", f"user = {_text(node.user)}"]
        lines += [f"port = {node.port}", f"identity = {_text(node.identity)}", f"disks = {json.dumps(node.disks)}", ""]
    for server in settings.servers.values():
        lines += [f"[servers.{server.name}]", f"node = {_text(server.node)}", f"port = {server.port}"]
        lines += [f"profile = {_text(server.profile)}", 'gpus = "0-7"', ""]
    profile = settings.profiles["base"]
    lines += ["[profiles.base]", f"cmd = '''{profile.cmd}'''", "", "[profiles.reason]", 'extends = "base"']
    return "\n".join([*lines, 'flags = { reasoning-parser = "kimi_k2", tool-call-parser = "kimi_k2" }', ""])


def _text(value: str | None) -> str:
    return json.dumps(value or "")


if __name__ == "__main__":
    asyncio.run(main())
