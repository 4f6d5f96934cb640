"""What remote/find_servers.sh tells: the engines of a node with all that can be seen of them from outside."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from k2tui.core.flags import flag_value
from k2tui.core.foreign.command import asked_port, main_engine
from k2tui.core.foreign.output import container_of, where_output_goes
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.runs import ProcessIdentity, is_whole, printable
from k2tui.core.secrets import is_secret_name, mask, masked_argv, masked_env

_TICKS_PER_S = 100
"""USER_HZ: the unit of times in /proc/PID/stat on every machine that serves models."""
_TITLE_LENGTH = 300
_ARGUMENTS = 4000
_VARIABLES = 200
_DEEPEST = 20
"""Generations between a worker and its main process."""

_RECORD = re.compile(r"([0-9]{1,10})/(?:cmdline|environ|cgroup):(.*)")
_STAT = re.compile(
    r"([0-9]{1,10})/stat:.*?\((.*)\) ([A-Za-z]) ([0-9]{1,10}) [0-9-]+ ([0-9]{1,10}) (?:\S+ ){15}([0-9]+) .*"
)
_UID = re.compile(r"([0-9]{1,10})/status:Uid:\t([0-9]{1,10})\t.*")
_TITLED = re.compile(r"(?:sglang|VLLM)::")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ABOUT_THE_SHELL = frozenset({"TMUX_PANE", "STY"})
"""Variables that tell of the terminal that a server was started in, and nothing of the server."""


@dataclass(frozen=True, slots=True)
class FoundReport:
    """One look at the processes of a node."""

    boot_id: str
    up_s: float
    """Seconds since the node's boot, at the look."""
    processes: tuple[NodeProcess, ...] = ()
    """Engines' processes and those that hold a GPU, by pid."""
    servers: tuple[FoundServer, ...] = ()
    """Every engine, also k2tui's own; the oldest first. Their `gpus` are not known yet."""

    def age_s(self, process: NodeProcess) -> float:
        """How long a process had run at the look."""
        return max(0.0, self.up_s - process.identity.start_ticks / _TICKS_PER_S)


@dataclass(slots=True)
class _Raw:
    """The lines, sorted."""

    head: tuple[str, int, float] | None = None
    words: dict[int, list[str]] = field(default_factory=dict)
    stats: dict[int, tuple[str, int, int, int]] = field(default_factory=dict)
    """PID: name, parent, session, start ticks."""
    uids: dict[int, str] = field(default_factory=dict)
    users: dict[str, str] = field(default_factory=dict)
    argv: dict[int, list[str]] = field(default_factory=dict)
    env: dict[int, list[str]] = field(default_factory=dict)
    groups: dict[int, list[str]] = field(default_factory=dict)
    outputs: dict[int, dict[str, tuple[str, str]]] = field(default_factory=dict)
    cwd: dict[int, str] = field(default_factory=dict)
    closed: set[tuple[int, str]] = field(default_factory=set)
    listening: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Inode: port, uid."""
    sockets: dict[int, list[str]] = field(default_factory=dict)


def parse(output: bytes, gpu_pids: Collection[int] = ()) -> FoundReport | None:
    """The look that the script told of; None when its answer is not whole. A line that makes no sense is left out."""
    if not is_whole(output):
        return None
    raw = _Raw()
    for line in output.decode("utf-8", "replace").split("\n"):
        tag, _, rest = line.partition(" ")
        if reader := _READERS.get(tag):
            reader(raw, rest)
    if raw.head is None:
        return None
    boot, since, up_s = raw.head
    engines = {pid: engine for pid, argv in raw.argv.items() if pid in raw.stats and (engine := main_engine(argv))}
    mains = {pid: _topmost(raw, pid, engines) for pid in raw.stats}
    kept = {pid for pid in raw.stats if pid in gpu_pids or pid in engines or _TITLED.match(_first(raw, pid))}
    kept |= {between for pid in kept for between in _way_up(raw, pid, mains[pid])}
    processes = {pid: _process(raw, pid, boot, since) for pid in sorted(kept)}
    servers = [
        _server(raw, pid, engines[pid], processes, [each for each in kept if mains[each] == pid and each != pid])
        for pid in kept
        if pid in engines and mains[pid] == pid
    ]
    servers.sort(key=lambda server: (server.process.identity.start_ticks, server.process.pid))
    return FoundReport(boot, up_s, tuple(processes.values()), tuple(servers))


# ---- lines


def _read_head(raw: _Raw, rest: str) -> None:
    words = rest.split(" ")
    if raw.head is None and len(words) == 4 and words[0] == "1":
        since, up = words[2], words[3]
        if re.fullmatch(r"[0-9]{1,12}", since) and re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,9})?", up):
            raw.head = words[1], int(since), float(up)


def _reads_records(of: Callable[[_Raw], dict[int, list[str]]], most: int) -> Callable[[_Raw, str], None]:
    def read(raw: _Raw, rest: str) -> None:
        if found := _RECORD.fullmatch(rest):
            records = of(raw).setdefault(int(found[1]), [])
            if len(records) < most:
                records.append(_NOT_TEXT.sub("\ufffd", found[2].replace("\x01", "\n")))

    return read


def _read_stat(raw: _Raw, rest: str) -> None:
    if (found := _STAT.fullmatch(rest)) and found[3] not in "ZXx":
        raw.stats[int(found[1])] = found[2], int(found[4]), int(found[5]), int(found[6])


def _read_uid(raw: _Raw, rest: str) -> None:
    if found := _UID.fullmatch(rest):
        raw.uids[int(found[1])] = found[2]


def _read_user(raw: _Raw, rest: str) -> None:
    uid, _, name = rest.partition(" ")
    raw.users.setdefault(uid, printable(name)[:64])


def _read_output(raw: _Raw, rest: str) -> None:
    words = rest.split(" ", 3)
    if len(words) == 4 and words[0].isdecimal():
        raw.outputs.setdefault(int(words[0]), {})[words[1]] = words[2], printable(words[3])


def _read_cwd(raw: _Raw, rest: str) -> None:
    pid, _, path = rest.partition(" ")
    if pid.isdecimal() and path.startswith("/"):
        raw.cwd[int(pid)] = printable(path)


def _read_closed(raw: _Raw, rest: str) -> None:
    pid, _, what = rest.partition(" ")
    if pid.isdecimal():
        raw.closed.add((int(pid), what))


def _read_listening(raw: _Raw, rest: str) -> None:
    words = rest.split(" ")
    if len(words) == 3 and re.fullmatch(r"[0-9A-F]{4}", words[0]):
        raw.listening[words[2]] = int(words[0], 16), words[1]


def _read_socket(raw: _Raw, rest: str) -> None:
    pid, _, inode = rest.partition(" ")
    if pid.isdecimal():
        raw.sockets.setdefault(int(pid), []).append(inode)


_READERS: Mapping[str, Callable[[_Raw, str], None]] = {
    "k2found": _read_head,
    "t": _reads_records(lambda raw: raw.words, 30),
    "s": _read_stat,
    "u": _read_uid,
    "user": _read_user,
    "a": _reads_records(lambda raw: raw.argv, _ARGUMENTS),
    "e": _reads_records(lambda raw: raw.env, _VARIABLES),
    "g": _reads_records(lambda raw: raw.groups, 20),
    "fd": _read_output,
    "cwd": _read_cwd,
    "closed": _read_closed,
    "listen": _read_listening,
    "own": _read_socket,
}


# ---- what they mean


def _topmost(raw: _Raw, pid: int, engines: Mapping[int, str]) -> int | None:
    """The main process that a process is, or belongs to: the highest, for an engine may fork itself."""
    found = pid if pid in engines else None
    for _ in range(_DEEPEST):
        if pid not in raw.stats:
            break
        pid = raw.stats[pid][1]
        found = pid if pid in engines else found
    return found


def _way_up(raw: _Raw, pid: int, main: int | None) -> list[int]:
    """The processes between one and its main process."""
    way: list[int] = []
    while main is not None and pid != main and len(way) < _DEEPEST and (pid := raw.stats[pid][1]) in raw.stats:
        way.append(pid)
    return way


def _first(raw: _Raw, pid: int) -> str:
    return raw.words.get(pid, [""])[0]


def _process(raw: _Raw, pid: int, boot: str, since: int) -> NodeProcess:
    name, parent, session, ticks = raw.stats[pid]
    uid = raw.uids.get(pid, "?")
    return NodeProcess(
        identity=ProcessIdentity(boot, pid, ticks),
        parent=parent,
        session=session,
        user=raw.users.get(uid, uid),
        title=_title(raw, pid, name),
        began_at=since + ticks / _TICKS_PER_S,
    )


def _title(raw: _Raw, pid: int, name: str) -> str:
    first = _first(raw, pid)
    if _TITLED.match(first):
        return printable(first).strip()[:_TITLE_LENGTH]
    words = raw.words.get(pid) or [name]
    return printable(mask(" ".join(masked_argv(words))))[:_TITLE_LENGTH]


def _server(
    raw: _Raw, pid: int, engine: str, processes: Mapping[int, NodeProcess], workers: Collection[int]
) -> FoundServer:
    argv, process = raw.argv[pid], processes[pid]
    told = dict(pair.partition("=")[::2] for pair in raw.env.get(pid, ()))
    env = {name: value for name, value in told.items() if name not in _ABOUT_THE_SHELL and not is_secret_name(name)}
    container = container_of(raw.groups.get(pid, ()))
    port, listening = _port(raw, pid, engine, contained=container is not None)
    log, note = where_output_goes(
        raw.outputs.get(pid, {}),
        engine,
        may_look=(pid, "fd") not in raw.closed,
        user=process.user,
        shell={name: printable(told[name]) for name in _ABOUT_THE_SHELL if name in told},
        groups=raw.groups.get(pid, ()),
    )
    return FoundServer(
        process=process,
        engine=engine,
        argv=masked_argv(argv),
        env=tuple(sorted(masked_env(env).items())),
        env_unknown=(pid, "environ") in raw.closed,
        cwd=raw.cwd.get(pid),
        port=port,
        listening=listening,
        log=log,
        log_note=note,
        workers=tuple(processes[each] for each in sorted(workers)),
        container=container,
        api_key=flag_value(argv, "api-key"),
    )


def _port(raw: _Raw, pid: int, engine: str, *, contained: bool) -> tuple[int | None, bool | None]:
    """Its port, and whether it listens there."""
    asked, named = asked_port(raw.argv[pid], engine)
    if asked is None:
        return None, None
    if (pid, "fd") in raw.closed:  # another user's: who owns a listening socket is still known
        uid = raw.uids.get(pid)
        if (asked, uid) in raw.listening.values():
            return asked, True
        return asked, None if contained else False
    own = {raw.listening[inode][0] for inode in raw.sockets.get(pid, ()) if inode in raw.listening}
    if asked in own:
        return asked, True
    if len(own) == 1 and not named:
        return own.pop(), True
    return asked, None if contained else False
