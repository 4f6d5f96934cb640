"""A launch runs exactly what was given, once, or says why not."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import socket
import stat
from pathlib import Path

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.runs import Run
from tests.remote.node import EVERY_SHELL, Node, is_alive, session
from tests.waiting import until

AWKWARD = ("a b", "", "it's", '"q"', "$HOME `id` $(id)", "l1\nl2\n", "\\n \\", "*", "-n", "ä\u00c1🙂", "A=b", "#", "~")


async def refused(node: Node, *args: object, **more: object) -> K2Error:
    """Why this launch is refused."""
    with pytest.raises(K2Error) as error:
        await node.keeper.launch(*args, started_by="bob@desk", **more)  # type: ignore[arg-type]
    return error.value


@EVERY_SHELL
async def test_arguments_and_variables_arrive_as_they_are(node: Node) -> None:
    env = {f"V{number}": text for number, text in enumerate(AWKWARD)}
    run = await node.start(profile=node.profile("", *AWKWARD, env=env))
    report = await node.report()
    assert tuple(report["argv"][3:]) == AWKWARD
    assert {name: report["env"][name] for name in env} == env
    assert run.argv[6:] == AWKWARD
    assert dict(run.env) == env


async def test_nothing_of_k2tui_is_left_in_the_servers_environment(node: Node) -> None:
    await node.start()
    assert not [name for name in (await node.report())["env"] if name.lower().startswith("k2")]


async def test_the_server_starts_in_its_directory_and_with_the_operators_umask(node: Node) -> None:
    old = os.umask(0o027)
    try:
        await node.start(profile=node.profile(cwd=str(node.directory)))
    finally:
        os.umask(old)
    report = await node.report()
    assert (report["cwd"], report["umask"]) == (str(node.directory), 0o027)


async def test_without_a_directory_it_starts_in_the_home(node: Node) -> None:
    await node.start()
    assert (await node.report())["cwd"] == os.environ["HOME"]


async def test_both_outputs_go_to_the_log(node: Node) -> None:
    run = await node.start()
    await until(lambda: b"stderr" in Path(run.log_path).read_bytes())
    assert Path(run.log_path).read_bytes() == b"to stdout\nto stderr\n"


async def test_the_run_directory_holds_what_is_promised(node: Node) -> None:
    run = await node.start()
    assert run.directory == f"{node.home}/runs/kimi/{run.run_id}"
    assert {path.name for path in Path(run.directory).iterdir()} == {
        "spec.json",
        "argv",
        "log",
        "state.json",
        "sup.log",
        "sup.sh",
    }
    assert tuple(shlex.split(Path(run.directory, "argv").read_text())) == run.argv
    assert stat.S_IMODE(node.home.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in Path(run.directory).iterdir()} == {0o600}


async def test_the_server_is_in_a_session_of_its_own(node: Node) -> None:
    run = await node.start()
    assert run.supervisor is not None
    assert run.child is not None
    assert run.session_id == run.supervisor.pid
    assert {run.supervisor.pid, run.child.pid} <= set(session(run.supervisor.pid))


async def test_a_secret_is_in_the_servers_environment_and_nowhere_else(node: Node) -> None:
    token, key = "hf_abcdefGHIJKLmnop12345678", "sk-0123456789abcdefghijklmn"
    profile = node.profile("", "--api-key", key, env={"HF_TOKEN": token}, secrets=frozenset({token, key}))
    run = await node.start(profile=profile)
    assert (await node.report())["env"]["HF_TOKEN"] == token
    assert not [name for name, data in node.files().items() if token.encode() in data or key.encode() in data]
    assert run.supervisor is not None
    assert run.child is not None
    for pid in session(run.supervisor.pid):
        assert token.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        if pid != run.child.pid:
            assert key.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
            assert token.encode() not in Path(f"/proc/{pid}/environ").read_bytes()


async def test_a_missing_directory_is_refused_before_anything_runs(node: Node) -> None:
    server = node.server()
    error = await refused(node, server, node.profile(cwd=str(node.directory / "nowhere")))
    assert error.code == "no_cwd"
    assert "nowhere" in error.message
    assert await node.keeper.scan() == ()
    assert node.locks() == []
    await node.start(server)


@pytest.mark.parametrize("program", ["no-such-program", "/no/such/program", "/proc/version"])
async def test_a_missing_program_is_refused_before_anything_runs(node: Node, program: str) -> None:
    profile = node.profile()
    error = await refused(node, node.server(), type(profile)("plain", (program, "-m", "x"), {}))
    assert error.code == "no_program"
    assert program in error.message
    assert await node.keeper.scan() == ()
    assert node.locks() == []


@EVERY_SHELL
async def test_the_setup_line_comes_first_and_the_profiles_variables_win(node: Node) -> None:
    activate = node.directory / "activate"
    activate.write_text("export FROM_SETUP=yes BOTH=setup\necho activated\n")
    profile = node.profile(env={"BOTH": "profile"}, setup=f". {activate}", cwd=str(node.directory))
    run = await node.start(profile=profile)
    env = (await node.report())["env"]
    assert (env["FROM_SETUP"], env["BOTH"]) == ("yes", "profile")
    assert Path(run.log_path).read_bytes().startswith(b"activated\n")


async def test_the_setup_line_finds_the_program(node: Node) -> None:
    (node.directory / "tools").mkdir()
    (node.directory / "tools" / "engine").symlink_to("/bin/sleep")
    profile = node.profile(setup=f"PATH={node.directory}/tools:$PATH")
    run = await node.keeper.launch(
        node.server(), type(profile)("p", ("engine", "600"), {}, profile.setup), started_by=""
    )
    assert run.alive


@EVERY_SHELL
@pytest.mark.parametrize(
    "line", ["echo no such module; false", "echo no such module; exit 3", "echo no such module; . /no/file"]
)
async def test_a_setup_line_that_fails_is_told_with_its_output(node: Node, line: str) -> None:
    error = await refused(node, node.server(), node.profile(setup=line))
    assert error.code == "launch_failed"
    assert "no such module" in error.message
    (run,) = await node.keeper.scan()
    assert (run.alive, run.exit_code not in (0, None)) == (False, True)
    assert node.locks() == []


@EVERY_SHELL
async def test_a_taken_port_is_refused_before_anything_is_loaded(node: Node) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        server = node.server(port=door.getsockname()[1])
        error = await refused(node, server, node.profile())
    assert error.code == "port_taken"
    assert f"pid {os.getpid()} (" in error.message
    assert "pytest" in error.message
    assert await node.keeper.scan() == ()
    assert not node.stubborn[-1].exists()


async def test_a_taken_port_is_seen_on_ipv6_as_well(node: Node) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 on this machine")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as door:
        assert (await refused(node, node.server(port=door.getsockname()[1]), node.profile())).code == "port_taken"


async def test_a_second_start_is_told_who_holds_the_port(node: Node) -> None:
    server = node.server()
    run = await node.start(server)
    error = await refused(node, server, node.profile())
    assert error.code == "already_running"
    assert run.child is not None
    assert all(word in error.message for word in (run.run_id, f"pid {run.child.pid}", "ada@desk"))
    assert await node.keeper.scan() == (run,)


async def test_another_server_on_the_same_port_is_told_who_holds_it(node: Node) -> None:
    server = node.server()
    await node.start(server)
    error = await refused(node, node.server("other", port=server.port), node.profile())
    assert error.code == "already_running"
    assert "kimi" in error.message


async def test_a_start_during_a_start_is_told_so(node: Node) -> None:
    server, go = node.server(), node.directory / "go"
    profile = node.profile(setup=f"until [ -e {shlex.quote(str(go))} ]; do sleep 0.02; done")
    first = asyncio.ensure_future(node.keeper.launch(server, profile, started_by="ada@desk"))
    await until(node.locks)
    assert (await refused(node, server, node.profile())).code == "start_in_progress"
    go.touch()
    assert (await first).alive


async def test_servers_that_share_a_gpu_exclude_each_other(node: Node) -> None:
    run = await node.start(node.server("kimi", gpus=(0, 1)))
    error = await refused(node, node.server("qwen", gpus=(1, 2)), node.profile())
    assert error.code == "gpus_taken"
    assert "GPU 1" in error.message
    assert run.run_id in error.message
    beside = await node.start(node.server("llama", gpus=(2, 3)))
    assert beside.gpus == (2, 3)


async def race(node: Node, gpus: tuple[int, ...] = ()) -> tuple[list[Run], list[str]]:
    """Ten starts at once: who runs, and what the others were told."""
    server, profiles = node.server(gpus=gpus), [node.profile() for _ in range(10)]
    starts = [node.keeper.launch(server, profile, started_by=f"u{at}@desk") for at, profile in enumerate(profiles)]
    results = await asyncio.gather(*starts, return_exceptions=True)
    runs = [result for result in results if isinstance(result, Run)]
    return runs, [result.code for result in results if isinstance(result, K2Error)]


@EVERY_SHELL
async def test_of_ten_starts_at_once_one_runs_and_nine_are_told_why(node: Node) -> None:
    runs, codes = await race(node, gpus=(0, 1))
    assert len(runs) == 1
    assert len(codes) == 9
    assert set(codes) <= {"already_running", "start_in_progress"}
    assert [run.run_id for run in await node.keeper.scan()] == [runs[0].run_id]


async def test_of_ten_starts_over_a_dead_lock_one_runs(node: Node) -> None:
    server = node.server()
    run = await node.start(server)
    assert run.supervisor is not None
    for pid in session(run.supervisor.pid):
        os.kill(pid, 9)
    await until(lambda: not session(run.supervisor.pid) if run.supervisor else True)
    assert node.locks() == [f"port-{server.port}.lock"]
    profiles = [node.profile() for _ in range(10)]
    starts = [node.keeper.launch(server, profile, started_by="x") for profile in profiles]
    results = await asyncio.gather(*starts, return_exceptions=True)
    assert sum(isinstance(result, Run) for result in results) == 1
    assert sum(isinstance(result, K2Error) for result in results) == 9
    assert node.locks() == [f"port-{server.port}.lock"]


@EVERY_SHELL
async def test_a_server_without_its_supervisor_still_holds_its_port(node: Node) -> None:
    server = node.server()
    run = await node.start(server)
    assert run.supervisor is not None
    assert run.child is not None
    os.kill(run.supervisor.pid, 9)
    await until(lambda: not is_alive(run.supervisor.pid) if run.supervisor else True)
    assert (await node.seen(run)).alive is True
    error = await refused(node, server, node.profile())
    assert error.code == "already_running"
    assert "supervisor is gone" in error.message
    report = await node.keeper.stop(run, grace_s=5)
    assert report.unsupervised
    assert not is_alive(run.child.pid)
    await node.start(server)


async def test_a_second_host_in_a_shared_home_keeps_its_runs_apart(node: Node) -> None:
    node.home.mkdir()
    (node.home / "host").symlink_to("gpu-b")
    run = await node.start()
    assert run.directory == f"{node.home}/hosts/{socket.gethostname()}/runs/kimi/{run.run_id}"
    assert (await node.keeper.scan()) == (run,)


@EVERY_SHELL
async def test_the_newest_twenty_runs_are_kept_and_no_living_one_is_lost(node: Node) -> None:
    live = await node.start(node.server(port=None), node.profile("", "--port", "31991"))
    old = Path(live.directory).rename(Path(live.directory).with_name("20010101T000000Z-aaaa"))
    state = (old / "state.json").read_text()
    for minute in range(30):
        directory = old.with_name(f"20020101T00{minute:02}00Z-bbbb")
        directory.mkdir()
        (directory / "state.json").write_text(state.replace('_ticks":', '_ticks":9'))
    new = await node.start()
    await until(lambda: len(list(old.parent.iterdir())) == 21)
    kept = sorted(path.name for path in old.parent.iterdir())
    assert kept[0] == old.name
    assert kept[1] == "20020101T001100Z-bbbb"
    assert kept[-1] == new.run_id


async def test_old_runs_are_kept_up_to_a_size_but_for_the_last_one(node: Node) -> None:
    server = node.server()
    run = await node.start(server)
    node.end("0")
    run = await node.ended(run)
    old = [Path(run.directory).with_name(f"200{year}0101T000000Z-aaaa") for year in range(3)]
    for directory in old:
        shutil.copytree(run.directory, directory)
        (directory / "log").write_bytes(b"x" * 3_000_000)
    shutil.rmtree(run.directory)
    new = await node.start(server)
    await until(lambda: not old[1].exists() and not old[0].exists())
    assert [run.run_id for run in await node.keeper.scan()] == [new.run_id, old[2].name]


async def test_a_home_that_can_not_be_made_is_told(node: Node) -> None:
    node.home.write_text("a file")
    error = await refused(node, node.server(), node.profile())
    assert error.code == "launch_failed"
    assert str(node.home) in error.message
