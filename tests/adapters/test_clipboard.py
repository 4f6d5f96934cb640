"""Text leaves by tmux first, then by the terminal, and it is said when by neither."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import pytest

from k2tui.adapters.clipboard import OSC52_LIMIT, Clipboard
from k2tui.core.errors import K2Error

TMUX_THAT_TAKES = '#!/bin/sh\n[ "$1 $2 $3" = "load-buffer -w -" ] || exit 9\ncat > "$TAKEN"\n'
TMUX_THAT_REFUSES = "#!/bin/sh\ncat > /dev/null\necho 'no server running' >&2\nexit 1\n"


def with_tmux(folder: Path, script: str, term: str = "xterm-256color") -> dict[str, str]:
    program = folder / "tmux"
    program.write_text(script)
    program.chmod(0o755)
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "TMUX": "/tmp/t,1,0",
        "TERM": term,
        "TAKEN": str(folder / "taken"),
    }


@pytest.fixture(autouse=True)
def tmux_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is looked for along the path of this process."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


async def test_tmux_takes_it_first(tmp_path: Path) -> None:
    written: list[str] = []
    worked, how = await Clipboard(with_tmux(tmp_path, TMUX_THAT_TAKES)).copy("größe 1", written.append)
    assert worked
    assert "tmux" in how
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "größe 1"
    assert written == []


async def test_the_terminal_takes_it_when_there_is_no_tmux() -> None:
    written: list[str] = []
    worked, how = await Clipboard({"TERM": "xterm-256color"}).copy("hello", written.append)
    assert worked
    assert "OSC 52" in how
    assert written == [f"\x1b]52;c;{base64.b64encode(b'hello').decode()}\x07"]


async def test_the_terminal_takes_it_when_tmux_refuses_and_why_is_said(tmp_path: Path) -> None:
    written: list[str] = []
    worked, how = await Clipboard(with_tmux(tmp_path, TMUX_THAT_REFUSES)).copy("hello", written.append)
    assert worked
    assert len(written) == 1
    assert "no server running" in how


async def test_neither_is_said(tmp_path: Path) -> None:
    written: list[str] = []
    worked, how = await Clipboard(with_tmux(tmp_path, TMUX_THAT_REFUSES, term="linux")).copy("hello", written.append)
    assert not worked
    assert written == []
    assert "TERM=linux" in how


async def test_more_than_a_terminal_takes_is_not_sent() -> None:
    written: list[str] = []
    worked, how = await Clipboard({"TERM": "xterm"}).copy("x" * OSC52_LIMIT, written.append)
    assert not worked
    assert "too many" in how
    assert written == []


async def test_a_saved_file_is_private_and_never_replaces_another(tmp_path: Path) -> None:
    clipboard = Clipboard({}, directory=tmp_path)
    first, second = await clipboard.save("kimi.log", "one\n"), await clipboard.save("kimi.log", "two\n")
    assert (first, second) == (str(tmp_path / "kimi.log"), str(tmp_path / "kimi-2.log"))
    assert Path(first).read_text() == "one\n"
    assert stat.S_IMODE(os.stat(first).st_mode) == 0o600


async def test_a_file_goes_home_when_the_directory_takes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = await Clipboard({}, directory=tmp_path / "missing").save("kimi.log", "one\n")
    assert path == str(tmp_path / "kimi.log")


async def test_no_place_for_a_file_is_an_error_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    with pytest.raises(K2Error, match="was not saved"):
        await Clipboard({}, directory=tmp_path / "missing").save("kimi.log", "one\n")
