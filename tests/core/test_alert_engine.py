"""Hysteresis, what is not known, what happens again, and what a new k2tui takes up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.alerting.book import DEFAULT_RULES, book_of
from k2tui.core.alerting.engine import AlertState, changed, rule_of, taken_up
from k2tui.core.alerts import Alert
from k2tui.core.events import Severity
from k2tui.core.link import LinkPhase
from k2tui.core.readings import Xid
from k2tui.core.runs import Run
from k2tui.core.settings import AlertRuleSettings, AlertSettings
from k2tui.core.views import ServerStatus
from tests.core.alerting import DAY, Looker

HOT, WARM, COOL = 95.0, 87.0, 70.0


def warm(**more: object) -> AlertSettings:
    """One rule of the operator's own, and none beside it."""
    rule = AlertRuleSettings(**{"name": "warm", "on": "gpu", "when": "temp > 80", "for_s": 10.0, **more})  # type: ignore[arg-type]
    return AlertSettings(off=tuple(DEFAULT_RULES), rules={"warm": rule})


def test_it_is_raised_once_it_held_so_long_and_began_when_it_began() -> None:
    looker = Looker()
    looker.look()
    looker.set_gpu(temperature_c=HOT)
    looker.look()
    began = looker.at
    looker.look_for(58)
    assert looker.raised == []
    looker.look_for(2)
    assert looker.raised == ["gpu_hot"]
    assert looker.only().began_at == began
    looker.look_for(600)
    assert looker.raised == ["gpu_hot"]


def test_between_the_two_limits_nothing_changes() -> None:
    looker = Looker()
    looker.set_gpu(temperature_c=WARM)
    looker.look_for(100)
    assert looker.raised == []
    looker.set_gpu(temperature_c=HOT)
    looker.look_for(64)
    looker.set_gpu(temperature_c=WARM)
    looker.look_for(600)
    assert (looker.raised, looker.ended) == (["gpu_hot"], [])
    looker.set_gpu(temperature_c=COOL)
    looker.look_for(64)
    assert looker.ended == ["gpu_hot"]


def test_what_comes_back_before_it_was_over_for_long_enough_is_the_same_alert() -> None:
    looker = Looker()
    looker.set_gpu(temperature_c=HOT)
    looker.look_for(64)
    for _ in range(5):
        looker.set_gpu(temperature_c=COOL)
        looker.look_for(40)
        looker.set_gpu(temperature_c=HOT)
        looker.look_for(40)
    assert (looker.raised, looker.ended) == (["gpu_hot"], [])


def test_a_reading_that_does_not_change_counts_once_however_often_one_looks() -> None:
    looker = Looker()
    looker.set_gpu(temperature_c=HOT)
    looker.look()
    looker.fresh = False
    looker.look_for(50)
    looker.fresh = True
    looker.look()
    assert looker.raised == []
    looker.look_for(12)
    assert looker.raised == ["gpu_hot"]


def test_the_time_in_which_nobody_looked_does_not_count() -> None:
    looker = Looker()
    looker.set_gpu(temperature_c=HOT)
    looker.look_for(20)
    looker.now += 3600  # the laptop slept
    looker.look_for(30)
    assert looker.raised == []
    looker.look_for(20)
    assert looker.raised == ["gpu_hot"]


def test_unknown_neither_raises_nor_ends_and_the_alert_says_since_when_nobody_knows() -> None:
    looker = Looker()
    looker.set_gpu(temperature_c=HOT)
    looker.look_for(64)
    assert looker.only().unseen_since is None
    looker.set_gpu(temperature_c=None)
    looker.look()
    unseen = looker.at
    looker.look_for(600)
    assert looker.only().unseen_since == unseen
    looker.set_gpu(temperature_c=WARM)
    looker.look()
    assert looker.only().unseen_since is None
    assert (looker.raised, looker.ended) == (["gpu_hot"], [])


def test_what_is_unknown_for_a_moment_does_not_begin_anew() -> None:
    looker = Looker()
    for _ in range(20):
        looker.set_gpu(temperature_c=HOT)
        looker.look_for(8)
        looker.set_gpu(temperature_c=None)
        looker.look()
    assert looker.raised == ["gpu_hot"]


def test_a_node_that_is_lost_mutes_all_below_it_and_what_held_goes_on_holding() -> None:
    looker = Looker()
    looker.look()
    looker.set_server(status=ServerStatus.CRASHED)
    looker.look()
    looker.set_link(phase=LinkPhase.DOWN, reason="no answer")
    looker.set_server(status=ServerStatus.HUNG)
    looker.set_gpu(temperature_c=HOT, fault="GPU is lost", utilization_percent=None, memory_used_mib=None)
    looker.look_for(600)
    assert looker.raised == ["server_crashed", "node_lost"]
    assert looker.ended == []
    held = {alert.rule: alert for alert in looker.state.alerts}
    assert held["server_crashed"].unseen_since is not None
    assert held["node_lost"].unseen_since is None


def test_an_alert_of_a_server_that_is_not_there_any_more_is_over() -> None:
    looker = Looker()
    looker.set_server(status=ServerStatus.CRASHED)
    looker.look()
    looker.server = None
    looker.look()
    assert (looker.raised, looker.ended) == (["server_crashed"], ["server_crashed"])


def test_a_gpu_that_is_not_there_any_more_is_not_well_again() -> None:
    looker = Looker()
    looker.set_gpu(temperature_c=HOT)
    looker.look_for(64)
    looker.gpu = None
    looker.look_for(600)
    assert looker.ended == []
    assert looker.only().unseen_since is not None


def test_a_server_that_crashes_again_while_it_loads_again_is_one_alert() -> None:
    looker = Looker()
    for _ in range(5):
        looker.set_server(status=ServerStatus.CRASHED)
        looker.look_for(10)
        looker.set_server(status=ServerStatus.LOADING)
        looker.look_for(60)
    assert (looker.raised, looker.ended) == (["server_crashed"], [])
    looker.set_server(status=ServerStatus.UNPROVED)
    looker.look()
    assert looker.ended == ["server_crashed"]


def crash_at(looker: Looker, at: float) -> None:
    looker.set_server(status=ServerStatus.CRASHED, run=Run("kimi", "r", "/d", alive=False, exit_code=1, ended_at=at))
    looker.look()


def acknowledge(looker: Looker) -> None:
    alert = looker.only()
    looker.state = changed(looker.state, alert, replace(alert, acknowledged_at=looker.at))


def test_what_happened_before_the_operator_said_seen_is_seen_and_what_happens_after_is_new() -> None:
    looker = Looker()
    crash_at(looker, DAY + 10)
    assert looker.only().began_at == DAY + 10
    crash_at(looker, DAY + 50)
    assert looker.raised == ["server_crashed"]
    acknowledge(looker)
    looker.look_for(20)
    assert (looker.raised, looker.only().is_open) == (["server_crashed"], False)
    crash_at(looker, looker.at)
    assert (looker.raised, looker.ended) == (["server_crashed"] * 2, ["server_crashed"])
    assert looker.only().is_open


def test_a_new_error_of_the_same_number_after_the_operator_said_seen_is_a_new_alert() -> None:
    looker = Looker()
    looker.reading = {"xids": (Xid("PCI:0000:17:00", 31, "x", looker.at - 60),)}
    looker.look()
    acknowledge(looker)
    looker.look_for(100)
    assert looker.raised == ["xid 31"]
    looker.reading = {"xids": (*looker.reading["xids"], Xid("PCI:0000:17:00", 31, "x", looker.at))}
    looker.look()
    assert looker.raised == ["xid 31"] * 2


def test_what_a_nodes_clock_says_of_the_future_began_now() -> None:
    looker = Looker()
    crash_at(looker, DAY + 10**6)
    assert looker.only().began_at == looker.at


def test_an_error_of_a_gpu_is_over_a_day_later_also_when_the_log_has_forgotten_it() -> None:
    looker = Looker(every_s=600.0)
    looker.reading = {"xids": (Xid("PCI:0000:17:00", 79, "x", looker.at),)}
    looker.look()
    looker.reading = {"xids": ()}
    looker.look_for(86_400 - 1800)
    assert looker.ended == []
    looker.look_for(3600)
    assert looker.ended == ["xid 79"]


OLD = Alert("gpu_hot", "gpu/gpu-a/3", "91 °C", Severity.WARNING, DAY - 5000, acknowledged_at=DAY - 4000)


@pytest.mark.parametrize(("temperature_c", "ends"), [(HOT, []), (WARM, []), (COOL, ["gpu_hot"])])
def test_a_new_k2tui_goes_on_with_what_holds_and_ends_what_does_not(temperature_c: float, ends: list[str]) -> None:
    looker = Looker()
    looker.state = taken_up([OLD], looker.book)
    looker.set_gpu(temperature_c=temperature_c)
    looker.look_for(70)
    assert (looker.raised, looker.ended) == ([], ends)
    assert looker.state.alerts == (() if ends else (OLD,))


def test_an_alert_of_one_of_several_is_taken_up_where_it_was() -> None:
    looker = Looker()
    full = Alert("disk_full /data", "node/gpu-a", "full", Severity.BAD, DAY - 5000)
    looker.state = taken_up([full, Alert("no_such_rule", "node/gpu-a", "?", Severity.BAD, DAY)], looker.book)
    assert looker.state.alerts == (full,)
    looker.look_for(40)
    assert looker.ended == ["disk_full /data"]


def test_a_rule_that_is_off_is_not_looked_at() -> None:
    looker = Looker(AlertSettings(off=("gpu_hot",)))
    looker.set_gpu(temperature_c=HOT)
    looker.look_for(100)
    assert looker.raised == []


@pytest.mark.parametrize(
    ("until", "after_c", "ends"),
    [
        (None, 79.0, False),
        (None, 76.1, False),
        (None, 75.9, True),
        ("temp < 60", 65.0, False),
        ("temp < 60", 55.0, True),
        ("temp < 90", 89.0, True),
    ],
)
def test_an_own_rule_ends_by_its_until_or_by_a_margin(until: str | None, after_c: float, *, ends: bool) -> None:
    looker = Looker(warm(until=until))
    looker.set_gpu(temperature_c=85.0)
    looker.look_for(14)
    assert looker.raised == ["warm"]
    looker.set_gpu(temperature_c=after_c)
    looker.look_for(14)
    assert looker.ended == ["warm"] * ends


def test_an_own_rule_whose_figure_nobody_knows_raises_nothing_and_ends_nothing() -> None:
    looker = Looker(warm())
    looker.set_gpu(temperature_c=None)
    looker.look_for(60)
    assert looker.raised == []
    looker.set_gpu(temperature_c=85.0)
    looker.look_for(14)
    looker.set_gpu(temperature_c=None)
    looker.look_for(60)
    assert (looker.raised, looker.ended) == (["warm"], [])


@pytest.mark.parametrize(
    ("on", "when", "say", "says"),
    [
        ("gpu", "temp > 80 and load > 50", None, "temp > 80 and load > 50 (load 90, temp 85)"),
        ("gpu", "temp > 80", "{node} is at {temp} C, fan {fan}", "gpu-a is at 85 C, fan —"),
        ("node", "temp > 80", "hottest {temp}", "hottest 85"),
        ("server", "state == ready", "{server} is {state}", "kimi is ready"),
    ],
)
def test_the_sentence_of_an_own_rule(on: str, when: str, say: str | None, says: str) -> None:
    looker = Looker(warm(on=on, when=when, say=say, severity="bad"))
    looker.set_gpu(temperature_c=85.0)
    looker.look_for(14)
    assert (looker.only().text, looker.only().severity) == (says, Severity.BAD)


def test_a_rule_of_the_config_with_a_known_name_changes_what_it_says_and_leaves_the_rest() -> None:
    settings = AlertSettings(rules={"gpu_hot": AlertRuleSettings("gpu_hot", for_s=4.0, severity="bad")})
    looker = Looker(settings)
    looker.set_gpu(temperature_c=HOT)
    looker.look_for(8)
    assert looker.raised == ["gpu_hot"]
    assert looker.only().severity is Severity.BAD
    assert "fans" in looker.only().text


def test_a_known_rule_with_another_expression_keeps_its_severity_and_its_patience() -> None:
    book = book_of(AlertSettings(rules={"gpu_brake": AlertRuleSettings("gpu_brake", on="gpu", when="temp > 50")}))
    rule, default = book.rules["gpu_brake"], DEFAULT_RULES["gpu_brake"]
    assert (rule.severity, rule.for_s) == (default.severity, default.for_s)


def test_looking_changes_nothing_of_what_was_there_before() -> None:
    looker = Looker()
    looker.set_gpu(temperature_c=HOT)
    looker.look_for(64)
    before = looker.state
    copy = AlertState({thing: dict(held) for thing, held in before.things.items()})
    looker.set_gpu(temperature_c=COOL)
    looker.look_for(70)
    assert before == copy
    assert looker.state != before


TEMPERATURES = st.lists(st.sampled_from([None, COOL, WARM, HOT]), max_size=120)


@given(TEMPERATURES)
def test_whatever_comes_what_ends_was_raised_before_and_each_in_turn(temperatures: list[float | None]) -> None:
    looker = Looker()
    for temperature in temperatures:
        looker.set_gpu(temperature_c=temperature)
        looker.look_for(10)
    news = [(kind, alert.key) for one in looker.steps for kind in ("raised", "ended") for alert in getattr(one, kind)]
    assert [kind for kind, _ in news] == ["raised", "ended"] * (len(news) // 2) + ["raised"] * (len(news) % 2)
    assert all(news[at][1] == news[at + 1][1] for at in range(0, len(news) - 1, 2))
    assert {rule_of(alert) for alert in looker.state.alerts} <= {"gpu_hot"}
