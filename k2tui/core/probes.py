"""What a real answer of a server says about its settings: wrong ones, or a server that answers wrongly."""

from __future__ import annotations

import re
from collections.abc import Mapping

from k2tui.core.figures import finite

_TOOL_MARKS = re.compile(r"<tool_call>|<\|tool_calls?_(?:section_)?begin|<function=|\[TOOL_CALLS\]|<\|python_tag\|>")
_THINK_END = re.compile(r"</think>|◁/think▷")


def finding(probe: Mapping[str, object]) -> tuple[str, bool] | None:
    """(finding, is it a matter of settings) of a probe; None when it found nothing wrong.

    `probe` has the shape of product.md section 7: `chat` is one completion, `chats` and `chats_ok` count several,
    `bytes_written_gib`, `disk_free_gib` and `projected_gib` tell of a job's disk.
    """
    chat = probe.get("chat")
    if isinstance(chat, Mapping) and (found := _of_chat(chat, probe)) is not None:
        return found
    if _fails_sometimes(probe):
        return "answers_fail", False
    if _fills_the_disk(probe):
        return "disk_will_fill", False
    return None


def asked_port(probe: Mapping[str, object]) -> int | None:
    """The port on which the server was meant to be, where the probe says so (`port_asked`)."""
    port = _number(probe.get("port_asked"))
    return None if port is None else int(port)


def chat_timed_out(probe: Mapping[str, object]) -> bool:
    """A real completion was asked for, and none came."""
    chat = probe.get("chat")
    return isinstance(chat, Mapping) and chat.get("ok") is False and chat.get("timed_out") is True


def _of_chat(chat: Mapping[str, object], probe: Mapping[str, object]) -> tuple[str, bool] | None:
    if chat.get("ok") is False:
        return _refused(chat) or ("no_answer", False)
    if chat.get("garbage") is True:
        return "garbage", False
    content, reasoning = str(chat.get("content") or ""), str(chat.get("reasoning_content") or "")
    if chat.get("tools_sent") and not chat.get("tool_calls"):
        if _TOOL_MARKS.search(reasoning):
            return "tool_calls_in_reasoning", False
        if chat.get("finish_reason") == "tool_calls" or _TOOL_MARKS.search(content):
            return ("tool_calls_lost", False) if _fails_sometimes(probe) else ("tool_parser", True)
    if reasoning and not content and not chat.get("tools_sent") and chat.get("finish_reason") == "stop":
        return "reasoning_swallows", True
    thinks = chat.get("thinking") is True or _THINK_END.search(content) is not None
    if thinks and "reasoning_content" in chat and not reasoning:
        return "reasoning_parser", True
    return None


def _refused(chat: Mapping[str, object]) -> tuple[str, bool] | None:
    """It answers, and what it says is that its settings do not allow the request."""
    status = _number(chat.get("status"))
    if status is None or not 400 <= status < 500:
        return None
    error = str(chat.get("error") or "")
    if "tool-call-parser" in error or "tool_call_parser" in error:
        return "tool_parser", True
    if "reasoning-parser" in error or "reasoning_parser" in error:
        return "reasoning_parser", True
    return "request_refused", True


def _fails_sometimes(probe: Mapping[str, object]) -> bool:
    asked, good = _number(probe.get("chats")), _number(probe.get("chats_ok"))
    return asked is not None and good is not None and 0 <= good < asked


def _fills_the_disk(probe: Mapping[str, object]) -> bool:
    projected, free = _number(probe.get("projected_gib")), _number(probe.get("disk_free_gib"))
    if projected is None or free is None:
        return False
    return projected - (_number(probe.get("bytes_written_gib")) or 0.0) > free


def _number(value: object) -> float | None:
    return finite(value)
