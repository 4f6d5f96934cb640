"""A stop report says what was done to which process, in a sentence and for programs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.stop_report import parse_stop


def test_a_clean_stop_reads_as_one() -> None:
    report = parse_stop(b"term 12\nexit 0 1700000000\nelapsed 3\nk2end\n")
    assert report is not None
    assert report.sentence == "stopped after 3 s with exit 0"
    assert (report.asked, report.is_whole, report.ended_at) == ((12,), True, 1700000000.0)


def test_what_had_to_be_killed_is_named() -> None:
    report = parse_stop(b"term 12\nkill 13 sglang::scheduler_TP0\nexit 143 17\nelapsed 21\nk2end\n")
    assert report is not None
    assert "1 had to be killed: pid 13 (sglang::scheduler_TP0)" in report.sentence
    assert report.to_json()["killed"] == [{"pid": 13, "command": "sglang::scheduler_TP0", "state": None}]


def test_a_server_that_had_to_quit_is_told() -> None:
    report = parse_stop(b"term 12\nquit 12\nexit 137 17\nelapsed 21\nk2end\n")
    assert report is not None
    assert "asked to quit at once" in report.sentence
    assert report.to_json()["quit_pids"] == [12]


def test_a_container_that_had_to_be_killed_is_told() -> None:
    report = parse_stop(b"container TERM k2tui-a\ncontainer KILL k2tui-a\nexit 137 17\nelapsed 21\nk2end\n")
    assert report is not None
    assert (report.container, report.to_json()["container_signals"]) == (("TERM", "KILL"), ["TERM", "KILL"])
    assert "its container had to be killed" in report.sentence


def test_what_could_not_be_killed_is_named_with_its_state() -> None:
    report = parse_stop(b"term 12\nleft 13 D sglang::scheduler TP0\nelapsed 50\nk2end\n")
    assert report is not None
    assert report.sentence.startswith("still running after 50 s: pid 13 (sglang::scheduler TP0)")
    assert report.left[0].state == "D"


def test_a_stranger_and_a_leftover_are_told_apart() -> None:
    report = parse_stop(b"reused 5 server bash -l\nnot_running\noutside 9 sglang::detokenizer\nelapsed 0\nk2end\n")
    assert report is not None
    assert report.was_running is False
    assert "not signalled, because the pid is another process now: pid 5 (server bash -l)" in report.sentence
    assert "left alone outside of its session: pid 9 (sglang::detokenizer)" in report.sentence


def test_a_run_without_a_directory_has_no_report() -> None:
    assert parse_stop(b"absent /h/runs/kimi/x\nk2end\n") is None


def test_a_report_that_broke_off_is_known() -> None:
    report = parse_stop(b"term 12\n")
    assert report is not None
    assert not report.is_whole


@given(st.binary())
def test_no_bytes_break_the_reader(output: bytes) -> None:
    parse_stop(output)
