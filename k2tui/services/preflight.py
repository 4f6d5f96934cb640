"""Everything that can stand in the way of a launch, looked at on its node, now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from k2tui.core.builds import Build
from k2tui.core.checkpoint import Checkpoint
from k2tui.core.errors import K2Error
from k2tui.core.flag_combinations import Asked
from k2tui.core.found import NodeProcess
from k2tui.core.link import LinkPhase
from k2tui.core.preflight import Preflight, PreflightItem, Weight
from k2tui.core.preflight_gpus import gpu_items, gpus_of, names_of
from k2tui.core.preflight_items import (
    clients_item,
    disk_items,
    inner_ports,
    model_item,
    port_items,
    program_item,
    settings_items,
)
from k2tui.core.preflight_look import NodeLook, look_payload, parse_look
from k2tui.core.readings import NodeReading
from k2tui.core.runs import Run
from k2tui.core.secrets import masked_argv, masked_env
from k2tui.core.setting_checks import check_settings
from k2tui.core.settings import LaunchProfile, NodeSettings, ServerSettings
from k2tui.services.checkpoint_look import look as look_at_checkpoint
from k2tui.services.checkpoint_look import model_of
from k2tui.services.doors import NodeLink, Script
from k2tui.services.runs import port_of

LOOK_LIMIT_S = 40.0
"""The script bounds its own steps; all of them together take less."""


async def preflight(
    link: NodeLink,
    node: NodeSettings,
    script: Callable[[str], Script],
    *,
    server: ServerSettings,
    profile: LaunchProfile,
    replaces: Run | None,
    reading: NodeReading,
    processes: Sequence[NodeProcess],
    requests: int | None,
    rivals: Sequence[str],
    build: Build | None,
    checkpoint: Checkpoint | None = None,
) -> Preflight:
    """Look at all that a start of this profile needs; nothing is changed. A node that can't be reached is an item.

    `replaces`: the run that will be stopped for it; `requests`: what it answers at the moment, None where it does not
    say; `rivals`: other servers that run on the same GPUs; `checkpoint`: the model's files where they were looked at
    already.
    """
    asked = Asked.of(profile.argv, profile.env)
    port = port_of(server, profile.argv)
    inner = inner_ports(asked, server.engine, port)
    program, model = profile.argv[0] if profile.argv else "", model_of(profile.argv)
    image = server.image if server.supervisor == "docker" else None
    gpus = gpus_of(server.gpus, profile.env, reading)
    env = masked_env(profile.env, profile.secrets)
    checks = check_settings(
        masked_argv(profile.argv, profile.secrets),
        env,
        engine=server.engine,
        build=build,
        gpu_names=names_of(gpus, reading),
    )
    payload = look_payload(profile, program="" if image is not None else program, model=model or "")
    looking = Script("preflight", f"{script('runs').text}\n{script('preflight').text}")
    args = (node.home, *map(str, (port, *inner)))
    (look, trouble), checkpoint = await asyncio.gather(
        _node(link, looking, args, payload), _checkpoint(link, script, profile, checkpoint)
    )
    load_format = asked.value("load-format") or "auto"
    offline = profile.env.get("HF_HUB_OFFLINE", "").casefold() in ("1", "true", "yes", "on")
    items = [
        _ssh(node, link, look, trouble),
        program_item(look, program, server=server.name, image=image),
        *port_items(look, port, inner, replaces),
        model_item(look, model, checkpoint, load_format=load_format, offline=offline, in_image=image is not None),
        *disk_items(look),
        *gpu_items(
            reading,
            processes,
            indices=gpus,
            asked=asked,
            engine=server.engine,
            replaces=replaces,
            rivals=rivals,
            checkpoint=checkpoint,
        ),
        *settings_items(checks, len(env), build),
    ]
    clients = clients_item(requests, replaces)
    return Preflight((*items, clients) if clients is not None else tuple(items), checks)


async def _node(link: NodeLink, script: Script, args: Sequence[str], payload: bytes) -> tuple[NodeLook, K2Error | None]:
    """What the node says of itself, or why it says nothing."""
    try:
        done = await link.run(script, args, stdin=payload, timeout_s=LOOK_LIMIT_S)
    except K2Error as error:
        return NodeLook(), error
    return parse_look(done.stdout), None


async def _checkpoint(
    link: NodeLink, script: Callable[[str], Script], profile: LaunchProfile, known: Checkpoint | None
) -> Checkpoint | None:
    """The model's files, looked at now where nobody has; None where they can't be."""
    if known is not None:
        return known
    try:
        return await look_at_checkpoint(link, script("weights"), argv=profile.argv, env=profile.env, cwd=profile.cwd)
    except K2Error:
        return None  # the other look says what is wrong with the node, or the model is told as not looked at


def _ssh(node: NodeSettings, link: NodeLink, look: NodeLook, trouble: K2Error | None) -> PreflightItem:
    if trouble is not None:
        weight = Weight.WARN if link.state.phase is LinkPhase.UP else Weight.BLOCK
        return PreflightItem("ssh", weight, trouble.message, trouble.hint)
    if not look.is_whole:
        return PreflightItem("ssh", Weight.WARN, f"{node.name} did not answer to the end", f"k2tui doctor {node.name}")
    return PreflightItem("ssh", Weight.FINE, f"{node.name} answers")
