from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.toml_lines import broken_place, dotted, key_lines
from k2tui.core.toml_text import toml_text

TOML: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

TEXT = '''# a comment with a = sign
theme = "k2 # not a comment"   # one
a.b."c.d" = 1
[nodes.gpu-a]
host = """
several = 'lines'
"""
tags = [ # comment ]
  "x",
  { deep = [1,
    2] },
]
[servers . "my box"]
env = { A = "}", 'B' = ']', C = { D = 3 } }
cmd = \'\'\'
python3 \\
  -m "x"
\'\'\'
port = 1
[[many]]
x = 1
[[many]]
x = 2
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("theme",), 2),
        (("a", "b", "c.d"), 3),
        (("nodes",), 4),
        (("nodes", "gpu-a"), 4),
        (("nodes", "gpu-a", "host"), 5),
        (("nodes", "gpu-a", "tags"), 8),
        (("nodes", "gpu-a", "tags", "0"), 9),
        (("nodes", "gpu-a", "tags", "1", "deep", "1"), 11),
        (("servers", "my box", "env", "B"), 14),
        (("servers", "my box", "env", "C", "D"), 14),
        (("servers", "my box", "port"), 19),
        (("many", "1", "x"), 23),
        (("servers", "my box", "node"), 13),  # not there: its table
        (("profiles",), None),
    ],
)
def test_each_key_is_found_on_its_line(path: tuple[str, ...], line: int | None) -> None:
    assert key_lines(TEXT)(path) == line


KEYS = st.text(max_size=4)
VALUES = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=2), max_size=3))
def test_the_line_of_a_key_holds_the_key(document: dict[str, dict[str, dict[str, object]]]) -> None:
    text = toml_text(document)
    assert TOML.loads(text) == document
    locate = key_lines(text)
    for section, tables in document.items():
        for name, table in tables.items():
            for key in table:
                line = locate((section, name, key))
                assert line is not None
                assert dotted((key,)) in text.split("\n")[line - 1]


@given(st.text())
def test_no_text_can_break_the_scanner(text: str) -> None:
    key_lines(text)(("a",))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[servers.kimi]\nport = = 3\n", (2, 8, "servers.kimi.port")),
        ("a = 1\na = 2\n", (2, 6, "a")),
        ("[a]\n[b]\n[a]\n", (3, 3, "a")),
        ("theme = 'x\ny = 1\n", (1, None, "theme")),
        ('a = 1\ncmd = """x\ny = 1\n', (2, None, "cmd")),
        ("nonsense\n", (1, 9, None)),
        ("[nodes.a\nhost = 3", (1, 9, None)),
        ("x = [1,\n2,", (2, None, None)),
    ],
)
def test_a_broken_text_says_where(text: str, place: tuple[int, int | None, str | None]) -> None:
    with pytest.raises(ValueError) as caught:
        TOML.loads(text)
    assert broken_place(text, str(caught.value)) == place
