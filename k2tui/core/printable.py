"""Text of a node, fit for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """What a node's process calls itself, fit for a terminal: whatever is not printable is a blank."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def on_one_line(text: str) -> str:
    """A value of a flag or variable in a row: a line break in it is `\\n`, so that it makes no row of its own."""
    return printable(text.replace("\n", "\\n"))
