"""What a node says before a launch is as it is there, whatever its shell, and nothing of it is changed."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.preflight_look import Holder, NodeLook, look_payload, parse_look
from k2tui.core.settings import LaunchProfile
from k2tui.services.doors import Completed, Script
from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin
from tests.remote.node import Node, free_port
from tests.waiting import until

EVERY_SHELL = pytest.mark.parametrize("link", ["dash", "bash", "busybox"], indirect=True)
SCRIPT = Script("preflight", f"{script('runs').text}\n{script('preflight').text}")


@pytest.fixture(params=["dash"])
def link(request: pytest.FixtureRequest, tmp_path: Path) -> ShellLink:
    """This machine by one of its shells, with a home of its own."""
    return ShellLink(shell_bin(str(request.param), tmp_path / "bin"), env={"HOME": str(tmp_path)})


@pytest.fixture
def taken() -> Iterator[int]:
    """A port where this process listens."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        yield int(door.getsockname()[1])


def profile(
    *argv: str, env: dict[str, str] | None = None, setup: str | None = None, cwd: str | None = None
) -> LaunchProfile:
    return LaunchProfile("plain", argv or (sys.executable,), env or {}, setup, cwd)


async def said(
    link: ShellLink, plan: LaunchProfile, *ports: int, home: str | None = None, model: str = ""
) -> Completed:
    payload = look_payload(plan, program=plan.argv[0], model=model)
    where = home or str(link.bin.parent / "k2tui home")
    return await link.run(SCRIPT, (where, *map(str, ports)), stdin=payload)


async def look(
    link: ShellLink, plan: LaunchProfile | None = None, *ports: int, home: str | None = None, model: str = ""
) -> NodeLook:
    return parse_look((await said(link, plan or profile(), *ports, home=home, model=model)).stdout)


@EVERY_SHELL
async def test_a_node_where_all_is_well_says_so(link: ShellLink, tmp_path: Path) -> None:
    free = free_port()
    found = await look(link, None, free, model=str(tmp_path))
    assert found.is_whole
    assert (found.home, found.home_writable) == (str(tmp_path / "k2tui home"), True)
    assert (found.missing_cwd, found.setup, found.has_program, found.model) == (None, None, True, "dir")
    assert found.ports == {free: None}


@EVERY_SHELL
async def test_nothing_is_changed_and_no_secret_is_an_argument(link: ShellLink, tmp_path: Path) -> None:
    before = sorted(path for path in tmp_path.rglob("*"))
    done = await said(link, profile(setup="K=s3cr3t-value"), free_port(), model="x")
    assert sorted(path for path in tmp_path.rglob("*")) == before
    assert done.stderr == b""
    assert b"s3cr3t" not in done.stdout


@EVERY_SHELL
async def test_the_room_on_the_disk_is_what_the_kernel_says(link: ShellLink, tmp_path: Path) -> None:
    disks = {disk.path: disk for disk in (await look(link)).disks}
    stat = os.statvfs(tmp_path)
    assert disks[str(tmp_path)].total_bytes == stat.f_blocks * stat.f_frsize // 1024 * 1024
    assert abs(disks[str(tmp_path)].free_bytes - stat.f_bavail * stat.f_frsize) < 2**30
    assert "/dev/shm" in disks


@EVERY_SHELL
async def test_who_listens_on_a_port_is_told_with_its_session(link: ShellLink, taken: int) -> None:
    found = (await look(link, None, taken)).ports[taken]
    assert found is not None
    assert (found.pid, found.session) == (os.getpid(), os.getsid(0))
    assert "pytest" in found.command


async def test_a_port_on_every_address_is_taken_as_well(link: ShellLink) -> None:
    with socket.socket(socket.AF_INET6) as door:
        door.bind(("::", 0))
        door.listen()
        port = int(door.getsockname()[1])
        assert isinstance((await look(link, None, port)).ports[port], Holder)


@EVERY_SHELL
async def test_the_setup_line_is_tried_before_the_program_is_looked_for(link: ShellLink, tmp_path: Path) -> None:
    tools = tmp_path / "my tools"
    tools.mkdir()
    shutil.copy("/bin/true", tools / "my-engine")
    (tools / "activate").write_text(f"PATH='{tools}':$PATH\necho noise\n")
    assert (await look(link, profile("my-engine"))).has_program is False
    found = await look(link, profile("my-engine", setup=f". '{tools}/activate'"))
    assert (found.setup, found.has_program) == (None, True)
    assert (await look(link, profile("my-engine", env={"PATH": f"{tools}:/bin:/usr/bin"}))).has_program is True
    assert (await look(link, profile("./my-engine", cwd=str(tools)))).has_program is True
    assert (await look(link, profile("./activate", cwd=str(tools)))).has_program is False


@EVERY_SHELL
@pytest.mark.parametrize(
    ("setup", "told"),
    [("false", "1"), ("(exit 3)", "3"), (". /no/such/file", None), ("exit 0", "ended"), ("true", None)],
)
async def test_a_setup_line_that_fails_is_told(link: ShellLink, setup: str, told: str | None) -> None:
    found = await look(link, profile(setup=setup))
    assert found.is_whole
    if setup.startswith(". "):
        assert found.setup is not None  # a shell may go, or go on, when there is nothing to read
    else:
        assert found.setup == told
    assert found.has_program is (True if found.setup is None else None)


async def test_a_setup_line_that_never_ends_does_not_hold_the_look(link: ShellLink) -> None:
    quick = Script(SCRIPT.name, SCRIPT.text.replace("k2_limited 10", "k2_limited 0.2"))
    assert quick.text != SCRIPT.text
    payload = look_payload(profile(setup="while :; do sleep 9; done"), program="sh", model="")
    found = parse_look((await link.run(quick, ("~/k2", "1"), stdin=payload)).stdout)
    assert (found.setup, found.has_program, found.is_whole) == ("slow", None, True)


@EVERY_SHELL
async def test_a_directory_that_is_missing_is_told(link: ShellLink) -> None:
    assert (await look(link, profile(cwd="/no/such dir"))).missing_cwd == "/no/such dir"
    assert (await look(link, profile(cwd="~"))).missing_cwd is None


@EVERY_SHELL
async def test_a_model_is_a_directory_a_file_or_nothing(link: ShellLink, tmp_path: Path) -> None:
    (tmp_path / "a model").mkdir()
    (tmp_path / "one.gguf").touch()
    for model, kind in (
        (f"{tmp_path}/a model", "dir"),
        ("~/a model", "dir"),
        ("a model", "dir"),
        ("~/one.gguf", "file"),
        ("org/name", "none"),
        ("/no/such\nmodel", "none"),
        ("-rf", "none"),
    ):
        assert (await look(link, profile(cwd=str(tmp_path)), model=model)).model == kind


@EVERY_SHELL
async def test_a_home_that_can_not_be_made_is_told(link: ShellLink, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    assert (await look(link, home=f"{tmp_path}/a file/k2tui")).home_writable is False
    assert (await look(link, home="~/deep/below/there")).home_writable is True


AWKWARD = ("it's", '"q"', "$HOME `id` $(id)", "\\n \\", "*", "-n", "ä🙂", "a\nb", "")


@EVERY_SHELL
@pytest.mark.parametrize("word", AWKWARD)
async def test_no_value_is_taken_for_a_command(link: ShellLink, tmp_path: Path, word: str) -> None:
    found = await look(link, profile(word or "x", cwd=f"{tmp_path}/{word}"), model=word)
    assert found.is_whole
    assert found.missing_cwd is not None or word in ("", "-n") or found.has_program is False


async def test_an_order_that_was_cut_is_not_followed(link: ShellLink) -> None:
    payload = look_payload(profile(), program="sh", model="")[:-20]
    done = await link.run(SCRIPT, ("~/k2", "1"), stdin=payload)
    assert (done.code, parse_look(done.stdout)) == (1, NodeLook()) or done.code == 2


LISTENS = """
import socket, sys, time
door = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
time.sleep(600)
"""


async def test_the_port_of_a_run_is_held_by_its_session(node: Node) -> None:
    port = free_port()
    plan = LaunchProfile("plain", (sys.executable, "-S", "-E", "-c", LISTENS, str(port)), {})
    run = await node.keeper.launch(node.server(port=port), plan, started_by="ada@desk")
    await until(lambda: b"listening" in Path(run.log_path).read_bytes())
    payload = look_payload(plan, program="", model="")
    found = parse_look((await node.link.run(SCRIPT, (str(node.home), str(port)), stdin=payload)).stdout)
    holder = found.ports[port]
    assert holder is not None
    assert run.child is not None
    assert (holder.pid, holder.session) == (run.child.pid, run.session_id)
