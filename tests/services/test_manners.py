"""Who may make a server generate: one function, whoever asks."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.core.effects import Wanted
from k2tui.services import server_watch, serving_watch
from k2tui.services.server_watch import ProofManners
from tests.fakes.web import Engine
from tests.services.server_stage import RUN, SILENT, TEN, EngineLogLink, Stage
from tests.waiting import until

PACKAGE = Path(server_watch.__file__).parent.parent
GENERATES = ("/health", "/generate", "/v1/completions", "/v1/chat/completions", "/v1/responses", "/api/chat")
"""Routes on which SGLang's model works, by their beginnings."""
CAPTURING = replace(RUN, env=(("SGLANG_HS_DUMP_DIR", "/dev/shm/hs"),))


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Every module that may ask a server, and its tree."""
    for room in ("services", "ui", "commands", "adapters"):
        for path in sorted((PACKAGE / room).rglob("*.py")):
            yield f"{room}/{path.name}", ast.parse(path.read_text("utf-8"))
    yield "cli.py", ast.parse((PACKAGE / "cli.py").read_text("utf-8"))


def docstrings(tree: ast.Module) -> set[int]:
    """Strings that stand for themselves: they are read, not asked."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def test_only_the_proof_names_a_route_that_generates() -> None:
    users = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith(GENERATES)
        and id(node) not in docstrings(tree)
    }
    assert users == {"services/asker.py"}


def test_only_one_module_asks_for_a_proof_and_it_asks_the_policy_first() -> None:
    importers = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module == "k2tui.services.proofs.prove" or "prove" in {alias.name for alias in node.names})
    }
    assert importers == {"services/proving.py"}
    deciders = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "may_generate"
    }
    assert deciders == {"services/proving.py"}


def generated(engine: Engine) -> list[str]:
    return [path for path in engine.asked if path.startswith(GENERATES)]


@pytest.mark.parametrize(
    ("generate", "capturing", "job_running"),
    itertools.product(("never", "on-doubt", "always"), (False, True), (False, True)),
)
async def test_a_server_is_never_made_to_generate_against_the_policy(
    generate: str, capturing: bool, job_running: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both callers: the watch by itself, and the operator's start."""
    monkeypatch.setattr(server_watch, "TICK_S", 0.02)
    monkeypatch.setattr(serving_watch, "http_period_s", lambda *_, **__: 0.02)
    engine = Engine()
    engine.completes()
    stage = Stage(
        EngineLogLink(SILENT.encode(), engine=engine),
        manners=ProofManners(generate, 5.0),
        log_now=TEN + 1,
        job_running=job_running,
    )
    forbidden = capturing or job_running
    try:
        stage.start(CAPTURING if capturing else RUN)
        await until(lambda: engine.asked.count("/v1/loads") > 5)
        if generate != "never" and not forbidden:
            await until(lambda: generated(engine))
        else:
            assert not generated(engine)
            assert stage.watch.view.proof is None
        before = len(generated(engine))
        proof = await stage.watch.prove(Wanted())
        assert (len(generated(engine)) > before) is not forbidden
        assert proof.ok is not forbidden
        if forbidden:
            assert proof.text.startswith("not asked for a completion: ")
            assert stage.watch.view.proof is None
    finally:
        await stage.watch.close()
