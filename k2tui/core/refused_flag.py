"""What to say of a flag that the engine refused: which versions have it, or what it was meant to be."""

from __future__ import annotations

import re
from difflib import get_close_matches

from k2tui.core.engine_flags import versions
from k2tui.core.flag_ages import ages, arguments, is_in_all

_REFUSED = re.compile(r"unrecognized arguments: .*?(--[\w-]+)")
_AMBIGUOUS = re.compile(r"ambiguous option: (--[\w-]+)(?:=\S*)? could match (--[^\n]+)")
_ALIASES = frozenset(("tp", "tensor_parallel_size", "pp", "pipeline_parallel_size", "dp", "ep", "model"))


def about_refused(line: str, engine: str | None, names: frozenset[str]) -> str | None:
    """One sentence on the flag that the line names; None when there is nothing to add to the line itself."""
    if found := _AMBIGUOUS.search(line):
        return f"{found[1]} is no flag of this version any more: write one of {found[2].strip()}."
    found = _REFUSED.search(line)
    if found is None:
        return None
    flag = found[1]
    name = flag[2:].replace("-", "_")
    if "_" in flag:
        return f"Flags are spelt with dashes: {flag.replace('_', '-')}."
    if engine != "sglang" or name in _ALIASES:
        return None
    if (age := ages(name)) is not None:
        first, last = age
        if is_in_all(name):
            return None  # every known version has it
        when = f"from {first} on" if last is None else first if first == last else f"{first} to {last}"
        return f"{flag} is a flag of SGLang {when}, and not of the version that runs here."
    close = get_close_matches(name, names or arguments(versions("sglang")[-1]), n=1, cutoff=0.75)
    return f"SGLang has no {flag}; did you mean --{close[0].replace('_', '-')}?" if close else None
