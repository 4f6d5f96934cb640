"""`make bench`: measure, print a table, fail past a limit. `python -m bench NAME ...` measures these parts only."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench import diagnose, fleet, generator, intake, peers, plots, probe, screen, startup
from bench.figures import Figure, Measurement, show

PARTS: dict[str, Measurement] = {
    "startup": startup.figures,
    "intake": intake.figures,
    "diagnose": diagnose.figures,
    "load": screen.under_load,
    "idle": screen.idle,
    "gigabyte": screen.gigabyte,
    "fleet16": fleet.sixteen,
    "fleet64": fleet.sixty_four,
    "dying": fleet.dying,
    "plots": plots.figures,
    "probe": probe.figures,
    "peers": peers.figures,
    "generator": generator.figures,
}


def measured(names: list[str]) -> Iterator[Figure]:
    """The figures of these parts. A part that breaks is a failed row, not the end of the table."""
    for name in names:
        try:
            yield from PARTS[name]()
        except Exception as error:  # whatever it was, the other rows are still worth having
            yield Figure(name, None, "", note=f"{type(error).__name__}: {str(error)[:200]}")


def main() -> int:
    """0 when every figure is inside its limit."""
    names = sys.argv[1:] or list(PARTS)
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        print(f"bench: no such part: {', '.join(unknown)}; parts: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    past = show(measured(names))
    print("all inside their limits" if not past else f"{past} past their limit")
    return 1 if past else 0


if __name__ == "__main__":
    sys.exit(main())
