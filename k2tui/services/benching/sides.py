"""What the two words of a comparison name, and all benchmarks that count for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from k2tui.core.benching.differing import places_between
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.series import Arm, SeriesState
from k2tui.core.errors import ExitCode, K2Error
from k2tui.services.doors import BenchHistory

MOST = 2_000
"""Benchmarks of the history that are looked through."""
MOST_WHOLE = 60
"""Of one side, the newest: more restarts of one configuration nobody makes."""

Side = tuple[BenchResult, ...]


class Sides:
    """Finds the benchmarks behind an id, a series' configuration, or a profile's name."""

    def __init__(self, history: BenchHistory | None) -> None:
        self._history = history

    async def one(self, bench_id: str) -> BenchResult:
        """Whole; a part of its id will do. Raises K2Error where there is none, or several."""
        found = None if self._history is None else await self._history.bench(bench_id)
        if found is None:
            raise _unknown(bench_id)
        return found

    async def both(self, a: str, b: str) -> tuple[Side, Side]:
        """The benchmarks of two words, whole.

        Each is the id of a benchmark (or a part of it), `SERIES:ARM` with the label or the number of a configuration,
        or the name of a profile. Beside what an id names, all that the history has of the same configuration and the
        same work counts: each restart of a server is a replicate. Raises K2Error for what is unknown.
        """
        kept = () if self._history is None else await self._history.benches(most=MOST)
        one, other = await self._named(a, kept), await self._named(b, kept)
        if one.profile or other.profile:
            subjects = [self._subjects(found, kept) for found in (one, other)]
            common = sorted(set.intersection(*(set(names) for names in subjects)))
            subject = _only(common, a, b)
            one, other = (found.of_subject(subject, kept) for found in (one, other))
        if not one.configurations & other.configurations:
            one, other = (found.with_replicates(kept) if found.is_id else found for found in (one, other))
        return await self._whole(one.results), await self._whole(other.results)

    async def _named(self, word: str, kept: Sequence[BenchResult]) -> _Named:
        series_id, colon, arm = word.partition(":")
        if colon and (found := await self._of_series(series_id, arm, kept)) is not None:
            return found
        whole = None if self._history is None else await self._history.bench(word)
        if whole is not None:
            return _Named((whole,), is_id=True)
        if any(result.profile == word for result in kept):
            return _Named((), profile=word)
        raise _unknown(word)

    async def _of_series(self, series_id: str, arm: str, kept: Sequence[BenchResult]) -> _Named | None:
        states = () if self._history is None or not series_id else await self._history.series(most=MOST)
        found = [state for state in states if series_id in state.plan.series_id]
        if len(found) != 1:
            return None
        number = _arm_number(found[0].plan.arms, arm)
        if number is None:
            labels = ", ".join(f"{at} {one.label}" for at, one in enumerate(found[0].plan.arms, 1))
            raise K2Error(
                f"series {found[0].plan.series_id} has no configuration {arm!r}",
                code="no_such_arm",
                subject=series_id,
                hint=f"it has: {labels}",
                exit_code=ExitCode.MISSING,
            )
        return _Named(_of_arm(found[0], number, kept))

    def _subjects(self, found: _Named, kept: Sequence[BenchResult]) -> set[str]:
        if found.profile is None:
            return {result.subject for result in found.results}
        return {result.subject for result in kept if result.profile == found.profile}

    async def _whole(self, results: Iterable[BenchResult]) -> Side:
        """With their requests, which the interval of a single start needs."""
        whole = []
        for result in list(results)[:MOST_WHOLE]:
            found = None if self._history is None else await self._history.bench(result.bench_id)
            whole.append(result if found is None else found)
        return tuple(whole)


class _Named:
    """What one word names."""

    def __init__(self, results: Side, *, is_id: bool = False, profile: str | None = None) -> None:
        self.results, self.is_id, self.profile = results, is_id, profile

    @property
    def configurations(self) -> frozenset[str | None]:
        """The systems of its benchmarks; two sides of one are told apart by what was named alone."""
        return frozenset(result.system_key for result in self.results)

    def with_replicates(self, kept: Sequence[BenchResult]) -> _Named:
        """And every valid benchmark of the same system and the same work, on the same machine."""
        named = self.results[0]
        if named.system_key is None or named.workload_key is None:
            return self
        alike = (
            result
            for result in kept
            if result.valid
            and (result.system_key, result.workload_key) == (named.system_key, named.workload_key)
            and result.bench_id != named.bench_id
            and not places_between(result, named)
        )
        return _Named((named, *alike))

    def of_subject(self, subject: str, kept: Sequence[BenchResult]) -> _Named:
        """A profile's benchmarks of this server, as it was configured when it was measured last."""
        if self.profile is None:
            return self
        mine = [result for result in kept if (result.profile, result.subject) == (self.profile, subject)]
        newest = next((result for result in mine if result.valid), mine[0])
        alike = (result for result in mine if result.system_key == newest.system_key)
        return _Named(tuple(result for result in alike if not places_between(result, newest)))


def _arm_number(arms: Sequence[Arm], word: str) -> int | None:
    """By its label, or by its number from 1."""
    labels = [arm.label for arm in arms]
    if word in labels:
        return labels.index(word)
    return int(word) - 1 if word.isdigit() and 0 < int(word) <= len(arms) else None


def _of_arm(state: SeriesState, arm: int, kept: Sequence[BenchResult]) -> Side:
    ids = {trial.bench_id for trial in state.trials if trial.arm == arm and trial.bench_id is not None}
    return tuple(result for result in kept if result.bench_id in ids)


def _only(common: Sequence[str], a: str, b: str) -> str:
    if len(common) == 1:
        return common[0]
    if not common:
        raise K2Error(
            f"{a} and {b} were not measured on the same server",
            code="other_server",
            hint="`k2tui bench history` lists what was measured; compare by ids",
            exit_code=ExitCode.USAGE,
        )
    raise K2Error(
        f"{a} and {b} were measured on several servers: {', '.join(common)}",
        code="several_servers",
        hint="`k2tui bench history` lists what was measured; compare by ids",
        exit_code=ExitCode.USAGE,
    )


def _unknown(word: str) -> K2Error:
    return K2Error(
        f"no benchmark {word!r}: it is no id of one (or of several), no SERIES:ARM, and no profile that was measured",
        code="no_such_bench",
        subject=word,
        hint="`k2tui bench history` lists them",
        exit_code=ExitCode.MISSING,
    )
