"""A full run: SGLang's own `bench_serving` on the node, detached; what it wrote is read by its version and kept.

It outlives the link: a connection that breaks is waited for, and it is followed again. Closing it ends it, as closing
any benchmark does.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from k2tui.core.benching.live import BenchEvent, BenchLive
from k2tui.core.benching.plan import BenchPlan, BenchTarget, CachePolicy, Procedure
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.targets import base_url
from k2tui.core.benching.tools.reading import read_tool_result
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.facts import Line
from k2tui.core.grammar.bars import read_bars
from k2tui.core.lines import plain
from k2tui.core.link import LinkPhase
from k2tui.core.printable import printable
from k2tui.core.secrets import mask
from k2tui.services.benching.measuring import About, BenchTools, ending_words
from k2tui.services.benching.sampling import GpuSampler
from k2tui.services.doors import Script

TOOL = "sglang.bench_serving"
BEGIN_LIMIT_S = 120.0
"""A setup line, and two looks by a python that has to be read from disk."""
END_LIMIT_S = 30.0
RETRY_S = 2.0
"""Between two tries to follow it again over a link that broke."""
MOST_SILENT = 5
"""So often it may be followed without a word before that is an error."""
MOST_WORDS = 400
"""Characters of what it printed that are told."""
DEFAULT_STREAMS, REQUESTS_A_STREAM, DEFAULT_PROMPT = 16, 4, 1024
"""Where the operator said nothing."""
OURS = ("--base-url", "--host", "--port", "--output-file")
"""Words that k2tui gives: a result is always of the server that it is kept for."""
WARM_SEED = 1
"""The same prompts each time, where that is asked for."""
NATIVE = "sglang"
"""The backend that tells the tokens of each request, whatever a parser makes of them; it names no model."""
_STOPPED = "it was ended before its end"


@dataclass
class _Told:
    """What the node has told of it."""

    client: str = ""
    version: str = ""
    last: str = ""
    fraction: float | None = None
    code: int | None = None
    is_gone: bool = False
    is_over: bool = False
    result: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)


class FullRun:
    """One full run from its beginning to its result."""

    def __init__(self, target: BenchTarget, plan: BenchPlan, tools: BenchTools, about: About, *, bench_id: str) -> None:
        self._target, self._plan, self._tools, self._about = target, plan, tools, about
        self._bench_id, self._home = bench_id, tools.home
        self._known = () if target.api_key is None else (target.api_key,)
        self._began, self._began_at = tools.clock.monotonic(), tools.clock.time()
        self._sampler = GpuSampler(tools.gpus)
        self._told = _Told()
        self._may_run = False
        """Something of it may be there, on the node."""
        self._stopped = False

    async def events(self) -> AsyncGenerator[BenchEvent, None]:
        """Its steps; the last are `result` and `done`. Raises K2Error where it could not be begun, or was ended."""
        told = self._told
        try:
            await self._begin()
            yield self._event("connected", f"sglang {told.version}, its {told.client} client, runs on the node")
            self._sampler.begin(self._tools.clock.monotonic())
            async with aclosing(self._followed()) as words:
                async for line in words:
                    yield self._event("figure", line)
            self._sampler.end()
            self._may_run = self._may_run and told.code is None
            if self._stopped and told.code is None:
                name = self._target.name
                raise K2Error(
                    f"{name} was not measured: it was ended before its end", code="not_measured", subject=name
                )
            async with aclosing(self._concluded()) as steps:
                async for step in steps:
                    yield step
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End it where it still runs; its directory stays on the node."""
        if not self._may_run:
            return
        self._may_run, self._stopped = False, True
        with contextlib.suppress(K2Error):
            await self._tools.link.run(self._script("bench_end"), (self._home, self._bench_id), timeout_s=END_LIMIT_S)

    def _script(self, name: str) -> Script:
        """One of its scripts, behind what the scripts of runs share."""
        script: Callable[[str], Script] = self._tools.script
        return Script(name, f"{script('runs').text}\n{script(name).text}")

    async def _begin(self) -> None:
        target = self._target
        words = words_of(target, self._plan, self._about, secrets.randbelow(2**31))
        args = (self._home, self._bench_id, target.setup or "", target.cwd or "", target.python or "")
        key = f"{target.api_key or ''}\n".encode()
        self._may_run = True  # also where its answer is lost on the way
        done = await self._tools.link.run(
            self._script("bench_begin"), (*args, self._plan.full_client, *words), stdin=key, timeout_s=BEGIN_LIMIT_S
        )
        said = self._fit(done.stdout.decode("utf-8", "replace"))
        word, _, rest = said.partition(" ")
        client, _, version = rest.partition(" ")
        if word != "began" or not version:
            self._may_run = word != "none"
            why = rest if word == "none" else self._fit(done.stderr.decode("utf-8", "replace")[-MOST_WORDS:])
            raise K2Error(
                f"{target.name} can't be measured by {TOOL}: {why or 'nothing was said'}",
                code="no_bench_serving",
                subject=target.name,
                hint="a full run needs the server's own python, with sglang in it",
            )
        self._told.client, self._told.version = client, version

    async def _followed(self) -> AsyncGenerator[str, None]:
        """Each new last line of its log, until it is over. A link that breaks is waited for."""
        told, link, silent, trouble = self._told, self._tools.link, 0, ""
        while not told.is_over and not self._stopped:
            silent += 1
            try:
                stream = await link.open(self._script("bench_watch"), (self._home, self._bench_id))
                try:
                    told.result, told.tail = [], []
                    while line := await stream.readline():
                        silent, trouble = 0, ""
                        if self._hear(line.decode("utf-8", "replace").rstrip("\n")):
                            yield told.last
                finally:
                    await stream.close()
            except (K2Error, OSError) as error:
                if isinstance(error, K2Error) and link.state.phase is LinkPhase.BLOCKED:
                    raise
                silent = 0
                if trouble != str(error):
                    trouble = str(error)
                    yield f"{trouble}; it goes on there, and is followed again"
            if silent >= MOST_SILENT:
                raise K2Error(f"the node says nothing of {TOOL}", code="silent", subject=self._target.name)
            if not told.is_over and not self._stopped:
                await self._tools.clock.sleep(RETRY_S)

    def _hear(self, line: str) -> bool:
        """Take one line in; true when there is something new to say."""
        self._sampler.look(self._began)
        told, (kind, _, rest) = self._told, line.partition(" ")
        match kind:
            case "L":
                before, told.last = told.last, self._fit(rest)
                told.fraction = _fraction(told.last)
                self._tools.on_live(self._live)
                return told.last not in ("", before)
            case "X":
                told.code = int(rest) if rest.isdecimal() and len(rest) < 4 else 1
            case "G":
                told.is_gone = True
            case "J":
                told.result.append(rest)
            case "T":
                told.tail.append(self._fit(rest))
            case "E":
                told.is_over = True
        return False

    def _fit(self, text: str) -> str:
        """What it printed, as it may be shown."""
        return mask(printable(plain(text)), self._known).strip()[:MOST_WORDS]

    async def _concluded(self) -> AsyncGenerator[BenchEvent, None]:
        result = self._result()
        unkept = None
        try:
            await self._tools.keep(result)
        except K2Error as error:
            unkept = str(error)
        for gate in result.gates:
            word = "unknown" if gate.ok is None else "ok" if gate.ok else "red"
            yield self._event("gate", f"{gate.id} {word}: {gate.reason}")
        for note in (*result.notes, *([] if unkept is None else [unkept])):
            yield self._event("note", note)
        words = ending_words(result)
        yield replace(self._event("result", words), result=result)
        code = ExitCode.DONE if result.valid else ExitCode.BAD
        yield replace(self._event("done", words), exit_code=code)

    def _result(self) -> BenchResult:
        """What it wrote, as a result; a failed one with its last words where it wrote nothing that can be read."""
        told, about = self._told, self._about
        how = "its process is gone" if told.code is None else f"exit code {told.code}"
        try:
            (*_, result) = read_tool_result(
                "".join(told.result),
                subject=self._target.name,
                now=self._began_at,
                procedure=Procedure.FULL,
                node=self._target.node,
                run_id=about.run_id,
                profile=about.profile,
                series_id=about.series_id,
                system=about.system,
                samples=self._sampler.samples,
            )
        except ValueError:
            last = next((line for line in reversed(told.tail) if line), "it printed nothing")
            result = BenchResult(
                self._bench_id,
                self._target.name,
                self._target.node,
                Procedure.FULL,
                self._began_at,
                tool=TOOL,
                run_id=about.run_id,
                profile=about.profile,
                series_id=about.series_id,
                system=about.system,
                samples=self._sampler.samples,
                error=f"{TOOL} ended without a result ({how}): {last}",
            )
        if told.code and result.error is None:
            result = replace(result, error=f"{TOOL} ended with {how}")
        return replace(
            result,
            bench_id=self._bench_id,
            began_at=self._began_at,
            elapsed_s=self._elapsed_s,
            tool_version=f"{told.version} ({told.client} client)",
        )

    def _event(self, kind: str, text: str) -> BenchEvent:
        return BenchEvent(kind, self._target.name, self._elapsed_s, text, self._live)

    @property
    def _elapsed_s(self) -> float:
        return round(self._tools.clock.monotonic() - self._began, 3)

    @property
    def _live(self) -> BenchLive:
        words = self._told.last or f"{TOOL} begins"
        return BenchLive(self._bench_id, Procedure.FULL, self._began, words, fraction=self._told.fraction)


def words_of(target: BenchTarget, plan: BenchPlan, about: About, seed: int) -> tuple[str, ...]:
    """The words for `sglang.bench_serving`: the operator's, and what they leave open.

    `seed`: a new one, where the prompts are to be new ones. Its own is always the same, and so are its prompts then:
    a second run would come out of the cache. Raises K2Error (usage) for words that are k2tui's.
    """
    given = dict(_given(plan.full_args))
    for name in OURS:
        if name in given:
            raise K2Error(
                f"{name} is given by k2tui: what is measured is {target.name}",
                code="usage",
                subject=target.name,
                hint="name another server, or its URL, to measure that one",
                exit_code=ExitCode.USAGE,
            )
    asked = given.get("--max-concurrency", "")
    most = max(plan.concurrencies, default=1)
    streams = int(asked) if asked.isdecimal() and len(asked) < 6 else most if most > 1 else DEFAULT_STREAMS
    if plan.seed is not None:
        seed = plan.seed
    elif plan.policy is CachePolicy.WARM:
        seed = WARM_SEED
    own = {"sglang": NATIVE, "vllm": "vllm-chat"}.get(target.engine or "", "sglang-oai-chat")
    backend = given.get("--backend", own)
    flags = dict(about.system.argv)
    model = about.system.model or flags.get("model")
    wanted: list[tuple[str, str | None]] = [
        ("--backend", backend),
        ("--dataset-name", "random-ids"),
        ("--model", model if target.node is not None else None),
        ("--served-model-name", None if backend == NATIVE else target.model),
        ("--tokenizer", flags.get("tokenizer-path") or flags.get("tokenizer")),
        ("--max-concurrency", str(streams)),
        ("--num-prompts", str(streams * REQUESTS_A_STREAM)),
        ("--random-input-len", str(DEFAULT_PROMPT)),
        ("--random-output-len", str(plan.max_tokens)),
        ("--random-range-ratio", "1"),
        ("--seed", str(seed)),
    ]
    added = [part for name, value in wanted if value and name not in given for part in (name, value)]
    if plan.policy is CachePolicy.COLD and "--flush-cache" not in given:
        added.append("--flush-cache")
    return ("--base-url", base_url(target), *added, *plan.full_args)


def _given(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The operator's flags, each with the word behind it."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            yield name, value if equals else next(iter(words[at + 1 : at + 2]), "")


def _fraction(text: str) -> float | None:
    """How far the last bar of the line is; None where it has none."""
    bars = list(read_bars(Line(text, text)))
    return bars[-1].progress.fraction if bars else None
