"""What the engine that is installed for a server accepts: read on its node, remembered until its files change."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from k2tui.core.build_document import BuildAnswer, build_json, parse_answer, parse_build
from k2tui.core.builds import Build
from k2tui.core.errors import K2Error
from k2tui.core.flags import arguments, engine_of
from k2tui.core.lines import plain
from k2tui.core.settings import LaunchProfile, ServerSettings
from k2tui.services.doors import BuildHistory, NodeLink, Script

READ_LIMIT_S = 130.0
"""Where the engine's own parser has to be asked, it is imported: a minute from a slow disk. The node ends it before."""

_PYTHON = re.compile(r"(?:.*/)?python[\d.]*t?$")
_HINT = "give the server a `python` or a `setup` line in the config; `k2tui doctor NODE` shows what is there"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an engine is installed, as far as a command tells."""

    engine: str
    program: str
    """The python that runs it, or the engine's own program."""
    setup: str
    cwd: str
    path: str
    pythonpath: str
    image: str

    @property
    def key(self) -> str:
        """The program, and a mark of what else could lead to another engine."""
        rest = "\0".join((self.setup, self.cwd, self.path, self.pythonpath, self.image))
        return f"{self.program} {hashlib.sha256(rest.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class _Read:
    stamp: str
    build: Build


class BuildReader:
    """Reads the engines of one node. Two that ask for the same one at once share one look."""

    def __init__(
        self, link: NodeLink, script: Callable[[str], Script], history: BuildHistory | None, host: str
    ) -> None:
        self._link = link
        self._script = script
        self._history = history
        self._host = host
        self._known: dict[_Place, _Read] = {}
        self._looks: dict[_Place, asyncio.Lock] = {}

    def known(self, server: ServerSettings, profile: LaunchProfile) -> Build | None:
        """The build as it was read last by this k2tui; None before."""
        read = self._known.get(_place(server, profile))
        return None if read is None else read.build

    async def read(self, server: ServerSettings, profile: LaunchProfile) -> Build:
        """The build as it is now. Raises K2Error: no_build where there is none, else why the node can't be asked."""
        place = _place(server, profile)
        async with self._looks.setdefault(place, asyncio.Lock()):
            before = self._known.get(place) or await self._remembered(place)
            answer = await self._ask(place, server, "" if before is None else before.stamp)
            if answer.build is None:
                if before is None or answer.stamp != before.stamp:
                    raise self._no_build(server, place, answer.missing or "its answer was not understood")
                self._known[place] = before
                return before.build
            if not answer.build.flags:
                raise self._no_build(server, place, answer.build.note or "it names no flag")
            self._known[place] = read = _Read(answer.stamp or "", answer.build)
            await self._remember(place, read)
            return read.build

    async def _ask(self, place: _Place, server: ServerSettings, stamp: str) -> BuildAnswer:
        program = self._script("read_build.py").text.encode()
        args = (place.engine, stamp, place.cwd, place.setup, place.program, place.path, place.pythonpath, place.image)
        done = await self._link.run(self._script("read_build"), args, stdin=program, timeout_s=READ_LIMIT_S)
        try:
            return parse_answer(done.stdout.decode("utf-8", "replace"))
        except ValueError:
            said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
            why = plain(said[-1])[:300] if said else f"{place.program} ended with {done.code} and said nothing"
            raise self._no_build(server, place, why) from None

    async def _remembered(self, place: _Place) -> _Read | None:
        """As another k2tui left it; what is missing or broken there is read anew."""
        if self._history is None:
            return None
        with suppress(K2Error, ValueError):
            found = await self._history.known_build(self._host, place.key, place.engine)
            return None if found is None else _Read(found[0], parse_build(found[1]))
        return None

    async def _remember(self, place: _Place, read: _Read) -> None:
        if self._history is not None:
            with suppress(K2Error):  # the store says itself, once, what is wrong with it
                document = build_json(read.build)
                await self._history.keep_build(self._host, place.key, place.engine, read.stamp, document)

    def _no_build(self, server: ServerSettings, place: _Place, why: str) -> K2Error:
        tried = f"the image {place.image}" if place.image else place.program
        return K2Error(
            f"what {place.engine} accepts can't be read for {server.name} on {self._link.name} (tried {tried}): {why}",
            code="no_build",
            subject=server.name,
            hint=_HINT,
        )


def _place(server: ServerSettings, profile: LaunchProfile) -> _Place:
    in_image = server.image if server.supervisor == "docker" else None
    return _Place(
        engine=engine_of(profile.argv) or server.engine,
        program=program_of(profile.argv) or server.python or "python3",
        setup=profile.setup or "",
        cwd=profile.cwd or "",
        path=profile.env.get("PATH", ""),
        pythonpath=profile.env.get("PYTHONPATH", ""),
        image=in_image or "",
    )


def program_of(argv: Sequence[str]) -> str | None:
    """The python of a command, or the engine's own program; None when it names neither."""
    words = arguments(argv).head
    return next((word for word in words if _PYTHON.match(word) or word.rpartition("/")[2] in ("vllm", "sglang")), None)
