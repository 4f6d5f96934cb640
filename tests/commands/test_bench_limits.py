"""`k2tui bench` says itself what can't be asked for, and makes no work for anybody where k2tui is read-only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.adapters.scripts import script
from k2tui.commands import bench
from k2tui.commands.arguments import UsageError, build_parser, plain_names
from k2tui.commands.bench_run import is_url
from k2tui.commands.bench_series import _row
from k2tui.commands.wires import Wires
from k2tui.core.benching.series import SeriesStage
from k2tui.core.errors import K2Error
from k2tui.core.settings import Settings
from k2tui.services.benching.owners import me
from k2tui.services.fleet import Fleet
from tests.commands.test_bench import planned
from tests.core.benching.test_ranking import series


@pytest.mark.parametrize(
    "words",
    [
        ("--sweep", "1,1025"),
        ("--sweep", "9999999999999999999999"),
        ("--prefill", "--lengths", "8,512"),
        ("--prefill", "--lengths", "256,2000000"),
    ],
)
def test_what_the_generator_would_refuse_is_a_word_too_many_at_once(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        planned(*words)


def test_a_read_only_k2tui_makes_no_work_for_a_url_either() -> None:
    handed: list[Settings] = []

    def fleet_on(settings: Settings) -> Fleet:
        handed.append(settings)
        raise K2Error("far enough", code="enough")

    args = build_parser().parse_args(plain_names(["bench", "http://127.0.0.1:1"]))
    with pytest.raises(K2Error, match="far enough"):
        bench.main(args, Wires(settings=lambda: Settings(read_only=True), fleet=fleet_on, script=script))
    assert [settings.read_only for settings in handed] == [True]


def test_the_scheme_of_a_url_may_be_written_in_any_case() -> None:
    assert is_url("HTTP://gpu-a:30000")


def test_a_series_whose_k2tui_was_killed_is_told_as_interrupted() -> None:
    going = replace(series([60.0], stage=SeriesStage.RUNNING), owner=me())
    host, pid, _ = me().rsplit(" ", 2)
    assert "running" in _row(going)
    assert "interrupted" in _row(replace(going, owner=f"{host} {pid} 1"))
    assert "interrupted" in _row(replace(going, owner=None))
