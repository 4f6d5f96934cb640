"""Every GPU in a row: what it does, what holds it back, who holds it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from k2tui.commands.gpus import main
from k2tui.core.link import LinkPhase
from k2tui.core.readings import GpuProcess
from tests.commands.fleets import StandingFleet, by_hand, idle_gpu, process, run, stale, standing, told, watched

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fleet() -> StandingFleet:
    """On gpu-a a server of somebody's, a training, a free GPU and one that is lost; on gpu-b two at work."""
    made = standing(2)
    found = by_hand()
    made.set("kimi", found=found)
    lost = idle_gpu(3, fault="GPU is lost", utilization_percent=None, memory_used_mib=None, memory_total_mib=None)
    busy = made.nodes()[0].reading.gpus
    hot = replace(busy[1], throttle_mask=0x44, temperature_c=91.0, pcie_gen=4, pcie_width=8, pcie_width_max=16)
    made.read("gpu-a", replace(made.nodes()[0].reading, gpus=(busy[0], hot, idle_gpu(2), lost)))
    held = [GpuProcess("GPU-0", 42, 80_000.0, "sglang::scheduler_TP0"), GpuProcess("GPU-1", 7, 9_000.0, "python")]
    made.see("gpu-a", process(7), found.process, *found.workers, held=held)
    return made


def rows(capsys: Capture) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_each_gpu_is_a_row(fleet: StandingFleet, capsys: Capture) -> None:
    assert run(main, fleet, "gpus") == 0
    head, first, hot, free, lost, *others = rows(capsys)
    assert head.split()[:2] == ["NODE", "GPU"]
    assert first.split()[:2] == ["gpu-a", "0"]
    for words in ("78 %", "88.0/96 GiB", "409/600 W", "58 °C", "kimi"):
        assert words in first
    for words in ("power cap, hw heat", "gen4 x8", "ann: python train.py (7)", "x8 of x16"):
        assert words in hot
    assert " 0 %" in free
    assert free.split()[-1] == "free", "as the screen says it"
    assert "GPU is lost" in lost
    assert "GiB" not in lost, "unknown is no figure"
    assert [row.split()[:2] for row in others] == [["gpu-b", "0"], ["gpu-b", "1"]]


def test_programs_are_told_the_same_with_nulls_for_what_is_unknown(fleet: StandingFleet, capsys: Capture) -> None:
    found = told(main, fleet, capsys, "gpus")["gpus"]
    assert [(gpu["node"], gpu["index"]) for gpu in found] == [
        *(("gpu-a", index) for index in range(4)),
        *(("gpu-b", index) for index in range(2)),
    ]
    assert [gpu["free"] for gpu in found[:4]] == [False, False, True, False]
    assert (found[0]["servers"], found[0]["processes"][0]["user"]) == (["kimi"], "bob")
    assert (found[1]["throttle"], found[1]["processes"][0]["server"]) == (["power cap", "hw heat"], None)
    assert {warning["name"] for warning in found[1]["warnings"]} >= {"hw_heat", "pcie"}
    assert (found[3]["fault"], found[3]["memory_used_mib"]) == ("GPU is lost", None)
    assert found[0]["link"] == "up"


def test_free_ones_are_found(fleet: StandingFleet, capsys: Capture) -> None:
    found = told(main, fleet, capsys, "gpus", "--free")["gpus"]
    assert [(gpu["node"], gpu["index"]) for gpu in found] == [("gpu-a", 2)]
    assert told(main, fleet, capsys, "gpus", "--free", "--filter", "node==gpu-b or temp>1000")["gpus"] == []


def test_a_gpu_of_which_nothing_is_known_any_more_is_not_free(fleet: StandingFleet, capsys: Capture) -> None:
    fleet.read("gpu-a", stale(fleet.nodes()[0].reading, 10_000))
    assert told(main, fleet, capsys, "gpus", "--free")["gpus"] == []


@pytest.mark.parametrize(
    ("text", "indices"), [("temp>80", [1]), ("user==bob", [0]), ("server==kimi", [0]), ("fault~lost", [3])]
)
def test_any_field_filters(text: str, indices: list[int], fleet: StandingFleet, capsys: Capture) -> None:
    found = told(main, fleet, capsys, "gpus", "--filter", text)["gpus"]
    assert [gpu["index"] for gpu in found if gpu["node"] == "gpu-a"] == indices


def test_where_no_node_is_reached_the_exit_code_says_so(fleet: StandingFleet, capsys: Capture) -> None:
    for name in ("gpu-a", "gpu-b"):
        fleet.link(name, phase=LinkPhase.DOWN, reason=f"{name} refused")
    assert run(main, fleet, "gpus", "--json") == 4
    assert json.loads(capsys.readouterr().out)["gpus"][0]["link_reason"] == "gpu-a refused"
    run(main, fleet, "gpus")
    assert "gpu-b refused" in rows(capsys)[-1]


def test_people_are_told_why_a_node_has_no_row(fleet: StandingFleet, capsys: Capture) -> None:
    fleet.read("gpu-b", replace(fleet.nodes()[1].reading, gpus=(), no_gpus_because="no nvidia-smi"))
    assert run(main, fleet, "gpus") == 0
    told_aside = capsys.readouterr()
    assert "gpu-b" not in told_aside.out
    assert told_aside.err == "k2tui: gpu-b: no nvidia-smi\n"


def test_a_gpu_that_becomes_free_is_a_line(
    fleet: StandingFleet, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    seen = fleet.nodes()[1].reading

    def ends() -> None:
        fleet.read("gpu-b", replace(seen, gpus=(idle_gpu(), seen.gpus[1])))

    fleet.after = [ends, ends]
    lines = watched(main, fleet, monkeypatch, capsys, "gpus", "--watch", "--json", "--filter", "node==gpu-b")
    events = [json.loads(line) for line in lines]
    assert [(event["index"], event["free"]) for event in events] == [(0, False), (1, False), (0, True)]
