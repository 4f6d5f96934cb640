"""Builds and runs in `state.db`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.adapters.state import builds as state_builds
from k2tui.adapters.state import runs as state_runs
from k2tui.adapters.state.db import StateDb
from k2tui.services.doors import BuildHistory, RunHistory
from tests.core.test_run_document import RUN


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[StateDb]:
    ticks = iter(range(10_000))
    store = StateDb(tmp_path / "state.db", clock=lambda: float(next(ticks)))
    yield store
    await store.close()


async def test_a_build_is_known_where_it_was_read(store: StateDb) -> None:
    builds: BuildHistory = store
    assert await builds.known_build("gpu-a", "/opt/python", "sglang") is None
    await builds.keep_build("gpu-a", "/opt/python", "sglang", "s1", "{}")
    await builds.keep_build("gpu-a", "/opt/python", "sglang", "s2", "[1]")
    assert await builds.known_build("gpu-a", "/opt/python", "sglang") == ("s2", "[1]")
    assert await builds.known_build("gpu-b", "/opt/python", "sglang") is None
    assert await builds.known_build("gpu-a", "/opt/python", "vllm") is None


async def test_of_many_builds_those_stay_that_were_read_last(store: StateDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_builds, "KEPT", 2)
    for number in (1, 2, 3):
        await store.keep_build("gpu-a", f"/opt/{number}", "sglang", "s", "{}")
    assert [await store.known_build("gpu-a", f"/opt/{number}", "sglang") for number in (1, 2, 3)] == [
        None,
        ("s", "{}"),
        ("s", "{}"),
    ]


async def test_a_document_without_end_is_not_kept(store: StateDb) -> None:
    await store.keep_build("gpu-a", "/opt", "sglang", "s", "x" * (state_builds.MOST_CHARS + 1))
    assert await store.known_build("gpu-a", "/opt", "sglang") is None


async def test_names_that_are_no_text_are_kept_all_the_same(store: StateDb) -> None:
    await store.keep_build("gpu-a", "/opt/\udcff", "sglang", "s", "{}")
    assert await store.known_build("gpu-a", "/opt/\udcff", "sglang") == ("s", "{}")


async def test_runs_are_remembered_newest_first(store: StateDb) -> None:
    runs: RunHistory = store
    older, newer = replace(RUN, run_id="20260101T000000Z-aaaa"), replace(RUN, run_id="20260102T000000Z-0000")
    await runs.keep_runs("gpu-a", [newer, older])
    await runs.keep_runs("gpu-a", [replace(older, exit_code=9, verdict=None)])
    assert await runs.kept_runs("gpu-a", "kimi") == (newer, replace(older, exit_code=9, verdict=None))
    assert await runs.kept_runs("gpu-b", "kimi") == ()
    assert await runs.kept_runs("gpu-a", "other") == ()


async def test_a_run_that_is_only_planned_is_not_kept(store: StateDb) -> None:
    await store.keep_runs("gpu-a", [replace(RUN, is_planned=True)])
    assert await store.kept_runs("gpu-a", "kimi") == ()


async def test_of_many_runs_the_newest_stay(store: StateDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_runs, "KEPT", 2)
    ids = [f"2026010{day}T000000Z-aaaa" for day in (3, 1, 2)]
    await store.keep_runs("gpu-a", [replace(RUN, run_id=run_id) for run_id in ids])
    await store.keep_runs("gpu-a", [replace(RUN, server="other")])
    assert [run.run_id for run in await store.kept_runs("gpu-a", "kimi")] == [ids[0], ids[2]]
    assert len(await store.kept_runs("gpu-a", "other")) == 1


async def test_two_that_keep_at_once_both_do(store: StateDb) -> None:
    await asyncio.gather(*(store.keep_runs("gpu-a", [replace(RUN, run_id=f"run-{number}")]) for number in range(8)))
    assert len(await store.kept_runs("gpu-a", "kimi")) == 8
