"""What `diagnose` prints for a person in a hurry."""

from __future__ import annotations

import pytest

from k2tui.core.diagnosis import diagnose
from k2tui.core.diagnosis_text import to_text
from k2tui.core.launch import LaunchKind
from tests.core.logs import REAL, corpus_cases, real


def text_of(name: str, **context: object) -> list[str]:
    return list(to_text(diagnose([real(name)], context)))


def test_the_verdict_comes_first_then_the_line_then_what_to_do() -> None:
    text = text_of("sglang0523-port-taken")
    assert text[0] == "CRASHED in warm-up: its port is taken (sglang 0.5.23 by its arguments)"
    assert text[1].startswith("  line 61: ")
    assert "address already in use" in text[1]
    assert text[2].startswith("  → Stop what listens on that port (ss -ltnp)")


@pytest.mark.parametrize("log", sorted(path.stem for path in REAL.glob("*.log")))
def test_every_log_gets_its_three_lines(log: str) -> None:
    verdict, line, action, *_ = text_of(log)
    assert verdict.split()[0].strip(",").casefold() in {kind.value for kind in LaunchKind}
    assert line.startswith("  ")
    assert action.startswith("  → ")


def test_every_situation_gets_its_three_lines() -> None:
    for name, data, want in corpus_cases():
        context = {key: want[key] for key in ("observed_at", "process_alive", "probe") if key in want}
        diagnosis = diagnose([data], context)
        verdict, line, action, *_ = to_text(diagnosis)
        assert verdict.startswith(diagnosis.launch.kind.value.upper()), name
        assert line.startswith("  "), name
        assert action.startswith("  → "), name


def test_the_line_of_the_log_is_cut_to_two_rows_and_advice_never_is() -> None:
    lines = list(to_text(diagnose([real("sglang0523-memfail")]), width=80))
    assert len(lines[1]) == 2 * 80
    assert lines[1].endswith("…")
    assert any(len(line) > 80 and line.startswith("  → ") for line in lines)


def test_advice_without_a_source_says_so() -> None:
    advice = text_of("vllm032-wrong-model-path")[2:]
    assert all(line.endswith(")") for line in advice if line.startswith("  →"))
    assert any(line.endswith("(inferred: no source)") for line in advice)
