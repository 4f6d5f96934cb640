"""What differs between two sides of a comparison: the systems, and the work where it may not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from k2tui.core.benching.comparison import Changed
from k2tui.core.benching.result import BenchResult, BenchSystem

SWITCHED_ON = "on"
"""The value of a flag that has none."""

_PARTS = (
    *("model", "revision", "quantization", "engine", "version", "image"),
    *("gpus", "driver", "power_limit_w", "topology"),
)
_WITH: Mapping[str, str] = {
    "revision": "model",
    "quantization": "model",
    "version": "engine",
    "topology": "gpus",
    "power_limit_w": "gpus",
}
"""Parts that go along with another one: where that changed, they are no change of their own."""
_WORDS = 40


def changes_between(a: BenchSystem, b: BenchSystem) -> tuple[Changed, ...]:
    """Every known difference: parts of the system, then flags, then variables.

    What is not known of one side is no difference: see `not_known`.
    """
    return (*_parts(a, b), *_settings(a, b))


def places_between(a: BenchResult, b: BenchResult) -> tuple[Changed, ...]:
    """The machine, where it is another one: two of the same make differ too. Of what only a URL names, the URL."""
    if a.node is not None and b.node is not None:
        return () if a.node == b.node else (Changed("node", a.node, b.node),)
    return () if a.subject == b.subject or a.node != b.node else (Changed("server", a.subject, b.subject),)


def causes(changes: Sequence[Changed]) -> tuple[Changed, ...]:
    """Those that stand for themselves: another model with its other revision is one thing that changed."""
    names = {change.name for change in changes}
    return tuple(change for change in changes if _WITH.get(change.name) not in names)


def not_known(a: BenchSystem, b: BenchSystem) -> tuple[str, ...]:
    """Parts that only one side knows: whether they changed can't be said."""
    parts = [name for name in _PARTS if (getattr(a, name) is None) != (getattr(b, name) is None)]
    return (*parts, *(("flags",) if bool(a.argv) != bool(b.argv) else ()))


def changed_words(change: Changed) -> str:
    """`NCCL_PROTO Simple → LL`, short enough for a sentence."""
    return f"{change.name} {_short(change.a)} → {_short(change.b)}"


def other_work(a: BenchResult, b: BenchResult) -> str:
    """In what the work of two runs differs: `max_tokens 256 against 512`; for those whose keys differ."""
    for one in (a, b):
        if one.workload_key is None:
            return f"the work of {one.bench_id} is not known"
    names = [name for name in {**a.workload, **b.workload} if a.workload.get(name) != b.workload.get(name)]
    if not names:
        return "their workload keys differ"
    return ", ".join(f"{name} {_told(a.workload, name)} against {_told(b.workload, name)}" for name in sorted(names))


def formulas_of(result: BenchResult) -> str:
    """Whose formulas its figures are: two sets never stand in one comparison."""
    return result.formula_set or " ".join(part for part in (result.tool, result.tool_version) if part) or "unknown"


def _parts(a: BenchSystem, b: BenchSystem) -> Iterator[Changed]:
    for name in _PARTS:
        one, other = getattr(a, name), getattr(b, name)
        if one is not None and other is not None and one != other:
            yield Changed(name, _text(one), _text(other))


def _settings(a: BenchSystem, b: BenchSystem) -> Iterator[Changed]:
    if not a.argv or not b.argv:
        return  # of a side without a single flag the command is not known, and so its variables
    flags = [({_dashed(name): value or SWITCHED_ON for name, value in each.argv}) for each in (a, b)]
    for one, other in (flags, [dict(a.env), dict(b.env)]):
        for name in sorted({**one, **other}):
            if one.get(name) != other.get(name):
                yield Changed(name, one.get(name), other.get(name))


def _dashed(name: str) -> str:
    return name if name.startswith("-") else f"--{name}"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _short(text: str | None) -> str:
    if text is None:
        return "not set"
    return text if len(text) <= _WORDS else f"{text[: _WORDS - 1]}…"


def _told(work: Mapping[str, object], name: str) -> str:
    value = work.get(name)
    if value is None:
        return "unknown"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else _short(str(value))
