"""Text of a node, fit for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """What a node's process calls itself, fit for a terminal: whatever is not printable is a blank."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)
