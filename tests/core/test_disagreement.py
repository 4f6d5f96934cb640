"""What is said where the witnesses of a server contradict each other."""

from __future__ import annotations

import pytest

from k2tui.core.disagreement import Statements, disagreement

WELL = Statements(
    process_alive=True,
    schedulers=8,
    schedulers_before=8,
    log_ready=True,
    listening=True,
    port=30000,
    http_ok=True,
    http_says="HTTP 200",
    completion_ok=True,
)


def said(**changes: object) -> str | None:
    known = {name: getattr(WELL, name) for name in Statements.__slots__}
    return disagreement(Statements(**{**known, **changes}))


def test_witnesses_that_agree_need_no_sentence() -> None:
    assert said() is None
    assert disagreement(Statements()) is None
    assert said(http_ok=None, listening=None, schedulers=None, completion_ok=None) is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"schedulers": 0, "at_work": 3, "still_s": 43.0},
            "HTTP answers, but no scheduler process is left, with 3 requests in work and no token for 40 s",
        ),
        ({"schedulers": 7}, "HTTP answers, but 1 of its 8 scheduler processes is gone"),
        ({"schedulers": 5}, "HTTP answers, but 3 of its 8 scheduler processes are gone"),
        ({"schedulers": 0, "http_ok": False}, "its process lives, but no scheduler process is left"),
        (
            {"scheduler_silent_s": 4.6, "at_work": 1, "still_s": 9.0},
            "HTTP answers, but its scheduler has answered nothing for 4 s, with a request in work and no token for 9 s",
        ),
        ({"scheduler_silent_s": 200.0}, "HTTP answers, but its scheduler has answered nothing for 3 min"),
        ({"listening": False, "http_ok": False}, "its log says ready and its process lives, but nothing listens on"),
        (
            {"http_ok": False, "http_says": "no answer within 5 s", "listening": None},
            "its log says ready and its process lives, but HTTP does not answer: no answer within 5 s",
        ),
        (
            {"completion_ok": False, "completion_says": "HTTP 503"},
            "HTTP answers, but a completion failed: HTTP 503",
        ),
        ({"log_hung": True, "log_ready": False}, "its log is silent as if it hung, but a completion came back"),
        (
            {"log_hung": True, "log_ready": False, "completion_ok": None},
            "its log is silent as if it hung, but HTTP answers",
        ),
        ({"process_alive": False}, "no process of this run is left, but something answers on port 30000"),
    ],
)
def test_who_says_what_is_one_sentence(changes: dict[str, object], sentence: str) -> None:
    found = said(**changes)
    assert found is not None
    assert found.startswith(sentence)


def test_a_process_that_is_gone_and_silent_is_no_contradiction() -> None:
    assert said(process_alive=False, http_ok=None) is None


def test_the_sentence_does_not_change_with_each_second() -> None:
    sentences = {said(scheduler_silent_s=20.0 + tenth / 10) for tenth in range(50)}
    assert len(sentences) == 1
