"""What is measured: how a server of the fleet is reached and asked, and what of its system bears on its speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from k2tui.core.benching.keys import system_of
from k2tui.core.benching.plan import BenchTarget
from k2tui.core.benching.result import BenchSystem
from k2tui.core.benching.targets import decodes_speculatively
from k2tui.core.benching.words import METRICS
from k2tui.core.effects.checks import REASONING
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.fields import gpus_of
from k2tui.core.flags import flag_value
from k2tui.core.link import LinkPhase
from k2tui.core.verdicts import Outcome
from k2tui.core.views import NodeView, ServerStatus, ServerView
from k2tui.services.builds import program_of
from k2tui.services.doors import NodeLink, Script
from k2tui.services.server_watch import ServerWatch

LOOK_S = 20.0
"""A look at a model's config and at the links of its GPUs; the node bounds each of them."""

_NOT_UP: Mapping[ServerStatus, str] = {
    ServerStatus.UNKNOWN: "is not running, as far as can be seen",
    ServerStatus.DOWN: "is not running",
    ServerStatus.LOADING: "is still loading",
    ServerStatus.CRASHED: "has crashed",
    ServerStatus.HUNG: "hangs",
    ServerStatus.STALE: "was not seen for a while",
}


def target_of(watch: ServerWatch) -> BenchTarget:
    """How it is asked, from its node. Raises K2Error where it can't be: out of reach, not running, being changed."""
    view, settings = watch.view, watch.settings
    _must_be_up(watch)
    port = watch.port
    if port is None:
        raise K2Error(
            f"{settings.name} can't be measured: nothing says which port it has",
            code="no_port",
            subject=settings.name,
            hint=f"give it a port in [servers.{settings.name}]",
        )
    argv, found = command_of(watch), watch.found_alive
    in_container = settings.supervisor == "docker" if found is None else found.container is not None
    return BenchTarget(
        name=settings.name,
        port=port,
        node=settings.node,
        engine=settings.engine if found is None else found.engine,
        model=flag_value(argv, "served-model-name"),
        api_key=watch.api_key,
        # What runs in a container has a python that the node itself has not.
        python=None if in_container else python_of(argv) or settings.python,
        setup=None if in_container or found is not None else settings.setup,
        cwd=None if in_container else settings.cwd if found is None else found.cwd,
        speculative=decodes_speculatively(argv),
        reasoning_proved=_reasoning(view),
    )


def command_of(watch: ServerWatch) -> Sequence[str]:
    """The command that runs, secrets masked; empty where nobody knows it."""
    found, run = watch.found_alive, watch.view.run
    if found is not None:
        return found.argv
    return () if run is None else run.argv


def python_of(argv: Sequence[str]) -> str | None:
    """The python that a command starts, or that beside the engine's own program; None where it names no path to one."""
    program = program_of(argv)
    folder, slash, name = (program or "").rpartition("/")
    return program if name not in ("vllm", "sglang") else f"{folder}/python3" if slash else None


async def system_seen(
    watch: ServerWatch, node: NodeView, link: NodeLink, script: Callable[[str], Script]
) -> BenchSystem:
    """All of its system that is known, and what its node tells now; what can't be told is None."""
    view, found, run = watch.view, watch.found_alive, watch.view.run
    argv = command_of(watch)
    build, launch = view.build, view.launch
    checkpoint = view.around.checkpoint
    model = flag_value(argv, "model-path")
    told = await _told(
        link,
        script("bench_system"),
        (checkpoint.path if checkpoint is not None else model) or "",
        links=bool(node.reading.gpus) and node.reading.gpus_trouble is None,
    )
    return system_of(
        argv=argv,
        env=found.env if found is not None else () if run is None else run.env,
        engine=view.settings.engine if found is None else found.engine,
        model=model or (launch.model if launch is not None else None),
        version=(launch.version if launch is not None else None) or (build.version if build is not None else None),
        revision=told.get("revision"),
        quantization=flag_value(argv, "quantization") or told.get("quantization"),
        image=watch.settings.image if found is None and watch.settings.supervisor == "docker" else None,
        gpus=gpus_of(view, node),
        driver=node.reading.driver,
        topology=told.get("topology"),
        secrets=() if watch.api_key is None else (watch.api_key,),
    )


def clients_words(view: ServerView, running: int) -> str:
    """What others do on it just now, and what that does to a measurement."""
    serving = view.serving
    rate = None if serving is None else serving.decode_tokens_per_s
    whose = f"{running} request{'s' if running != 1 else ''} of others run{'s' if running == 1 else ''} on it"
    total = "" if rate is None else f", {METRICS['agg_tps_total'].text(rate)} in all"
    return f"{whose}{total}: what is measured beside them is flagged by G2"


async def _told(link: NodeLink, script: Script, directory: str, *, links: bool) -> dict[str, str]:
    try:
        done = await link.run(script, (directory, "links" if links else ""), timeout_s=LOOK_S)
    except K2Error:
        return {}  # the measurement says itself what is wrong with the link
    lines = done.stdout.decode("utf-8", "replace").splitlines()[:16]
    return {word: value for word, _, value in (line.partition(" ") for line in lines) if value}


def _must_be_up(watch: ServerWatch) -> None:
    view, settings, link = watch.view, watch.settings, watch.link
    if link.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED):
        raise K2Error(
            f"{settings.name} can't be measured: {link.reason or f'{settings.node} is out of reach'}",
            code=link.code or "unreachable",
            subject=settings.name,
            hint=link.hint,
            exit_code=ExitCode.UNREACHABLE,
        )
    if view.doing is not None:
        raise K2Error(
            f"{settings.name} can't be measured while k2tui is {view.doing} it", code="changing", subject=settings.name
        )
    if view.status in _NOT_UP:
        raise K2Error(
            f"{settings.name} {_NOT_UP[view.status]} on {settings.node}",
            code="not_running",
            subject=settings.name,
            hint=f"k2tui start {settings.name}" if view.status is ServerStatus.DOWN else None,
            exit_code=ExitCode.MISSING,
        )


def _reasoning(view: ServerView) -> bool | None:
    """What the newest proof said of its reasoning parser."""
    effects = () if view.proof is None else view.proof.effects
    outcome = next((effect.outcome for effect in effects if effect.check == REASONING), None)
    return {Outcome.PROVED: True, Outcome.NOT_PROVED: False}.get(outcome) if outcome is not None else None
