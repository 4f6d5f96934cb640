"""When a proof is kept, what it stands on, and that nothing is learned from a full queue."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.adapters.scripts import script
from k2tui.core.effects import Wanted
from k2tui.core.verdicts import Outcome
from k2tui.core.views import ServerStatus
from k2tui.services.doors import Completed, RealClock, Script
from k2tui.services.proofs import ProofScripts
from k2tui.services.proving import Abstains, ProofManners, Proving
from tests.fakes.web import Door, Engine, EngineLink, reply, timeout
from tests.services.server_stage import MODEL, RUN, SILENT, TEN, EngineLogLink, Stage
from tests.waiting import until

ARGV = ("serve", "--model-path", MODEL)


def proving(engine: Engine) -> Proving:
    return Proving(EngineLink(engine), ProofManners("on-doubt", 5.0), RealClock())


async def test_a_full_queue_leaves_what_was_known_before() -> None:
    engine = Engine(waiting=3)
    engine.completes()
    one = proving(engine)
    good = await one.prove(30000, Abstains(), argv=ARGV, asked=True)
    assert good.ok
    engine.routes["/v1/chat/completions"] = timeout("/v1/chat/completions")
    late = await one.prove(30000, Abstains(), argv=ARGV, asked=True)
    assert (late.ok, late.effects[-1].outcome) == (False, Outcome.CANNOT)
    assert one.proof == good


async def test_an_answer_that_does_not_come_without_a_queue_is_the_new_truth() -> None:
    engine = Engine()
    engine.completes()
    one = proving(engine)
    await one.prove(30000, Abstains(), argv=ARGV, asked=True)
    engine.routes["/v1/chat/completions"] = timeout("/v1/chat/completions")
    late = await one.prove(30000, Abstains(), argv=ARGV, asked=True)
    assert (late.ok, one.proof) == (False, late)


async def test_what_is_captured_is_not_asked_and_that_is_no_failure() -> None:
    one = proving(Engine())
    proof = await one.prove(30000, Abstains(capturing=True), argv=ARGV, asked=True)
    assert (proof.ok, [effect.outcome for effect in proof.effects], one.proof) == (False, [Outcome.CANNOT], None)


class TakenPort(EngineLogLink):
    """A node on which somebody else's server has the port and answers well."""

    word = "foreign"

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        if script.name == "listener":
            return Completed(0, f"{self.word} 4711 python3 other.py\nk2end\n".encode(), b"")
        return await super().run(script, args, stdin=stdin, timeout_s=timeout_s)


async def proved(stage: Stage) -> None:
    """Wait until the watch by itself has proved it, or proved that it is not."""
    await until(lambda: stage.watch.view.proof is not None)


async def test_a_server_that_answers_on_a_taken_port_is_never_called_ready() -> None:
    engine = Engine()
    engine.completes()
    for word, status in (("foreign", ServerStatus.DEGRADED), ("ours", ServerStatus.READY)):
        link = TakenPort(SILENT.encode(), engine=engine)
        link.word = word
        stage = Stage(link, log_now=TEN + 1, proof_scripts=ProofScripts(script))
        stage.start(RUN)
        await proved(stage)
        assert stage.status is status
        await stage.watch.close()


async def test_the_watch_by_itself_asks_for_no_more_than_an_answer() -> None:
    engine = Engine()
    engine.completes()
    stage = Stage(EngineLogLink(SILENT.encode(), engine=engine), log_now=TEN + 1)
    stage.start(RUN)
    await proved(stage)
    assert engine.asked.count("/v1/chat/completions") == 1
    await stage.watch.prove(Wanted(("completion", "metrics"), {"metrics": "--enable-metrics"}))
    assert engine.asked.count("/metrics") >= 1
    await stage.watch.close()


async def test_a_door_that_streams_gives_what_a_real_engine_sent() -> None:
    engine = Engine(routes={"/v1/chat/completions": reply({})})
    events = [event async for event in Door(engine).events("/v1/chat/completions", body={})]
    assert events[-1] == b"[DONE]"
