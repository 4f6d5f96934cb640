"""Whether there were errors is known, or it is known why not."""

from __future__ import annotations

import pytest

from k2tui.core.probing.kernel_log import MOST_XIDS, PERIOD_S, REFUSED_PERIOD_S, KernelLog

BOOT = 1_796_000_000.0
XID = "1796000123.456789 gpu-a kernel: NVRM: Xid (PCI:0000:4c:00): 31, pid=1533, x"
HINT = "Hint: You are currently not seeing messages from other users and the system."
NO_FILES = "No journal files were found."
DENIED = "dmesg: read kernel buffer failed: Operation not permitted"


def answered(*answers: tuple[list[str], str]) -> KernelLog:
    log = KernelLog()
    for lines, code in answers:
        log.question(BOOT + 500.0)
        log.answered(lines, code, BOOT)
    return log


def test_the_journal_is_asked_from_where_it_was_read() -> None:
    log = KernelLog()
    assert log.question(BOOT + 100.0) == "ask kernel journal"
    log.answered([XID], "0", BOOT)
    assert log.question(BOOT + 130.0) == f"ask kernel journal {int(BOOT) + 95}"
    log.answered(["-- No entries --"], "0", BOOT)
    assert log.question(BOOT + 160.0) == f"ask kernel journal {int(BOOT) + 125}"
    assert [xid.number for xid in log.xids] == [31]


def test_no_error_is_known_to_be_none() -> None:
    log = answered(([], "0"))
    assert (log.xids, log.unknown_because, log.is_settled, log.period_s) == ((), None, True, PERIOD_S)


@pytest.mark.parametrize(
    ("journal", "dmesg", "because"),
    [
        (([HINT, "-- No entries --"], "0"), ([DENIED], "1"), "no permission"),
        ((["No journal files were opened due to insufficient permissions."], "1"), ([DENIED], "1"), "no permission"),
        (([], "127"), ([], "127"), "neither journalctl nor dmesg"),
        (([NO_FILES, "-- No entries --"], "0"), ([DENIED], "1"), "no permission"),
        (([NO_FILES], "0"), ([], "127"), "neither"),
        (([], "137"), ([], "127"), "longer than 10 s"),
        (([], "124"), ([DENIED], "1"), "no permission"),
        ((["-- No entries --"], "0"), ([], "127"), "no messages of the kernel"),
        ((["journalctl: unrecognized option '--since=@1'"], "1"), ([], "127"), "can't be read: journalctl: unrecog"),
        (([], "-"), ([], "-"), "can't be read: journal ended with -"),
    ],
)
def test_who_can_not_read_it_says_why(
    journal: tuple[list[str], str], dmesg: tuple[list[str], str], because: str
) -> None:
    log = answered(journal)
    assert (log.is_settled, log.unknown_because, log.period_s) == (False, None, 0.0)
    assert log.question(None) == "ask kernel dmesg"
    log.answered(*dmesg, BOOT)
    assert log.unknown_because is not None
    assert because in log.unknown_because
    assert (log.is_settled, log.period_s) == (True, REFUSED_PERIOD_S)


def test_dmesg_helps_where_the_journal_can_not() -> None:
    log = answered(([HINT], "1"), (["[  123.456789] NVRM: Xid (PCI:0000:4c:00): 79, gone"], "0"))
    assert ([xid.number for xid in log.xids], log.unknown_because) == ([79], None)
    assert log.question(None) == "ask kernel dmesg"


def test_a_permission_that_is_given_later_is_seen() -> None:
    log = answered(([HINT], "1"), ([DENIED], "1"), ([XID], "0"))
    assert (len(log.xids), log.unknown_because) == (1, None)


def test_why_it_is_unknown_stays_while_it_is_asked_again() -> None:
    log = answered(([HINT], "1"), ([DENIED], "1"), ([HINT], "1"))
    assert log.unknown_because is not None


def test_a_line_counts_once_however_often_it_comes() -> None:
    log = answered(([XID], "0"), ([XID], "0"), ([XID], "0"))
    assert len(log.xids) == 1


def test_a_storm_keeps_the_newest() -> None:
    lines = [f"17960{number:05}.000000 gpu-a kernel: NVRM: Xid (PCI:0000:4c:00): 31, {number}" for number in range(900)]
    log = answered(*((lines[start : start + 60], "0") for start in range(0, 900, 60)))
    assert len(log.xids) == MOST_XIDS
    assert [xid.text[-3:] for xid in log.xids] == [str(number) for number in range(850, 900)]


def test_another_boot_has_another_log() -> None:
    log = answered(([XID], "0"))
    log.begin(rebooted=False)
    assert len(log.xids) == 1
    log.begin(rebooted=True)
    assert not log.xids
    assert log.question(None) == "ask kernel journal"


def test_while_an_answer_is_waited_for_nothing_more_is_asked() -> None:
    log = KernelLog()
    assert log.period_s == 0.0
    log.question(None)
    assert log.period_s == PERIOD_S
