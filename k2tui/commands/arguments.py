"""Every command and option, in one tree. Imports argparse alone: this is what `--help` costs."""

from __future__ import annotations

import argparse
from typing import NoReturn

from k2tui import __version__


class UsageError(Exception):
    """Words that are no command of k2tui."""

    def __init__(self, message: str, usage: str, prog: str) -> None:
        super().__init__(message)
        self.message, self.usage, self.prog = message, usage, prog


class _Parser(argparse.ArgumentParser):
    """Raises where argparse would print and leave: programs are told in JSON."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.format_usage(), self.prog)


def build_parser() -> argparse.ArgumentParser:
    """The tree of commands."""
    parser: argparse.ArgumentParser = _Parser(
        prog="k2tui",
        description="The control room of LLM servers reached by SSH. Without a command: the app.",
        epilog="Exit codes: 0 done and true, 1 done but the answer is bad, 2 usage or config, "
        "3 no such thing or not running, 4 node out of reach, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"k2tui {__version__}")
    parser.add_argument("--config", metavar="FILE", help="config file (else K2TUI_CONFIG, else the default path)")
    parser.add_argument("--read-only", action="store_true", help="refuse whatever would change something")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII only")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _looking(commands)
    _changing(commands)
    _config(commands)
    _app(commands)
    return parser


Commands = argparse._SubParsersAction  # the only name that argparse has for it


def _looking(commands: Commands[argparse.ArgumentParser]) -> None:
    nodes = commands.add_parser("nodes", help="the nodes, their GPUs, disks and processes")
    servers = commands.add_parser("servers", help="the servers, how far they are and what they do")
    gpus = commands.add_parser("gpus", help="every GPU: load, memory, what holds its clocks back, who holds it")
    gpus.add_argument("--free", action="store_true", help="only those that nobody uses")
    status = commands.add_parser("status", help="the whole fleet in a few sentences")
    status.add_argument("--line", action="store_true", help="in one short line; with --watch for tmux's status bar")
    for table in (nodes, servers, gpus):
        table.add_argument("--filter", metavar="EXPR", help="only rows for which it holds: state==loading, temp>80")
    for table in (nodes, servers, gpus, status):
        table.add_argument("--watch", action="store_true", help="a line for each change, until ctrl+c")
        _json(table)
    logs = commands.add_parser("logs", help="a server's log")
    logs.add_argument("server", metavar="SERVER")
    logs.add_argument("--run", metavar="ID", help="an earlier run (a part of its id will do)")
    logs.add_argument("-f", "--follow", action="store_true", help="go on as it grows, also across lost connections")
    _json(logs)
    diagnose = commands.add_parser("diagnose", help="what a launch log says")
    diagnose.add_argument("file", metavar="FILE", help="a log, or - for standard input")
    diagnose.add_argument("-f", "--follow", action="store_true", help="go on until it is no longer loading")
    diagnose.add_argument("--context", metavar="FILE", help="JSON: observed_at, process_alive, probe")
    _json(diagnose)
    doctor = commands.add_parser("doctor", help="check the way to each node and what is there")
    doctor.add_argument("nodes", metavar="NODE", nargs="*", help="these nodes; all of them without")
    _json(doctor)


def _changing(commands: Commands[argparse.ArgumentParser]) -> None:
    start = commands.add_parser("start", help="start a server; 0 only when a real completion came back")
    restart = commands.add_parser("restart", help="stop a server if it runs, then start it")
    for verb in (start, restart):
        verb.add_argument("server", metavar="SERVER")
        verb.add_argument("--profile", metavar="P", help="another profile than the server's own")
        verb.add_argument("--set", metavar="K=V", action="append", default=[], help="a flag for this start")
        verb.add_argument("--unset", metavar="K", action="append", default=[], help="leave a flag out")
        verb.add_argument("--env", metavar="K=V", action="append", default=[], help="a variable for this start")
        verb.add_argument("--dry-run", action="store_true", help="show the exact command and do nothing")
        verb.add_argument("--no-verify", action="store_true", help="believe the log; ask for no completion")
        verb.add_argument("--no-wait", action="store_true", help="return once it was started")
    stop = commands.add_parser("stop", help="stop a server; 0 when no process of it is left")
    stop.add_argument("server", metavar="SERVER")
    for verb in (start, restart, stop):
        verb.add_argument("--confirm", metavar="NODE", help="the node's name, when a confirmation is due")
        _json(verb)


def _config(commands: Commands[argparse.ArgumentParser]) -> None:
    config = commands.add_parser("config", help="write, find, check or show the config")
    actions = config.add_subparsers(dest="action", metavar="init|path|check|show", required=True)
    actions.add_parser("init", help="write a starter file")
    actions.add_parser("path", help="say where the file is")
    actions.add_parser("check", help="say what is wrong with it")
    actions.add_parser("show", help="print it resolved, secrets masked")
    for action in actions.choices.values():
        _json(action)


def _app(commands: Commands[argparse.ArgumentParser]) -> None:
    watch = commands.add_parser("watch", help="the app on one log that is already there; no config needed")
    watch.add_argument("path", metavar="[NODE:]PATH")
    demo = commands.add_parser("demo", help="the app on a simulated fleet: no GPU, no SSH, no config")
    demo.add_argument("--nodes", metavar="N", type=_count, default=4, help="simulated nodes (default 4)")
    demo.add_argument("--fault", metavar="FAULT", help="what an engine, or the first node, is told to do wrong")
    demo.add_argument("--check", action="store_true", help="play the whole journey without a screen")
    _json(demo)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs: one document, or a line per event")


def _count(text: str) -> int:
    count = int(text) if text.isdecimal() else 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return count
