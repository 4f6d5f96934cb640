"""What a stop of somebody else's engine hits, as remote/stop_foreign.sh tells it, and why it may not be stopped."""

from __future__ import annotations

import re
from dataclasses import dataclass

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.foreign.output import own_unit
from k2tui.core.found import FoundServer
from k2tui.core.runs import is_whole, printable
from k2tui.core.secrets import mask

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_OF_A_LOGIN = re.compile(
    r"_|PATH|HOME|SHELL|USER|LOGNAME|MAIL|TERM|TERM_.*|COLORTERM|LANG|LANGUAGE|LC_.*|PWD|OLDPWD|SHLVL|TZ|TMPDIR|"
    r"HOSTNAME|EDITOR|VISUAL|PAGER|LESS.*|LS_COLORS|PS[1-4]|HIST.*|DISPLAY|INVOCATION_ID|JOURNAL_STREAM|"
    r"(?:SSH|XDG|DBUS|TMUX|STY|WINDOW|BASH|ZSH|MOTD|DEBUGINFOD|GPG|SUDO|SYSTEMD)(?:_.*)?|NOTIFY_SOCKET|"
    r"VIRTUAL_ENV.*|CONDA_.*|_CE_.*|SPT_NOENV|PYTHONUNBUFFERED"
)
"""Variables that tell of a login, a terminal or an environment of python, and nothing of the engine."""
_SHELL = re.compile(r"-?(?:\S*/)?(?:ba|da|z|k|fi|c|tc)?sh(?:\s|\Z)")


@dataclass(frozen=True, slots=True)
class Hit:
    """One process."""

    pid: int
    uid: str
    command: str
    """Its command line, cut to 200 characters, secrets masked."""


@dataclass(frozen=True, slots=True)
class ForeignLook:
    """An engine that somebody else started, looked at before it is stopped."""

    me: str = "?"
    """Uid of the one who would stop it."""
    uid: str | None = None
    """Whose it is; None: that process is gone."""
    session: int | None = None
    leader: str = ""
    """The command of the session's leader, which may be a login shell."""
    tty: str | None = None
    """The terminal of the session's leader; None: none is known."""
    tree: tuple[Hit, ...] = ()
    """What would be stopped: the main process first, then all below it."""
    beside: tuple[Hit, ...] = ()
    """Engines' processes that are not below it; they are left alone."""
    unit: str | None = None
    """A systemd service that it belongs to, and that could start it again."""
    variables: tuple[str, ...] = ()
    """The names in its environment."""
    reused: str | None = None
    """The pid is another process by now: its command."""

    def sentence(self, found: FoundServer) -> str:
        """What a stop hits, in one sentence: uid, session, every pid."""
        pids = ", ".join(str(hit.pid) for hit in self.tree)
        many = f"{len(self.tree)} process{'es' if len(self.tree) != 1 else ''}"
        told = f"{many} of {found.process.user} (uid {self.uid}) in session {self.session} will be stopped: pid {pids}"
        if _SHELL.match(self.leader) or self.tty is not None:
            terminal = "" if self.tty is None else f" on {self.tty.removeprefix('/dev/')}"
            told += f"; the session's own {self.leader.split(' ')[0] or 'leader'}{terminal} and its other children stay"
        return told

    def left_alone(self) -> str | None:
        """What looks like a part of it and is not below it; None when there is nothing."""
        if not self.beside:
            return None
        named = ", ".join(f"pid {hit.pid} ({hit.command[:60]})" for hit in self.beside[:5])
        more = f", {len(self.beside) - 5} more" if len(self.beside) > 5 else ""
        return f"engine's processes that are not below it are left alone: {named}{more}"

    def not_carried(self, carried: frozenset[str]) -> tuple[str, ...]:
        """Its variables that will not be there after the start from here; those of every login left out."""
        return tuple(name for name in self.variables if name not in carried and not _OF_A_LOGIN.fullmatch(name))


def parse_look(output: bytes) -> ForeignLook | None:
    """The look that the script told of; None when its answer is not whole."""
    if not is_whole(output):
        return None
    lines = [line.split(" ") for line in output.decode("utf-8", "replace").split("\n") if line]
    one = {line[0]: line for line in lines}
    session = one.get("session", [])
    has_session = len(session) > 2 and session[1].isdecimal()
    units = [line[1] for line in lines if line[0] == "unit" and len(line) == 2]
    reused = one.get("reused")
    return ForeignLook(
        me=_word(one.get("me")) or "?",
        uid=one["main"][2] if len(one.get("main", [])) == 3 else None,
        session=int(session[1]) if has_session else None,
        leader=_command(session[3:]) if has_session else "",
        tty=printable(session[2]) if has_session and session[2] != "-" else None,
        tree=_hits(lines, "tree"),
        beside=_hits(lines, "beside"),
        unit=next((unit for unit in units if own_unit(unit)), None),
        variables=tuple(line[1] for line in lines if line[0] == "env" and len(line) == 2 and _NAME.fullmatch(line[1])),
        reused=None if reused is None else _command(reused[3:]),
    )


def refusal(look: ForeignLook, found: FoundServer, name: str) -> K2Error | None:
    """Why it can't be stopped from here; None when it can."""
    pid = found.process.pid
    if look.uid is None:
        now = "" if look.reused is None else f" (pid {pid} is another process now: {look.reused[:60]})"
        return K2Error(
            f"{name} is not running any more{now}",
            code="not_running",
            subject=name,
            hint="look again, and start what the config has",
            exit_code=ExitCode.MISSING,
        )
    others = [hit for hit in look.tree if hit.uid != look.me]
    if look.uid != look.me or others:
        whose = found.process.user if look.uid != look.me else f"uid {others[0].uid}"
        which = pid if look.uid != look.me else others[0].pid
        return K2Error(
            f"{name} was not adopted: pid {which} belongs to {whose}, and k2tui stops nothing of another user",
            code="foreign_user",
            subject=name,
            hint=f"reach the node as {whose}, or let {whose} stop it",
        )
    if found.container is not None:
        return K2Error(
            f"{name} was not adopted: it runs in {found.container}, and would run outside of it from here",
            code="in_a_container",
            subject=name,
            hint='stop the container, and start it from here with supervisor = "docker" and its image',
        )
    if look.unit is not None:
        return K2Error(
            f"{name} was not adopted: it belongs to the service {look.unit}, which may start it again",
            code="in_a_service",
            subject=name,
            hint=f"systemctl stop {look.unit} (and disable it), then put the lines of key i into your config",
        )
    return None


def _word(line: list[str] | None) -> str | None:
    return line[1] if line is not None and len(line) == 2 else None


def _command(words: list[str]) -> str:
    return printable(mask(" ".join(words)))


def _hits(lines: list[list[str]], word: str) -> tuple[Hit, ...]:
    return tuple(
        Hit(int(line[1]), line[2], _command(line[3:]))
        for line in lines
        if line[0] == word and len(line) > 2 and line[1].isdecimal()
    )
