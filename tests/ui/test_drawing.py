"""What panes say, without a screen: lines of roles from frozen views."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.launch import Advice, Cause, Launch, LaunchKind, LaunchPhase, PhaseSpan, Progress
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.owners import Owners
from k2tui.core.readings import DiskReading, GpuReading, HostReading
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.settings_between import settings_between
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import NodeView, Proof, ServerStatus, ServerView, Witness
from k2tui.ui.scene import Scene, launch_took, since
from k2tui.ui.spans import Line, text_of, width_of
from k2tui.ui.widgets.cause_rows import cause_and_advice, failure_of, link_lines, quiet_line
from k2tui.ui.widgets.gpu_columns import GpuRow, columns_of, gpu_columns, gpu_heading, gpu_line, gpu_rows, measures
from k2tui.ui.widgets.gpu_rows import folded_lines, host_line, node_lines
from k2tui.ui.widgets.launch_pane import launch_lines
from k2tui.ui.widgets.phase_rows import phase_lines, phase_rows, present_line, progress_spans
from k2tui.ui.widgets.run_rows import ending, run_line
from k2tui.ui.widgets.state_pane import proof_lines, witness_lines
from k2tui.ui.widgets.status_line import server_counts, status_line
from tests.fakes.fleet import FakeClock, connected, gpus, reading, settings_of

SERVER = ServerView(ServerSettings("kimi", "gpu-a", profile="reason"), ServerStatus.LOADING)
SPANS = (
    PhaseSpan(LaunchPhase.ARGS, 100.0, 102.0),
    PhaseSpan(LaunchPhase.DISTRIBUTED, 102.0, 102.0),
    PhaseSpan(LaunchPhase.WEIGHTS, 102.0, None),
)
LOADING = Launch(LaunchPhase.WEIGHTS, progress=Progress(51, 64, "shards", "x"), spans=SPANS, ranks_expected=8)
WIDTHS = st.integers(20, 200)


def cause_rows(server: ServerView, width: int, rows: int) -> list[Line]:
    cause, advice = cause_and_advice(server, width, rows)
    return [*cause, *advice]


def texts(lines: list[Line]) -> str:
    return "\n".join(text_of(line) for line in lines)


def test_phases_before_are_done_the_present_one_runs_and_the_rest_waits() -> None:
    states = [row.state for row in phase_rows(LOADING, 110.0)]
    assert states == ["done", "done", "now", *["waiting"] * 5]
    assert phase_rows(LOADING, 110.0)[2].elapsed_s == 8.0
    assert phase_rows(LOADING, None)[2].elapsed_s is None


@pytest.mark.parametrize("kind", [LaunchKind.CRASHED, LaunchKind.HUNG, LaunchKind.MISCONFIGURED])
def test_a_failed_launch_failed_where_it_stands(kind: LaunchKind) -> None:
    assert phase_rows(replace(LOADING, kind=kind), 110.0)[2].state == "failed"


def test_a_phase_in_which_it_was_stopped_is_not_done() -> None:
    stopped = replace(LOADING, kind=LaunchKind.STOPPED)
    assert [row.state for row in phase_rows(stopped, 110.0)] == ["done", "done", "stopped", *["waiting"] * 5]
    assert "○ weights" in texts(phase_lines(stopped, 110.0, 80))
    served = replace(LOADING, kind=LaunchKind.STOPPED, phase=LaunchPhase.SERVING)
    assert {row.state for row in phase_rows(served, 110.0)} == {"done"}


def test_a_ready_launch_has_every_phase_done_also_those_without_a_mark() -> None:
    ready = replace(LOADING, phase=LaunchPhase.READY, kind=LaunchKind.READY)
    assert {row.state for row in phase_rows(ready, 110.0)} == {"done"}


def test_times_between_whole_stamps_are_not_zero() -> None:
    assert "<1 s" in texts(phase_lines(LOADING, 110.0, 80))
    assert "0.0 s" not in texts(phase_lines(LOADING, 110.0, 80))


def test_a_bar_that_ended_in_an_earlier_phase_is_not_shown_for_this_one() -> None:
    full = replace(LOADING, progress=Progress(64, 64, "shards", "x"))
    assert progress_spans(full, 60)
    assert not progress_spans(replace(full, phase=LaunchPhase.KV_CACHE), 60)
    graphs = replace(full, phase=LaunchPhase.CUDA_GRAPH, progress=Progress(36, 36, "graphs", "x"))
    assert progress_spans(graphs, 60)
    assert not progress_spans(replace(graphs, phase=LaunchPhase.WARMUP), 60)


@given(WIDTHS, st.integers(0, 64))
def test_rows_of_a_launch_fit(width: int, done: int) -> None:
    launch = replace(LOADING, progress=Progress(done, 64, "shards", "x"), ranks_loaded=frozenset({"TP1"}))
    for line in (*phase_lines(launch, 110.0, width), present_line(launch, 110.0, width)):
        assert width_of(line) <= max(width, 34)


@given(WIDTHS, st.integers(1, 30))
def test_a_launch_pane_is_never_taller_than_its_room(width: int, height: int) -> None:
    fleet = connected(settings_of())
    fleet.begin("kimi")
    fleet.phase("kimi", LaunchPhase.WEIGHTS, Progress(51, 64, "shards", "x"))
    cause = Cause("[2026-11-30 14:00:01 TP3] torch.OutOfMemoryError: " + "x" * 300, 12, "TP3", "oom_weights")
    fleet.crash("kimi", cause, Advice("do this " * 20, "source"), Advice("or that", "thread"))
    scene = Scene.of(fleet, fleet.clock)
    assert len(launch_lines(fleet.server("kimi"), scene, width, height)) <= height


def test_the_cause_is_the_message_with_where_it_stands_and_what_to_do() -> None:
    cause = Cause("[2026-11-30 14:00:01 TP3] ERROR:    [Errno 98] address in use", 61, "TP3", "port_taken")
    server = replace(
        SERVER, launch=replace(LOADING, cause=cause), advice=(Advice("Stop what listens there", "source"),)
    )
    said = texts(cause_rows(server, 60, 6))
    assert said.splitlines()[0] == "✗ its port is taken  rank TP3  line 61"
    assert "[Errno 98] address in use" in said
    assert "2026-11-30" not in said
    assert said.endswith("→ Stop what listens there")


def test_secrets_in_a_cause_are_masked() -> None:
    cause = Cause("401 for token hf_abcdefghijklmnopqrstuvwxyz0123456789", 6, None, "download")
    assert "hf_abc" not in texts(cause_rows(replace(SERVER, launch=replace(LOADING, cause=cause)), 80, 4))


def test_a_failure_is_told_as_a_person_says_it() -> None:
    assert failure_of(replace(LOADING, cause=Cause("x", 1, None, "port_taken"))) == "its port is taken"
    assert failure_of(replace(LOADING, finding="garbage")) == "its answers are garbage"
    assert failure_of(replace(LOADING, kind=LaunchKind.CRASHED)) == "crashed"


def test_silence_is_told_once_it_lasts() -> None:
    server = replace(SERVER, launch=replace(LOADING, quiet_since=100.0))
    assert quiet_line(server, 103.0) == ()
    assert text_of(quiet_line(server, 122.0)) == "no progress for 22 s"
    assert quiet_line(replace(server, launch=replace(LOADING, kind=LaunchKind.READY, quiet_since=1.0)), 99.0) == ()


def test_a_lost_connection_says_when_it_is_tried_again_and_what_to_do() -> None:
    assert link_lines(LinkState(LinkPhase.UP), 0.0, 80) == []
    down = link_lines(LinkState(LinkPhase.DOWN, reason="refused", hint="is sshd up?", retry_at=8.0), 0.0, 80)
    assert texts(down) == "refused, retry in 8 s\n→ is sshd up?"
    unknown = link_lines(
        LinkState(LinkPhase.BLOCKED, "host_key_unknown", "host key unknown", fingerprint="SHA256:a"), 0.0, 80
    )
    assert "C shows the key" in texts(unknown)


def test_since_and_took_need_stamps() -> None:
    ready = replace(LOADING, kind=LaunchKind.READY, spans=(*SPANS, PhaseSpan(LaunchPhase.READY, 140.0, None)))
    assert launch_took(ready) == 40.0
    assert since(replace(SERVER, launch=ready, status=ServerStatus.READY), 200.0) == 60.0
    assert since(replace(SERVER, launch=LOADING), 110.0) == 10.0
    assert since(replace(SERVER, launch=LOADING), None) is None
    assert since(replace(SERVER, launch=ready, status=ServerStatus.STALE), 200.0) is None
    assert launch_took(Launch()) is None


NODE = NodeView(settings_of().nodes["gpu-a"], LinkState(LinkPhase.UP), reading(FakeClock(), gpus(8)))


def gpu_rows_of(*given: GpuReading) -> list[GpuRow]:
    node = replace(NODE, reading=reading(FakeClock(), given))
    return gpu_rows(node, Owners(node, ()), FakeClock().at)


@given(WIDTHS, st.integers(1, 8), st.booleans())
def test_gpu_rows_fit_and_stand_under_their_heading(width: int, count: int, with_node: bool) -> None:
    rows = gpu_rows_of(*gpus(count))
    columns = columns_of(measures(rows), width, with_node=with_node)
    lines = [gpu_line(row, columns) for row in rows]
    assert len({width_of(line) for line in lines}) == 1
    assert width_of(lines[0]) <= max(width, 52)
    assert width_of(gpu_heading(columns)) == width_of(lines[0])


def test_what_a_driver_does_not_say_is_a_dash() -> None:
    rows = gpu_rows_of(GpuReading(0, "GPU-0"), GpuReading(1, "GPU-1", fault="GPU is lost"))
    text = text_of(gpu_line(rows[0], gpu_columns(rows, 120)))
    assert text.count("—") >= 4
    assert "0 %" not in text
    folded = texts(folded_lines(rows, 80))
    assert "1:GPU is lost" in folded
    assert folded.index("1:GPU") < folded.index("0:—")


def test_many_gpus_fold_when_there_is_no_room_and_old_figures_go() -> None:
    clock = FakeClock()
    node = NodeView(settings_of().nodes["gpu-a"], LinkState(LinkPhase.UP), reading(clock, gpus(8)))
    assert len(node_lines(node, (), clock.at, 80, 12)) == 10
    assert len(node_lines(node, (), clock.at, 80, 3)) == 3
    assert "78 %" in texts(node_lines(node, (), clock.at, 80, 12))
    assert "78 %" not in texts(node_lines(node, (), clock.at + 60, 80, 12))


def test_cool_gpus_keep_their_places_when_folded_and_warm_ones_come_first() -> None:
    def order(*celsius: float) -> list[str]:
        rows = gpu_rows_of(*(GpuReading(n, f"GPU-{n}", temperature_c=c) for n, c in enumerate(celsius)))
        folded = texts(folded_lines(rows, 80))
        return re.findall(r"(\d):", folded)

    assert order(36.0, 38.0, 37.0) == ["0", "1", "2"]
    assert order(36.0, 80.0, 37.0, 90.0) == ["3", "1", "0", "2"]


@given(st.integers(20, 120))
def test_the_host_shows_whole_figures_only_and_full_disks_first(width: int) -> None:
    host = HostReading(cpu_percent=22.0, disks=(DiskReading("/shm", 100, 90), DiskReading("/data", 100, 1)))
    line = host_line(host, width)
    assert width_of(line) <= width
    assert "/data 1 B free  cpu 22 %  /shm 90 B free".startswith(text_of(line))
    assert text_of(line)


def test_a_full_disk_warns() -> None:
    host = HostReading(disks=(DiskReading("/data", 100, 1), DiskReading("/dev/shm", 100, 90)))
    line = host_line(host)
    assert ("1 B free", "warning") in line
    assert ("90 B free", "text") in line


def test_a_witness_shows_its_age_when_late_and_nothing_when_gone() -> None:
    def said(age: float) -> str:
        return texts(
            witness_lines(replace(SERVER, witnesses=(Witness("process", True, "alive", 100.0 - age),)), 100.0, 60)
        )

    assert said(1.0).split() == ["✓", "process", "alive"]
    assert "12 s old" in said(12.0)
    assert "alive" not in said(80.0)


def test_a_proof_lists_what_it_checked() -> None:
    effects = (
        Effect("completion", Outcome.PROVED, "47 tokens"),
        Effect("reasoning", Outcome.CANNOT, "could not tell", "--reasoning-parser"),
    )
    proof = Proof(True, "47 tokens in 0.9 s", effects)
    said = texts(proof_lines(replace(SERVER, proof=proof, proof_at=40.0), 100.0, 60))
    assert "1 m ago" in said
    assert "? reasoning" in said
    assert "completion" not in said


def test_how_runs_ended() -> None:
    run = Run("kimi", "20261130T140000Z-0001", "/x")
    assert ending(replace(run, alive=True))[0] == "running"
    assert ending(replace(run, alive=False, stop_asked=True, exit_code=137))[0] == "stopped"
    assert ending(replace(run, alive=False, exit_code=137))[0] == "killed by signal 9"
    assert ending(replace(run, alive=False, exit_code=1))[0] == "exit 1"
    assert ending(run)[0] == "—"
    assert "11-30 14:00" in text_of(run_line(run, 80))
    killed = replace(run, alive=False, exit_code=137)
    assert all("killed by signal 9" in text_of(run_line(killed, width)) for width in (36, 40, 44, 60))
    assert width_of(run_line(killed, 36)) <= 36


def test_a_comparison_knows_flags_by_any_spelling_and_masks_secrets() -> None:
    old = (("python3", "-m", "sglang.launch_server", "--tp", "4", "--api-key", "s3cr3t-old"), {"A": "1"})
    new = (("python3", "-m", "sglang.launch_server", "--tp-size", "8", "--api-key", "s3cr3t-new", "--x"), {"B": "2"})
    rows = {row.name: row for row in settings_between(old, new)}
    assert (rows["--tp-size"].kind, rows["--tp-size"].old, rows["--tp-size"].new) == ("~", "4", "8")
    assert rows["--x"].kind == "+"
    assert (rows["A"].kind, rows["B"].kind) == ("-", "+")
    assert "s3cr3t" not in str(rows)
    assert all(row.kind == " " for row in settings_between(None, new))


@given(st.integers(60, 200), st.booleans(), st.booleans())
def test_the_first_line_fits_and_keeps_its_warnings(width: int, simulated: bool, read_only: bool) -> None:
    scene = Scene(0.0, 0.0, (), (), simulated=simulated, read_only=read_only)
    facts: list[Line] = [((f"fact number {number}", "text"),) for number in range(12)]
    text = text_of(status_line(["a-node-of-a-long-name", "a-server-of-a-long-name"], facts, scene, width))
    assert len(text) <= width
    assert ("simulated" in text) == simulated
    assert ("read-only" in text) == read_only


def test_counts_go_without_words_before_they_go() -> None:
    fleet = connected(settings_of())
    fleet.set("kimi", status=ServerStatus.CRASHED)
    scene = Scene.of(fleet, fleet.clock)
    counts, brief = server_counts(scene), server_counts(scene, words=False)
    assert text_of(brief) == "✗ 1"
    assert "✗ 1 crashed" in text_of(status_line(["fleet"], [counts], scene, 60, brief=brief))
    narrow = text_of(status_line(["fleet"], [counts, (("more", "text"),)], scene, 32, brief=brief))
    assert "✗ 1" in narrow
    assert "crashed" not in narrow
    assert "more" not in narrow
    lost: list[Line] = [counts, (("2 out of reach", "bad"),)]
    assert "✗ 1 │ 2 out of reach" in text_of(status_line(["fleet"], lost, scene, 46, brief=brief, keep=2))
    assert "✗ 1 crashed" in text_of(status_line(["fleet"], lost, scene, 46, brief=brief))


def test_a_scene_says_how_long_it_is_good_for() -> None:
    fleet = connected(settings_of())
    fleet.set("kimi", status=ServerStatus.DOWN)
    assert Scene.of(fleet, fleet.clock).good_for_s == 3.0
    fleet.clock.go(2.5)
    assert Scene.of(fleet, fleet.clock).good_for_s == 1.0
    fleet.read("gpu-a", reading(fleet.clock, gpus(1)))
    fleet.set("kimi", status=ServerStatus.LOADING)
    assert Scene.of(fleet, fleet.clock).good_for_s == 1.0
