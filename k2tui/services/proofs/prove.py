"""A real answer from the server that was launched, and every effect of its flags that was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from k2tui.core.effects import Wanted, model_names, on_node, others, proof_of, resolved
from k2tui.core.effects.answers import Answer, as_dict, as_list, printable_line
from k2tui.core.effects.checks import (
    COMPLETION,
    CONTEXT,
    ENVIRONMENT,
    GRAPHS,
    IDENTITY,
    KEY,
    METRICS,
    MODEL,
    NAME,
    RANKS,
    REASONING,
    SPECULATION,
    TOOLS,
    VALUE,
)
from k2tui.core.effects.completion import judge_completion
from k2tui.core.effects.reasoning import judge_unparsed
from k2tui.core.effects.resolved import Resolved
from k2tui.core.flags import arguments, flag_value
from k2tui.core.measuring.loads import of_loads
from k2tui.core.measuring.metrics import of_metrics
from k2tui.core.secrets import MASK, mask
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import Proof
from k2tui.services.doors import HttpDoor, HttpReply
from k2tui.services.proofs import generations
from k2tui.services.proofs.asker import Asker, NoAnswer
from k2tui.services.proofs.looks import LogTail, NodeLooks

INFO_S = 4.0
"""SGLang's /server_info goes through its scheduler's loop: silence there is no reason to wait longer."""
QUEUE_S = 1.5
"""Kept back to ask why an answer is late."""
_CHEAP = (IDENTITY, COMPLETION)
_NEEDS_INFO = (GRAPHS, SPECULATION, MODEL, CONTEXT, REASONING, TOOLS, VALUE)


async def prove(
    client: HttpDoor,
    *,
    argv: Sequence[str],
    wanted: Wanted,
    max_s: float,
    port: int,
    api_key: str | None = None,
    engine: str | None = None,
    version: str | None = None,
    node: NodeLooks | None = None,
    log: LogTail | None = None,
) -> Proof:
    """Look at all that is wanted, within `max_s` seconds and a few hundred tokens in all.

    `argv` is what it was started with; its model must be the one that answers. Its API key is sent when it has one;
    `api_key` is for an argv whose secrets are masked. `node`: the run on its node, None where k2tui has none. Never
    raises but on cancellation.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    key = api_key or _key_of(argv)
    one = _OneProof(client, argv, wanted, max_s, port, key, engine, version, node, log)
    effects, answered = await one.looked()
    known = frozenset({key}) if key else frozenset()
    effects = [replace(effect, text=mask(effect.text, known)) for effect in effects]
    elapsed_s, tokens = loop.time() - began, one.asker.tokens
    spent = f" ({tokens} tokens and {elapsed_s:.1f} s for all of it)" if one.asks_more and answered else ""
    return replace(
        proof_of(effects, answered=answered, spent=spent),
        tokens=tokens if answered else None,
        elapsed_s=round(elapsed_s, 3),
        completion_s=one.completion_s,
    )


class _OneProof:
    """The steps of one proof, and what each of them brought."""

    def __init__(
        self,
        client: HttpDoor,
        argv: Sequence[str],
        wanted: Wanted,
        max_s: float,
        port: int,
        key: str | None,
        engine: str | None,
        version: str | None,
        node: NodeLooks | None,
        log: LogTail | None,
    ) -> None:
        until = asyncio.get_running_loop().time() + max_s
        kept_s = min(QUEUE_S, max_s / 4)
        self.asker = Asker(client, key, until - kept_s, max_s)
        self._late = Asker(client, key, until, max_s)
        self._argv, self._wanted, self._port, self._max_s = argv, wanted, port, max_s
        self._node, self._log, self._has_key = node, log, key is not None
        self.asks_more = any(check not in _CHEAP for check in wanted.checks)
        """Than whether the right server answers."""
        self.completion_s: float | None = None
        self._resolved = Resolved(engine, version)
        self._version = version
        self._models: object = None
        self._ranks: tuple[on_node.RankProcess, ...] = ()
        self._log_began = 0 if log is None else log.end()

    async def looked(self) -> tuple[list[Effect], bool]:
        """(the effects in the order of `wanted`, an answer came)."""
        listener, models, *_ = await asyncio.gather(
            self._listener(), self._model_list(), self._look_at_info(), self._look_at_ranks()
        )
        identity = [] if listener is None else [on_node.judge_identity(listener, self._port)]
        if identity and identity[0].outcome is Outcome.NOT_PROVED:
            return identity, False
        if isinstance(models, NoAnswer):
            return [*identity, self._no_completion(models)], False
        ids = [str(row["id"]) for row in map(as_dict, as_list(as_dict(models).get("data"))) if row.get("id")]
        if not ids:
            return [*identity, self._no_completion(NoAnswer("/v1/models names no model"))], False
        model = await self._own_model(ids, is_ours=listener is not None and listener.word == "ours")
        if model is None:
            return [self._another(ids)], False
        return await self._asked(identity, ids, model)

    async def _asked(self, identity: list[Effect], ids: Sequence[str], model: str) -> tuple[list[Effect], bool]:
        wants = frozenset(self._wanted.checks)
        parsers = generations.Parsers(self._parser("reasoning-parser"), self._parser("tool-call-parser"))
        found: dict[str, Effect] = {}
        with_reasoning, with_tools = REASONING in wants and parsers.reasoning is not None, TOOLS in wants
        trouble, (tool_trouble, given), without_key, metrics = await asyncio.gather(
            generations.given_reasoning(self.asker, parsers.reasoning or "") if with_reasoning else _nothing(),
            generations.given_tools(self.asker, parsers) if with_tools else _no_trouble(),
            self._status_without_key() if KEY in wants else _nothing(),
            self._metrics() if METRICS in wants else _nothing(),
        )
        if trouble is not None:
            found[REASONING] = generations.broken(REASONING, trouble, self._setting(REASONING))
        if tool_trouble is not None:
            found[TOOLS] = generations.broken(TOOLS, tool_trouble, self._setting(TOOLS))
        can_see_lines = GRAPHS in wants and self._log is not None
        made = await generations.generated(
            self.asker,
            model,
            thinking=with_reasoning and REASONING not in found,
            unparsed=self.asks_more and parsers.reasoning is None,
            call=with_tools and TOOLS not in found,
            steps=others.steps_to_a_line(self._resolved) if can_see_lines else None,
        )
        answer = made.answer
        if answer is None:
            return [*identity, await self._why_nothing(made)], False
        self.completion_s = round(answer.elapsed_s, 3)
        found[COMPLETION] = judge_completion(answer)
        if with_reasoning and REASONING not in found:
            found[REASONING] = generations.judged_reasoning(made, parsers.reasoning or "", self._setting(REASONING))
        if with_tools and TOOLS not in found:
            found[TOOLS] = generations.judged_call(made, given, parsers.tools, self._setting(TOOLS))
        found.update(await self._by_log(wants))
        found.update(self._by_figures(wants, ids, without_key, metrics))
        if IDENTITY in wants and identity:
            found[IDENTITY] = identity[0]
        effects = [found[check] for check in self._wanted.checks if check in found]
        if parsers.reasoning is None and isinstance(made.whole, Answer):
            lacking = judge_unparsed(made.whole)
            effects += [] if lacking is None else [lacking]
        return [*effects, *self._variables()], True

    async def _by_log(self, wants: frozenset[str]) -> dict[str, Effect]:
        """What only lines that came since can show."""
        found: dict[str, Effect] = {}
        if wants.isdisjoint((GRAPHS, SPECULATION)):
            return found
        lines: Sequence[str] = ()
        if self._log is not None:
            await self._log.read_to_end()
            lines = self._log.lines(self._log_began)
        if GRAPHS in wants:
            found[GRAPHS] = others.judge_graphs(self._argv, self._resolved, lines, self._setting(GRAPHS))
        if SPECULATION in wants:
            look, _ = await asyncio.gather(self._document("/v1/loads?include=core,spec"), self._look_at_info())
            setting = self._setting(SPECULATION)
            found[SPECULATION] = others.judge_speculation(self._argv, self._resolved, look, lines, setting)
        return found

    def _by_figures(
        self, wants: frozenset[str], ids: Sequence[str], without_key: int | None, metrics: HttpReply | None
    ) -> dict[str, Effect]:
        argv, info = self._argv, self._resolved.values
        found: dict[str, Effect] = {}
        if MODEL in wants:
            found[MODEL] = others.judge_model(argv, info, ids, self._setting(MODEL))
        if NAME in wants:
            found[NAME] = others.judge_name(argv, ids, self._setting(NAME))
        if KEY in wants:
            found[KEY] = others.judge_key(argv, without_key, is_known=self._has_key, setting=self._setting(KEY))
        if CONTEXT in wants:
            found[CONTEXT] = others.judge_context(argv, self._models, self._resolved, self._setting(CONTEXT))
        if METRICS in wants:
            status, body = (None, b"") if metrics is None else (metrics.status, metrics.body)
            found[METRICS] = others.judge_metrics(status, body, self._setting(METRICS))
        if RANKS in wants:
            found[RANKS] = on_node.judge_ranks(argv, self._ranks, self._setting(RANKS))
        for check in self._wanted.checks:
            word, _, name = check.partition(" ")
            if word == VALUE:
                part = arguments(argv).find(name)
                values = None if part is None else part.values
                default = self._wanted.defaults.get(name)
                setting = self._setting(check) or f"--{name}"
                found[check] = resolved.judge_value(name, values, setting, self._resolved, default=default)
        return found

    def _variables(self) -> list[Effect]:
        if ENVIRONMENT not in self._wanted.checks:
            return []
        lines = () if self._log is None else self._log.lines(0)
        return [on_node.judge_variable(name, value, self._ranks, lines) for name, value in self._wanted.env.items()]

    async def _listener(self) -> on_node.Listener | None:
        if self._node is None or IDENTITY not in self._wanted.checks:
            return None
        return await self._node.listener(self._port)

    async def _model_list(self) -> object:
        """The reply, or NoAnswer."""
        try:
            self._models = await self.asker.document("GET", "/v1/models")
        except NoAnswer as why:
            return why
        return self._models

    async def _look_at_info(self) -> None:
        """What the server says it runs with, where that is needed."""
        if not any(check.partition(" ")[0] in _NEEDS_INFO for check in self._wanted.checks):
            return
        if self._resolved.engine == "vllm":
            metrics = await self._metrics()
            if metrics is not None and metrics.status == 200:
                self._resolved = resolved.of_vllm_metrics(metrics.body, self._version)
            return
        for path in ("/server_info", "/get_server_info"):
            document = await self._document(path)
            if document:
                self._resolved = resolved.of_server_info(document)
                return

    async def _look_at_ranks(self) -> None:
        names = [f"@{k}" if on_node.presence_only(k, v) else k for k, v in self._wanted.env.items()]
        if self._node is not None and (names or RANKS in self._wanted.checks):
            self._ranks = await self._node.ranks(names)

    async def _document(self, path: str) -> dict[str, Any]:
        try:
            return as_dict(await self.asker.document("GET", path, most_s=INFO_S))
        except NoAnswer:
            return {}

    async def _metrics(self) -> HttpReply | None:
        try:
            return await self.asker.reply("GET", "/metrics", most_s=INFO_S)
        except NoAnswer:
            return None

    async def _status_without_key(self) -> int | None:
        try:
            return (await self.asker.reply("GET", "/v1/models", with_key=False, most_s=INFO_S)).status
        except NoAnswer:
            return None

    async def _own_model(self, ids: Sequence[str], *, is_ours: bool) -> str | None:
        """The id to ask for; None when the port answers with a model that `argv` does not serve."""
        names = [_plain_path(name) for name in model_names(self._argv)]
        for model_id in ids:
            if _plain_path(model_id) in names:
                return model_id
        if not names or is_ours:
            return ids[0]
        path = flag_value(self._argv, "model-path")
        info: Mapping[str, Any] = self._resolved.values or await self._document("/server_info")
        return ids[0] if path is not None and info.get("model_path") == path else None

    def _another(self, ids: Sequence[str]) -> Effect:
        named, own = printable_line(", ".join(ids[:3])), model_names(self._argv)[0]
        text = f"another server answers on this port: it serves {named}, not {own}"
        return Effect(IDENTITY, Outcome.NOT_PROVED, text)

    def _no_completion(self, why: NoAnswer) -> Effect:
        # a run's own key is masked: one that k2tui was not given says nothing of the server
        outcome = Outcome.CANNOT if why.status in (401, 403) else Outcome.NOT_PROVED
        return Effect(COMPLETION, outcome, str(why))

    async def _why_nothing(self, made: generations.Generations) -> Effect:
        """A server with a queue is busy, not broken."""
        why = next((one for one in made.every if isinstance(one, NoAnswer)), NoAnswer("nothing came"))
        if not why.is_late:
            return self._no_completion(why)
        others = await self._queued_with(sum(isinstance(one, NoAnswer) and one.is_late for one in made.every))
        if others:
            text = (
                f"waited in the queue for {self._max_s:.0f} s, with {others} other request{'s' if others > 1 else ''}"
            )
            return Effect(COMPLETION, Outcome.CANNOT, text)
        return self._no_completion(why)

    async def _queued_with(self, own: int) -> int:
        """Others' requests in a server with a queue; 0: it has none, or none but our `own`, or it does not say."""
        look = None
        for path in ("/v1/loads", "/get_load", "/metrics"):
            try:
                reply = await self._late.reply("GET", path, most_s=QUEUE_S / 2)
                if reply.status == 200:
                    look = of_metrics(reply.body, 0.0) if path == "/metrics" else of_loads(reply.json(), 0.0)
            except (NoAnswer, ValueError, RecursionError):
                continue
            if look is not None:
                break
        ranks = () if look is None else look.ranks
        waiting, running = sum(rank.waiting or 0 for rank in ranks), sum(rank.running or 0 for rank in ranks)
        return max(0, waiting + running - own) if waiting else 0

    def _parser(self, flag: str) -> str | None:
        """A parser's name; what `auto` became, where the server says so."""
        asked = flag_value(self._argv, flag)
        said = self._resolved.of(flag)
        return said[0] if asked == "auto" and said and isinstance(said[0], str) else asked

    def _setting(self, check: str) -> str | None:
        return self._wanted.settings.get(check)


async def _nothing() -> None:
    return None


async def _no_trouble() -> tuple[None, None]:
    return None, None


def _key_of(argv: Sequence[str]) -> str | None:
    key = flag_value(argv, "api-key")
    return None if key == MASK else key


def _plain_path(name: str) -> str:
    return name.rstrip("/") or name
