"""The operator's command, run for real."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from k2tui.adapters.alert_command import AlertCommand
from k2tui.core.errors import K2Error
from tests.waiting import until

TOLD = '{"type": "alert", "text": "gpu-a: 91 °C"}'


def python(code: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code, *words)


async def test_it_gets_its_words_as_they_are_and_the_alert_as_json_twice(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    told = "sys.argv[2:], os.environ['K2TUI_ALERT_JSON'], sys.stdin.read()"
    code = f"import os, sys; open(sys.argv[1], 'w').write(repr(({told})))"
    await AlertCommand().run(python(code, str(seen), "$HOME; rm -rf {text}", "two words"), TOLD)
    assert seen.read_text() == repr((["$HOME; rm -rf {text}", "two words"], TOLD, TOLD))


async def test_it_keeps_the_environment_of_k2tui(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    code = "import os, sys; open(sys.argv[1], 'w').write(os.environ['DISPLAY'])"
    await AlertCommand({**os.environ, "DISPLAY": ":7"}).run(python(code, str(seen)), TOLD)
    assert seen.read_text() == ":7"


async def test_one_that_reads_nothing_and_prints_much_is_no_trouble() -> None:
    await AlertCommand().run(python("import sys; sys.stdin.close(); print('x' * 10**6)"), "y" * 100_000)


async def test_one_that_floods_its_errors_is_read_to_its_end() -> None:
    with pytest.raises(K2Error) as caught:
        await AlertCommand().run(python("import sys; sys.stderr.write('no bus\\n' * 10**5); sys.exit(3)"), TOLD)
    assert "failed (exit 3): no bus no bus" in caught.value.message
    assert len(caught.value.message) < 700


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("/no/such/program",), "the command for alerts, /no/such/program, can't be run: No such file or directory"),
        (("sh\0",), "can't be run: embedded null byte"),
        (python("import sys; sys.exit(1)"), "failed (exit 1)"),
        (python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"), "failed (exit -15)"),
    ],
)
async def test_what_went_wrong_is_a_sentence_with_a_way_out(argv: tuple[str, ...], says: str) -> None:
    with pytest.raises(K2Error) as caught:
        await AlertCommand().run(argv, TOLD)
    assert says in caught.value.message
    assert caught.value.hint == "see command under [alerts] in the config"


async def test_what_it_prints_can_not_steer_the_terminal() -> None:
    with pytest.raises(K2Error) as caught:
        await AlertCommand().run(python("import sys; sys.stderr.write('\\x1b[31mred\\x07'); sys.exit(1)"), TOLD)
    assert caught.value.message.endswith(": red")


LINGERS = ("sh", "-c", 'sleep 1000 & echo $! >"$0"; wait')


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_one_that_takes_too_long_is_killed_with_what_it_started(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    with pytest.raises(K2Error) as caught:
        await AlertCommand(limit_s=5.0).run((*LINGERS, str(told)), TOLD)
    assert "was killed: it took longer than 5 s" in caught.value.message
    child = int(told.read_text())
    await until(lambda: not is_alive(child), "the end of what the command started")


async def test_nothing_of_it_is_left_when_k2tui_ends(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    running = asyncio.ensure_future(AlertCommand(limit_s=1000.0).run((*LINGERS, str(told)), TOLD))
    await until(lambda: told.exists() and told.read_text().endswith("\n"), "the command's child")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    child = int(told.read_text())
    await until(lambda: not is_alive(child), "the end of what the command started")
