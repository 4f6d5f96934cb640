"""What the node itself shows of a run: who listens on its port, and the environment of each of its ranks."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from k2tui.adapters.scripts import script
from k2tui.core.effects.on_node import RankProcess, judge_identity, judge_ranks, judge_variable
from k2tui.core.runs import Run
from k2tui.core.settings import LaunchProfile, ServerSettings
from k2tui.core.verdicts import Outcome
from k2tui.services.proofs import NodeLooks, ProofScripts
from tests.remote.node import EVERY_SHELL, Node, free_port, session
from tests.waiting import until

RANKS = str(Path(__file__).with_name("ranks.py"))


def server_of(node: Node, port: int) -> ServerSettings:
    return node.server(port=port)


async def start(node: Node, *words: str, port: int, listens: bool = True, env: dict[str, str] | None = None) -> Run:
    """A run whose ranks all live."""
    argv = (sys.executable, "-S", "-E", RANKS, str(port if listens else 0), *words)
    run = await node.keeper.launch(
        server_of(node, port), LaunchProfile(name="plain", argv=argv, env=env or {}), started_by="ada@desk"
    )
    await until(lambda: "listening" in Path(run.log_path).read_text())
    return run


def looks(node: Node, run: Run) -> NodeLooks:
    return NodeLooks(node.link, ProofScripts(script), run.directory)


def titles(ranks: tuple[RankProcess, ...]) -> list[str]:
    return sorted(rank.title.split()[0] for rank in ranks)


@EVERY_SHELL
async def test_the_run_that_listens_on_its_port_is_known_by_its_process(node: Node) -> None:
    port = free_port()
    run = await start(node, "same", port=port)
    found = await looks(node, run).listener(port)
    assert (found.word, found.pid in session(run.session_id or 0)) == ("ours", True)
    assert judge_identity(found, port).outcome is Outcome.PROVED


@EVERY_SHELL
async def test_somebody_elses_listener_is_never_taken_for_the_run(node: Node) -> None:
    """The port was free at the start and taken during the load: what answers there is another server."""
    port = free_port()
    run = await start(node, port=port, listens=False)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        found = await looks(node, run).listener(port)
    effect = judge_identity(found, port)
    assert (found.word, effect.outcome) == ("foreign", Outcome.NOT_PROVED)
    assert f"pid {found.pid} (" in effect.text
    assert effect.text.endswith("it is not the server that was launched")
    assert (await looks(node, run).listener(port)).word == "none"


async def test_a_run_whose_session_number_went_to_somebody_else_is_not_that_session(node: Node) -> None:
    port = free_port()
    run = await start(node, port=port)
    state = Path(run.directory, "state.json")
    old = state.read_text()
    told = json.loads(old)
    later = old.replace(
        f'"supervisor_start_ticks":{told["supervisor_start_ticks"]}', '"supervisor_start_ticks":99999999999'
    )
    state.write_text(
        later.replace(f'"child_start_ticks":{told["child_start_ticks"]}', '"child_start_ticks":99999999999')
    )
    assert (await looks(node, run).listener(port)).word == "foreign"
    state.write_text(old)


async def test_a_run_of_before_a_reboot_is_unknown(node: Node) -> None:
    port = free_port()
    run = await start(node, port=port)
    state = Path(run.directory, "state.json")
    old = state.read_text()
    state.write_text(old.replace('"boot_id":"', '"boot_id":"0'))
    assert (await looks(node, run).listener(port)).word == "unknown"
    assert await looks(node, run).ranks(("NCCL_PROTO",)) == ()
    state.write_text(old)


@EVERY_SHELL
async def test_a_variable_is_seen_on_every_rank(node: Node) -> None:
    env = {"NCCL_PROTO": "LL", "HF_TOKEN": "hf_0123456789abcdef", "WITH_BLANKS": "a b\nc=d  e", "EMPTY": ""}
    run = await start(node, *["same"] * 4, port=free_port(), env=env)
    ranks = await looks(node, run).ranks(("NCCL_PROTO", "@HF_TOKEN", "WITH_BLANKS", "EMPTY", "NCCL"))
    assert titles(ranks) == [f"sglang::scheduler_TP{number}" for number in range(4)]
    assert {tuple(rank.env.items()) for rank in ranks} == {
        (("NCCL_PROTO", "LL"), ("HF_TOKEN", "***"), ("WITH_BLANKS", "a b\x01c=d  e"), ("EMPTY", ""), ("NCCL", None))
    }
    assert judge_variable("NCCL_PROTO", "LL", ranks, ()).text == "NCCL_PROTO is LL on 4 of 4 ranks"
    assert judge_variable("HF_TOKEN", "***", ranks, ()).text == "HF_TOKEN is set on 4 of 4 ranks"
    assert judge_ranks(("x", "--tp-size", "4"), ranks, None).outcome is Outcome.PROVED


@EVERY_SHELL
async def test_a_value_of_any_bytes_is_known_again_as_it_was_given(node: Node) -> None:
    odd = {
        "LINES": "a\nb\n",
        "TABS": "a\tb\r",
        "QUOTES": "'\"$(id)`id`\\",
        "NAMES": "Größe 模型",
        "BYTES": "\udcff\udcfe",
    }
    long = {"JUST": "é" * 200, "LONG": "x" * 401}
    run = await start(node, "same", port=free_port(), env={**odd, **long})
    ranks = await looks(node, run).ranks((*odd, *long))
    for name, value in odd.items():
        assert judge_variable(name, value, ranks, ()).outcome is Outcome.PROVED, name
        assert judge_variable(name, f"{value} ", ranks, ()).outcome is Outcome.NOT_PROVED, name
    assert judge_variable("LINES", "a b ", ranks, ()).outcome is Outcome.NOT_PROVED
    assert judge_variable("JUST", long["JUST"], ranks, ()).outcome is Outcome.PROVED
    cut = judge_variable("LONG", long["LONG"], ranks, ())
    assert cut.outcome is Outcome.CANNOT
    assert cut.text == "LONG begins as asked on 1 of 1 rank; what follows 400 bytes is not compared"


@EVERY_SHELL
async def test_a_rank_that_lacks_it_or_has_another_value_is_named(node: Node) -> None:
    words = ("same", "NCCL_PROTO=Simple", "without-NCCL_PROTO", "dark")
    run = await start(node, *words, port=free_port(), env={"NCCL_PROTO": "LL"})
    ranks = await looks(node, run).ranks(("NCCL_PROTO",))
    said = {rank.title.split()[0][-1]: rank.env.get("NCCL_PROTO", "dark") for rank in ranks}
    assert said == {"0": "LL", "1": "Simple", "2": None, "3": "dark"}
    effect = judge_variable("NCCL_PROTO", "LL", ranks, ())
    assert effect.outcome is Outcome.NOT_PROVED
    assert effect.text.startswith("NCCL_PROTO is LL on 1 of 4 ranks; on sglang::scheduler_TP")


async def test_a_server_without_workers_is_its_own_rank(node: Node) -> None:
    run = await start(node, port=free_port(), env={"NCCL_PROTO": "LL"})
    (rank,) = await looks(node, run).ranks(("NCCL_PROTO",))
    assert (rank.pid, rank.env) == (run.child.pid if run.child else 0, {"NCCL_PROTO": "LL"})


async def test_no_secret_is_in_what_the_node_prints(node: Node) -> None:
    run = await start(node, "same", port=free_port(), env={"HF_TOKEN": "hf_0123456789abcdef"})
    done = await node.link.run(ProofScripts(script).rank_env, (run.directory, "@HF_TOKEN"))
    assert b"hf_01" not in done.stdout


async def test_a_look_changes_nothing(node: Node) -> None:
    port = free_port()
    run = await start(node, "same", port=port, env={"A": "b"})
    before = node.files()
    await looks(node, run).listener(port)
    await looks(node, run).ranks(("A", "not a name; touch x", "@A"))
    assert node.files() == before
