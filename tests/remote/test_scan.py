"""A scan tells what a node has, whoever asks, and changes nothing there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from k2tui.services.runs import RunKeeper, RunScripts
from tests.remote.node import EVERY_SHELL, Node, quick


async def test_a_node_that_never_ran_anything_has_no_runs_and_is_left_as_it_was(node: Node) -> None:
    assert await node.keeper.scan() == ()
    assert not node.home.exists()


@EVERY_SHELL
async def test_another_k2tui_finds_the_run_as_it_stands(node: Node) -> None:
    run = await node.start(node.server(gpus=(0, 1)), node.profile("", "--flag", "a\nb", env={"A": "x\ny"}))
    other = RunKeeper(node.link, node.settings, RunScripts(quick))
    (found,) = await other.scan()
    assert found == run
    assert (found.gpus, found.profile, found.started_by) == ((0, 1), "plain", "ada@desk")
    await other.stop(found)
    assert (await node.seen(run)).exit_code == 143


async def test_runs_are_told_newest_first(node: Node) -> None:
    runs = [await node.start(node.server(name)) for name in ("a", "b", "c")]
    assert [run.server for run in await node.keeper.scan()] == ["c", "b", "a"]
    assert [run.run_id for run in await node.keeper.scan()] == [run.run_id for run in reversed(runs)]


async def test_a_server_may_have_any_name(node: Node) -> None:
    run = await node.start(node.server("../kimi k2 (ä)"))
    assert (await node.keeper.scan()) == (run,)
    assert run.server == "../kimi k2 (ä)"
    assert Path(run.directory).parent.parent == node.home / "runs"


async def test_a_run_that_was_lost_in_a_reboot_is_not_alive(node: Node) -> None:
    run = await node.start()
    state = Path(run.directory, "state.json")
    old = state.read_text()
    state.write_text(old.replace('"boot_id":"', '"boot_id":"0'))
    found = await node.seen(run)
    assert (found.alive, found.exit_code, found.ended_at) == (False, None, None)
    state.write_text(old)


@EVERY_SHELL
async def test_what_can_not_be_read_is_left_out_and_the_rest_is_told(node: Node) -> None:
    run = await node.start()
    for name, text in (
        ("20010101T000000Z-aaaa", None),
        ("20010101T000000Z-aaab", b""),
        ("20010101T000000Z-aaac", b"\0\xff not json"),
        ("20010101T000000Z-aaad", b"[]"),
        ("20010101T000000Z-aaae", b'{"supervisor_pid":"; kill","boot_id":"x"}'),
    ):
        directory = Path(run.directory).with_name(name)
        directory.mkdir()
        if text is not None:
            (directory / "state.json").write_bytes(text)
            (directory / "spec.json").write_bytes(text)
            (directory / "exit").write_bytes(text)
    Path(run.directory).with_name("20010101T000000Z-aaaf").write_text("a file")
    Path(node.home, "runs", "a file").write_text("a file")
    found = await node.keeper.scan()
    assert found[0] == run
    assert not [one for one in found if one.alive and one.run_id != run.run_id]


async def test_a_living_run_is_told_even_when_its_spec_is_broken(node: Node) -> None:
    run = await node.start()
    Path(run.directory, "spec.json").write_text("{")
    found = await node.seen(run)
    assert (found.alive, found.server, found.argv) == (True, "kimi", ())


@EVERY_SHELL
async def test_the_newest_twenty_of_each_server_are_told(node: Node) -> None:
    run = await node.start()
    node.end("0")
    await node.ended(run)
    for minute in range(30):
        copy = Path(run.directory).with_name(f"20010101T00{minute:02}00Z-aaaa")
        shutil.copytree(run.directory, copy)
        spec = json.loads((copy / "spec.json").read_text())
        (copy / "spec.json").write_text(json.dumps({**spec, "run_id": copy.name}))
    found = await node.keeper.scan()
    assert len(found) == 20
    assert found[0].run_id == run.run_id
    assert found[-1].run_id == "20010101T001100Z-aaaa"
