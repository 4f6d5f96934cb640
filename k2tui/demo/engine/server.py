"""One simulated server from its first line to its last."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from k2tui.demo.engine import words
from k2tui.demo.engine.batch import Batch, Job
from k2tui.demo.engine.checkpoint import Checkpoint, CheckpointError, open_checkpoint
from k2tui.demo.engine.console import OUT, Console
from k2tui.demo.engine.gpus import Gpus, visible_gpus
from k2tui.demo.engine.knobs import FaultKind, Knobs
from k2tui.demo.engine.loading import CONTEXT_GB, Loaded, Loader, SchedulerFailed
from k2tui.demo.engine.options import Options, last_flag, parse
from k2tui.demo.engine.processes import Family, kill_self, process_start
from k2tui.demo.engine.replies import Facts
from k2tui.demo.engine.routes import Routes
from k2tui.demo.engine.speed import TOKENS_PER_S, Speed, configured
from k2tui.demo.engine.tracebacks import HEAD, forward_failure, load_failure
from k2tui.demo.engine.web import Request, WebServer
from k2tui.demo.engine.words import Words

WARMUP_S = 0.8
CRASH_PAUSE_S = 5.0
DRAIN_POLL_S = 0.2
DRAIN_LINE_S = 5.0
OWNER_POLL_S = 2.0
CROWD_TOKENS = (180, 900)


class Server:
    """A command line that was accepted, being served."""

    def __init__(self, options: Options, knobs: Knobs) -> None:
        self.options, self.knobs = options, knobs
        self.words = Words(options.release)
        self.console = Console(options.ranks)
        gpus = visible_gpus(options.ranks, int(options["base_gpu_id"] or 0), os.environ.get("CUDA_VISIBLE_DEVICES"))
        self.gpus = Gpus(knobs.node, gpus)
        self.family = Family(options.ranks)
        self._stopping = asyncio.Event()
        self._batch: Batch | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def run(self) -> int:
        """The exit status; a failure ends in SIGKILL to itself, as SGLang's does."""
        self._tasks.append(asyncio.create_task(self._watch_owner()))
        try:
            checkpoint = open_checkpoint(Path(self.options.model_path))
            loaded = await self._load(checkpoint)
        except SchedulerFailed as error:
            self._scheduler_failed(error)
        except CheckpointError as error:
            self._scheduler_failed(SchedulerFailed(0, load_failure(self.options.release, str(error))))
        return await self._serve(checkpoint, loaded)

    async def _load(self, checkpoint: Checkpoint) -> Loaded:
        loader = Loader(self.options, checkpoint, self.console, self.gpus, self.knobs, self._start_ranks)
        try:
            return await loader.run()
        except CheckpointError as error:
            raise SchedulerFailed(0, load_failure(self.options.release, str(error))) from None

    def _start_ranks(self) -> None:
        self.family.start()
        self.gpus.own(self.family.schedulers())

    async def _serve(self, checkpoint: Checkpoint, loaded: Loaded) -> int:
        host, port = str(self.options["host"]), int(self.options["port"])
        batch = Batch(
            self.console,
            self.words,
            self.gpus,
            loaded.tokens,
            graph=self.options.decode_graphs,
            log_interval=int(self.options["decode_log_interval"] or 40),
            speed=self._speed(),
            caches=not self.options["disable_radix_cache"],
            gauge_sticks=self.words.classic or self.knobs.has(FaultKind.STUCK_GAUGE),
        )
        facts = Facts(self.options, checkpoint, loaded, batch, loaded.startup_time())
        routes = Routes(facts, self.console, self.knobs.pace)
        web = WebServer(routes.answer, self._access)
        pid = os.getpid()
        self.console.uvicorn("INFO", f"Started server process [{pid}]")
        self.console.uvicorn("INFO", "Waiting for application startup.")
        for line in words.BEFORE_UVICORN:
            self.console.log(line)
        self.console.uvicorn("INFO", "Application startup complete.")
        try:
            if self.knobs.has(FaultKind.PORT_TAKEN):
                raise OSError(98, "address already in use")
            await web.start(host, port)
        except OSError:
            return self._port_taken(host, port)
        self.console.uvicorn("INFO", f"Uvicorn running on http://{host}:{port} (Press CTRL+C to quit)")
        self._batch = batch
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        loop.add_signal_handler(signal.SIGQUIT, self._child_failed)
        loop.add_signal_handler(signal.SIGCHLD, self._look_at_children)
        self._tasks.append(asyncio.create_task(batch.run()))
        self._tasks.append(asyncio.create_task(self._warm_up(routes)))
        await self._stopping.wait()
        return await self._shut_down(routes, web)

    def _speed(self) -> Speed:
        rate = self.knobs.rate or TOKENS_PER_S / max(self.knobs.pace, 1e-6)
        configuration = configured(os.environ, graphs=self.options.decode_graphs)
        return Speed.of(rate, configuration, pace=self.knobs.pace, node=self.knobs.node)

    async def _warm_up(self, routes: Routes) -> None:
        """SGLang's first requests to itself, and the line that everybody waits for."""
        pace, peer = self.knobs.pace, random.Random()
        await asyncio.sleep(WARMUP_S / 2 * pace)
        self._access_line(peer, "GET /model_info", "200 OK")
        if self.knobs.has(FaultKind.STALL, "warmup"):
            await asyncio.Event().wait()
        await asyncio.sleep(WARMUP_S / 2 * pace)
        if self.knobs.has(FaultKind.CRASH_WARMUP):
            self.console.log(HEAD, 0)
            self.console.raw(forward_failure(self.options.release))
            self._child_failed()
            return
        batch = routes.facts.batch
        job = batch.submit(Job(13, iter((" ",) * 8), 8))
        batch.totals.requests -= 1
        _ = [token async for token in job.stream()]
        route = "/v1/chat/completions" if routes.facts.checkpoint.is_kimi else "/generate"
        self._access_line(peer, f"POST {route}", "200 OK")
        if not self.words.classic:
            self._access_line(peer, "POST /freeze_gc", "200 OK")
        self.console.log(words.READY)
        self.gpus.show(used_gb=CONTEXT_GB + routes.facts.loaded.weights_gb + routes.facts.loaded.kv_gb + 0.8, busy=0)
        self.gpus.settle()
        routes.ready = True
        batch.hung = self.knobs.has(FaultKind.HANG_AFTER_READY)
        if self.knobs.has(FaultKind.DIE_AFTER_READY):
            routes.completions.on_completion = self._kill_a_scheduler
        if self.knobs.has(FaultKind.ZOMBIE):
            routes.completions.on_completion = self._stop_the_schedulers
        if self.knobs.traffic:
            self._tasks.append(asyncio.create_task(self._crowd(batch)))

    async def _crowd(self, batch: Batch) -> None:
        """Requests of nobody, so that a served model has something to do."""
        chance = random.Random(self.options.launch_command)
        while not self._stopping.is_set():
            for _ in range(self.knobs.traffic - len(batch.running) - len(batch.waiting)):
                length = chance.randint(*CROWD_TOKENS)
                batch.submit(Job(chance.randint(40, 1600), iter(("x",) * length), length, unseen=True))
            await asyncio.sleep(max(0.5, self.knobs.pace))

    async def _shut_down(self, routes: Routes, web: WebServer) -> int:
        """Let running requests end, without a limit, then go."""
        routes.stopping = True
        self.console.log(words.SIGTERM)
        batch = routes.facts.batch
        for job in [job for job in (*batch.running, *batch.waiting) if job.unseen]:
            batch.abort(job)
        told_at = time.monotonic()
        while batch.running or batch.waiting:
            await asyncio.sleep(DRAIN_POLL_S * self.knobs.pace)
            if time.monotonic() - told_at >= DRAIN_LINE_S:
                told_at = time.monotonic()
                ids = [job.rid for job in (*batch.running, *batch.waiting)]
                self.console.log(words.draining(len(ids), ids))
        self.console.log(words.draining(0, []))
        pid = os.getpid()
        self.family.end()
        if self.words.classic:
            self.console.log(words.killed_tree(pid, with_parent=True))
        else:
            self.console.log(words.killed_tree(pid, with_parent=False))
            self.console.uvicorn("INFO", "Shutting down")
            self.console.uvicorn("INFO", "Waiting for application shutdown.")
            self.console.uvicorn("INFO", "Application shutdown complete.")
            self.console.uvicorn("INFO", f"Finished server process [{pid}]")
            self.console.log(words.killed_tree(pid, with_parent=False))
        await web.close()
        for task in self._tasks:
            task.cancel()
        self.gpus.clear()
        return 0

    def _port_taken(self, host: str, port: int) -> int:
        self.console.uvicorn("ERROR", words.port_taken(host, port))
        self.console.uvicorn("INFO", "Waiting for application shutdown.")
        self.console.uvicorn("INFO", "Application shutdown complete.")
        self.family.end()
        self.console.log(words.killed_tree(os.getpid(), with_parent=False))
        self.gpus.clear()
        return 1

    def _scheduler_failed(self, error: SchedulerFailed) -> None:
        """A rank raised while it loaded: its traceback, the parent's line, and SIGKILL to all."""
        self.console.log(HEAD, error.rank)
        self.console.raw(error.traceback)
        self.console.log(words.SIGQUIT_CHILD)
        self._kill_all()

    def _child_failed(self) -> None:
        """A scheduler died while the server served."""
        if self._batch is not None:
            self._batch.hung = True
        self.console.log(words.SIGQUIT_SERVING if not self.words.classic else words.SIGQUIT_CHILD)
        if self.words.classic:
            self._kill_all()
        self.console.log(words.CRASH_PAUSE)
        self._tasks.append(asyncio.create_task(self._diagnose_and_die()))

    async def _diagnose_and_die(self) -> None:
        await asyncio.sleep(CRASH_PAUSE_S * self.knobs.pace)
        self.console.log(words.NO_SCHEDULERS)
        self._kill_all()

    def _kill_all(self) -> None:
        self.console.log(words.killed_tree(os.getpid(), with_parent=True))
        self.family.end()
        self.gpus.clear()
        kill_self()

    def _kill_a_scheduler(self) -> None:
        for pid, _ in self.family.schedulers()[-1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _stop_the_schedulers(self) -> None:
        for pid, _ in self.family.schedulers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        if self._batch is not None:
            self._batch.stand_still()

    def _look_at_children(self) -> None:
        """The watchdog: a scheduler that ended by itself takes the server with it (0.5.10 and later).

        Older ones do not notice: their HTTP side answers on.
        """
        for rank, pid, code in self.family.reap():
            if self.words.classic and rank >= 0 and self._batch is not None:
                self._batch.stand_still()
            if not self._stopping.is_set() and code != -signal.SIGTERM and not self.words.classic:
                title = "detokenizer" if rank < 0 else f"scheduler_{rank}"
                self.console.log(words.subprocess_crashed(title, pid, code))
                self._child_failed()
                return

    async def _watch_owner(self) -> None:
        """The demo is a throw-away: when it is gone, so is this."""
        pid, _, start = (self.knobs.owner or "").partition(":")
        while pid:
            if process_start(int(pid)) != start:
                self.family.end()
                self.gpus.clear()
                kill_self()
            await asyncio.sleep(OWNER_POLL_S)

    def _access(self, request: Request, status: str) -> None:
        prefixes = self.options["uvicorn_access_log_exclude_prefixes"] or []
        if not any(request.path.startswith(prefix) for prefix in prefixes):
            line = f'{request.peer} - "{request.method} {request.target} HTTP/1.1" {status}'
            self.console.uvicorn("INFO", line, stream=OUT)

    def _access_line(self, peer: random.Random, request: str, status: str) -> None:
        """The access line of a request that the server made to itself."""
        line = f'127.0.0.1:{peer.randint(32768, 60999)} - "{request} HTTP/1.1" {status}'
        self.console.uvicorn("INFO", line, stream=OUT)


def main(argv: Sequence[str], *, as_module: bool = True) -> int:
    """Run one server; `as_module` is the old entry point, which warns about itself."""
    knobs = Knobs.of()
    console = Console(1)
    if as_module:
        console.raw(Words(knobs.release).entry_warning())
    unknown = last_flag(argv) if knobs.has(FaultKind.BAD_FLAG) else ()
    options = parse(knobs.release, argv, unknown=unknown)
    for notice in options.notices:
        console.log(notice)
    if not (Path(options.model_path) / "config.json").exists():
        console.raw(_no_model(options))
        return 1
    return asyncio.run(_run(options, knobs))


async def _run(options: Options, knobs: Knobs) -> int:
    return await Server(options, knobs).run()


def _no_model(options: Options) -> str:
    """What transformers says of a model path that is neither here nor on the hub."""
    site = options.release.site
    return (
        "Traceback (most recent call last):\n"
        f'  File "{site}/launch_server.py", line 84, in <module>\n    run_server(server_args)\n'
        f'  File "{site}/srt/utils/common.py", line 4570, in wrapper\n    result = func(*args, **kwargs)\n'
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the "
        "cached files.\nCheck your internet connection or see how to run the library in offline mode at "
        "'https://huggingface.co/docs/transformers/installation#offline-mode'.\n"
    )


def entry() -> None:
    """`python -m k2tui.demo.engine`."""
    sys.exit(main(sys.argv[1:]))
