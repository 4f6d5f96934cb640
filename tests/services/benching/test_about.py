"""How a server is asked for a measurement, and what of its system is written down with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.benching.live import BenchLive
from k2tui.core.benching.plan import Procedure
from k2tui.core.builds import Build
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.readings import GpuReading, NodeReading
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.core.serving import ServingReading
from k2tui.core.settings import NodeSettings, ServerSettings
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import NodeView, Proof, ServerStatus
from k2tui.services.benching.about import clients_words, python_of, system_seen, target_of
from k2tui.services.doors import RealClock
from k2tui.services.server_watch import ServerWatch
from tests.fakes.log_link import LogLink
from tests.fakes.shell_link import AnswerLink
from tests.services.server_stage import SILENT, Stage

ARGV = (
    *("/opt/sglang/bin/python", "-m", "sglang.launch_server", "--model-path", "/m/kimi", "--tp", "2"),
    *("--served-model-name", "kimi-k2.5", "--api-key", "***"),
)
RUN = Run("kimi", "20261129T095800Z-0001", "/runs/1", alive=True, argv=ARGV, env=(("NCCL_PROTO", "LL"),), port=30001)
SETTINGS = ServerSettings("kimi", "gpu-a", setup=". /opt/activate", cwd="/root/sglang", gpus=(0, 1), profile="reason")
ENGINE = NodeProcess(ProcessIdentity("b", 71, 9), 1, 71, "root", "python3 -m sglang.launch_server")
GPUS = tuple(GpuReading(at, f"GPU-{at}", "NVIDIA H200", power_limit_w=700.0) for at in range(4))


def watch(settings: ServerSettings = SETTINGS, run: Run | None = RUN, **view: Any) -> ServerWatch:
    """A watch that has seen this run, and shows this."""
    made = Stage(LogLink(SILENT.encode()), settings=settings).watch
    made.api_key = "sk-secret"
    if run is not None:
        made._subject.run = run
    made.view = replace(made.view, run=run, status=ServerStatus.READY, **view)
    return made


def found(**changes: Any) -> ServerWatch:
    """The same of a server that somebody else started."""
    made = watch(replace(SETTINGS, setup=None, cwd=None), None)
    argv = ("python3", "-m", "sglang.launch_server", "--model-path", "/m/qwen", "--speculative-algorithm", "EAGLE3")
    made.take_found(FoundServer(ENGINE, "sglang", argv, **{"port": 40000, "cwd": "/home/me", **changes}), 1.0)
    made.view = replace(made.view, status=ServerStatus.READY)
    return made


def test_a_run_of_ours_is_asked_as_its_command_says() -> None:
    target = target_of(watch())
    assert (target.name, target.node, target.host, target.port, target.tls) == (
        "kimi",
        "gpu-a",
        "127.0.0.1",
        30001,
        False,
    )
    assert (target.engine, target.model, target.api_key) == ("sglang", "kimi-k2.5", "sk-secret")
    assert (target.python, target.setup, target.cwd) == ("/opt/sglang/bin/python", ". /opt/activate", "/root/sglang")
    assert (target.speculative, target.reasoning_proved) == (False, None)


def test_what_runs_in_a_container_lends_no_python() -> None:
    inside = target_of(watch(replace(SETTINGS, supervisor="docker", image="lmsysorg/sglang:v0.5.23")))
    assert (inside.python, inside.setup, inside.cwd) == (None, None, None)
    assert target_of(found(container="docker 0123456789ab")).python is None


def test_a_server_of_somebody_else_is_measured_too() -> None:
    target = target_of(found())
    assert (target.port, target.model, target.speculative) == (40000, None, True)
    assert (target.python, target.setup, target.cwd) == ("python3", None, "/home/me")


@pytest.mark.parametrize(
    ("words", "python"),
    [
        ("python3.11 -m sglang.launch_server", "python3.11"),
        ("/opt/vllm/bin/vllm serve /m", "/opt/vllm/bin/python3"),
        ("vllm serve /m", None),
        ("", None),
    ],
)
def test_the_generator_runs_on_the_python_of_the_engine(words: str, python: str | None) -> None:
    assert python_of(words.split()) == python


@pytest.mark.parametrize(
    ("outcome", "proved"), [(Outcome.PROVED, True), (Outcome.NOT_PROVED, False), (Outcome.CANNOT, None)]
)
def test_what_was_proved_of_its_reasoning_goes_along(outcome: Outcome, proved: bool | None) -> None:
    proof = Proof(True, "", effects=(Effect("reasoning", outcome, ""),))
    assert target_of(watch(proof=proof)).reasoning_proved is proved


@pytest.mark.parametrize(
    "status", [ServerStatus.DOWN, ServerStatus.LOADING, ServerStatus.CRASHED, ServerStatus.HUNG, ServerStatus.UNKNOWN]
)
def test_what_does_not_serve_is_not_running(status: ServerStatus) -> None:
    made = watch()
    made.view = replace(made.view, status=status)
    with pytest.raises(K2Error) as refused:
        target_of(made)
    assert (refused.value.code, refused.value.exit_code) == ("not_running", ExitCode.MISSING)


def test_a_server_that_is_being_restarted_is_not_measured() -> None:
    with pytest.raises(K2Error) as refused:
        target_of(watch(doing="starting"))
    assert refused.value.code == "changing"


def test_a_node_out_of_reach_is_said_as_such() -> None:
    link = LogLink(SILENT.encode())
    made = Stage(link, settings=SETTINGS).watch
    link.state = LinkState(LinkPhase.DOWN, code="lost", reason="no answer for 15 s")
    with pytest.raises(K2Error) as refused:
        target_of(made)
    assert (refused.value.code, refused.value.exit_code) == ("lost", ExitCode.UNREACHABLE)


def test_a_server_without_a_port_can_not_be_measured() -> None:
    with pytest.raises(K2Error) as refused:
        target_of(watch(run=replace(RUN, argv=(), port=None)))
    assert refused.value.code == "no_port"


async def test_a_system_is_what_the_run_the_probe_and_the_node_say() -> None:
    link = AnswerLink(*(), bin=None, answer=lambda _: b"revision abc\nquantization fp8\ntopology def\nnoise\n")  # type: ignore[arg-type]
    node = NodeView(NodeSettings("gpu-a", "gpu-a"), reading=NodeReading(gpus=GPUS, driver="580.1"))
    system = await system_seen(watch(build=Build("sglang", (), "0.5.23")), node, link, script)
    assert (system.model, system.revision, system.quantization) == ("/m/kimi", "abc", "fp8")
    assert (system.engine, system.version, system.image) == ("sglang", "0.5.23", None)
    assert (system.gpus, system.driver, system.power_limit_w) == ("2 × NVIDIA H200", "580.1", 700.0)
    assert (system.argv, system.env) == ((("tp-size", "2"),), (("NCCL_PROTO", "LL"),))
    assert system.topology == "def"
    assert link.told == [("bench_system", ("/m/kimi", "links"), b"")]


async def test_a_node_whose_driver_hangs_is_not_asked_for_its_links() -> None:
    link = AnswerLink(bin=None)  # type: ignore[arg-type]  # nothing is run
    reading = NodeReading(gpus=GPUS, gpus_trouble="nvidia-smi does not answer")
    system = await system_seen(watch(), NodeView(NodeSettings("gpu-a", "gpu-a"), reading=reading), link, script)
    assert link.told[0][1] == ("/m/kimi", "")
    assert (system.revision, system.topology) == (None, None)


@pytest.mark.parametrize(
    ("running", "rate", "words"),
    [
        (1, 61.04, "1 request of others runs on it, 61.0 tok/s in all: what is measured beside them is flagged by G2"),
        (3, None, "3 requests of others run on it: what is measured beside them is flagged by G2"),
    ],
)
def test_what_others_do_is_said_in_one_sentence(running: int, rate: float | None, words: str) -> None:
    serving = ServingReading(1.0, "metrics", decode_tokens_per_s=rate)
    assert clients_words(watch(serving=serving).view, running) == words


async def test_k2tui_asks_for_no_completion_while_a_server_is_measured() -> None:
    made = watch()
    assert made.abstains.why is None
    made.benches.live = BenchLive("b1", Procedure.QUICK, RealClock().monotonic(), "request 1 of 3")
    assert made.abstains.why == "not asked for a completion: it is being measured"
