"""What a node's probe says becomes a reading; what it does not say stays unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.probe import ProbeReader
from k2tui.core.readings import DiskReading, NodeReading

H200 = Path(__file__).parent.parent / "logs" / "nvidia-smi" / "h200-probe.txt"
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


@given(st.sampled_from(["hello k2p1 ", "tick ", "df ", "gpu ", "fields ", "none ", "clock "]), st.text(max_size=120))
def test_no_words_can_break_it_either(tag: str, words: str) -> None:
    reader = gpus_of(row(0))
    reader.feed(tag + words, at=1.0, wall=1.0)
    reader.feed("gpu " + words, at=2.0)


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
