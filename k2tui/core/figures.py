"""Figures of texts that anybody may have written: a number, or nothing."""

from __future__ import annotations

import math
import re

_WHOLE = re.compile(r"[0-9]{1,18}")
_FIGURE = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?")


def whole(text: str | None) -> int | None:
    """A whole number of at most 18 digits, which may have commas between them; None for anything else."""
    plain = (text or "").replace(",", "")
    return int(plain) if _WHOLE.fullmatch(plain) else None


def figure(text: str | None) -> float | None:
    """A number without a sign, such as `0.31`; None for anything else."""
    return float(text) if text is not None and _FIGURE.fullmatch(text) else None


def finite(value: object) -> float | None:
    """A number of a document; None for what is none, for NaN and for what is endless or too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
