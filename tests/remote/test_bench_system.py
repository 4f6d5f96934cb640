"""What of a measured system only its node can tell."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin

CONFIG = json.dumps({"model_type": "kimi", "quantization_config": {"bits": 4, "quant_method": "compressed-tensors"}})


@pytest.fixture(params=["dash", "bash", "busybox"])
def link(request: pytest.FixtureRequest, tmp_path: Path) -> ShellLink:
    return ShellLink(shell_bin(request.param, tmp_path / "bin"))


async def told(link: ShellLink, directory: str, *, links: bool = False) -> dict[str, str]:
    done = await link.run(script("bench_system"), (directory, "links" if links else ""))
    assert (done.code, done.stderr) == (0, b"")
    return dict(line.split(" ", 1) for line in done.stdout.decode().splitlines())


def install(link: ShellLink, body: str) -> None:
    path = link.bin / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("text", [CONFIG, json.dumps(json.loads(CONFIG), indent=2) + "\n"], ids=["one line", "many"])
async def test_a_model_is_marked_by_its_config_and_says_its_quantization(
    link: ShellLink, tmp_path: Path, text: str
) -> None:
    (tmp_path / "a model").mkdir()
    (tmp_path / "a model" / "config.json").write_text(text)
    expected = {"revision": sha256(text), "quantization": "compressed-tensors"}
    assert await told(link, str(tmp_path / "a model")) == expected


async def test_a_model_in_the_home_is_found(link: ShellLink, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text("{}")
    home = ShellLink(link.bin, {"HOME": str(tmp_path)})
    assert await told(home, "~/m") == {"revision": sha256("{}")}


async def test_the_links_of_the_gpus_are_told_only_when_asked_for(link: ShellLink) -> None:
    install(link, 'echo "GPU0 GPU1"; echo "$*"')
    assert await told(link, "/nowhere") == {}
    assert await told(link, "/nowhere", links=True) == {"topology": sha256("GPU0 GPU1\ntopo -m\n")}


@pytest.mark.parametrize("body", ["exit 9", "exec sleep 600"], ids=["fails", "hangs"])
async def test_a_driver_that_says_nothing_is_no_topology(link: ShellLink, body: str, tmp_path: Path) -> None:
    install(link, body)
    (tmp_path / "config.json").write_text("{}")
    short = link.bin / "timeout"  # a second in the place of eight
    short.write_text(f'#!/bin/sh\nshift 3\nexec {shutil.which("timeout")} -s KILL 1 "$@"\n')
    short.chmod(0o755)
    assert await told(link, str(tmp_path), links=True) == {"revision": sha256("{}")}


async def test_a_config_that_means_harm_says_nothing(link: ShellLink, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"quant_method": "fp8\\u001b[31m; rm -rf"}')
    assert list(await told(link, str(tmp_path))) == ["revision"]
    assert await told(link, "") == {}
