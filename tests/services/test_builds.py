"""What a server's engine accepts: read once, believed until its files change, and remembered."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.errors import K2Error
from k2tui.core.settings import LaunchProfile, ServerSettings
from k2tui.services.builds import BuildReader, program_of
from k2tui.services.doors import Completed, Script
from tests.fakes.shell_link import AnswerLink, ShellLink
from tests.remote.conftest import shell_bin
from tests.remote.engine_packages import OLD, VLLM, install, write

SERVER = ServerSettings("kimi", "gpu-a", engine="sglang")


@dataclass
class CountingLink(ShellLink):
    """Runs scripts in a shell and keeps what they were told and what they said."""

    told: list[Sequence[str]] = field(default_factory=list)
    said: list[bytes] = field(default_factory=list)

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        self.told.append(tuple(args))
        done = await super().run(script, args, stdin=stdin, timeout_s=timeout_s)
        self.said.append(done.stdout)
        return done


@dataclass
class Kept:
    """A history in memory."""

    rows: dict[tuple[str, str, str], tuple[str, str]] = field(default_factory=dict)
    broken: bool = False

    async def known_build(self, host: str, python: str, engine: str) -> tuple[str, str] | None:
        self._let()
        return self.rows.get((host, python, engine))

    async def keep_build(self, host: str, python: str, engine: str, stamp: str, document: str) -> None:
        self._let()
        self.rows[host, python, engine] = (stamp, document)

    def _let(self) -> None:
        if self.broken:
            raise K2Error("the store is broken", code="history")


@pytest.fixture
def link(tmp_path: Path) -> CountingLink:
    return CountingLink(shell_bin("dash", tmp_path / "bin"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write(tmp_path / "site", OLD)
    install(tmp_path / "site", "sglang", "0.5.9")
    return tmp_path / "site"


def profile(site: Path, *argv: str, **env: str) -> LaunchProfile:
    argv = argv or (sys.executable, "-m", "sglang.launch_server", "--model-path", "m")
    return LaunchProfile("reason", argv, {"PYTHONPATH": str(site), **env})


async def test_a_build_is_read_and_known_from_then_on(link: CountingLink, site: Path) -> None:
    reader = BuildReader(link, script, None, "gpu-a")
    assert reader.known(SERVER, profile(site)) is None
    build = await reader.read(SERVER, profile(site))
    assert (build.engine, build.version, build.how, build.modified) == ("sglang", "0.5.9", "source", ())
    assert reader.known(SERVER, profile(site)) is build
    assert reader.known(SERVER, profile(site, PATH="/elsewhere")) is None


async def test_an_unchanged_build_does_not_travel_again(link: CountingLink, site: Path) -> None:
    reader = BuildReader(link, script, None, "gpu-a")
    first = await reader.read(SERVER, profile(site))
    assert await reader.read(SERVER, profile(site)) is first
    assert json.loads(link.said[-1])["same"] is True
    (site / "sglang/srt/patch.py").write_text("")
    again = await reader.read(SERVER, profile(site))
    assert again.modified == ("srt/patch.py (added)",)


async def test_two_that_ask_at_once_share_one_reading(link: CountingLink, site: Path) -> None:
    reader = BuildReader(link, script, None, "gpu-a")
    builds = await asyncio.gather(*(reader.read(SERVER, profile(site)) for _ in range(3)))
    assert builds[0] is builds[1] is builds[2]
    assert sum(b'"flags"' in said for said in link.said) == 1


async def test_another_k2tui_takes_it_from_the_history(link: CountingLink, site: Path) -> None:
    kept = Kept()
    first = await BuildReader(link, script, kept, "gpu-a").read(SERVER, profile(site))
    second = await BuildReader(link, script, kept, "gpu-a").read(SERVER, profile(site))
    assert second == first
    assert json.loads(link.said[-1])["same"] is True
    await BuildReader(link, script, kept, "gpu-b").read(SERVER, profile(site))
    assert b'"flags"' in link.said[-1]
    for key, (stamp, _) in kept.rows.items():
        kept.rows[key] = (stamp, "rubbish")
    third = await BuildReader(link, script, kept, "gpu-a").read(SERVER, profile(site))
    assert replace(third, took_s=first.took_s) == first


async def test_a_broken_history_stands_in_nobodys_way(link: CountingLink, site: Path) -> None:
    assert (await BuildReader(link, script, Kept(broken=True), "gpu-a").read(SERVER, profile(site))).flags


async def test_no_secret_of_a_setup_line_is_kept(link: CountingLink, site: Path) -> None:
    kept = Kept()
    told = replace(profile(site), setup="export HF_TOKEN=hf_abcdefghijklmnop1234")
    await BuildReader(link, script, kept, "gpu-a").read(SERVER, told)
    assert "hf_abcdef" not in repr(kept.rows)


@pytest.mark.parametrize(
    ("argv", "program"),
    [
        (("python3", "-m", "sglang.launch_server", "--port", "1"), "python3"),
        (("/opt/x/bin/python3.11", "-m", "sglang.launch_server"), "/opt/x/bin/python3.11"),
        (("numactl", "-N", "0", "/opt/python", "-m", "sglang.launch_server"), "/opt/python"),
        (("/opt/x/bin/vllm", "serve", "m"), "/opt/x/bin/vllm"),
        (("sglang", "serve", "--model-path", "m"), "sglang"),
        (("./run.sh", "--port", "1"), None),
    ],
)
def test_a_command_names_what_runs_it(argv: tuple[str, ...], program: str | None) -> None:
    assert program_of(argv) == program


async def test_the_engine_is_the_one_that_the_command_names(link: CountingLink, tmp_path: Path) -> None:
    site = write(tmp_path / "other", VLLM)
    argv = (sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", "m")
    assert (await BuildReader(link, script, None, "gpu-a").read(SERVER, profile(site, *argv))).engine == "vllm"


async def test_a_server_in_a_container_is_looked_for_in_its_image(link: CountingLink, site: Path) -> None:
    docker = f'#!/bin/sh\nwhile [ "$1" != - ]; do shift; done\nPYTHONPATH={site} exec {sys.executable} "$@"\n'
    (link.bin / "docker").write_text(docker)
    (link.bin / "docker").chmod(0o755)
    server = replace(SERVER, supervisor="docker", image="lmsys/sglang:v0.5.9")
    build = await BuildReader(link, script, None, "gpu-a").read(server, profile(site))
    assert (build.version, link.told[-1][-1]) == ("0.5.9", "lmsys/sglang:v0.5.9")


async def test_without_an_engine_the_error_says_what_was_tried(link: CountingLink, tmp_path: Path) -> None:
    with pytest.raises(K2Error) as caught:
        await BuildReader(link, script, None, "gpu-a").read(SERVER, profile(tmp_path))
    assert (caught.value.code, caught.value.subject) == ("no_build", "kimi")
    assert f"tried {sys.executable}" in caught.value.message
    assert "has no sglang" in caught.value.message
    assert "python" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("stdout", "why"),
    [
        (b"", "python3 ended with 0 and said nothing"),
        (b"rubbish\n", "said nothing"),
        (b'{"k2build": 1, "stamp": "other", "same": true}\n', "its answer was not understood"),
        (b'{"k2build": 1, "stamp": "s", "engine": "sglang", "flags": [], "note": "no torch"}\n', "no torch"),
        (b"k2none its setup line failed\n", "its setup line failed"),
    ],
)
async def test_an_answer_that_is_none_is_an_error(stdout: bytes, why: str) -> None:
    link = AnswerLink(Path("/none"), answer=lambda _: stdout)
    argv = ("python3", "-m", "sglang.launch_server")
    with pytest.raises(K2Error, match=why):
        await BuildReader(link, script, None, "gpu-a").read(SERVER, profile(Path("/none"), *argv))


async def test_a_link_that_is_down_says_so() -> None:
    class Down(AnswerLink):
        async def run(self, *_: object, **__: object) -> Completed:
            raise K2Error("n1 is unreachable", code="timeout")

    with pytest.raises(K2Error, match="unreachable"):
        await BuildReader(Down(Path("/none")), script, None, "gpu-a").read(SERVER, profile(Path("/none")))
