"""What make calls says what is wrong in one line, and finds again what it has installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.real import engine

ROOT = Path(__file__).parent.parent
NO_INDEX = """\
WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('<HTTPSConnection>: \
Failed to establish a new connection: [Errno 111] Connection refused')': /simple/hatchling/
ERROR: Could not find a version that satisfies the requirement hatchling (from versions: none)
"""
NO_VERSION = "ERROR: Could not find a version that satisfies the requirement nosuch==9 (from versions: none)\n"


def said_of(log: Path) -> str:
    return subprocess.run([ROOT / "scripts" / "pip-failure.sh", log], capture_output=True, text=True, check=True).stdout


def test_a_dead_index_is_said_in_one_line(tmp_path: Path) -> None:
    log = tmp_path / "pip.log"
    log.write_text(NO_INDEX)
    assert said_of(log) == f"k2tui: no network: pip can't reach its package index (all of it: {log})\n"


def test_another_failure_of_pip_is_said_in_its_own_words(tmp_path: Path) -> None:
    log = tmp_path / "pip.log"
    log.write_text(NO_VERSION)
    assert said_of(log).startswith("k2tui: pip failed: ERROR: Could not find a version")
    assert said_of(log).count("\n") == 1


def test_a_python_is_found_that_can_make_environments() -> None:
    found = subprocess.run([ROOT / "scripts" / "python.sh"], capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run([found, "-c", "import ensurepip, sys, venv; assert sys.version_info >= (3, 10)"], check=True)


def test_a_python_that_is_not_there_is_not_found() -> None:
    assert subprocess.run([ROOT / "scripts" / "python.sh", "3.99"], capture_output=True, check=False).returncode == 1


def test_a_command_that_is_there_is_not_installed() -> None:
    done = subprocess.run([ROOT / "scripts" / "need.sh", "sh:no-such-package"], capture_output=True, check=True)
    assert done.stderr == b""


@pytest.mark.parametrize("torch", [{}, engine.CPU_TORCH], ids=["plain", "cpu index"])
def test_an_engine_that_was_installed_is_found_again(torch: dict[str, str], tmp_path: Path) -> None:
    for name in ("venv/bin/python", "models/tiny-qwen3-64shards/config.json"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch(mode=0o755)
    (tmp_path / "stamp").write_text(engine.fingerprint(torch))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("K2TUI_REAL_DIR", str(tmp_path))
        for name in engine.CPU_TORCH:
            patch.delenv(name, raising=False)
        installing: list[str] = []
        assert engine.find_or_install(installing.append) == engine.Engine(tmp_path)
    assert not installing
