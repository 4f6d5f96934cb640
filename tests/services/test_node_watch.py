"""A node is kept connected, and its probe running."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from k2tui.adapters.links import make_link
from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from k2tui.core.link import LinkPhase
from k2tui.core.readings import GpuProcess
from k2tui.services.doors import RealClock, Script
from k2tui.services.node_watch import NodeWatch
from tests.fakes.clock import FakeClock
from tests.fakes.links import FakeLink, FakeStream
from tests.services.test_follow import bare_tools
from tests.sshd import MARK, Sshd
from tests.waiting import until

PROBE = Script("probe", "")
HELP = Path(__file__).parent.parent / "logs" / "nvidia-smi" / "h200-help-query-gpu.txt"


class Watched:
    """A watch on a fake link, with a clock that stands still."""

    def __init__(self, link: FakeLink, *, jitter: float = 0.5) -> None:
        self.link, self.clock = link, FakeClock()
        self.changes = 0
        self.watch = NodeWatch(link, PROBE, self.clock, self._changed, disks=("/data",), jitter=lambda: jitter)
        self.watch.start()

    def _changed(self) -> None:
        self.changes += 1

    async def pause(self) -> float:
        """Wait until the watch pauses before its next try, and pass that time; how long it was."""
        await until(lambda: self.watch.state.retry_at is not None)
        await until(lambda: self.clock._sleepers)
        retry_at = self.watch.state.retry_at
        assert retry_at is not None
        left_s, tries = retry_at - self.clock.now, self.link.connects
        self.clock.advance(left_s)
        await until(lambda: self.link.connects > tries)
        return left_s


@pytest_asyncio.fixture
async def watched() -> AsyncIterator[Callable[..., Watched]]:
    made: list[Watched] = []

    def make(link: FakeLink, **more: float) -> Watched:
        made.append(Watched(link, **more))
        return made[-1]

    yield make
    for one in made:
        await one.watch.close()


Make = Callable[..., Watched]


async def test_what_the_probe_says_is_the_reading(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    assert one.link.asked == [("2", "", "", "/data")]
    one.link.streams[0].say("hello k2p1 boot=b1 up=5.00 now=1000000100.0 tz=+0000 driver= kernel=Linux 6", "tick up=5")
    await until(lambda: one.watch.reading.host_at is not None)
    assert one.watch.reading.boot_id == "b1"
    assert one.watch.state.phase is LinkPhase.UP
    assert one.watch.reading.clock_offset_s == 0.0


async def test_pauses_grow_to_half_a_minute(watched: Make) -> None:
    one = watched(FakeLink(fails="refused"))
    assert [await one.pause() for _ in range(7)] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    await until(lambda: one.watch.state.attempt == 8)
    assert one.watch.state.phase is LinkPhase.DOWN
    assert one.watch.state.code == "refused"


@pytest.mark.parametrize(("jitter", "pause_s"), [(0.0, 0.7), (1.0, 1.3)])
async def test_pauses_differ_from_node_to_node(watched: Make, jitter: float, pause_s: float) -> None:
    assert await watched(FakeLink(fails="refused"), jitter=jitter).pause() == pytest.approx(pause_s)


@pytest.mark.parametrize("code", ["host_key_unknown", "host_key_changed", "login_refused", "config"])
async def test_what_only_the_operator_can_mend_is_not_tried_again(watched: Make, code: str) -> None:
    one = watched(FakeLink(fails=code))
    await until(lambda: one.watch.state.phase is LinkPhase.BLOCKED)
    await asyncio.sleep(0)
    assert (one.watch.state.retry_at, one.clock.slept, one.link.connects) == (None, [], 1)
    one.link.fails = None
    one.watch.retry_now()
    await until(lambda: one.link.streams)


async def test_retry_now_does_not_wait(watched: Make) -> None:
    one = watched(FakeLink(fails="refused"))
    await until(lambda: one.watch.state.retry_at is not None)
    one.link.fails = None
    one.watch.retry_now()
    await until(lambda: one.link.streams)
    assert one.clock.now == 100.0


async def test_a_greeting_makes_the_next_pause_short_again(watched: Make) -> None:
    one = watched(FakeLink(fails="refused"))
    await one.pause()
    one.link.fails = None
    await one.pause()
    await until(lambda: one.link.streams)
    one.link.streams[0].say("hello k2p1 boot=b1")
    await until(lambda: one.watch.reading.boot_id == "b1")
    one.link.lose()
    assert await one.pause() == 1.0
    assert one.watch.reading.boot_id == "b1"  # what was known stays


async def test_a_probe_that_ends_is_started_again(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    one.link.streams[0].end()
    await until(lambda: one.watch.state.retry_at is not None)
    one.clock.advance(1.0)
    await until(lambda: len(one.link.streams) == 2)
    assert one.link.streams[0].closed


async def test_a_probe_that_falls_silent_is_started_again(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.clock.slept == [30.0])
    one.clock.now += 20.0
    one.link.streams[0].say("tick up=1")
    await until(lambda: one.watch.reading.host_at == 120.0)
    one.clock.advance(10.0)
    await until(lambda: len(one.clock.slept) == 2)
    assert not one.link.streams[0].closed
    one.clock.advance(20.0)
    await until(lambda: one.link.streams[0].closed)


async def test_the_way_there_and_back_is_measured(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    stream = one.link.streams[0]
    stream.say("tick up=1")
    await until(lambda: stream.heard == [b"ping 1\n"])
    one.clock.now += 0.25
    stream.say("pong 1")
    await until(lambda: one.watch.state.round_trip_s == 0.25)


async def test_a_new_interval_is_told_with_the_columns_that_are_known(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    stream = one.link.streams[0]
    stream.say("fields 580.1 index,uuid")
    await until(lambda: one.watch._reader.fields)
    one.watch.set_interval(10)
    one.watch.set_interval(10)
    await until(lambda: stream.heard == [b"interval 10 580.1 index,uuid\n"])
    one.link.lose()
    await one.pause()
    await until(lambda: len(one.link.asked) == 2)
    assert one.link.asked[1] == ("10", "580.1", "index,uuid", "/data")


GPU_ROW = ("fields 580.1 index,uuid", "gpu 0, GPU-0")


def told(stream: FakeStream, question: str) -> list[str]:
    return [line.decode().strip() for line in stream.heard if line.startswith(question.encode())]


async def test_what_a_tick_does_not_tell_is_asked_once_and_then_now_and_then(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    stream = one.link.streams[0]
    stream.say("hello k2p1 boot=b1 up=10.00 now=1000000100.0 tz=+0000 driver=580.1 kernel=L", *GPU_ROW, "tick up=10")
    await until(lambda: told(stream, "ask processes") and told(stream, "ask kernel"))
    assert told(stream, "ask kernel") == ["ask kernel journal"]
    stream.say("began kernel", "ended kernel 0", "began app", "ended app 0")
    for up in (20, 30, 40):
        one.clock.now += 10.0
        stream.say(GPU_ROW[1], f"tick up={up}", GPU_ROW[1])
    await until(lambda: len(told(stream, "ask kernel")) == 2)
    assert told(stream, "ask kernel")[1] == f"ask kernel journal {1_000_000_100 - 5}"
    assert len(told(stream, "ask processes")) == 1
    one.clock.now += 30.0
    stream.say("tick up=50", GPU_ROW[1], "tick up=52")
    await until(lambda: len(told(stream, "ask processes")) == 2)


async def test_a_node_on_screen_is_asked_for_its_processes_more_often(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    stream = one.link.streams[0]
    stream.say("hello k2p1 boot=b1 up=10.00", *GPU_ROW, "tick up=10")
    await until(lambda: told(stream, "ask processes"))
    one.clock.now += 11.0
    one.watch.detailed = True  # the last list is older than it may be now
    await until(lambda: len(told(stream, "ask processes")) == 2)
    one.clock.now += 10.0
    stream.say("tick up=18", GPU_ROW[1], "tick up=20")
    await until(lambda: len(told(stream, "ask processes")) == 3)
    one.watch.detailed = False
    assert one.watch.processes_period_s == 60.0


async def test_an_nvidia_smi_that_hangs_is_asked_nothing_more(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    stream = one.link.streams[0]
    stream.say("hello k2p1 boot=b1 up=10.00", *GPU_ROW, "tick up=10", "began app", "ended app 0", "tick up=90")
    await until(lambda: one.watch.reading.gpus_trouble is not None)
    one.clock.now += 600.0
    one.watch.ask_processes()
    stream.say("tick up=92")
    await until(lambda: len(told(stream, "ask kernel")) == 2)
    assert len(told(stream, "ask processes")) == 1
    stream.say("gpu 0, GPU-0", "tick up=94")
    await until(lambda: len(told(stream, "ask processes")) == 2)
    assert one.watch.reading.gpus_trouble is None


async def test_a_log_that_only_dmesg_may_read_is_asked_of_dmesg(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    stream = one.link.streams[0]
    stream.say("hello k2p1 boot=b1 up=10.00 driver=580.1", "tick up=10")
    await until(lambda: told(stream, "ask kernel"))
    stream.say("began kernel", "kernel Hint: You are currently not seeing messages", "ended kernel 1", "tick up=12")
    await until(lambda: told(stream, "ask kernel")[1:] == ["ask kernel dmesg"])
    stream.say("began kernel", "kernel [ 5.000000] NVRM: Xid (PCI:0000:4c:00): 79, gone", "ended kernel 0")
    await until(lambda: [xid.number for xid in one.watch.reading.xids] == [79])


async def test_a_node_without_gpus_is_not_asked_of_them(watched: Make) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    stream = one.link.streams[0]
    stream.say("hello k2p1 boot=b1 up=10.00 driver= kernel=L", "none no nvidia-smi", "tick up=10", "tick up=12")
    await until(lambda: one.watch.reading.no_gpus_because is not None and stream.heard)
    assert [line for line in stream.heard if line.startswith(b"ask")] == []


# the probe itself, on this machine


class StandIn:
    """A stand-in nvidia-smi in front of PATH: knows `columns` of the help text, prints `gpus` rows, or hangs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.help = HELP.read_text()
        self.calls = folder / "calls"

    def install(self, body: str) -> None:
        (self.folder / "help").write_text(self.help)
        program = self.folder / "nvidia-smi"
        program.write_text(
            f'#!/bin/sh\necho "$*" >>{self.calls}\ncase $1 in --help-query-gpu) cat {self.folder}/help; exit ;; esac\n'
            f"{body}\n"
        )
        program.chmod(0o755)

    def asked(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


ROWS = """
ms=${4:-1000}; columns=${1#--query-gpu=}
while :; do
  for index in 0 1 2 3 4 5 6 7; do
    row=
    for column in $(echo "$columns" | tr , ' '); do
      case $column in
        index) value=$index ;; uuid) value=GPU-$index ;; name) value='NVIDIA H200' ;; driver_version) value=580.1 ;;
        temperature.gpu) value='[N/A]' ;; memory.total) value=143771 ;; *reasons*) value=0x0000000000000004 ;;
        *) value=1.5 ;;
      esac
      row="$row, $value"
    done
    echo "${row#, }"
  done
  sleep 0.1
done
"""


@pytest.fixture(params=["bash", "sh"])
def smi(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """On a node with bash, and on one without."""
    stand_in = StandIn(tmp_path / "stand-in")
    rest = os.environ["PATH"] if request.param == "bash" else str(bare_tools(tmp_path / "bin"))
    monkeypatch.setenv("PATH", f"{stand_in.folder}{os.pathsep}{rest}")
    monkeypatch.setenv(MARK, str(tmp_path))
    return stand_in


@pytest_asyncio.fixture
async def local(smi: StandIn, tmp_path: Path) -> AsyncIterator[NodeWatch]:
    """A watch on this machine, not started; afterwards nothing of it is left."""
    link = LocalLink("here")
    watch = NodeWatch(link, script("probe"), RealClock(), lambda: None, interval_s=1)
    yield watch
    await watch.close()
    await link.close()
    await until(lambda: not left(tmp_path), "an end without processes")


def left(tmp_path: Path) -> list[str]:
    needle = f"{MARK}={tmp_path}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                found.append(f"{entry.name} {(entry / 'cmdline').read_bytes()!r}")
        except OSError:
            continue
    return found


async def test_eight_gpus_are_read(smi: StandIn, local: NodeWatch) -> None:
    smi.install(ROWS)
    local.start()
    await until(lambda: len(local.reading.gpus) == 8 and local.reading.host.cpu_percent is not None)
    gpu = local.reading.gpus[7]
    assert (gpu.index, gpu.uuid, gpu.name, gpu.power_w, gpu.temperature_c) == (7, "GPU-7", "NVIDIA H200", 1.5, None)
    assert (gpu.throttle_mask, gpu.sm_clock_mhz, local.reading.driver) == (4, 1.5, "580.1")
    host = local.reading.host
    assert host.memory_total_bytes is not None
    assert host.memory_total_bytes > 1 << 28
    await until(lambda: {disk.mount for disk in local.reading.host.disks} >= {"/"})
    assert local.reading.clock_offset_s is not None
    await until(lambda: local.state.round_trip_s is not None)


async def test_only_columns_that_the_driver_knows_are_asked_for(smi: StandIn, local: NodeWatch) -> None:
    smi.help = '"index"\n"uuid" or "gpu_uuid"\n"clocks.current.sm"\n"clocks_throttle_reasons.active"\n'
    smi.install(ROWS)
    local.start()
    await until(lambda: len(local.reading.gpus) == 8)
    assert smi.asked()[0] == "--help-query-gpu"
    assert smi.asked()[1].split()[0] == "--query-gpu=index,uuid,clocks.current.sm,clocks_throttle_reasons.active"
    assert (local.reading.gpus[0].sm_clock_mhz, local.reading.gpus[0].throttle_mask) == (1.5, 4)
    assert local.reading.gpus[0].power_w is None


async def test_a_new_interval_starts_nvidia_smi_anew_without_asking_it_again(smi: StandIn, local: NodeWatch) -> None:
    smi.install(ROWS)
    local.start()
    await until(lambda: len(local.reading.gpus) == 8)
    local.set_interval(2)
    await until(lambda: any(call.endswith("-lms 2000") for call in smi.asked()))
    assert smi.asked().count("--help-query-gpu") == 1


@pytest.mark.parametrize("body", ["exec sleep 3600", "trap '' TERM; exec sleep 3600"])
async def test_an_nvidia_smi_that_hangs_stops_only_its_own_rows(smi: StandIn, local: NodeWatch, body: str) -> None:
    smi.install(body)
    local.start()
    await until(lambda: local.reading.host_at is not None)
    first = local.reading.host_at
    assert first is not None
    await until(lambda: (local.reading.host_at or 0) > first + 1)
    assert (local.reading.gpus, local.reading.gpus_at) == ((), None)


async def test_processes_and_errors_of_the_kernel_are_read(smi: StandIn, local: NodeWatch) -> None:
    smi.install(f"case $1 in --query-compute-apps*) echo 'GPU-3, 1533, 29536, python3'; exit ;; esac\n{ROWS}")
    journal = smi.folder / "journalctl"
    journal.write_text("#!/bin/sh\necho '1796000123.4 a kernel: NVRM: Xid (PCI:0000:4c:00): 31, pid=1533'\n")
    journal.chmod(0o755)
    local.start()
    await until(lambda: local.reading.gpu_processes_at is not None)
    assert local.reading.gpu_processes == (GpuProcess("GPU-3", 1533, 29536.0, "python3"),)
    if shutil.which("grep") is not None:
        await until(lambda: local.reading.xids_at is not None)
        assert [(xid.bus, xid.number, xid.at) for xid in local.reading.xids] == [("PCI:0000:4c:00", 31, 1796000123.4)]


async def test_an_nvidia_smi_that_fails_is_quoted(smi: StandIn, local: NodeWatch) -> None:
    smi.install("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18")
    local.start()
    await until(lambda: local.reading.no_gpus_because)
    assert local.reading.no_gpus_because == "Failed to initialize NVML: Driver/library version mismatch"


async def test_a_node_without_nvidia_smi_is_read_all_the_same(local: NodeWatch) -> None:
    local.start()
    await until(lambda: local.reading.host.cpu_percent is not None)
    if not any(Path(folder, "nvidia-smi").exists() for folder in ("/usr/bin", "/usr/local/nvidia/bin")):
        assert local.reading.no_gpus_because == "no nvidia-smi"


async def test_the_probe_comes_back_after_a_cut_and_leaves_nothing(sshd: Sshd, tmp_path: Path) -> None:
    trusted = tmp_path / "known_hosts"
    trusted.write_text(sshd.known_hosts_line)
    link = make_link(sshd.node(), trusted_hosts=trusted, ssh_config=())
    watch = NodeWatch(link, script("probe"), RealClock(), lambda: None, jitter=lambda: 0.0)
    watch.start()
    await until(lambda: watch.reading.host_at is not None)
    before = watch.reading.host_at or 0.0
    assert sshd.cut() == 1
    await until(lambda: (watch.reading.host_at or 0.0) > before and watch.state.phase is LinkPhase.UP)
    await until(lambda: len(probes(sshd)) == 1)
    await watch.close()
    await link.close()
    await until(lambda: not sshd.processes())


def probes(sshd: Sshd) -> set[str]:
    """The probes that run: each is several processes with the same command line."""
    return {process.split(" ", 1)[1] for process in sshd.processes() if "k2tui-probe" in process}
