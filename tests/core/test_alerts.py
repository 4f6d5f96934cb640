"""What an alert is as a sentence, as JSON and as words of a command."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from k2tui.core.alerts import LONGEST_TEXT, Alert, as_json, filled, fit, in_order, sentence, several, subject_words
from k2tui.core.events import Severity

HOT = Alert("gpu_hot", "gpu/gpu-a/3", "91 °C: look at the fans", Severity.WARNING, 100.0)


@pytest.mark.parametrize(
    ("subject", "words"),
    [("node/gpu-a", "gpu-a"), ("server/kimi", "kimi"), ("gpu/gpu-a/3", "gpu-a GPU 3"), ("kimi", "kimi")],
)
def test_a_subject_as_an_operator_says_it(subject: str, words: str) -> None:
    assert subject_words(subject) == words


def test_a_command_gets_words_filled_in_and_keeps_its_other_braces() -> None:
    command = ("curl", "-d", '{"text": "{text}", "n": {}}', "{rule}/{severity}", "{other}", "{subject}")
    assert filled(command, HOT) == (
        "curl",
        "-d",
        '{"text": "gpu-a GPU 3: 91 °C: look at the fans", "n": {}}',
        "gpu_hot/warning",
        "{other}",
        "gpu-a GPU 3",
    )


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert filled(("{text}",), replace(HOT, text="{rule} {text}")) == ("gpu-a GPU 3: {rule} {text}",)


def test_an_alert_as_json_is_one_line_that_names_all() -> None:
    line = as_json(HOT)
    assert "\n" not in line
    assert json.loads(line) == {
        "type": "alert",
        "rule": "gpu_hot",
        "subject": "gpu/gpu-a/3",
        "severity": "warning",
        "text": sentence(HOT),
        "began_at": 100.0,
        "ended_at": None,
    }


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("two\nlines  here", "two lines here"),
        ("\x1b[31mred\x1b[0m \x07bell", "red bell"),
        ("HF_TOKEN=hf_ABCDEFGHIJ1234567890", "HF_TOKEN=***"),
    ],
)
def test_what_a_node_printed_is_made_fit(text: str, fits: str) -> None:
    assert fit(text) == fits


def test_a_long_sentence_is_cut() -> None:
    assert len(fit("x" * 10_000)) == LONGEST_TEXT


def test_what_wants_an_eye_comes_first_then_what_holds_then_what_is_over() -> None:
    alerts = [
        replace(HOT, rule="over", began_at=9.0, ended_at=10.0),
        replace(HOT, rule="seen", began_at=8.0, acknowledged_at=9.0),
        replace(HOT, rule="old", began_at=1.0),
        replace(HOT, rule="new", began_at=2.0),
    ]
    assert [alert.rule for alert in in_order(alerts)] == ["new", "old", "seen", "over"]


def test_several_at_once_are_told_by_the_loudest_with_their_number() -> None:
    lost = Alert("node_lost", "node/gpu-b", "out of reach", Severity.BAD, 200.0)
    told = several([HOT, HOT, lost])
    assert sentence(told) == "gpu-b: out of reach (and 2 more: gpu_hot, node_lost)"
    assert several([HOT]) == HOT
