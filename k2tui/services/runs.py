"""Runs on a node: found, started, stopped. Each returns when the thing is true."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import flag_value
from k2tui.core.launch_order import LaunchAnswer, launch_payload, parse_launch
from k2tui.core.runs import Run, directory_name, is_whole, parse_scan, spec_json
from k2tui.core.secrets import mask
from k2tui.core.settings import LaunchProfile, NodeSettings, ServerSettings
from k2tui.core.stop_report import StopReport, parse_stop
from k2tui.services.doors import Completed, NodeLink, Script

DEFAULT_PORTS: Mapping[str, int] = {"sglang": 30000, "vllm": 8000}
RESTART_DELAY_S = 5
"""Between a crash and the start that follows it: a dead server's GPU memory comes back late."""
START_PATIENCE_S = 60
"""How long a launch waits for the setup line; a longer one goes on, and its run is told as it stands."""
SCAN_LIMIT_S = 20.0
KILL_LIMIT_S = 60.0
"""What a stop may take on top of the grace."""
EVIDENCE_LIMIT_S = 120.0


class RunScripts:
    """The scripts of runs, each with what they share in front."""

    def __init__(self, script: Callable[[str], Script]) -> None:
        shared = script("runs").text

        def joined(name: str) -> Script:
            return Script(name, f"{shared}\n{script(name).text}")

        self.launch = joined("launch")
        self.supervise = joined("supervise")
        self.stop = joined("stop")
        self.scan = joined("scan")
        self.evidence = joined("evidence")


class RunKeeper:
    """The runs of one node, in its home."""

    def __init__(self, link: NodeLink, node: NodeSettings, scripts: RunScripts) -> None:
        self._link, self._node, self._scripts = link, node, scripts

    async def scan(self) -> tuple[Run, ...]:
        """Every run of every server in this home, newest first. Changes nothing on the node."""
        done = await self._link.run(self._scripts.scan, (self._node.home,), timeout_s=SCAN_LIMIT_S)
        if not is_whole(done.stdout):
            raise self._broken(done, "the list of runs", "scan_failed", self._node.name)
        return parse_scan(done.stdout)

    async def launch(self, server: ServerSettings, profile: LaunchProfile, *, started_by: str) -> Run:
        """Start the server; returns once its process runs, or says why it does not.

        Codes: already_running, start_in_progress, gpus_taken, port_taken, no_cwd, no_program, launch_failed.
        """
        port = port_of(server, profile.argv)
        spec = spec_json(server, profile, port=port, started_by=started_by)
        args = (
            self._node.home,
            directory_name(server.name),
            str(port),
            " ".join(map(str, sorted(set(server.gpus)))),
            str(server.on_crash_restarts),
            str(round(server.on_crash_window_s)),
            str(RESTART_DELAY_S),
            _one_word(started_by),
            str(START_PATIENCE_S),
        )
        try:
            payload = launch_payload(spec, profile, self._scripts.supervise.text)
        except ValueError as error:
            raise K2Error(
                f"{server.name} can't be started: {error}", code="launch_failed", subject=server.name
            ) from None
        done = await self._link.run(self._scripts.launch, args, stdin=payload, timeout_s=START_PATIENCE_S + 30.0)
        answer = parse_launch(done.stdout)
        if answer is None:
            raise self._broken(done, f"the launch of {server.name}", "launch_failed", server.name, profile.secrets)
        if answer.run is None:
            raise refusal(answer, server.name, self._node.name, port, profile)
        return answer.run

    async def stop(self, run: Run, *, grace_s: float = 20.0, asked_by: str = "k2tui") -> StopReport:
        """End a run and return when no process of its session is left. Signals only what was identified."""
        port = "" if run.port is None else str(run.port)
        args = (run.directory, str(round(grace_s)), _one_word(asked_by), port)
        done = await self._link.run(self._scripts.stop, args, timeout_s=grace_s + KILL_LIMIT_S)
        report = parse_stop(done.stdout)
        if report is None:
            raise K2Error(
                f"{self._node.name} has no run {run.run_id} of {run.server} any more",
                code="no_such_run",
                subject=run.server,
                exit_code=ExitCode.MISSING,
            )
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

    async def keep_evidence(self, run: Run) -> str | None:
        """Write down what can be seen of a run that hangs, in its directory; the file's path on the node."""
        done = await self._link.run(self._scripts.evidence, (run.directory,), timeout_s=EVIDENCE_LIMIT_S)
        for line in done.stdout.decode("utf-8", "replace").splitlines():
            if line.startswith("kept "):
                return line.removeprefix("kept ")
        return None

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


def port_of(server: ServerSettings, argv: tuple[str, ...]) -> int:
    """The port that the engine will bind: its own flag, else the server's, else the engine's default."""
    asked = flag_value(argv, "port")
    if asked is not None and asked.isdecimal():
        return int(asked)
    return server.port if server.port is not None else DEFAULT_PORTS[server.engine]


def refusal(answer: LaunchAnswer, server: str, node: str, port: int, profile: LaunchProfile) -> K2Error:
    """Why a launch was refused, for an operator."""
    told = {key: mask(value, profile.secrets) for key, value in answer.details.items()}
    owner = told.get("server", "?")
    holder = f"{owner}, run {told.get('run', '?')}, pid {told.get('pid', '?')}"
    if told.get("who"):
        holder += f", started by {told['who']}"
    what, detail = told.get("what", f"port {port}"), told.get("detail", "")
    code, hint = answer.code or "launch_failed", None
    match code:
        case "already_running" if told.get("stage") == "orphaned":
            message = f"processes of {holder} still live on {node}, although its supervisor is gone"
            hint = f"k2tui stop {owner} sweeps them"
        case "already_running":
            message = f"{what} on {node} is held by {holder}"
            hint = (
                f"k2tui restart {owner} replaces it" if owner == server else f"stop {owner} first, or change the port"
            )
        case "start_in_progress":
            message = f"a start of {holder} is in progress on {node} and holds {what}"
            hint = f"follow it with k2tui logs -f {owner}"
        case "gpus_taken":
            message = f"{what} on {node} is used by {holder}"
            hint = f"stop {owner} first, or give {server} other gpus"
        case "port_taken":
            named = f"pid {told['pid']} ({told.get('command', '?')})" if told.get("pid") else "another user's process"
            message = f"port {port} on {node} is taken by {named}"
            hint = "stop that, or give this server another port"
        case "no_cwd":
            message = f"{node} has no directory {detail}"
            hint = f"correct cwd of [servers.{server}]"
        case "no_program":
            message = f"{node} has no program {detail}"
            hint = f"give [servers.{server}] a setup line or python"
        case "setup_failed":
            code = "launch_failed"
            message = (
                f"the setup line of {server} failed on {node} with exit {told.get('status', '?')}: {detail}".rstrip(
                    ": "
                )
            )
            hint = f"it is: {mask(profile.setup or '', profile.secrets)}"
        case _:
            code = "launch_failed"
            message = f"{server} could not be started on {node}: {detail or answer.code}"
    return K2Error(message, code=code, subject=server, hint=hint)


def _one_word(text: str) -> str:
    """Printable and without blanks, for a lock's owner line."""
    return "".join(char if char.isascii() and char.isprintable() and char != " " else "_" for char in text)[:200] or "-"
