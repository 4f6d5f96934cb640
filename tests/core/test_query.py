"""The filter language: what holds, what does not, what nobody can say, and what a wrong one is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.query import Comparison, Field, QueryError, parse, unit_of

NAMES = {
    "node": "its node",
    "server": "its name",
    "state": "its state in one word",
    "tag": "the tags of its node",
    "temp": "temperature (C)",
    "ttft": "time to the first token, p95 (ms)",
    "vram": "memory in use (%)",
    "vram_free": "memory that is free (GiB)",
    "net_rx": "what comes in (MB/s)",
    "queue": "requests that wait (count)",
    "free": "nobody uses it (yes or no)",
    "up": "how long it serves (s)",
}
ROW: dict[str, Field] = {
    "node": "gpu-a",
    "server": "kimi-k25",
    "state": "ready",
    "tag": "prod, eu",
    "temp": 81.0,
    "ttft": 2100.0,
    "vram": 50.0,
    "vram_free": 12.0,
    "net_rx": 3.0,
    "queue": 1500,
    "free": False,
    "up": 7200.0,
}
UNKNOWN: dict[str, Field] = {"node": "gpu-b", "temp": None, "free": None, "state": None}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kimi",
        "KIMI",
        "gpu-a",
        "&kimi",
        "!loading",
        "not loading",
        "! loading",
        "'kimi-k25'",
        "state==ready",
        "state=Ready",
        "STATE == READY",
        "state!=loading",
        "state~ea",
        "state!~load",
        "tag==prod",
        "tag==eu",
        "tag!=test",
        "temp>80",
        "temp>=81",
        "temp<=81C",
        "temp>80°C",
        "temp==81",
        "temp!=80",
        "ttft>2s",
        "ttft<3000",
        "ttft<3000ms",
        "vram==50%",
        "vram_free>10GB",
        "vram_free>10G",
        "vram_free==12288MiB",
        "net_rx>=3000kB/s",
        "net_rx>2M",
        "queue>1k",
        "up>1h",
        "up==2h",
        "!free",
        "free==no",
        "free!=yes",
        "temp>80 vram<60",
        "temp>80 and vram<60",
        "temp>80 & vram<60",
        "temp>80 && vram<60",
        "temp>90 or vram<60",
        "temp>90 | vram<60",
        "(temp>90 or vram<60) and kimi",
        "temp>90 or vram<60 and kimi",
        "not (temp>90 and vram<60)",
        "temp>90 or temp<70 or queue>1",
        "!(!kimi)",
    ],
)
def test_it_holds(text: str) -> None:
    assert parse(text, NAMES).matches(ROW) is True


@pytest.mark.parametrize(
    "text",
    [
        "!kimi",
        "loading",
        "kimi loading",
        "state==read",
        "tag==pro",
        "temp>81",
        "temp<80 or free",
        "free",
        "free==yes",
        "ttft<2s",
        "vram_free>13",
        "temp>90 and unknown",
        "(temp>80 or vram<60) and loading",
    ],
)
def test_it_does_not_hold(text: str) -> None:
    assert parse(text, NAMES).matches(ROW) is False


@pytest.mark.parametrize(
    "text",
    ["temp>80", "temp<=80", "!(temp>80)", "free", "!free", "state!=ready", "temp>80 and gpu-b", "temp>80 or free"],
)
def test_nobody_can_say_neither_it_nor_its_opposite(text: str) -> None:
    assert parse(text, NAMES).matches(UNKNOWN) is None


def test_what_is_known_decides_where_it_can() -> None:
    assert parse("temp>80 or gpu-b", NAMES).matches(UNKNOWN) is True
    assert parse("gpu-a and temp>80", NAMES).matches(UNKNOWN) is False


@pytest.mark.parametrize(
    ("text", "says", "unfinished"),
    [
        ("tmep>80", "no field tmep at 1; did you mean temp?", False),
        ("kimi and wattage>3", "no field wattage at 10", False),
        ("temp>", "temp> needs a value (C)", True),
        ("state==", "state== needs a value", True),
        ("kimi and", "something is missing at the end", True),
        ("!", "something is missing at the end", True),
        ("(kimi", "the ( at 1 is not closed", True),
        ("kimi)", "a ) too many at 5", False),
        ('node=="gpu', 'the " at 7 is not closed', True),
        ("temp>hot", "temp is a number (C): hot at 6 is none", False),
        ("temp>80W", "temp is in C: W at 6 is another unit", False),
        ("queue>3ms", "queue is in count: ms at 7 is another unit", False),
        ("temp~80", "temp is a number (C)", False),
        ("state>ready", "state is text", False),
        ("free>1", "free is yes or no: write free, !free or free==no", False),
        (">80", "> at 1 has nothing before it", False),
        ("or kimi", "or at 1 has nothing before it", False),
        ("temp>>80", "temp> needs a value, not > at 6", False),
        ("(" * 60 + "kimi", "more than 40 brackets", False),
        ("x" * 2000, "at most 1000 characters", False),
    ],
)
def test_a_wrong_filter_is_told_what_and_where(text: str, says: str, unfinished: bool) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text, NAMES)
    assert says in str(caught.value)
    assert caught.value.unfinished is unfinished


def test_a_simple_comparison_can_be_asked_for() -> None:
    assert parse("ttft>2s", NAMES).comparison == Comparison("ttft", ">", 2000.0)
    assert parse("free", NAMES).comparison == Comparison("free", "==", value=True)
    both = parse("temp>80 and state==ready", NAMES)
    assert both.comparison is None
    assert both.names == {"temp", "state"}
    assert [one.is_number for one in both.comparisons] == [True, False]


@pytest.mark.parametrize(
    ("text", "value", "holds", "eased"),
    [
        ("temp>80", 78.0, False, True),
        ("temp>80", 75.0, False, False),
        ("temp<80", 82.0, False, True),
        ("!(temp>80)", 82.0, False, True),
        ("temp==80", 79.0, False, False),
        ("temp>80 and temp<90", 78.0, False, True),
    ],
)
def test_an_eased_filter_lets_a_little_more_pass(text: str, value: float, holds: bool, eased: bool) -> None:
    query = parse(text, NAMES)
    assert query.matches({"temp": value}) is holds
    assert query.eased(0.05).matches({"temp": value}) is eased


def test_a_bare_field_that_is_no_yes_or_no_is_a_word_with_a_hint() -> None:
    query = parse("queue", NAMES)
    assert query.matches({"server": "queue-1", "queue": 0}) is True
    assert query.hint == "queue is also a field: compare it, such as queue>0"
    assert parse('"free"', NAMES).matches({"server": "free-1", "free": False}) is True


@pytest.mark.parametrize(("meaning", "unit"), [("a (ms)", "ms"), ("a (b) (yes or no)", "yes or no"), ("text", "")])
def test_a_meaning_ends_with_its_unit(meaning: str, unit: str) -> None:
    assert unit_of(meaning) == unit


def understood(text: str) -> bool | None | str:
    """What a filter says of the row, or what it is told."""
    try:
        return parse(text, NAMES).matches(ROW)
    except QueryError as error:
        return str(error) if 0 <= error.at <= len(text) else ""


@given(st.text(max_size=60))
def test_whatever_is_typed_is_understood_or_told_why_not(text: str) -> None:
    assert understood(text) != ""


@given(st.lists(st.sampled_from(["temp>80", "(", ")", "not", "and", "or", "kimi", "free", "!", "<", "5"]), max_size=12))
def test_whatever_is_put_together_is_understood_or_told_why_not(parts: list[str]) -> None:
    assert understood(" ".join(parts)) != ""
