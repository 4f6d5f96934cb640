from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.diagnosis import diagnose
from k2tui.core.history import (
    TIMED,
    LaunchKey,
    PastLaunch,
    Temperature,
    Usual,
    config_hash,
    is_news,
    is_skipped,
    key_of,
    pace_of,
    past_of,
    slower_phases,
    slower_sentence,
    slower_than_usual,
    usual,
    with_measures_of,
)
from k2tui.core.launch import Launch, LaunchKind, PhaseSpan
from tests.core.launches import BEGAN, KEY, OTHER_FLAGS, TOOK, P, bar, launch, now_in, past
from tests.core.logs import real

ARGV = ("python3", "-m", "sglang.launch_server", "--model-path", "/models/kimi", "--tp-size", "8")


@pytest.mark.parametrize(
    "other",
    [
        (*ARGV, "--port", "30001", "--nccl-port", "12345"),
        (*ARGV, "--host", "0.0.0.0", "--served-model-name", "kimi"),
        (*ARGV, "--api-key", "sk-abcdef123456", "--admin-api-key=x"),
        (*ARGV, "--log-level", "debug", "--log-requests", "--decode-log-interval", "10"),
        (*ARGV, "--reasoning-parser", "kimi_k2", "--tool-call-parser", "kimi_k2"),
        ("/opt/sglang/bin/python", "-m", "sglang.launch_server", "--tp=8", "--model", "/models/kimi"),
        (*ARGV[:3], "--tp-size", "4", *ARGV[3:]),
    ],
)
def test_what_says_nothing_about_time_is_the_same_config(other: tuple[str, ...]) -> None:
    assert config_hash(other, {}) == config_hash(ARGV, {})


@pytest.mark.parametrize(
    "other",
    [
        (*ARGV, "--disable-cuda-graph"),
        (*ARGV, "--tp-size", "4"),
        (*ARGV, "--mem-fraction-static", "0.8"),
        ("vllm", "serve", *ARGV[3:]),
    ],
)
def test_other_flags_are_another_config(other: tuple[str, ...]) -> None:
    assert config_hash(other, {}) != config_hash(ARGV, {})


def test_variables_count_but_for_secrets_ports_and_words_about_logs() -> None:
    plain = config_hash(ARGV, {"NCCL_PROTO": "LL"})
    quiet = {"HF_TOKEN": "hf_1", "NCCL_DEBUG": "INFO", "MASTER_PORT": "1", "SGLANG_LOG_MS": "1", "SPT_NOENV": "1"}
    assert config_hash(ARGV, {"NCCL_PROTO": "LL", **quiet}) == plain
    assert config_hash(ARGV, {"NCCL_PROTO": "Simple"}) != plain


def test_the_key_is_of_the_command_else_of_the_log() -> None:
    key = key_of("gpu-a", None, argv=ARGV)
    assert key == LaunchKey("gpu-a", "/models/kimi", "sglang", config_hash(ARGV, {}))
    watched = Launch(engine="sglang", args={"model_path": "/models/kimi/", "tp_size": "8", "port": "1"})
    moved = replace(watched, args={**watched.args, "port": "2"})
    assert key_of("gpu-a", watched) == key_of("gpu-a", moved)
    assert key_of("gpu-a", moved) == replace(key, config=key_of("gpu-a", watched).config)  # type: ignore[union-attr]
    assert key_of("gpu-a", Launch()) is None


def kept(of: Launch) -> PastLaunch | None:
    return past_of(of, run_id="r", server="kimi", key=KEY, began_at=BEGAN)


def test_a_launch_that_came_to_ready_keeps_every_phase_and_the_whole() -> None:
    one = kept(launch(P.READY))
    assert one is not None
    assert one.phases_s == TOOK
    assert (one.kind, one.ready_s) == (LaunchKind.READY, sum(TOOK.values()))


def test_a_launch_that_failed_later_keeps_the_phases_that_ended() -> None:
    one = kept(launch(P.CUDA_GRAPH, kind=LaunchKind.CRASHED))
    assert one is not None
    assert set(one.phases_s) == {P.ARGS, P.DISTRIBUTED, P.WEIGHTS, P.POSTPROCESS, P.KV_CACHE}
    assert (one.kind, one.ready_s) == (LaunchKind.CRASHED, None)


def test_a_ready_server_that_was_stopped_keeps_its_time_to_ready() -> None:
    one = kept(launch(P.READY, kind=LaunchKind.STOPPED))
    assert one is not None
    assert (one.kind, one.ready_s) == (LaunchKind.STOPPED, sum(TOOK.values()))


@pytest.mark.parametrize(
    "of",
    [
        launch(P.WEIGHTS),
        launch(P.WEIGHTS, kind=LaunchKind.HUNG),
        launch(P.ARGS, kind=LaunchKind.MISCONFIGURED),
        Launch(kind=LaunchKind.CRASHED),
        Launch(P.READY, LaunchKind.READY, spans=(PhaseSpan(P.WEIGHTS, None, None), PhaseSpan(P.READY, None, None))),
    ],
    ids=["on its way", "hung", "nothing ended", "nothing seen", "no clock"],
)
def test_what_tells_no_time_is_not_kept(of: Launch) -> None:
    assert kept(of) is None


def test_a_clock_that_was_set_back_gives_no_negative_time() -> None:
    one = kept(launch(P.READY, weights=-3600.0))
    assert one is not None
    assert P.WEIGHTS not in one.phases_s
    assert one.ready_s is None


@pytest.mark.parametrize("name", ["sglang0514-h200-llama", "vllm032-qwen3-ready-then-sigterm"])
def test_a_real_log_gives_a_launch_to_keep(name: str) -> None:
    one = kept(diagnose([real(name)]).launch)
    assert one is not None
    assert one.ready_s == pytest.approx(sum(one.phases_s.values()))
    assert {P.WEIGHTS, P.KV_CACHE, P.WARMUP} <= set(one.phases_s)


def test_the_pace_is_of_the_first_shards() -> None:
    assert pace_of(bar((0, 0), (10, 16), (20, 32))) == 0.025
    assert pace_of(bar((0, 0), (5, 8), (10, 16), (11, 40))) == pytest.approx(0.025)


def test_a_bar_of_few_steps_has_no_pace_yet() -> None:
    assert pace_of(None) is None
    assert pace_of(bar((0, 0), (10, 16))) is None
    assert pace_of(bar((0, 0), (0.2, 1), (0.4, 2))) is None
    assert pace_of(bar((0, 0), (0.2, 30), (0.4, 64))) == 1.0


def told(*past: PastLaunch, phase: P = P.WEIGHTS, like: Temperature | None = None) -> Usual:
    found = usual(past, phase, KEY, like=like)
    assert found is not None
    return found


def test_one_launch_gives_a_wide_range() -> None:
    assert told(past(weights=10.0)) == Usual(5.0, 10.0, 15.0, 1, True)


def test_a_few_launches_give_all_that_was_seen() -> None:
    assert told(*(past(n, weights=s) for n, s in enumerate((8.0, 10.0, 13.0)))) == Usual(8.0, 10.0, 13.0, 3, True)


def test_one_bad_day_does_not_spread_the_range_of_many() -> None:
    known = told(*(past(n, kv_cache=s) for n, s in enumerate((2.0, 2.0, 2.1, 2.2, 2.2, 2.4, 90.0))), phase=P.KV_CACHE)
    assert (known.typical_s, known.launches) == (2.2, 7)
    assert known.high_s < 3.0


def test_the_same_flags_come_first() -> None:
    mixed = (past(1, key=OTHER_FLAGS, cuda_graph=400.0), past(2, cuda_graph=40.0))
    assert told(*mixed, phase=P.CUDA_GRAPH).typical_s == 40.0


def test_other_flags_do_where_nothing_else_is_known_and_are_said_so() -> None:
    known = told(past(key=OTHER_FLAGS, cuda_graph=40.0), phase=P.CUDA_GRAPH)
    assert (known.typical_s, known.same_config, known.low_s, known.high_s) == (40.0, False, 20.0, 60.0)


@pytest.mark.parametrize("other", [replace(KEY, host="gpu-b"), replace(KEY, model="/m"), replace(KEY, engine="vllm")])
def test_another_host_model_or_engine_says_nothing(other: LaunchKey) -> None:
    assert usual((past(key=other),), P.WEIGHTS, KEY) is None


def test_a_phase_that_this_config_goes_without_is_not_taken_from_another() -> None:
    mixed = (past(1, without=(P.CUDA_GRAPH,)), past(2, key=OTHER_FLAGS))
    assert usual(mixed, P.CUDA_GRAPH, KEY) is None
    assert is_skipped(mixed, P.CUDA_GRAPH, KEY)
    assert not is_skipped(mixed, P.WEIGHTS, KEY)


def test_a_launch_that_failed_before_a_phase_does_not_say_that_it_is_skipped() -> None:
    failed = past(ready=False, without=(P.CUDA_GRAPH, P.WARMUP))
    assert not is_skipped((failed,), P.CUDA_GRAPH, KEY)
    assert usual((failed, past(key=OTHER_FLAGS)), P.CUDA_GRAPH, KEY) is not None


WARM = [past(n, cached_share=1.0, weights=9.0 + n / 10) for n in range(7)]
COLD = [past(n, cached_share=0.0, weights=390.0 + n) for n in range(7, 9)]


def test_warm_and_cold_loads_are_told_apart_by_the_page_cache() -> None:
    assert told(*WARM, *COLD, like=Temperature(cached_share=0.98)).high_s < 15.0
    assert told(*WARM, *COLD, like=Temperature(cached_share=0.1)).low_s > 250.0


def test_warm_and_cold_loads_are_told_apart_by_their_pace() -> None:
    unmeasured = [replace(one, cached_share=None) for one in (*WARM, *COLD)]
    assert told(*unmeasured, like=Temperature(pace_per_s=1 / 9)).high_s < 15.0
    assert told(*unmeasured, like=Temperature(pace_per_s=1 / 300)).low_s > 250.0
    noted = [replace(one, pace_per_s=0.002) for one in unmeasured[:2]]
    assert told(*noted, *unmeasured[2:7], like=Temperature(pace_per_s=0.002)).launches == 2


def test_the_page_cache_rules_over_the_pace() -> None:
    assert told(*WARM, *COLD, like=Temperature(1.0, pace_per_s=0.002)).high_s < 15.0


def test_where_nothing_tells_warm_from_cold_both_are_in_the_range() -> None:
    known = told(*WARM, *COLD)
    assert known.low_s < 10.0
    assert known.high_s > 390.0


def test_a_load_that_is_like_none_before_has_no_usual_time() -> None:
    assert usual(WARM, P.WEIGHTS, KEY, like=Temperature(cached_share=0.0)) is None
    assert usual(WARM, P.POSTPROCESS, KEY, like=Temperature(cached_share=0.0)) is not None


def test_a_repack_is_compared_with_those_after_a_load_as_warm() -> None:
    cold = [replace(one, phases_s={**one.phases_s, P.POSTPROCESS: 300.0}) for one in COLD]
    assert told(*WARM, *cold, phase=P.POSTPROCESS, like=Temperature(cached_share=0.0)).typical_s == 300.0


@pytest.mark.parametrize(
    ("elapsed_s", "is_slower"), [(9.4, False), (15.0, False), (16.0, False), (41.0, True), (float("inf"), True)]
)
def test_slower_is_by_a_clear_margin(elapsed_s: float, is_slower: bool) -> None:
    assert slower_than_usual(P.WEIGHTS, elapsed_s, Usual(8.5, 9.4, 11.0, 7, True)) is is_slower


def test_a_second_more_of_nearly_nothing_is_not_slower() -> None:
    assert not slower_than_usual(P.KV_CACHE, 3.0, Usual(0.9, 1.0, 1.1, 7, True))
    assert not slower_than_usual(P.SERVING, 9999.0, Usual(0.9, 1.0, 1.1, 7, True))
    assert not slower_than_usual(P.WEIGHTS, 9999.0, None)


def test_a_slow_phase_is_named_with_what_is_usual() -> None:
    warm = [replace(one, phases_s={**one.phases_s, P.WEIGHTS: 9.4}) for one in WARM]
    like = Temperature(cached_share=1.0)
    (slower,) = slower_phases(launch(P.KV_CACHE, weights=41.0), warm, KEY, like=like)
    assert slower_sentence(slower) == "weights took 41 s, usually 9.4 s (7 launches)"


def test_a_phase_is_slower_while_it_still_lasts() -> None:
    repack = launch(P.POSTPROCESS)
    past_ones = [past(1), past(2)]
    assert slower_phases(repack, past_ones, KEY, like=None, now=now_in(repack, 230.0)) == ()
    (slower,) = slower_phases(repack, past_ones, KEY, like=None, now=now_in(repack, 600.0))
    assert (slower.phase, slower.took_s, slower.ended) == (P.POSTPROCESS, 600.0, False)
    assert slower_sentence(slower) == "repack not done after 10m00s, usually 3m40s (2 launches)"


def test_the_first_cold_load_is_held_against_warm_ones() -> None:
    (slower,) = slower_phases(launch(P.KV_CACHE, weights=400.0), WARM, KEY, like=Temperature(cached_share=0.0))
    assert slower.phase is P.WEIGHTS
    assert slower_phases(launch(P.KV_CACHE, weights=400.0), [*WARM, *COLD], KEY, like=Temperature(0.0)) == ()


def test_only_what_is_new_of_a_launch_is_news() -> None:
    ready = past()
    assert is_news(ready, None)
    assert not is_news(replace(ready, began_at=0.0, version="0.5.23"), ready)
    assert is_news(replace(ready, kind=LaunchKind.STOPPED), ready)


def test_what_was_measured_while_it_loaded_is_not_lost_by_a_later_look() -> None:
    first = replace(past(), cached_share=0.9, pace_per_s=0.1, slower=(P.WEIGHTS,))
    later = with_measures_of(replace(past(), kind=LaunchKind.STOPPED, slower=(P.WARMUP,)), first)
    assert (later.cached_share, later.pace_per_s, later.kind) == (0.9, 0.1, LaunchKind.STOPPED)
    assert later.slower == (P.WEIGHTS, P.WARMUP)


seconds = st.floats(0, 1e5)
shares = st.none() | st.floats(0, 1)
pasts = st.builds(
    PastLaunch,
    run_id=st.just("r"),
    server=st.just("kimi"),
    key=st.sampled_from([KEY, OTHER_FLAGS]),
    began_at=seconds,
    kind=st.sampled_from([LaunchKind.READY, LaunchKind.CRASHED]),
    phases_s=st.dictionaries(st.sampled_from(TIMED), seconds),
    ready_s=st.none() | seconds,
    cached_share=shares,
    pace_per_s=st.none() | seconds,
)


@given(
    st.lists(pasts, max_size=8),
    st.sampled_from(list(P)),
    st.none() | st.builds(Temperature, shares, st.none() | seconds),
)
def test_a_usual_time_is_an_ordered_range(known: list[PastLaunch], phase: P, like: Temperature | None) -> None:
    found = usual(known, phase, KEY, like=like)
    assert found is None or 0 <= found.low_s <= found.typical_s <= found.high_s


@pytest.mark.parametrize("took_s", [-1.0, 31 * 86400.0, 156 * 365 * 86400.0])
def test_a_phase_that_can_not_have_taken_so_long_is_not_kept(took_s: float) -> None:
    one = kept(launch(P.READY, weights=took_s))
    assert one is not None
    assert P.WEIGHTS not in one.phases_s
    assert one.ready_s is None or one.ready_s < 30 * 86400.0
