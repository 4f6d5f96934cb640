"""Adoption: what somebody else started is written into the config, stopped by its identity, and started as ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import arguments, identity
from k2tui.core.foreign.adoption import Adoption, adoption_of
from k2tui.core.foreign.stopping import ForeignLook, refusal
from k2tui.core.found import FoundServer
from k2tui.core.preflight import PreflightItem
from k2tui.core.secrets import masked_argv
from k2tui.core.settings import ProfileSettings, ServerSettings
from k2tui.core.verbs import LaunchPlan, ProfileChange, VerbEvent
from k2tui.services.doors import ConfigWriter
from k2tui.services.foreign_stop import ForeignStopper
from k2tui.services.launching import Verbs
from k2tui.services.restarting import manner_of
from k2tui.services.stopping import SEE_LIMIT_S, SEE_POLL_S, STOP_GRACE_S
from k2tui.services.verb_tools import Teller, Tools

_COMES_FREE = ("port", "gpus")
"""What stands in the way of the start only as long as the old process has it."""


@dataclass(frozen=True)
class Adopting:
    """What the adoption of one found server works with."""

    tools: Tools
    """Of the server as it was found."""
    stopper: ForeignStopper
    """Of its node."""
    writer: ConfigWriter | None
    """Writes the operator's config; None: there is none to write."""
    in_config: bool
    """The config has a server of this name: it is found on the port of that one."""
    look: Callable[[], Awaitable[None]]
    """Look at the node's processes now."""
    become: Callable[[ServerSettings, ProfileSettings], Verbs]
    """The config has these from now on: make them known to the fleet, and give the verbs of that server."""


async def adopted(adopting: Adopting, *, confirm: str | None) -> AsyncIterator[VerbEvent]:
    """Write it into the config, stop it, start it anew. Refusals raise K2Error before anything was done."""
    tools = adopting.tools
    name, found, told = tools.settings.name, tools.watch.found_alive, Teller(tools.settings.name, tools.clock)
    if found is None:
        raise _not_found(name)
    adoption = adoption_of(found, tools.settings.node, name)
    change = _change(adopting, found, adoption)
    if adoption.secrets and (change is None or change.cmd is not None):
        raise _has_a_secret(adoption, name)
    if tools.gate.read_only:
        tools.check("adopt", None, confirm)
    look = await adopting.stopper.look(name, found)
    refused = refusal(look, found, name)
    if refused is not None:
        raise refused
    hit = look.sentence(found)
    tools.check("adopt", hit, confirm)
    yield told.event("preflight", hit, _look_json(look))
    for text in _notes(look, found, adoption):
        yield told.event("preflight", text)
    detail = f"pid {found.process.pid} of {found.process.user}: {hit}"
    with tools.gate.changing(node=tools.settings.node, subject=name, action="adopt", detail=detail) as ongoing:
        verbs = Verbs(tools)
        if not adopting.in_config:
            assert adopting.writer is not None
            path = adopting.writer.add_server(adoption.toml)
            yield told.event(
                "config", f"[servers.{name}] and [profiles.{name}] were written into {path}", {"path": path}
            )
            verbs = adopting.become(adoption.server, adoption.profile)
        code = ExitCode.BAD
        with verbs.tools.hurried():
            plan = verbs.tools.plan(change or ProfileChange())
            await _refuse_hopeless(verbs, plan, name)
            async for event in _stopped(adopting, verbs.tools, told, found):
                yield event
            async for event in _started(verbs, told, plan, confirm):
                code = code if event.exit_code is None else event.exit_code
                yield event
        ongoing.result = "done" if code is ExitCode.DONE else "failed: not verified"


def _change(adopting: Adopting, found: FoundServer, adoption: Adoption) -> ProfileChange | None:
    """How a server that is in the config already is started as it runs now; None for one that is not."""
    tools = adopting.tools
    name = tools.settings.name
    if not adopting.in_config:
        if adopting.writer is None:
            raise K2Error(
                f"{name} was not adopted: there is no config to write it into",
                code="no_config_file",
                subject=name,
                hint="k2tui config init writes one; start k2tui again then",
                exit_code=ExitCode.USAGE,
            )
        return None
    if tools.settings.profile is None:
        raise K2Error(
            f"{name} was not adopted: your config only watches its log",
            code="watched_only",
            subject=name,
            hint=f"take [servers.{name}] out and start k2tui again: it is found by itself then, and can be adopted",
            exit_code=ExitCode.USAGE,
        )
    profile = tools.plan(ProfileChange()).profile
    if _flags(masked_argv(profile.argv, profile.secrets)) == _flags(found.argv):
        return ProfileChange()
    return ProfileChange(cmd=adoption.profile.cmd)


def _flags(argv: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """What decides whether two commands are the same one, whoever's interpreter runs them."""
    parts = arguments(argv).parts
    return sorted((identity(part.name or ""), part.values) for part in parts if part.name != "port")


def _notes(look: ForeignLook, found: FoundServer, adoption: Adoption) -> list[str]:
    """What an operator should know before: what is left alone, and what does not come along."""
    notes = list(adoption.notes)
    beside = look.left_alone()
    missing = look.not_carried(frozenset(name for name, _ in found.env))
    if missing:
        shown = ", ".join(missing[:12]) + (f" and {len(missing) - 12} more" if len(missing) > 12 else "")
        notes.append(f"of its environment these do not come along, put what it needs into its profile: {shown}")
    return [*([beside] if beside is not None else []), *notes]


async def _refuse_hopeless(verbs: Verbs, plan: LaunchPlan, name: str) -> None:
    """What runs is not stopped for a start that must fail."""
    blocks = [item for item in (await verbs.tools.preflight(plan)).blocks if item.name not in _COMES_FREE]
    if blocks:
        raise K2Error(
            f"{name} runs on as it was, because it would not start from here: {_texts(blocks)}",
            code="preflight",
            subject=name,
            hint=f"[servers.{name}] stands in your config; mend its profile, and adopt it again",
        )


async def _stopped(adopting: Adopting, tools: Tools, told: Teller, found: FoundServer) -> AsyncIterator[VerbEvent]:
    """End its tree, and see it gone."""
    name, process = tools.settings.name, found.process
    tools.watch.mark("stopping")
    try:
        yield told.event("stopping", f"stopping pid {process.pid} of {process.user}", {"pid": process.pid})
        report = await tools.gate.change(
            lambda: adopting.stopper.stop(name, found, grace_s=STOP_GRACE_S),
            node=tools.settings.node,
            subject=name,
            action="stop",
            detail=f"pid {process.pid} of {process.user}, not started by k2tui",
        )
    finally:
        tools.watch.mark(None)
    yield told.event("stopped", report.sentence, report.to_json())
    await adopting.look()


async def _started(verbs: Verbs, told: Teller, plan: LaunchPlan, confirm: str | None) -> AsyncIterator[VerbEvent]:
    """Start it as one of ours, once its port and its GPUs are free."""
    try:
        async for event in _came_free(verbs, told, plan):
            yield event
        manner = manner_of(verbs.tools.settings, "adopt")
        async for event in verbs.start(plan, confirm=confirm, verify=True, manner=manner):
            yield event
    except K2Error as error:
        if error.exit_code is ExitCode.UNREACHABLE:
            raise
        name = plan.server
        yield told.event("failed", error.message, {"code": error.code, "hint": error.hint})
        text = f"{error}; what ran before is stopped, k2tui start {name} tries again"
        yield told.done(ExitCode.BAD, text, {"code": error.code})


async def _came_free(verbs: Verbs, told: Teller, plan: LaunchPlan) -> AsyncIterator[VerbEvent]:
    """Wait until the port and the GPUs' memory are back, at most a minute; each change is told."""
    tools = verbs.tools
    end = tools.clock.monotonic() + SEE_LIMIT_S
    before = None
    while True:
        held = [item for item in (await tools.preflight(plan)).blocks if item.name in _COMES_FREE]
        text = _texts(held) or "nothing of it holds the port or a GPU any more"
        if text != before:
            before = text
            yield told.event("seen", text, {"is_clean": not held})
        if not held or tools.clock.monotonic() >= end:
            return
        await tools.clock.sleep(SEE_POLL_S)


def _texts(items: list[PreflightItem]) -> str:
    return "; ".join(item.text for item in items)


def _look_json(look: ForeignLook) -> dict[str, object]:
    return {
        "uid": look.uid,
        "session": look.session,
        "session_leader": look.leader,
        "tty": look.tty,
        "pids": [hit.pid for hit in look.tree],
        "processes": [{"pid": hit.pid, "command": hit.command} for hit in look.tree],
        "left_alone": [{"pid": hit.pid, "command": hit.command} for hit in look.beside],
    }


def _not_found(name: str) -> K2Error:
    return K2Error(
        f"{name} is nothing that somebody else started: there is nothing to adopt",
        code="not_found",
        subject=name,
        hint="k2tui servers lists what runs, and whose it is",
        exit_code=ExitCode.MISSING,
    )


def _has_a_secret(adoption: Adoption, name: str) -> K2Error:
    flags = ", ".join(adoption.secrets)
    return K2Error(
        f"{name} was not adopted: its command has a secret ({flags}) that k2tui does not pass on, and without it the "
        "server would be another one",
        code="secret_unknown",
        subject=name,
        hint="put the lines of key i (adopt_toml of servers --json) with the secret into your config, then adopt it",
        exit_code=ExitCode.USAGE,
    )
