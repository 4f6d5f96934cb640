"""Whose a process is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from k2tui.core.foreign.owner import adopts, is_of_a_run, not_ours, owner_of, with_gpus, writes_a_run_log
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.readings import GpuProcess, GpuReading
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.core.settings import ServerSettings
from k2tui.core.views import ServerView


def process(pid: int, parent: int = 1, session: int = 1, boot: str = "b00t", ticks: int = 5) -> NodeProcess:
    return NodeProcess(ProcessIdentity(boot, pid, ticks), parent, session, "ann", f"process {pid}", 1_796_047_200.0)


def view(name: str, **changes: Any) -> ServerView:
    return ServerView(ServerSettings(name, "gpu-a"), **changes)


MAIN, WORKER = process(71, session=70), process(80, parent=71, session=70)
FOUND = FoundServer(MAIN, "sglang", ("python3", "-m", "sglang.launch_server"), port=30000, workers=(WORKER,))
RUN = Run(
    "kimi",
    "20260101T000000Z-0f0f",
    "/h/runs/kimi/20260101T000000Z-0f0f",
    supervisor=ProcessIdentity("b00t", 70, 4),
    child=ProcessIdentity("b00t", 71, 5),
    session_id=70,
    alive=True,
)


@pytest.mark.parametrize(
    ("which", "owner"),
    [
        (process(71), "kimi"),
        (process(500, session=70), "kimi"),
        (process(500, parent=80, session=3), "kimi"),
        (process(71, ticks=6), None),
        (process(500, session=70, boot="another"), None),
        (process(500), None),
        (process(500, parent=501), None),
    ],
)
def test_a_process_belongs_to_the_run_that_it_is_below_or_in_the_session_of(
    which: NodeProcess, owner: str | None
) -> None:
    assert owner_of(which, (WORKER, which), (view("other"), view("kimi", run=RUN))) == owner


def test_a_run_that_is_over_owns_nothing() -> None:
    over = replace(RUN, alive=False)
    assert owner_of(process(500, session=70), (), (view("kimi", run=over),)) is None


def test_a_process_below_a_found_server_belongs_to_it() -> None:
    servers = (view("sglang-30000", found=FOUND),)
    for each in (MAIN, WORKER, process(500, parent=80)):
        assert owner_of(each, (MAIN, WORKER), servers) == "sglang-30000"


@pytest.mark.parametrize(
    ("found", "run", "own"),
    [
        (FOUND, RUN, True),
        (replace(FOUND, process=process(900, session=70)), RUN, True),
        (replace(FOUND, process=process(900, session=70)), replace(RUN, alive=False), False),
        (replace(FOUND, process=process(900), log=f"{RUN.directory}/log"), RUN, True),
        (replace(FOUND, process=process(71, ticks=99)), replace(RUN, session_id=None), False),
        (replace(FOUND, process=process(900)), RUN, False),
    ],
)
def test_what_a_run_is_is_nobody_elses(found: FoundServer, run: Run, own: bool) -> None:
    assert is_of_a_run(found, (run,)) is own
    assert not is_of_a_run(found, ())


@pytest.mark.parametrize(
    ("log", "is_one"), [(f"{RUN.directory}/log", True), ("/data/runs/a/log", False), ("/x.log", False), (None, False)]
)
def test_a_log_in_a_runs_directory_is_some_k2tuis(log: str | None, is_one: bool) -> None:
    assert writes_a_run_log(replace(FOUND, log=log)) is is_one


def test_a_server_has_the_gpus_of_its_workers() -> None:
    gpus = tuple(GpuReading(index, f"GPU-{index}") for index in range(4))
    held = [GpuProcess("GPU-3", 80), GpuProcess("GPU-1", 80), GpuProcess("GPU-1", 71), GpuProcess("GPU-0", 999)]
    assert with_gpus(FOUND, gpus, held).gpus == (1, 3)
    assert with_gpus(FOUND, gpus, []) is FOUND


@pytest.mark.parametrize(
    ("found", "server", "is_it"),
    [
        (FOUND, ServerSettings("kimi", "gpu-a", port=30000, profile="p"), True),
        (FOUND, ServerSettings("kimi", "gpu-a", profile="p"), True),
        (FOUND, ServerSettings("kimi", "gpu-a", engine="vllm", profile="p"), False),
        (FOUND, ServerSettings("kimi", "gpu-a", port=30001, profile="p"), False),
        (replace(FOUND, port=None), ServerSettings("kimi", "gpu-a", profile="p"), False),
        (replace(FOUND, log="/d/x.log"), ServerSettings("kimi", "gpu-a", log="/d/x.log"), True),
        (replace(FOUND, log="/root/x.log"), ServerSettings("kimi", "gpu-a", log="~/x.log"), True),
        (replace(FOUND, log="/d/y.log"), ServerSettings("kimi", "gpu-a", log="/d/x.log"), False),
        (replace(FOUND, log="/d/y.log"), ServerSettings("kimi", "gpu-a", log="/d/x.log", port=30000), True),
    ],
)
def test_a_found_server_on_a_configured_port_or_log_is_that_server(
    found: FoundServer, server: ServerSettings, is_it: bool
) -> None:
    other = ServerSettings("other", "gpu-a", port=39999, profile="p")
    assert adopts(found, (other, server)) == ("kimi" if is_it else None)


def test_a_log_says_more_than_a_port() -> None:
    servers = (ServerSettings("kimi", "gpu-a", profile="p"), ServerSettings("by-hand", "gpu-a", log="/d/x.log"))
    assert adopts(replace(FOUND, log="/d/x.log"), servers) == "by-hand"


def test_why_it_is_not_ours_says_who_since_when_and_what_to_do() -> None:
    error = not_ours(replace(FOUND, container="docker 0123456789ab"), "sglang-30000")
    assert (error.code, error.subject) == ("not_ours", "sglang-30000")
    assert error.message == (
        "sglang-30000 was started by ann, not by k2tui, pid 71, in docker 0123456789ab, since 2026-11-30 14:00 UTC: "
        "k2tui only looks at it"
    )
    assert error.hint is not None
    assert "as ann" in error.hint
