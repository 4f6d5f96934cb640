"""What the things that were looked at before a launch mean: a few words each, and what stands in its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from k2tui.core.builds import Build
from k2tui.core.checkpoint import Checkpoint
from k2tui.core.flag_combinations import Asked
from k2tui.core.preflight import PreflightItem, SettingCheck, Weight
from k2tui.core.preflight_look import DiskLook, Holder, NodeLook
from k2tui.core.runs import Run
from k2tui.core.variable_checks import RANK
from k2tui.core.words import size

ZMQ_PORT_DELTA = 233
"""SGLang's own distance between the port and the first of its inner ports (server_args.py, ZMQ_TCP_PORT_DELTA)."""
FULL_BYTES = 16 * 1024**2
"""Less, and a log has no room."""
TIGHT_BYTES = 2 * 1024**3
TIGHT_SHARE = 0.02
SHM_FULL_BYTES = 1024**2
SHM_TIGHT_BYTES = 256 * 1024**2
"""NCCL and the ranks of one node talk through files there; docker gives 64 MB unless told otherwise."""
MADE_UP = frozenset({"dummy"})
"""Load formats that read no weights."""


def port_items(look: NodeLook, port: int, inner: Mapping[int, str], replaces: Run | None) -> tuple[PreflightItem, ...]:
    """Is the port free now, and after the stop; then the inner ports that are not."""
    items = [_port(look, port, "", replaces)]
    found = [_port(look, other, what, replaces) for other, what in inner.items()]
    return (*items, *(item for item in found if item.weight not in (Weight.FINE, Weight.UNKNOWN)))


def _port(look: NodeLook, port: int, what: str, replaces: Run | None) -> PreflightItem:
    name = f"port {port}" + (f" ({what})" if what else "")
    hint = "stop that, or give this server another port"
    if not 0 < port < 65536:
        return PreflightItem(
            "port", Weight.BLOCK, f"{name} is none: ports are 1 to 65535", "give this server another port"
        )
    if port not in look.ports:
        return PreflightItem("port", Weight.UNKNOWN, f"{name} not looked at")
    holder = look.ports[port]
    if holder is None:
        return PreflightItem("port", Weight.FINE, f"{name} free")
    if _is_of(holder, replaces, port):
        return PreflightItem("port", Weight.FINE, f"{name} will be free")
    if holder.pid is None:
        return PreflightItem("port", Weight.BLOCK, f"{name} is held by another user's process", hint)
    command = f", {_cut(holder.command, 60)}" if holder.command else ""
    return PreflightItem("port", Weight.BLOCK, f"{name} is held by pid {holder.pid}{command}", hint)


def _is_of(holder: Holder, run: Run | None, port: int) -> bool:
    """The process that listens belongs to the run that is to be stopped."""
    if run is None or not run.alive:
        return False
    if run.kept_by == "docker":  # its processes are in a session of their own, and mostly root's
        return run.port == port
    return holder.session is not None and holder.session == run.session_id


def inner_ports(asked: Asked, engine: str, port: int) -> dict[int, str]:
    """Ports that the engine takes beside the one it serves on, as far as they follow from the command.

    With attention DP SGLang waits 30 s for each, then fails (0.5.9 server_args.py:5651-5680, 0.5.23:815-873).
    """
    if engine != "sglang":
        return {}
    found: dict[int, str] = {}
    for flag, what in (("nccl-port", "NCCL"), ("grpc-port", "gRPC")):
        given = asked.count(flag)
        if given is not None and 0 < given < 65536:
            found[given] = what
    ranks = asked.count("attn-dp-size", 1) or 1
    if asked.has("enable-dp-attention"):
        ranks = max(ranks, asked.count("dp-size", 1) or 1)
    if ranks > 1 and asked.count("nnodes", 1) == 1 and not asked.has("dist-init-addr"):
        first = port + ZMQ_PORT_DELTA if port + ZMQ_PORT_DELTA < 65536 else port - ZMQ_PORT_DELTA
        found |= {first + step: "attention DP" for step in range(6) if first + step < 65536}
    found.pop(port, None)
    return found


def program_item(look: NodeLook, program: str, *, server: str, image: str | None = None) -> PreflightItem:
    """Do the directory, the setup line and the program exist."""
    if image is not None:
        return PreflightItem("program", Weight.UNKNOWN, f"program in {image} not looked at")
    if look.missing_cwd is not None:
        hint = f"correct cwd of [servers.{server}]"
        return PreflightItem("program", Weight.BLOCK, f"no directory {look.missing_cwd}", hint)
    if look.setup == "slow":
        return PreflightItem(
            "program", Weight.UNKNOWN, f"{program} not looked at: the setup line takes longer than 10 s"
        )
    if look.setup is not None:
        how = "leaves the shell" if look.setup == "ended" else f"fails with exit {look.setup}"
        hint = f"correct setup of [servers.{server}]"
        return PreflightItem("program", Weight.BLOCK, f"the setup line {how}", hint)
    if look.has_program is None:
        return PreflightItem("program", Weight.UNKNOWN, f"{program} not looked at")
    if look.has_program:
        return PreflightItem("program", Weight.FINE, f"{program.rpartition('/')[2]} found")
    hint = f"give [servers.{server}] a setup line or python"
    return PreflightItem("program", Weight.BLOCK, f"no program {program}", hint)


def is_local(model: str) -> bool:
    """The model is named by a path; a name of the hub has one slash at most, and begins with a letter."""
    return model.startswith(("/", ".", "~")) or model.count("/") > 1


def model_item(
    look: NodeLook,
    model: str | None,
    checkpoint: Checkpoint | None,
    *,
    load_format: str = "auto",
    offline: bool = False,
    in_image: bool = False,
) -> PreflightItem:
    """Is the model there, and are its shards complete."""
    if model is None:
        return PreflightItem("model", Weight.UNKNOWN, "the command names no model")
    name = model.rstrip("/").rpartition("/")[2] or model
    if checkpoint is not None and (checkpoint.shards or checkpoint.troubles):
        return _shards(checkpoint, load_format)
    if look.model == "none" and is_local(model):
        if in_image:
            return PreflightItem("model", Weight.UNKNOWN, f"{name} is not on the node; in the image nobody looked")
        return PreflightItem(
            "model", Weight.BLOCK, f"no model {model}", "correct --model-path, or wait for the download"
        )
    if look.model in (None, "slow"):
        why = "the disk does not answer" if look.model == "slow" else "not looked at"
        return PreflightItem("model", Weight.UNKNOWN, f"{name}: {why}")
    if look.model == "none":
        if offline:
            hint = "unset HF_HUB_OFFLINE, or fetch it first"
            return PreflightItem("model", Weight.BLOCK, f"{name} is not on the node, and the hub is off", hint)
        return PreflightItem("model", Weight.NOTE, f"{name} is not in the hub's cache: it is downloaded first")
    if look.model == "file" or load_format not in ("auto", "safetensors", "pt"):
        made_up = ", its weights are made up" if load_format in MADE_UP else ""
        return PreflightItem("model", Weight.FINE, f"{name} is there{made_up}")
    if checkpoint is None:
        return PreflightItem("model", Weight.UNKNOWN, f"{name} is there, its shards were not looked at")
    return PreflightItem("model", Weight.WARN, f"no weight files in {name}", "is the download complete?")


def _shards(checkpoint: Checkpoint, load_format: str) -> PreflightItem:
    there, troubles = len(checkpoint.shards), checkpoint.troubles
    gone = sum(trouble.what == "missing" for trouble in troubles)
    total = there + gone
    plural = "" if total == 1 else "s"
    if load_format in MADE_UP or not troubles:
        return PreflightItem("model", Weight.FINE, f"{total} of {total} shard{plural}, {size(checkpoint.total_bytes)}")
    hint = "resume the download"
    hopeless = [trouble for trouble in troubles if trouble.what not in ("long", "partial")]
    first = (hopeless or list(troubles))[0]
    if gone:
        return PreflightItem("model", Weight.BLOCK, f"{there} of {total} shard{plural}: {first.text}", hint)
    more = f" and {len(troubles) - 1} more" if len(troubles) > 1 else ""
    return PreflightItem("model", Weight.BLOCK if hopeless else Weight.WARN, f"{first.text}{more}", hint)


def disk_items(look: NodeLook) -> tuple[PreflightItem, ...]:
    """Is there room for the log, and for what ranks share; one item when all is well."""
    if look.home_writable is False:
        hint = "set home of the node to a directory that is yours"
        return (PreflightItem("disk", Weight.BLOCK, f"{look.home} can't be written to", hint),)
    items: list[PreflightItem] = []
    for disk in look.disks:
        full, tight = (SHM_FULL_BYTES, SHM_TIGHT_BYTES) if disk.path == "/dev/shm" else (FULL_BYTES, TIGHT_BYTES)
        weight = _room(disk, full, tight)
        if weight is not Weight.FINE:
            word = "full" if weight is Weight.BLOCK else "nearly full"
            hint = (
                "leftovers of dead servers may lie there" if disk.path == "/dev/shm" else "remove old runs or move home"
            )
            items.append(PreflightItem("disk", weight, f"{disk.path} is {word}: {size(disk.free_bytes)} free", hint))
    if items:
        return tuple(items)
    home = next((disk for disk in look.disks if disk.path != "/dev/shm"), None)
    if home is None:
        return (PreflightItem("disk", Weight.UNKNOWN, "disk not looked at"),)
    return (PreflightItem("disk", Weight.FINE, f"disk {size(home.free_bytes)} free"),)


def _room(disk: DiskLook, full: int, tight: int) -> Weight:
    if disk.free_bytes < full:
        return Weight.BLOCK
    if disk.path == "/dev/shm":
        return Weight.WARN if disk.free_bytes < min(tight, disk.total_bytes // 2) else Weight.FINE
    return Weight.WARN if disk.free_bytes < tight or disk.free_bytes < TIGHT_SHARE * disk.total_bytes else Weight.FINE


def settings_items(checks: Sequence[SettingCheck], variables: int, build: Build | None) -> tuple[PreflightItem, ...]:
    """What the checks of flags and variables come to; the last `variables` checks are those of variables."""
    flags, env = checks[: len(checks) - variables], checks[len(checks) - variables :]
    items = [_flags(flags, build)] if flags else []
    if env:
        count = f"{len(env)} variable{'' if len(env) == 1 else 's'}"
        items.append(_worst(env) or PreflightItem("env", Weight.FINE, count))
    return tuple(items)


def _flags(flags: Sequence[SettingCheck], build: Build | None) -> PreflightItem:
    worst = _worst(flags, "flags")
    if worst is not None and worst.weight is Weight.BLOCK:
        return worst
    if build is None:
        if worst is not None:
            return worst
        return PreflightItem("flags", Weight.UNKNOWN, "flags not checked: the build was not read")
    whose = "this build" if build.how != "table" else f"{build.engine} {build.version or '?'}"
    accepted = f"flags accepted by {whose} {len(flags)}/{len(flags)}"
    if worst is not None:
        return replace(worst, text=f"{accepted}; {worst.text}")
    return PreflightItem("flags", Weight.FINE, accepted)


def _worst(checks: Sequence[SettingCheck], name: str = "env") -> PreflightItem | None:
    """The heaviest of them where something is wrong, and how many more there are."""
    weight = max((check.weight for check in checks), key=RANK.index, default=Weight.FINE)
    if weight not in (Weight.WARN, Weight.BLOCK):
        return None
    heavy = [check for check in checks if check.weight is weight]
    more = f" (and {len(heavy) - 1} more)" if len(heavy) > 1 else ""
    return PreflightItem(name, weight, f"{heavy[0].name}: {heavy[0].text}{more}")


def clients_item(requests: int | None, replaces: Run | None) -> PreflightItem | None:
    """Who would be cut off; None where nothing is stopped."""
    if replaces is None or not replaces.alive:
        return None
    if requests is None:
        return PreflightItem("clients", Weight.UNKNOWN, "running requests: it does not say")
    if requests == 0:
        return PreflightItem("clients", Weight.FINE, "no request running")
    text = f"{requests} request{'' if requests == 1 else 's'} running"
    return PreflightItem("clients", Weight.WARN, text, "they are cut off unless they may end first (drain)")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
