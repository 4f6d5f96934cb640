"""Which rules there are: those that hold without config, as the operator changed them, and the operator's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from k2tui.core.alerting.engine import RuleBook
from k2tui.core.alerting.gpu_rules import GPU_RULES
from k2tui.core.alerting.node_rules import NODE_RULES
from k2tui.core.alerting.rows import GpuRow, NodeRow, Row, ServerRow
from k2tui.core.alerting.rule import Rule
from k2tui.core.alerting.server_rules import SERVER_RULES
from k2tui.core.events import Severity
from k2tui.core.fields import GPU_FIELDS, NODE_FIELDS, SERVER_FIELDS
from k2tui.core.query import Field, Query, parse
from k2tui.core.settings import AlertRuleSettings, AlertSettings
from k2tui.core.words import UNKNOWN

DEFAULT_RULES: Mapping[str, Rule[Any]] = {rule.name: rule for rule in (*NODE_RULES, *GPU_RULES, *SERVER_RULES)}
"""By name, those that hold without config."""
FIELDS: Mapping[str, Mapping[str, str]] = {"node": NODE_FIELDS, "gpu": GPU_FIELDS, "server": SERVER_FIELDS}
"""What a rule can look at: the fields of its expressions, and of its sentence."""
EASE = 0.05
"""Share of a limit that a figure must come back before an alert without `until` ends."""

_ROWS: Mapping[str, type[Any]] = {"node": NodeRow, "gpu": GpuRow, "server": ServerRow}
_SLOT = re.compile(r"\{([A-Za-z0-9_]+)\}")


def book_of(settings: AlertSettings) -> RuleBook:
    """The rules of a config that was checked."""
    rules = dict(DEFAULT_RULES)
    for name, written in settings.rules.items():
        rules[name] = _rule(written, rules.get(name))
    return RuleBook(rule for name, rule in rules.items() if name not in settings.off)


def looks_at(written: AlertRuleSettings) -> str | None:
    """node, gpu or server: what a rule of the config looks at; None where neither it nor a rule of its name says so."""
    if written.on is not None or written.name not in DEFAULT_RULES:
        return written.on
    kind = DEFAULT_RULES[written.name].on
    return next((word for word, row in _ROWS.items() if row is kind), None)


def slots(text: str) -> tuple[str, ...]:
    """The fields that a sentence asks for."""
    return tuple(_SLOT.findall(text))


def _rule(written: AlertRuleSettings, default: Rule[Any] | None) -> Rule[Any]:
    base = default
    if written.when is not None:
        base = _from_query(written, parse(written.when, FIELDS[looks_at(written) or "node"]))
        if default is not None:
            base = replace(base, severity=default.severity, for_s=default.for_s)
    assert base is not None
    if written.when is None and written.until is not None:
        base = replace(base, until=_matching(parse(written.until, FIELDS[looks_at(written) or "node"])))
    if written.severity is not None:
        base = replace(base, severity=Severity(written.severity), loudness=None)
    if written.for_s is not None:
        base = replace(base, for_s=written.for_s)
    return base if written.say is None else replace(base, say=_saying(written.say))


def _from_query(written: AlertRuleSettings, query: Query) -> Rule[Any]:
    kind = looks_at(written) or "node"
    over = _not_matching(query.eased(EASE)) if written.until is None else _matching(parse(written.until, FIELDS[kind]))
    return Rule(
        written.name,
        f"of the config: {written.when}",
        on=_ROWS[kind],
        when=_matching(query),
        until=over,
        say=_figures(query),
    )


def _matching(query: Query) -> Callable[[Any], bool | None]:
    return lambda row: query.matches(row.fields())


def _not_matching(query: Query) -> Callable[[Any], bool | None]:
    def over(row: Any) -> bool | None:
        verdict = query.matches(row.fields())
        return None if verdict is None else not verdict

    return over


def _figures(query: Query) -> Callable[[Row], str]:
    """The sentence of a rule that has none: the expression, and what its fields are."""

    def say(row: Row) -> str:
        fields = _fields(row)
        now = ", ".join(f"{name} {_shown(fields.get(name))}" for name in sorted(query.names))
        return f"{query.text} ({now})" if now else query.text

    return say


def _saying(text: str) -> Callable[[Row], str]:
    def say(row: Row) -> str:
        fields = _fields(row)
        return _SLOT.sub(lambda found: _shown(fields.get(found[1])), text)

    return say


def _fields(row: Row) -> Mapping[str, Field]:
    """The fields of a row; those of its server or node where the row itself has no names for its own."""
    return row.fields() if isinstance(row, NodeRow | GpuRow | ServerRow) else row.around().fields()


def _shown(value: Field) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float | int):
        return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"
    return value
