"""Every field of a benchmark that a filter and an order know, by one name each."""

from __future__ import annotations

from collections.abc import Mapping

from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.words import PROCEDURE_WORDS
from k2tui.core.query import Field

BENCH_FIELDS: Mapping[str, str] = {
    "server": "name of the server, or the URL that was measured",
    "node": "its node",
    "name": "what was measured: quick, sweep, prefill, full, imported",
    "state": "valid, flagged or failed",
    "gates": "ids of the gates that are red",
    "when": "unix time at which it began (s)",
    "tps": "one stream, without prefill (tok/s)",
    "total": "the most of all streams together (tok/s)",
    "ttft": "TTFT, first token of any kind (ms)",
    "streams": "the most streams at the same time (count)",
    "base": "it is the base of its server (yes or no)",
    "profile": "profile that ran",
    "model": "the model",
    "engine": "sglang or vllm",
    "version": "version of the engine",
    "tool": "what measured it",
    "run": "id of the server's run",
}
"""Name to meaning, with the unit in brackets at the end; text has none."""


def state_word(result: BenchResult) -> str:
    """`valid`, `flagged` (a gate is red: it is never compared), `failed`."""
    if result.error is not None:
        return "failed"
    return "valid" if result.valid else "flagged"


def bench_fields(result: BenchResult) -> dict[str, Field]:
    """What a filter looks at."""
    return {
        "server": result.subject,
        "node": result.node,
        "name": PROCEDURE_WORDS[result.procedure],
        "state": state_word(result),
        "gates": " ".join(gate.id for gate in result.gates if gate.ok is False),
        "when": result.began_at,
        "tps": result.decode_tps,
        "total": result.best_total_tps,
        "ttft": result.ttft_any_ms,
        "streams": max((point.c for point in result.points), default=None),
        "base": result.is_base,
        "profile": result.profile,
        "model": result.system.model,
        "engine": result.system.engine,
        "version": result.system.version,
        "tool": result.tool,
        "run": result.run_id,
    }
