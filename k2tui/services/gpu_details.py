"""Topology, link traffic and memory errors of a node's GPUs, asked when somebody wants to see them."""

from __future__ import annotations

from k2tui.core.probing.gpu_report import report, sections_of
from k2tui.services.doors import NodeLink, Script

LIMIT_S = 30.0
"""For all questions; the first that hangs is the last."""


async def gpu_details(link: NodeLink, script: Script) -> tuple[str, ...]:
    """Lines of text for a screen; what nvidia-smi does not say is said to be so. Raises K2Error of the link."""
    done = await link.run(script, timeout_s=LIMIT_S)
    lines = report(sections_of(done.stdout.decode("utf-8", "replace")))
    return lines or ("nvidia-smi was not asked: the script ended without a word",)
