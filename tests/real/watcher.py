"""A fleet as the app holds it, with one server in focus: prints what it knows, a line of JSON a fifth of a second.

`python -m tests.real.watcher CONFIG SERVER`; it ends with its standard output.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from dataclasses import asdict

from k2tui.adapters.config_file import load_settings
from k2tui.cli import real_fleet
from k2tui.core.pace import Shown
from k2tui.core.views import ServerView

PERIOD_S = 0.2


async def watch(config: str, server: str) -> None:
    """Until nobody reads."""
    settings = load_settings(config, os.environ)
    fleet = real_fleet(settings)
    fleet.look_at(Shown(nodes=frozenset(settings.nodes), servers=frozenset({server}), server=server))
    await fleet.open()
    try:
        while True:
            sys.stdout.write(json.dumps(told(fleet.server(server))) + "\n")
            sys.stdout.flush()
            await asyncio.sleep(PERIOD_S)
    except BrokenPipeError:
        return
    finally:
        await fleet.close()


def told(view: ServerView) -> dict[str, object]:
    """What is known, with the unix time at which the figures came."""
    serving, lag_s = view.serving, time.time() - time.monotonic()
    return {
        "type": "seen",
        "at": time.time(),
        "status": view.status.value,
        "disagreement": view.disagreement,
        "witnesses": {witness.name: [witness.ok, witness.says] for witness in view.witnesses},
        "cause": None if view.launch is None or view.launch.cause is None else view.launch.cause.line.strip(),
        "figures_at": None if serving is None else serving.at + lag_s,
        "serving": None if serving is None else asdict(serving),
    }


if __name__ == "__main__":
    asyncio.run(watch(sys.argv[1], sys.argv[2]))
