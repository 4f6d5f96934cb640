"""GPUs are there, whole and free, or it is said which is not and who has it; only what must fail blocks."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from k2tui.core.checkpoint import Checkpoint, Shard
from k2tui.core.flag_combinations import Asked
from k2tui.core.found import NodeProcess
from k2tui.core.preflight import PreflightItem, Weight
from k2tui.core.preflight_gpus import gpu_items, gpus_of, names_of
from k2tui.core.readings import GpuProcess, GpuReading, NodeReading
from k2tui.core.runs import ProcessIdentity, Run

WARN, BLOCK, UNKNOWN, FINE = Weight.WARN, Weight.BLOCK, Weight.UNKNOWN, Weight.FINE
GIB = 1024.0
NAME = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
LIVE = Run("kimi", "r1", "/runs/kimi/r1", session_id=700, child=ProcessIdentity("b", 710, 5), port=30000, alive=True)
Held = Mapping[int, tuple[tuple[int, float], ...]]
"""GPU to (pid, GiB) of each process on it."""


def reading(count: int = 8, held: Held | None = None, **changes: object) -> NodeReading:
    """GPUs of 96 GiB and who holds them."""
    held = held or {}
    gpus = tuple(
        GpuReading(
            index,
            f"GPU-{index}",
            NAME,
            memory_total_mib=96 * GIB,
            memory_used_mib=sum(gib for _, gib in held.get(index, ())) * GIB,
        )
        for index in range(count)
    )
    listed = tuple(GpuProcess(f"GPU-{at}", pid, gib * GIB, "python") for at, rows in held.items() for pid, gib in rows)
    known = NodeReading(gpus=gpus, gpus_at=1.0, gpu_processes=listed, gpu_processes_at=1.0)
    return NodeReading(**{**{name: getattr(known, name) for name in known.__slots__}, **changes})


def process(pid: int, session: int, user: str = "ann", title: str = "python3 train.py") -> NodeProcess:
    return NodeProcess(ProcessIdentity("b", pid, 1), 1, session, user, title)


def look(
    seen: NodeReading,
    words: str = "--tp-size 8",
    *,
    gpus: tuple[int, ...] = tuple(range(8)),
    processes: tuple[NodeProcess, ...] = (),
    replaces: Run | None = None,
    engine: str = "sglang",
    rivals: tuple[str, ...] = (),
    checkpoint: Checkpoint | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[PreflightItem, ...]:
    asked = Asked.of(["python3", "-m", "engine", *words.split()], env or {})
    items = gpu_items(
        seen,
        processes,
        indices=gpus,
        asked=asked,
        engine=engine,
        replaces=replaces,
        rivals=rivals,
        checkpoint=checkpoint,
    )
    assert {item.name for item in items} == {"gpus"}
    return items


def only(*args: object, **more: object) -> PreflightItem:
    (item,) = look(*args, **more)  # type: ignore[arg-type]
    return item


def weights(gib: float) -> Checkpoint:
    return Checkpoint("/m", (Shard("a.safetensors", int(gib * 2**30)),))


def all_of(pid: int, gib: float, count: int = 8) -> Held:
    return {index: ((pid + index, gib),) for index in range(count)}


def test_free_gpus_are_counted_and_named() -> None:
    item = only(reading())
    assert (item.weight, item.text) == (FINE, "8 RTX PRO 6000 GPUs are free")
    assert only(reading(1), "", gpus=(0,)).text == "1 RTX PRO 6000 GPU is free"


@pytest.mark.parametrize(
    ("count", "words", "gpus", "text"),
    [
        (4, "--tp-size 8", tuple(range(8)), "no GPUs 4-7: this node has 0-3"),
        (8, "--tp-size 2", (6, 8), "no GPU 8: this node has 0-7"),
        (8, "--tp-size 8 --pp-size 2", tuple(range(8)), "8 GPUs for 16 ranks"),
        (8, "--tp-size 4", (0, 1, 2), "3 GPUs for 4 ranks"),
        (8, "--tp-size 8 --dp-size 2", tuple(range(8)), "8 GPUs for 16 ranks"),
    ],
)
def test_what_is_missing_blocks(count: int, words: str, gpus: tuple[int, ...], text: str) -> None:
    item = only(reading(count), words, gpus=gpus)
    assert (item.weight, item.text) == (BLOCK, text)


@pytest.mark.parametrize("words", ["--tp-size 16 --nnodes 2", "--tp-size 8 --dp-size 8 --enable-dp-attention"])
def test_ranks_elsewhere_and_attention_dp_need_no_gpus_here(words: str) -> None:
    assert only(reading(), words).weight is FINE


def test_a_gpu_that_is_lost_blocks() -> None:
    seen = reading(2)
    broken = NodeReading(gpus=(seen.gpus[0], GpuReading(1, "GPU-1", NAME, fault="GPU is lost")), gpus_at=1.0)
    item = only(broken, "--tp-size 2", gpus=(0, 1))
    assert (item.weight, item.text) == (BLOCK, "GPU 1: GPU is lost")


def test_another_server_on_the_same_gpus_blocks_and_is_named_once() -> None:
    item = only(reading(held=all_of(900, 80)), rivals=("glm",))
    assert (item.weight, item.text, item.hint) == (BLOCK, "glm runs on the same GPUs", "stop glm first")


def test_memory_that_others_hold_is_told_with_who() -> None:
    item = only(reading(held={3: ((900, 5.0),)}), processes=(process(900, 899),))
    assert (item.weight, item.text) == (WARN, "5.4 GB held on GPU 3 by python3 of ann, pid 900")
    item = only(reading(held=all_of(900, 5)))
    assert (item.weight, item.text) == (WARN, "5.4 GB held on 8 GPUs, 0 the most by python, pid 900")


def test_what_the_run_that_is_replaced_holds_will_be_free() -> None:
    ours = tuple(process(710 + index, 700) for index in range(8))
    assert only(reading(held=all_of(710, 90)), processes=ours, replaces=LIVE).weight is FINE
    item = only(reading(held={0: ((710, 60.0), (900, 3.0))}), processes=(*ours, process(900, 3)), replaces=LIVE)
    assert (item.weight, item.text) == (WARN, "3.2 GB held on GPU 0 by python3 of ann, pid 900")


def test_of_a_run_that_is_dead_nothing_will_be_free() -> None:
    dead = Run("kimi", "r1", "/runs/kimi/r1", session_id=700, alive=False)
    item = only(reading(held=all_of(710, 5)), processes=(process(710, 700),), replaces=dead)
    assert item.weight is WARN


def test_a_desktop_is_nobody() -> None:
    assert only(reading(held=all_of(900, 0.2))).weight is FINE


def test_memory_that_nobody_can_name_is_told() -> None:
    hidden = reading(held=all_of(900, 80), gpu_processes=())
    item = only(hidden)
    assert (item.weight, item.text) == (
        WARN,
        "85.9 GB held on 8 GPUs, 0 the most, nobody can say by whom",
    )
    unasked = reading(held=all_of(900, 80), gpu_processes=(), gpu_processes_at=None)
    item = only(unasked, replaces=LIVE)
    assert (item.weight, item.text) == (UNKNOWN, "who holds GPU memory is not known yet")


@pytest.mark.parametrize(
    ("words", "env", "weight"),
    [
        ("--tp-size 8", {}, BLOCK),
        ("--tp-size 8", {"SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK": "0"}, WARN),
        ("--tp-size 8", {"SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK": "1"}, WARN),
        ("--tp-size 1", {}, WARN),
    ],
)
def test_sglang_refuses_gpus_that_have_unlike_amounts_free(words: str, env: Mapping[str, str], weight: Weight) -> None:
    assert only(reading(held={0: ((900, 20.0),)}), words, env=env).weight is weight


def test_vllm_refuses_less_than_its_share() -> None:
    held = {0: ((900, 20.0),)}
    assert only(reading(held=held), "--tensor-parallel-size 2", engine="vllm").weight is BLOCK
    small = "--tensor-parallel-size 2 --gpu-memory-utilization 0.5"
    assert only(reading(held=held), small, engine="vllm").weight is WARN


@pytest.mark.parametrize(
    ("gib", "words", "weight", "hint"),
    [
        (100, "--tp-size 8", WARN, "less is left for the KV cache"),
        (300, "--tp-size 8", WARN, "27.9 GB are left for 40.3 GB of weights"),
        (595, "--tp-size 8", BLOCK, "27.9 GB are left for 79.9 GB of weights"),
        (595, "--tp-size 8 --load-format dummy", WARN, "less is left for the KV cache"),
        (595, "--tp-size 8 --quantization fp8", WARN, "less is left for the KV cache"),
    ],
)
def test_weights_that_can_not_fit_beside_what_others_hold_block(
    gib: float, words: str, weight: Weight, hint: str
) -> None:
    item = only(reading(held=all_of(900, 70)), words, checkpoint=weights(gib))
    assert (item.weight, item.hint) == (weight, hint)


def test_only_the_gpus_that_it_takes_are_looked_at() -> None:
    held = {3: ((900, 80.0),)}
    assert only(reading(held=held), "--tp-size 2").text == "2 RTX PRO 6000 GPUs are free"
    assert only(reading(held=held), "--tp-size 2 --base-gpu-id 2").weight is WARN


def test_what_was_not_read_is_not_called_free() -> None:
    item = only(NodeReading(no_gpus_because="no nvidia-smi"), gpus=())
    assert (item.weight, item.text) == (UNKNOWN, "GPUs not looked at: no nvidia-smi")
    assert only(NodeReading(), gpus=()).text == "GPUs not looked at: not read yet"
    item = only(reading(gpus_trouble="nvidia-smi does not answer"))
    assert (item.weight, item.text) == (UNKNOWN, "GPU figures are old: nvidia-smi does not answer")
    assert only(NodeReading(), "--device cpu", gpus=()).weight is FINE


def test_a_server_has_its_own_gpus_or_those_that_it_may_see_or_all() -> None:
    seen = reading(4)
    assert gpus_of((2, 3, 3), {"CUDA_VISIBLE_DEVICES": "0"}, seen) == (2, 3)
    assert gpus_of((), {"CUDA_VISIBLE_DEVICES": "1, 0"}, seen) == (1, 0)
    assert gpus_of((), {"CUDA_VISIBLE_DEVICES": "GPU-abc"}, seen) == (0, 1, 2, 3)
    assert gpus_of((), {}, seen) == (0, 1, 2, 3)
    assert names_of((0, 9), seen) == (NAME,)
