"""Effects that a figure or a route shows: graphs, speculative decoding, context length, metrics, name, key, model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from k2tui.core.effects.answers import as_dict, as_list, printable_line
from k2tui.core.effects.checks import CONTEXT, GRAPHS, KEY, METRICS, MODEL, NAME, SPECULATION
from k2tui.core.effects.resolved import Resolved
from k2tui.core.figures import finite
from k2tui.core.flags import flag_value, has_flag
from k2tui.core.grammar.decode_words import accept_length, graph_word
from k2tui.core.secrets import MASK
from k2tui.core.verdicts import Effect, Outcome

MOST_STEPS = 96
"""So many decode steps at most are made to see one line of the log about them."""
_ENGINE_METRIC = re.compile(rb"^(?:sglang|vllm)[:_]\w+", re.MULTILINE)
_OFF = ("disable-cuda-graph", "disable-decode-cuda-graph", "enforce-eager")


def wants_graphs(argv: Sequence[str]) -> bool:
    """Do these flags leave CUDA graphs of decoding on?"""
    off = any(has_flag(argv, name) for name in _OFF)
    return not off and flag_value(argv, "cuda-graph-backend-decode") != "disabled"


def steps_to_a_line(resolved: Resolved) -> int | None:
    """Decode steps after which the log says how it decodes; None when it takes too many, or the log never does."""
    if resolved.engine == "vllm":
        return None
    said = resolved.of("decode-log-interval")
    steps = said[0] if said and isinstance(said[0], int) and said[0] > 0 else 40
    return steps + 1 if steps < MOST_STEPS else None


def judge_graphs(argv: Sequence[str], resolved: Resolved, lines: Sequence[str], setting: str | None) -> Effect:
    """`lines` that the log got since the proof began."""
    wanted = wants_graphs(argv)
    words = "on" if wanted else "off"
    for line in reversed(lines):
        word = graph_word(line)
        if word is not None:
            is_on, said = word
            text = f"graphs are {'on' if is_on else 'off'}: a decode batch says {said}"
            return Effect(GRAPHS, Outcome.PROVED if is_on is wanted else Outcome.NOT_PROVED, text, setting)
    size = _graph_size(resolved)
    if size is not None:
        text = f"graphs are {'on' if size > 0 else 'off'}: they hold {size:g} GB"
        return Effect(GRAPHS, Outcome.PROVED if (size > 0) is wanted else Outcome.NOT_PROVED, text, setting)
    return Effect(GRAPHS, Outcome.CANNOT, f"graphs {words}: neither its log nor its figures tell", setting)


def judge_speculation(
    argv: Sequence[str], resolved: Resolved, look: object, lines: Sequence[str], setting: str | None
) -> Effect:
    """`look`: a `/v1/loads` reply. A figure of it comes only after some decoding."""
    asked = flag_value(argv, "speculative-algorithm")
    said = resolved.of("speculative-algorithm")
    if asked is None:
        asked = str(said[0]) if said and said[0] else "speculative decoding"
    elif said and said[0] is None:
        return Effect(SPECULATION, Outcome.NOT_PROVED, f"{asked} was asked for, and it runs without", setting)
    length = _accepted(resolved, look)
    for line in lines if length is None else ():
        length = accept_length(line) or length
    if length is not None:
        return Effect(SPECULATION, Outcome.PROVED, f"{asked} runs: accept length {length:.2f}", setting)
    return Effect(SPECULATION, Outcome.CANNOT, f"{asked}: no figure of it was told yet", setting)


def judge_context(argv: Sequence[str], models: object, resolved: Resolved, setting: str | None) -> Effect:
    """`models`: the `/v1/models` reply."""
    asked = flag_value(argv, "context-length") or flag_value(argv, "max-model-len")
    rows = [as_dict(row) for row in as_list(as_dict(models).get("data"))]
    said = [row["max_model_len"] for row in rows if isinstance(row.get("max_model_len"), int)]
    said = said or [value for value in resolved.of("context-length") if isinstance(value, int)]
    size = _tokens(asked)
    if not said or size is None:
        return Effect(
            CONTEXT, Outcome.CANNOT, f"context length: {asked or 'what was asked'} can't be compared", setting
        )
    text = f"context length is {said[0]}"
    if said[0] == size:
        return Effect(CONTEXT, Outcome.PROVED, f"{text}, as asked", setting)
    return Effect(CONTEXT, Outcome.NOT_PROVED, f"{text}, not {asked}", setting)


def judge_metrics(status: int | None, body: bytes, setting: str | None) -> Effect:
    """The reply of `/metrics`; a status None: none came."""
    if status == 200 and _ENGINE_METRIC.search(body):
        return Effect(METRICS, Outcome.PROVED, "/metrics has the engine's own figures", setting)
    if status is None:
        return Effect(METRICS, Outcome.CANNOT, "/metrics did not answer", setting)
    why = "none of the engine's figures are in it" if status == 200 else f"HTTP {status}"
    return Effect(METRICS, Outcome.NOT_PROVED, f"/metrics: {why}", setting)


def judge_name(argv: Sequence[str], ids: Sequence[str], setting: str | None) -> Effect:
    """`ids` of `/v1/models`."""
    asked = flag_value(argv, "served-model-name") or ""
    if asked in ids:
        return Effect(NAME, Outcome.PROVED, f"it is served as {printable_line(asked, 80)}", setting)
    named = printable_line(", ".join(ids[:3]), 120)
    return Effect(
        NAME, Outcome.NOT_PROVED, f"it is served as {named or 'nothing'}, not {printable_line(asked, 80)}", setting
    )


def judge_model(argv: Sequence[str], info: Mapping[str, Any], ids: Sequence[str], setting: str | None) -> Effect:
    """`info`: what the server says it loaded; `ids` of `/v1/models`."""
    asked = (flag_value(argv, "model-path") or "").rstrip("/")
    said = info.get("model_path")
    loaded = said.rstrip("/") if isinstance(said, str) else None
    if asked in (loaded, *(one.rstrip("/") for one in ids)):
        return Effect(MODEL, Outcome.PROVED, f"it serves {printable_line(asked, 120)}", setting)
    if loaded is None:
        return Effect(MODEL, Outcome.CANNOT, "it does not say where its model lies", setting)
    return Effect(
        MODEL, Outcome.NOT_PROVED, f"it loaded {printable_line(loaded, 120)}, not {printable_line(asked, 120)}", setting
    )


def judge_key(argv: Sequence[str], without: int | None, *, is_known: bool, setting: str | None) -> Effect:
    """`without`: the status of a question without the key; `is_known`: with it the server answered."""
    if without == 200:
        return Effect(KEY, Outcome.NOT_PROVED, "the server answers without its key", setting)
    if without not in (401, 403):
        said = "nothing" if without is None else f"HTTP {without}"
        return Effect(KEY, Outcome.CANNOT, f"without the key it answers {said}", setting)
    if not is_known and flag_value(argv, "api-key") in (None, MASK):
        return Effect(
            KEY, Outcome.CANNOT, f"refused without its key (HTTP {without}); k2tui has no key to try", setting
        )
    return Effect(KEY, Outcome.PROVED, f"refused without its key (HTTP {without}), answered with it", setting)


def _graph_size(resolved: Resolved) -> float | None:
    """GB of graphs of decoding, summed over data-parallel ranks; None when it is not told."""
    sizes: list[float] = []
    for state in resolved.states:
        graph = as_dict(state.get("memory_usage")).get("graph")
        size = finite(graph.get("decode") if isinstance(graph, dict) else graph)
        if size is not None and size >= 0:
            sizes.append(size)
    return sum(sizes) if sizes else None


def _accepted(resolved: Resolved, look: object) -> float | None:
    said = [finite(state.get("avg_spec_accept_length")) for state in resolved.states]
    for row in as_list(as_dict(look).get("loads")):
        said.append(finite(as_dict(as_dict(row).get("speculative")).get("accept_length")))
    return next((one for one in said if one is not None and 0 < one < 1000), None)


def _tokens(text: str | None) -> int | None:
    """`4096`, or vLLM's `32k` and `32K`: 32,000 and 32,768."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)([kKmM]?)", text or "")
    if found is None:
        return None
    return int(float(found[1]) * {"": 1, "k": 1000, "m": 10**6, "K": 1024, "M": 1024**2}[found[2]])
