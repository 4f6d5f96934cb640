"""What SGLang's JSON routes say of a server's work: `/v1/loads`, `/get_load`, `/server_info`.

Shapes: SGLang 0.5.2 to 0.5.23. `/v1/loads` (0.5.8 and later) and `/get_load` (0.5.2 to 0.5.20) have a row for each
data-parallel rank; `/server_info` has one in `internal_states`. What a server answers is not to be trusted: what
is no figure is None, and no more rows are read than there can be ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k2tui.core.figures import finite
from k2tui.core.measuring.look import Look, RankLook

MOST_RANKS = 1024
_MOST_REQUESTS = 10**9
_MOST_TOKENS = 10**15


def of_loads(document: object, at: float) -> Look | None:
    """A `/v1/loads` or `/get_load` reply at time.monotonic `at`; None for what is none."""
    rows = _rows(document.get("loads") if isinstance(document, Mapping) else document)
    ranks = tuple(look for place, row in enumerate(rows) if (look := _rank(row, place)) is not None)
    return Look(at, "loads", ranks) if ranks else None


def of_server_info(document: object, at: float) -> Look | None:
    """A `/server_info` or `/get_server_info` reply; None for what is none."""
    if not isinstance(document, Mapping):
        return None
    ranks = tuple(_state(row, place, document) for place, row in enumerate(_rows(document.get("internal_states"))))
    return Look(at, "server_info", ranks) if ranks else None


def _rank(row: Mapping[str, Any], place: int) -> RankLook | None:
    waiting = _whole(row, "num_waiting_reqs", _MOST_REQUESTS)
    running = _whole(row, "num_running_reqs", _MOST_REQUESTS)
    if running is None:
        together = _whole(row, "num_reqs", _MOST_REQUESTS)  # /get_load counts those in the queue as well
        running = None if together is None or waiting is None else max(0, together - waiting)
    if running is None and waiting is None:
        return None
    spec = row.get("speculative")
    return RankLook(
        rank=_place(row, place),
        running=running,
        waiting=waiting,
        kv_usage=_share(row, "token_usage"),
        gauge_tokens_per_s=_figure(row, "gen_throughput", _MOST_TOKENS),
        capacity_tokens=_whole(row, "max_total_num_tokens", _MOST_TOKENS) or None,
        most_running=_whole(row, "max_running_requests", _MOST_REQUESTS) or None,
        accept_length=_figure(spec, "accept_length", _MOST_REQUESTS) if isinstance(spec, Mapping) else None,
        cache_hit=_share(row, "cache_hit_rate"),
        written_at=_figure(row, "timestamp", _MOST_TOKENS) or None,
        used_tokens=_whole(row, "num_used_tokens" if "num_used_tokens" in row else "num_tokens", _MOST_TOKENS),
    )


def _state(row: Mapping[str, Any], place: int, info: Mapping[str, Any]) -> RankLook:
    memory = row.get("memory_usage")
    capacity = _whole(memory, "token_capacity", _MOST_TOKENS) if isinstance(memory, Mapping) else None
    most = _whole(row, "effective_max_running_requests_per_dp", _MOST_REQUESTS)
    return RankLook(
        rank=place,
        gauge_tokens_per_s=_figure(row, "last_gen_throughput", _MOST_TOKENS),
        capacity_tokens=capacity or _whole(info, "max_total_num_tokens", _MOST_TOKENS),
        most_running=most or _whole(info, "max_running_requests", _MOST_REQUESTS),
        accept_length=_figure(row, "avg_spec_accept_length", _MOST_REQUESTS),
    )


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value[:MOST_RANKS] if isinstance(row, Mapping)] if isinstance(value, list) else []


def _place(row: Mapping[str, Any], place: int) -> int:
    rank = _whole(row, "dp_rank", MOST_RANKS)
    return place if rank is None else rank


def _figure(row: Mapping[str, Any], name: str, most: float) -> float | None:
    value = finite(row.get(name))
    return value if value is not None and 0 <= value <= most else None


def _whole(row: Mapping[str, Any], name: str, most: float) -> int | None:
    value = _figure(row, name, most)
    return None if value is None else int(value)


def _share(row: Mapping[str, Any], name: str) -> float | None:
    value = _figure(row, name, _MOST_TOKENS)
    return None if value is None else min(1.0, value)
