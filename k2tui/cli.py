"""The front door: words in, the right verb with real doors behind it. The only place that knows adapters."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from k2tui import __version__
from k2tui.commands.arguments import UsageError, build_parser, plain_names
from k2tui.core.errors import ExitCode, K2Error

if TYPE_CHECKING:
    from k2tui.adapters.config_file import ConfigFile
    from k2tui.commands.output import Output
    from k2tui.commands.wires import Wires
    from k2tui.core.settings import NodeSettings, Settings
    from k2tui.demo.fleet import DemoFleet
    from k2tui.services.doors import NodeLink
    from k2tui.services.fleet import Fleet, FleetDoors
    from k2tui.ui.app import K2App

CALM_COLLECTING = (20_000, 20, 50)
"""What the app makes is freed by counting; looking for cycles as often as usual costs half a percent of a core."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is the answer."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["--version"]:
        print(f"k2tui {__version__}")
        return int(ExitCode.DONE)
    try:
        args = build_parser().parse_args(plain_names(words))
    except UsageError as error:
        return _unknown_words(error, as_json="--json" in words)
    try:
        return _dispatch(args)
    except K2Error as error:
        return _output(args).error(error)
    except KeyboardInterrupt:
        return _output(args).interrupted()
    except BrokenPipeError:
        _say_no_more()
        return int(ExitCode.DONE)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _say_no_more()
        sys.stderr.write(f"k2tui: the answer can't be written: {error.strerror}\n")
        return int(ExitCode.BAD)


def _say_no_more() -> None:
    """What was not written yet would fail once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(args: argparse.Namespace) -> int:
    match args.command:
        case None:
            return _control_room(args)
        case "config":
            from k2tui.adapters.config_file import ConfigFile
            from k2tui.commands import config

            return config.main(args, ConfigFile(args.config, os.environ))
        case "diagnose":
            from k2tui.commands import diagnose

            return diagnose.main(args)
        case "start" | "restart" | "undo" | "stop" | "verify" | "resume" | "adopt":
            from k2tui.commands import verbs

            return verbs.main(args, wires(args))
        case "bench":
            from k2tui.commands import bench

            return bench.main(args, wires(args))
        case "flags":
            from k2tui.commands import flags

            return flags.main(args, wires(args))
        case "runs":
            from k2tui.commands import runs

            return runs.main(args, wires(args))
        case "nodes" | "servers":
            from k2tui.commands import tables

            return tables.main(args, wires(args))
        case "gpus":
            from k2tui.commands import gpus

            return gpus.main(args, wires(args))
        case "status":
            from k2tui.commands import status

            return status.main(args, wires(args))
        case "logs":
            from k2tui.commands import logs

            return logs.main(args, wires(args))
        case "doctor":
            from k2tui.commands import doctor

            return doctor.main(args, wires(args))
        case "watch":
            from k2tui.commands.watch import watch_settings

            return _app(args, watch_settings(args.path, wires(args)), looking_fleet, watch=True)
        case "demo":
            return _demo(args)
        case _:
            raise AssertionError(args.command)


def wires(args: argparse.Namespace) -> Wires:
    """The way to settings, fleets and scripts for a plain command."""
    from k2tui.adapters.config_file import ConfigFile
    from k2tui.adapters.scripts import script
    from k2tui.commands.wires import Wires

    file = ConfigFile(args.config, os.environ)
    return Wires(settings=lambda: load(args, file), fleet=partial(real_fleet, file=file), script=script)


def load(args: argparse.Namespace, file: ConfigFile) -> Settings:
    """The settings of this call: flag over environment over file over default."""
    from dataclasses import replace

    settings = file.load()
    return replace(settings, read_only=True) if args.read_only else settings


def real_fleet(settings: Settings, *, file: ConfigFile | None = None) -> Fleet:
    """A fleet on the real world; `file` is where its settings were read from, and may be written."""
    from dataclasses import replace

    from k2tui.adapters.config_writer import TomlConfigWriter
    from k2tui.services.fleet import Fleet

    return Fleet(settings, replace(real_doors(), config=None if file is None else TomlConfigWriter(file)))


def looking_fleet(settings: Settings) -> Fleet:
    """The same without a history: a log that somebody only looks at is no launch of this fleet."""
    from dataclasses import replace

    from k2tui.services.fleet import Fleet

    return Fleet(
        settings, replace(real_doors(), history=None, past=None, kept_runs=None, benches=None, alert_runner=None)
    )


def real_doors(make_link: Callable[[NodeSettings], NodeLink] | None = None) -> FleetDoors:
    """SSH, files and the clock of this machine; the demo brings links of its own."""
    from k2tui.adapters.alert_command import AlertCommand
    from k2tui.adapters.audit_file import AuditFile
    from k2tui.adapters.bastions import Bastions
    from k2tui.adapters.config_file import audit_path, trusted_hosts_path
    from k2tui.adapters.links import make_link as make_real_link
    from k2tui.adapters.scripts import script
    from k2tui.adapters.state.db import StateDb, state_path
    from k2tui.adapters.web_door import web_door
    from k2tui.services.doors import RealClock
    from k2tui.services.fleet import FleetDoors

    bastions, state = Bastions(), StateDb(state_path())
    return FleetDoors(
        make_link=make_link or partial(make_real_link, trusted_hosts=trusted_hosts_path(), bastions=bastions),
        close=bastions.close,
        script=script,
        audit=AuditFile(audit_path(), user=_operator()),
        clock=RealClock(),
        history=state,
        past=state,
        builds=state,
        kept_runs=state,
        benches=state,
        ask_url=web_door,
        alert_runner=AlertCommand(),
        operator=_operator(),
    )


def _control_room(args: argparse.Namespace) -> int:
    """The app on the operator's own fleet."""
    way = wires(args)
    settings = way.settings()
    return _app(args, settings, way.fleet)


def _app(
    args: argparse.Namespace, settings: Settings, fleet_of: Callable[[Settings], Fleet], *, watch: bool = False
) -> int:
    from k2tui.adapters.terminal import need_terminal

    need_terminal()
    app = _k2app(args, fleet_of(settings), watch=watch)
    app.run(mouse=settings.mouse)
    return _ending(app)


def _k2app(args: argparse.Namespace, fleet: Fleet, *, watch: bool = False) -> K2App:
    from k2tui.adapters.clipboard import Clipboard
    from k2tui.adapters.terminal import Attachment, end_with_terminal
    from k2tui.ui.app import K2App

    end_with_terminal()
    gc.set_threshold(*CALM_COLLECTING)
    return K2App(fleet, copier=Clipboard(), ascii_only=args.ascii, watch=watch, attachment=Attachment())


def _ending(app: K2App) -> int:
    """1 when a fault of our own ended it: Textual has said which one."""
    return int(ExitCode.BAD if app.return_code else ExitCode.DONE)


def _demo(args: argparse.Namespace) -> int:
    import asyncio

    if args.check:
        from k2tui.commands import demo_check
        from k2tui.demo.check import check

        return demo_check.main(args, lambda fault, tell: check(demo_fleet, fault=fault, on_step=tell))
    from k2tui.adapters.terminal import need_terminal

    need_terminal()
    return asyncio.run(_demo_app(args))


async def _demo_app(args: argparse.Namespace) -> int:
    from k2tui.demo.fleet import DemoFleet

    async with DemoFleet(args.nodes, fault=args.fault) as demo:
        await demo.opened()
        app = _k2app(args, demo_fleet(demo, read_only=args.read_only))
        await app.run_async(mouse=False)
    return _ending(app)


def demo_fleet(demo: DemoFleet, *, read_only: bool = False) -> Fleet:
    """A fleet on an open demo: everything real but the machines, and no trace of it in the operator's files."""
    from dataclasses import replace

    from k2tui.adapters.audit_file import AuditFile
    from k2tui.adapters.config_writer import TomlConfigWriter
    from k2tui.adapters.state.db import StateDb
    from k2tui.services.fleet import Fleet

    state = StateDb(demo.layout.root / "state.db")
    doors = replace(
        real_doors(demo.make_link),
        audit=AuditFile(demo.layout.root / "audit.jsonl", user=_operator()),
        history=state,
        past=state,
        builds=state,
        kept_runs=state,
        benches=state,
        alert_runner=None,
        config=None if demo.config is None else TomlConfigWriter(demo.config),
    )
    return Fleet(replace(demo.settings, read_only=read_only), doors, simulated=True)


def _operator() -> str:
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def _unknown_words(error: UsageError, *, as_json: bool) -> int:
    from k2tui.commands.output import Output

    if not as_json:
        sys.stderr.write(error.usage)
    problem = K2Error(error.message, code="usage", hint=f"{error.prog} --help shows them all", exit_code=ExitCode.USAGE)
    return Output(as_json=as_json).error(problem)


def _output(args: argparse.Namespace) -> Output:
    from k2tui.commands.output import Output

    return Output(as_json=bool(getattr(args, "json", False)))


if __name__ == "__main__":
    sys.exit(main())
