"""The words for `sglang.bench_serving`: what the operator gives wins, and the rest measures what can be believed."""

from __future__ import annotations

import pytest

from k2tui.core.benching.plan import BenchPlan, BenchTarget, CachePolicy, Procedure
from k2tui.core.benching.result import BenchSystem
from k2tui.core.errors import ExitCode, K2Error
from k2tui.services.benching.full import words_of
from k2tui.services.benching.measuring import About


def words(*given: str, target: BenchTarget | None = None, about: About | None = None, **plan: object) -> list[str]:
    wanted = BenchPlan(Procedure.FULL, full_args=given, **plan)  # type: ignore[arg-type]
    found = target or BenchTarget("kimi", port=30000, node="here", engine="sglang", model="k2")
    return list(words_of(found, wanted, about or About(BenchSystem(model="/models/kimi")), 77))


def value(found: list[str], name: str) -> str | None:
    assert found.count(name) < 2
    return found[found.index(name) + 1] if name in found else None


def test_words_that_nobody_gave_measure_what_can_be_counted() -> None:
    found = words()
    assert value(found, "--backend") == "sglang"
    assert value(found, "--model") == "/models/kimi"
    assert value(found, "--served-model-name") is None
    assert (value(found, "--max-concurrency"), value(found, "--num-prompts")) == ("16", "64")
    assert (value(found, "--random-output-len"), value(found, "--random-range-ratio")) == ("256", "1")
    vllm = words(target=BenchTarget("kimi", port=8000, node="here", engine="vllm", model="k2"), max_tokens=64)
    assert (value(vllm, "--backend"), value(vllm, "--served-model-name")) == ("vllm-chat", "k2")
    assert value(vllm, "--random-output-len") == "64"


@pytest.mark.parametrize("given", [("--num-prompts", "3"), ("--num-prompts=3",), ("--backend", "sglang-oai-chat")])
def test_the_operators_words_win(given: tuple[str, ...]) -> None:
    found = words(*given)
    assert found[-len(given) :] == list(given)
    name = given[0].partition("=")[0]
    assert sum(word.partition("=")[0] == name for word in found) == 1
    assert (value(found, "--served-model-name") == "k2") is ("--backend" in given)


def test_as_many_requests_as_the_streams_that_the_operator_wants() -> None:
    assert value(words("--max-concurrency", "2"), "--num-prompts") == "8"
    assert value(words("--max-concurrency=2"), "--num-prompts") == "8"
    assert value(words(concurrencies=(4, 32)), "--max-concurrency") == "32"


def test_prompts_are_new_ones_unless_a_warm_cache_is_wanted() -> None:
    assert value(words(), "--seed") == "77"
    assert value(words(policy=CachePolicy.WARM), "--seed") == "1"
    assert value(words(policy=CachePolicy.WARM, seed=5), "--seed") == "5"
    assert "--flush-cache" not in words()
    assert words(policy=CachePolicy.COLD).count("--flush-cache") == 1


@pytest.mark.parametrize("word", ["--base-url", "--host", "--port=1", "--output-file"])
def test_a_result_is_of_the_server_that_it_is_kept_for(word: str) -> None:
    with pytest.raises(K2Error) as refused:
        words(word, "x")
    assert (refused.value.code, refused.value.exit_code) == ("usage", ExitCode.USAGE)


def test_a_url_is_measured_where_it_leads_to() -> None:
    target = BenchTarget("http://[::1]:80/k2", "::1", 80, "/k2/v1/chat/completions", tls=True)
    found = words(target=target)
    assert value(found, "--base-url") == "https://[::1]:80/k2"
    assert (value(found, "--backend"), value(found, "--model")) == ("sglang-oai-chat", None)
