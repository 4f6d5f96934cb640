"""The reader as it runs on a node: found by each way in which a server is started, silent but for its answer."""

from __future__ import annotations

import ast
import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from k2tui.adapters.scripts import program, script
from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin
from tests.remote.engine_packages import MIDDLE, NEW, OLD, UNREADABLE, VLLM, install, write

PYTHONS = ("python3.8", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13")
EVERY_SHELL = pytest.mark.parametrize("link", ["dash", "bash", "busybox"], indirect=True)


@pytest.fixture(params=["dash"])
def link(request: pytest.FixtureRequest, tmp_path: Path) -> ShellLink:
    return ShellLink(shell_bin(request.param, tmp_path / "bin"), env={"HOME": str(tmp_path / "home")})


async def said(link: ShellLink, engine: str = "sglang", *, stamp: str = "", **more: object) -> Any:
    """The reader's document, or the line that says that there is none."""
    words = {"cwd": "", "setup": "", "program": sys.executable, "path": "", "pythonpath": "", "image": ""}
    words.update({name: str(value) for name, value in more.items()})
    args = (engine, stamp, *words.values())
    done = await link.run(script("read_build"), args, stdin=script("read_build.py").text.encode())
    text = done.stdout.decode()
    assert text.count("\n") == 1, text + done.stderr.decode()
    return json.loads(text) if text.startswith("{") else text.strip()


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def runs(python: str) -> bool:
    """False also for a name that a version manager keeps for a python that it does not have."""
    return (
        shutil.which(python) is not None
        and not subprocess.run([python, "-c", ""], stderr=subprocess.DEVNULL, check=False).returncode
    )


@EVERY_SHELL
async def test_a_python_tells_its_engine_without_importing_it(link: ShellLink, tmp_path: Path) -> None:
    site = write(tmp_path / "a site", OLD)
    install(site, "sglang", "0.5.9")
    document = await said(link, pythonpath=site)
    assert (document["version"], document["how"], document["modified"]) == ("0.5.9", "source", [])
    assert (document["path"], document["loaded"]) == (str(site / "sglang"), [])
    named = {flag["name"]: flag for flag in document["flags"]}
    assert named["model-path"]["help"] == "where the model is"
    assert named["load-format"]["choices"] == ["auto", "pt", "gguf", "remote"]
    assert document["took_s"] < 60


@pytest.mark.parametrize("files", [MIDDLE, NEW, VLLM], ids=["0.5.15", "0.5.23", "vllm"])
async def test_every_layout_is_read(files: dict[str, str], link: ShellLink, tmp_path: Path) -> None:
    engine = next(iter(files)).partition("/")[0]
    document = await said(link, engine, pythonpath=write(tmp_path / "site", files))
    assert (document["engine"], document["how"], len(document["flags"]) > 20) == (engine, "source", True)


@pytest.mark.parametrize("python", PYTHONS)
async def test_older_and_newer_pythons_read_alike(python: str, link: ShellLink, tmp_path: Path) -> None:
    if not runs(python):
        pytest.skip(f"no {python} on this machine")
    site = write(tmp_path / "site", OLD)
    mine, theirs = await said(link, pythonpath=site), await said(link, pythonpath=site, program=python)
    assert mine["flags"] == theirs["flags"]


def test_the_reader_is_written_for_python_3_8() -> None:
    text = program("read_build")
    ast.parse(text, feature_version=(3, 8))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "part":
            source = ast.literal_eval(node.args[1])
            tree = ast.parse(source, feature_version=(3, 8))
            newer = {"removeprefix", "removesuffix", "unparse", "bit_count", "pairwise"}
            assert not [one for one in ast.walk(tree) if isinstance(one, ast.Attribute) and one.attr in newer]


async def test_a_parser_is_asked_where_the_source_can_not_be_read(link: ShellLink, tmp_path: Path) -> None:
    document = await said(link, pythonpath=write(tmp_path / "site", UNREADABLE))
    assert (document["how"], len(document["flags"])) == ("argparse", 30)
    assert document["flags"][7] == {
        **{"name": "made-7", "takes": "one", "type": "int", "default": "7", "choices": ["7", "99"]},
    }
    assert "its own parser was asked" in document["note"]


async def test_an_engine_that_can_not_be_read_at_all_says_why(link: ShellLink, tmp_path: Path) -> None:
    document = await said(
        link, pythonpath=write(tmp_path / "site", {"sglang/srt/server_args.py": "import nowhere_to_be"})
    )
    assert document["flags"] == []
    assert "No module named 'nowhere_to_be'" in document["note"]


async def test_nothing_is_read_again_while_nothing_changed(link: ShellLink, tmp_path: Path) -> None:
    site = write(tmp_path / "site", OLD)
    first = await said(link, pythonpath=site)
    again = await said(link, pythonpath=site, stamp=first["stamp"])
    assert (again["same"], "flags" in again) == (True, False)
    (site / "sglang/srt/patched.py").write_text("")
    assert "flags" in await said(link, pythonpath=site, stamp=first["stamp"])


async def test_a_setup_line_says_which_python(link: ShellLink, tmp_path: Path) -> None:
    executable(tmp_path / "venv/bin/python3", f'#!/bin/sh\nPYTHONPATH={tmp_path}/site exec {sys.executable} "$@"\n')
    write(tmp_path / "site", OLD)
    (tmp_path / "home").mkdir()
    document = await said(link, setup=f"PATH={tmp_path}/venv/bin:$PATH", program="python3", cwd="~")
    assert document["path"] == str(tmp_path / "site/sglang")


@EVERY_SHELL
@pytest.mark.parametrize(
    "head",
    ["#!{python}\n", "#! {python} -E\n", "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"],
    ids=["short", "with a word", "long"],
)
async def test_an_engines_own_program_says_which_python(head: str, link: ShellLink, tmp_path: Path) -> None:
    python = executable(tmp_path / "venv/bin/python3.11", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    vllm = executable(tmp_path / "venv/bin/vllm", head.format(python=python))
    document = await said(link, "vllm", program=vllm, pythonpath=write(tmp_path / "site", VLLM))
    assert document["path"] == str(tmp_path / "site/vllm")


async def test_a_program_does_not_look_into_the_working_directory_and_a_module_does(
    link: ShellLink, tmp_path: Path
) -> None:
    write(tmp_path / "work", VLLM)
    vllm = executable(tmp_path / "bin2/vllm", f"#!{sys.executable}\n")
    assert "missing" in await said(link, "vllm", program=vllm, cwd=tmp_path / "work")
    assert (await said(link, "vllm", cwd=tmp_path / "work"))["path"] == str(tmp_path / "work/vllm")


@EVERY_SHELL
@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"program": "/nowhere/python3"}, "k2none there is no /nowhere/python3 on the node"),
        ({"setup": "false"}, "k2none its setup line failed"),
        ({"setup": "exit 3"}, "k2none its setup line failed"),
        ({"setup": ". /nowhere/activate"}, "k2none its setup line failed"),
        ({"cwd": "/nowhere"}, "k2none there is no directory /nowhere"),
    ],
)
async def test_what_stands_in_the_way_is_said(more: dict[str, str], why: str, link: ShellLink) -> None:
    assert await said(link, **more) == why


async def test_a_python_without_the_engine_says_so(link: ShellLink) -> None:
    assert (await said(link, "vllm"))["missing"] == f"{sys.executable} has no vllm"


async def test_an_image_is_looked_into_by_its_own_python(link: ShellLink, tmp_path: Path) -> None:
    site = write(tmp_path / "site", OLD)
    told = tmp_path / "told"
    docker = (
        f'#!/bin/sh\necho "$@" >{told}\nwhile [ "$1" != - ]; do shift; done\nPYTHONPATH={site} {sys.executable} "$@"\n'
    )
    executable(tmp_path / "bin/docker", docker)
    document = await said(link, program="python3", image="lmsys/sglang:v0.5.9")
    assert document["path"] == str(site / "sglang")
    assert told.read_text().startswith(
        "run --rm -i --pull never --network none --entrypoint python3 lmsys/sglang:v0.5.9 - sglang"
    )
