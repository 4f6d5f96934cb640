"""The log pane: followed, searched, filtered, wrapped, saved."""

from __future__ import annotations

from typing import Any

from textual.app import App, ComposeResult

from k2tui.core.launch import Cause, LaunchPhase
from k2tui.core.ring import LineRing
from k2tui.ui.theme import Palette, load_theme
from k2tui.ui.widgets.log_pane import LogPane
from k2tui.ui.widgets.paint import Painter
from tests.fakes.fleet import FakeFleet, connected, settings_of
from tests.ui.helpers import FakeCopier, app_on, gone, screen_text, shows, until


class OnePane(App[None]):
    """A log pane alone."""

    CSS = "LogPane { height: 100%; }"

    def __init__(self, ring: LineRing) -> None:
        super().__init__()
        self.painter = Painter(Palette(load_theme("k2-dark")), ascii_only=False)
        self.pane = LogPane(ring, id="log")

    def compose(self) -> ComposeResult:
        yield self.pane


def ring_of(count: int) -> LineRing:
    ring = LineRing(1000)
    ring.extend([f"line {number}" for number in range(count)])
    return ring


async def test_the_tail_is_followed() -> None:
    app = OnePane(ring_of(100))
    async with app.run_test(size=(80, 24)):
        assert app.pane.shown[-1].strip() == "line 99"
        app.pane.ring.extend(["line 100"])
        app.pane.catch_up()
        assert app.pane.shown[-1].strip() == "line 100"


async def test_nothing_is_drawn_when_nothing_came() -> None:
    app = OnePane(ring_of(10))
    async with app.run_test(size=(80, 24)):
        app.pane.catch_up()
        assert app.pane.catch_up() is False


async def test_letting_go_stays_where_it_is_while_lines_come() -> None:
    app = OnePane(ring_of(100))
    async with app.run_test(size=(80, 24)):
        app.pane.toggle_follow()
        before = app.pane.shown[1:]
        app.pane.ring.extend([f"new {number}" for number in range(50)])
        app.pane.catch_up()
        assert app.pane.shown[1:] == before
        assert "50 below" in app.pane.shown[0]


async def test_the_end_is_followed_again_from_the_last_line_down() -> None:
    app = OnePane(ring_of(100))
    async with app.run_test(size=(80, 24)):
        app.pane.move("up")
        assert not app.pane.following
        app.pane.move("down")
        app.pane.move("down")
        assert app.pane.following


async def test_lines_that_fall_out_of_the_ring_take_the_view_along() -> None:
    app = OnePane(ring_of(1000))
    async with app.run_test(size=(80, 24)):
        app.pane.move("top")
        assert app.pane.shown[1].strip() == "line 0"
        app.pane.ring.extend([f"new {number}" for number in range(500)])
        app.pane.catch_up()
        assert app.pane.shown[1].strip() == "line 500"


async def test_a_search_counts_hits_and_n_goes_through_them() -> None:
    app = OnePane(ring_of(100))
    async with app.run_test(size=(80, 24)):
        app.pane.find("line 4")
        assert "hit 11 of 11" in app.pane.shown[0]
        app.pane.find_next(1)
        assert app.pane.row_text() == "line 4"
        assert "hit 1 of 11" in app.pane.shown[0]
        app.pane.find_next(-1)
        assert app.pane.row_text() == "line 49"


async def test_hits_among_new_lines_are_counted_too() -> None:
    app = OnePane(ring_of(10))
    async with app.run_test(size=(80, 24)):
        app.pane.find("error")
        assert "0 hits" in app.pane.shown[0]
        app.pane.ring.extend(["an ERROR", "fine", "another error"])
        app.pane.catch_up()
        assert "2 hits" in app.pane.shown[0]


async def test_an_inverted_search_hides_and_an_ampersand_shows_only() -> None:
    app = OnePane(ring_of(30))
    async with app.run_test(size=(80, 24)):
        app.pane.find("&line 2")
        assert [row.strip() for row in app.pane.shown[1:]] == ["line 2", *[f"line 2{n}" for n in range(10)]]
        assert "11 of 30 lines" in app.pane.shown[0]
        app.pane.find("!line 2")
        assert not any("line 2" in row for row in app.pane.shown[1:])
        app.pane.clear_find()
        assert "30 lines" in app.pane.shown[0]


async def test_a_rank_filter_keeps_the_lines_of_its_tracebacks() -> None:
    ring = LineRing()
    ring.extend(
        [
            "[2026-11-30 14:00:01 TP0] hello from zero",
            "[2026-11-30 14:00:02 TP3] Scheduler hit an exception: Traceback (most recent call last):",
            '  File "scheduler.py", line 12',
            "torch.OutOfMemoryError: CUDA out of memory.",
            "[2026-11-30 14:00:03 TP0] still here",
        ]
    )
    app = OnePane(ring)
    async with app.run_test(size=(120, 24)):
        app.pane.set_filter(rank="TP3")
        assert len(app.pane.shown) == 4
        assert "out of memory" in app.pane.shown[3]


async def test_the_level_filter_leaves_warnings_and_errors() -> None:
    ring = LineRing()
    ring.extend(["[2026-11-30 14:00:01] all is well", "[2026-11-30 14:00:01] WARNING: hm", "ValueError: bad"])
    app = OnePane(ring)
    async with app.run_test(size=(80, 24)):
        app.pane.set_filter(level=1)
        assert len(app.pane.shown) == 3
        app.pane.set_filter(level=2)
        assert len(app.pane.shown) == 2


async def test_a_filter_that_lets_nothing_through_leaves_the_place_alone() -> None:
    app = OnePane(ring_of(100))
    async with app.run_test(size=(80, 24)):
        app.pane.go_to(40)
        for _ in range(2):
            app.pane.toggle_wrap()
            app.pane.set_filter(level=2)
            assert app.pane.view.count == 0
            assert not "".join(app.pane.shown[1:]).strip()
            app.pane.move("down")
            app.pane.ring.extend(["one more"])
            app.pane.catch_up()
            app.pane.set_filter(level=0)
            app.pane.go_to(40)
        app.pane.set_filter(rank="TP7")
        app.pane.set_filter(rank=None)
        assert app.pane.row_text() == "line 40"
        assert app.pane.following is False


async def test_long_lines_are_cut_scrolled_and_wrapped() -> None:
    ring = LineRing()
    ring.extend(["a" * 70 + "MIDDLE" + "b" * 70 + "END"])
    app = OnePane(ring)
    async with app.run_test(size=(80, 24)):
        assert app.pane.shown[1].endswith("…")
        app.pane.move("right")
        app.pane.move("right")
        app.pane.move("right")
        app.pane.move("right")
        assert "END" in app.pane.shown[1]
        app.pane.toggle_wrap()
        assert "END" in app.pane.shown[2]
        assert len(app.pane.shown) == 3


async def test_wrapped_lines_keep_the_selected_one_in_sight() -> None:
    ring = LineRing()
    ring.extend([f"{number} " + "x" * 200 for number in range(50)])
    app = OnePane(ring)
    async with app.run_test(size=(80, 24)):
        app.pane.toggle_wrap()
        app.pane.move("top")
        for _ in range(20):
            app.pane.move("down")
        assert any(row.strip().startswith("20 ") for row in app.pane.shown)


async def test_what_is_painted_copied_and_saved_has_its_secrets_masked() -> None:
    ring = LineRing()
    ring.extend(["HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz123456 and s3cr3t-value"])
    app = OnePane(ring)
    async with app.run_test(size=(120, 24)):
        app.pane.known_secrets = frozenset({"s3cr3t-value"})
        app.pane.redraw()
        for text in (app.pane.shown[1], app.pane.row_text(), *app.pane.shown_lines()):
            assert "hf_abc" not in text
            assert "s3cr3t-value" not in text


async def test_no_escape_of_a_node_reaches_the_terminal() -> None:
    ring = LineRing()
    ring.extend(["before \x1b[2J\x1b]52;c;aGk=\x07 after [bold]not markup[/bold]"])
    app = OnePane(ring)
    async with app.run_test(size=(120, 24)):
        strip = app.pane.render_line(1)
        assert "\x1b" not in strip.text
        assert "\x07" not in strip.text
        assert "[bold]not markup[/bold]" in strip.text


async def test_wide_characters_never_break_the_row() -> None:
    ring = LineRing()
    ring.extend(["模型加载完成 " * 20, "🙂" * 60, "plain"])
    app = OnePane(ring)
    async with app.run_test(size=(80, 24)) as pilot:
        for wrap in (False, True):
            if wrap:
                app.pane.toggle_wrap()
            await pilot.pause()
            assert all(app.pane.render_line(y).cell_length == 80 for y in range(24))


# ---- through the keys of a whole screen


def served() -> FakeFleet:
    fleet = connected(settings_of())
    fleet.begin("kimi")
    fleet.phase("kimi", LaunchPhase.WEIGHTS, ranks_seen=frozenset({"TP0", "TP1", "TP10", "TP2"}))
    for number in range(60):
        fleet.log("kimi", f"[2026-11-30 14:00:{number:02} TP{number % 3}] step {number}")
    return fleet


def pane_of(app: Any) -> LogPane:
    pane: LogPane = app.screen.query_one(LogPane)
    return pane


async def test_f_lets_go_of_the_tail() -> None:
    app = app_on(served())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f")
        assert pane_of(app).following is False
        await pilot.press("G")
        assert pane_of(app).following is True


async def test_slash_searches_as_one_types_and_escape_takes_it_back() -> None:
    app = app_on(served())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("/", *"step 4")
        await shows(pilot, "hit 11 of 11")
        await pilot.press("enter", "n")
        await until(pilot, lambda: pane_of(app).row_text().endswith("step 4"))
        await pilot.press("N")
        await until(pilot, lambda: pane_of(app).row_text().endswith("step 49"))
        await pilot.press("escape")
        await gone(pilot, "hit ")
        assert app.is_running


async def test_brackets_go_through_the_ranks_in_their_order() -> None:
    app = app_on(served())
    async with app.run_test(size=(120, 40)) as pilot:
        seen = []
        for _ in range(5):
            await pilot.press("]")
            seen.append(pane_of(app).view.filter.rank)
        assert seen == ["TP0", "TP1", "TP2", "TP10", "TP0"]
        await pilot.press("[")
        assert pane_of(app).view.filter.rank == "TP10"
        await pilot.press("*")
        assert pane_of(app).view.filter.rank is None


async def test_older_and_newer_run_change_the_log() -> None:
    fleet = served()
    first = fleet.server("kimi").runs[0].run_id
    fleet.end("kimi", stop_asked=True)
    fleet.begin("kimi")
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("<")
        await shows(pilot, f"log of {first}", "run 11-30 14:01")
        await pilot.press("<")
        await shows(pilot, "oldest run")
        await pilot.press(">")
        await shows(pilot, "step 59")


async def test_capital_d_jumps_to_the_line_that_explains_the_failure() -> None:
    fleet = served()
    fleet.ring("kimi").line_number_base = 100
    fleet.crash("kimi", Cause("step 7", 108, "TP1", "oom_weights"))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("D")
        await until(pilot, lambda: pane_of(app).row_text().endswith("step 7"))


async def test_capital_d_says_when_the_line_is_no_longer_held_or_nothing_failed() -> None:
    fleet = served()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("D")
        await shows(pilot, "nothing failed here")
        fleet.crash("kimi", Cause("gone", 9999, None, "oom_weights"))
        await pilot.pause()
        await until(pilot, lambda: app.screen.chosen_server.launch.cause is not None)  # type: ignore[attr-defined]
        await pilot.press("D")
        await shows(pilot, "line 9999 of the log is no longer held")


async def test_capital_s_saves_the_shown_lines_only() -> None:
    copier = FakeCopier()
    app = app_on(served(), copier=copier)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("]", "S")
        await shows(pilot, "saved 20 lines to /home/ann/kimi.log")
        assert copier.files["kimi.log"].count("\n") == 20


async def test_enter_on_a_line_shows_it_whole() -> None:
    fleet = served()
    fleet.log("kimi", "x" * 300 + " THE-END")
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f", "enter")
        await shows(pilot, "THE-END")
        await pilot.press("q")
        await gone(pilot, "THE-END")


def ranks_agree() -> FakeFleet:
    fleet = served()
    for rank in range(8):
        fleet.log("kimi", f"[2026-11-30 14:01:00 TP{rank}] Load weight begin.")
    fleet.log("kimi", "[2026-11-30 14:01:00] Ignore import error when loading x: ModuleNotFoundError: no module y")
    return fleet


async def test_the_same_line_of_several_ranks_is_one_row_until_m() -> None:
    app = app_on(ranks_agree())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "14:01:00 ×8  Load weight begin.")
        assert screen_text(app).count("Load weight begin.") == 1
        await pilot.press("m")
        await shows(pilot, "14:01:00 TP7 Load weight begin.", "every rank's line")
        assert screen_text(app).count("Load weight begin.") == 8
        await pilot.press("m")
        await gone(pilot, "TP7 Load weight")


async def test_what_is_merged_is_found_saved_and_shown_whole() -> None:
    copier = FakeCopier()
    app = app_on(ranks_agree(), copier=copier)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("S")
        await shows(pilot, "saved 69 lines")
        await pilot.press("/", *"weight begin", "enter")
        await shows(pilot, "hit 8 of 8", "TP5 Load weight begin.")
        await pilot.press("escape", "enter")
        await shows(pilot, "TP0] Load weight begin.", "TP7] Load weight begin.")


async def test_moving_goes_from_row_to_row_over_merged_lines() -> None:
    app = app_on(ranks_agree())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f", "k")
        await until(pilot, lambda: "TP0] Load weight" in pane_of(app).row_text())
        await pilot.press("k")
        await until(pilot, lambda: pane_of(app).row_text().endswith("step 59"))
        await pilot.press("j", "j")
        await until(pilot, lambda: "Ignore import" in pane_of(app).row_text())
        await pilot.press("j")
        await until(pilot, lambda: pane_of(app).following)


async def test_a_failure_in_a_merged_row_is_shown_with_its_own_rank() -> None:
    fleet = ranks_agree()
    fleet.crash("kimi", Cause("x", 66, "TP5", "oom_weights"))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("D")
        await shows(pilot, "TP5 Load weight begin.")
        assert "TP5] Load weight" in pane_of(app).row_text()


async def test_known_noise_is_muted_whatever_it_sounds_like() -> None:
    app = app_on(ranks_agree())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "Ignore import error")
        roles = {role for line, _ in pane_of(app)._rows for text, role in line if text.startswith("Ignore import")}
        assert roles == {"muted"}


async def test_the_time_column_can_be_hidden() -> None:
    app = app_on(served())
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "14:00:59 TP2 step 59")
        await pilot.press("T")
        await gone(pilot, "14:00:59 TP2")
        assert "TP2 step 59" in screen_text(app)
