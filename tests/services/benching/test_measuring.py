"""One measurement on links that break, beside generators that say little, nonsense, or nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from k2tui.adapters.links import make_link
from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from k2tui.core.benching.live import BenchEvent, BenchLive
from k2tui.core.benching.plan import BenchPlan, BenchTarget
from k2tui.core.benching.result import BenchResult, BenchSystem
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.readings import GpuReading
from k2tui.services.benching.measuring import SILENT_S, About, BenchTools, measure
from k2tui.services.benching.sampling import GpuLook
from k2tui.services.benching.spec import opening, spec_line
from k2tui.services.doors import Clock, NodeLink, RealClock, Script
from tests.fakes.clock import FakeClock
from tests.fakes.truth_server import Behaviour, TruthServer
from tests.services.benching.stage import QUICK, gate, measured, result_of, told
from tests.sshd import MARK, Sshd
from tests.waiting import until

FAST = Behaviour(tok_s=400.0, ttft_s=0.01)
LONG = replace(QUICK, repeats=50, budget_s=300.0)
HELLO = {"type": "hello", "formula_set": "k2-1", "prompt_set": "p"}
REQUEST = {"type": "request", "c": 1, "number": 3, "began_s": 1.0, "osl": 80, "decode_tps": 90.0, "finish": "length"}


@dataclass
class Stage:
    """What a measurement needs, and what came of it."""

    link: NodeLink = field(default_factory=lambda: LocalLink("gpu-a"))
    clock: Clock = field(default_factory=RealClock)
    kept: list[BenchResult] = field(default_factory=list)
    lives: list[tuple[float, BenchLive]] = field(default_factory=list)
    gpus: list[GpuLook] = field(default_factory=list)
    says: Sequence[str] | None = None
    """What a generator in the place of ours does, as lines of sh; None: ours."""

    def steps(self, port: int = 1, *, plan: BenchPlan = QUICK, **changes: Any) -> AsyncGenerator[BenchEvent, None]:
        target = replace(BenchTarget("kimi", port=port, node="gpu-a"), **changes)
        tools = BenchTools(
            self.link,
            self.script,
            self.clock,
            self.keep,
            gpus=lambda: self.gpus[-1] if self.gpus else None,
            on_live=lambda live: self.lives.append((self.clock.monotonic(), live)),
        )
        about = About(BenchSystem("/m"), run_id="run-1", profile="reason", series_id="s1")
        return measure(target, plan, tools, about, bench_id="20261129T100000Z-aaaa")

    def script(self, name: str) -> Script:
        return script(name) if self.says is None or name != "measure" else Script(name, "\n".join(self.says))

    async def keep(self, result: BenchResult) -> None:
        self.kept.append(result)


def saying(*lines: object) -> list[str]:
    """A generator that reads what it is given, prints these, and stays until its leash is let go."""
    quoted = (json.dumps(line) if isinstance(line, dict) else str(line) for line in lines)
    return [*(f"echo '{line}'" for line in quoted), "cat >/dev/null"]


async def test_what_is_known_of_the_server_is_in_the_result() -> None:
    stage = Stage()
    async with TruthServer(FAST) as server:
        result = result_of(await told(stage.steps(server.port)))
    assert (result.run_id, result.profile, result.series_id) == ("run-1", "reason", "s1")
    assert result.bench_id == "20261129T100000Z-aaaa"
    assert result.system.model == "/m"
    assert stage.kept == [result]


async def test_a_live_figure_comes_at_most_four_times_a_second() -> None:
    stage = Stage()
    async with TruthServer(FAST) as server:
        await told(stage.steps(server.port))
    times = [at for at, _ in stage.lives]
    assert len(times) >= 2
    assert all(after - before >= 0.25 for before, after in pairwise(times))


@pytest.mark.parametrize("transport", ["asyncssh", "openssh"])
async def test_a_link_that_is_lost_leaves_what_was_measured(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setenv(MARK, sshd.mark)
    trusted = tmp_path / "known_hosts"
    trusted.write_text(sshd.known_hosts_line)
    stage = Stage(make_link(sshd.node(transport=transport), trusted_hosts=trusted, ssh_config=()))
    async with TruthServer(FAST) as server:
        steps: list[BenchEvent] = []
        async for step in stage.steps(server.port, plan=LONG):
            steps.append(step)
            if step.type == "request" and step.data["is_warm_up"] is False and measured_so_far(steps) == 1:
                assert sshd.cut() > 0
        await until(lambda: not server.streams, "a server without our requests")
    assert steps[-1].exit_code is ExitCode.BAD
    (kept,) = stage.kept
    assert measured(kept) >= 1
    assert kept.error is not None
    assert not kept.valid
    await stage.link.close()
    await until(lambda: not sshd.processes(), "a node without our processes")


def measured_so_far(steps: list[BenchEvent]) -> int:
    return sum(step.type == "request" and step.data["is_warm_up"] is False for step in steps)


async def test_a_machine_out_of_reach_is_said_as_such_and_nothing_is_kept(sshd: Sshd, tmp_path: Path) -> None:
    trusted = tmp_path / "known_hosts"
    trusted.write_text(sshd.known_hosts_line)
    stage = Stage(make_link(sshd.node(), trusted_hosts=trusted, ssh_config=()))
    sshd.stop()
    with pytest.raises(K2Error) as lost:
        await told(stage.steps())
    assert lost.value.exit_code is ExitCode.UNREACHABLE
    assert stage.kept == []
    await stage.link.close()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"setup": "false"}, "setup_failed"),
        ({"setup": "exit 3"}, "setup_failed"),
        ({"cwd": "/nowhere/at all"}, "no_directory"),
        ({"python": "/nowhere/python3"}, "no_python"),
        ({}, "unreachable"),
    ],
    ids=["setup fails", "setup ends the shell", "no directory", "no python", "nobody listens"],
)
async def test_what_keeps_it_from_being_measured_is_a_refusal(changes: dict[str, Any], code: str) -> None:
    stage = Stage()
    with pytest.raises(K2Error) as refused:
        await told(stage.steps(**changes))
    assert refused.value.code == code
    assert stage.kept == []


@pytest.mark.parametrize("says", [["exit 3"], ["echo no JSON", "echo '{}'", "echo '[1]'"]], ids=["nothing", "nonsense"])
async def test_a_generator_that_dies_without_a_word_is_no_measurement(says: list[str]) -> None:
    with pytest.raises(K2Error) as refused:
        await told(Stage(says=says).steps())
    assert refused.value.code == "not_measured"


async def test_a_generator_that_dies_in_the_middle_leaves_what_it_said() -> None:
    stage = Stage(says=[*saying(HELLO, REQUEST, "half a li")[:-1], "exit 1"])
    result = result_of(await told(stage.steps()))
    assert (result.decode_tps, result.error) == (90.0, "the measurement broke off before its end")
    assert any("not understood" in note for note in result.notes)


async def test_a_generator_that_hangs_is_ended_and_its_figures_are_kept() -> None:
    clock = FakeClock()
    stage = Stage(clock=clock, says=saying(HELLO, REQUEST))
    steps: list[BenchEvent] = []

    async def follow() -> None:
        async for step in stage.steps():
            steps.append(step)

    task = asyncio.ensure_future(follow())
    await until(lambda: steps, "its first word")
    while not task.done():
        clock.advance(SILENT_S / 4)
        await asyncio.sleep(0.01)
    await task
    (kept,) = stage.kept
    assert (kept.decode_tps, kept.error) == (90.0, "the load generator has said nothing for 120 s")
    assert steps[-1].exit_code is ExitCode.BAD


async def test_gpus_are_sampled_while_it_measures() -> None:
    stage = Stage()

    def look(mask: int) -> None:
        gpu = GpuReading(0, "GPU-0", sm_clock_mhz=1410.0, power_w=700.0, throttle_mask=mask)
        stage.gpus.append(GpuLook(stage.clock.monotonic(), [gpu]))

    async with TruthServer(FAST) as server:
        look(0x40)
        async for step in stage.steps(server.port):
            if step.type in ("figure", "request"):
                look(0x4)
    (kept,) = stage.kept
    assert kept.samples
    assert {sample.held_back for sample in kept.samples} == {("power cap",)}
    assert gate(kept, "G6") is False


async def test_what_a_server_says_can_not_steer_a_terminal() -> None:
    error = {"type": "error", "code": "refused", "message": "401 \x1b[31mno\x07 entry " + "x" * 5000}
    stage = Stage(says=[*saying(HELLO)[:-1], f"printf '%s\\n' '{json.dumps(error)}'"])
    steps = await told(stage.steps())
    assert all(step.text.isprintable() for step in steps)
    (kept,) = stage.kept
    assert kept.error is not None
    assert kept.error.isprintable()
    assert len(kept.error) <= 400


async def test_who_does_not_listen_keeps_nobody_waiting() -> None:
    stage = Stage()
    async with TruthServer(FAST) as server:
        steps = stage.steps(server.port)
        await steps.__anext__()
        await until(lambda: stage.kept, "a result that is kept although nobody reads on")
        assert result_of(await told(steps)) == stage.kept[0]


def test_a_key_travels_on_standard_input_alone() -> None:
    target = BenchTarget("kimi", port=1, api_key="sk-secret", python="/opt/python", setup=". /opt/activate", cwd="/d")
    program = Script("loadgen.py", "print('ä')\n")
    sent = opening(program, target, QUICK)
    size, rest = sent.split(b"\n", 1)
    text = program.text.encode()
    assert int(size) == len(text)
    assert rest == text + spec_line(target, QUICK) + b"\n"
    spec = json.loads(rest[len(text) :])
    assert spec["target"]["api_key"] == "sk-secret"
    assert (spec["plan"]["procedure"], spec["plan"]["ignore_eos"], spec["plan"]["seed"]) == ("quick", True, None)
    assert json.loads(spec_line(replace(target, speculative=True), QUICK))["plan"]["ignore_eos"] is False
