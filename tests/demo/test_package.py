"""What lies on a demo node is read as what is installed on a real one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.builds import Build
from k2tui.core.engine_flags import release
from k2tui.core.settings import LaunchProfile, ServerSettings
from k2tui.demo.engine.options import parse
from k2tui.demo.engine.releases import RELEASES
from k2tui.demo.layout import Layout, NodeKnobs
from k2tui.services.builds import BuildReader
from tests.fakes.shell_link import ShellLink

SERVER = ServerSettings("kimi", "gpu-a", profile="base")


async def read(root: Path, version: str, *argv: str) -> Build:
    layout = Layout(root, version)
    layout.make()
    layout.make_node("gpu-a", gpus=1, told=NodeKnobs())
    environment = layout.environment("gpu-a")
    (root / "sh").mkdir(exist_ok=True)
    if not (root / "sh" / "sh").exists():
        (root / "sh" / "sh").symlink_to("/bin/sh")
    link = ShellLink(root / "sh", env={**environment, "PATH": environment["PATH"]})
    reader = BuildReader(link, script, None, "gpu-a")
    profile = LaunchProfile("base", argv, {"PATH": environment["PATH"]})
    return await reader.read(SERVER, profile)


@pytest.mark.parametrize("version", list(RELEASES))
async def test_its_flags_are_those_of_the_release(version: str, tmp_path: Path) -> None:
    build = await read(tmp_path, version, "python3", "-m", "sglang.launch_server")
    assert (build.how, build.version, build.modified) == ("source", version, ())
    known = {flag.name: replace(flag, help=None) for flag in release("sglang", version).flags}
    assert {flag.name: replace(flag, help=None) for flag in build.flags} == known


async def test_the_program_of_its_own_leads_to_the_same(tmp_path: Path) -> None:
    assert (await read(tmp_path, "0.5.23", "sglang", "serve")).version == "0.5.23"


async def test_a_changed_file_is_named(tmp_path: Path) -> None:
    await read(tmp_path, "0.5.23", "python3", "-m", "sglang.launch_server")
    changed = tmp_path / "opt" / "site" / "sglang" / "srt" / "extra.py"
    layout = Layout(tmp_path, "0.5.23")
    changed.write_text("# mine\n")
    environment = layout.environment("gpu-a")
    link = ShellLink(tmp_path / "sh", env=environment)
    profile = LaunchProfile("base", ("python3", "-m", "sglang.launch_server"), {"PATH": environment["PATH"]})
    build = await BuildReader(link, script, None, "gpu-a").read(SERVER, profile)
    assert build.modified == ("srt/extra.py (added)",)


@pytest.mark.parametrize("version", list(RELEASES))
def test_its_engine_accepts_what_its_source_says(version: str) -> None:
    flags = [name for flag in release("sglang", version).flags if flag.takes.value == "nothing" for name in flag.names]
    for name in flags:
        parse(RELEASES[version], ["--model-path", "/m", f"{'-' if len(name) == 1 else '--'}{name}"])
