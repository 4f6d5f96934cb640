"""Rules against rows, look after look: what is raised and what ends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from k2tui.core.alerting.rows import Row
from k2tui.core.alerting.rule import Rule
from k2tui.core.alerts import Alert, fit

LONGEST_GAP_S = 60.0
"""Between two readings that lie further apart, nobody knows what was: that time does not count."""

Thing = tuple[str, str]
"""(subject, part) of a row."""


class RuleBook:
    """Rules by the kind of row that they look at."""

    def __init__(self, rules: Iterable[Rule[Any]]) -> None:
        self.rules: Mapping[str, Rule[Any]] = {rule.name: rule for rule in rules}
        of: dict[type, list[Rule[Any]]] = {}
        for rule in self.rules.values():
            of.setdefault(rule.on, []).append(rule)
        self._of = {kind: tuple(found) for kind, found in of.items()}

    def of(self, row: Row) -> Sequence[Rule[Any]]:
        """The rules that look at such a row."""
        return self._of.get(type(row), ())


@dataclass(frozen=True, slots=True)
class Watched:
    """One rule about one thing, from when it first held until it is over."""

    began_at: float
    """Unix time."""
    counted_s: float
    """How long it was seen to hold, until it is raised; then, how long it was seen to be over."""
    seen: float | None
    """time.monotonic of the reading up to which that was counted; None: the last look could not tell."""
    alert: Alert | None = None
    """None while it only may come to be raised."""


@dataclass(frozen=True, slots=True)
class AlertState:
    """All that is watched."""

    things: Mapping[Thing, Mapping[str, Watched]] = field(default_factory=dict)
    """A thing to the names of the rules that hold of it, or may come to."""

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """Those that hold."""
        return tuple(one.alert for held in self.things.values() for one in held.values() if one.alert is not None)


@dataclass(frozen=True, slots=True)
class Step:
    """What a look gave."""

    state: AlertState
    raised: tuple[Alert, ...] = ()
    ended: tuple[Alert, ...] = ()


def alert_name(rule: str, part: str) -> str:
    """`gpu_hot`, `xid 79`: the rule, and which of several."""
    return f"{rule} {part}" if part else rule


def rule_of(alert: Alert) -> str:
    """The name of the rule that raised it."""
    return alert.rule.partition(" ")[0]


def taken_up(alerts: Iterable[Alert], book: RuleBook) -> AlertState:
    """The state of a new k2tui for alerts that an earlier one raised and that were not seen to end."""
    things: dict[Thing, dict[str, Watched]] = {}
    for alert in alerts:
        rule, _, part = alert.rule.partition(" ")
        if rule in book.rules:
            held = things.setdefault((alert.subject, part), {})
            held[rule] = Watched(alert.began_at, 0.0, None, alert)
    return AlertState(things)


def changed(state: AlertState, old: Alert, new: Alert) -> AlertState:
    """The state with another alert in the place of one that holds: acknowledged, or raised elsewhere before."""
    thing, rule = (old.subject, old.rule.partition(" ")[2]), rule_of(old)
    held = state.things.get(thing, {})
    if rule not in held or held[rule].alert is None:
        return state
    return AlertState({**state.things, thing: {**held, rule: replace(held[rule], alert=new)}})


def step(state: AlertState, book: RuleBook, rows: Iterable[Row], at: float, servers: Collection[str]) -> Step:
    """Look once. `at` is unix time; `servers` are the subjects of those that exist: what held of others is over."""
    look = _Look(state, at)
    seen: set[tuple[Thing, str]] = set()
    for row in rows:
        thing = row.subject, row.part
        held = state.things.get(thing)
        for rule in book.of(row):
            was = None if held is None else held.get(rule.name)
            if was is None:
                if rule.when(row):
                    look.put(thing, rule.name, None, _begun(rule, row, at))
                continue
            seen.add((thing, rule.name))
            look.put(thing, rule.name, was, _waited(was, rule, row) if was.alert is None else _held(was, rule, row, at))
    for thing, known in state.things.items():
        gone = thing[0].startswith("server/") and thing[0] not in servers
        for name, one in known.items():
            if (thing, name) not in seen:
                over = gone or _outlasted(one, book.rules.get(name), at)
                look.put(thing, name, one, None if over else _unseen(one, at))
    return look.step()


class _Look:
    """Gathers what changes in one look."""

    def __init__(self, state: AlertState, at: float) -> None:
        self._state, self._at = state, at
        self._news: dict[Thing, dict[str, Watched]] = {}
        self._raised: list[Alert] = []
        self._ended: list[Alert] = []

    def put(self, thing: Thing, rule: str, was: Watched | None, now: Watched | None) -> None:
        """`now` comes in the place of `was`; None: nothing is watched there."""
        if now is was:
            return
        if thing not in self._news:
            self._news[thing] = dict(self._state.things.get(thing, {}))
        if now is None:
            self._news[thing].pop(rule, None)
        else:
            self._news[thing][rule] = now
        old, new = None if was is None else was.alert, None if now is None else now.alert
        if old is not None and (new is None or new.key != old.key):
            self._ended.append(replace(old, ended_at=self._at, unseen_since=None))
        if new is not None and (old is None or new.key != old.key):
            self._raised.append(new)

    def step(self) -> Step:
        """What came of it."""
        if not self._news:
            return Step(self._state)
        things = {**self._state.things, **self._news}
        left = {thing: held for thing, held in things.items() if held}
        return Step(AlertState(left), tuple(self._raised), tuple(self._ended))


def _begun(rule: Rule[Any], row: Row, at: float) -> Watched:
    """It holds for the first time."""
    happened = None if rule.happened_at is None else rule.happened_at(row)
    began = at if happened is None else min(at, happened)
    one = Watched(began, 0.0, row.seen)
    return _raised(one, rule, row) if rule.for_s <= 0 else one


def _raised(one: Watched, rule: Rule[Any], row: Row) -> Watched:
    severity = rule.severity if rule.loudness is None else rule.loudness(row)
    name = alert_name(rule.name, row.part)
    alert = Alert(name, row.subject, fit(rule.say(row)), severity, one.began_at)
    return replace(one, counted_s=0.0, seen=None, alert=alert)


def _waited(was: Watched, rule: Rule[Any], row: Row) -> Watched | None:
    """It held before, for too short a time to be raised."""
    verdict = rule.when(row)
    if verdict is False:
        return None
    if verdict is None:
        return was if was.seen is None else replace(was, seen=None)
    now = _counted(was, row.seen)
    return _raised(now, rule, row) if now.counted_s >= rule.for_s else now


def _held(was: Watched, rule: Rule[Any], row: Row, at: float) -> Watched | None:
    """It was raised: is it over, or did it happen once more?"""
    alert = was.alert
    assert alert is not None
    if _outlasted(was, rule, at):
        return None
    if alert.acknowledged_at is not None and rule.happened_at is not None and rule.when(row):
        happened = rule.happened_at(row)
        if happened is not None and happened > alert.acknowledged_at:
            return _begun(rule, row, at)
    over = rule.until(row)
    if over is None:
        return _unseen(was, at)
    if alert.unseen_since is not None:
        was = replace(was, alert=replace(alert, unseen_since=None))
    if not over:
        return was if was.seen is None and was.counted_s == 0 else replace(was, counted_s=0.0, seen=None)
    if rule.for_s <= 0:
        return None
    now = _counted(was, row.seen)
    return None if now.counted_s >= rule.for_s else now


def _counted(was: Watched, seen: float) -> Watched:
    """With the time between the last two readings, both of which said the same."""
    if was.seen == seen:
        return was
    gap = 0.0 if was.seen is None else seen - was.seen
    return replace(was, counted_s=was.counted_s + (gap if 0 < gap <= LONGEST_GAP_S else 0.0), seen=seen)


def _unseen(one: Watched, at: float) -> Watched:
    """Nobody can tell now whether it still holds."""
    if one.alert is None or one.alert.unseen_since is not None:
        return one if one.seen is None else replace(one, seen=None)
    return replace(one, seen=None, alert=replace(one.alert, unseen_since=at))


def _outlasted(one: Watched, rule: Rule[Any] | None, at: float) -> bool:
    if rule is None or rule.lasts_s is None or one.alert is None:
        return False
    return at - one.alert.began_at > rule.lasts_s
