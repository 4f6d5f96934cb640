"""The load generator: measures one server from this machine and prints JSON lines; stdin is its leash.

Reads one JSON line (load_spec.py) from stdin. Every line that it prints is an object with a `type`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from k2tui.remote.load_http import plain
from k2tui.remote.load_prefill import lengths_of, prefill
from k2tui.remote.load_quick import quick
from k2tui.remote.load_session import GoneError, Session
from k2tui.remote.load_spec import Spec, read_spec
from k2tui.remote.load_sweep import sweep

WIND_UP_S = 2.0
FILES = 4096
"""Open files that are asked for: a stream is one."""


async def measure(
    spec: Spec, say: Callable[[dict[str, Any]], None], leash: Callable[[Callable[[], None]], None] | None = None
) -> None:
    """One measurement, said line by line up to `end`. `leash` takes what is to be called when it is to end at once."""
    session = Session(spec, say, perf_counter())
    stopped = asyncio.Event()

    def stop() -> None:
        session.stop()
        stopped.set()

    if leash is not None:
        leash(stop)
    waits = asyncio.ensure_future(stopped.wait())
    measured = asyncio.ensure_future(_measured(session))
    await asyncio.wait({waits, measured}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait({measured}, timeout=WIND_UP_S)  # what was measured is said by then
    for task in (waits, measured):
        task.cancel()
    await asyncio.gather(waits, measured, return_exceptions=True)
    if session.is_stopped:
        session.say("error", code="stopped", message="the measurement was stopped before its end")
    session.say("end", wall_s=session.now_s())
    session.close()


async def _measured(session: Session) -> None:
    plan = session.plan
    others = None
    try:
        await session.open()
        await session.tell_counters("before", settle_s=0.0)
        await session.probe()
        order = session.prompts.shuffled(plan.concurrencies) if plan.procedure == "sweep" else [1]
        wish = session.wish
        session.say(
            "connected",
            order=order,
            note=wish.note,
            ignore_eos=wish.ignore_eos,
            connections=max(order),
            prompt_lengths=lengths_of(session) if plan.procedure == "prefill" else None,
        )
        others = asyncio.ensure_future(session.watch_others())
        if plan.procedure == "sweep":
            await sweep(session, order)
        elif plan.procedure == "prefill":
            await prefill(session)
        else:
            await quick(session)
        await session.tell_counters("after")
    except GoneError as error:
        if not session.is_stopped:
            session.say("error", code=error.code, message=plain(str(error)))
    except Exception as error:  # a fault of ours is told as such: who waits for a line gets one
        session.say("error", code="broken", message=plain(f"{type(error).__name__}: {error}"))
    finally:
        if others is not None:
            others.cancel()


class Printer:
    """Lines to stdout. Once nobody reads them, the measurement has no sense any more."""

    def __init__(self) -> None:
        self.on_broken: Callable[[], None] | None = None

    def __call__(self, line: dict[str, Any]) -> None:
        try:
            sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
            sys.stdout.flush()
        except OSError:
            sys.stdout = open(os.devnull, "w", encoding="ascii")  # noqa: SIM115 - it lives as long as we do
            if self.on_broken is not None:
                self.on_broken()


async def _held(spec: Spec) -> None:
    """Measure until stdin closes or stdout does."""
    loop = asyncio.get_running_loop()
    say = Printer()

    def hold(stop: Callable[[], None]) -> None:
        say.on_broken = lambda: (loop.call_soon(stop), None)[1]
        threading.Thread(target=_wait_for_end, args=(loop, stop), daemon=True).start()

    await measure(spec, say, hold)


def _wait_for_end(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
    """Beside the loop, which can't wait for every stdin. Not through sys.stdin, which would be locked at exit."""
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    with suppress(RuntimeError):  # the loop has ended meanwhile
        loop.call_soon_threadsafe(stop)


def _open_files() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - not on every system

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main(_: Sequence[str] = ()) -> None:
    """Measure what the first line of stdin says."""
    say = Printer()
    try:
        spec = read_spec(sys.stdin.buffer.readline())
    except ValueError as error:
        say({"type": "error", "code": "bad_spec", "message": plain(str(error))})
        say({"type": "end", "wall_s": 0.0})
        return
    _open_files()
    gc.collect()
    gc.disable()  # a collection stops the clock of every stream; what is made here has no cycles worth one
    asyncio.run(_held(spec))


if __name__ == "__main__":
    main(sys.argv[1:])
