"""A result as JSON: what `bench --json` ends with, and what the history keeps."""

from __future__ import annotations

import json

from k2tui.core.benching.codec import document_of, read_fact, read_json
from k2tui.core.benching.result import BenchResult

TYPE = "result"


def result_document(result: BenchResult) -> dict[str, object]:
    """Every field by its name, with `type` and `valid`; a figure is a number or null."""
    return {"type": TYPE, "valid": result.valid, **document_of(result)}


def result_json(result: BenchResult) -> str:
    """One line of ASCII; `read_result` reads it."""
    return json.dumps(result_document(result), allow_nan=False)


def read_result(text: str | bytes) -> BenchResult | None:
    """The result of such a document; None for what is none. Never raises; fields of a later version are left out."""
    document = read_json(text)
    if not isinstance(document, dict) or document.get("type") != TYPE:
        return None
    return read_fact(BenchResult, document)
