"""Every piece of knowledge says where it is from, and holds in the releases that it names."""

from __future__ import annotations

import pytest

from k2tui.core.builds import Match, look_up
from k2tui.core.engine_flags import release as release_of
from k2tui.core.engine_flags import versions
from k2tui.core.flag_combinations import Asked
from k2tui.core.flag_knowledge import KNOWLEDGE, Kind, Known, knowledge_of
from k2tui.core.gpu_families import capability_of, is_pcie_only
from k2tui.core.nccl_names import NCCL_NAMES
from k2tui.core.preflight import Weight
from k2tui.core.variables import KNOWN_VARIABLES
from k2tui.core.versions import is_within, release


@pytest.mark.parametrize("known", KNOWLEDGE, ids=lambda known: f"{known.name} {known.since}")
def test_each_entry_names_its_source_and_a_span_that_can_be_read(known: Known) -> None:
    assert known.text
    assert known.basis
    assert not known.name.startswith("-")
    for end in (known.since, known.until):
        assert end is None or release(end) is not None
    assert known.since is None or known.until is None or is_within(known.since, None, known.until)
    assert known.replacement is None or known.replacement.startswith("--")


@pytest.mark.parametrize(
    ("name", "version", "kinds"),
    [
        ("--num-continuous-decode-steps", "0.4.6.post5", {Kind.DEAD}),
        ("num_continuous_decode_steps", "0.5.23", {Kind.DEAD}),
        ("--cuda-graph-max-bs", "0.5.9", set()),
        ("--cuda-graph-max-bs", "0.5.12", set()),
        ("--cuda-graph-max-bs", "0.5.15", {Kind.DEPRECATED}),
        ("--cuda-graph-max-bs", "0.5.18", {Kind.DEPRECATED}),
        ("--cuda-graph-max-bs", "0.5.20", {Kind.GONE}),
        ("--cuda-graph-max-bs", "0.5.23", {Kind.GONE}),
        ("--cuda-graph-max-bs", None, {Kind.DEPRECATED, Kind.GONE}),
        ("--nsa-prefill-backend", "0.5.23", {Kind.GONE}),
        ("--enable-ep-moe", "0.5.6", {Kind.GONE}),
        ("--reasoning-parser", "0.5.9", {Kind.GONE}),
        ("--tp-size", "0.5.23", set()),
    ],
)
def test_what_is_known_of_a_flag_depends_on_the_version(name: str, version: str | None, kinds: set[Kind]) -> None:
    assert {known.kind for known in knowledge_of("sglang", name, version)} == kinds


@pytest.mark.parametrize("known", KNOWLEDGE, ids=lambda known: f"{known.name} {known.since}")
def test_the_flags_of_each_release_bear_out_what_is_known(known: Known) -> None:
    if known.value is not None:
        return
    accepted = [version for version in versions(known.engine) if _accepts(known.engine, version, known.name)]
    within = [version for version in versions(known.engine) if is_within(version, known.since, known.until)]
    if not within:
        assert known.engine == "vllm", "no known release is in its span"
        return
    if known.kind is Kind.GONE:
        assert not set(within) & set(accepted)
    else:
        assert set(within) <= set(accepted)
    if known.replacement is not None:
        assert _accepts(known.engine, within[0], known.replacement.lstrip("-").partition("=")[0])


def _accepts(engine: str, version: str, name: str) -> bool:
    found = look_up(release_of(engine, version), name)
    return found.match in (Match.EXACT, Match.ALIAS) and found.flag is not None and not found.flag.refused


def test_what_is_known_of_one_engine_is_not_said_of_another() -> None:
    assert knowledge_of("vllm", "--cuda-graph-max-bs", "0.5.23") == ()
    assert knowledge_of("vllm", "--enable-reasoning", "0.9.1")[0].status == "deprecated"
    assert knowledge_of("vllm", "--enable-reasoning", "0.11.0")[0].status == "gone"


def test_what_is_dead_has_no_effect_and_only_what_is_gone_blocks() -> None:
    assert {known.effect for known in KNOWLEDGE if known.kind is Kind.DEAD} == {"none"}
    assert {known.kind for known in KNOWLEDGE if known.weight is Weight.BLOCK} == {Kind.GONE}


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("0.5.10", (0, 5, 10)),
        ("0.4.6.post5", (0, 4, 6)),
        ("0.5.10rc0", (0, 5, 10)),
        ("v0.11.0+cu128", (0, 11, 0)),
        ("main", None),
        ("", None),
    ],
)
def test_a_version_is_its_release(version: str, numbers: tuple[int, ...] | None) -> None:
    assert release(version) == numbers


def test_a_span_has_both_its_ends_and_an_unreadable_version_is_in_none() -> None:
    assert is_within("0.5.9", "0.5.9", "0.5.9")
    assert is_within("0.5.10", "0.5.9", None)
    assert not is_within("0.5.10", None, "0.5.9")
    assert not is_within("main", None, None)


@pytest.mark.parametrize(
    ("name", "capability", "pcie"),
    [
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", (12, 0), True),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", (12, 0), True),
        ("NVIDIA GeForce RTX 5090", (12, 0), True),
        ("NVIDIA B200", (10, 0), False),
        ("NVIDIA GB300", (10, 3), False),
        ("NVIDIA H100 80GB HBM3", (9, 0), False),
        ("NVIDIA GH200 480GB", (9, 0), False),
        ("NVIDIA L40S", (8, 9), True),
        ("NVIDIA RTX 6000 Ada Generation", (8, 9), True),
        ("NVIDIA A100-SXM4-80GB", (8, 0), False),
        ("NVIDIA A10G", (8, 6), True),
        ("Tesla T4", (7, 5), True),
        ("Some GPU of tomorrow", None, False),
    ],
)
def test_a_gpu_is_known_by_the_name_that_the_driver_prints(
    name: str, capability: tuple[int, int] | None, pcie: bool
) -> None:
    assert capability_of(name) == capability
    assert is_pcie_only((name,)) is pcie


def test_boards_of_two_kinds_have_no_nvlink_only_when_none_has() -> None:
    assert not is_pcie_only(())
    assert not is_pcie_only(("NVIDIA L40S", "NVIDIA H100 80GB HBM3"))


def test_every_nccl_variable_that_has_values_is_one_that_nccl_reads() -> None:
    assert {name for name in KNOWN_VARIABLES if name.startswith("NCCL_")} <= NCCL_NAMES


@pytest.mark.parametrize(
    ("engine", "words", "ranks"),
    [
        ("sglang", "", 1),
        ("sglang", "--tp-size 8", 8),
        ("sglang", "--tp 4 --pp-size 2", 8),
        ("sglang", "--tp-size 8 --dp-size 2", 16),
        ("sglang", "--tp-size 8 --dp-size 8 --enable-dp-attention", 8),
        ("vllm", "--tensor-parallel-size 4 --data-parallel-size 2", 8),
        ("sglang", "--tp-size eight", None),
        ("sglang", "--tp-size", None),
        ("sglang", "--tp-size 0", None),
    ],
)
def test_how_many_gpus_a_command_takes(engine: str, words: str, ranks: int | None) -> None:
    assert Asked.of(["python3", "-m", "engine", *words.split()], {}).ranks(engine) == ranks
