"""Servers that are restarted together."""

from __future__ import annotations

from k2tui.core.errors import ExitCode
from k2tui.core.several import Several
from k2tui.core.verbs import VerbEvent


def after(*events: tuple[str, ExitCode | None]) -> Several:
    several = Several(("a", "b", "c"))
    for server, code in events:
        several = several.after(VerbEvent("done" if code is not None else "started", server, 0.0, "", exit_code=code))
    return several


def test_the_first_that_is_not_verified_ends_it_and_the_rest_is_named() -> None:
    stopped = after(("a", None), ("a", ExitCode.DONE), ("b", None), ("b", ExitCode.BAD))
    assert stopped.sentence == "1 of 3 are verified; b is not; not touched: c"
    assert (stopped.code, stopped.is_good) == (ExitCode.BAD, False)


def test_all_verified_is_good() -> None:
    good = after(*((name, ExitCode.DONE) for name in "abc"))
    assert good.sentence == "3 of 3 are verified"
    assert (good.code, good.is_good) == (ExitCode.DONE, True)


def test_a_node_out_of_reach_keeps_its_own_code() -> None:
    lost = after(("a", ExitCode.UNREACHABLE), ("b", ExitCode.BAD))
    assert lost.code is ExitCode.UNREACHABLE
    assert lost.sentence == "0 of 3 are verified; a, b are not; not touched: c"


def test_one_that_was_begun_and_never_ended_is_not_untouched() -> None:
    cut = after(("a", None))
    assert (cut.failed, cut.untouched, cut.code) == (("a",), ("b", "c"), ExitCode.BAD)
