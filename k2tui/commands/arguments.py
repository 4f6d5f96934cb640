"""Every command and option, in one tree. Imports argparse alone: this is what `--help` costs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from k2tui import __version__
from k2tui.commands.bench_arguments import BENCH_ACTIONS, add_bench, with_action


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
    add_bench(
        commands.add_parser("bench", help="measure tok/s, compare, and keep what was measured"),
        as_json=_json,
        seconds=_seconds,
        count=_count,
    )
    _config(commands)
    _app(commands)
    return parser


def plain_names(words: Sequence[str]) -> list[str]:
    """What is meant by short forms: `bench SERVER` is `bench run SERVER`; and in `flags SERVER --tp-size` the engine's
    flag is a name, not an option."""
    spoken = (at for at, word in enumerate(words) if not word.startswith("-") and words[at - 1 : at] != ["--config"])
    at = next(spoken, 0)
    if list(words[at : at + 1]) == ["bench"]:
        return with_action(words, at, BENCH_ACTIONS)
    if list(words[at : at + 1]) != ["flags"]:
        return list(words)
    own = ("--json", "--help")
    return [*words[: at + 1], *(word if word in own else word.removeprefix("--") for word in words[at + 1 :])]


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
    flags = commands.add_parser("flags", help="what a server's build, or a known release, accepts")
    flags.add_argument("build", metavar="SERVER|ENGINE==VERSION", help="a server, sglang==0.5.9 or vllm==0.11.0")
    flags.add_argument("name", metavar="NAME", nargs="?", help="one flag; all of them without")
    _json(flags)
    runs = commands.add_parser("runs", help="every run: what it changed, how long it took, what was proved, its end")
    runs.add_argument("server", metavar="SERVER", nargs="?", help="of this server; of all of them without")
    runs.add_argument("--compare", metavar=("A", "B"), nargs=2, help="two runs side by side, by their ids")
    _json(runs)
    doctor = commands.add_parser("doctor", help="check the way to each node and what is there")
    doctor.add_argument("nodes", metavar="NODE", nargs="*", help="these nodes; all of them without")
    _json(doctor)


def _changing(commands: Commands[argparse.ArgumentParser]) -> None:
    start = commands.add_parser("start", help="start a server; 0 only when a real completion came back")
    start.add_argument("server", metavar="SERVER")
    restart = commands.add_parser("restart", help="stop servers if they run, then start them, one after the other")
    restart.add_argument("server", metavar="SERVER", nargs="+")
    for verb in (start, restart):
        verb.add_argument("--profile", metavar="P", help="another profile than the server's own")
        verb.add_argument("--run", metavar="ID", help="begin from what this earlier run was started with")
        verb.add_argument("--cmd", metavar="FILE", help="begin from the command line in this file, or - for stdin")
        verb.add_argument("--set", metavar="K=V", action="append", default=[], help="a flag for this start")
        verb.add_argument("--unset", metavar="K", action="append", default=[], help="leave a flag or a variable out")
        verb.add_argument("--env", metavar="K=V", action="append", default=[], help="a variable for this start")
    restart.add_argument("--parallel", action="store_true", help="all at once, whatever becomes of the first")
    undo = commands.add_parser("undo", help="go back to the last configuration that was verified")
    undo.add_argument("server", metavar="SERVER")
    for verb in (start, restart, undo):
        _launching(verb)
    stop = commands.add_parser("stop", help="stop a server; 0 when no process of it is left")
    stop.add_argument("server", metavar="SERVER")
    resume = commands.add_parser("resume", help="end a restart that was interrupted")
    resume.add_argument("server", metavar="SERVER")
    ways = resume.add_mutually_exclusive_group(required=True)
    ways.add_argument("--continue", dest="go_on", action="store_true", help="start what was planned, and prove it")
    ways.add_argument("--undo", dest="take_back", action="store_true", help="have what ran before run again")
    adopt = commands.add_parser("adopt", help="start a found server anew as one of yours, and write it into the config")
    adopt.add_argument("server", metavar="SERVER")
    for verb in (start, restart, undo, stop, resume, adopt):
        verb.add_argument("--confirm", metavar="NODE", help="the node's name (several with commas), when one is due")
        _json(verb)
    verify = commands.add_parser(
        "verify", help="look at every effect that a server's flags ask for; 0 when all are there"
    )
    verify.add_argument("server", metavar="SERVER")
    _json(verify)


def _launching(verb: argparse.ArgumentParser) -> None:
    """What can be said of every launch."""
    verb.add_argument(
        "--on-failure", choices=("rollback", "leave", "ask"), help="what follows a failure; ask leaves it and says how"
    )
    verb.add_argument("--drain", metavar="S", type=_seconds, help="let running requests end for so long: 60, 90s, 2m")
    verb.add_argument("--force", action="store_true", help="start where the preflight says that it must fail")
    verb.add_argument("--dry-run", action="store_true", help="show the difference and the preflight, and do nothing")
    verb.add_argument("--no-verify", action="store_true", help="believe the log; ask for no completion")
    verb.add_argument("--no-wait", action="store_true", help="return once it was started")


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


def _seconds(text: str) -> float:
    units = {"s": 1.0, "m": 60.0}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1.0)
    if not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 60, 90s or 2m")
    return float(number) * unit


def _count(text: str) -> int:
    count = int(text) if text.isdecimal() else 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return count
