"""The whole fleet at a glance."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from k2tui.commands.status import main
from k2tui.core.alerts import Alert
from k2tui.core.events import Severity
from k2tui.core.launch import Cause
from k2tui.core.link import LinkPhase
from k2tui.core.views import ServerStatus
from tests.commands.fleets import StandingFleet, by_hand, idle_gpu, run, serves, standing, told, watched

Capture = pytest.CaptureFixture[str]
HOT = Alert("gpu_hot", "gpu/gpu-a/3", "91 °C: check the fans", Severity.WARNING, 1.0)


@pytest.fixture
def fleet() -> StandingFleet:
    """Two servers at work, one that loads, one that crashed, one of somebody else; a node that is lost."""
    made = standing(6)
    for name in ("kimi", "kimi-2"):
        serves(made, name)
    made.set("kimi-3", status=ServerStatus.LOADING)
    made.begin("kimi-4")
    made.crash("kimi-4", Cause("boom", 1, None, "exception"))
    made.set("kimi-5", status=ServerStatus.READY, found=by_hand())
    made.read("gpu-d", replace(made.nodes()[3].reading, gpus=(idle_gpu(), idle_gpu(1, fault="GPU is lost"))))
    made.link("gpu-f", phase=LinkPhase.DOWN, reason="connection refused")
    made.set("kimi-6", status=ServerStatus.STALE)
    made.alerts_now = [HOT, replace(HOT, subject="gpu/gpu-a/4", ended_at=2.0)]
    return made


def spoken(fleet: StandingFleet, capsys: Capture, *words: str) -> str:
    run(main, fleet, "status", *words)
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for figures that do not come."""
    monkeypatch.setattr("k2tui.commands.status.FIGURES_LIMIT_S", 0.0)


def test_the_fleet_in_one_line(fleet: StandingFleet, capsys: Capture) -> None:
    assert spoken(fleet, capsys, "--line") == "k2: 3● 1◐ 1✗ 1? 1 lost 1284 tok/s q2 !1\n"


def test_a_quiet_fleet_has_a_short_line(capsys: Capture) -> None:
    assert spoken(standing(), capsys, "--line") == "k2: nothing runs\n"


def test_the_fleet_in_sentences(fleet: StandingFleet, capsys: Capture) -> None:
    assert spoken(fleet, capsys).splitlines() == [
        "6 nodes: 5 up, gpu-f down (connection refused)",
        "6 servers, 1 of them started by somebody else: 1 loading, 3 ready, 1 crashed, 1 stale",
        "  kimi-4 on gpu-d is crashed: boom",
        "10 GPUs: 8 busy, 1 free, 1 with a fault; 704 of 960 GiB in use",
        "1284.0 tok/s, all streams together; 6 requests running; 2 waiting",
        "1 open alert:",
        "  gpu-a GPU 3: 91 °C: check the fans",
    ]


def test_the_fleet_for_programs(fleet: StandingFleet, capsys: Capture) -> None:
    document = told(main, fleet, capsys, "status")
    assert document["nodes"]["lost"] == [{"name": "gpu-f", "link": "down", "reason": "connection refused"}]
    assert document["servers"]["by_status"] == {"loading": 1, "ready": 3, "crashed": 1, "stale": 1}
    assert document["servers"]["bad"] == [{"name": "kimi-4", "node": "gpu-d", "status": "crashed"}]
    assert (document["gpus"]["total"], document["gpus"]["free"]) == (10, 1)
    assert (document["running"], document["waiting"], document["decode_tokens_per_s"]) == (6, 2, 1284.0)
    assert [alert["subject"] for alert in document["alerts"]["newest"]] == ["gpu/gpu-a/3"]
    assert told(main, fleet, capsys, "status", "--line") == document


def test_what_nobody_knows_is_null_and_not_said(capsys: Capture) -> None:
    fleet = standing(gpu_count=0)
    document = told(main, fleet, capsys, "status")
    assert (document["running"], document["decode_tokens_per_s"], document["gpus"]["memory_used_mib"]) == (None,) * 3
    assert spoken(fleet, capsys).splitlines() == ["1 node: 1 up", "1 server: 1 down", "0 open alerts"]


def test_alerts_that_nobody_watches_for_are_not_said_to_be_none(fleet: StandingFleet, capsys: Capture) -> None:
    fleet.somebody_watches = False
    assert spoken(fleet, capsys).splitlines()[-1] == "alerts: not known, for no k2tui is open that watches"
    assert told(main, fleet, capsys, "status")["alerts"] == {"open": None, "newest": []}
    assert spoken(fleet, capsys, "--line") == "k2: 3● 1◐ 1✗ 1? 1 lost 1284 tok/s q2\n"


def test_many_alerts_are_counted(capsys: Capture) -> None:
    fleet = standing()
    fleet.alerts_now = [replace(HOT, subject=f"gpu/gpu-a/{index}") for index in range(12)]
    assert spoken(fleet, capsys).splitlines()[-1] == "  and 2 more"


def test_no_node_in_reach_is_exit_4(capsys: Capture) -> None:
    fleet = standing()
    fleet.link("gpu-a", phase=LinkPhase.DOWN, reason="refused")
    assert run(main, fleet, "status", "--line") == 4
    assert capsys.readouterr().out == "k2: 1 lost\n"


def test_a_terminal_without_signs_is_told_in_words(fleet: StandingFleet, capsys: Capture) -> None:
    run(main, fleet, "--ascii", "status", "--line")
    assert capsys.readouterr().out == "k2: 3 ready 1 loading 1 bad 1 unseen 1 lost 1284 tok/s q2 !1\n"


def test_the_line_comes_again_when_it_is_another(
    fleet: StandingFleet, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    fleet.after = [
        lambda: serves(fleet, "kimi", decode_tokens_per_s=650.0),
        lambda: serves(fleet, "kimi", decode_tokens_per_s=1200.0),
        lambda: fleet.alerts_now.clear(),
        lambda: None,
    ]
    assert watched(main, fleet, monkeypatch, capsys, "status", "--line", "--watch") == [
        "k2: 3● 1◐ 1✗ 1? 1 lost 1284 tok/s q2 !1",
        "k2: 3● 1◐ 1✗ 1? 1 lost 1842 tok/s q2 !1",
        "k2: 3● 1◐ 1✗ 1? 1 lost 1842 tok/s q2",
    ]


def test_programs_are_told_changes(fleet: StandingFleet, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    fleet.after = [lambda: fleet.set("kimi-3", status=ServerStatus.READY), lambda: None]
    events = [json.loads(line) for line in watched(main, fleet, monkeypatch, capsys, "status", "--watch", "--json")]
    assert [(event["type"], event["servers"]["by_status"]["ready"]) for event in events] == [
        ("change", 3),
        ("change", 4),
    ]
