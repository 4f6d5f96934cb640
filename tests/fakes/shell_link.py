"""A node that is this machine, reached by nothing: each script is run by a chosen shell."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from k2tui.core.link import LinkPhase, LinkState
from k2tui.services.doors import Completed, HttpDoor, RemoteStream, Script


@dataclass
class ShellLink:
    """Runs a script as `sh -c TEXT NAME ARGS...`, with `bin` in front of PATH: the `sh` there is the shell."""

    bin: Path
    env: Mapping[str, str] = field(default_factory=dict)
    name: str = "gpu-a"
    state: LinkState = LinkState(LinkPhase.UP)

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        pipe = asyncio.subprocess.PIPE
        env = {**os.environ, **self.env, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}
        command = (str(self.bin / "sh"), "-c", script.text, f"k2tui-{script.name}", *args)
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, env=env)
        out, err = await process.communicate(stdin)
        return Completed(process.returncode or 0, out, err)

    async def connect(self) -> None: ...

    async def open(self, script: Script, args: Sequence[str] = ()) -> RemoteStream:
        raise NotImplementedError

    def http(self, port: int, *, timeout_s: float = 10.0) -> HttpDoor:
        raise NotImplementedError

    async def trust_host_key(self) -> None: ...

    async def drop(self) -> None: ...

    async def close(self) -> None: ...


@dataclass
class AnswerLink(ShellLink):
    """Answers every script by a function and remembers what it was told."""

    answer: Callable[[str], bytes] = lambda _: b""
    told: list[tuple[str, tuple[str, ...], bytes]] = field(default_factory=list)

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        self.told.append((script.name, tuple(args), stdin))
        return Completed(0, self.answer(script.name), b"")
