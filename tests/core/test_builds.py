"""A build and its document, and what a parser makes of a name."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.build_document import build_json, parse_answer, parse_build
from k2tui.core.builds import Build, BuildFlag, Match, Takes, look_up
from tests.core.builds import NEW, VLLM

NAMES = st.text("ab-c", min_size=2, max_size=6).filter(lambda name: name[0] != "-" and name[-1] != "-")


@pytest.mark.parametrize(
    ("name", "match", "flag", "names"),
    [
        ("tp-size", Match.EXACT, "tp-size", ("tp-size",)),
        ("--tp-size", Match.EXACT, "tp-size", ("tp-size",)),
        ("--tp-size=8", Match.EXACT, "tp-size", ("tp-size",)),
        ("tensor-parallel-size", Match.ALIAS, "tp-size", ("tensor-parallel-size",)),
        ("--tp", Match.PREFIX, "tp-size", ("tp-size",)),
        ("--pp", Match.AMBIGUOUS, None, ("pp-max-micro-batch-size", "pp-size")),
        ("--cuda-graph-max-bs", Match.AMBIGUOUS, None, ("cuda-graph-max-bs-decode", "cuda-graph-max-bs-prefill")),
        ("--tp_size", Match.UNKNOWN, None, ("tp-size", "pp-size", "dp-size")),
        ("nothing-like-it", Match.UNKNOWN, None, ()),
        ("", Match.UNKNOWN, None, ()),
    ],
)
def test_a_name_is_looked_up(name: str, match: Match, flag: str | None, names: tuple[str, ...]) -> None:
    found = look_up(NEW, name)
    assert (found.match, None if found.flag is None else found.flag.name, found.names) == (match, flag, names)


def test_vllms_parser_takes_other_spellings() -> None:
    assert look_up(VLLM, "--tensor_parallel_size").match is Match.EXACT
    config = Build("vllm", (BuildFlag("compilation-config", type="json"),))
    assert look_up(config, "--compilation-config.level").match is Match.EXACT


@given(flags=st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=4), typed=NAMES)
def test_it_is_what_argparse_makes_of_it(flags: list[list[str]], typed: str) -> None:
    parser, kept, taken = argparse.ArgumentParser(add_help=False, exit_on_error=True), [], set[str]()
    for names in flags:
        own = [name for name in dict.fromkeys(names) if name not in taken]
        if own:
            taken.update(own)
            parser.add_argument(*(f"--{name}" for name in own), dest=own[0])
            kept.append(BuildFlag(own[0], aliases=tuple(own[1:])))
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        values = vars(parser.parse_args([f"--{typed}", "x"]))
        said.write(next(name for name, value in values.items() if value == "x"))
    found = look_up(Build("sglang", tuple(kept)), typed)
    text = said.getvalue()
    if "ambiguous option" in text:
        assert found.match is Match.AMBIGUOUS
        assert {f"--{name}" for name in found.names} == set(text.rpartition("could match ")[2].strip().split(", "))
    elif "unrecognized" in text:
        assert found.match is Match.UNKNOWN
    else:
        assert found.flag is not None
        assert found.flag.name == text


FLAGS = st.builds(
    BuildFlag,
    name=st.text("abc-", min_size=1),
    takes=st.sampled_from([Takes.ONE, Takes.SEVERAL, Takes.MAYBE]),
    aliases=st.lists(st.text("abc-", min_size=1)).map(tuple),
    type=st.sampled_from(["str", "int", "float", "bool", "json", "size", None]),
    default=st.none() | st.text("abc 1[]"),
    choices=st.none() | st.lists(st.text("abc")).map(tuple),
    required=st.booleans(),
    help=st.none() | st.text("abc %"),
    deprecated=st.booleans(),
    replacement=st.none() | st.text("abc-"),
    refused=st.booleans(),
)


@given(st.lists(FLAGS, max_size=5), st.none() | st.lists(st.text("abc/.")).map(tuple))
def test_a_build_survives_its_document(flags: list[BuildFlag], modified: tuple[str, ...] | None) -> None:
    build = Build(
        "sglang", tuple(flags), "0.5.23", path="/x", modified=modified, commit="ab", note="n", took_s=0.5, loaded=()
    )
    assert parse_build(build_json(build)) == build


def answer(**more: Any) -> str:
    return json.dumps({"k2build": 1, "stamp": "s", "engine": "sglang", "flags": [], **more})


def test_an_answer_says_that_nothing_changed_or_that_there_is_nothing() -> None:
    assert parse_answer('{"k2build": 1, "stamp": "s", "same": true}').stamp == "s"
    assert parse_answer('{"k2build": 1, "missing": "no sglang"}').missing == "no sglang"
    assert parse_answer("k2none its setup line failed\n").missing == "its setup line failed"


def test_noise_before_an_answer_is_no_part_of_it() -> None:
    build = parse_answer("Welcome!\n" + answer(version="0.5.9") + "\n").build
    assert build is not None
    assert build.version == "0.5.9"


def test_what_a_node_says_reaches_no_terminal_as_it_is() -> None:
    flag = {
        "name": "x\x1b[31m",
        "takes": "one",
        "help": "a\x1b]0;t\x07\nb",
        "choices": ["\x9b1m"],
        "default": "\u202ea",
    }
    build = parse_answer(answer(flags=[flag], path="/\x1b[2J", modified=["\x1bc"], note="\x07")).build
    assert build is not None
    assert (build.path, build.modified, build.note) == ("/", ("c",), "")
    assert (build.flags[0].name, build.flags[0].help) == ("x", "a b")
    assert (build.flags[0].choices, build.flags[0].default) == (("1m",), "a")


def test_a_document_is_cut_where_it_has_no_end() -> None:
    flags = [{"name": f"f{number}", "takes": "one", "help": "x" * 9000} for number in range(9000)]
    build = parse_answer(answer(flags=flags)).build
    assert build is not None
    assert (len(build.flags), len(build.flags[0].help or "")) == (3000, 1000)


@given(
    st.text()
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["engine", "flags", "name", "takes"]), inner),
    ).map(lambda value: json.dumps({"k2build": 1, "engine": "sglang", "flags": value}))
)
def test_anything_else_is_a_value_error(text: str) -> None:
    try:
        answered = parse_answer(text)
    except ValueError:
        return
    assert answered.build is None or answered.build.engine == "sglang"
