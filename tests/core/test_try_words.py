"""`:try` words become a change, and a change the same words again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.errors import K2Error
from k2tui.core.flags import identity
from k2tui.core.try_words import describe, parse_try, same_on
from k2tui.core.verbs import ProfileChange

SAID = [
    ("NCCL_PROTO=LL128", ProfileChange(env={"NCCL_PROTO": "LL128"})),
    ("+NCCL_PROTO=LL128", ProfileChange(env={"NCCL_PROTO": "LL128"})),
    ("-NCCL_ALGO", ProfileChange(unset=("NCCL_ALGO",))),
    ("-http_proxy", ProfileChange(unset=("http_proxy",))),
    ("+disable-cuda-graph", ProfileChange(set={"disable-cuda-graph": "true"})),
    ("-disable-cuda-graph", ProfileChange(unset=("disable-cuda-graph",))),
    ("+reasoning-parser=kimi_k2", ProfileChange(set={"reasoning-parser": "kimi_k2"})),
    ("+reasoning_parser kimi_k2", ProfileChange(set={"reasoning-parser": "kimi_k2"})),
    ("--mem-fraction-static 0.88", ProfileChange(set={"mem-fraction-static": "0.88"})),
    ("--lora-paths a=/m/a b=/m/b", ProfileChange(set={"lora-paths": "a=/m/a b=/m/b"})),
    ("--enable-metrics false", ProfileChange(unset=("enable-metrics",))),
    ("--seed -1", ProfileChange(set={"seed": "-1"})),
    ("+served-model-name=", ProfileChange(set={"served-model-name": ""})),
    ("+json '{\"a\": 1}'", ProfileChange(set={"json": '{"a": 1}'})),
    ("NCCL_DEBUG_FILE='/tmp/a b'", ProfileChange(env={"NCCL_DEBUG_FILE": "/tmp/a b"})),
    (
        "-disable-cuda-graph +reasoning-parser=kimi_k2 --mem-fraction-static 0.88 -NCCL_ALGO NCCL_PROTO=LL",
        ProfileChange(
            set={"reasoning-parser": "kimi_k2", "mem-fraction-static": "0.88"},
            unset=("disable-cuda-graph", "NCCL_ALGO"),
            env={"NCCL_PROTO": "LL"},
        ),
    ),
]
WRONG = [
    ("", "nothing to try"),
    ("   ", "nothing to try"),
    ("tp-size 4", "'tp-size' follows no flag"),
    ("tp=4", "'tp=4' follows no flag"),
    ("NCCL_PROTO=LL LL128", "'LL128' follows 'NCCL_PROTO=LL'"),
    ("+tp-size=4 8", "'8' follows '+tp-size=4', which has its value"),
    ("-tp-size 4", "'4' follows '-tp-size'"),
    ("-tp-size=4", "'-tp-size=4' takes something away and gives it a value"),
    ("+NCCL_PROTO LL", "'+NCCL_PROTO' has the name of a variable and no value"),
    ("+a b 'c", "a quote is not closed"),
    ("+tp 4 --tensor-parallel-size 8", "'+tp' and '--tensor-parallel-size' are about the same thing"),
    ("-tp-size +tp-size 8", "about the same thing"),
    ("A=1 -A", "'A=1' and '-A' are about the same thing"),
]


@pytest.mark.parametrize(("text", "change"), SAID, ids=[text for text, _ in SAID])
def test_words_become_a_change(text: str, change: ProfileChange) -> None:
    assert parse_try(text) == change
    assert parse_try(describe(change)) == change


@pytest.mark.parametrize(("text", "why"), WRONG, ids=[text or "nothing" for text, _ in WRONG])
def test_wrong_words_say_which_and_why(text: str, why: str) -> None:
    with pytest.raises(K2Error) as raised:
        parse_try(text)
    assert why in raised.value.message
    assert raised.value.hint


def test_a_change_reads_as_it_is_typed() -> None:
    change = ProfileChange(
        set={"reasoning-parser": "kimi_k2", "disable-cuda-graph": "true", "a": "false"}, env={"NCCL_PROTO": "LL"}
    )
    assert describe(change) == "+reasoning-parser kimi_k2 +disable-cuda-graph -a NCCL_PROTO=LL"


def test_the_same_change_is_put_on_another_run() -> None:
    change = ProfileChange(profile="reason", set={"tp-size": "4"}, env={"A": "1"})
    assert same_on(change, run="r2") == ProfileChange(run="r2", set={"tp-size": "4"}, env={"A": "1"})


VALUES = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20) | st.sampled_from(
    ["-x", "--x 1", "+x", "A=1", "a 'b", 'say "no"', "", " ", "a  b", "\\", "true", "-1", "{}", "# no comment"]
)
FLAGS = st.from_regex(r"[a-z][a-z0-9.-]{0,12}", fullmatch=True)
VARIABLES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,12}", fullmatch=True)


@given(
    st.dictionaries(FLAGS, VALUES.filter(lambda value: value != "false"), max_size=4),
    st.lists(FLAGS | VARIABLES, max_size=3),
    st.dictionaries(VARIABLES, VALUES, max_size=3),
)
def test_any_change_survives_its_words(flags: dict[str, str], unset: list[str], env: dict[str, str]) -> None:
    names = [*map(identity, flags), *(name if name.isupper() else identity(name) for name in unset), *env]
    change = ProfileChange(set=flags, unset=tuple(unset), env=env)
    if names and len({*names}) == len(names):
        assert parse_try(describe(change)) == change


@given(st.text(max_size=60))
def test_no_line_breaks_the_grammar(text: str) -> None:
    try:
        change = parse_try(text)
    except K2Error:
        return
    assert parse_try(describe(change)) == change
