"""How long the ranks of a server take to sum up a vector, with one NCCL setting after the other; no weights are loaded.

Carried to a node and run there with the server's own python (3.8 or later). stdin: one JSON line
`{model, ranks, batches, arms: [{label, env}], limit_s}`, then the leash: its end ends everything. stdout, JSON lines:
`{"type": "hello", "backend", "torch", "hidden_size", "ranks"}`, for each arm `{"type": "arm", "label", "state", "why",
"p50_us", "graphs"}` (state: ok, hung, failed; bytes to the median in microseconds; in CUDA graphs, as decoding has
them, so that the time to launch each is not in it), at last `{"type": "end"}`; or `{"type": "error", "message"}`.

The sizes are those of decoding: one token of each of so many requests, `hidden_size` values of two bytes each, which
all ranks sum up twice a layer. `hidden_size` is config.json's own, or its text model's.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

BYTES = 2
"""Of one value: bfloat16 on GPUs, float16 with gloo."""
WARM, ROUNDS, EACH = 5, 30, 20
"""Rounds before the clock, rounds with it, and all-reduces of one round: decoding has them one after the other too."""
MOST_BYTES = 65536
"""Of what one rank may say."""
WAIT_S = 0.1


def main(_arguments: Sequence[str]) -> None:
    """Do what the first line of stdin says."""
    order = json.loads(_first_of_stdin())
    try:
        hidden = hidden_size(order["model"])
        about = _in_a_child(lambda: _about(order["ranks"]), order["limit_s"])
    except (OSError, ValueError, KeyError) as error:
        _say({"type": "error", "message": str(error)})
        return
    _say({**about, "type": "hello", "hidden_size": hidden, "ranks": order["ranks"]})
    sizes = [hidden * BYTES * batch for batch in order["batches"]]
    for arm in order["arms"]:
        found = look(arm["env"], order["ranks"], sizes, order["limit_s"])
        _say({**found, "type": "arm", "label": arm["label"]})
    _say({"type": "end"})


def hidden_size(model: str) -> int:
    """Of a model's directory. OSError or ValueError where it does not say."""
    path = os.path.join(os.path.expanduser(model), "config.json")
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    for part in (config, *(config.get(name) for name in ("text_config", "llm_config", "language_config"))):
        size = part.get("hidden_size") if isinstance(part, dict) else None
        if isinstance(size, int) and size > 0:
            return size
    raise ValueError(f"{path} names no hidden_size")


def look(env: Mapping[str, str], ranks: int, sizes: Sequence[int], limit_s: float) -> dict[str, Any]:
    """One setting: {state, why, p50_us, graphs}. Whoever is not through within `limit_s` is killed."""
    port = _free_port()

    def be_rank(rank: int) -> Callable[[], dict[str, Any]]:
        def run() -> dict[str, Any]:
            os.environ.update(env)
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(ranks))
            return timed(rank, sizes)

        return run

    said = _in_children([be_rank(rank) for rank in range(ranks)], limit_s)
    if said is None:
        return {"state": "hung", "why": f"no answer within {limit_s:g} s", "p50_us": None, "graphs": None}
    bad = [answer for answer in said if "why" in answer]
    if bad:  # the others only say that they lost the first
        first = min(bad, key=lambda answer: float(answer["at"]))
        return {"state": "failed", "why": first["why"], "p50_us": None, "graphs": None}
    found = [answer["found"] for answer in said]
    slowest = {str(size): max(rank["p50_us"][str(size)] for rank in found) for size in sizes}
    return {"state": "ok", "why": None, "p50_us": slowest, "graphs": all(rank["graphs"] for rank in found)}


def timed(rank: int, sizes: Sequence[int]) -> dict[str, Any]:
    """{p50_us: bytes to the median of an all-reduce in microseconds, graphs}, seen from this rank."""
    torch, distributed = _torch()
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(rank)
    distributed.init_process_group("nccl" if on_gpu else "gloo")
    found, graphs = {}, on_gpu
    for size in sizes:
        kind = torch.bfloat16 if on_gpu else torch.float16
        vector = torch.ones(size // BYTES, dtype=kind, device="cuda" if on_gpu else "cpu")

        def summed(vector: Any = vector) -> None:
            for _ in range(EACH):
                distributed.all_reduce(vector)

        summed()  # the first one builds the ring
        if on_gpu:
            torch.cuda.synchronize()
        replay = _captured(torch, summed) if graphs else None
        graphs = replay is not None
        took = _rounds(replay or summed, torch.cuda.synchronize if on_gpu else None)
        found[str(size)] = round(sorted(took)[len(took) // 2] / EACH * 1e6, 2)
    return {"p50_us": found, "graphs": graphs}


def _captured(torch: Any, work: Callable[[], None]) -> Callable[[], None] | None:
    """The same work as a CUDA graph; None where this torch can't capture it."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            work()
    except RuntimeError:
        return None
    replay: Callable[[], None] = graph.replay
    return replay


def _rounds(work: Callable[[], None], wait: Callable[[], None] | None) -> list[float]:
    """Seconds of each round."""
    took = []
    for turn in range(WARM + ROUNDS):
        began = time.perf_counter()
        work()
        if wait is not None:
            wait()
        if turn >= WARM:
            took.append(time.perf_counter() - began)
    return took


def _about(ranks: int) -> dict[str, Any]:
    torch, distributed = _torch()
    on_gpu = torch.cuda.is_available()
    if not distributed.is_available():
        raise OSError("its torch has no torch.distributed")
    if on_gpu and torch.cuda.device_count() < ranks:
        raise OSError(f"{ranks} ranks need as many GPUs, and {torch.cuda.device_count()} are seen")
    return {"backend": "nccl" if on_gpu else "gloo", "torch": str(torch.__version__)}


def _torch() -> tuple[Any, Any]:
    """torch and torch.distributed, which only processes of their own import."""
    return importlib.import_module("torch"), importlib.import_module("torch.distributed")


def _in_a_child(ask: Callable[[], dict[str, Any]], limit_s: float) -> dict[str, Any]:
    """What it gives, asked in a process of its own: this one stays without CUDA, so that it can fork."""
    said = _in_children([ask], limit_s)
    if said is None:
        raise OSError(f"torch could not be imported within {limit_s:g} s")
    if "why" in said[0]:
        raise OSError(said[0]["why"])
    found: dict[str, Any] = said[0]["found"]
    return found


def _in_children(asked: Sequence[Callable[[], Any]], limit_s: float) -> list[dict[str, Any]] | None:
    """{found} or {why, at} of each, made in processes that are gone afterwards; None: one was not through in time."""
    said: dict[int, bytes] = {}
    pids = []
    for ask in asked:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            for other in (reader, *said):
                os.close(other)
            _be_child(ask, writer)
        os.close(writer)
        said[reader] = b""
        pids.append(pid)
    try:
        in_time = _heard(said, time.monotonic() + limit_s)
    finally:
        _end(pids)
        for reader in said:
            os.close(reader)
    return [_answer(text) for text in said.values()] if in_time else None


def _heard(said: dict[int, bytes], ends: float) -> bool:
    """Take in what each says until all are at their end; False: the time was up before. Ends with the leash."""
    left = set(said)
    while left:
        patience = ends - time.monotonic()
        if patience <= 0:
            return False
        ready, _, _ = select.select([0, *left], [], [], min(patience, WAIT_S))
        for reader in ready:
            part = os.read(reader, 4096)
            if reader == 0 and not part:
                raise SystemExit(0)
            if reader in said and part and len(said[reader]) < MOST_BYTES:
                said[reader] += part
            elif reader in said and not part:
                left.discard(reader)
    return True


def _be_child(ask: Callable[[], Any], writer: int) -> None:
    """Answer, in a process that has a session of its own and waits to be ended by the one that made it."""
    try:
        os.setsid()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        try:
            answer = {"found": ask()}
        except BaseException as error:
            answer = {"why": f"{type(error).__name__}: {_first_line(error)}", "at": time.monotonic()}
        data = json.dumps(answer).encode()
        while data:
            data = data[os.write(writer, data) :]
        os.close(writer)
        # Not one of them goes before all are through: another may still read from its memory, and NCCL's own way out
        # waits for ever where CUDA graphs are left.
        signal.pause()
    finally:
        os._exit(0)


def _answer(text: bytes) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(text.decode("utf-8", "replace"))
    except ValueError:
        return {"why": "a rank ended without a word", "at": float("inf")}
    return answer


def _end(pids: Sequence[int]) -> None:
    """Nothing of these is left afterwards: each leads a session of its own."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
    for pid in pids:
        with suppress(OSError):
            os.waitpid(pid, 0)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else "it said nothing"


def _free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


def _first_of_stdin() -> str:
    """Its first line, without a byte of what comes after it."""
    data = b""
    while not data.endswith(b"\n"):
        part = os.read(0, 1)
        if not part:
            raise SystemExit(0)
        data += part
    return data.decode("utf-8", "replace")


def _say(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()
