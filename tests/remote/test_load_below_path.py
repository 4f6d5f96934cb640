"""A server whose routes stand below a path of their own, as behind a gateway."""

from __future__ import annotations

import pytest

from k2tui.core.benching.targets import base_url, url_target
from k2tui.remote import load_figures as figures
from k2tui.remote.load_door import Door
from k2tui.remote.load_spec import Target
from tests.fakes.truth_server import Behaviour, TruthServer
from tests.remote.load_stage import measured
from tests.remote.test_load_figures import log, steady


async def test_every_question_goes_below_the_path_of_the_server() -> None:
    async with TruthServer(Behaviour(tok_s=400.0, ttft_s=0.01, below="/llm")) as server:
        told = await measured(server.port, {"path": "/llm/v1/chat/completions"}, max_tokens=80)
    assert told.error is None
    assert told.one("hello")["model"] == "truth"
    assert [line["when"] for line in told.of("counters")] == ["before", "after"]
    assert {asked.split(" ")[1].startswith("/llm/") for asked in server.asked} == {True}


@pytest.mark.parametrize(
    ("path", "metrics"),
    [
        ("/v1/chat/completions", "/metrics"),
        ("/v1/completions", "/metrics"),
        ("/llm/v1/chat/completions", "/llm/metrics"),
        ("/llm/chat/completions", "/llm/metrics"),
        ("/generate", "/metrics"),
    ],
)
def test_the_other_routes_are_where_the_route_for_answers_is(path: str, metrics: str) -> None:
    assert Door(Target(1, path=path)).beside("GET", "/metrics").startswith(f"GET {metrics} ".encode())


@pytest.mark.parametrize(
    "url", ["http://a:1", "http://a:1/v1/", "https://a/x/y", "http://[::1]:8/x/v1/chat/completions"]
)
def test_this_side_and_the_generator_look_at_the_same_place(url: str) -> None:
    target = url_target(url)
    asked = Door(Target(target.port, path=target.path)).beside("GET", "/metrics").split(b" ")[1].decode()
    assert base_url(target).endswith(asked.removesuffix("/metrics"))


def test_a_stream_that_never_got_its_first_token_leaves_no_steady_window() -> None:
    one, cut = steady(1.0, 0.1, 301), log(finish=None)
    cut.was_cut, cut.error = True, None
    point = figures.point_figures(2, [one, cut], [one, cut], 30.0, 0.0, 33.0)
    assert [point[name] for name in ("agg_tps_steady", "window_s", "steady")] == [None, None, False]
