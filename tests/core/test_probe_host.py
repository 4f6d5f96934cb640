"""Rates come of two ticks, and how a disk fills of some minutes."""

from __future__ import annotations

import pytest

from k2tui.core.probing.host import HostTable, growth_bytes_per_s
from k2tui.core.readings import DiskReading

GB = 1 << 30


def rates(*ticks: tuple[float | None, str, str]) -> tuple[float | None, ...]:
    """Disk read, written, net received, sent after these (uptime, disk, net)."""
    table = HostTable()
    for up_s, disk, net in ticks:
        table.tick({"disk": disk, "net": net}, up_s)
    host = table.reading
    return (
        host.disk_read_bytes_per_s,
        host.disk_write_bytes_per_s,
        host.net_rx_bytes_per_s,
        host.net_tx_bytes_per_s,
    )


UNKNOWN = (None, None, None, None)


@pytest.mark.parametrize(
    ("ticks", "wanted"),
    [
        ([(10.0, "100,200", "5,6")], UNKNOWN),
        ([(10.0, "100,200", "1000,0"), (12.0, "300,200", "5000,100")], (51200.0, 0.0, 2000.0, 50.0)),
        ([(10.0, "100,200", "1000,0"), (12.0, "", ""), (14.0, "900,900", "9000,900")], UNKNOWN),
        ([(10.0, "100,200", "1000,0"), (12.0, "50,200", "500,0")], UNKNOWN),
        ([(10.0, "100,200", "1000,0"), (9.0, "300,300", "5000,5000")], UNKNOWN),
        ([(10.0, "1,2", "1,2"), (12.0, "3,2", "5,2"), (12.1, "9,9", "9,9")], (512.0, 0.0, 2.0, 0.0)),
        ([(None, "1,2", "1,2"), (12.0, "3,2", "5,2")], UNKNOWN),
        ([(10.0, "1,2,3", "x"), (12.0, "3", "1,-2")], UNKNOWN),
    ],
    ids=["first", "two", "another set", "went back", "time went back", "too close", "no time", "no numbers"],
)
def test_rates_need_two_ticks_of_the_same_devices(
    ticks: list[tuple[float | None, str, str]], wanted: tuple[float | None, ...]
) -> None:
    assert rates(*ticks) == wanted


def steady(rate: float, *, looks: int = 10, every_s: float = 30.0, start: int = 500 * GB) -> list[tuple[float, int]]:
    return [(number * every_s, round(start - rate * number * every_s)) for number in range(looks)]


def with_step(looks: list[tuple[float, int]], at: int, bytes_more: int) -> list[tuple[float, int]]:
    return [(when, free + (bytes_more if number >= at else 0)) for number, (when, free) in enumerate(looks)]


@pytest.mark.parametrize(
    ("looks", "wanted"),
    [
        ([], None),
        (steady(1e6, looks=1), None),
        (steady(1e6, looks=2, every_s=10.0), None),
        (steady(1e6, looks=2), 1e6),
        (steady(2e8), 2e8),
        (steady(0.0), 0.0),
        (steady(-3e7), -3e7),
        (with_step(steady(2e8), 3, 100 * GB), 2e8),
        (with_step(steady(0.0), 8, -100 * GB), 0.0),
    ],
    ids=["none", "one", "too short", "two", "fills", "stands", "empties", "a big file removed", "a big file written"],
)
def test_growth_is_what_most_looks_agree_on(looks: list[tuple[float, int]], wanted: float | None) -> None:
    assert growth_bytes_per_s(looks) == (None if wanted is None else pytest.approx(wanted, rel=0.05, abs=1e3))


def test_a_disk_learns_its_growth_over_the_last_minutes() -> None:
    table = HostTable()
    for number in range(60):  # 200 kB/s for five minutes, then nothing for five
        left = 1_000_000 - min(number, 30) * 2_000
        table.df(f"/dev/sda1 2000000 0 {left} 50% /data", number * 10.0)
    (disk,) = table.reading.disks
    assert disk.growth_bytes_per_s == 0.0
    assert disk.full_in_s is None
    table = HostTable()
    for number in range(30):
        table.df(f"/dev/sda1 2000000 0 {1_000_000 - number * 2_000} 50% /data", number * 10.0)
    (disk,) = table.reading.disks
    assert disk.growth_bytes_per_s == pytest.approx(200 * 1024)
    assert disk.full_in_s == pytest.approx(disk.available_bytes / (200 * 1024))


def test_another_file_system_on_the_same_place_begins_anew() -> None:
    table = HostTable()
    for number in range(5):
        table.df(f"/dev/sda1 2000000 0 {1_000_000 - number * 2_000} 50% /data", number * 30.0)
    table.df("/dev/sdb1 9000000 0 9000000 0% /data", 150.0)
    assert table.reading.disks == (DiskReading("/data", 9000000 << 10, 9000000 << 10),)


def test_a_reboot_compares_nothing_with_what_came_before() -> None:
    table = HostTable()
    table.tick({"disk": "1000,1000", "net": "10,10", "cpu": "10,0,10,100,0,0,0,0"}, 500.0)
    table.begin()
    table.tick({"disk": "2000,2000", "net": "20,20", "cpu": "90,0,90,900,0,0,0,0"}, 502.0)
    assert (table.reading.disk_read_bytes_per_s, table.reading.cpu_percent) == (None, None)
