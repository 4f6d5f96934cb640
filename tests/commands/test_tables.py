"""Nodes and servers as programs and people are told of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from k2tui.commands.tables import main
from k2tui.core.errors import K2Error
from k2tui.core.launch import Cause
from k2tui.core.link import LinkPhase
from k2tui.core.readings import GpuProcess, Xid
from k2tui.core.runs import Run
from k2tui.core.views import ServerStatus
from tests.commands.fleets import by_hand, idle_gpu, process, run, serves, stale, standing, told, watched

Capture = pytest.CaptureFixture[str]


def test_a_node_is_told_with_its_gpus_its_disks_and_its_processes(capsys: Capture) -> None:
    fleet = standing()
    held = [GpuProcess("GPU-1", 7, 4096.0, "python")]
    fleet.see("gpu-a", process(7), held=held, kernel="6.8", xids=(Xid("PCI:0000:17:00", 79, "x", 5.0),), xids_at=1.0)
    (node,) = told(main, fleet, capsys, "nodes")["nodes"]
    assert (node["name"], node["link"], node["tags"], node["kernel"]) == ("gpu-a", "up", [], "6.8")
    assert (node["load_1m"], node["cpu_percent"], node["memory_total_bytes"]) == (3.1, 22.0, 1_024_000_000_000)
    assert node["disks"][0]["mount"] == "/data"
    assert (node["disks"][0]["growth_bytes_per_s"], node["disks"][0]["full_in_s"]) == (None, None)
    assert node["xids"][0]["number"] == 79
    assert node["xids"][0]["means"]
    assert node["processes"] == [
        {"pid": 7, "user": "ann", "title": "python train.py", "began_at": 1_796_000_000.0, "server": None}
    ]
    assert 0.0 <= node["age_s"] < 60.0
    gpu = node["gpus"][1]
    assert (gpu["utilization_percent"], gpu["power_limit_w"], gpu["memory_total_mib"]) == (79.0, 600.0, 96 * 1024)
    assert (gpu["pcie_gen"], gpu["throttle"], gpu["fault"], gpu["free"]) == (None, None, None, False)
    assert gpu["processes"] == [
        {"pid": 7, "memory_mib": 4096.0, "name": "python", "user": "ann", "began_at": 1_796_000_000.0, "server": None}
    ]


def test_what_nobody_has_looked_at_is_null(capsys: Capture) -> None:
    fleet = standing(gpu_count=0)
    fleet.link("gpu-a", phase=LinkPhase.DOWN)
    fleet._nodes["gpu-a"] = replace(fleet.nodes()[0], processes_at=None)
    assert run(main, fleet, "nodes", "--json") == 4
    (node,) = json.loads(capsys.readouterr().out)["nodes"]
    assert (node["processes"], node["processes_age_s"], node["xids"], node["gpus"]) == (None, None, None, [])


def test_a_server_is_told_with_its_figures_where_they_are_from_and_how_old_they_are(capsys: Capture) -> None:
    fleet = standing()
    serves(fleet, "kimi")
    (server,) = told(main, fleet, capsys, "servers")["servers"]
    assert (server["status"], server["foreign"], server["user"]) == ("ready", False, None)
    work = server["serving"]
    assert (work["source"], work["running"], work["waiting"], work["kv_usage"]) == ("metrics", 3, 1, 0.12)
    assert (work["decode_tokens_per_s"], work["prefill_tokens_per_s"]) == (642.0, None)
    assert work["ttft"] == {"p50_ms": 100.0, "p95_ms": 210.0, "p99_ms": 400.0, "count": 17}
    assert work["itl"] is None
    assert 0.0 <= work["age_s"] < 60.0


def test_figures_that_are_too_old_are_none(capsys: Capture) -> None:
    fleet = standing()
    serves(fleet, "kimi")
    serving = fleet.server("kimi").serving
    assert serving is not None
    fleet.set("kimi", serving=replace(serving, at=serving.at - 10_000))
    fleet.read("gpu-a", stale(fleet.nodes()[0].reading, 10_000))
    assert told(main, fleet, capsys, "servers")["servers"][0]["serving"] is None
    run(main, fleet, "servers")
    assert "642" not in capsys.readouterr().out
    run(main, fleet, "nodes")
    assert "GiB" not in capsys.readouterr().out


def test_somebody_elses_server_is_told_with_what_makes_it_ones_own(capsys: Capture) -> None:
    fleet = standing()
    fleet.set("kimi", found=by_hand(env=(("NCCL_ALGO", "Ring"),), cwd="/root"), log_path="/tmp/m.log")
    (server,) = told(main, fleet, capsys, "servers")["servers"]
    assert (server["foreign"], server["user"], server["pid"], server["port"]) == (True, "bob", 41, 31000)
    assert server["argv"][:3] == ["python3", "-m", "sglang.launch_server"]
    assert (server["env"], server["cwd"], server["log"], server["gpus"]) == (
        {"NCCL_ALGO": "Ring"},
        "/root",
        "/tmp/m.log",
        [0],
    )
    assert server["workers"] == [{"pid": 42, "title": "sglang::scheduler_TP0"}]
    assert server["adopt_toml"].startswith("[servers.kimi]\n")
    assert run(main, fleet, "servers") == 0
    assert "started by bob, pid 41" in capsys.readouterr().out


def test_a_process_on_a_gpu_belongs_to_its_server(capsys: Capture) -> None:
    fleet = standing()
    found = by_hand()
    fleet.set("kimi", found=found)
    fleet.see("gpu-a", found.process, *found.workers, held=[GpuProcess("GPU-0", 42, 9.0)])
    (node,) = told(main, fleet, capsys, "nodes")["nodes"]
    assert [one["server"] for one in node["processes"]] == ["kimi", "kimi"]
    assert [one["server"] for one in node["gpus"][0]["processes"]] == ["kimi"]
    assert node["gpus"][0]["servers"] == ["kimi"]


def test_a_filter_leaves_out_what_it_does_not_hold_for_or_may_not(capsys: Capture) -> None:
    fleet = standing(3)
    serves(fleet, "kimi-2")
    fleet.read("gpu-c", replace(fleet.nodes()[2].reading, gpus=(idle_gpu(),)))
    found = told(main, fleet, capsys, "servers", "--filter", "state==ready and tps>600")["servers"]
    assert [server["name"] for server in found] == ["kimi-2"]
    assert told(main, fleet, capsys, "servers", "--filter", "tps<600")["servers"] == [], "unknown is not less"
    assert [one["name"] for one in told(main, fleet, capsys, "nodes", "--filter", "free")["nodes"]] == ["gpu-c"]


def test_a_filter_that_makes_no_sense_is_told_before_anything_is_reached() -> None:
    fleet = standing()
    with pytest.raises(K2Error) as raised:
        run(main, fleet, "servers", "--filter", "sta==x")
    assert (raised.value.code, raised.value.exit_code, fleet.opened) == ("usage", 2, 0)
    assert "state" in str(raised.value)


def test_a_quiet_fleet_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    fleet = standing()
    serves(fleet, "kimi")

    def tremble() -> None:
        seen = fleet.nodes()[0].reading
        gpus = [replace(gpu, temperature_c=(gpu.temperature_c or 0.0) + 1, power_w=411.0) for gpu in seen.gpus]
        fleet.read("gpu-a", replace(seen, gpus=tuple(gpus), gpus_at=fleet.clock.at, host_at=fleet.clock.at))
        serves(fleet, "kimi", decode_tokens_per_s=650.0)

    fleet.after = [tremble, tremble, tremble]
    assert len(watched(main, fleet, monkeypatch, capsys, "nodes", "--watch")) == 1
    fleet.after = [tremble, lambda: None, tremble]
    assert len(watched(main, fleet, monkeypatch, capsys, "servers", "--watch", "--json")) == 1


def test_a_change_is_a_line_and_so_is_what_comes_and_goes(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    fleet = standing(2)

    def crashes() -> None:
        fleet.begin("kimi")
        fleet.crash("kimi", Cause("boom", 1, None, "exception"))

    def goes() -> None:
        del fleet._servers["kimi-2"]
        fleet.revision += 1

    fleet.after = [crashes, goes]
    lines = watched(main, fleet, monkeypatch, capsys, "servers", "--watch", "--json")
    events = [json.loads(line) for line in lines]
    assert [(event["type"], event["name"], event["status"], event.get("gone", False)) for event in events] == [
        ("change", "kimi", "down", False),
        ("change", "kimi-2", "down", False),
        ("change", "kimi", "crashed", False),
        ("change", "kimi-2", "down", True),
    ]


def test_people_are_told_changes_as_rows(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    fleet = standing()
    fleet.after = [lambda: serves(fleet, "kimi")]
    first, second = watched(main, fleet, monkeypatch, capsys, "servers", "--watch")
    assert first.split()[:3] == ["gpu-a", "kimi", "down"]
    assert "ready" in second
    assert "642.0" in second


@pytest.mark.parametrize("command", ["nodes", "servers"])
def test_everything_is_looked_at_closely(command: str) -> None:
    fleet = standing(2)
    run(main, fleet, command)
    assert (fleet.shown.nodes, fleet.shown.servers) == (
        frozenset({"gpu-a", "gpu-b"}),
        frozenset({"kimi", "kimi-2"}),
    )
    assert fleet.server("kimi").status is ServerStatus.DOWN


def test_a_restart_that_was_interrupted_is_told_with_its_ways_out(capsys: Capture) -> None:
    fleet = standing()
    fleet.set("kimi", planned=Run("kimi", "20261130T140200Z-beef", "/root/.k2tui/runs/kimi/beef", is_planned=True))
    assert run(main, fleet, "servers") == 0
    out = capsys.readouterr().out
    assert "run 20261130T140200Z-beef never started; k2tui resume kimi --continue ends it, --undo takes it back" in out
