"""Who is who in the demo: nodes, servers, profiles, and how they stand when it opens."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from k2tui.core.settings import NodeSettings, ProfileSettings, ServerSettings
from k2tui.demo.models import KIMI, QWEN

GPUS = 8
_BASE = f"""\
NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS NCCL_DEBUG=WARN python3 -m sglang.launch_server \\
  --model-path shared/{KIMI.name} --served-model-name kimi-k2.5 --tp-size 8 --trust-remote-code \\
  --mem-fraction-static 0.85 --disable-custom-all-reduce --num-continuous-decode-steps 4 --enable-metrics"""
_QWEN = f"""\
python3 -m sglang.launch_server --model-path shared/{QWEN.name} --served-model-name qwen3-32b --tp-size 4 \\
  --reasoning-parser qwen3 --tool-call-parser qwen --enable-metrics"""

PROFILES: Mapping[str, ProfileSettings] = {
    profile.name: profile
    for profile in (
        ProfileSettings("base", cmd=_BASE),
        ProfileSettings("reason", extends="base", flags={"reasoning-parser": "kimi_k2", "tool-call-parser": "kimi_k2"}),
        ProfileSettings(
            "exp",
            extends="reason",
            flags={"cuda-graph-max-bs-decode": 16, "disable-prefill-cuda-graph": True},
            env={"NCCL_PROTO": "LL128"},
        ),
        ProfileSettings("qwen", cmd=_QWEN),
    )
}


@dataclass(frozen=True)
class Part:
    """One server of the scene."""

    name: str
    profile: str
    gpus: tuple[int, ...] = tuple(range(GPUS))
    up: bool = False
    """Started when the demo opens."""
    fault: str | None = None
    """How that start goes wrong."""
    traffic: int = 0


@dataclass(frozen=True)
class Scene:
    """The parts of each node, and their ports once they were found."""

    nodes: Mapping[str, tuple[Part, ...]]
    ports: Mapping[str, int] = field(default_factory=dict)

    def parts(self) -> Iterable[tuple[str, Part]]:
        """(node, server) of all."""
        for node, parts in self.nodes.items():
            for part in parts:
                yield node, part

    def node_settings(
        self, *, port: int, identity: str, known: Sequence[str] = ("/", "/dev/shm")
    ) -> dict[str, NodeSettings]:
        """All nodes, reached as users of one SSH server."""
        return {
            name: NodeSettings(
                name=name,
                host="127.0.0.1",
                user=name,
                port=port,
                identity=identity,
                disks=tuple(known),
                tags=("prod",) if place < 2 else ("lab",),
            )
            for place, name in enumerate(self.nodes)
        }

    def server_settings(self) -> dict[str, ServerSettings]:
        """All servers."""
        return {
            part.name: ServerSettings(
                name=part.name, node=node, gpus=part.gpus, port=self.ports[part.name], profile=part.profile
            )
            for node, part in self.parts()
        }


def scene(nodes: int, *, up: bool = True) -> Scene:
    """A fleet of so many nodes; `up` = False: nothing runs when it opens."""
    if not 1 <= nodes <= len(string.ascii_lowercase) ** 2:
        raise ValueError(f"a demo has 1 to {len(string.ascii_lowercase) ** 2} nodes, not {nodes}")
    parts: dict[str, tuple[Part, ...]] = {}
    for place, word in zip(range(nodes), letters(), strict=False):
        parts[f"gpu-{word}"] = _PARTS[place] if place < len(_PARTS) else (Part(f"kimi-{word}", "reason"),)
    if not up:
        parts = {node: tuple(Part(part.name, part.profile, part.gpus) for part in of) for node, of in parts.items()}
    return Scene(parts)


_PARTS: Sequence[tuple[Part, ...]] = (
    (Part("kimi", "reason"), Part("kimi-exp", "exp")),
    (Part("kimi-prod", "reason", up=True, traffic=12),),
    (Part("qwen", "qwen", (0, 1, 2, 3), up=True), Part("qwen-next", "qwen", (4, 5, 6, 7))),
    (Part("kimi-nightly", "base", up=True, fault="oom:3"),),
)


def letters() -> Iterable[str]:
    """a .. z, aa .. zz."""
    yield from string.ascii_lowercase
    for first in string.ascii_lowercase:
        yield from (first + second for second in string.ascii_lowercase)
