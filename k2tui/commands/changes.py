"""Whether a document says something else than it did: figures that always move count from a clear step on."""

from __future__ import annotations

from collections.abc import Mapping

Step = tuple[float, float]
"""What a figure must move by: so much, and so large a share of the larger of the two."""

STEPS: Mapping[str, Step] = {
    "utilization_percent": (20.0, 0.0),
    "memory_used_mib": (1024.0, 0.0),
    "memory_mib": (1024.0, 0.0),
    "power_w": (30.0, 0.1),
    "temperature_c": (5.0, 0.0),
    "memory_temperature_c": (5.0, 0.0),
    "sm_clock_mhz": (200.0, 0.1),
    "memory_clock_mhz": (200.0, 0.1),
    "fan_percent": (15.0, 0.0),
    "load_1m": (2.0, 0.3),
    "cpu_percent": (20.0, 0.0),
    "memory_available_bytes": (4e9, 0.1),
    "available_bytes": (10e9, 0.02),
    "running": (2.0, 0.25),
    "waiting": (2.0, 0.25),
    "kv_usage": (0.1, 0.0),
    "cache_hit": (0.1, 0.0),
    "accept_length": (0.3, 0.0),
    "decode_tokens_per_s": (5.0, 0.1),
    "prefill_tokens_per_s": (50.0, 0.5),
    "p50_ms": (10.0, 0.25),
    "p95_ms": (10.0, 0.25),
    "p99_ms": (10.0, 0.5),
}
MOVES_ALWAYS = frozenset(
    {
        *("window_s", "count", "growth_bytes_per_s", "full_in_s", "retracted"),
        *("disk_read_bytes_per_s", "disk_write_bytes_per_s", "net_rx_bytes_per_s", "net_tx_bytes_per_s"),
        *("warnings", "throttle", "pstate", "pcie_gen"),
    }
)
"""Never a change by themselves: ages of all kinds, rates of the moment, and what a GPU takes on and off with its load
(a warning that lasts becomes an alert)."""
TO_AND_FROM_NOTHING = frozenset({"running", "waiting", "decode_tokens_per_s", "utilization_percent"})
"""The first request is news, however few they are; so is the GPU that starts to work."""
_NOTHING: Mapping[str, float] = {"utilization_percent": 5.0}


def differs(old: object, new: object, name: str = "") -> bool:
    """True when `new` is worth a line, `old` being what was told last. `name` is the key that both stand under."""
    if name.endswith("age_s") or name in MOVES_ALWAYS:
        return False
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return any(differs(old.get(key), new.get(key), str(key)) for key in {**old, **new})
    if isinstance(old, list) and isinstance(new, list):
        return len(old) != len(new) or any(differs(*pair, name) for pair in zip(old, new, strict=True))
    if _is_number(old) and _is_number(new) and name in STEPS:
        return _is_a_step(float(str(old)), float(str(new)), name)
    return old != new


def _is_a_step(old: float, new: float, name: str) -> bool:
    nothing = _NOTHING.get(name, 0.0)
    if name in TO_AND_FROM_NOTHING and (old <= nothing) != (new <= nothing):
        return True
    least, share = STEPS[name]
    return abs(new - old) >= max(least, share * max(abs(old), abs(new)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
