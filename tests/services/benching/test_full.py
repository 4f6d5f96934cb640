"""A full run goes on on the node by itself; what it tells and what it wrote is taken in, whatever it is."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.pipes import HeldScript
from k2tui.adapters.trouble import link_error
from k2tui.core.benching.document import result_json
from k2tui.core.benching.live import BenchEvent
from k2tui.core.benching.plan import Procedure
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.settings import Settings
from k2tui.services.benching.full import FullRun
from k2tui.services.doors import Completed, Script
from tests.fakes.truth_server import TruthServer
from tests.remote.conftest import shell_bin
from tests.remote.node import is_alive
from tests.services.benching.full_stage import ADMIN_KEY, ID, KEY, PLAN, Room, gone, result_line
from tests.services.benching.stage import Place, result_of, told
from tests.waiting import until

EVERY_SHELL = pytest.mark.parametrize("room", ["dash", "bash", "busybox", "busybox alone"], indirect=True)
OTHER_ID = "20261130T100001Z-abce"


@pytest.fixture(params=["sh"])
async def room(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Room]:
    """A node with sglang on it, whose shell is one of those."""
    if request.param != "sh":
        monkeypatch.setenv("PATH", str(tools_of(request.param, tmp_path / "bin")))
    made = Room(tmp_path)
    made.install()
    yield made
    await made.clear()


def tools_of(shell: str, directory: Path) -> Path:
    """All tools of this machine with that shell as the only one; alone: busybox's own tools and no others."""
    name, _, alone = shell.partition(" ")
    tools = shell_bin(name, directory)
    found = {path.name: path for folder in os.environ["PATH"].split(os.pathsep) for path in Path(folder).glob("*")}
    if alone:
        applets = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
        found = dict.fromkeys(applets, found["busybox"])
    for tool, path in found.items():
        if tool not in {"bash", "sh"} - {name} and not (tools / tool).exists():
            (tools / tool).symlink_to(path)
    return tools


async def events(run: FullRun) -> list[BenchEvent]:
    return await told(run.events())


def figures(steps: Sequence[BenchEvent]) -> list[str]:
    return [step.text for step in steps if step.type == "figure"]


@EVERY_SHELL
async def test_it_runs_detached_its_progress_is_told_and_its_result_is_kept(room: Room) -> None:
    place = room.plays(held=True, last="\n==== Serving Benchmark Result ====\n")
    steps: list[BenchEvent] = []
    async for step in room.run(place).events():
        steps.append(step)
        if step.type == "figure" and "3/6" in step.text:
            assert step.live is not None
            assert step.live.fraction == 0.5
            assert len(room.session()) >= 2
            assert os.getsid(0) != room.leader()
            (place / "go").touch()
    result = result_of(steps)
    assert steps[0].type == "connected"
    assert "its python client" in steps[0].text
    assert any("3/6" in text for text in figures(steps))
    assert [step.type for step in steps[-9:]] == [*["gate"] * 7, "result", "done"]
    assert steps[-1].exit_code is ExitCode.DONE
    (point,) = result.points
    assert (point.c, point.agg_tps_total, point.output_tokens) == (8, 204.8, 20480)
    assert (result.bench_id, result.subject, result.node, result.procedure) == (ID, "kimi", "here", Procedure.FULL)
    assert (result.run_id, result.profile, result.series_id) == ("r-1", "plain", "s-1")
    assert result.system.model == "/models/kimi"
    assert (result.formula_set, result.error) == ("sglang.bench_serving 0.5.23", None)
    assert room.kept == [result]
    assert room.session() == []
    assert sorted(path.name for path in room.bench().iterdir()) == ["exit", "log", "out.jsonl", "state"]


async def test_what_the_operator_and_the_server_say_reaches_the_program(room: Room) -> None:
    place = room.plays()
    folder = room.folder / "work here"
    folder.mkdir()
    words = ("--num-prompts", "6", "--extra-request-body", '{"a": "it\'s $HOME"}')
    await events(room.run(place, replace(PLAN, full_args=words), cwd=str(folder)))
    seen = await room.seen(place)
    argv = seen["argv"]
    assert seen["cwd"] == str(folder)
    assert argv[: argv.index("--output-file")][-4:] == list(words)
    assert argv[:2] == ["--base-url", "http://127.0.0.1:30000"]
    assert argv.count("--num-prompts") == 1


@pytest.mark.parametrize(
    ("has_rust", "asked", "taken"),
    [(True, "auto", "rust"), (False, "auto", "python"), (True, "python", "python"), (True, "rust", "rust")],
)
async def test_the_rust_client_is_taken_where_the_build_has_it(
    room: Room, has_rust: bool, asked: str, taken: str
) -> None:
    room.install(rust=has_rust)
    place = room.plays()
    steps = await events(room.run(place, replace(PLAN, full_client=asked)))
    assert (await room.seen(place))["client"] == taken
    assert result_of(steps).tool_version == f"unknown ({taken} client)"


@EVERY_SHELL
async def test_a_crash_is_a_failed_result_with_its_last_words(room: Room) -> None:
    place = room.plays(last="\nTraceback (most recent call last):\nOSError: no tokenizer\n", line=None, code=1)
    steps = await events(room.run(place))
    result = result_of(steps)
    assert result.error == "sglang.bench_serving ended without a result (exit code 1): OSError: no tokenizer"
    assert (result.bench_id, result.run_id, result.valid, result.points) == (ID, "r-1", False, ())
    assert steps[-1].exit_code is ExitCode.BAD
    assert "failed: " in steps[-1].text
    assert room.kept == [result]


async def test_a_result_of_a_program_that_then_failed_is_kept_and_not_valid(room: Room) -> None:
    result = result_of(await events(room.run(room.plays(code=3))))
    assert result.points[0].agg_tps_total == 204.8
    assert result.error == "sglang.bench_serving ended with exit code 3"


async def test_a_program_that_ends_well_and_writes_nothing_has_failed(room: Room) -> None:
    for name, line in (("-nothing", None), ("-rubbish", "no json\n"), ("-cut", result_line()[:200])):
        result = result_of(await events(room.run(room.plays(name, line=line, says="starting up\n"))))
        assert result.error == "sglang.bench_serving ended without a result (exit code 0): starting up"


async def test_a_result_larger_than_a_line_may_be_comes_whole(room: Room) -> None:
    gaps = [[0.0125] * 1000] * 800
    place = room.plays(line=result_line(itls=gaps, ttfts=[0.12] * 80))
    result = result_of(await events(room.run(place)))
    assert result.error is None
    assert result.points[0].spreads["itl_ms"].n == 800_000


@EVERY_SHELL
async def test_a_leader_that_was_killed_is_a_failed_run_and_leaves_no_client_behind(room: Room) -> None:
    place = room.plays(held=True, says="Starting warmup\n")
    steps: list[BenchEvent] = []
    async for step in room.run(place).events():
        steps.append(step)
        if step.type == "figure":
            os.kill(room.leader(), signal.SIGKILL)
    assert result_of(steps).error == (
        "sglang.bench_serving ended without a result (its process is gone): Starting warmup"
    )
    await gone([(await room.seen(place))["pid"]])


@EVERY_SHELL
async def test_closing_it_ends_its_session_and_nothing_else(room: Room) -> None:
    place, other = room.plays(held=True), room.plays("-other", held=True)
    beside = asyncio.ensure_future(events(room.run(other, bench_id=OTHER_ID)))
    its = (await room.seen(other))["pid"]
    steps = room.run(place).events()
    async for step in steps:
        if step.type == "figure":
            ours = room.session()
            break
    assert (await room.seen(place))["pid"] in ours
    await steps.aclose()
    await gone(ours)
    assert is_alive(its)
    assert room.kept == []
    (other / "go").touch()
    assert result_of(await beside).error is None
    assert room.bench().exists()


async def test_a_follower_that_is_cancelled_ends_it(room: Room) -> None:
    place = room.plays(held=True)
    task = asyncio.ensure_future(events(room.run(place)))
    pid = (await room.seen(place))["pid"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone([pid])
    assert room.kept == []


async def test_one_that_is_stopped_says_so_and_keeps_nothing(room: Room) -> None:
    place = room.plays(held=True)
    run = room.run(place)

    async def follow() -> None:
        async for step in run.events():
            if step.type == "figure":
                await run.stop()

    with pytest.raises(K2Error) as ended:
        await follow()
    assert (ended.value.code, ended.value.message) == (
        "not_measured",
        "kimi was not measured: it was ended before its end",
    )
    assert room.session() == []
    assert room.kept == []


async def test_a_link_that_breaks_is_waited_for_and_it_is_followed_again(room: Room) -> None:
    class Shaky(LocalLink):
        broken = 0

        async def open(self, script: Script, args: Sequence[str] = ()) -> HeldScript:
            if self.broken:
                self.broken -= 1
                raise link_error("lost", "here", "the connection to here was lost")
            return await super().open(script, args)

    room.link = link = Shaky("here")
    place = room.plays(held=True)
    steps: list[BenchEvent] = []
    async for step in room.run(place).events():
        steps.append(step)
        if "3/6" in step.text and not link.broken:
            link.broken = 2
            await link.drop()
        elif "was lost" in step.text:
            (place / "go").touch()
    lost = [text for text in figures(steps) if "was lost" in text]
    assert lost == ["the connection to here was lost; it goes on there, and is followed again"]
    assert result_of(steps).error is None
    assert (place / "begun").read_text() == "once\n"
    assert len(room.kept) == 1


async def test_a_link_that_will_not_come_back_by_itself_is_an_error(room: Room) -> None:
    class Blocked(LocalLink):
        is_blocked = False

        @property
        def state(self) -> LinkState:
            return LinkState(LinkPhase.BLOCKED) if self.is_blocked else super().state

        async def open(self, script: Script, args: Sequence[str] = ()) -> HeldScript:
            self.is_blocked = True
            raise link_error("host_key_changed", "here", "the host key of here changed")

    room.link = Blocked("here")
    with pytest.raises(K2Error) as refused:
        await events(room.run(room.plays()))
    assert refused.value.code == "host_key_changed"


async def test_one_whose_beginning_was_not_heard_of_is_ended(room: Room) -> None:
    class Deaf(LocalLink):
        async def run(
            self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
        ) -> Completed:
            done = await super().run(script, args, stdin=stdin, timeout_s=timeout_s)
            if script.name == "bench_begin":
                await room.seen(place)
                raise link_error("lost", "here", "the connection to here was lost")
            return done

    room.link, place = Deaf("here"), room.plays(held=True)
    with pytest.raises(K2Error) as refused:
        await events(room.run(place))
    assert refused.value.code == "lost"
    await gone([(await room.seen(place))["pid"]])


@EVERY_SHELL
async def test_what_is_missing_on_the_node_is_said_and_nothing_is_left_there(room: Room) -> None:
    place = room.plays()
    for name, value, said in (
        ("python", "/nowhere/python3", "there is no /nowhere/python3 on the node"),
        ("setup", "export PYTHONPATH=/nowhere", f"{room.target(place).python} has no sglang"),
        ("setup", "false", "the setup line failed"),
        ("setup", "exit 3", "the setup line failed"),
        ("setup", "if", "the setup line failed"),
        ("cwd", "/nowhere/at/all", "there is no directory /nowhere/at/all on the node"),
    ):
        with pytest.raises(K2Error) as refused:
            await events(room.run(place, **{name: value}))  # type: ignore[arg-type]
        assert (refused.value.code, refused.value.subject) == ("no_bench_serving", "kimi")
        assert refused.value.message == f"kimi can't be measured by sglang.bench_serving: {said}"
    with pytest.raises(K2Error) as none:
        await events(room.run(place, replace(PLAN, full_client="rust")))
    assert none.value.message.endswith("sglang unknown has no Rust client")
    assert room.names() == []


async def test_a_home_that_cant_be_made_is_said(room: Room) -> None:
    room.home.write_text("a file")
    with pytest.raises(K2Error) as refused:
        await events(room.run(room.plays()))
    assert "there can't be a directory" in refused.value.message


@EVERY_SHELL
async def test_the_api_key_is_in_no_argument_no_file_and_not_in_the_result(room: Room) -> None:
    room.api_key = KEY
    place = room.plays(held=True)
    steps: list[BenchEvent] = []
    async for step in room.run(place).events():
        steps.append(step)
        if step.type == "figure":
            shown = [Path(f"/proc/{pid}/cmdline").read_bytes().decode() for pid in room.session()]
            assert len(shown) >= 2
            assert not [text for text in shown if KEY in text]
            assert not [name for name, text in room.texts().items() if KEY in text]
            (place / "go").touch()
    assert (await room.seen(place))["key"] == KEY
    result = result_of(steps)
    assert result.error is None
    for secret in (KEY, ADMIN_KEY):
        assert not [name for name, text in room.texts().items() if secret in text]
        assert secret not in result_json(result)
        assert not [step for step in steps if secret in repr(step)]
    assert room.texts()[f"benches/{ID}/out.jsonl"].count('"***"') == 2
    assert room.bench().stat().st_mode & 0o077 == 0


async def test_what_it_prints_is_shown_plain_and_without_secrets(room: Room) -> None:
    room.api_key = "opensesame-opensesame"
    hostile = f"\x1b]0;title\x07\x1b[2J\u202eevil {room.api_key} HF_TOKEN=hf_{'a1B2' * 6} \x9b31m\x00end\n"
    steps = await events(room.run(room.plays(says=hostile, last=hostile, line=None, code=1)))
    result = result_of(steps)
    for text in (*(step.text for step in steps), result.error or ""):
        assert text.isprintable()
        assert "opensesame" not in text
        assert "a1B2" not in text
    assert any("evil *** HF_TOKEN=*** " in text for text in figures(steps))
    assert (result.error or "").endswith("end")


async def test_of_earlier_ones_the_newest_are_kept_and_what_still_runs(room: Room) -> None:
    running = room.run(room.plays("-long", held=True), bench_id="20261101T000000Z-0000").events()
    async for step in running:
        if step.type == "connected":
            break
    old = [f"20261102T0000{number:02}Z-00ff" for number in range(25)]
    for name in old:
        room.bench(name).mkdir()
        (room.bench(name) / "exit").write_text("0\n")
    await events(room.run(room.plays()))
    assert room.names() == ["20261101T000000Z-0000", *old[-19:], ID]
    await running.aclose()


async def test_a_full_run_of_a_url_is_kept_in_the_history(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = room.target(room.plays()).setup or ""
    for name, _, value in (word.partition("=") for word in shlex.split(setup)[1:]):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path / "operator"))
    place = Place(tmp_path)
    fleet = place.fleet(Settings())
    async with TruthServer() as server:
        url = f"http://127.0.0.1:{server.port}"
        plan = replace(PLAN, full_args=("--num-prompts", "6", "--header", "Authorization=Bearer abcdefgh"))
        steps = await told(fleet.bench_url(url, plan, api_key=KEY))
    result = result_of(steps)
    assert (result.subject, result.error, result.tool) == (url, None, "sglang.bench_serving")
    assert await place.store.bench(result.bench_id) == result
    assert await fleet.benches(url) == (replace(result, requests=(), samples=()),)
    detail = "full, auto client, --num-prompts 6 --header Authorization=***"
    assert place.benches()[-1] == (detail, f"done: {result.bench_id}")
    assert (tmp_path / "operator" / ".k2tui" / "benches" / result.bench_id / "out.jsonl").exists()
    await fleet.close()
    await place.store.close()


async def test_a_fleet_that_is_closed_ends_a_full_run(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = room.plays(held=True)
    monkeypatch.setenv("PYTHONPATH", str(room.package))
    monkeypatch.setenv("FAKE_ROOM", str(held))
    monkeypatch.setenv("HOME", str(tmp_path / "operator"))
    place = Place(tmp_path)
    fleet = place.fleet(Settings())
    steps: list[BenchEvent] = []

    async def follow(url: str) -> None:
        async for step in fleet.bench_url(url, PLAN):
            steps.append(step)

    async with TruthServer() as server:
        task = asyncio.ensure_future(follow(f"http://127.0.0.1:{server.port}"))
        await until(lambda: any(step.type == "figure" for step in steps), "its first words")
        await fleet.close()
        await gone([(await room.seen(held))["pid"]])
        with pytest.raises(K2Error) as ended:
            await task
    assert ended.value.code == "not_measured"
    await place.store.close()
