"""What a node tells of its processes is read whatever it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.foreign.command import asked_port, main_engine
from k2tui.core.foreign.report import FoundReport, parse
from k2tui.core.found import FoundServer
from tests.core.found import SINCE, main, stat, titled, told

SGLANG = ("python3", "-m", "sglang.launch_server")


def read(*parts: str | list[str], gpu_pids: tuple[int, ...] = ()) -> FoundReport:
    report = parse(told(*parts), gpu_pids)
    assert report is not None
    return report


def only(*parts: str | list[str]) -> FoundServer:
    """The one server of a report."""
    (server,) = read(*parts).servers
    return server


def test_a_server_and_its_workers_are_one_tree() -> None:
    report = read(
        main(71, *SGLANG, "--port", "30000"),
        titled(80, "sglang::scheduler_TP0 ", 71),
        titled(81, "sglang::detokenizer", 79),
        stat(79, 71, name="a helper"),
        titled(99, "sglang::scheduler", 1),
        stat(50, 1, name="bash"),
    )
    (server,) = report.servers
    assert [worker.title for worker in server.workers] == ["a helper", "sglang::scheduler_TP0", "sglang::detokenizer"]
    assert [process.pid for process in report.processes] == [71, 79, 80, 81, 99], "an orphan belongs to nobody"
    process = server.process
    assert (process.identity.boot_id, process.pid, process.identity.start_ticks) == ("b00t", 71, 400)
    assert (process.parent, process.session, process.user, process.began_at) == (1, 70, "ann", SINCE + 4.0)
    assert report.age_s(process) == pytest.approx(96.25)


def test_a_fork_of_a_server_is_its_worker() -> None:
    report = read(main(71, *SGLANG), main(72, *SGLANG, parent=71))
    assert [(one.process.pid, [each.pid for each in one.workers]) for one in report.servers] == [(71, [72])]


def test_servers_are_told_oldest_first() -> None:
    report = read(main(71, *SGLANG, ticks=900), main(72, *SGLANG, ticks=50))
    assert [server.process.pid for server in report.servers] == [72, 71]


def test_what_holds_a_gpu_is_told_with_its_words_or_its_name() -> None:
    lines = (["t 5/cmdline:python", "t 5/cmdline:train.py", "t 5/cmdline:--hf-token", "t 5/cmdline:hunter2hunter2"],)
    report = read(*lines, stat(5, 1), stat(6, 1, name="a) (b"), gpu_pids=(5, 6, 7))
    assert [process.title for process in report.processes] == ["python train.py --hf-token ***", "a) (b"]


def test_a_user_without_a_name_is_a_number_and_one_that_nobody_told_is_unknown() -> None:
    report = read(main(71, *SGLANG, uid=4711), stat(5, 1), gpu_pids=(5,))
    assert [process.user for process in report.processes] == ["?", "4711"]


@pytest.mark.parametrize(
    ("argv", "engine"),
    [
        (SGLANG, "sglang"),
        (("/opt/v/bin/python3.11", "-u", "-X", "dev", "-m", "sglang.launch_server"), "sglang"),
        (("/opt/v/bin/python", "/opt/v/bin/sglang", "serve", "--model-path", "m"), "sglang"),
        (("/opt/v/bin/python", "/src/sglang/launch_server.py"), "sglang"),
        (("python3", "-m", "sglang.cli.main", "serve"), "sglang"),
        (("/opt/v/bin/python3", "vllm311/bin/vllm", "serve", "m"), "vllm"),
        (("vllm", "serve", "m"), "vllm"),
        (("python", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"), "vllm"),
        (("python", "-m", "vllm.entrypoints.api_server"), "vllm"),
        (("timeout", "9", *SGLANG), None),
        (("docker", "run", "x", *SGLANG), None),
        (("bash", "-c", "python3 -m sglang.launch_server"), None),
        (("python3", "-c", "x", "-m", "sglang.launch_server"), None),
        (("python3", "-m", "sglang.bench_serving"), None),
        (("python3", "-m", "sglang_router.launch_server"), None),
        (("python3", "train.py", "sglang", "serve"), None),
        (("vllm", "bench", "serve"), None),
        (("tail", "-f", "/var/log/vllm"), None),
        (("python3", "-m"), None),
        (("python3",), None),
        ((), None),
    ],
)
def test_a_main_process_is_known_by_its_command(argv: tuple[str, ...], engine: str | None) -> None:
    assert main_engine(argv) == engine


@pytest.mark.parametrize(
    ("flags", "engine", "port"),
    [
        (("--port", "31000"), "sglang", (31000, True)),
        (("--port=31000",), "vllm", (31000, True)),
        ((), "sglang", (30000, False)),
        ((), "vllm", (8000, False)),
        (("--port", "70000"), "sglang", (30000, False)),
        (("--port", "x"), "sglang", (30000, False)),
        (("--nnodes", "2", "--node-rank", "0"), "sglang", (30000, False)),
        (("--nnodes", "2", "--node-rank", "1"), "sglang", (None, False)),
        (("--headless",), "vllm", (None, False)),
    ],
)
def test_the_port_of_a_command(flags: tuple[str, ...], engine: str, port: tuple[int | None, bool]) -> None:
    assert asked_port((*SGLANG, *flags), engine) == port


CALLED = ("--port", "30001")  # 0x7531
OWN = ("listen 7531 1000 11", "own 71 11")


@pytest.mark.parametrize(
    ("flags", "lines", "port"),
    [
        (CALLED, OWN, (30001, True)),
        (CALLED, ("listen 7531 1000 11",), (30001, False)),
        (CALLED, ("listen 1F90 1000 12", "own 71 12"), (30001, False)),
        ((), ("listen 1F90 1000 12", "own 71 12"), (8080, True)),
        ((), ("listen 1F90 1 12", "listen 1F91 1 13", "own 71 12", "own 71 13"), (30000, False)),
        (CALLED, ("closed 71 fd", "listen 7531 1000 11"), (30001, True)),
        (CALLED, ("closed 71 fd", "listen 7531 1001 11"), (30001, False)),
        (CALLED, ("closed 71 fd", f"g 71/cgroup:0::/docker/{'a' * 64}"), (30001, None)),
        (CALLED, (f"g 71/cgroup:0::/docker/{'a' * 64}",), (30001, None)),
    ],
)
def test_whether_it_listens(flags: tuple[str, ...], lines: tuple[str, ...], port: tuple[int, bool | None]) -> None:
    server = only(main(71, *SGLANG, *flags), list(lines))
    assert (server.port, server.listening) == port


ID = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("group", "container"),
    [
        (f"0::/system.slice/docker-{ID}.scope", "docker 0123456789ab"),
        (f"4:memory:/docker/{ID}", "docker 0123456789ab"),
        (f"0::/kubepods.slice/kubepods-burstable-pod1.slice/cri-containerd-{ID}.scope", "containerd 0123456789ab"),
        (f"0::/kubepods/besteffort/pod1/{ID}", "containerd 0123456789ab"),
        (f"0::/machine.slice/libpod-{ID}.scope/container", "podman 0123456789ab"),
        (f"0::/kubepods.slice/crio-{ID}.scope", "cri-o 0123456789ab"),
        ("0::/lxc.payload.gpu-box/init.scope", "lxc gpu-box"),
        ("1:freezer:/slurm/uid_1000/job_4711/step_0/task_0", "slurm job 4711"),
        ("0::/system.slice/docker.service", None),
        ("0::/system.slice/sglang.service", None),
    ],
)
def test_what_it_is_contained_in(group: str, container: str | None) -> None:
    assert only(main(71, *SGLANG), f"g 71/cgroup:{group}").container == container


@pytest.mark.parametrize(
    ("lines", "log", "note"),
    [
        (("fd 71 1 file /a b.log", "fd 71 2 file /err.log"), "/err.log", None),
        (("fd 71 1 file /a b.log", "fd 71 2 other pipe:[3]"), "/a b.log", None),
        (("fd 71 2 elsewhere /x.log (deleted)",), None, "its log /x.log was deleted"),
        (
            (f"g 71/cgroup:0::/docker/{ID}", "fd 71 2 elsewhere /x.log"),
            None,
            "its log /x.log is in the files of docker 0123456789ab",
        ),
        (("fd 71 2 other /dev/pts/3",), None, "its output goes to the terminal pts/3"),
        (
            ("e 71/environ:TMUX_PANE=%4", "fd 71 2 other /dev/pts/3"),
            None,
            "its output goes to the terminal pts/3, tmux pane %4",
        ),
        (("fd 71 2 other /dev/null",), None, "its output is thrown away: /dev/null"),
        (("fd 71 2 other pipe:[31]",), None, "its output goes to a pipe"),
        (
            (f"g 71/cgroup:0::/docker/{ID}", "fd 71 2 other pipe:[31]"),
            None,
            "its output goes to docker: docker logs 0123456789ab",
        ),
        (
            ("g 71/cgroup:0::/system.slice/kimi.service", "fd 71 2 other socket:[31]"),
            None,
            "its output goes to the journal: journalctl -u kimi.service",
        ),
        (
            ("g 71/cgroup:0::/system.slice/ssh.service", "fd 71 2 other socket:[31]"),
            None,
            "its output goes to a socket",
        ),
        (("closed 71 fd",), None, "its output may not be looked at: it belongs to ann"),
        ((), None, "it has no output"),
    ],
)
def test_where_its_log_is(lines: tuple[str, ...], log: str | None, note: str | None) -> None:
    server = only(main(71, *SGLANG), list(lines))
    assert (server.log, server.log_note) == (log, note)


def test_vllm_logs_to_its_standard_output() -> None:
    argv = ("python", "-m", "vllm.entrypoints.openai.api_server")
    assert only(main(71, *argv), "fd 71 1 file /out", "fd 71 2 file /err").log == "/out"


def test_arguments_are_exact_but_for_secrets_and_control_characters() -> None:
    server = only(main(71, *SGLANG, "--api-key", "tellnobody", "--x", "", "a\nb", "\x1b[31mred\x07"))
    assert server.argv == (*SGLANG, "--api-key", "***", "--x", "", "a\nb", "\ufffd[31mred\ufffd")
    assert server.api_key == "tellnobody", "k2tui's own questions need it"
    assert "tellnobody" not in repr(server)


def test_the_environment_has_no_secret_whatever_the_node_lets_through() -> None:
    lines = ("NCCL_ALGO=Ring", "VLLM_API_KEY=tellnobody", "HF_ENDPOINT=https://ann:tellnobody@hub", "TMUX_PANE=%4")
    server = only(main(71, *SGLANG), [f"e 71/environ:{line}" for line in lines])
    assert server.env == (("HF_ENDPOINT", "https://***@hub"), ("NCCL_ALGO", "Ring"))
    assert server.env_unknown is False
    assert only(main(71, *SGLANG), "closed 71 environ").env_unknown is True


def test_a_zombie_is_no_server() -> None:
    lines = [line for line in main(71, *SGLANG) if not line.startswith("s ")]
    assert read(lines, stat(71, 1, state="Z")).servers == ()


@pytest.mark.parametrize("output", [b"", b"k2end\n", b"k2found 1 b 1 1\n", b"k2found 2 b 1 1\nk2end\n"])
def test_an_answer_that_is_not_whole_is_none(output: bytes) -> None:
    assert parse(output) is None


def test_processes_that_are_each_others_parents_end_the_climb() -> None:
    report = read(titled(80, "sglang::scheduler", 81), titled(81, "sglang::detokenizer", 80))
    assert report.servers == ()


TAGS = st.sampled_from(["t", "s", "u", "a", "e", "g", "fd", "cwd", "closed", "listen", "own", "user", "k2found"])
PIECES = st.sampled_from([*"71 /:()[]=\n\t", "71/cmdline:", "71/stat:", "file", "sglang.launch_server", " 71 "])


@given(st.lists(st.tuples(TAGS, st.one_of(st.text(max_size=40), st.lists(PIECES).map("".join)))))
def test_no_answer_breaks_the_reader(lines: list[tuple[str, str]]) -> None:
    noise = [f"{tag} {text}" for tag, text in lines]
    report = parse(told(main(71, *SGLANG), noise))
    assert report is not None
    assert all(process.title.isprintable() for process in report.processes)


@given(st.binary())
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    parse(b"k2found 1 b 1 1\n" + noise + b"\nk2end\n")
