"""Signs of life: when a scheduler is doubted, when it is asked, when it is called dead."""

from __future__ import annotations

from itertools import pairwise

import pytest

from k2tui.core.measuring.look import Counters, Look, RankLook
from k2tui.core.measuring.pulse import (
    DEAD_AFTER_S,
    DOUBT_AFTER_S,
    MOST_PATIENCE_S,
    Pulse,
    alive,
    answered,
    looked,
    unanswered,
)


def look(at: float, *, running: int = 3, written: float = 1.0, active: int | None = None) -> Look:
    return Look(at, "loads", (RankLook(0, running=running, waiting=0, written_at=written),), active=active)


def after(*looks: Look, pulse: Pulse | None = None) -> Pulse:
    pulse = pulse or Pulse()
    for before, one in zip((None, *looks), looks, strict=False):
        pulse = looked(pulse, before, one, working=bool(one.at_work))
    return pulse


def test_an_idle_server_is_never_still() -> None:
    idle = after(look(0.0, running=0), look(100.0, running=0))
    assert (idle.still_s, idle.is_doubtful) == (None, False)


def test_a_server_whose_figures_move_is_alive() -> None:
    busy = after(look(0.0, written=1.0), look(5.0, written=6.0))
    assert busy.still_s == 0.0


def test_work_without_a_sign_of_life_is_doubt() -> None:
    assert not after(look(0.0), look(DOUBT_AFTER_S - 0.1)).is_doubtful
    assert after(look(0.0), look(2.0), look(DOUBT_AFTER_S)).is_doubtful


def test_time_in_which_nobody_looked_is_no_stillness() -> None:
    assert after(look(0.0), look(2.0, written=3.0)).still_s == 0.0


def test_open_requests_that_never_reach_the_scheduler_are_work_too() -> None:
    stood = after(look(0.0, running=0, active=0), look(5.0, running=0, active=2), look(10.0, running=0, active=2))
    assert stood.still_s == 5.0


def test_a_counter_that_grows_is_a_sign_of_life() -> None:
    def metrics(at: float, tokens: float) -> Look:
        return Look(at, "metrics", (RankLook(0, running=1),), Counters(decode_tokens=tokens))

    assert after(metrics(0.0, 5.0), metrics(9.0, 6.0)).still_s == 0.0
    assert after(metrics(0.0, 5.0), metrics(9.0, 5.0)).still_s == 9.0


def test_new_work_is_given_its_time() -> None:
    assert after(look(0.0, running=0), look(60.0, running=0), look(90.0)).still_s == 0.0


def test_questions_come_less_and_less_often() -> None:
    pulse, now = after(look(0.0)), 0.0
    asked: list[float] = []
    urgent = 0
    while now < 300.0:
        now += 1.0
        pulse = looked(pulse, look(now - 1.0), look(now), working=True)
        urgent += pulse.is_urgent
        if pulse.owes_question(now):
            asked.append(now)
            pulse = unanswered(pulse, now)
    gaps = [after - before for before, after in pairwise(asked)]
    assert asked[0] == DOUBT_AFTER_S
    assert gaps == sorted(gaps)
    assert gaps[-1] == MOST_PATIENCE_S
    assert 30 < urgent < 90


def test_an_answer_takes_the_doubt_away_for_a_while() -> None:
    pulse = answered(unanswered(after(look(0.0), look(5.0)), 5.0), 6.0, 6.5)
    assert (pulse.unanswered_since, pulse.is_doubtful) == (None, False)
    still = looked(pulse, look(5.0), look(12.0), working=True)
    assert still.is_doubtful
    assert not still.owes_question(12.0)  # it makes no token, but it answered: it is not pestered
    assert still.owes_question(30.0)


@pytest.mark.parametrize(
    ("pulse", "until", "dead"),
    [
        (after(look(0.0)), 100.0, False),  # nobody asked
        (unanswered(after(look(0.0)), 5.0), DEAD_AFTER_S - 1, False),
        (unanswered(after(look(0.0)), 5.0), DEAD_AFTER_S, True),
        (unanswered(alive(after(look(0.0)), 50.0), 55.0), 69.0, False),
        (unanswered(alive(after(look(0.0)), 50.0), 55.0), 70.0, True),
        (alive(unanswered(after(look(0.0)), 5.0), 60.0), 100.0, False),  # it moved since
    ],
)
def test_it_is_dead_when_it_neither_moves_nor_answers(pulse: Pulse, until: float, dead: bool) -> None:
    looked_on = looked(pulse, look(0.0), look(until), working=True)
    assert looked_on.is_dead is dead


@pytest.mark.parametrize(("until", "dead"), [(119.0, False), (120.0, True)])
def test_an_idle_one_is_dead_when_it_does_not_answer(until: float, dead: bool) -> None:
    pulse = unanswered(Pulse(), 100.0)
    assert looked(pulse, None, look(until, running=0), working=False).is_dead is dead


def test_time_in_which_nobody_looked_kills_nobody() -> None:
    assert not unanswered(after(look(0.0), look(6.0)), 6.0).is_dead


def test_an_old_sign_does_not_undo_a_newer_one() -> None:
    pulse = unanswered(alive(Pulse(), 50.0), 55.0)
    assert alive(pulse, 40.0) == pulse
