"""A typed value is looked at before a start, and what is wrong is said with what was expected."""

from __future__ import annotations

import pytest

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.flag_values import find_flag, takes_words, wrong_value

SWITCH = BuildFlag("disable-cuda-graph", Takes.NOTHING)
WHOLE = BuildFlag("tp-size", aliases=("tensor-parallel-size",), type="int")
SHARE = BuildFlag("mem-fraction-static", type="float")
SIZE = BuildFlag("max-total-tokens", type="size")
JSON = BuildFlag("json-model-override-args", type="json")
FEW = BuildFlag("dtype", type="str", choices=("auto", "half", "bfloat16"))
MANY = BuildFlag("reasoning-parser", type="str", choices=("kimi", "kimi_k2", *(f"parser-{n}" for n in range(20))))
SEVERAL = BuildFlag("cuda-graph-bs", Takes.SEVERAL, type="int")
MAYBE = BuildFlag("tracing", Takes.MAYBE, type="str")


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        (SWITCH, ""),
        (SWITCH, "true"),
        (WHOLE, "8"),
        (WHOLE, " 8 "),
        (WHOLE, "-1"),
        (SHARE, "0.9"),
        (SHARE, ".9"),
        (SHARE, "9e-1"),
        (SIZE, "64k"),
        (SIZE, "1.5M"),
        (SIZE, "2Ki"),
        (SIZE, "65536"),
        (JSON, '{"a": [1, 2]}'),
        (FEW, "half"),
        (SEVERAL, "1 2 4 8"),
        (MAYBE, ""),
        (BuildFlag("x"), "anything at all"),
        (BuildFlag("x", type="a type of tomorrow"), "anything"),
    ],
)
def test_right_values_are_taken(flag: BuildFlag, text: str) -> None:
    assert wrong_value(flag, text) is None


@pytest.mark.parametrize(
    ("flag", "text", "said"),
    [
        (SWITCH, "8", "--disable-cuda-graph takes no value, found 8"),
        (WHOLE, "eight", "--tp-size takes a whole number, found eight"),
        (WHOLE, "", "--tp-size takes a whole number, found nothing"),
        (WHOLE, "8.0", "--tp-size takes a whole number, found 8.0"),
        (SHARE, "90%", "--mem-fraction-static takes a number, found 90%"),
        (SIZE, "64K", "--max-total-tokens takes a whole number, perhaps with a unit: 64k, 1.5M, 2Ki, found 64K"),
        (SIZE, "1.5Ki", "--max-total-tokens takes a whole number, perhaps with a unit: 64k, 1.5M, 2Ki, found 1.5Ki"),
        (FEW, "fp8", "--dtype takes one of auto, half, bfloat16, found fp8"),
        (MANY, "kimi-k2", "--reasoning-parser takes one of 22 words, found kimi-k2; near are kimi_k2, kimi"),
        (SEVERAL, "1 two 4", "--cuda-graph-bs takes a whole number, found two"),
    ],
)
def test_wrong_values_are_refused_with_what_was_expected(flag: BuildFlag, text: str, said: str) -> None:
    assert wrong_value(flag, text) == said


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1,}', "column 9, before '}'"),
        ('{"a": 1', "column 8, at its end"),
        ("{a: 1}", "column 2, before 'a: 1}'"),
    ],
)
def test_json_that_is_wrong_says_where(text: str, place: str) -> None:
    said = wrong_value(JSON, text)
    assert said is not None
    assert said.startswith("--json-model-override-args takes JSON: ")
    assert said.endswith(place)


def test_json_without_an_end_of_its_depth_is_refused_and_does_no_harm() -> None:
    assert wrong_value(JSON, "[" * 100_000) is not None


@pytest.mark.parametrize("name", ["tp-size", "--tp-size", "tp_size", "tensor-parallel-size", "tp"])
def test_a_flag_is_found_in_any_of_its_spellings(name: str) -> None:
    assert find_flag(Build("sglang", (SWITCH, WHOLE)), name) is WHOLE


def test_what_the_build_does_not_have_is_not_found() -> None:
    assert find_flag(Build("sglang", (SWITCH,)), "tp-size") is None
    assert find_flag(None, "tp-size") is None


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        (SWITCH, "nothing: it is a switch"),
        (FEW, "one of auto, half, bfloat16"),
        (SEVERAL, "several words, each a whole number"),
        (MAYBE, "text, or nothing"),
    ],
)
def test_what_follows_a_flag_is_said_in_a_few_words(flag: BuildFlag, words: str) -> None:
    assert takes_words(flag) == words
