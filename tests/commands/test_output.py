"""How plain commands speak."""

from __future__ import annotations

import io
import json
import os

import pytest

from k2tui.commands.output import Output
from k2tui.core.errors import ConfigErrors, ExitCode, K2Error

LOST = K2Error("gpu-a: connection refused", code="refused", subject="gpu-a", hint="is sshd up?", exit_code=ExitCode(4))


def speak(*, as_json: bool) -> tuple[Output, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Output(as_json=as_json, out=out, err=err), out, err


def test_what_watches_ends_when_its_reader_is_gone() -> None:
    """A pipe that nobody reads: it has nothing to write for hours, and must not stay behind all the same."""
    reads, writes = os.pipe()
    with os.fdopen(writes, "w") as out:
        output = Output(as_json=False, out=out)
        output.want_reader()
        os.close(reads)
        with pytest.raises(BrokenPipeError):
            output.want_reader()
    Output(as_json=False, out=io.StringIO()).want_reader()


def test_an_error_for_people_goes_to_standard_error_with_its_way_out() -> None:
    output, out, err = speak(as_json=False)
    assert output.error(LOST) == 4
    assert (out.getvalue(), err.getvalue()) == ("", "k2tui: gpu-a: connection refused; is sshd up?\n")


def test_an_error_for_programs_is_a_document_on_standard_output() -> None:
    output, out, err = speak(as_json=True)
    assert output.error(LOST) == 4
    assert err.getvalue() == ""
    assert json.loads(out.getvalue()) == {
        "type": "error",
        "code": "refused",
        "message": "gpu-a: connection refused",
        "subject": "gpu-a",
        "hint": "is sshd up?",
    }


def test_each_config_error_is_a_line() -> None:
    output, _, err = speak(as_json=False)
    assert output.error(ConfigErrors(("a.toml, line 1, x: found 1", "a.toml, line 2, y: found 2"))) == 2
    assert err.getvalue().splitlines() == ["a.toml, line 1, x: found 1", "a.toml, line 2, y: found 2"]


def test_no_escape_of_a_node_reaches_the_terminal() -> None:
    output, out, _ = speak(as_json=False)
    output.line("\x1b[31mred\x1b]0;title\x07 \x9b2J")
    assert "\x1b" not in out.getvalue()
    assert "\x9b" not in out.getvalue()
    assert out.getvalue().startswith("red")


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    output, out, _ = speak(as_json=False)
    output.table(("NODE", "STATE"), [("gpu-a", "ready"), ("b", "down")])
    assert out.getvalue() == "NODE   STATE\ngpu-a  ready\nb      down\n"


def test_a_live_line_is_for_terminals_only() -> None:
    output, out, _ = speak(as_json=False)
    output.live("50%")
    assert out.getvalue() == ""


def test_programs_are_told_no_secret_either() -> None:
    output, out, _ = speak(as_json=True)
    output.json({"type": "line", "text": "server_args: api_key='topsecret99'", "more": [{"a": "hf_ABCDEFGHIJKLMNOP"}]})
    assert "topsecret99" not in out.getvalue()
    assert "hf_ABC" not in out.getvalue()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_the_terminal_cannot_write_ends_nothing(encoding: str) -> None:
    raw = io.BytesIO()
    output = Output(as_json=False, out=io.TextIOWrapper(raw, encoding=encoding))
    output.line("— \udcff")
    output.table(("NODE",), [("—",)])
    assert raw.getvalue().endswith("NODE\n—\n".encode(encoding, "backslashreplace"))


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_json_is_json_in_every_encoding(encoding: str) -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding)
    Output(as_json=True, out=out).json({"text": "— é 😀 \udcff"})
    assert json.loads(raw.getvalue()) == {"text": "— é 😀 \udcff"}
