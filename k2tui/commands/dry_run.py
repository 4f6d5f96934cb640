"""What a launch would do: the difference to what runs, what is known of each flag, what stands in its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from k2tui.commands.output import Output
from k2tui.commands.undo import undo_of
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.preflight import Preflight, PreflightItem, SettingCheck, Weight
from k2tui.core.printable import on_one_line
from k2tui.core.run_words import command_of
from k2tui.core.secrets import mask
from k2tui.core.settings import LaunchProfile
from k2tui.core.settings_between import Setting, settings_between
from k2tui.core.verbs import LaunchPlan, ProfileChange
from k2tui.core.views import ServerView
from k2tui.services.fleet import Fleet

_KIND = {"+": "added", "-": "removed", "~": "changed", " ": "same"}
_MARK = {Weight.FINE: "ok", Weight.NOTE: "note", Weight.WARN: "!", Weight.BLOCK: "NO", Weight.UNKNOWN: "?"}


async def dry_run(
    fleet: Fleet, names: Sequence[str], change: ProfileChange, output: Output, *, undo: bool = False
) -> int:
    """Tell it for each server, and do nothing. A node out of reach is said; the rest is told all the same."""
    for name in names:
        away = await _reached(fleet, name)
        if undo:
            change = await undo_of(fleet, name)
        plan = fleet.plan(name, change)
        look: Preflight | None = None
        if away is None:
            try:
                look = await fleet.preflight(name, change)
                plan = fleet.plan(name, change)
            except K2Error as error:
                away = error
        view = fleet.server(name)
        own = _own_profile(fleet, name)
        if output.as_json:
            output.json(plan_json(plan, view, look, away, own))
        else:
            _tell(plan, change, view, look, away, own, output)
    return int(ExitCode.DONE)


def _own_profile(fleet: Fleet, name: str) -> LaunchProfile | None:
    """What it would be started with as configured; None for a server without a profile."""
    try:
        return fleet.plan(name).profile
    except K2Error:
        return None


async def _reached(fleet: Fleet, name: str) -> K2Error | None:
    """Connect and look; gives why that was not possible."""
    server = fleet.settings.servers.get(name)
    if server is None:
        return None
    try:
        await fleet.link(server.node).connect()
        await fleet.open()
        await fleet.settle()
    except K2Error as error:
        return error
    return None


def settings_of(plan: LaunchPlan, view: ServerView, own: LaunchProfile | None) -> list[Setting]:
    """Every flag and variable, running against next; of a server that never ran, its own profile against next."""
    profile, run = plan.profile, view.run
    old = command_of(run) if run is not None else None if own is None else (own.argv, own.env)
    return settings_between(old, (profile.argv, profile.env), profile.secrets)


def plan_json(
    plan: LaunchPlan, view: ServerView, look: Preflight | None, away: K2Error | None, own: LaunchProfile | None
) -> dict[str, object]:
    """The whole plan for programs; `preflight` is null where nobody could look."""
    checks = {check.name: check for check in (plan.checks if look is None else look.checks or plan.checks)}
    return {
        "type": "plan",
        "server": plan.server,
        "node": plan.node,
        "profile": plan.profile.name,
        "command": plan.command,
        "setup": shown_setup(plan),
        "cwd": plan.profile.cwd,
        "replaces_run": plan.replaces_run,
        "settings": [_setting_json(one, plan.sources, checks) for one in settings_of(plan, view, own)],
        "expects": list(plan.expects),
        "build": None
        if plan.build is None
        else {
            "engine": plan.build.engine,
            "version": plan.build.version,
            "path": plan.build.path,
            "modified": None if plan.build.modified is None else list(plan.build.modified),
        },
        "back_to": plan.back_to,
        "no_way_back": plan.no_way_back,
        "preflight": None if look is None else [_item_json(item) for item in look.items],
        "would_start": None if look is None else not look.blocks,
        "unreachable": None if away is None else str(away),
        "confirm_needed": plan.confirm_needed,
        "warnings": list(plan.warnings),
    }


def _setting_json(
    setting: Setting, sources: Mapping[str, str], checks: Mapping[str, SettingCheck]
) -> dict[str, object]:
    check = checks.get(setting.name)
    return {
        "name": setting.name,
        "old": setting.old,
        "new": setting.new,
        "is_env": setting.is_env,
        "kind": _KIND[setting.kind],
        "source": sources.get(setting.name),
        "check": None
        if check is None
        else {
            "weight": check.weight.value,
            "text": check.text,
            "basis": check.basis or None,
            "replacement": check.replacement,
        },
    }


def _item_json(item: PreflightItem) -> dict[str, object]:
    return {"name": item.name, "weight": item.weight.value, "text": item.text, "hint": item.hint}


def _begun_from(plan: LaunchPlan, change: ProfileChange) -> str:
    """What the difference is on top of."""
    if change.run is not None:
        return f"as run {change.run}"
    if change.cmd is not None:
        return "the command that --cmd gives"
    return f"profile {plan.profile.name}"


def _tell(
    plan: LaunchPlan,
    change: ProfileChange,
    view: ServerView,
    look: Preflight | None,
    away: K2Error | None,
    own: LaunchProfile | None,
    output: Output,
) -> None:
    output.line(f"{plan.server} on {plan.node}, {_begun_from(plan, change)}; nothing was done")
    checks = {check.name: check for check in (plan.checks if look is None else look.checks or plan.checks)}
    settings = settings_of(plan, view, own)
    told = [one for one in settings if one.kind != " " or _matters(checks.get(one.name))]
    for one in told:
        output.line(f"  {_setting_line(one, plan.sources.get(one.name), checks.get(one.name))}")
    if len(settings) > len(told):
        output.line(f"  {len(settings) - len(told)} flags and variables as they are")
    for name, value in (("cwd", plan.profile.cwd), ("setup", shown_setup(plan))):
        if value is not None:
            output.line(f"  {name}: {on_one_line(value)}")
    output.line(f"  {plan.command}")
    if plan.replaces_run is not None:
        output.line(f"  stops run {plan.replaces_run} first")
    if plan.expects:
        output.line(f"  after the start: {', '.join(plan.expects)}")
    if look is not None:
        for item in look.items:
            hint = f"; {item.hint}" if item.hint and item.weight in (Weight.WARN, Weight.BLOCK) else ""
            output.line(f"  {_MARK[item.weight]:>4}  {item.name:<8} {item.text}{hint}")
    elif away is not None:
        output.line(f"  not looked at: {away}")
    if plan.back_to is not None:
        output.line(f"  a roll-back would start what run {plan.back_to} was started with")
    elif plan.no_way_back is not None:
        output.line(f"  no roll-back: {plan.no_way_back}")
    for warning in (*plan.warnings, *((plan.confirm_needed,) if plan.confirm_needed else ())):
        output.line(f"  ! {warning}")


def _matters(check: SettingCheck | None) -> bool:
    return check is not None and check.weight in (Weight.NOTE, Weight.WARN, Weight.BLOCK)


def _setting_line(setting: Setting, source: str | None, check: SettingCheck | None) -> str:
    """`~ --mem-fraction-static 0.8 -> 0.9  (this change)  known`; a variable is `NAME=value`."""
    value = f"{setting.old} -> {setting.new}" if setting.kind == "~" else (setting.new or setting.old or "")
    between = "=" if setting.is_env else " "
    parts = [on_one_line(f"{setting.kind} {setting.name}{between}{value}").rstrip()]
    parts += [f"({source})"] if source else []
    if check is not None:
        parts.append(check.text + (f"; {check.basis}" if check.basis and _matters(check) else ""))
    return "  ".join(parts)


def shown_setup(plan: LaunchPlan) -> str | None:
    """The setup line, secrets masked."""
    setup = plan.profile.setup
    return None if setup is None else mask(setup, plan.profile.secrets)
