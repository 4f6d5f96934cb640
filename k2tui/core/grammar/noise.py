"""Lines that look like trouble and are none: printed by good starts, and by servers that serve well."""

from __future__ import annotations

import re

from k2tui.core.grammar.gate import gate

NOISE: tuple[tuple[str, str], ...] = (
    # A word that must be in the line, and what it must look like from there on.
    ("Ignore import error when loading ", ""),  # a model of this engine that nobody asked for
    ("UserWarning: ", ""),
    ("FutureWarning: ", ""),
    ("DeprecationWarning: ", ""),  # FastAPI's too
    ("warnings.warn(", ""),
    ("Fail to set RLIMIT_NOFILE", ""),
    ("[Gloo] Rank ", r"\d+ is connected to \d+ peer ranks"),
    ("Using default ", r".*\b(?:sampling params|chat template|MoE kernel config)"),
    ("Custom allreduce is disabled", ""),  # as it should be on cards without NVLink
    ("slow tokenizer", ""),
    ("destroy_process_group() was not called", ""),
    ("Pyspy failed", ""),
    ("Endpoint '/", r"\S+' is deprecated"),  # whoever polls the old paths
    ('"GET /v1/loads', ""),  # k2tui's own looks
    ('"GET /metrics', ""),
    ('"GET /server_info', ""),
    ('"GET /get_', r"(?:server_info|load) "),
)

_GATE = gate(word for word, _ in NOISE)
_RULES = tuple((word, re.compile(re.escape(word) + rest)) for word, rest in NOISE)


def is_noise(message: str) -> bool:
    """The line may be overlooked: it is known to be harmless. It is shown all the same, only not in loud colours."""
    if _GATE.search(message) is None:
        return False
    return any(word in message and rule.search(message) is not None for word, rule in _RULES)
