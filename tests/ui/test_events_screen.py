"""Alerts and events on their screen, and what happened while nobody looked."""

from __future__ import annotations

from typing import Any

import pytest
from textual.geometry import Region

from k2tui.core.absence import Absence
from k2tui.core.alerts import Alert, in_order
from k2tui.core.events import Event, Severity
from k2tui.ui.actions import EVERYWHERE, bindings
from k2tui.ui.layout import Places
from k2tui.ui.scene import Scene
from k2tui.ui.screens.describe import TextScreen
from k2tui.ui.screens.events import EventsScreen
from k2tui.ui.screens.moving import MovingScreen
from k2tui.ui.spans import Line, text_of
from k2tui.ui.widgets.absence_rows import AbsencePane, absence_text, sentence, told
from k2tui.ui.widgets.alert_rows import alert_line, alert_text
from k2tui.ui.widgets.event_rows import EventRows, day_and_second
from k2tui.ui.widgets.lists import LazyLines
from k2tui.ui.widgets.pane import Pane
from tests.fakes.fleet import DAY, FakeFleet, connected, settings_of
from tests.ui.helpers import gone, rows_of, screen_text, shows, until
from tests.ui.pasts import AppAt

HOT = Alert("gpu_hot", "gpu/gpu-a/7", "GPU 7 is at 91 C: look at its fans", Severity.BAD, DAY - 725)
DISK = Alert(
    "disk_full", "node/gpu-a", "/data will be full in 3h10m", Severity.WARNING, DAY - 4000, acknowledged_at=DAY - 9
)
SLOW = Alert("slow", "server/kimi", "decode is at 51 % of its usual", Severity.WARNING, DAY - 9000, DAY - 8000)
LOST = Alert("node_lost", "node/gpu-b", "gpu-b is out of reach", Severity.BAD, DAY - 90_000, DAY - 89_000, DAY - 88_000)


def fleet_with(*alerts: Alert) -> FakeFleet:
    fleet = connected(settings_of(), simulated=True)
    fleet.alerts_now = list(alerts)
    fleet.tell("gpu-a", "connected", Severity.GOOD)
    fleet.tell("kimi", "kimi runs as 20261130")
    return fleet


def events_on(fleet: FakeFleet) -> AppAt:
    return AppAt(EventsScreen(), fleet)


def screen_of(app: AppAt) -> EventsScreen:
    screen = app.screen
    assert isinstance(screen, EventsScreen)
    return screen


# ---- alerts


def test_what_holds_comes_first_and_then_what_ended_last() -> None:
    assert in_order([LOST, SLOW, DISK, HOT]) == (HOT, DISK, SLOW, LOST)


@pytest.mark.parametrize(
    ("alert", "text"),
    [
        (HOT, "● ✗ bad     holds  gpu-a GPU 7  13:47:55     12m05s  GPU 7 is at 91 C: look at its fans"),
        (DISK, "  ! warning holds  gpu-a        12:53:20      1h06m  /data will be full in 3h10m"),
        (SLOW, "● ! warning over   kimi         11:30:00     16m40s  decode is at 51 % of its usual"),
        (LOST, "  ✗ bad     over   gpu-b        11-29 13:00  16m40s  gpu-b is out of reach"),
    ],
)
def test_an_alert_says_what_it_is_since_when_and_how_long(alert: Alert, text: str) -> None:
    assert text_of(alert_line(alert, 100, 11, 11, DAY)) == text


def test_an_alert_is_read_whole() -> None:
    lines = alert_text(SLOW, DAY)
    assert lines[0] == SLOW.text
    assert "over      11:46:40, after 16m40s" in lines
    assert "acknowledged by nobody" in lines
    assert "holds     12m05s" in alert_text(HOT, DAY)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=str)
async def test_alerts_stand_above_events(size: tuple[int, int]) -> None:
    app = events_on(fleet_with(HOT, DISK, SLOW, LOST))
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "2 alerts", "2 hold", "● 2 not acknowledged", "GPU 7 is at 91", "kimi runs as")
        text = screen_text(app)
        assert text.index("GPU 7 is") < text.index("/data will") < text.index("decode is at") < text.index("connected")
        assert {len(row) for row in rows_of(app)} == {size[0]}


async def test_without_alerts_the_events_have_the_screen() -> None:
    app = events_on(fleet_with())
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "no alert holds, and none ended lately", "connected")
        assert screen_of(app).pane is screen_of(app).rows


async def test_a_acknowledges_the_selected_alert() -> None:
    fleet = fleet_with(HOT, DISK, SLOW)
    app = events_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "● 2 not acknowledged")
        await pilot.press("j", "j", "A")
        await shows(pilot, "slow of server/kimi acknowledged", "● 1 not acknowledged")
        assert [alert.key for alert in fleet.acknowledged] == [SLOW.key]
        await pilot.press("A")
        await shows(pilot, "slow of server/kimi is acknowledged already")
        assert len(fleet.acknowledged) == 1


async def test_a_on_the_events_acknowledges_all_of_them() -> None:
    fleet = fleet_with(HOT, DISK, SLOW)
    app = events_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "● 2 not acknowledged")
        await pilot.press("tab", "A")
        await shows(pilot, "acknowledged 2 alerts")
        await gone(pilot, "not acknowledged")
        assert [alert.key for alert in fleet.acknowledged] == [HOT.key, SLOW.key]
        await pilot.press("A")
        await shows(pilot, "no alert waits to be acknowledged")


async def test_the_cursor_stays_on_its_alert() -> None:
    fleet = fleet_with(HOT, DISK)
    app = events_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "GPU 7 is at")
        await pilot.press("j")
        fleet.alerts_now = [*fleet.alerts_now, Alert("xid", "gpu/gpu-a/1", "XID 79", Severity.BAD, DAY - 1)]
        fleet.tell("gpu-a", "XID 79")
        await shows(pilot, "3 hold")
        selected = screen_of(app).alerts.selected
        assert selected is not None
        assert selected.key == DISK.key


async def test_an_alert_that_lasts_counts_on() -> None:
    fleet = fleet_with(HOT)
    app = events_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "12m05s")
        fleet.clock.go(60)
        await shows(pilot, "13m05s")


async def test_both_lists_have_a_filter_of_their_own() -> None:
    fleet = fleet_with(HOT, DISK, SLOW)
    app = events_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "GPU 7 is at")
        await pilot.press("/", *"disk", "enter")
        await shows(pilot, "/disk  1 of 3", "/data will be full", "kimi runs as")
        await gone(pilot, "GPU 7 is at")
        await pilot.press("tab", "/", *"!kimi", "enter")
        await shows(pilot, "/!kimi  1 of 2", "/disk  1 of 3")
        await gone(pilot, "kimi runs as")
        await pilot.press("escape")
        await shows(pilot, "kimi runs as", "/disk  1 of 3")
        await pilot.press("tab", "escape")
        await shows(pilot, "GPU 7 is at")


@pytest.mark.parametrize(
    ("keys", "said", "there", "gone_text"),
    [
        ((), "no alert has this text", "kimi runs as", "GPU 7 is at"),
        (("tab",), "no event has this text", "GPU 7 is at", "kimi runs as"),
    ],
)
async def test_escape_while_typing_clears_the_list_that_is_typed_for(
    keys: tuple[str, ...], said: str, there: str, gone_text: str
) -> None:
    app = events_on(fleet_with(HOT))
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, there, gone_text)
        await pilot.press(*keys, "/", *"nothing of this")
        await shows(pilot, said, there)
        await pilot.press("escape")
        await shows(pilot, there, gone_text)


@pytest.mark.parametrize(("keys", "text"), [((), "rule      gpu_hot"), (("tab",), "second line")])
async def test_enter_reads_one_whole(keys: tuple[str, ...], text: str) -> None:
    fleet = fleet_with(HOT)
    fleet.tell("kimi", "first line\nsecond line")
    app = events_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "first line; second line")
        await pilot.press(*keys, "enter")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await shows(pilot, text)


async def test_one_event_is_no_events() -> None:
    fleet = connected(settings_of())
    fleet.tell("kimi", "ready")
    app = events_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "│ 1 event │")


# ---- events


def test_an_event_of_another_day_says_the_day() -> None:
    assert day_and_second(DAY - 90_000, DAY) == "11-29 13:00:00"
    assert day_and_second(DAY - 3600, DAY) == "13:00:00"


async def test_of_thousands_of_events_only_those_on_screen_are_made() -> None:
    fleet = fleet_with()
    for number in range(5000):
        fleet.tell("kimi", f"event {number}")
    app = events_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "event 4999")
        rows = screen_of(app).rows
        made: list[int] = []
        assert isinstance(rows._body, LazyLines)
        make = rows._body._make
        rows._body._make = lambda place: made.append(place) or make(place)  # type: ignore[func-returns-value]
        await pilot.press("G")
        await shows(pilot, "event 0")
        assert 0 < len(made) <= 2 * rows.page


async def test_events_that_did_not_change_are_not_looked_through_again() -> None:
    fleet = fleet_with(HOT)
    app = events_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "kimi runs as")
        before = screen_of(app).rows._body
        fleet.revision += 1
        await pilot.pause(0.4)
        assert screen_of(app).rows._body is before


@pytest.mark.parametrize("place", [5, -6])
def test_a_row_that_is_not_there_is_an_error(place: int) -> None:
    with pytest.raises(IndexError):
        LazyLines(5, lambda _: ())[place]


# ---- since you left

AWAY = Absence(
    DAY - 32_400,
    DAY,
    (
        Event(DAY - 39_200, "kimi", "restarted: +NCCL_ALGO=Ring", Severity.WARNING),
        Event(DAY - 38_880, "kimi", "restarted: +NCCL_PROTO=LL", Severity.WARNING),
        Event(DAY - 33_660, "gpu-b", "XID 79", Severity.BAD),
        Event(DAY - 33_600, "kimi-exp", "crashed: CUDA out of memory", Severity.BAD),
        Event(DAY - 3600, "", "the journal of gpu-c can't be read"),
    ),
    complete=True,
)


def test_the_loudest_comes_first_and_the_same_thing_is_told_once() -> None:
    assert [one.text for one in told(AWAY)] == [
        "gpu-b XID 79 at 04:39",
        "kimi-exp crashed at 04:40: CUDA out of memory",
        "kimi restarted 2× (last 03:12, +NCCL_PROTO=LL)",
        "the journal of gpu-c can't be read at 13:00",
    ]


def test_a_subject_is_not_said_twice() -> None:
    away = Absence(DAY - 9, DAY, (Event(DAY - 5, "kimi", "kimi is ready"), Event(DAY - 4, "kimi", "kimi is ready")))
    assert [one.text for one in told(away)] == ["kimi is ready 2× (last 13:59)"]


@pytest.mark.parametrize(
    ("away", "text"),
    [
        (Absence(DAY - 9, DAY, complete=True), "nothing happened that anybody wrote down"),
        (Absence(DAY - 9, DAY), "not all nodes have been asked yet"),
        (
            Absence(DAY - 9, DAY, (Event(DAY - 5, "gpu-b", "XID 79"),)),
            "gpu-b XID 79 at 13:59; not all nodes have been asked yet",
        ),
    ],
)
def test_what_is_not_known_yet_is_said(away: Absence, text: str) -> None:
    assert sentence(away) == text


def test_the_whole_list_is_in_order_and_says_how_long_it_was() -> None:
    lines = absence_text(AWAY)
    assert lines[0] == "since you left 9 h ago, at 05:00:00; away for 9h00m"
    assert lines[2:4] == ["03:06:40  ! kimi  restarted: +NCCL_ALGO=Ring", "03:12:00  ! kimi  restarted: +NCCL_PROTO=LL"]


class Home(MovingScreen):
    """A home screen as the box and the fleet have it."""

    HERE = (*EVERYWHERE, "alert.acknowledge")
    BINDINGS = bindings(*HERE)

    def make_panes(self) -> list[Pane]:
        self.absence, self.rows = AbsencePane(id="absence"), EventRows(id="rows")
        return [self.absence, self.rows]

    def arrange_panes(self, area: Region) -> Places:
        above = self.absence.wanted_rows(self.k2.fleet.absence(), area.width)
        places = {"rows": Region(area.x, area.y + above, area.width, area.height - above)}
        return {"absence": Region(area.x, area.y, area.width, above), **places} if above else places

    def draw(self, scene: Scene) -> None:
        self.absence.show_absence(self.k2.fleet.absence(), scene)
        self.rows.show_events(self.k2.events_seen())

    def status_row(self, scene: Scene, width: int) -> Line:
        return ()

    def action_alert_acknowledge(self) -> None:
        self.absence.dismiss()
        self.redraw()


@pytest.mark.parametrize(("size", "rows"), [((200, 50), 2), ((120, 40), 3), ((80, 24), 4)], ids=str)
async def test_what_happened_stands_on_the_home_screen_in_a_few_rows(size: tuple[int, int], rows: int) -> None:
    fleet = fleet_with()
    fleet.away = AWAY
    app = AppAt(Home(), fleet)
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "Since you left 9 h ago", "restarted 2×", "kimi-exp crashed at 04:40", "XID 79 at 04:39")
        pane: Any = app.screen.query_one(AbsencePane)
        assert pane.size.height == pane.wanted_rows(AWAY, size[0]) == rows
        assert pane.text == absence_text(AWAY)


async def test_it_is_taken_away_until_one_leaves_again() -> None:
    fleet = fleet_with()
    fleet.away = AWAY
    app = AppAt(Home(), fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "Since you left 9 h ago")
        await pilot.press("A")
        await gone(pilot, "Since you left", "XID 79")
        fleet.away = Absence(DAY - 7200, DAY, AWAY.events, complete=True)
        fleet.revision += 1
        await shows(pilot, "Since you left 2 h ago")


async def test_no_absence_takes_no_room() -> None:
    app = AppAt(Home(), fleet_with())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi runs as")
        assert "Since you left" not in screen_text(app)
        assert app.screen.query_one(AbsencePane).wanted_rows(None, 120) == 0


async def test_the_events_screen_lists_what_the_nodes_kept_each_thing_once() -> None:
    fleet = fleet_with()
    fleet.away = AWAY
    fleet.events.insert(0, AWAY.events[2])
    app = events_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "crashed: CUDA out of memory", "7 events")
        assert screen_text(app).count("XID 79") == 1
