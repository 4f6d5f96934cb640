"""docs/screenshot.svg and docs/fleet.svg: the demo as it looks while a server loads, drawn by the app itself."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from k2tui import cli  # noqa: E402  (the checkout's own)
from k2tui.core.launch import LaunchPhase  # noqa: E402
from k2tui.core.verbs import VerbEvent  # noqa: E402
from k2tui.core.views import ServerStatus  # noqa: E402
from k2tui.demo.fleet import DemoFleet  # noqa: E402
from k2tui.services.fleet import Fleet  # noqa: E402
from k2tui.ui.app import K2App  # noqa: E402

SIZE = (120, 36)
NODES = 4
FRACTION = 0.75
PATIENCE_S = 120.0


async def main() -> None:
    """Open the demo, start the server that is down, and draw both screens in mid-load."""
    async with DemoFleet(NODES) as demo:
        await demo.opened()
        fleet = cli.demo_fleet(demo)
        app = K2App(fleet)
        async with app.run_test(size=SIZE) as pilot:
            await until(lambda: bool(down(fleet)) and not unknown(fleet), "the fleet")
            name = down(fleet)[0]
            verb = asyncio.ensure_future(drain(fleet.start(name)))
            await until(lambda: fraction(fleet, name) >= FRACTION, "the bar")
            await pilot.pause()
            save(app, "fleet.svg")
            app.go_server(name)
            await until(lambda: len(fleet.ring(name)) > 0, "the log")
            await pilot.pause(0.3)  # two pulses: the new screen has drawn its rows
            save(app, "screenshot.svg")
            await verb
        await fleet.close()


def down(fleet: Fleet) -> list[str]:
    return [server.settings.name for server in fleet.servers() if server.status is ServerStatus.DOWN]


def unknown(fleet: Fleet) -> list[str]:
    doubtful = (ServerStatus.UNKNOWN, ServerStatus.LOADING, ServerStatus.UNPROVED)
    return [server.settings.name for server in fleet.servers() if server.status in doubtful]


def fraction(fleet: Fleet, name: str) -> float:
    launch = fleet.server(name).launch
    if launch is None or launch.phase is not LaunchPhase.WEIGHTS or launch.progress is None:
        return 0.0
    return launch.progress.fraction


async def drain(steps: AsyncIterator[VerbEvent]) -> None:
    async for _ in steps:
        pass


async def until(holds: Callable[[], bool], what: str) -> None:
    end = asyncio.get_running_loop().time() + PATIENCE_S
    while not holds():
        if asyncio.get_running_loop().time() > end:
            raise SystemExit(f"{what} did not come")
        await asyncio.sleep(0.05)


def save(app: K2App, name: str) -> None:
    """Write the screen; where it names this machine's Python, it says python3."""
    svg = app.export_screenshot(title="k2tui demo").replace(sys.executable, "python3")
    path = ROOT / "docs" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg, encoding="utf-8")
    print(path)


if __name__ == "__main__":
    asyncio.run(main())
