"""What a decode line of SGLang says of how it decodes: with graphs or without, and how much of a draft was taken."""

from __future__ import annotations

import re

_GRAPH = re.compile(r"Decode batch.{0,400}?\b((?:cuda|cpu|npu|xpu|musa) graph: (True|False))")
_ACCEPTED = re.compile(r"Decode batch.{0,400}?\baccept len: (\d{1,4}(?:\.\d{1,6})?)")


def graph_word(line: str) -> tuple[bool, str] | None:
    """(graphs were used, the words that say so); None for a line that does not tell."""
    found = _GRAPH.search(line[:2000])
    return None if found is None else (found[2] == "True", found[1])


def accept_length(line: str) -> float | None:
    """Tokens taken a step, the model's own among them; None for a line that does not tell."""
    found = _ACCEPTED.search(line[:2000])
    return None if found is None else float(found[1])
