"""Figures of a block of time as few bytes, and back: two bytes a figure over the range of its block."""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Iterable

Figures = list[float | None]
"""None: nothing was recorded."""

_HEAD = struct.Struct("<Bdd")
"""How the rest is written, the least figure, and what one step is worth."""
_PLAIN, _SQUEEZED = 0, 1
_STEPS = 65_534
_MOST = 1e300
_NOTHING = 65_535
_SQUEEZED_FROM = 120
"""Fewer bytes than this do not become fewer."""
_LEVEL = 1


def packed(figures: Iterable[float | None]) -> bytes:
    """Whole figures of a range below 65,535 come back exactly; others to a 65,000th of their block's range."""
    given = [None if figure is None or not abs(figure) < _MOST else float(figure) for figure in figures]
    known = [figure for figure in given if figure is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    width = high - low
    is_whole = width <= _STEPS and all(figure.is_integer() for figure in known)
    step = 1.0 if is_whole or width == 0 else width / _STEPS
    steps = array("H", [int((figure - low) / step + 0.5) if figure is not None else _NOTHING for figure in given])
    if sys.byteorder == "big":
        steps.byteswap()
    body = steps.tobytes()
    if len(body) >= _SQUEEZED_FROM:
        squeezed = zlib.compress(body[0::2] + body[1::2], _LEVEL)
        if len(squeezed) < len(body):
            return _HEAD.pack(_SQUEEZED, low, step) + squeezed
    return _HEAD.pack(_PLAIN, low, step) + body


def unpacked(blob: object, count: int) -> Figures | None:
    """So many figures; None for bytes that are not theirs, whatever they are."""
    if not isinstance(blob, bytes) or len(blob) <= _HEAD.size:
        return None
    how, low, step = _HEAD.unpack_from(blob)
    if not (abs(low) < _MOST and 0 < step < _MOST):
        return None
    body = blob[_HEAD.size :]
    if how == _SQUEEZED:
        try:
            halves = zlib.decompressobj().decompress(body, 2 * count + 1)
        except zlib.error:
            return None
        if len(halves) != 2 * count:
            return None
        both = bytearray(2 * count)
        both[0::2], both[1::2] = halves[:count], halves[count:]
        body = bytes(both)
    if how not in (_PLAIN, _SQUEEZED) or len(body) != 2 * count:
        return None
    steps = array("H", body)
    if sys.byteorder == "big":
        steps.byteswap()
    return [low + number * step if number != _NOTHING else None for number in steps]
