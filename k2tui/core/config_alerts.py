"""The alerts of a config: what is told how, and the operator's own rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from k2tui.core import config_checks as check
from k2tui.core.alerts import SLOTS, slots_of
from k2tui.core.config_findings import Findings, Schema, listed, nearest, shown
from k2tui.core.settings import AlertRuleSettings, AlertSettings
from k2tui.core.toml_lines import KeyPath

ALERTS: Schema = {
    "bell": check.switch,
    "command": check.ListOf(check.text, '["notify-send", "k2tui", "{text}"]'),
    "off": check.ListOf(check.line, '["gpu_power_cap"]'),
    "rules": lambda value: value,  # read rule by rule
}
RULE: Schema = {
    "on": check.one_of("node", "gpu", "server"),
    "when": check.line,
    "until": check.line,
    "for_s": check.wait,
    "severity": check.one_of("info", "warning", "bad"),
    "say": check.line,
}
_AT: KeyPath = ("alerts", "rules")


def alert_keys() -> tuple[str, ...]:
    """Every key of the section."""
    return (*(f"alerts.{key}" for key in ALERTS if key != "rules"), *(f"alerts.rules.*.{key}" for key in RULE))


def read_alerts(findings: Findings, value: object) -> AlertSettings:
    """The section as settings; what is wrong is added to the findings."""
    table = findings.table(("alerts",), value, ALERTS)
    written = table.get("rules", {})
    rules = {name: _read_rule(findings, name, each) for name, each in findings.entries(_AT, written).items()}
    _check_command(findings, table.get("command", ()))
    if rules or "off" in table:
        _check_rules(findings, rules, table.get("off", ()))
    rest = {key: setting for key, setting in table.items() if key != "rules"}
    return AlertSettings(**rest, rules=MappingProxyType(rules))


def _read_rule(findings: Findings, name: str, value: object) -> AlertRuleSettings:
    at = (*_AT, name)
    try:
        check.name(name)
    except check.UnfitError as error:
        findings.add(at, shown(at, name), error.expected)
    if not isinstance(value, dict):
        findings.add(at, shown(at, value), "a table: [alerts.rules.NAME] stands before such keys")
        return AlertRuleSettings(name)
    return AlertRuleSettings(name, **findings.table(at, value, RULE))


def _check_command(findings: Findings, command: Collection[str]) -> None:
    for index, word in enumerate(command):
        for slot in slots_of(word):
            if slot not in SLOTS:
                key = ("alerts", "command", str(index))
                findings.unknown(key, f"{{{slot}}}", [f"{{{one}}}" for one in SLOTS], "a slot that is filled in")


def _check_rules(findings: Findings, rules: Mapping[str, AlertRuleSettings], off: Collection[str]) -> None:
    from k2tui.core.alerting.book import DEFAULT_RULES  # noqa: PLC0415  a config without rules does not pay for it

    names = list(dict.fromkeys([*DEFAULT_RULES, *rules]))
    for index, name in enumerate(off):
        if name not in names:
            findings.unknown(("alerts", "off", str(index)), name, names, "the name of a rule")
    for name, rule in rules.items():
        if not findings.touches((*_AT, name)):
            _check_rule(findings, rule, is_new=name not in DEFAULT_RULES, names=names)


def _check_rule(findings: Findings, rule: AlertRuleSettings, *, is_new: bool, names: Collection[str]) -> None:
    from k2tui.core.alerting.book import FIELDS, looks_at, slots  # noqa: PLC0415

    at = (*_AT, rule.name)
    if is_new and rule.when is None:
        others = [name for name in names if name != rule.name]
        meant = nearest(rule.name, others)
        expected = 'an expression, such as when = "temp > 85"; only rules that are there without config go without'
        findings.add((*at, "when"), "nothing", expected, meant=meant)
        return
    kind = looks_at(rule)
    if kind is None:
        if rule.when is not None or rule.until is not None:
            findings.add((*at, "on"), "nothing", "node, gpu or server: what the rule looks at")
        return
    if not is_new and rule.on is not None and rule.when is None:
        findings.add((*at, "when"), "nothing", "an expression as well: on = ... says what it looks at")
        return
    for key, text in (("when", rule.when), ("until", rule.until)):
        if text is not None:
            _check_query(findings, (*at, key), text, kind)
    for slot in slots(rule.say or ""):
        if slot not in FIELDS[kind]:
            findings.unknown(
                (*at, "say"), f"{{{slot}}}", [f"{{{name}}}" for name in FIELDS[kind]], f"a field of a {kind}"
            )


def _check_query(findings: Findings, key: KeyPath, text: str, kind: str) -> None:
    from k2tui.core.alerting.book import FIELDS  # noqa: PLC0415
    from k2tui.core.query import QueryError, parse  # noqa: PLC0415

    example = {"node": "disk > 95", "gpu": "temp > 85", "server": "queue > 100"}[kind]
    try:
        query = parse(text, FIELDS[kind])
    except QueryError as error:
        findings.add(key, shown(key, text), f'an expression over the fields of a {kind}, such as "{example}": {error}')
        return
    if not query.names:
        expected = f'an expression with a comparison, such as "{example}"{listed(list(FIELDS[kind]))}'
        findings.add(key, shown(key, text), expected)


def alerts_document(settings: AlertSettings) -> dict[str, Any]:
    """The section that gives these settings again."""
    document: dict[str, Any] = {"bell": settings.bell}
    if settings.command:
        document["command"] = list(settings.command)
    if settings.off:
        document["off"] = list(settings.off)
    rules = {
        name: {key: value for key in RULE if (value := getattr(rule, key)) is not None}
        for name, rule in settings.rules.items()
    }
    return {**document, "rules": rules} if rules else document
