"""Runs on a node: found, started, stopped. Each returns when the thing is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import flag_value
from k2tui.core.launch_order import Container, launch_payload, parse_launch, session_name
from k2tui.core.runs import Run, directory_name, is_whole, parse_scan, spec_json
from k2tui.core.secrets import mask
from k2tui.core.settings import LaunchProfile, NodeSettings, ServerSettings
from k2tui.core.verdicts import RunVerdict
from k2tui.services.doors import Completed, NodeLink, Script

if TYPE_CHECKING:
    from k2tui.core.remains import Remains
    from k2tui.core.stop_report import StopReport

DEFAULT_PORTS: Mapping[str, int] = {"sglang": 30000, "vllm": 8000}
RESTART_DELAY_S = 5
"""Between a crash and the start that follows it: a dead server's GPU memory comes back late."""
START_PATIENCE_S = 60
"""How long a launch waits for the setup line; a longer one goes on, and its run is told as it stands."""
SCAN_LIMIT_S = 20.0
KILL_LIMIT_S = 60.0
"""What a stop may take on top of the grace."""
EVIDENCE_LIMIT_S = 120.0
REMAINS_LIMIT_S = 45.0
"""Two questions to the driver take at most 24 s."""
WRITE_LIMIT_S = 20.0


class RunScripts:
    """The scripts of runs, each with what it shares with others in front."""

    def __init__(self, script: Callable[[str], Script]) -> None:
        def joined(name: str, *shared: str) -> Script:
            return Script(name, "\n".join(script(part).text for part in ("runs", *shared, name)))

        self.launch = joined("launch", "claims", "plan_run", "begin_run")
        self.prepare = joined("prepare", "claims", "plan_run")
        self.begin = joined("begin", "claims", "plan_run", "begin_run")
        self.discard = joined("discard", "claims")
        self.supervise = joined("supervise", "claims", "gpus", "container")
        self.stop = joined("stop", "container", "left")
        self.scan = joined("scan")
        self.evidence = joined("evidence", "container", "left")
        self.remains = joined("remains", "container", "left", "gpus")
        self.write_verdict = joined("write_verdict")


class RunKeeper:
    """The runs of one node, in its home."""

    def __init__(self, link: NodeLink, node: NodeSettings, scripts: RunScripts) -> None:
        self._link, self._node, self._scripts = link, node, scripts

    async def scan(self) -> tuple[Run, ...]:
        """Every run of every server in this home, newest first, planned ones too. Changes nothing on the node."""
        done = await self._link.run(self._scripts.scan, (self._node.home,), timeout_s=SCAN_LIMIT_S)
        if not is_whole(done.stdout):
            raise self._broken(done, "the list of runs", "scan_failed", self._node.name)
        return parse_scan(done.stdout)

    async def launch(
        self,
        server: ServerSettings,
        profile: LaunchProfile,
        *,
        started_by: str,
        why: str = "start",
        replaces: str | None = None,
    ) -> Run:
        """Start the server; returns once its process runs, or says why it does not. A refused run leaves nothing.

        Codes: already_running, start_in_progress, gpus_taken, port_taken, no_cwd, no_program, launch_failed.
        """
        order = self._order(server, profile, started_by, why, replaces)
        args = (*order.args[:8], str(START_PATIENCE_S), *order.args[8:])
        return await self._told(self._scripts.launch, args, order, "launch", START_PATIENCE_S + 30.0)

    async def prepare(
        self,
        server: ServerSettings,
        profile: LaunchProfile,
        *,
        started_by: str,
        why: str = "start",
        replaces: str | None = None,
    ) -> Run:
        """Write the run's directory and start nothing; `begin` or `discard` it later, from wherever.

        Its secrets lie in a file of the node's home until then; a plan that nobody begins is discarded after a day.
        """
        order = self._order(server, profile, started_by, why, replaces)
        return await self._told(self._scripts.prepare, order.args, order, "plan", WRITE_LIMIT_S)

    async def begin(self, run: Run) -> Run:
        """Start a planned run; one that was begun already is told as it stands, and of two begins at once one starts.

        Refused as a launch is, or with no_such_run when it was discarded. It stays planned when somebody has its
        port or its GPUs.
        """
        order = _Order(run.server, run.port, (run.directory, str(START_PATIENCE_S)), b"", run.setup, frozenset())
        return await self._told(self._scripts.begin, order.args, order, "launch", START_PATIENCE_S + 30.0)

    async def discard(self, run: Run) -> None:
        """Take a planned run away, with its secrets. One that is gone is fine; one that was begun is refused."""
        done = await self._link.run(self._scripts.discard, (run.directory,), timeout_s=WRITE_LIMIT_S)
        match done.stdout.decode("utf-8", "replace").split():
            case ["discarded"]:
                return
            case ["refused", "not_planned"]:
                raise K2Error(
                    f"run {run.run_id} of {run.server} was begun on {self._node.name}",
                    code="not_planned",
                    subject=run.server,
                    hint=f"k2tui stop {run.server} ends it",
                )
            case ["refused", "start_in_progress"]:
                raise K2Error(
                    f"run {run.run_id} of {run.server} is being begun on {self._node.name} at this moment",
                    code="start_in_progress",
                    subject=run.server,
                    hint=f"follow it with k2tui logs -f {run.server}",
                )
        raise self._broken(done, f"taking the planned run of {run.server} away", "discard_failed", run.server)

    async def stop(
        self, run: Run, *, grace_s: float = 20.0, quit_s: float = 5.0, asked_by: str = "k2tui"
    ) -> StopReport:
        """End a run and return when no process of its session is left. Signals only what was identified.

        TERM; after `grace_s` QUIT to an SGLang that has a handler for it (it ends its whole tree and writes its crash
        dump), `quit_s` later KILL to all that is left. Without `quit_s`, or with another engine, KILL follows at once.
        """
        from k2tui.core.stop_report import parse_stop  # noqa: PLC0415  the first paint stops nothing

        port = "" if run.port is None else str(run.port)
        quits = quit_s if run.engine == "sglang" else 0.0
        args = (run.directory, str(round(grace_s)), _one_word(asked_by), port, str(round(quits)))
        done = await self._link.run(self._scripts.stop, args, timeout_s=grace_s + quits + KILL_LIMIT_S)
        report = parse_stop(done.stdout)
        if report is None:
            raise self._no_such_run(run)
        if report.left:
            raise K2Error(
                f"{run.server} on {self._node.name} is {report.sentence}",
                code="still_running",
                subject=run.server,
                hint="a process in state D waits for a disk or a driver in the kernel and ends when that answers"
                if any(found.state == "D" for found in report.left)
                else "it may belong to another user of the node",
            )
        if not report.is_whole:
            raise self._broken(done, f"the stop of {run.server}", "stop_failed", run.server)
        return report

    async def remains(self, run: Run) -> Remains:
        """One look at what the run left: processes, GPU memory, its port, shared memory. Changes nothing."""
        from k2tui.core.remains import parse_remains  # noqa: PLC0415  as above

        port = "" if run.port is None else str(run.port)
        args = (run.directory, port, " ".join(map(str, run.gpus)))
        done = await self._link.run(self._scripts.remains, args, timeout_s=REMAINS_LIMIT_S)
        found = parse_remains(done.stdout)
        if found is None:
            raise self._no_such_run(run)
        if not found.is_whole:
            raise self._broken(done, f"the look at what {run.server} left", "remains_failed", run.server)
        return found

    async def write_verdict(self, run: Run, verdict: RunVerdict) -> None:
        """Keep what was found out of a run in its directory; the next scan tells it."""
        from k2tui.core.run_verdict_json import verdict_json  # noqa: PLC0415  as above

        line = f"{verdict_json(verdict)}\n".encode("ascii")
        done = await self._link.run(self._scripts.write_verdict, (run.directory,), stdin=line, timeout_s=WRITE_LIMIT_S)
        match done.stdout.decode("utf-8", "replace").split(" ")[0].strip():
            case "written":
                return
            case "absent":
                raise self._no_such_run(run)
        raise self._broken(done, f"the verdict on {run.server}", "verdict_failed", run.server)

    async def keep_evidence(self, run: Run) -> str | None:
        """Write down what can be seen of a run that hangs or failed, in its directory; the file's path on the node."""
        done = await self._link.run(self._scripts.evidence, (run.directory,), timeout_s=EVIDENCE_LIMIT_S)
        for line in done.stdout.decode("utf-8", "replace").splitlines():
            if line.startswith("kept "):
                return line.removeprefix("kept ")
        return None

    def _order(
        self, server: ServerSettings, profile: LaunchProfile, started_by: str, why: str, replaces: str | None
    ) -> _Order:
        port = port_of(server, profile.argv)
        spec = spec_json(server, profile, port=port, started_by=started_by, why=why, replaces=replaces)
        args = (
            self._node.home,
            directory_name(server.name),
            str(port),
            " ".join(map(str, sorted(set(server.gpus)))),
            str(server.on_crash_restarts),
            str(round(server.on_crash_window_s)),
            str(RESTART_DELAY_S),
            _one_word(started_by),
            server.supervisor,
            session_name(server.name),
            "" if replaces is None else _one_word(replaces),
        )
        try:
            container = None
            if server.supervisor == "docker":
                if not server.image:
                    raise ValueError(f"[servers.{server.name}] names no image for docker")
                container = Container(server.image, tuple(sorted(set(server.gpus))))
            payload = launch_payload(spec, profile, self._scripts.supervise.text, container)
        except ValueError as error:
            raise K2Error(
                f"{server.name} can't be started: {error}", code="launch_failed", subject=server.name
            ) from None
        return _Order(server.name, port, args, payload, profile.setup, profile.secrets)

    async def _told(self, script: Script, args: tuple[str, ...], order: _Order, what: str, limit_s: float) -> Run:
        """The run that a script tells of, or why there is none."""
        done = await self._link.run(script, args, stdin=order.payload, timeout_s=limit_s)
        answer = parse_launch(done.stdout)
        if answer is None:
            raise self._broken(done, f"the {what} of {order.server}", "launch_failed", order.server, order.secrets)
        if answer.run is None:
            from k2tui.core.launch_refusal import refusal  # noqa: PLC0415  seldom needed

            raise refusal(answer, order.server, self._node.name, order.port, setup=order.setup, secrets=order.secrets)
        return answer.run

    def _no_such_run(self, run: Run) -> K2Error:
        return K2Error(
            f"{self._node.name} has no run {run.run_id} of {run.server} any more",
            code="no_such_run",
            subject=run.server,
            exit_code=ExitCode.MISSING,
        )

    def _broken(
        self, done: Completed, what: str, code: str, subject: str, secrets: frozenset[str] = frozenset()
    ) -> K2Error:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-3:]
        return K2Error(
            f"{what} on {self._node.name} broke off with exit {done.code}",
            code=code,
            subject=subject,
            hint=f"the node said: {mask(' / '.join(said), secrets)}" if said else f"k2tui doctor {self._node.name}",
        )


@dataclass(frozen=True)
class _Order:
    """What a script is told, and what its answer is read with."""

    server: str
    port: int | None
    args: tuple[str, ...]
    payload: bytes
    setup: str | None
    secrets: frozenset[str]


def port_of(server: ServerSettings, argv: tuple[str, ...]) -> int:
    """The port that the engine will bind: its own flag, else the server's, else the engine's default."""
    asked = flag_value(argv, "port")
    if asked is not None and asked.isdecimal() and len(asked) < 6:
        return int(asked)
    return server.port if server.port is not None else DEFAULT_PORTS[server.engine]


def _one_word(text: str) -> str:
    """Printable and without blanks, for a lock's owner line."""
    return "".join(char if char.isascii() and char.isprintable() and char != " " else "_" for char in text)[:200] or "-"
