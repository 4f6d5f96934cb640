"""Everything that changes something goes through the gate: read-only, a confirmation where one is due, the audit log.

One table over all that a fleet can do, one over all plain commands. What is in neither fails the test: a new verb has
to say what it is.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from k2tui.adapters.audit_file import AuditFile
from k2tui.adapters.config_writer import TomlConfigWriter
from k2tui.adapters.links import make_link
from k2tui.adapters.scripts import script
from k2tui.cli import real_doors
from k2tui.commands.arguments import build_parser
from k2tui.core.benching.plan import BenchPlan
from k2tui.core.benching.series import SeriesPlan
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.link import LinkPhase
from k2tui.core.profiles import resolve
from k2tui.core.settings import NodeSettings
from k2tui.core.verbs import Manner, OnFailure, ProfileChange, VerbEvent
from k2tui.demo.fleet import DemoFleet
from k2tui.services.doors import NodeLink
from k2tui.services.fleet import Fleet
from k2tui.services.runs import RunKeeper, RunScripts
from k2tui.ui.fleetlike import FleetLike
from tests.demo.test_adopting import FLAGS, ByHand, by_hand, found
from tests.demo.waiting import until

NODE, SERVER, RIVAL, STRANGER = "gpu-a", "kimi", "kimi-exp", "stranger"
PROFILES = ("base", "reason")
LEAVE = Manner(on_failure=OnFailure.LEAVE)
LESS = ProfileChange(unset=("tool-call-parser",))
SHORT = BenchPlan(max_tokens=16, repeats=1)
Steps = AsyncIterator[VerbEvent]


@dataclass(frozen=True)
class Verb:
    """One thing that a fleet does to the world."""

    method: str
    play: Callable[[Fleet, Stage, str | None], Any]
    """With this confirmation: steps, or something to wait for."""
    action: str
    """What the audit log calls it."""
    subject: str = SERVER
    when_busy: bool = False
    """Requests that run would be cut off by it."""
    is_asked: bool = True
    """`confirm = "always"` holds for it; what changes nothing on a node has a dialog of its own at most."""
    always: bool = False
    """It is asked for under every policy."""
    only_asks: bool = False
    """It works under `--read-only` as well, and leaves nothing behind then."""
    measures: bool = False
    """Whether what it measured is valid depends on what else this machine does."""


TABLE: tuple[Verb, ...] = (
    Verb("start", lambda fleet, stage, word: fleet.start(stage.idle, confirm=word), "start"),
    Verb("restart", lambda fleet, stage, word: fleet.restart(SERVER, LESS, confirm=word, manner=LEAVE), "restart",
         when_busy=True),
    Verb("restart_many", lambda fleet, stage, word: fleet.restart_many({SERVER: None}, confirm=[word] if word else ()),
         "restart", when_busy=True),
    Verb("verify", lambda fleet, stage, word: fleet.verify(SERVER), "verify", is_asked=False,
         only_asks=True),
    Verb("bench", lambda fleet, stage, word: fleet.bench(SERVER, SHORT), "bench", is_asked=False, measures=True),
    Verb("run_series", lambda fleet, stage, word: fleet.run_series(short_series(fleet), confirm=word), "series",
         when_busy=True, measures=True),
    Verb("go_on", lambda fleet, stage, word: fleet.go_on(SERVER, confirm=word), "go-on", when_busy=True),
    Verb("take_back", lambda fleet, stage, word: fleet.take_back(SERVER, confirm=word), "take-back"),
    Verb("stop", lambda fleet, stage, word: fleet.stop(SERVER, confirm=word), "stop", when_busy=True),
    Verb("adopt", lambda fleet, stage, word: fleet.adopt(stage.foreign, confirm=word), "adopt", subject="",
         always=True),
    Verb("save_profile", lambda fleet, stage, word: fleet.save_profile(SERVER, LESS, as_name="less", use=False),
         "save-profile", subject="less", is_asked=False),
    Verb("trust_host_key", lambda fleet, stage, word: fleet.trust_host_key(STRANGER), "trust-host-key",
         subject=STRANGER, is_asked=False),
)  # fmt: skip
SAME_GATE_AS_RUN_SERIES = frozenset(("go_on_series", "end_series"))
"""They need one that was interrupted: tests/services/benching/test_series_made.py."""
LOOKS = frozenset(
    (
        *("benches", "bench_result", "compare_benches", "plan_matrix", "plan_ab", "serieses"),
        "set_base",  # the operator's own list of benchmarks, on this side
        *("nodes", "servers", "server", "ring", "run_ring", "plan", "preflight", "read_build", "runs"),
        *("recent", "past", "annotations", "alerts", "absence", "gpu_details"),
        *("attend", "close", "retry_now", "look_at", "on_alert"),
        "acknowledge",  # the operator's own list of alerts, on this side
    )
)
"""What changes nothing on a node, in the config or in what is trusted."""

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "start": (RIVAL,),
    "restart": (SERVER,),
    "undo": (SERVER,),
    "stop": (SERVER,),
    "resume": (SERVER, "--continue"),
    "adopt": ("FOREIGN",),
    "bench": ("ab", SERVER, *PROFILES),
}
"""Commands that change something, each with what makes it do so."""
LOOKING_COMMANDS = frozenset(
    (
        *("nodes", "servers", "gpus", "status", "logs", "diagnose", "flags", "runs", "doctor", "watch"),
        "demo",  # a world of its own
        "verify",  # it makes the server say something; read-only, nothing is written down of it
        "config",  # `init` writes the operator's own first file, and never over one
    )
)


def test_the_table_has_everything_that_a_fleet_can_do() -> None:
    methods = {name for name, _ in inspect.getmembers(FleetLike, inspect.isfunction) if not name.startswith("_")}
    assert methods == {verb.method for verb in TABLE} | LOOKS | SAME_GATE_AS_RUN_SERIES


def test_all_that_tells_steps_is_in_the_table() -> None:
    public = [(name, member) for name, member in inspect.getmembers(Fleet, inspect.isfunction) if name[0] != "_"]
    telling = {name for name, member in public if inspect.signature(member).return_annotation == "Steps"}
    others = ("save_profile", "trust_host_key", "bench", "run_series")
    assert telling == {verb.method for verb in TABLE if verb.method not in others}


def test_the_table_has_every_command() -> None:
    parser = build_parser()
    choices = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction)).choices
    assert set(choices) == set(COMMANDS) | LOOKING_COMMANDS


# ---- a fleet with something to do for each of them


@dataclass
class Stage:
    """A demo node: a server that runs, a restart of it that was interrupted, an engine that somebody else started."""

    demo: DemoFleet
    directory: Path
    hand: ByHand | None = None
    foreign: str = ""
    idle: str = RIVAL
    audits: int = field(default=0)

    @property
    def audit_path(self) -> Path:
        """Of the newest fleet."""
        return self.directory / f"audit-{self.audits}.jsonl"

    def audit(self) -> list[dict[str, str]]:
        """Its lines."""
        if not self.audit_path.exists():
            return []
        return [json.loads(line) for line in self.audit_path.read_text(encoding="utf-8").splitlines()]

    @asynccontextmanager
    async def fleet(self, *, confirm: str = "never", read_only: bool = False) -> AsyncIterator[Fleet]:
        """A fleet of its own on the demo, with this policy; one more node has a key that nobody knows."""
        self.audits += 1
        assert self.demo.config is not None
        known = self.demo.settings.nodes[NODE]
        nodes = {NODE: replace(known, confirm=confirm), STRANGER: replace(known, name=STRANGER, confirm=confirm)}
        doors = replace(
            real_doors(self._link),
            audit=AuditFile(self.audit_path, user="ann@desk"),
            history=None,
            past=None,
            builds=None,
            kept_runs=None,
            alert_runner=None,
            config=TomlConfigWriter(self.demo.config),
        )
        fleet = Fleet(replace(self.demo.settings, nodes=nodes, read_only=read_only), doors, simulated=True)
        await fleet.open()
        try:
            await fleet.settle()
            await until(lambda: fleet.link(STRANGER).state.phase is LinkPhase.BLOCKED)
            if self.hand is not None:
                self.foreign = (await found(fleet, self.hand)).settings.name
            yield fleet
        finally:
            await fleet.close()

    def _link(self, node: NodeSettings) -> NodeLink:
        trusted = self.directory / f"hosts-{self.audits}" if node.name == STRANGER else self.demo.trusted_hosts
        return make_link(node, trusted_hosts=trusted, ssh_config=())

    @asynccontextmanager
    async def with_a_stranger(self) -> AsyncIterator[ByHand]:
        """Somebody starts an engine by hand."""
        with by_hand(self.demo, *FLAGS) as self.hand:
            yield self.hand
        self.hand = None

    async def interrupted(self, fleet: Fleet) -> None:
        """k2tui was killed in the middle of a restart: its run is planned, and nothing was stopped yet."""
        server, live = self.demo.settings.servers[SERVER], fleet.server(SERVER).run
        keeper = RunKeeper(fleet.link(NODE), self.demo.settings.nodes[NODE], RunScripts(script))
        profile = resolve(self.demo.settings, server.profile, server)
        replaces = None if live is None else live.run_id
        await keeper.prepare(server, profile, started_by="ann@desk", why="restart", replaces=replaces)

    async def state(self, fleet: Fleet) -> tuple[object, ...]:
        """All that a verb could have changed."""
        keeper = RunKeeper(fleet.link(NODE), self.demo.settings.nodes[NODE], RunScripts(script))
        runs = [(run.run_id, run.alive, run.is_planned, run.verdict) for run in await keeper.scan()]
        assert self.demo.config is not None
        trusted = sorted(path.name for path in self.directory.glob("hosts-*"))
        return runs, self.demo.config.path.read_bytes(), trusted, self.audit()


def short_series(fleet: Fleet) -> SeriesPlan:
    """Each profile once, with a figure of a few tokens."""
    return replace(fleet.plan_ab(SERVER, PROFILES, restarts=1), bench=SHORT)


async def played(what: Any) -> list[VerbEvent]:
    """To its end, whatever it is."""
    return [event async for event in what] if hasattr(what, "__aiter__") else [await what][:0]


async def refused(what: Any, code: str) -> str:
    with pytest.raises(K2Error) as error:
        await played(what)
    assert error.value.code == code, f"{error.value.code}: {error.value}"
    assert error.value.exit_code is ExitCode.USAGE
    assert error.value.hint is not None
    return str(error.value)


@asynccontextmanager
async def stage(directory: Path, *, tried: bool = False) -> AsyncIterator[Stage]:
    """`tried`: it runs with another configuration than the one that was verified first."""
    async with DemoFleet(1, root=directory / "demo", up=False, pace=0.05) as demo:
        made = Stage(demo, directory)
        async with made.fleet() as fleet:
            events = await played(fleet.start(SERVER))
            if tried:
                events += await played(fleet.restart(SERVER, LESS))
            assert events[-1].exit_code is ExitCode.DONE, events[-1].text
            await made.interrupted(fleet)
        yield made


async def test_read_only_and_a_missing_word_refuse_every_change_and_nothing_is_touched(tmp_path: Path) -> None:
    async with stage(tmp_path, tried=True) as made, made.with_a_stranger():
        async with made.fleet(read_only=True) as fleet:
            before = await made.state(fleet)
            for verb in TABLE:
                if verb.only_asks:
                    events = await played(verb.play(fleet, made, NODE))
                    assert events[-1].exit_code is ExitCode.DONE, events[-1].text
                    assert "not written down" in events[-1].text
                    continue
                said = await refused(verb.play(fleet, made, NODE), "read_only")
                assert "read-only" in said, verb.method
            assert await made.state(fleet) == before
            assert made.audit() == []
        async with made.fleet(confirm="always") as fleet:
            before = await made.state(fleet)
            for verb in TABLE:
                if verb.is_asked:
                    for word in (None, "another-node"):
                        said = await refused(verb.play(fleet, made, word), "confirm_needed")
                        assert f"--confirm {NODE}" in said, verb.method
            assert await made.state(fleet) == before
            assert made.audit() == []
        async with made.fleet(confirm="never") as fleet:
            for verb in TABLE:
                if verb.always:
                    await refused(verb.play(fleet, made, None), "confirm_needed")
        await every_plain_command_is_refused(made)


async def test_busy_asks_before_requests_are_cut_off(tmp_path: Path) -> None:
    async with stage(tmp_path) as made, made.fleet(confirm="busy") as fleet, asked_for_long(made, fleet):
        before = await made.state(fleet)
        for verb in TABLE:
            if verb.when_busy:
                said = await refused(verb.play(fleet, made, None), "confirm_needed")
                assert "cut off" in said, verb.method
        assert await made.state(fleet) == before


@asynccontextmanager
async def asked_for_long(made: Stage, fleet: Fleet) -> AsyncIterator[None]:
    """A request runs as long as this."""
    port = made.demo.settings.servers[SERVER].port
    assert port is not None
    client = fleet.link(NODE).http(port, timeout_s=600.0)
    question = [{"role": "user", "content": "Go on."}]
    body = {"messages": question, "ignore_eos": True, "max_tokens": 250_000}
    asking = asyncio.ensure_future(client.ask("POST", "/v1/chat/completions", body=body))
    try:
        runs = False
        while not runs:
            loads: Any = (await client.ask("GET", "/v1/loads")).json()
            runs = loads["loads"][0]["num_running_reqs"] > 0
        yield
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await client.aclose()


async def test_every_change_stands_in_the_audit_log_with_who_where_what_and_how_it_ended(tmp_path: Path) -> None:
    async with stage(tmp_path) as made, made.fleet(confirm="never") as fleet:
        await played(fleet.stop(SERVER))
        made.idle = SERVER
        for verb in TABLE:
            if verb.method in ("go_on", "take_back"):
                await made.interrupted(fleet)
            if verb.method == "adopt":
                async with made.with_a_stranger() as hand:
                    made.foreign = (await found(fleet, hand)).settings.name
                    await written_down(made, verb, fleet)
            else:
                await written_down(made, verb, fleet)


async def written_down(made: Stage, verb: Verb, fleet: Fleet) -> None:
    """Do it, and look at its lines."""
    before = len(made.audit())
    events = await played(verb.play(fleet, made, NODE))
    ends = [event for event in events if event.exit_code is not None]
    if not verb.measures:
        assert [event.exit_code for event in ends] == [ExitCode.DONE] * len(ends), [event.text for event in ends]
    lines = made.audit()[before:]
    assert lines, verb.method
    for line in lines:
        assert line["user"] == "ann@desk"
        assert line["node"] == (STRANGER if verb.method == "trust_host_key" else NODE)
        assert line["diff"], verb.method
        assert line["time"].endswith("Z")
    subject = verb.subject or made.foreign
    own = [line["result"] for line in lines if (line["action"], line["subject"]) == (verb.action, subject)]
    own = [result.partition(":")[0] for result in own]  # what was done may follow
    assert own == ["began", "done"], (verb.method, lines)


async def every_plain_command_is_refused(made: Stage) -> None:
    """`--read-only` in front of it: exit 2, one JSON document, and nothing in the audit log."""
    home = made.directory / "operator"
    (home / "state" / "k2tui").mkdir(parents=True)
    (home / "state" / "k2tui" / "known_hosts").write_bytes(made.demo.trusted_hosts.read_bytes())
    env = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home)}
    asking = [plain_command(made, command, words, env) for command, words in COMMANDS.items()]
    for command, (code, last) in zip(COMMANDS, await asyncio.gather(*asking), strict=True):
        assert (code, last["type"], last["code"]) == (ExitCode.USAGE, "error", "read_only"), (command, last)
    assert not (home / "state" / "k2tui" / "audit.jsonl").exists()


async def plain_command(
    made: Stage, command: str, words: tuple[str, ...], env: Mapping[str, str]
) -> tuple[int | None, dict[str, object]]:
    """Its exit code, and the last document that it prints."""
    assert made.demo.config is not None
    told = [made.foreign.partition("@")[0] if word == "FOREIGN" else word for word in words]
    argv = ["--config", str(made.demo.config.path), "--read-only", command, *told, "--confirm", NODE, "--json"]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "k2tui", *argv), stdout=asyncio.subprocess.PIPE, env=env
    )
    out, _ = await process.communicate()
    return process.returncode, json.loads(out.decode().splitlines()[-1])
