"""The engines of a node are found with all that can be seen of them, in each shell that a node may have."""

from __future__ import annotations

import getpass
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.foreign.report import FoundReport, parse
from k2tui.core.found import FoundServer
from k2tui.services.found_servers import found_script
from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin
from tests.remote.engines import Engines
from tests.remote.node import free_port
from tests.waiting import until

MODULE = ("-m", "sglang.launch_server")


@pytest.fixture
def engines(tmp_path: Path) -> Iterator[Engines]:
    made = Engines(tmp_path / "an engine")
    yield made
    made.end()


@pytest.fixture(params=["dash", "bash", "busybox"])
def link(request: pytest.FixtureRequest, tmp_path: Path) -> ShellLink:
    return ShellLink(shell_bin(request.param, tmp_path / "bin"))


async def look(link: ShellLink, *pids: int) -> FoundReport:
    done = await link.run(found_script(script), [str(pid) for pid in pids])
    report = parse(done.stdout, pids)
    assert report is not None, done
    assert (done.code, done.stderr) == (0, b"")
    return report


async def seen(link: ShellLink, engines: Engines, pid: int, *gpu_pids: int) -> FoundServer:
    """The engine of this pid, once it has come up."""
    await until(lambda: engines.ready().exists() and engines.ready().read_text() != "")
    report = await look(link, *gpu_pids)
    return next(server for server in report.servers if server.process.pid == pid)


async def test_an_engine_that_was_started_by_hand_is_found_with_all_of_it(link: ShellLink, engines: Engines) -> None:
    port = free_port()
    flags = ("--model-path", "/models/a b", "--port", str(port), "--json", '{"a": "it\'s"}', "", "--last=")
    titles = "sglang::scheduler_TP0,sglang::scheduler_TP1,sglang::detokenizer"
    env = {"NCCL_ALGO": "Ring", "CUDA_VISIBLE_DEVICES": "0,1", "NOBODY_ASKED": "x"}
    pid = engines.start(*MODULE, *flags, titles=titles, env=env)
    found = await seen(link, engines, pid)
    assert (found.engine, found.argv) == ("sglang", ("python3", *MODULE, *flags))
    assert (found.port, found.listening) == (port, True)
    assert (found.log, found.log_note) == (str(engines.directory / "server.log"), None)
    assert (found.cwd, found.container, found.env_unknown) == (str(engines.directory), None, False)
    assert {"NCCL_ALGO": "Ring", "CUDA_VISIBLE_DEVICES": "0,1"}.items() <= dict(found.env).items()
    assert "NOBODY_ASKED" not in dict(found.env)
    assert sorted(worker.title for worker in found.workers) == sorted(titles.split(","))
    assert {worker.parent for worker in found.workers} == {pid}
    process = found.process
    assert (process.session, process.user) == (pid, getpass.getuser())
    assert process.identity.start_ticks == int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    assert process.identity.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert abs((process.began_at or 0.0) - os.stat(f"/proc/{pid}").st_mtime) < 100


async def test_newlines_and_escapes_in_arguments_forge_nothing(link: ShellLink, engines: Engines) -> None:
    port = free_port()
    evil = f"x\nk2end\nk2found 1 b 1 1\ns 1/stat:1 (a) S 0 0 0\na 1/cmdline:y\nown 1 1\n\x1b[31m{'y' * 5000}"
    pid = engines.start(*MODULE, "--port", str(port), "--template", evil, env={"SGLANG_X": "a\ne 1/environ:NCCL_X=1"})
    found = await seen(link, engines, pid)
    assert found.argv == ("python3", *MODULE, "--port", str(port), "--template", evil.replace("\x1b", "\ufffd"))
    assert dict(found.env)["SGLANG_X"] == "a\ne 1/environ:NCCL_X=1"
    assert found.process.title.isprintable()
    assert len(found.process.title) <= 300


async def test_secrets_stay_on_the_node(link: ShellLink, engines: Engines) -> None:
    secret = "tellnobody12345"
    names = ("HF_TOKEN", "SGLANG_API_KEY", "VLLM_API_KEY", "SGLANG_SECRET_X", "HF_HUB_PASSWORD", "TORCH_AUTH", "AWS_X")
    env = {**dict.fromkeys(names, secret), "MY_X": f"{secret}\nNCCL_X={secret}", "NCCL_IB_PKEY": "3"}
    pid = engines.start(*MODULE, "--port", str(free_port()), "--api-key", "another-secret-1", env=env)
    found = await seen(link, engines, pid)
    done = await link.run(found_script(script))
    assert secret.encode() not in done.stdout
    assert dict(found.env)["NCCL_IB_PKEY"] == "3"
    assert "another-secret-1" not in " ".join((*found.argv, found.process.title))


async def test_what_only_starts_or_names_an_engine_is_none(link: ShellLink, engines: Engines) -> None:
    port = free_port()
    shell = engines.start(*MODULE, "--port", str(port), wrapped=True)
    pause = "import signal; signal.pause()"
    for argv in (("-c", pause, "sglang.launch_server"), ("-c", pause, "sglang", "serve"), ("-c", pause, "/root/vllm")):
        engines.start(*argv)
    await until(lambda: engines.ready(0).exists())
    mine = {process.pid for process in engines.processes}
    report = await look(link)
    found = [server for server in report.servers if server.port == port]
    assert [server.process.parent for server in found] == [shell]
    assert not mine & {server.process.pid for server in report.servers}
    assert not mine & {process.pid for process in report.processes}


async def test_vllm_is_found_too(link: ShellLink, engines: Engines) -> None:
    port = free_port()
    titles = "VLLM::EngineCore,VLLM::Worker_TP0"
    pid = engines.start("-m", "vllm.entrypoints.openai.api_server", "--port", str(port), titles=titles)
    found = await seen(link, engines, pid)
    assert (found.engine, found.port, found.listening) == ("vllm", port, True)
    assert sorted(worker.title for worker in found.workers) == titles.split(",")


async def test_a_process_that_holds_a_gpu_is_told_although_it_is_no_engine(link: ShellLink, engines: Engines) -> None:
    training = engines.start("-c", "import signal; signal.pause()", "train.py", "--token", "tellnobody12345")
    report = await look(link, training, 4_000_000)
    process = next(process for process in report.processes if process.pid == training)
    assert process.title.startswith("python3 -c import signal; signal.pause() train.py --token")
    assert "tellnobody" not in process.title
    assert training not in {each.pid for each in (await look(link)).processes}


async def test_a_worker_without_a_title_belongs_to_its_engine(link: ShellLink, engines: Engines) -> None:
    pid = engines.start(*MODULE, "--port", str(free_port()), titles="python3 -c x")
    await seen(link, engines, pid)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = await seen(link, engines, pid, *map(int, children))
    assert [str(worker.pid) for worker in found.workers] == children


@pytest.mark.parametrize(
    ("log", "note"), [(None, "its output goes to a pipe"), ("gone.log", "its log {}/gone.log was deleted")]
)
async def test_output_that_no_file_has_is_told_in_words(
    log: str | None, note: str, link: ShellLink, engines: Engines
) -> None:
    pid = engines.start(*MODULE, "--port", str(free_port()), log=log)
    await until(lambda: engines.ready().exists())
    if log is not None:
        (engines.directory / log).unlink()
    found = await seen(link, engines, pid)
    assert (found.log, found.log_note) == (None, note.format(engines.directory))


async def test_a_port_that_the_command_does_not_name_is_the_one_it_has(link: ShellLink, engines: Engines) -> None:
    pid = engines.start(*MODULE, "--config", "c.yaml")
    found = await seen(link, engines, pid)
    assert (found.port, found.listening) == (int(engines.ready().read_text()), True)


async def test_an_engine_that_does_not_listen_yet_has_the_port_that_it_asks_for(
    link: ShellLink, engines: Engines
) -> None:
    port = free_port()
    pid = engines.start(*MODULE, "--port", str(port), env={"LOADS": "1"})
    found = await seen(link, engines, pid)
    assert (found.port, found.listening) == (port, False)


async def test_where_nodes_share_a_machine_each_has_its_own(link: ShellLink, engines: Engines) -> None:
    pids = {
        name: engines.start(*MODULE, "--port", str(free_port()), titles="sglang::scheduler", env={"NODE": name})
        for name in ("gpu-a", "gpu-ab")
    }
    await until(lambda: engines.ready(0).exists() and engines.ready(1).exists())
    for name, pid in pids.items():
        report = await look(replace(link, env={"K2TUI_ONLY": f"NODE={name}"}))
        assert [server.process.pid for server in report.servers] == [pid]
        assert len(report.processes) == 2
    nobody = await look(replace(link, env={"K2TUI_ONLY": "NODE=gpu"}))
    assert (nobody.servers, nobody.processes) == ((), ())


async def test_without_names_of_users_there_are_numbers(link: ShellLink, engines: Engines) -> None:
    for name in ("getent", "grep"):
        real = shutil.which(name)
        text = f'#!/bin/sh\ncase "$*" in *passwd*) exit 1;; esac\nexec {real} "$@"\n'
        (link.bin / name).write_text(text)
        (link.bin / name).chmod(0o755)
    pid = engines.start(*MODULE, "--port", str(free_port()))
    assert (await seen(link, engines, pid)).process.user == str(os.getuid())


@pytest.mark.parametrize("words", [("1; echo no",), ("",), ("-1",), ("12", "x")])
async def test_words_that_are_no_numbers_are_refused(words: Sequence[str], link: ShellLink) -> None:
    done = await link.run(found_script(script), words)
    assert (done.code, done.stdout) == (2, b"")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
async def test_of_another_user_everything_public_is_told_and_the_rest_is_unknown(
    link: ShellLink, engines: Engines, tmp_path: Path
) -> None:
    port = free_port()
    pid = engines.start(*MODULE, "--port", str(port), titles="sglang::scheduler")
    await seen(link, engines, pid)
    became = tmp_path / "became"
    became.mkdir()
    real = (link.bin / "sh").resolve()
    applet = " sh" if real.name == "busybox" else ""
    as_nobody = f'#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups {real}{applet} "$@"\n'
    (became / "sh").write_text(as_nobody)
    (became / "sh").chmod(0o755)
    report = await look(ShellLink(became))
    found = next(server for server in report.servers if server.process.pid == pid)
    assert (found.env, found.env_unknown, found.cwd) == ((), True, None)
    assert (found.log, found.log_note) == (None, "its output may not be looked at: it belongs to root")
    assert (found.port, found.listening, found.process.user) == (port, True, "root")
    assert [worker.title for worker in found.workers] == ["sglang::scheduler"]
