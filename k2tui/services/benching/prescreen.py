"""A look at each NCCL setting of a series without loading weights: what hangs there need not be launched."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from k2tui.core.benching.matrix import with_arm_skipped
from k2tui.core.benching.series import SeriesEvent
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import flag_value
from k2tui.core.printable import printable
from k2tui.core.settings import LaunchProfile, ServerSettings
from k2tui.services.benching.going import Going
from k2tui.services.builds import program_of
from k2tui.services.doors import NodeLink, RemoteStream, Script

LIMIT_S = 90.0
"""For one setting: importing torch and building the ring take most of it."""
BATCHES = (1, 8, 64)
"""Requests that are decoded at the same time."""
MOST_BYTES = 65536
_ENV = ("NCCL_", "TORCH_NCCL_", "CUDA_", "GLOO_")
_RANKS = ("tp-size", "tensor-parallel-size", "tp")


class PrescreenScripts:
    """What is carried to the node."""

    def __init__(self, script: Callable[[str], Script]) -> None:
        self.run, self.program = script("allreduce"), script("allreduce.py").text.encode()


@dataclass
class Prescreen:
    """Looks at the configurations of a series; those that hang there are skipped. What can't be looked at is told, and
    takes nothing away."""

    going: Going
    link: NodeLink
    scripts: PrescreenScripts
    server: ServerSettings
    profiles: Sequence[LaunchProfile]
    """What each configuration would start, in their order."""
    told: dict[str, str] = field(default_factory=dict)
    """Label to what was found."""

    async def made(self) -> AsyncIterator[SeriesEvent]:
        """Look at all of them, and keep what was found."""
        going = self.going
        yield going.event("prescreen", "looking at each NCCL setting with a small all-reduce, without loading weights")
        try:
            async for event in self._looked():
                yield event
        except K2Error as error:
            if error.exit_code is ExitCode.UNREACHABLE:
                raise
            yield going.event("prescreen", f"the look without weights was not made: {error}")
        labels = [arm.label for arm in going.state.plan.arms]
        found = tuple((label, self.told.get(label, "not looked at")) for label in labels)
        await going.become(replace(going.state, prescreened=found))

    async def _looked(self) -> AsyncIterator[SeriesEvent]:
        order = self._order()
        if order is None:
            yield self.going.event("prescreen", "nothing to look at: one rank, or nothing of NCCL is different")
            return
        stream = await self.link.open(self.scripts.run, self._args())
        try:
            await stream.write(b"%d\n" % len(self.scripts.program) + self.scripts.program)
            await stream.write(json.dumps(order).encode() + b"\n")
            async for line in _lines(stream):
                async for event in self._heard(line):
                    yield event
        finally:
            await stream.close()

    async def _heard(self, line: Mapping[str, object]) -> AsyncIterator[SeriesEvent]:
        going = self.going
        match line.get("type"):
            case "hello":
                ranks, backend = line.get("ranks"), _text(line.get("backend"))
                yield going.event("prescreen", f"{ranks} ranks with {backend}", {"backend": backend})
            case "error":
                yield going.event("prescreen", f"the look without weights was not made: {_text(line.get('message'))}")
            case "arm":
                for arm in self._arms_of(_text(line.get("label"))):
                    label = going.state.plan.arms[arm].label
                    words = self.told[label] = _words(line)
                    if line.get("state") == "hung":
                        why = f"an all-reduce of its ranks hung: {_text(line.get('why'))}"
                        await going.become(with_arm_skipped(going.state, arm, why, now=going.clock.time()))
                    data = {"arm": label, "state": line.get("state"), "p50_us": line.get("p50_us")}
                    yield going.event("prescreen", f"{label}: {words}", data)

    def _arms_of(self, label: str) -> list[int]:
        """All configurations that have the same of NCCL as this one: they were looked at once."""
        labels = [arm.label for arm in self.going.state.plan.arms]
        if label not in labels:
            return []
        env = _nccl(self.profiles[labels.index(label)].env)
        return [arm for arm, profile in enumerate(self.profiles) if _nccl(profile.env) == env]

    def _order(self) -> dict[str, object] | None:
        """What the node is to look at; None where that would say nothing."""
        argv = self.profiles[0].argv
        ranks = next((int(found) for name in _RANKS if (found := flag_value(argv, name)) and found.isdecimal()), 1)
        arms = []
        seen: list[dict[str, str]] = []
        for arm, profile in zip(self.going.state.plan.arms, self.profiles, strict=True):
            env = _nccl(profile.env)
            if env not in seen:
                seen.append(env)
                arms.append({"label": arm.label, "env": env})
        if ranks < 2 or len(arms) < 2:
            return None
        model = flag_value(argv, "model-path") or flag_value(argv, "model") or ""
        return {"model": model, "ranks": ranks, "batches": list(BATCHES), "limit_s": LIMIT_S, "arms": arms}

    def _args(self) -> tuple[str, ...]:
        profile = self.profiles[0]
        python = program_of(profile.argv) or self.server.python or "python3"
        env = profile.env
        return (python, profile.setup or "", profile.cwd or "", env.get("PATH", ""), env.get("PYTHONPATH", ""))


async def _lines(stream: RemoteStream) -> AsyncIterator[Mapping[str, object]]:
    """Every line that is a JSON object, until the last one."""
    while line := await stream.readline():
        try:
            found = json.loads(line[:MOST_BYTES])
        except ValueError:
            continue
        if isinstance(found, dict):
            if found.get("type") == "end":
                return
            yield found


def _nccl(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_ENV)}


def _words(line: Mapping[str, object]) -> str:
    if line.get("state") != "ok":
        return f"{_text(line.get('state'))}: {_text(line.get('why'))}"
    p50 = line.get("p50_us")
    figures = list(_figures(p50)) if isinstance(p50, dict) else []
    return f"all-reduce {', '.join(figures)}" if figures else "no figures"


def _figures(p50: Mapping[object, object]) -> Iterator[str]:
    """`16 µs (14 kB)`, as it was told, smallest first."""
    for size, took in p50.items():
        if isinstance(took, (int, float)) and str(size).isdecimal():
            yield f"{took:.0f} µs ({int(str(size)) / 1000:.0f} kB)"


def _text(value: object) -> str:
    return printable(str(value))[:300]
