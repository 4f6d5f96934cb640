"""What is advised: flags that the build has, whichever version it is."""

from __future__ import annotations

import re

import pytest

from k2tui.core.advice import advice_for
from k2tui.core.engine_flags import versions
from k2tui.core.flag_ages import ages, arguments, version_of
from k2tui.core.flag_words import SGLANG
from k2tui.core.grammar.signatures import SIGNATURES
from k2tui.core.launch import Cause, Launch, LaunchKind
from k2tui.core.words import FAILURE_WORDS

FOREIGN = frozenset(("--query-compute-apps", "--ipc", "--shm-size", "--gpus", "--help"))
"""Flags of docker and nvidia-smi."""

# a silence has advice by its phase, and of `oom` the phase makes one of five
CLASSES = sorted({*FAILURE_WORDS, *(failure for failure, _ in SIGNATURES)} - {"silence", "progress", "oom"})


def crashed(failure: str, *, names: frozenset[str] = frozenset(), version: str | None = None) -> Launch:
    cause = Cause("the line", 1, None, failure)
    return Launch(kind=LaunchKind.CRASHED, cause=cause, engine="sglang", arg_names=names, version=version)


def flags_named(launch: Launch) -> set[str]:
    text = " ".join(advice.text for advice in advice_for(launch))
    return {flag.rstrip("-") for flag in re.findall(r"--[a-z][a-z0-9-]*", text)} - FOREIGN


@pytest.mark.parametrize("version", versions("sglang"))
def test_no_advice_names_a_flag_that_the_version_lacks(version: str) -> None:
    has = {f"--{name.replace('_', '-')}" for name in arguments(version)}
    for failure in CLASSES:
        assert flags_named(crashed(failure, names=arguments(version))) <= has, failure
        assert flags_named(crashed(failure, version=version)) <= has, failure


def test_the_spelling_follows_the_version() -> None:
    assert "--cuda-graph-max-bs" in flags_named(crashed("oom_graphs", names=arguments("0.5.12")))
    assert "--cuda-graph-max-bs-decode" in flags_named(crashed("oom_graphs", names=arguments("0.5.23")))
    assert "--cuda-graph-backend-decode" in flags_named(crashed("graph_capture", names=arguments("0.5.23")))


def test_without_a_version_the_text_says_which_has_which_spelling() -> None:
    assert "(before 0.5.15: --cuda-graph-max-bs)" in advice_for(crashed("oom_graphs"))[0].text


def test_every_purpose_has_a_flag_in_some_version() -> None:
    for spellings in SGLANG.values():
        for name, flag in spellings:
            assert ages(name) is not None, name
            assert flag.startswith(f"--{name.replace('_', '-')}")


@pytest.mark.parametrize("failure", CLASSES)
def test_every_failure_class_has_words_and_advice(failure: str) -> None:
    assert failure in FAILURE_WORDS
    assert advice_for(crashed(failure)), failure


@pytest.mark.parametrize("version", versions("sglang"))
def test_a_version_is_known_by_its_arguments(version: str) -> None:
    assert version_of(arguments(version)) == version


def test_a_build_with_a_few_arguments_more_is_known_too() -> None:
    assert version_of(arguments("0.5.18") | {"our_own_flag", "another_flag"}) == "0.5.18"


def test_a_release_between_two_known_ones_is_said_to_be_between() -> None:
    older, newer = arguments("0.5.12"), arguments("0.5.15")
    added = sorted(newer - older)
    assert version_of(older | frozenset(added[: len(added) // 2])) == "0.5.12 to 0.5.15"


def test_arguments_of_something_else_are_of_no_version() -> None:
    assert version_of(frozenset()) is None
    assert version_of(frozenset({"tensor_parallel_size", "gpu_memory_utilization"})) is None


def test_a_version_between_the_known_ones_has_what_the_older_had() -> None:
    assert arguments("0.5.7") == arguments("0.5.6")
    assert arguments("0.5.9.post1") == arguments("0.5.9")
    assert arguments("0.4.0") == frozenset()


def test_the_age_of_an_argument() -> None:
    assert ages("cuda_graph_max_bs") == ("0.4.6.post5", "0.5.12")
    assert ages("cuda_graph_max_bs_decode") == ("0.5.15", None)
    assert ages("no_such_argument") is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("error: unrecognized arguments: --enable-ep-moe", "is a flag of SGLang 0.4.6.post5 to 0.5.2, and not of"),
        ("error: unrecognized arguments: --mem-fraction-statc 0.8", "did you mean --mem-fraction-static?"),
        ("error: unrecognized arguments: --reasoning_parser kimi_k2", "spelt with dashes: --reasoning-parser"),
        (
            "error: ambiguous option: --graph-bs could match --graph-bs-decode, --graph-bs-prefill",
            "write one of --graph-bs-decode, --graph-bs-prefill",
        ),
        ("error: ambiguous option: --x could match --x-{a}, --x-b", "write one of --x-{a}, --x-b"),
    ],
)
def test_a_refused_flag_is_explained(line: str, says: str) -> None:
    cause = Cause(line, 1, None, "bad_argument")
    advice = advice_for(Launch(kind=LaunchKind.MISCONFIGURED, cause=cause, engine="sglang"))
    assert says in advice[0].text


def test_a_flag_that_resembles_nothing_is_left_to_the_engines_own_line() -> None:
    cause = Cause("error: unrecognized arguments: --zzz", 1, None, "bad_argument")
    (advice,) = advice_for(Launch(kind=LaunchKind.MISCONFIGURED, cause=cause, engine="sglang"))
    assert "--help" in advice.text
