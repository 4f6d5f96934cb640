"""The bars are tqdm's, byte for byte where the clock allows it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from k2tui.demo.engine.bars import Bar, clock_text


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def drawn(clock: Clock, total: int, **style: bool) -> tuple[Bar, list[str]]:
    written: list[str] = []
    return Bar(total, written.append, clock=clock, label="Capturing", **style), written


def test_an_untouched_bar_knows_no_rate() -> None:
    _, written = drawn(Clock(), 64, shards=True)
    assert written == ["\rCapturing:   0% Completed | 0/64 [00:00<?, ?it/s]"]


def test_a_slow_step_is_told_in_seconds_a_step_and_with_blocks() -> None:
    # Measured on a GPU: `17%|█▋        | 1/6 [00:41<03:28, 41.69s/it]`.
    clock = Clock()
    bar, written = drawn(clock, 6)
    clock.now += 41.69
    bar.step()
    assert written[-1] == "\rCapturing:  17%|█▋        | 1/6 [00:41<03:28, 41.69s/it]"


def test_steps_that_come_too_fast_are_not_drawn() -> None:
    clock = Clock()
    bar, written = drawn(clock, 10)
    for _ in range(5):
        clock.now += 0.01
        bar.step()
    assert len(written) == 1
    clock.now += 0.1
    bar.step()
    assert " 60%|" in written[-1]


def test_another_label_is_drawn_at_once_and_covers_the_longer_one() -> None:
    bar, written = drawn(Clock(), 2)
    bar.describe("Cap")
    assert written[-1] == "\rCap:   0%|          | 0/2 [00:00<?, ?it/s]" + " " * 6


def test_the_end_is_drawn_with_the_mean_rate_and_a_newline() -> None:
    clock = Clock()
    bar, written = drawn(clock, 4, shards=True)
    for _ in range(4):
        clock.now += 0.5
        bar.step()
    bar.close()
    bar.close()
    assert written[-2:] == ["\rCapturing: 100% Completed | 4/4 [00:02<00:00,  2.00it/s]", "\n"]


def test_the_classic_style_ends_each_drawing() -> None:
    _, written = drawn(Clock(), 4, shards=True, newline=True)
    assert written == ["\rCapturing:   0% Completed | 0/4 [00:00<?, ?it/s]\n"]


def test_an_hour_gets_a_third_field() -> None:
    assert clock_text(3723) == "1:02:03"


@given(st.lists(st.tuples(st.floats(0, 50), st.integers(1, 4)), max_size=30))
def test_no_drawing_goes_past_its_total(steps: list[tuple[float, int]]) -> None:
    total = sum(count for _, count in steps) or 1
    clock = Clock()
    bar, written = drawn(clock, total)
    for seconds, count in steps:
        clock.now += seconds
        bar.step(count)
    bar.close()
    for drawing in written[:-1]:
        percent = int(drawing.split("%")[0].split()[-1])
        assert 0 <= percent <= 100
        assert len(drawing.split("|")[1]) == 10
