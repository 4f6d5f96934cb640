"""A run that its node forgot, as this side remembers it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from k2tui.core.run_document import run_from_json, run_json
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.core.verdicts import Effect, Outcome, RunVerdict

RUN = Run(
    server="kimi",
    run_id="20260101T000000Z-abcd",
    directory="/home/x/.k2tui/runs/kimi/20260101T000000Z-abcd",
    port=30000,
    gpus=(0, 1),
    argv=("python3", "-m", "sglang.launch_server", "--api-key", "***"),
    env=(("NCCL_PROTO", "LL"), ("HF_TOKEN", "***")),
    profile="reason",
    started_by="ann@desk",
    exit_code=137,
    ended_at=20.0,
    stop_asked=True,
    started_at=10.0,
    restarts=2,
    cwd="/root",
    setup=". /opt/x",
    why="try",
    replaces="20250101T000000Z-abcd",
    kept_by="tmux",
    engine="sglang",
    verdict=RunVerdict(
        True,
        15.0,
        "verified",
        (Effect("reasoning", Outcome.PROVED, "apart", "--reasoning-parser"),),
        "0.5.9",
        ("a.py",),
    ),
)


def test_a_run_survives_its_document() -> None:
    assert run_from_json(run_json(RUN)) == RUN
    bare = Run("kimi", "20260101T000000Z-abcd", "/x")
    assert run_from_json(run_json(bare)) == bare


def test_nothing_can_be_signalled_from_memory() -> None:
    seen = replace(
        RUN, supervisor=ProcessIdentity("b", 1, 2), child=ProcessIdentity("b", 3, 4), session_id=3, alive=True
    )
    assert run_from_json(run_json(seen)) == RUN


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"server": 1}', "[" * 100_000, json.dumps({"server": "a", "run_id": "b", "directory": 3})],
    ids=range(7),
)
def test_what_is_no_run_is_none(text: str) -> None:
    assert run_from_json(text) is None


def test_fields_that_can_not_be_so_are_not_known() -> None:
    broken = {
        **json.loads(run_json(RUN)),
        "port": "x",
        "gpus": [1, "a"],
        "env": [["a"], 3],
        "verdict": 5,
        "ended_at": -1,
    }
    run = run_from_json(json.dumps(broken))
    assert run is not None
    assert (run.port, run.gpus, run.env, run.verdict, run.ended_at) == (None, (1,), (), None, None)
