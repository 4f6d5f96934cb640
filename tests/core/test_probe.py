"""What a node's probe says becomes a reading; what it does not say stays unknown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.probing.gpus import MOST_GPUS
from k2tui.core.probing.reader import NO_ANSWER, ProbeReader
from k2tui.core.readings import DiskReading, GpuProcess, GpuReading, NodeReading

LOGS = Path(__file__).parent.parent / "logs" / "nvidia-smi"
H200 = LOGS / "h200-probe.txt"
FIELDS = "index,uuid,name,utilization.gpu,memory.used,memory.total,power.draw,power.limit,temperature.gpu,clocks.sm"


def reader_of(*lines: str) -> ProbeReader:
    reader = ProbeReader()
    for number, line in enumerate(lines):
        reader.feed(line, at=float(number), wall=1_000_000_000.0 + number)
    return reader


def gpus_of(*rows: str, fields: str = FIELDS) -> ProbeReader:
    return reader_of(f"fields 580 {fields}", *(f"gpu {row}" for row in rows))


def row(index: int, *, used: str = "100", power: str = "80.5", uuid: str | None = None) -> str:
    return f"{index}, {uuid or f'GPU-{index}'}, NVIDIA H200, 7, {used}, 143771, {power}, 700.00, 37, 345"


def test_what_a_real_h200_said() -> None:
    reading = reader_of(*H200.read_text().splitlines()).reading
    assert (reading.boot_id, reading.kernel) == ("0a1b2c3d-0000-4000-8000-000000000001", "Linux 6.18.44")
    assert reading.driver == "580.159.04"
    (gpu,) = reading.gpus
    assert (gpu.index, gpu.name, gpu.uuid) == (0, "NVIDIA H200", "GPU-00000000-1111-2222-3333-444444444444")
    assert (gpu.utilization_percent, gpu.memory_used_mib, gpu.memory_total_mib) == (0.0, 0.0, 143771.0)
    assert (gpu.power_w, gpu.power_limit_w, gpu.temperature_c, gpu.sm_clock_mhz) == (79.79, 700.0, 34.0, 345.0)
    assert (gpu.throttle_mask, gpu.fault) == (1, None)
    assert reading.host.memory_total_bytes == 131981020 << 10
    assert reading.host.cpu_percent == pytest.approx(100 * (1 - 1602 / (1602 + 1)), abs=0.2)
    assert reading.host.disks == (
        DiskReading("/", 264212084 << 10, 67089652 << 10),
        DiskReading("/dev/shm", 134217728 << 10, 134217728 << 10),
    )


@given(st.lists(st.text(max_size=80) | st.sampled_from(H200.read_text().splitlines()), max_size=12))
def test_no_line_can_break_the_reader(lines: list[str]) -> None:
    reader_of(*lines)


TAGS = ["hello k2p1 ", "tick ", "df ", "gpu ", "fields ", "none ", "clock ", "began ", "app ", "kernel ", "ended "]


@given(st.sampled_from(TAGS), st.text(max_size=120))
def test_no_words_can_break_it_either(tag: str, words: str) -> None:
    reader = gpus_of(row(0))
    for line in (tag + words, "gpu " + words, "kernel " + words, "ended kernel 0", "app " + words, "ended app 0"):
        reader.feed(line, at=1.0, wall=1.0)
    assert reader.reading.gpus is not None


@pytest.mark.parametrize("number", ["9" * 5000, "²", "nan", "inf", "1e9", "-", ""])
def test_numbers_that_are_none_are_unknown(number: str) -> None:
    reader = gpus_of(row(0, power=number))
    for line in ("tick up={0} load={0} cpu={0},{0},{0},{0},{0} mem={0},{0}", "df x {0} {0} {0} 1% /", "gpu {0}, x"):
        reader.feed(line.format(number), at=1.0, wall=1.0)
    assert reader.reading.gpus[0].power_w is None
    assert reader.reading.host.load_1m is None
    assert reader.reading.host.memory_total_bytes is None


def test_before_the_first_line_nothing_is_known() -> None:
    assert ProbeReader().reading == NodeReading()


def test_cpu_needs_two_ticks() -> None:
    first = "tick up=1.0 load=0.5,0.4,0.3 cpu=100,0,100,800,0,0,0,0 mem=1000,400"
    second = "tick up=3.0 load=0.5,0.4,0.3 cpu=150,0,100,900,50,0,0,0 mem=1000,400"
    assert reader_of(first).reading.host.cpu_percent is None
    assert reader_of(first, second).reading.host.cpu_percent == 25.0
    close = "tick up=3.1 load=0.5,0.4,0.3 cpu=155,0,100,900,50,0,0,0 mem=1000,400"
    assert reader_of(first, second, close).reading.host.cpu_percent == 25.0


def test_a_new_greeting_starts_the_cpu_anew_and_keeps_what_is_known() -> None:
    ticks = ["tick up=1 cpu=1,0,1,80,0,0,0,0", "tick up=3 cpu=9,0,1,99,0,0,0,0"]
    reader = reader_of("hello k2p1 boot=a", *ticks, "df x 10 5 5 50% /data", "hello k2p1 boot=b")
    assert (reader.reading.boot_id, reader.greeted) == ("b", True)
    assert reader.reading.host.disks == (DiskReading("/data", 10 << 10, 5 << 10),)
    assert reader_of(*ticks, "hello k2p1 boot=b", ticks[0]).reading.host.cpu_percent is None


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("[N/A]", None),
        ("[Not Supported]", None),
        ("N/A", None),
        ("[GPU is lost]", "GPU is lost"),
        ("[Unknown Error]", "Unknown Error"),
        ("[GPU requires reset]", "GPU requires reset"),
        ("ERR!", "ERR!"),
    ],
)
def test_what_the_driver_does_not_say_is_unknown_and_never_zero(said: str, fault: str | None) -> None:
    (gpu,) = gpus_of(row(0, power=said, used=said)).reading.gpus
    assert (gpu.power_w, gpu.memory_used_mib) == (None, None)
    assert gpu.utilization_percent == 7.0
    assert gpu.fault == fault


@pytest.mark.parametrize("figure", ["18446744073709551615", "999999999999999999", "-5", "5000", "1e999"])
def test_a_figure_that_no_gpu_can_have_is_unknown(figure: str) -> None:
    (gpu,) = gpus_of(row(0).replace(", 7,", f", {figure},")).reading.gpus
    assert (gpu.utilization_percent, gpu.memory_used_mib) == (None, 100.0)


def test_a_flood_of_rows_that_are_no_gpus_makes_none() -> None:
    reader = gpus_of(*(row(index) for index in range(2 * MOST_GPUS)), row(10**17))
    assert [gpu.index for gpu in reader.reading.gpus] == list(range(MOST_GPUS))


def test_eight_gpus_each_have_their_row() -> None:
    reading = gpus_of(*(row(index) for index in range(8))).reading
    assert [gpu.index for gpu in reading.gpus] == list(range(8))
    assert reading.gpus_at == 8.0


def test_a_gpu_that_is_no_longer_listed_stays_with_a_fault() -> None:
    reader = gpus_of(row(0), row(1), row(0), row(0))
    assert [(gpu.index, gpu.fault) for gpu in reader.reading.gpus] == [(0, None), (1, "no longer listed by the driver")]
    assert reader.reading.gpus[1].power_w is None
    reader.feed(f"gpu {row(1)}", at=9.0)
    assert reader.reading.gpus[1].fault is None


def test_the_drivers_own_words_are_kept_when_a_gpu_is_gone() -> None:
    said = "Unable to determine the device handle for GPU1: 0000:4C:00.0: GPU is lost.  Reboot the system to recover"
    reader = gpus_of(row(0), row(1), said, row(0), row(0))
    assert reader.reading.gpus[1].fault == said


def test_a_driver_that_fails_is_quoted() -> None:
    said = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    assert gpus_of(said).reading.no_gpus_because == said
    assert gpus_of(said, row(0)).reading.no_gpus_because is None


def test_a_node_without_nvidia_smi_says_so() -> None:
    reading = reader_of("none no nvidia-smi").reading
    assert (reading.gpus, reading.no_gpus_because) == ((), "no nvidia-smi")


def test_old_names_of_columns_are_known() -> None:
    fields = "index,uuid,clocks.current.sm,clocks_throttle_reasons.active"
    (gpu,) = gpus_of("0, GPU-0, 1980, 0x0000000000000024", fields=fields).reading.gpus
    assert (gpu.sm_clock_mhz, gpu.throttle_mask, gpu.power_w) == (1980.0, 0x24, None)


def test_rows_before_their_columns_are_no_figures() -> None:
    reading = reader_of(f"gpu {row(0)}").reading
    assert reading.gpus == ()


def test_a_real_pair_at_work_with_every_column() -> None:
    lines = (LOGS / "h200x2-query-gpu.txt").read_text().splitlines()
    heading = next(line for line in reversed(lines) if line.startswith("index"))
    reader = gpus_of(*lines[-2:], fields=re.sub(r" \[[^]]*\]", "", heading).replace(" ", ""))
    assert reader.reading.gpus[1] == GpuReading(
        1,
        "GPU-00000000-1111-2222-3333-000000000001",
        name="NVIDIA H200",
        utilization_percent=100.0,
        memory_used_mib=883.0,
        memory_total_mib=143771.0,
        power_w=386.4,
        power_limit_w=700.0,
        temperature_c=41.0,
        sm_clock_mhz=1815.0,
        throttle_mask=0x4,
        memory_temperature_c=39.0,
        memory_clock_mhz=3201.0,
        sm_clock_max_mhz=1980.0,
        pstate="P0",
        fan_percent=None,
        pcie_gen=5,
        pcie_gen_max=5,
        pcie_width=16,
        pcie_width_max=16,
        pcie_bus="00000000:00:07.0",
        ecc_uncorrected=0,
        rows_pending=False,
        mig=False,
        persistence=True,
    )


def test_what_a_real_pair_said_while_one_was_at_work() -> None:
    reading = reader_of(*(LOGS / "h200x2-probe.txt").read_text().splitlines()).reading
    busy, idle = reading.gpus
    assert (busy.utilization_percent, busy.memory_used_mib, busy.power_w, busy.throttle_mask) == (37, 21007, 258.38, 0)
    assert (idle.utilization_percent, idle.memory_used_mib, idle.power_w, idle.throttle_mask) == (0, 4, 80.38, 1)
    assert [(process.pid, process.name, process.memory_mib) for process in reading.gpu_processes] == [
        (623, "python3", 20998)
    ]
    assert reading.gpu_processes[0].gpu_uuid == busy.uuid
    assert (reading.xids, reading.xids_unknown_because, reading.gpus_trouble) == ((), None, None)
    assert reading.xids_at is not None
    assert reading.host.disk_read_bytes_per_s == 0.0
    assert reading.host.net_rx_bytes_per_s == 0.0
    assert [disk.mount for disk in reading.host.disks] == ["/", "/dev/shm"]


@pytest.mark.parametrize(
    ("column", "said", "field", "value"),
    [
        ("mig.mode.current", "Enabled", "mig", True),
        ("mig.mode.current", "[N/A]", "mig", None),
        ("persistence_mode", "Disabled", "persistence", False),
        ("remapped_rows.pending", "Yes", "rows_pending", True),
        ("retired_pages.pending", "No", "rows_pending", False),
        ("ecc.errors.uncorrected.volatile.total", "3", "ecc_uncorrected", 3),
        ("ecc.errors.uncorrected.volatile.total", "[N/A]", "ecc_uncorrected", None),
        ("gpu_recovery_action", "None", "recovery_action", None),
        ("gpu_recovery_action", "Reset", "recovery_action", "Reset"),
        ("pcie.link.gen.current", "1", "pcie_gen", 1),
        ("pcie.link.gen.gpucurrent", "4", "pcie_gen", 4),
        ("pstate", "P8", "pstate", "P8"),
        ("fan.speed", "55", "fan_percent", 55.0),
        ("clocks_throttle_reasons.active", "0x0000000000000048", "throttle_mask", 0x48),
    ],
)
def test_each_column_is_read_as_what_it_is(column: str, said: str, field: str, value: object) -> None:
    (gpu,) = gpus_of(f"0, GPU-0, {said}", fields=f"index,uuid,{column}").reading.gpus
    assert getattr(gpu, field) == value
    assert gpu.fault is None


def test_a_figure_that_comes_again_after_a_fault_is_read_again() -> None:
    rows = [row(0, used="100"), row(0, used="[Unknown Error]"), row(0, used="100"), row(0, used="250")]
    reader = gpus_of(*rows[:1])
    seen = []
    for line in rows[1:]:
        reader.feed(f"gpu {line}", at=9.0)
        seen.append((reader.reading.gpus[0].memory_used_mib, reader.reading.gpus[0].fault))
    assert seen == [(None, "Unknown Error"), (100.0, None), (250.0, None)]


def test_a_lost_gpu_keeps_its_identity() -> None:
    lost = "1, [GPU is lost], [GPU is lost], " + ", ".join(["[GPU is lost]"] * 7)
    gpu = gpus_of(row(0), row(1), row(0), lost).reading.gpus[1]
    assert (gpu.uuid, gpu.name, gpu.fault, gpu.power_w) == ("GPU-1", "NVIDIA H200", "GPU is lost", None)


def test_a_gpu_that_the_driver_complains_of_by_its_bus_is_marked() -> None:
    said = "Unable to determine the device handle for GPU1: 0000:4C:00.0: GPU is lost.  Reboot the system to recover"
    fields = "index,uuid,pci.bus_id"
    reader = gpus_of("0, GPU-0, 00000000:3B:00.0", "1, GPU-1, 00000000:4C:00.0", said, fields=fields)
    assert [gpu.fault for gpu in reader.reading.gpus] == [None, said]


def test_what_a_node_prints_brings_no_escape_to_the_screen() -> None:
    reader = gpus_of("0, GPU-0, \x1b[31mRed\x1b[0m, 1", "\x1b]0;title\x07broken", fields="index,uuid,name,pstate")
    for line in ("app GPU-0, 7, 1, \x1b[2Jpython", "ended app 0", "df x 100 60 40 60% /a\x1b[0m"):
        reader.feed(line, at=1.0)
    reading = reader.reading
    assert (reading.gpus[0].name, reading.gpu_processes[0].name) == ("Red", "python")
    assert reading.host.disks[0].mount == "/a"


TICK = "tick up={} load=0.5,0.4,0.3 cpu= mem= disk= net="
HELLO = "hello k2p1 boot=a up=100.00 now=1000000000.0 tz=+0000 driver=580.1 kernel=L"


def trouble_after(*lines: str, interval_s: float = 2.0) -> str | None:
    reader = ProbeReader(interval_s)
    for number, line in enumerate(lines):
        reader.feed(line, at=float(number), wall=1e9)
    return reader.reading.gpus_trouble


@pytest.mark.parametrize(
    ("lines", "trouble"),
    [
        ([HELLO, TICK.format(108)], None),
        ([HELLO, TICK.format(111)], NO_ANSWER),
        ([HELLO, f"fields 580 {FIELDS}", TICK.format(111)], NO_ANSWER),
        ([HELLO, f"fields 580 {FIELDS}", TICK.format(109), f"gpu {row(0)}", TICK.format(118)], None),
        ([HELLO, f"fields 580 {FIELDS}", TICK.format(109), f"gpu {row(0)}", TICK.format(120)], NO_ANSWER),
        ([HELLO, f"fields 580 {FIELDS}", TICK.format(111), f"gpu {row(0)}"], None),
        ([HELLO, "none no nvidia-smi", TICK.format(190)], None),
        ([HELLO, f"fields 580 {FIELDS}", f"gpu {row(0)}", "gpu No devices were found", TICK.format(102)], None),
        (
            [HELLO, f"fields 580 {FIELDS}", f"gpu {row(0)}", "gpu No devices were found", TICK.format(104)],
            "nvidia-smi says: No devices were found",
        ),
        ([TICK.format(111)], None),
    ],
)
def test_an_nvidia_smi_that_is_silent_is_told_by_the_nodes_own_clock(lines: list[str], trouble: str | None) -> None:
    assert trouble_after(*lines) == trouble


def test_a_slow_pace_is_no_silence() -> None:
    lines = [HELLO, f"fields 580 {FIELDS}", f"gpu {row(0)}", TICK.format(125)]
    assert trouble_after(*lines, interval_s=10.0) is None
    assert trouble_after(*lines[:-1], TICK.format(131), interval_s=10.0) == NO_ANSWER


def test_the_first_line_of_a_failure_says_what_it_is() -> None:
    said = "Failed to initialize NVML: Driver/library version mismatch"
    assert gpus_of(said, "NVML library version: 570.124").reading.no_gpus_because == said


def test_processes_come_as_a_whole_list() -> None:
    reader = gpus_of(row(0))
    uuid = "GPU-00000000-1111-2222-3333-000000000000"
    lines = ["began app", f"app {uuid}, 1533, 29536, sglang::scheduler, TP0", f"app {uuid}, 0, [N/A], [Not Found]"]
    for line in lines:
        reader.feed(line, at=7.0)
    assert (reader.reading.gpu_processes, reader.reading.gpu_processes_at) == ((), None)
    reader.feed("ended app 0", at=8.0)
    assert reader.reading.gpu_processes == (
        GpuProcess(uuid, 1533, 29536.0, "sglang::scheduler, TP0"),
        GpuProcess(uuid, 0),
    )
    assert reader.reading.gpu_processes_at == 8.0
    for line in ("began app", "ended app 0"):
        reader.feed(line, at=18.0)
    assert (reader.reading.gpu_processes, reader.reading.gpu_processes_at) == ((), 18.0)


@pytest.mark.parametrize(
    ("code", "pids", "at"),
    [("137", [1533], 8.0), ("124", [1533], 8.0), ("-", [1533], 8.0), ("2", [], None), ("9", [], None)],
)
def test_a_driver_that_can_not_say_is_no_empty_list(code: str, pids: list[int], at: float | None) -> None:
    reader = gpus_of(row(0))
    for line in ("began app", "app GPU-0, 1533, 29536, python3", "ended app 0"):
        reader.feed(line, at=8.0)
    for line in ("began app", f"ended app {code}"):
        reader.feed(line, at=18.0)
    assert [process.pid for process in reader.reading.gpu_processes] == pids
    assert reader.reading.gpu_processes_at == at


def test_errors_of_the_kernels_log_are_part_of_the_reading() -> None:
    reader = reader_of(HELLO, "began kernel", "kernel [   50.500000] NVRM: Xid (PCI:0000:4c:00): 79, gone")
    before = reader.reading
    assert before.xids_at is None
    reader.kernel.source = 1
    reader.feed("ended kernel 0", at=5.0)
    (xid,) = reader.reading.xids
    assert (xid.bus, xid.number, xid.at) == ("PCI:0000:4c:00", 79, 1_000_000_000.0 - 100 + 50.5)
    reading = reader.reading
    assert (reading.xids_at, reading.xids_unknown_because) == (5.0, None)


def test_the_nodes_log_clock_is_its_local_time() -> None:
    # 1 000 000 000 here; the node's clock is 30 s ahead and its zone two hours east.
    reader = ProbeReader()
    reader.feed("hello k2p1 boot=a up=10.00 now=1000000030.250000000 tz=+0200 driver= kernel=L", at=0.0, wall=1e9)
    assert reader.reading.clock_offset_s == pytest.approx(7230.25)
    reader.feed("tick up=12.00", at=2.0, wall=1e9 + 2.5)  # came late: says less than the first
    assert reader.reading.clock_offset_s == pytest.approx(7230.25)
    reader.feed("tick up=14.00", at=4.0, wall=1e9 + 3.9)  # the greeting had been late
    assert reader.reading.clock_offset_s == pytest.approx(7230.35)
    reader.feed("clock up=20.00 now=1000000036.25 tz=-0330", at=10.0, wall=1e9 + 10)  # set back, and winter
    assert reader.reading.clock_offset_s == pytest.approx(26.25 - 12600)


def test_a_date_without_fractions_is_half_a_second_off_at_most() -> None:
    reader = ProbeReader()
    reader.feed("hello k2p1 boot=a up=10.00 now=1000000000.%N tz=+0000 driver= kernel=L", at=0.0, wall=1e9)
    assert reader.reading.clock_offset_s == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("line", "mount", "available"),
    [
        ("/dev/sda1 100 60 40 60% /", "/", 40),
        ("tmpfs 100 0 100 0% /dev/shm", "/dev/shm", 100),
        ("//nas/my share 100 60 40 60% /mnt/my data", "/mnt/my data", 40),
        ("/dev/sda1 100 110 -10 110% /full", "/full", 0),
    ],
)
def test_disks_are_read_as_df_prints_them(line: str, mount: str, available: int) -> None:
    (disk,) = reader_of(f"df {line}").reading.host.disks
    assert disk == DiskReading(mount, 100 << 10, available << 10)


def test_the_heading_of_df_is_no_disk() -> None:
    reading = reader_of("df Filesystem     1024-blocks     Used Available Capacity Mounted on").reading
    assert reading.host.disks == ()
