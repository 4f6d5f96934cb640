"""A silence is healthy, slow, stalled or hung, and each is said with what was seen."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.activity import Moving, RankActivity
from k2tui.core.behind import behind
from k2tui.core.facts import (
    ArgsSeen,
    Fault,
    PhaseReached,
    RankLoaded,
    ServerReady,
    SlowWork,
    Standing,
    WeightsBegan,
)
from k2tui.core.history import LaunchKey, PastLaunch
from k2tui.core.launch import PHASES, Cause, Launch, LaunchKind, LaunchPhase
from k2tui.core.patience import LIMITS_S, limit_of
from k2tui.core.silence import Silence, SilenceWord
from k2tui.core.silence_verdict import NOT_SEEN, judge, sentence
from k2tui.core.surroundings import NOTHING_KNOWN, Surroundings
from k2tui.core.verdict import observed
from tests.core.test_launch import after, bar, said

P, K, W = LaunchPhase, LaunchKind, SilenceWord

MEGABYTE = 1e6
LOADING = after(WeightsBegan(), bar(0), bar(1))
REPACKING = after(bar(0), bar(64, elapsed_s=150))
KEY = LaunchKey("gpu-a", "/m", "sglang", "c0ffee")


def rank(number: int, *, cpu: float = 0.0, reads: float | None = 0.0) -> RankActivity:
    return RankActivity(f"sglang::scheduler_TP{number}", f"TP{number}", cpu, reads)


def ranks(
    count: int, *, cpu: float = 0.0, reads: float | None = 0.0, **others: RankActivity
) -> tuple[RankActivity, ...]:
    return tuple(others.get(f"TP{number}", rank(number, cpu=cpu, reads=reads)) for number in range(count))


def seen_moving(**figures: object) -> Surroundings:
    return Surroundings(moving=Moving(10.0, **figures))  # type: ignore[arg-type]


def past(phase: LaunchPhase, *seconds: float) -> Surroundings:
    return Surroundings(
        past=tuple(
            PastLaunch(f"run-{place}", "kimi", KEY, float(place), K.READY, {phase: took}, ready_s=900.0)
            for place, took in enumerate(seconds)
        )
    )


def judged(
    launch: Launch, quiet_s: float, around: Surroundings = NOTHING_KNOWN, *, alive: bool | None = True
) -> Silence:
    silence = judge(launch, quiet_s, alive, replace(around, key=KEY))
    assert silence is not None
    return silence


def in_phase(phase: LaunchPhase) -> Launch:
    return after(PhaseReached(phase, line=said(text="the last word")))


def test_a_pause_of_seconds_is_no_silence() -> None:
    assert judge(LOADING, 4.0, True) is None


@pytest.mark.parametrize(
    ("quiet_s", "word"), [(5, W.HEALTHY), (59, W.HEALTHY), (60, W.SLOW), (120, W.SLOW), (121, W.HUNG)]
)
def test_a_silence_goes_from_healthy_over_slow_to_hung(quiet_s: float, word: SilenceWord) -> None:
    assert judged(LOADING, quiet_s).word is word


def test_long_pauses_are_slow_also_between_them() -> None:
    launch = after(WeightsBegan(), bar(0), bar(1), bar(2), step=40.0)
    assert judged(launch, 6).word is W.SLOW
    assert observed(launch, now=80.0 + 1, process_alive=True).detail == "slow"


def test_a_pause_that_is_usual_here_is_not_slow() -> None:
    launch = after(PhaseReached(P.ARGS), PhaseReached(P.ARGS), step=38.0)
    assert judged(launch, 10).word is W.SLOW
    assert judged(launch, 10, past(P.ARGS, 45.0, 50.0)).word is W.HEALTHY


def test_without_counters_a_hang_says_that_none_were_seen() -> None:
    assert judged(LOADING, 200).seen == (NOT_SEEN,)
    assert NOT_SEEN in judged(LOADING, 200, seen_moving()).seen


def test_a_silence_of_a_process_that_nobody_saw_is_a_stall() -> None:
    silence = judged(LOADING, 200, alive=None)
    assert (silence.word, silence.seen) == (W.STALLED, ("its process was not seen", NOT_SEEN))


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ({"disk_read_bytes_per_s": 310 * MEGABYTE}, "the disks read 310 MB/s"),
        ({"net_received_bytes_per_s": 1200 * MEGABYTE}, "the network brings 1.2 GB/s"),
        ({"ranks": ranks(8, TP5=rank(5, reads=310 * MEGABYTE))}, "TP5 still reads 310 MB/s"),
        ({"ranks": ranks(8, reads=100 * MEGABYTE)}, "8 ranks still read 800 MB/s"),
        ({"ranks": ranks(8, TP2=rank(2, cpu=12.2))}, "TP2 keeps 12 cores busy"),
        ({"gpu_busy": 0.4}, "a GPU is 40% busy"),
        ({"gpu_busy": 1.0}, "a GPU is 100% busy"),
    ],
)
def test_while_something_moves_it_is_stalled_and_says_what_moves(figures: dict[str, object], told: str) -> None:
    around = seen_moving(**figures)
    silence = judged(LOADING, 200, around)
    assert (silence.word, silence.seen) == (W.STALLED, (told,))
    launch = observed(LOADING, now=2.0 + 200, process_alive=True, around=around)
    assert (launch.kind, launch.detail, launch.silence) == (K.LOADING, "stalled", silence)


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ({"disk_read_bytes_per_s": 40e3, "net_received_bytes_per_s": 90e3}, ("disks idle", "network idle")),
        ({"ranks": ranks(8)}, ("no rank reads",)),
        (
            {"ranks": ranks(8, cpu=1.0, reads=20e3)},
            ("8 ranks keep a core busy without reading, as waiting does",),
        ),
        ({"gpu_busy": 0.0}, ("GPUs idle",)),
        (
            {"ranks": ranks(8), "disk_read_bytes_per_s": 4 * MEGABYTE},
            ("no rank reads", "disks 4.0 MB/s, for somebody else"),
        ),
    ],
)
def test_noise_and_spinning_are_no_movement(figures: dict[str, object], told: tuple[str, ...]) -> None:
    around = seen_moving(**figures)
    silence = judged(LOADING, 200, around)
    assert (silence.word, silence.seen) == (W.HUNG, told)
    launch = observed(LOADING, now=2.0 + 200, process_alive=True, around=around)
    assert (launch.kind, launch.silence) == (K.HUNG, silence)


@pytest.mark.parametrize("phase", [P.DISTRIBUTED, P.CUDA_GRAPH, P.WARMUP])
def test_a_gpu_that_is_busy_all_the_time_runs_a_collective_that_waits(phase: LaunchPhase) -> None:
    spinning = judged(in_phase(phase), 400, seen_moving(gpu_busy=1.0, ranks=ranks(2, cpu=1.0)))
    assert spinning.word is W.HUNG
    assert "GPU 100% busy, as a waiting collective is" in spinning.seen
    assert judged(in_phase(phase), 400, seen_moving(gpu_busy=0.6)).word is W.STALLED


def test_what_others_read_on_the_host_is_no_sign_of_ranks_that_meet() -> None:
    busy_host = seen_moving(ranks=ranks(2, cpu=1.0), net_received_bytes_per_s=50 * MEGABYTE)
    assert judged(in_phase(P.DISTRIBUTED), 200, busy_host).word is W.HUNG
    assert judged(LOADING, 200, busy_host).word is W.STALLED


def test_each_phase_has_its_own_limit() -> None:
    for phase in PHASES:
        assert limit_of(in_phase(phase)).seconds == LIMITS_S[phase]
    assert judged(LOADING, 10).limit_by == "what this phase gets at least"


def test_a_bars_own_pace_sets_the_limit() -> None:
    slow = after(WeightsBegan(), bar(0), bar(1), bar(2), step=60.0)
    assert (judged(slow, 10).limit_s, judged(slow, 10).limit_by) == (360, "6 x its longest pause so far")
    long = after(bar(0), bar(64, elapsed_s=1900))
    assert (judged(long, 10).limit_s, judged(long, 10).limit_by) == (3800, "2 x the load's own time")
    assert judged(REPACKING, 10).limit_s == 300


def test_what_a_phase_took_here_before_sets_the_limit() -> None:
    around = past(P.POSTPROCESS, 220.0, 215.0, 225.0)
    silence = judged(REPACKING, 310, around)
    assert silence.limit_s > 440
    assert silence.limit_by.startswith("2 x its usual ")
    assert silence.word is not W.HUNG
    assert judged(REPACKING, 310).word is W.HUNG


def test_a_short_history_never_shortens_the_limit() -> None:
    assert judged(REPACKING, 310, past(P.POSTPROCESS, 3.0, 4.0)).limit_s == 300


def test_a_bar_that_moves_says_more_than_how_long_all_of_it_took() -> None:
    half_hour = past(P.WEIGHTS, 1800.0)
    assert judged(LOADING, 200, half_hour).word is W.HUNG
    assert judged(after(WeightsBegan()), 200, half_hour).word is W.HEALTHY


def test_a_compilation_gets_twenty_minutes() -> None:
    capture = after(PhaseReached(P.CUDA_GRAPH), SlowWork())
    assert (judged(capture, 10).limit_s, judged(capture, 10).limit_by) == (1200, "it says that it compiles")
    compilers = seen_moving(compilers=("cicc", "nvcc"))
    silence = judged(in_phase(P.CUDA_GRAPH), 400, compilers)
    assert (silence.word, silence.limit_s, silence.limit_by) == (W.HEALTHY, 1200, "compilers run")
    assert silence.seen == ("cicc, nvcc run",)
    assert judged(in_phase(P.CUDA_GRAPH), 1300, compilers).word is W.STALLED
    torch = after(ArgsSeen({"tp_size": "1", "enable_torch_compile": "True"}), PhaseReached(P.CUDA_GRAPH))
    assert judged(torch, 10).limit_by == "torch.compile is on"


def test_a_healthy_silence_is_no_detail_of_a_launch() -> None:
    launch = observed(REPACKING, now=1.0 + 95, process_alive=True)
    assert (launch.kind, launch.detail) == (K.LOADING, None)
    assert launch.silence is not None
    assert launch.silence.word is W.HEALTHY


def test_progress_ends_a_silence() -> None:
    hung = observed(LOADING, now=500.0, process_alive=True)
    assert hung.silence is not None
    moved = after(bar(2), launch=LOADING, start=500.0)
    assert observed(moved, now=501.0, process_alive=True).silence is None


def test_a_hung_server_says_so_too() -> None:
    ready = after(PhaseReached(P.DISTRIBUTED), bar(64), RankLoaded(), ServerReady())
    assert observed(ready, now=1e6, process_alive=True).silence is None
    busy = replace(ready, traffic=replace(ready.traffic, running=2))
    doubted = observed(busy, now=1000.0, process_alive=True).silence
    assert doubted is not None
    assert doubted.word is W.STALLED
    sick = replace(busy, health_failed=Cause("Health check failed", 1, None, "no_heartbeat"))
    silence = observed(sick, now=1000.0, process_alive=True).silence
    assert silence is not None
    assert (silence.word, silence.limit_s) == (W.HUNG, 300)


EIGHT = ArgsSeen({"model_path": "/m", "tp_size": "8"})


def begun(count: int = 8) -> list[WeightsBegan]:
    return [WeightsBegan(line=said(f"TP{number}")) for number in range(count)]


def test_ranks_that_have_not_loaded_are_behind() -> None:
    loaded = [RankLoaded(line=said(f"TP{number}")) for number in range(8) if number != 5]
    assert behind(after(EIGHT, *begun(), bar(64), *loaded)) == {"TP5"}


def test_a_rank_of_which_there_was_no_word_is_behind() -> None:
    launch = replace(after(EIGHT, *begun(7)), engine="sglang")
    assert behind(launch) == {"TP7"}
    assert behind(replace(launch, engine="vllm")) == frozenset()
    assert behind(after(EIGHT, *begun(2))) == frozenset(), "too few have spoken to name the rest"


def test_a_further_nodes_ranks_have_higher_numbers() -> None:
    args = ArgsSeen({"model_path": "/m", "tp_size": "8", "nnodes": "2", "node_rank": "1"})
    launch = after(args, *(WeightsBegan(line=said(f"TP{number}")) for number in (4, 5, 7)))
    assert behind(launch) == {"TP6"}


def test_a_barrier_names_who_did_not_come() -> None:
    text = "Rank 0 timed out in monitoredBarrier after 480000 ms. Did not receive message from rank(s) 24, 25"
    fault = Fault(text, "slow_rank", Standing.BARRIER, fatal=True, line=said(text=text))
    assert behind(after(PhaseReached(P.WEIGHTS), fault)) == {"rank 24", "rank 25"}
    other = "Ranks 3, 5 failed to pass monitoredBarrier in 480000 ms"
    fault = Fault(other, "slow_rank", Standing.BARRIER, fatal=True, line=said(text=other))
    assert behind(after(EIGHT, *begun(), fault)) == {"TP3", "TP5"}


@pytest.mark.parametrize(
    ("figures", "late"),
    [
        (ranks(8, TP5=rank(5, reads=310 * MEGABYTE)), {"TP5"}),
        (ranks(8, reads=90 * MEGABYTE, TP6=rank(6)), {"TP6"}),
        (ranks(8, cpu=1.0, TP6=rank(6)), {"TP6"}),
        (ranks(8, reads=90 * MEGABYTE), set()),
        (ranks(8, cpu=1.0), set()),
        (ranks(8), set()),
        (ranks(1, reads=90 * MEGABYTE), set()),
    ],
)
def test_what_the_ranks_do_tells_who_is_behind(figures: tuple[RankActivity, ...], late: set[str]) -> None:
    launch = after(EIGHT, *begun(), bar(0), bar(1))
    assert behind(launch, Moving(10.0, ranks=figures)) == late


def test_what_the_ranks_do_names_one_of_those_that_have_not_loaded() -> None:
    launch = after(EIGHT, *begun(), bar(64), RankLoaded(line=said("TP0")), RankLoaded(line=said("TP1")))
    assert behind(launch) == {f"TP{number}" for number in range(2, 8)}
    around = seen_moving(ranks=ranks(8, TP5=rank(5, reads=310 * MEGABYTE)))
    assert judged(launch, 30, around).behind == ("TP5",)


def test_a_rank_that_has_loaded_may_rest() -> None:
    launch = after(EIGHT, *begun(), bar(64), RankLoaded(line=said("TP6")))
    assert "TP6" not in behind(launch, Moving(10.0, ranks=ranks(8, reads=90 * MEGABYTE, TP6=rank(6))))


def test_nobody_is_behind_once_it_serves() -> None:
    moving = Moving(10.0, ranks=ranks(8, TP5=rank(5, reads=310 * MEGABYTE)))
    assert behind(after(PhaseReached(P.WARMUP), ServerReady()), moving) == frozenset()


def test_who_ends_a_silence_and_when_counts_from_the_last_progress() -> None:
    launch = replace(after(EIGHT, *begun(), bar(64), RankLoaded(line=said("TP0"))), engine="sglang", version="0.5.23")
    silence = judged(launch, 95)
    assert (silence.gives_up, silence.gives_up_at) == ("the barrier after loading", 10.0 + 480)
    assert sentence(silence, 95, 10.0 + 95).endswith("the barrier after loading gives up in 6 min 25 s")
    assert judged(replace(launch, engine=None), 95).gives_up is None


def test_a_person_reads_what_a_silence_is() -> None:
    silence = Silence(
        W.HEALTHY,
        300.0,
        "2 x the load's own time",
        ("TP5 still reads 310 MB/s",),
        ("TP5",),
        gives_up="the barrier",
        gives_up_at=1480.0,
    )
    assert sentence(silence, 95.0, 1095.0) == (
        "silent 95 s, limit 300 s (2 x the load's own time); TP5 still reads 310 MB/s; "
        "the barrier gives up in 6 min 25 s"
    )
    assert sentence(replace(silence, gives_up_at=1060.0), 95.0, 1020.0).endswith("gives up in 40 s")
    assert sentence(replace(silence, gives_up_at=1080.0), 95.0, 1095.0).endswith("the barrier is due to give up now")
    for at in (1000.0, 9000.0):
        assert "give" not in sentence(replace(silence, gives_up_at=at), 95.0, 1095.0), "no news, or it does not watch"
    assert sentence(replace(silence, seen=()), 4000.0, None) == (
        "silent 1 h 06 min, limit 300 s (2 x the load's own time); the others wait for TP5"
    )


@given(
    st.sampled_from(PHASES),
    st.floats(0, 1e7),
    st.sampled_from([True, False, None]),
    st.none() | st.builds(Moving, st.just(10.0), st.none() | st.floats(0, 1e12), st.none() | st.floats(0, 1e12)),
)
def test_every_silence_can_be_judged_and_said(
    phase: LaunchPhase, quiet_s: float, alive: bool | None, found: Moving | None
) -> None:
    silence = judge(in_phase(phase), quiet_s, alive, Surroundings(moving=found))
    if silence is not None:
        assert (silence.word in (W.STALLED, W.HUNG)) == (quiet_s > silence.limit_s)
        assert json.dumps(sentence(silence, quiet_s, 1e9))
