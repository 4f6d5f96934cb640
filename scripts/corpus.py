"""`make corpus`: how many launch situations are read right, as a table; `corpus.py FOLDER ...`: those of other folders.

A case is NAME.log with NAME.json beside it: its kind, phase, progress and the line that explains it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.core.logs import corpus_cases  # noqa: E402 - after the path is set
from tests.core.readings import PARTS, read_case, wrong_parts  # noqa: E402

Case = tuple[str, bytes, Mapping[str, object]]


def main() -> int:
    """Print each case that is read wrong, then the table; 0 when it is inside the limits."""
    folders = [Path(name) for name in sys.argv[1:]]
    right: dict[str, Counter[str]] = {}
    wrong_ready = wrong_crashed = 0
    for name, data, want in corpus_cases(*folders):
        got = read_case(data, want)
        wrong = wrong_parts(got, want)
        kind = str(want["kind"])
        for row in (kind, "all"):
            counts = right.setdefault(row, Counter())
            counts["cases"] += 1
            counts.update(part for part in PARTS if part not in wrong)
        wrong_ready += got["kind"] == "ready" != kind
        wrong_crashed += got["kind"] == "crashed" != kind
        for text in wrong.values():
            print(f"{name}: {text}")
    _print(right)
    print(f'wrong "ready": {wrong_ready}, wrong "crashed": {wrong_crashed}')
    counts = right["all"]
    limits = {"kind": 0.95, "phase": 0.95, "line": 0.92, "progress": 1.0}
    past = [part for part, least in limits.items() if counts[part] < least * counts["cases"]]
    print("inside the limits" if not past else f"past the limit: {', '.join(past)}")
    return int(bool(past) or wrong_ready > 0 or wrong_crashed > 0)


def _print(right: Mapping[str, Counter[str]]) -> None:
    rows: Iterable[str] = (*sorted(row for row in right if row != "all"), "all")
    print(f"{'kind':<14} {'cases':>5} " + " ".join(f"{part:>9}" for part in PARTS))
    for row in rows:
        counts = right[row]
        print(f"{row:<14} {counts['cases']:>5} " + " ".join(f"{counts[part]:>9}" for part in PARTS))


if __name__ == "__main__":
    sys.exit(main())
