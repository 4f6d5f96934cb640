"""A run with secrets planted wherever an operator can put one: none of them is shown, kept or passed on in the open.

A real fleet on the demo's node: real sh, real /proc, real files. The places where an operator wrote a secret (the
config), and where the engine itself has it (its own command line and log), are theirs.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from k2tui.adapters.audit_file import AuditFile
from k2tui.adapters.config_file import ConfigFile
from k2tui.adapters.config_writer import TomlConfigWriter
from k2tui.adapters.state.db import StateDb
from k2tui.cli import real_doors
from k2tui.core.config_document import document_of
from k2tui.core.errors import ExitCode
from k2tui.core.keymap import ACTIONS
from k2tui.core.profiles import command_text, resolve
from k2tui.core.secrets import MASK
from k2tui.core.settings import ProfileSettings, Settings
from k2tui.core.toml_text import toml_text
from k2tui.core.verbs import Manner, OnFailure, ProfileChange, VerbEvent
from k2tui.demo.fleet import DemoFleet
from k2tui.services.fleet import Fleet
from k2tui.ui.app import K2App
from k2tui.ui.screens.dialog import Dialog
from tests.ui.helpers import FakeCopier, screen_text, shows, until

NODE, SERVER = "gpu-a", "kimi"
MARK = "plantedsecret"
"""In every secret, so that a piece of any of them is found."""
ARGUMENT, FLAG = f"sk-{MARK}0argument0123", f"{MARK}-1-flag"
VARIABLE, SETUP = f"hf_{MARK}2Variable0123456789", f"{MARK}-3-setup"
PASTED, CHANGED = f"sk-{MARK}4pasted0123", f"{MARK}-5-changed"
ENGINE = b"sglang.launch_server"
LEAVE = Manner(on_failure=OnFailure.LEAVE)


@dataclass
class Seen:
    """Command lines and environments of other processes, looked at while something goes on."""

    command_lines: set[bytes] = field(default_factory=set)

    def look(self) -> None:
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            # the engine's own command holds what its operator put there, and its own children have its title or it
            if MARK.encode() in line and ENGINE not in line:
                self.command_lines.add(line)

    @asynccontextmanager
    async def while_it_goes_on(self) -> AsyncIterator[None]:
        async def keep_looking() -> None:
            while True:
                self.look()
                await asyncio.sleep(0.02)

        looking = asyncio.ensure_future(keep_looking())
        try:
            yield
        finally:
            looking.cancel()


@dataclass
class Planted:
    """The demo with secrets in its config, and where k2tui keeps things."""

    demo: DemoFleet
    home: Path
    settings: Settings
    config: ConfigFile
    told: list[VerbEvent] = field(default_factory=list)

    @asynccontextmanager
    async def fleet(self) -> AsyncIterator[Fleet]:
        state = StateDb(self.state / "state.db")
        doors = replace(
            real_doors(self.demo.make_link),
            audit=AuditFile(self.state / "audit.jsonl", user="ann@desk"),
            history=state,
            past=state,
            builds=state,
            kept_runs=state,
            alert_runner=None,
            config=TomlConfigWriter(self.config),
        )
        fleet = Fleet(self.settings, doors, simulated=True)
        await fleet.open()
        try:
            await fleet.settle()
            yield fleet
        finally:
            await fleet.close()

    @property
    def state(self) -> Path:
        return self.home / "state" / "k2tui"

    async def play(self, steps: Any) -> VerbEvent:
        """Its last step."""
        async for event in steps:
            self.told.append(event)
        return self.told[-1]

    def kept(self) -> dict[str, bytes]:
        """Every file that k2tui keeps, on this side and on the node; not the engine's own log."""
        places = [self.state, self.demo.layout.node(NODE) / ".k2tui"]
        return {
            str(path): path.read_bytes()
            for place in places
            for path in place.rglob("*")
            if path.is_file() and not path.is_symlink() and path.name != "log"
        }


@asynccontextmanager
async def planted(directory: Path) -> AsyncIterator[Planted]:
    async with DemoFleet(1, root=directory / "demo", up=False, pace=0.05) as demo:
        profile = ProfileSettings(
            "planted",
            extends="reason",
            flags={"api-key": ARGUMENT, "admin-api-key": FLAG},
            env={"HF_TOKEN": VARIABLE},
        )
        setup = f"export WANDB_API_KEY={SETUP}; echo HF_TOKEN=$HF_TOKEN; echo WANDB_API_KEY=$WANDB_API_KEY"
        server = replace(demo.settings.servers[SERVER], profile="planted", setup=setup)
        settings = replace(
            demo.settings,
            servers={**demo.settings.servers, SERVER: server},
            profiles={**demo.settings.profiles, "planted": profile},
        )
        home = directory / "operator"
        (home / "state" / "k2tui").mkdir(parents=True, mode=0o700)
        path = home / "config.toml"
        path.write_text(toml_text(document_of(settings)), encoding="utf-8")
        config = ConfigFile(str(path), {})
        yield Planted(demo, home, config.load(), config)


def test_what_is_planted_is_really_there(tmp_path: Path) -> None:
    """Else the rest would prove nothing."""

    async def look() -> None:
        async with planted(tmp_path) as made:
            profile = resolve(made.settings, "planted", made.settings.servers[SERVER])
            assert {ARGUMENT, FLAG} <= set(profile.argv)
            assert profile.env["HF_TOKEN"] == VARIABLE
            assert MASK in command_text(profile)

    asyncio.run(look())


async def test_no_planted_secret_is_shown_kept_or_passed_on_in_the_open(tmp_path: Path) -> None:
    seen = Seen()
    async with planted(tmp_path) as made:
        async with made.fleet() as fleet:
            async with seen.while_it_goes_on():
                done = await made.play(fleet.start(SERVER))
            assert done.exit_code is ExitCode.DONE, done.text
            first = fleet.server(SERVER).run
            assert first is not None
            engine = Path(f"/proc/{first.child.pid if first.child else 0}")
            assert ARGUMENT.encode() in (engine / "cmdline").read_bytes(), "the engine has its key"
            assert VARIABLE.encode() in (engine / "environ").read_bytes()
            assert SETUP.encode() in (engine / "environ").read_bytes()
            assert MARK in Path(first.log_path).read_text(encoding="utf-8"), "the engine's own log says it"
            change = ProfileChange(cmd=f"{pasted_command(made)} --api-key {PASTED}", env={"MY_TOKEN": CHANGED})
            async with seen.while_it_goes_on():
                done = await made.play(fleet.restart(SERVER, change, manner=LEAVE))
            assert done.exit_code is ExitCode.DONE, done.text
            done = await made.play(fleet.restart(SERVER, None, manner=LEAVE))
            assert done.exit_code is ExitCode.DONE, done.text
            async with seen.while_it_goes_on():
                await made.play(fleet.verify(SERVER))
            await every_screen(fleet)
        assert not list((made.demo.layout.node(NODE) / ".k2tui").rglob("env.sh")), "it is gone once it was read"
        (made.state / "known_hosts").write_bytes(made.demo.trusted_hosts.read_bytes())
        for command, text in zip(commands(), await all_printed(made, commands()), strict=True):
            assert text, command
            assert MARK not in text, command
            if "--json" in command:
                assert [json.loads(line) for line in text.splitlines()], command
        holding = [path for path, data in made.kept().items() if MARK.encode() in data]
        assert len(made.kept()) > 10
        assert holding == []
        assert MARK not in repr(made.told)
    assert seen.command_lines == set()


def pasted_command(made: Planted) -> str:
    """What an operator has in a file of theirs."""
    base = made.settings.profiles["base"].cmd
    assert base is not None
    return base


LEADS_TO = {
    "r": "LaunchSheet",
    "d": "TextScreen",
    "H": "RunsScreen",
    "l": "ServerScreen",
    "h": "HistoryScreen",
    "5": "EventsScreen",
    "6": "GpusScreen",
    "v": "VerifyDialog",
    "s": "ConfirmDialog",
    "?": "ChooseScreen",
}
"""Keys, and the screens that have the most to say of a server."""


async def every_screen(fleet: Fleet) -> None:
    """Every key of the key map, and what it leads to, drawn and looked at."""
    copier = FakeCopier()
    app = K2App(fleet, copier=copier)
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, SERVER)
        for key, name in LEADS_TO.items():
            await go_home(app, pilot)
            await pilot.press(key)
            await until(pilot, partial(is_on, app, name), f"{key} leads to {name}")
            await looked_at(app, pilot, key)
            if name == "LaunchSheet":
                await pilot.pause(Dialog.DEAF_S)
                await pilot.press("X")
                await until(pilot, lambda: "this command on" in screen_text(app), "the dry run")
                await looked_at(app, pilot, "dry run")
            for more in () if isinstance(app.screen, Dialog) else ("pagedown", "G", "tab", "enter"):
                await pilot.press(more)
                await looked_at(app, pilot, f"{key} {more}")
        for action in sorted(ACTIONS, key=lambda each: each.id.startswith("rows.mark")):  # marks would stay
            if action.id in ("app.quit", "app.leave", "app.back"):
                continue
            await go_home(app, pilot)
            first = {"sheet": "r", "log": "l", "plot": "h", "runs": "H"}.get(action.scope)
            for key in (*([first] if first else []), action.keys[0]):
                await pilot.press(key)
                await looked_at(app, pilot, action.id)
    assert all(MARK not in text for text in (*copier.texts, *copier.files.values()))
    assert any(MASK in text for text in copier.texts), "the command was copied"


def is_on(app: K2App, name: str) -> bool:
    return type(app.screen).__name__ == name


async def looked_at(app: K2App, pilot: Pilot[Any], how: str) -> None:
    """What is drawn holds none of it; a screen that was pushed meanwhile is looked at too."""
    screen = None
    while screen is not app.screen:
        screen = app.screen
        await pilot.pause(0.06)
        text = screen_text(app)
        assert MARK not in text, f"{how} on {type(app.screen).__name__}:\n{text}"


async def go_home(app: K2App, pilot: Pilot[Any]) -> None:
    """The first screen, whatever is open or was being typed, and its first server."""
    await pilot.press("escape", "escape")
    while len(app.screen_stack) > 1:
        app.pop_screen()
        await pilot.pause()
    await pilot.press("1", "g")


def commands() -> list[tuple[str, ...]]:
    """Every command that says something of a server, and those with most text also as text."""
    texts = [("servers",), ("runs", SERVER), ("config", "show"), ("logs", SERVER)]
    told = [
        *(("servers",), ("nodes",), ("gpus",), ("status",), ("runs", SERVER), ("flags", SERVER), ("config", "show")),
        *(("verify", SERVER), ("start", SERVER, "--dry-run"), ("restart", SERVER, "--dry-run"), ("doctor", NODE)),
        ("restart", SERVER, "--dry-run", "--set", f"api-key={CHANGED}", "--env", f"HF_TOKEN={CHANGED}"),
    ]
    return [*texts, *((*words, "--json") for words in told)]


async def all_printed(made: Planted, asked: Sequence[tuple[str, ...]]) -> list[str]:
    """All that these print, a few at once."""
    room = asyncio.Semaphore(3)

    async def printed(command: tuple[str, ...]) -> str:
        state = made.home / "state"
        env = {**os.environ, "HOME": str(made.home), "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(made.home)}
        async with room:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "k2tui", "--config", str(made.config.path), *command),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=env,
            )
            out, _ = await process.communicate()
        return out.decode()

    return await asyncio.gather(*map(printed, asked))
