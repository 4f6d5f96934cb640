"""Why a launch was refused, and what to do about it."""

from __future__ import annotations

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.launch_order import LaunchAnswer
from k2tui.core.secrets import mask


def refusal(
    answer: LaunchAnswer, server: str, node: str, port: int | None, *, setup: str | None, secrets: frozenset[str]
) -> K2Error:
    """Why a launch was refused, for an operator."""
    told = {key: mask(value, secrets) for key, value in answer.details.items()}
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
            hint = f"it is: {mask(setup or '', secrets)}"
        case "no_such_run":
            return K2Error(
                f"{node} has no planned run {told.get('run', '?')} of {server} any more",
                code=code,
                subject=server,
                hint=f"k2tui start {server} starts it anew",
                exit_code=ExitCode.MISSING,
            )
        case _:
            code = "launch_failed"
            message = f"{server} could not be started on {node}: {detail or answer.code}"
    return K2Error(message, code=code, subject=server, hint=hint)
