"""The alerts of a config: what can be wrong, in one line with a way out, and what comes of what is right."""

from __future__ import annotations

import pytest

from k2tui.core.alerting.book import DEFAULT_RULES, book_of
from k2tui.core.config_alerts import alerts_document
from k2tui.core.errors import ConfigErrors
from k2tui.core.fields import NODE_FIELDS
from k2tui.core.settings import AlertSettings
from tests.core.test_config_errors import read

FIELDS = ", ".join(list(NODE_FIELDS)[:24]) + ", ..."

WRONG: list[tuple[str, str, str]] = [
    # what is wrong, the file, the line without the file's name
    (
        "an alerts section that is none",
        "alerts = true",
        "line 1, alerts: found true, expected a table: [alerts]",
    ),
    (
        "an unknown key of the alerts",
        "[alerts]\nbel = false",
        "line 2, alerts.bel: found an unknown key (= false), expected another key here: bell, command, off, rules;"
        " did you mean bell?",
    ),
    (
        "a command for alerts as a shell would have it",
        "[alerts]\ncommand = 'notify-send k2tui'",
        'line 2, alerts.command: found "notify-send k2tui", expected a list, such as'
        ' ["notify-send", "k2tui", "{text}"]',
    ),
    (
        "a slot that nothing fills",
        "[alerts]\ncommand = ['notify-send', '{txt}']",
        'line 2, alerts.command.1: found "{txt}", expected a slot that is filled in ({text}, {rule}, {subject},'
        " {severity}); did you mean {text}?",
    ),
    (
        "a rule of the operator's own without an expression",
        "[alerts.rules.gpu_hott]\nfor_s = 3",
        'line 1, alerts.rules.gpu_hott.when: found nothing, expected an expression, such as when = "temp > 85";'
        " only rules that are there without config go without; did you mean gpu_hot?",
    ),
    (
        "a rule that does not say what it looks at",
        "[alerts.rules.warm]\nwhen = 'temp > 60'",
        "line 1, alerts.rules.warm.on: found nothing, expected node, gpu or server: what the rule looks at",
    ),
    (
        "a rule that looks at what is none",
        "[alerts.rules.warm]\non = 'gpus'\nwhen = 'temp > 60'",
        'line 2, alerts.rules.warm.on: found "gpus", expected one of node, gpu, server; did you mean gpu?',
    ),
    (
        "a rule over another kind of thing without an expression",
        "[alerts.rules.gpu_hot]\non = 'server'",
        "line 1, alerts.rules.gpu_hot.when: found nothing, expected an expression as well: on = ... says what it looks"
        " at",
    ),
    (
        "an expression without a comparison",
        "[alerts.rules.warm]\non = 'node'\nwhen = 'warm'",
        'line 3, alerts.rules.warm.when: found "warm", expected an expression with a comparison, such as "disk > 95"'
        f" ({FIELDS})",
    ),
    (
        "a severity that is none",
        "[alerts.rules.gpu_hot]\nseverity = 'badd'",
        'line 2, alerts.rules.gpu_hot.severity: found "badd", expected one of info, warning, bad; did you mean bad?',
    ),
    (
        "a time below nothing",
        "[alerts.rules.gpu_hot]\nfor_s = -1",
        "line 2, alerts.rules.gpu_hot.for_s: found -1, expected a number of seconds, 0 or more",
    ),
    (
        "a rule that is no table",
        "[alerts.rules]\ngpu_hot = 3",
        "line 2, alerts.rules.gpu_hot: found 3, expected a table: [alerts.rules.NAME] stands before such keys",
    ),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_each_mistake_gives_one_line_with_file_line_key_and_a_way_out(text: str, expected: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        read(text)
    assert caught.value.lines == (f"k2.toml, {expected}",)


@pytest.mark.parametrize(
    ("text", "starts", "ends"),
    [
        (
            "[alerts.rules.warm]\non = 'gpu'\nwhen = 'tempp > 60'",
            'k2.toml, line 3, alerts.rules.warm.when: found "tempp > 60", expected an expression over the fields',
            "did you mean temp",
        ),
        (
            "[alerts.rules.gpu_hot]\nuntil = 'temp <'",
            'k2.toml, line 2, alerts.rules.gpu_hot.until: found "temp <", expected an expression over the fields',
            "",
        ),
        (
            "[alerts]\noff = ['gpu_hott']",
            'k2.toml, line 2, alerts.off.0: found "gpu_hott", expected the name of a rule (',
            "did you mean gpu_hot?",
        ),
        (
            "[alerts.rules.gpu_hot]\nsay = 'it is {tmp}'",
            'k2.toml, line 2, alerts.rules.gpu_hot.say: found "{tmp}", expected a field of a gpu (',
            "did you mean {temp}?",
        ),
    ],
)
def test_a_word_that_no_rule_knows_is_told_with_what_may_be_meant(text: str, starts: str, ends: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        read(text)
    assert len(caught.value.lines) == 1
    assert caught.value.lines[0].startswith(starts)
    assert ends in caught.value.lines[0]


@pytest.mark.parametrize("name", sorted(DEFAULT_RULES))
def test_every_rule_can_be_turned_off_and_changed_by_its_name(name: str) -> None:
    settings = read(f"[alerts]\noff = ['{name}']\n[alerts.rules.{name}]\nfor_s = 7\nseverity = 'info'").alerts
    assert name not in book_of(settings).rules
    changed = book_of(AlertSettings(rules=settings.rules)).rules[name]
    assert (changed.for_s, changed.severity.value, changed.loudness) == (7.0, "info", None)
    assert changed.when is DEFAULT_RULES[name].when


def test_a_rule_about_a_disk_may_be_given_another_expression_over_the_nodes_fields() -> None:
    settings = read(
        "[alerts.rules.disk_full]\non = 'node'\nwhen = 'disk > 90'\nsay = '{disk} % of {node} in use'"
    ).alerts
    assert book_of(settings).rules["disk_full"].for_s == DEFAULT_RULES["disk_full"].for_s


def test_alerts_without_a_word_in_the_config_ring_and_run_nothing() -> None:
    assert read("").alerts == AlertSettings()
    assert alerts_document(AlertSettings()) == {"bell": True}
