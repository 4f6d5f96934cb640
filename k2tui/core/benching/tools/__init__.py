"""Result files of other tools: told apart by what is in them, read by what each tool means by its words."""

from k2tui.core.benching.tools.reading import read_tool_result

__all__ = ["read_tool_result"]
