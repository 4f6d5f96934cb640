"""Facts to a launch, and what an observer makes of it."""

from __future__ import annotations

import pytest

from k2tui.core.advance import advance
from k2tui.core.bar_steps import target_bar
from k2tui.core.eta import eta_s
from k2tui.core.facts import (
    ArgsSeen,
    BarDrawn,
    Beat,
    BeatKind,
    EndSeen,
    Fault,
    HealthFailed,
    KvAllocated,
    LaunchFact,
    Line,
    PhaseReached,
    PortBound,
    RankLoaded,
    ServerReady,
    SlowWork,
    Standing,
    StopSeen,
    Waiting,
    WeightsBegan,
)
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase, Progress
from k2tui.core.verdict import limit_s, observed

P, K = LaunchPhase, LaunchKind


def said(rank: str | None = None, text: str = "a line", number: int = 1) -> Line:
    return Line(text, text, number, rank=rank)


def bar(done: int, total: int = 64, label: str = "Multi-thread loading shards", elapsed_s: int = 0) -> BarDrawn:
    return BarDrawn(Progress(done, total, "shards", label), P.WEIGHTS, elapsed_s, line=said(text=f"{label} {done}"))


def after(*facts: LaunchFact, launch: Launch | None = None, start: float = 0.0, step: float = 1.0) -> Launch:
    """The launch after facts that come one a second."""
    launch = Launch() if launch is None else launch
    for place, fact in enumerate(facts):
        launch = advance(launch, fact, start + place * step)
    return launch


OUT_OF_MEMORY = Fault("CUDA out of memory", "oom", fatal=True, line=said("TP3", "torch.OutOfMemoryError: CUDA out", 9))
READY = after(PhaseReached(P.DISTRIBUTED), bar(0), bar(64), RankLoaded(), ServerReady())


def test_a_launch_goes_through_its_phases_and_remembers_when() -> None:
    launch = after(
        ArgsSeen({"model_path": "/m", "tp_size": "1"}),
        PhaseReached(P.DISTRIBUTED),
        WeightsBegan(),
        bar(0),
        bar(64),
        RankLoaded(),
        KvAllocated(8192),
        ServerReady(),
    )
    assert (launch.phase, launch.kind) == (P.READY, K.READY)
    assert [(span.phase, span.began, span.ended) for span in launch.spans] == [
        (P.ARGS, 0.0, 1.0),
        (P.DISTRIBUTED, 1.0, 2.0),
        (P.WEIGHTS, 2.0, 4.0),
        (P.POSTPROCESS, 4.0, 5.0),
        (P.KV_CACHE, 5.0, 7.0),
        (P.READY, 7.0, None),
    ]


def test_a_full_bar_is_not_the_end_of_loading() -> None:
    launch = after(WeightsBegan(line=said("TP0")), WeightsBegan(line=said("TP1")), bar(64))
    assert launch.phase is P.POSTPROCESS


@pytest.mark.parametrize(
    ("loaded", "phase"),
    [
        ([], P.POSTPROCESS),
        (["TP0"], P.POSTPROCESS),
        (["TP1", "TP0"], P.POSTPROCESS),
        (["TP0", "TP1", "TP2"], P.KV_CACHE),
    ],
)
def test_postprocess_ends_when_every_rank_has_loaded(loaded: list[str], phase: LaunchPhase) -> None:
    begun = [WeightsBegan(line=said(f"TP{rank}")) for rank in range(3)]
    ends = [RankLoaded(line=said(rank)) for rank in loaded]
    assert after(*begun, bar(0), bar(64), *ends).phase is phase


def test_the_arguments_say_how_many_ranks_must_load() -> None:
    args = ArgsSeen({"model_path": "/m", "tp_size": "4", "pp_size": "2", "dp_size": "2", "nnodes": "2"})
    assert after(args).ranks_expected == 8
    attention = ArgsSeen({"tp_size": "4", "dp_size": "4", "enable_dp_attention": "True"})
    assert after(attention).ranks_expected == 4
    loaded = after(args, *(RankLoaded(line=said(f"TP{rank}")) for rank in range(7)))
    assert loaded.phase is P.POSTPROCESS
    assert after(RankLoaded(line=said("TP7")), launch=loaded).phase is P.KV_CACHE


def test_phases_never_go_back() -> None:
    launch = after(PhaseReached(P.CUDA_GRAPH), WeightsBegan(), bar(1), PhaseReached(P.DISTRIBUTED))
    assert launch.phase is P.CUDA_GRAPH


def test_a_draft_model_has_a_bar_of_its_own() -> None:
    target: list[LaunchFact] = [WeightsBegan(), bar(0), bar(64), RankLoaded(), KvAllocated(100)]
    draft: list[LaunchFact] = [
        WeightsBegan(),
        bar(0, 1, "Loading safetensors checkpoint shards"),
        bar(1, 1, "Loading safetensors checkpoint shards"),
    ]
    launch = after(*target, *draft)
    assert launch.progress == Progress(1, 1, "shards", "Loading safetensors checkpoint shards")
    assert launch.phase is P.KV_CACHE
    served = target_bar(launch)
    assert served is not None
    assert served.progress.total == 64
    ready = after(ServerReady(), launch=launch)
    assert ready.progress == Progress(64, 64, "shards", "Multi-thread loading shards")


def test_a_bar_never_goes_back_and_a_second_pass_is_another_bar() -> None:
    launch = after(bar(0), bar(40), bar(64), bar(0), bar(10))
    assert [drawn.progress.done for drawn in launch.bars] == [64, 10]
    assert launch.progress == Progress(10, 64, "shards", "Multi-thread loading shards")


def test_two_processes_that_draw_the_same_bar_are_two_bars() -> None:
    launch = after(bar(0, 7), bar(0, 7), bar(1, 7), bar(3, 7), bar(2, 7))
    assert [drawn.progress.done for drawn in launch.bars] == [3, 2]
    assert launch.phase is P.WEIGHTS


def test_a_redraw_without_a_step_is_no_progress() -> None:
    launch = after(bar(5), bar(5), bar(5), step=10.0)
    assert launch.quiet_since == 0.0


def test_out_of_memory_means_different_things_in_different_phases() -> None:
    for phase, failure in (
        (P.DISTRIBUTED, "oom_start"),
        (P.WEIGHTS, "oom_weights"),
        (P.KV_CACHE, "oom_kv"),
        (P.CUDA_GRAPH, "oom_graphs"),
        (P.READY, "oom_serving"),
    ):
        launch = after(PhaseReached(phase), OUT_OF_MEMORY)
        assert launch.cause is not None
        assert (launch.kind, launch.cause.failure, launch.cause.rank) == (K.CRASHED, failure, "TP3")


def test_a_failed_launch_stays_failed() -> None:
    failed = after(OUT_OF_MEMORY)
    again = after(ServerReady(), PhaseReached(P.WARMUP), StopSeen(), launch=failed)
    assert (again.kind, again.phase, again.cause) == (K.CRASHED, failed.phase, failed.cause)


def test_fired_up_after_a_bind_error_is_somebody_elses() -> None:
    bind = Fault("[Errno 98]", "port_taken", fatal=True, line=said(text="[Errno 98] error while attempting to bind"))
    launch = after(PhaseReached(P.WARMUP), bind, ServerReady())
    assert launch.kind is K.CRASHED
    assert launch.cause is not None
    assert launch.cause.failure == "port_taken"


def test_fired_up_after_a_shutdown_is_not_ready() -> None:
    assert after(PhaseReached(P.WARMUP), StopSeen(), ServerReady()).kind is K.STOPPED


def test_a_stopped_server_does_not_crash_while_it_ends() -> None:
    assert after(StopSeen(), OUT_OF_MEMORY, EndSeen(), launch=READY).kind is K.STOPPED


def test_sigquit_is_the_end_but_never_the_cause() -> None:
    early = after(EndSeen(line=said(text="Received sigquit")))
    assert (early.kind, early.cause) == (K.CRASHED, None)
    assert after(OUT_OF_MEMORY, launch=early).cause is not None


def test_the_fault_wins_over_those_who_only_saw_it() -> None:
    echo = Fault("Connection closed by peer", "peer_died", Standing.ECHO, fatal=True, line=said("TP0", "closed"))
    died = Fault("Rank 3 died", "child_died", Standing.DIED, fatal=True, line=said(None, "died"))
    launch = after(echo, died, OUT_OF_MEMORY)
    assert launch.cause is not None
    assert launch.cause.rank == "TP3"
    alone = after(echo, died)
    assert alone.cause is not None
    assert alone.cause.line == "died"


def test_of_equal_faults_the_first_explains_it() -> None:
    other = Fault("CUDA out of memory", "oom", fatal=True, line=said("TP0", "the second", 20))
    launch = after(OUT_OF_MEMORY, other)
    assert launch.cause is not None
    assert launch.cause.line_number == 9


def test_a_fault_belongs_to_the_phase_of_the_rank_that_has_it() -> None:
    launch = after(
        PhaseReached(P.DISTRIBUTED, line=said("DP3")),
        PhaseReached(P.DISTRIBUTED, line=said("DP5")),
        WeightsBegan(line=said("DP5")),
        Fault("listen failed", "internal_port_taken", fatal=True, chain=1, line=said("DP3")),
    )
    assert launch.phase is P.DISTRIBUTED


def test_a_caught_traceback_of_the_main_process_explains_no_later_failure() -> None:
    caught = Fault("optional import", "missing_package", chain=1, line=said(text="caught"))
    launch = after(caught, PhaseReached(P.DISTRIBUTED), EndSeen())
    assert launch.cause is None


def test_refused_arguments_are_no_crash() -> None:
    refused = Fault("unrecognized arguments", "bad_argument", fatal=True, refusal=True)
    assert after(refused).kind is K.MISCONFIGURED
    assert after(PhaseReached(P.WEIGHTS), refused).kind is K.CRASHED


def test_a_new_start_in_the_same_log_begins_anew() -> None:
    args = ArgsSeen({"model_path": "/m", "tp_size": "1"})
    launch = after(args, PhaseReached(P.WEIGHTS), OUT_OF_MEMORY, args)
    assert (launch.kind, launch.phase, launch.cause, launch.bars) == (K.LOADING, P.ARGS, None, ())


DECODE = Beat(BeatKind.DECODE, running=2, tokens_per_s=90.0, line=said("TP0"))


def test_real_traffic_makes_a_ready_server_serving() -> None:
    assert after(DECODE, launch=READY).phase is P.SERVING
    assert after(Beat(BeatKind.REQUEST), launch=READY).phase is P.SERVING
    assert after(Beat(BeatKind.PREFILL, running=1, probe=True), launch=READY).phase is P.READY
    assert after(Beat(BeatKind.POLL, probe=True), launch=READY).phase is P.READY


def test_the_warm_ups_own_request_is_no_traffic() -> None:
    launch = after(PhaseReached(P.WARMUP), DECODE, Beat(BeatKind.REQUEST))
    assert (launch.phase, launch.kind) == (P.WARMUP, K.LOADING)


def test_a_log_that_begins_in_the_middle_of_serving_is_of_a_server_that_is_up() -> None:
    launch = after(DECODE)
    assert (launch.phase, launch.kind) == (P.SERVING, K.READY)
    assert after(Beat(BeatKind.POLL, probe=True)).kind is K.READY


def test_only_data_parallel_ranks_add_up() -> None:
    replicas = [Beat(BeatKind.DECODE, tokens_per_s=50.0, line=said(f"DP{rank} TP{rank}")) for rank in range(2)]
    stages = [Beat(BeatKind.DECODE, tokens_per_s=50.0, line=said(f"PP{rank}")) for rank in range(2)]
    assert after(*replicas, launch=READY).traffic.total_tokens_per_s == 100.0
    assert after(*stages, launch=READY).traffic.total_tokens_per_s == 50.0


def test_a_server_that_decodes_on_had_not_crashed() -> None:
    crashed = after(DECODE, Fault("odd", "exception", fatal=True), launch=READY, start=10.0)
    assert crashed.kind is K.CRASHED
    assert after(DECODE, launch=crashed, start=20.0).kind is K.CRASHED
    assert after(DECODE, launch=crashed, start=60.0).kind is K.READY


def seen(launch: Launch, now: float, alive: bool | None = True) -> Launch:
    return observed(launch, now=now, process_alive=alive)


@pytest.mark.parametrize(
    ("phase", "limit"),
    [(P.ARGS, 300), (P.DISTRIBUTED, 120), (P.WEIGHTS, 120), (P.KV_CACHE, 300), (P.CUDA_GRAPH, 300), (P.WARMUP, 120)],
)
def test_a_silence_beyond_the_phases_limit_is_a_hang(phase: LaunchPhase, limit: float) -> None:
    launch = after(PhaseReached(phase, line=said(text="the last word", number=4)))
    assert seen(launch, limit - 1).kind is K.LOADING
    hung = seen(launch, limit + 1)
    assert hung.kind is K.HUNG
    assert hung.cause is not None
    assert (hung.cause.line, hung.cause.line_number) == ("the last word", 4)


def test_a_silence_is_only_a_stall_where_nobody_saw_the_process() -> None:
    launch = after(PhaseReached(P.DISTRIBUTED))
    stalled = seen(launch, 500, None)
    assert (stalled.kind, stalled.detail) == (K.LOADING, "stalled")
    assert stalled.silence_s == 500


def test_a_slow_disk_gets_the_time_that_it_took_before() -> None:
    launch = after(PhaseReached(P.WEIGHTS), bar(0), bar(1), bar(2), step=60.0)
    assert limit_s(launch) == 360
    slow = seen(launch, 180 + 300)
    assert (slow.kind, slow.detail) == (K.LOADING, "slow")
    assert seen(launch, 180 + 361).kind is K.HUNG


def test_repacking_may_take_twice_as_long_as_reading_did() -> None:
    launch = after(bar(0), bar(64, elapsed_s=1900))
    assert launch.phase is P.POSTPROCESS
    assert limit_s(launch) == 3800


def test_a_compilation_may_be_silent_for_twenty_minutes() -> None:
    launch = after(PhaseReached(P.CUDA_GRAPH), SlowWork())
    assert seen(launch, 1100).kind is K.LOADING
    assert seen(launch, 1300).kind is K.HUNG


def test_a_wait_message_explains_a_silence_until_something_moves() -> None:
    launch = after(PhaseReached(P.KV_CACHE), Waiting("peer_silent", line=said(text="no block found")))
    hung = seen(launch, 400)
    assert hung.cause is not None
    assert (hung.cause.line, hung.cause.failure) == ("no block found", "peer_silent")
    moved = seen(after(PhaseReached(P.CUDA_GRAPH, line=said(text="capture")), launch=launch, start=400), 800)
    assert moved.cause is not None
    assert moved.cause.line == "capture"


def test_an_idle_server_may_be_silent_for_ever() -> None:
    assert seen(READY, 1e6).kind is K.READY
    idle = after(DECODE, Beat(BeatKind.REQUEST), launch=READY)
    assert seen(idle, 1e6).kind is K.READY


def test_a_server_whose_last_batch_line_has_requests_is_doubted_and_not_condemned() -> None:
    busy = after(DECODE, launch=READY, start=10)  # the last line of a streamed request, often
    assert seen(busy, 100).detail == "stalled"
    assert (seen(busy, 400).kind, seen(busy, 400).detail) == (K.READY, "stalled")


def test_a_server_whose_own_health_check_fails_and_that_is_silent_hangs() -> None:
    sick = after(DECODE, HealthFailed(), launch=READY, start=10)
    assert seen(sick, 400).kind is K.HUNG
    answers = after(DECODE, HealthFailed(), Beat(BeatKind.POLL, probe=True), launch=READY, start=10)
    assert seen(answers, 400).kind is K.READY


def test_a_dead_scheduler_under_a_living_parent_hangs() -> None:
    launch = after(OUT_OF_MEMORY)
    assert seen(launch, 5).kind is K.CRASHED
    hung = seen(launch, 60)
    assert (hung.kind, hung.cause) == (K.HUNG, launch.cause)
    assert seen(launch, 60, None).kind is K.CRASHED


@pytest.mark.parametrize(
    ("launch", "exit_code", "stop_asked", "kind"),
    [
        (after(bar(3)), 137, False, K.CRASHED),
        (after(bar(3)), 137, True, K.STOPPED),
        (after(bar(3)), 143, False, K.STOPPED),
        (after(bar(3)), None, False, K.CRASHED),
        (READY, 0, False, K.STOPPED),
        (READY, 1, False, K.CRASHED),
        (after(StopSeen(), launch=READY), 137, False, K.STOPPED),
        (after(OUT_OF_MEMORY), 0, False, K.CRASHED),
        (Launch(), 2, False, K.MISCONFIGURED),
    ],
)
def test_a_process_that_is_gone(launch: Launch, exit_code: int | None, stop_asked: bool, kind: LaunchKind) -> None:
    gone = observed(launch, now=100, process_alive=False, exit_code=exit_code, stop_asked=stop_asked)
    assert gone.kind is kind
    assert gone.phase is launch.phase


CHAT = {"ok": True, "content": "Paris", "reasoning_content": None}


@pytest.mark.parametrize(
    ("probe", "kind", "finding"),
    [
        ({"chat": CHAT}, K.READY, None),
        ({"chat": {**CHAT, "thinking": True}}, K.MISCONFIGURED, "reasoning_parser"),
        ({"chat": {**CHAT, "content": "Hm. </think> Paris"}}, K.MISCONFIGURED, "reasoning_parser"),
        ({"chat": {**CHAT, "thinking": True, "reasoning_content": "Hm."}}, K.READY, None),
        (
            {"chat": {**CHAT, "tools_sent": 1, "finish_reason": "tool_calls", "tool_calls": []}},
            K.MISCONFIGURED,
            "tool_parser",
        ),
        ({"chat": {**CHAT, "tools_sent": 1, "tool_calls": None}}, K.READY, None),
        ({"chat": {**CHAT, "garbage": True}}, K.DEGRADED, "garbage"),
        ({"chat": {"ok": False}}, K.DEGRADED, "no_answer"),
        ({"chat": {"ok": False, "timed_out": True}}, K.HUNG, None),
        ({"chat": CHAT, "chats": 20, "chats_ok": 13}, K.DEGRADED, "answers_fail"),
        ({"health": 503}, K.READY, None),
        ({}, K.READY, None),
        ({"chat": 3, "chats": "many"}, K.READY, None),
    ],
)
def test_an_answer_shows_what_a_clean_log_hides(
    probe: dict[str, object], kind: LaunchKind, finding: str | None
) -> None:
    launch = observed(READY, now=None, process_alive=None, probe=probe)
    assert (launch.kind, launch.finding) == (kind, finding)


def test_a_server_on_another_port_than_asked_is_misconfigured() -> None:
    launch = after(ArgsSeen({"model_path": "/m", "port": "30000", "tp_size": "1"}), PortBound(30001), ServerReady())
    assert observed(launch, now=None, process_alive=None).kind is K.MISCONFIGURED


def test_the_time_left_is_a_range_and_hidden_below_three_steps() -> None:
    steady = after(bar(0), bar(16), bar(32), step=10.0)
    assert eta_s(target_bar(steady)) == (20.0, 20.0)
    assert eta_s(target_bar(after(bar(0), bar(16)))) is None
    bursty = after(bar(0), bar(4), bar(5), bar(60), step=10.0)
    left = eta_s(target_bar(bursty))
    assert left is not None
    assert left[0] < left[1]
