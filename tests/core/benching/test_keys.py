"""What may be compared with what."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest

from k2tui.core.benching.keys import ignores_eos, key_of, system_document, system_key_of, system_of, workload_of
from k2tui.core.benching.plan import BenchPlan, CachePolicy, Procedure
from k2tui.core.benching.result import BenchSystem
from k2tui.core.readings import GpuReading
from tests.core.benching.told import NODE, URL, told

COMMAND = shlex.split(
    "python3 -m sglang.launch_server --model-path /shared/kimi --tp 8 --trust-remote-code --port 30000 "
    "--api-key sk-verysecret123 --log-level info --served-model-name kimi --mem-fraction-static 0.9"
)


def work(plan: BenchPlan | None = None, **target: Any) -> str:
    return key_of(workload_of(plan or BenchPlan(), replace(NODE, **target), told()))


def test_the_same_work_has_the_same_key() -> None:
    usual = work()
    assert len(usual) == 64
    assert usual == work(BenchPlan(seed=7, repeats=9, budget_s=60.0, hold_s=5.0))
    assert usual == work(name="other", port=1, api_key="sk-other", python="/usr/bin/python3")


def test_concurrencies_are_a_set_whatever_their_order() -> None:
    one, other = (BenchPlan(procedure=Procedure.SWEEP, concurrencies=order) for order in ((1, 8, 4), (8, 4, 1)))
    assert work(one) == work(other)


@pytest.mark.parametrize(
    "plan",
    [
        BenchPlan(max_tokens=512),
        BenchPlan(policy=CachePolicy.COLD),
        BenchPlan(procedure=Procedure.SWEEP),
        BenchPlan(ignore_eos=False),
        BenchPlan(concurrencies=(2,)),
    ],
)
def test_other_work_has_another_key(plan: BenchPlan) -> None:
    assert work(plan) != work()


def test_where_it_was_measured_from_and_by_which_formulas_is_part_of_the_work() -> None:
    here = workload_of(BenchPlan(), URL, told())
    assert here["measured_from"] == "remote"
    assert key_of(here) != work()
    assert key_of(workload_of(BenchPlan(), NODE, told(formula_set="k2-2"))) != work()
    assert key_of(workload_of(BenchPlan(), NODE, told(prompt_set="cd" * 32))) != work()


def test_a_slope_is_the_work_of_its_lengths() -> None:
    plan = BenchPlan(procedure=Procedure.PREFILL)
    assert work(plan) == work(replace(plan, max_tokens=999))
    assert work(plan) != work(replace(plan, prompt_lengths=(256, 4096)))


def test_a_speculative_server_is_not_pushed_behind_the_end() -> None:
    assert ignores_eos(BenchPlan(), NODE) is True
    assert ignores_eos(BenchPlan(), replace(NODE, speculative=True)) is False
    assert ignores_eos(BenchPlan(ignore_eos=True), replace(NODE, speculative=True)) is True


def test_what_was_sent_counts_where_the_server_refused_it() -> None:
    assert workload_of(BenchPlan(), NODE, told(ignore_eos=False))["ignore_eos"] is False


def test_flags_have_one_name_and_only_those_that_bear_on_speed() -> None:
    system = system_of(argv=COMMAND)
    assert system.model == "/shared/kimi"
    assert system.engine == "sglang"
    assert system.argv == (("mem-fraction-static", "0.9"), ("tp-size", "8"))


def test_two_spellings_of_one_command_are_one_system() -> None:
    words = "python -m sglang.launch_server --mem_fraction_static=0.9 --tp-size=8 --model /shared/kimi --port 1"
    spelled = words.split()
    assert system_key_of(system_of(argv=COMMAND)) == system_key_of(system_of(argv=spelled))


def test_the_last_of_two_flags_counts() -> None:
    assert system_of(argv=["python", "-m", "sglang.launch_server", "--tp", "4", "--tp", "8"]).argv == (
        ("tp-size", "8"),
    )


def test_only_variables_that_bear_on_speed_are_kept_and_no_secret() -> None:
    env = {
        "NCCL_PROTO": "LL",
        "NCCL_DEBUG": "INFO",
        "HF_TOKEN": "hf_aaaaaaaaaaaaaaaaaaaaaa",
        "SGLANG_API_KEY": "topsecret1",
        "PATH": "/bin",
        "CUDA_VISIBLE_DEVICES": "0,1",
    }
    system = system_of(argv=COMMAND, env=env, secrets=("topsecret1",))
    assert system.env == (("CUDA_VISIBLE_DEVICES", "0,1"), ("NCCL_PROTO", "LL"), ("SGLANG_API_KEY", "***"))
    said = json.dumps(system_document(system))
    assert "secret" not in said
    assert "hf_" not in said


def test_gpus_are_counted_and_unknown_where_one_is_silent() -> None:
    def gpu(index: int, name: str | None, watts: float | None = 700.0) -> GpuReading:
        return GpuReading(index, f"GPU-{index}", name=name, power_limit_w=watts)

    eight = system_of(gpus=[gpu(index, "NVIDIA H200") for index in range(8)])
    assert (eight.gpus, eight.power_limit_w) == ("8 × NVIDIA H200", 700.0)
    mixed = system_of(gpus=[gpu(0, "NVIDIA H200"), gpu(1, "NVIDIA H200", 600.0)])
    assert (mixed.gpus, mixed.power_limit_w) == ("2 × NVIDIA H200", None)
    assert system_of(gpus=[gpu(0, "NVIDIA H200"), gpu(1, None)]).gpus is None
    assert system_of().gpus is None


def test_a_quantization_that_is_known_is_told_once() -> None:
    argv = [*COMMAND, "--quantization", "fp8"]
    assert ("quantization", "fp8") in system_of(argv=argv).argv
    known = system_of(argv=argv, quantization="fp8")
    assert known.quantization == "fp8"
    assert "quantization" not in dict(known.argv)


def test_a_system_of_which_nothing_is_known_has_no_key() -> None:
    assert system_key_of(BenchSystem()) is None
    assert system_key_of(system_of(version="0.5.23")) != system_key_of(system_of(version="0.5.22"))
