"""What was asked of a node's nvidia-smi is lines for a screen, or a sentence."""

from __future__ import annotations

from pathlib import Path

from k2tui.services.doors import Script
from k2tui.services.gpu_details import gpu_details
from tests.fakes.shell_link import AnswerLink

SCRIPT = Script("gpu_details", "")


async def lines_of(output: bytes) -> tuple[str, ...]:
    return await gpu_details(AnswerLink(Path("/nowhere"), answer=lambda _: output), SCRIPT)


async def test_bytes_that_are_no_text_and_escapes_do_no_harm() -> None:
    lines = await lines_of(b"section topology\nline \x1b[2J\xff GPU0\x1b]0;title\x07\nend 0\n")
    assert lines == ("How the GPUs are connected", "  \ufffd GPU0")


async def test_a_script_that_says_nothing_is_said_to_have_said_nothing() -> None:
    assert await lines_of(b"") == ("nvidia-smi was not asked: the script ended without a word",)
