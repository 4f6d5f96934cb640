"""What a node tells of its runs is read whatever it says, and what k2tui tells it gives nothing away."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.runs import directory_name, is_whole, parse_scan, server_name, spec_json
from k2tui.core.settings import LaunchProfile, ServerSettings

SPEC = '{"run_id":"x","server":"kimi","port":30000,"gpus":[0,1],"argv":["a","b c"],"env":{"A":"x"},"profile":"p"}'
STATE = (
    '{"run_id":"x","stage":"running","boot_id":"boot","supervisor_pid":7,"supervisor_start_ticks":70,"child_pid":8,'
    '"child_start_ticks":80,"session_id":7,"started_at":1000,"child_started_at":1000,"restarts":1,"last_exit":9}'
)
FIRST, SECOND = "/h/runs/kimi/20260101T000000Z-ffff", "/h/runs/kimi/20260101T000001Z-0000"


def told(*lines: str) -> bytes:
    return "\n".join(["k2runs 1 boot 5", *lines, "k2end", ""]).encode()


def test_a_run_is_read_with_all_that_is_known_of_it() -> None:
    lines = (f"run 1 {FIRST}", f"{FIRST}/spec.json:{SPEC}", f"{FIRST}/state.json:{STATE}")
    (run,) = parse_scan(told(*lines))
    assert (run.server, run.run_id, run.directory, run.alive) == ("kimi", "20260101T000000Z-ffff", FIRST, True)
    assert run.supervisor is not None
    assert run.child is not None
    assert (run.supervisor.pid, run.supervisor.start_ticks, run.child.pid, run.session_id) == (7, 70, 8, 7)
    assert (run.port, run.gpus, run.argv, run.env) == (30000, (0, 1), ("a", "b c"), (("A", "x"),))
    assert (run.exit_code, run.ended_at, run.stop_asked, run.restarts, run.started_at) == (None, None, False, 1, 1000)
    assert run.log_path == f"{FIRST}/log"


def test_a_planned_run_is_read_from_its_spec_alone() -> None:
    known = {"server": "kimi", "engine": "vllm", "why": "try", "replaces": "R0", "cwd": "/w", "setup": "s"}
    spec = json.dumps({**known, "kept_by": "tmux", "started_at": 9})
    (run,) = parse_scan(told(f"run p {FIRST}", f"{FIRST}/spec.json:{spec}"))
    assert (run.is_planned, run.alive, run.supervisor, run.started_at) == (True, False, None, 9)
    assert (run.engine, run.why, run.replaces, run.cwd, run.setup, run.kept_by) == (
        "vllm",
        "try",
        "R0",
        "/w",
        "s",
        "tmux",
    )
    assert run.attach is None


def test_a_planned_run_is_newer_than_one_that_started_in_the_same_second() -> None:
    plan = FIRST.replace("ffff", "0000")
    lines = (f"run p {plan}", f"run 1 {FIRST}", f"{FIRST}/state.json:{STATE}")
    assert [run.directory for run in parse_scan(told(*lines))] == [plan, FIRST]


def test_a_run_in_tmux_says_how_to_attach_to_it() -> None:
    state = STATE[:-1] + ',"kept_by":"tmux","kept_as":"k2tui-kimi; reboot"}'
    (run,) = parse_scan(told(f"run 1 {FIRST}", f"{FIRST}/state.json:{state}"))
    assert run.attach == "tmux attach -t '=k2tui-kimi; reboot'"


def test_a_run_of_an_older_k2tui_was_kept_by_setsid() -> None:
    (run,) = parse_scan(told(f"run 1 {FIRST}", f"{FIRST}/state.json:{STATE}"))
    assert (run.kept_by, run.kept_as, run.attach, run.why, run.verdict) == ("setsid", None, None, "start", None)


def test_an_exit_and_a_stop_are_read() -> None:
    lines = (f"run 0 {FIRST}", f"{FIRST}/state.json:{STATE}", f"{FIRST}/exit:137 1234", f"{FIRST}/stop:1230 ada@desk")
    (run,) = parse_scan(told(*lines))
    assert (run.alive, run.exit_code, run.ended_at, run.stop_asked) == (False, 137, 1234.0, True)


def test_runs_are_sorted_by_their_start_not_by_chance() -> None:
    same = FIRST.replace("ffff", "0000")
    later = STATE.replace('ticks":70', 'ticks":71')
    lines = [f"run 0 {path}" for path in (FIRST, SECOND, same)]
    lines += [f"{FIRST}/state.json:{STATE}", f"{SECOND}/state.json:{STATE}", f"{same}/state.json:{later}"]
    assert [run.directory for run in parse_scan(told(*lines))] == [SECOND, same, FIRST]


def test_a_home_with_a_colon_or_a_blank_is_no_trouble() -> None:
    path = "/a b:c/state.json/runs/k/20260101T000000Z-ffff"
    assert [run.directory for run in parse_scan(told(f"run 0 {path}", f"{path}/state.json:{STATE}"))] == [path]


@given(st.binary())
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    parse_scan(noise)
    assert parse_scan(told(f"run 1 {FIRST}", f"{FIRST}/state.json:{STATE}") + noise)


@given(
    st.sampled_from(("spec.json", "state.json", "exit", "stop", "verdict")),
    st.one_of(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps)),
)
def test_a_broken_file_costs_at_most_its_own_run(name: str, text: str) -> None:
    lines = [f"run 1 {SECOND}", f"run 0 {FIRST}", f"{FIRST}/{name}:{text}", f"{SECOND}/state.json:{STATE}"]
    assert parse_scan(told(*lines))[0].directory == SECOND


def test_an_answer_that_broke_off_is_known() -> None:
    whole = told(f"run 1 {FIRST}")
    assert is_whole(whole)
    assert not is_whole(whole[:-4])
    assert not is_whole(b"")


@given(st.text(min_size=1).filter(lambda name: "\0" not in name and "/" not in name))
def test_a_servers_name_comes_back_from_its_directory(name: str) -> None:
    directory = directory_name(name)
    assert server_name(directory) == name
    assert directory.isascii()
    assert not directory.startswith(".")
    assert not set(directory) & set("/ \n\t'\"*?")


@given(st.text(), st.text(), st.text())
def test_a_spec_is_one_line_of_ascii_and_comes_back(argument: str, value: str, name: str) -> None:
    profile = LaunchProfile("p", ("engine", argument), {"PLAIN": value}, cwd=name)
    text = spec_json(ServerSettings("kimi", "n"), profile, port=1, started_by=name)
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text)["started_by"] == name


def test_a_spec_holds_no_secret() -> None:
    key, token = "sk-0123456789abcdefghijklmn", "hf_abcdefGHIJKLmnop12345678"
    profile = LaunchProfile(
        "p",
        ("engine", "--api-key", key, "--note", f"with {token} inside"),
        {"HF_TOKEN": token},
        setup=f"export HF_TOKEN={token}",
        secrets=frozenset({key, token}),
    )
    text = spec_json(ServerSettings("kimi", "n"), profile, port=1, started_by="ada@desk")
    assert key not in text
    assert token not in text
