"""What a stop of somebody else's engine would hit is named before, and what may not be stopped is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.foreign.stopping import ForeignLook, Hit, parse_look, refusal
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.runs import ProcessIdentity

FOUND = FoundServer(NodeProcess(ProcessIdentity("boot", 41, 9), 1, 40, "ann", "python3"), "sglang", ("python3",))
TOLD = b"""me 1000
main 41 1000
session 40 /dev/pts/3 -bash
tree 41 1000 python3 -m sglang.launch_server --api-key hunter2hunter2
tree 43 1000 sglang::scheduler_TP0
beside 50 1000 sglang::detokenizer
unit user@1000.service
unit sglang.service
env HF_TOKEN
env PATH
env NCCL_ALGO
env 1BAD
k2end
"""
LOOK = ForeignLook(me="1000", uid="1000", session=40, leader="-bash", tty="/dev/pts/3", tree=(Hit(41, "1000", "x"),))


def test_a_look_is_read() -> None:
    look = parse_look(TOLD)
    assert look is not None
    assert (look.me, look.uid, look.session, look.leader, look.tty) == ("1000", "1000", 40, "-bash", "/dev/pts/3")
    assert [hit.pid for hit in look.tree] == [41, 43]
    assert "hunter2" not in repr(look)
    assert look.unit == "sglang.service"
    assert look.not_carried(frozenset({"NCCL_ALGO"})) == ("HF_TOKEN",)


def test_what_is_hit_is_named_with_what_stays() -> None:
    look = parse_look(TOLD)
    assert look is not None
    assert look.sentence(FOUND) == (
        "2 processes of ann (uid 1000) in session 40 will be stopped: pid 41, 43;"
        " the session's own -bash on pts/3 and its other children stay"
    )
    assert look.left_alone() == (
        "engine's processes that are not below it are left alone: pid 50 (sglang::detokenizer)"
    )


def test_an_answer_that_broke_off_is_none() -> None:
    assert parse_look(TOLD.removesuffix(b"k2end\n")) is None


@given(st.binary())
def test_no_answer_can_break_it(output: bytes) -> None:
    parse_look(output + b"\nk2end\n")
    parse_look(output.replace(b"\n", b"\ntree ") + b"\nk2end\n")


@pytest.mark.parametrize(
    ("look", "found", "code", "words"),
    [
        (LOOK, FOUND, None, ""),
        (replace(LOOK, uid=None), FOUND, "not_running", "is not running any more"),
        (replace(LOOK, uid=None, reused="sleep 9"), FOUND, "not_running", "pid 41 is another process now: sleep 9"),
        (replace(LOOK, uid="7"), FOUND, "foreign_user", "pid 41 belongs to ann"),
        (replace(LOOK, me="0"), FOUND, "foreign_user", "pid 41 belongs to ann"),
        (replace(LOOK, tree=(*LOOK.tree, Hit(44, "0", "x"))), FOUND, "foreign_user", "pid 44 belongs to uid 0"),
        (LOOK, replace(FOUND, container="docker 012345"), "in_a_container", "it runs in docker 012345"),
        (replace(LOOK, unit="a.service"), FOUND, "in_a_service", "the service a.service, which may start it again"),
    ],
)
def test_what_may_not_be_stopped(look: ForeignLook, found: FoundServer, code: str | None, words: str) -> None:
    error = refusal(look, found, "kimi")
    assert (error and error.code) == code
    assert words in str(error)
    assert error is None or error.hint is not None
