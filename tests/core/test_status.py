"""The word for a server, witness by witness."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.launch import Launch, LaunchKind, LaunchPhase, PhaseSpan
from k2tui.core.runs import Run
from k2tui.core.status import STALE_AFTER_S, answers_all_the_same, server_status
from k2tui.core.views import Proof, ServerStatus

ALIVE = Run("kimi", "20261129T120000Z-0a1b", "/data/k2tui/runs/kimi/x", alive=True)
GONE = Run("kimi", "20261129T120000Z-0a1b", "/data/k2tui/runs/kimi/x", alive=False, exit_code=137)
ASKED = Run("kimi", "20261129T120000Z-0a1b", "/data/k2tui/runs/kimi/x", alive=False, exit_code=143, stop_asked=True)
READY = Launch(phase=LaunchPhase.READY, kind=LaunchKind.READY)
LOADING = Launch(phase=LaunchPhase.WEIGHTS)
REFUSED = Launch(kind=LaunchKind.MISCONFIGURED)
GOOD, BAD = Proof(True, "47 tokens"), Proof(False, "HTTP 503")


@pytest.mark.parametrize(
    ("run", "launch", "proof", "status"),
    [
        (None, None, None, ServerStatus.DOWN),
        (ALIVE, None, None, ServerStatus.LOADING),
        (ALIVE, LOADING, None, ServerStatus.LOADING),
        (ALIVE, READY, None, ServerStatus.UNPROVED),
        (ALIVE, READY, GOOD, ServerStatus.READY),
        (ALIVE, READY, BAD, ServerStatus.DEGRADED),
        (ALIVE, Launch(kind=LaunchKind.HUNG), None, ServerStatus.HUNG),
        (GONE, READY, GOOD, ServerStatus.CRASHED),
        (GONE, LOADING, None, ServerStatus.CRASHED),
        (GONE, REFUSED, None, ServerStatus.MISCONFIGURED),
        (ASKED, READY, GOOD, ServerStatus.DOWN),
    ],
)
def test_a_status_is_what_the_witnesses_say_together(
    run: Run | None, launch: Launch | None, proof: Proof | None, status: ServerStatus
) -> None:
    assert server_status(seen_age_s=0.1, link_up=True, run=run, launch=launch, proof=proof) is status


def test_nothing_is_known_before_the_first_look() -> None:
    assert server_status(seen_age_s=None, link_up=True, run=ALIVE, launch=READY, proof=GOOD) is ServerStatus.UNKNOWN


def test_an_old_look_at_a_lost_node_is_stale() -> None:
    old = STALE_AFTER_S + 1
    assert server_status(seen_age_s=old, link_up=False, run=ALIVE, launch=READY, proof=GOOD) is ServerStatus.STALE
    assert server_status(seen_age_s=old, link_up=True, run=ALIVE, launch=READY, proof=GOOD) is ServerStatus.READY


def test_a_watched_log_is_judged_by_its_log_alone() -> None:
    status = server_status(seen_age_s=0.1, link_up=True, run=None, launch=LOADING, proof=None, watched_only=True)
    assert status is ServerStatus.LOADING


SILENT = Launch(phase=LaunchPhase.SERVING, kind=LaunchKind.HUNG)


@pytest.mark.parametrize(
    ("launch", "proof", "proof_age_s", "idle_age_s", "answers"),
    [
        (SILENT, None, None, None, False),
        (SILENT, GOOD, 10.0, None, True),
        (SILENT, GOOD, 700.0, None, False),
        (SILENT, None, None, 10.0, True),
        (SILENT, None, None, 700.0, False),
        (SILENT, BAD, 10.0, 5.0, False),
        (SILENT, BAD, 700.0, 5.0, True),
        (Launch(phase=LaunchPhase.WEIGHTS, kind=LaunchKind.HUNG), GOOD, 10.0, 10.0, False),
        (Launch(phase=LaunchPhase.SERVING, kind=LaunchKind.HUNG, failed_at=1.0), GOOD, 10.0, 10.0, False),
    ],
)
def test_an_answer_since_its_log_fell_silent_wins_over_the_silence(
    launch: Launch, proof: Proof | None, proof_age_s: float | None, idle_age_s: float | None, answers: bool
) -> None:
    found = answers_all_the_same(launch, silent_s=600.0, proof=proof, proof_age_s=proof_age_s, idle_age_s=idle_age_s)
    assert found is answers
    status = server_status(seen_age_s=0.1, link_up=True, run=ALIVE, launch=launch, proof=proof, answers=found)
    assert (status is not ServerStatus.HUNG) is answers


def test_a_process_that_is_gone_answers_nothing() -> None:
    status = server_status(seen_age_s=0.1, link_up=True, run=GONE, launch=SILENT, proof=GOOD, answers=True)
    assert status is ServerStatus.CRASHED


@pytest.mark.parametrize("proof", [None, GOOD, BAD])
def test_a_scheduler_that_is_gone_or_gives_no_sign_of_life_is_hung(proof: Proof | None) -> None:
    """The zombie: its parent lives and HTTP answers."""
    status = server_status(seen_age_s=0.1, link_up=True, run=ALIVE, launch=READY, proof=proof, dead=True, http_ok=True)
    assert status is ServerStatus.HUNG


@pytest.mark.parametrize(
    ("run", "launch", "status"),
    [
        (ALIVE, LOADING, ServerStatus.LOADING),
        (ALIVE, Launch(kind=LaunchKind.CRASHED), ServerStatus.CRASHED),
        (GONE, READY, ServerStatus.CRASHED),
        (ASKED, READY, ServerStatus.DOWN),
    ],
)
def test_a_dead_scheduler_tells_nothing_new_of_what_does_not_serve(
    run: Run, launch: Launch, status: ServerStatus
) -> None:
    assert server_status(seen_age_s=0.1, link_up=True, run=run, launch=launch, proof=None, dead=True) is status


STARTED = Launch(phase=LaunchPhase.WEIGHTS, spans=(PhaseSpan(LaunchPhase.WEIGHTS, 1.0, None),))
SERVES = replace(STARTED, phase=LaunchPhase.READY, kind=LaunchKind.READY)
FAILED = replace(STARTED, kind=LaunchKind.CRASHED)


def test_somebody_elses_server_that_generates_for_others_is_ready() -> None:
    def said(*, found: bool | None, launch: Launch | None, generates: bool) -> ServerStatus:
        return server_status(
            seen_age_s=0.1,
            link_up=True,
            run=ALIVE,
            launch=launch,
            proof=None,
            found=found,
            http_ok=True,
            generates=generates,
        )

    assert said(found=True, launch=None, generates=True) is ServerStatus.READY
    assert said(found=True, launch=SERVES, generates=False) is ServerStatus.UNPROVED
    assert said(found=True, launch=FAILED, generates=True) is ServerStatus.CRASHED
    assert said(found=None, launch=SERVES, generates=True) is ServerStatus.UNPROVED  # our own is asked a question


@pytest.mark.parametrize(
    ("found", "launch", "http_ok", "proof", "status"),
    [
        (True, None, None, None, ServerStatus.LOADING),
        (True, None, False, None, ServerStatus.LOADING),
        (True, None, True, None, ServerStatus.UNPROVED),
        (True, None, True, GOOD, ServerStatus.READY),
        (True, None, True, BAD, ServerStatus.DEGRADED),
        (True, Launch(), True, None, ServerStatus.UNPROVED),  # a log that tells nothing
        (True, STARTED, None, None, ServerStatus.LOADING),
        (True, STARTED, True, None, ServerStatus.UNPROVED),  # its log is behind
        (True, SERVES, None, None, ServerStatus.UNPROVED),
        (True, SERVES, True, GOOD, ServerStatus.READY),
        (True, FAILED, True, None, ServerStatus.CRASHED),
        (False, SERVES, True, GOOD, ServerStatus.DOWN),
        (False, None, None, None, ServerStatus.DOWN),
        (False, FAILED, None, None, ServerStatus.CRASHED),
    ],
)
def test_somebody_elses_server_is_known_by_log_or_http(
    found: bool, launch: Launch | None, http_ok: bool | None, proof: Proof | None, status: ServerStatus
) -> None:
    said = server_status(
        seen_age_s=0.1, link_up=True, run=None, launch=launch, proof=proof, found=found, http_ok=http_ok
    )
    assert said is status
