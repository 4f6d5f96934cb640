"""`k2tui diagnose` as an operator runs it: on a file, on a pipe, on a log that is being written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from k2tui.cli import main
from k2tui.commands import diagnose
from tests.core.logs import real

LOADING = (
    "[{now}] server_args=ServerArgs(model_path='/m', tp_size=1, port=30000)\n"
    "[{now}] Load weight begin. avail mem=80 GB\n"
)
BAR = "\rMulti-thread loading shards:  50% Completed | 2/4 [00:02<00:02,  1.00it/s]"
FAILED = "\n[2026-11-29 10:00:09] Scheduler hit an exception: Traceback (most recent call last):\n"
REASON = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n\n"
END = "[2026-11-29 10:00:10] Received sigquit from a child process. It usually means the child failed.\n"


def follow(path: str, *more: str, stdin: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "k2tui", "diagnose", "-f", path, *more]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text(LOADING.format(now=time.strftime("%Y-%m-%d %H:%M:%S")), encoding="utf-8")
    return path


@pytest.fixture
def follower(log: Path) -> Iterator[subprocess.Popen[str]]:
    process = follow(str(log))
    yield process
    process.kill()
    process.communicate()


def append(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as out:
        out.write(text)


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_log_that_is_written_is_told_step_by_step_and_ends_with_the_three_lines(
    follower: subprocess.Popen[str], log: Path
) -> None:
    assert next_line(follower).startswith("LOADING in weights")
    append(log, BAR + FAILED + REASON + END)
    output, problems = follower.communicate()
    verdict, line, action, *_ = output.splitlines()
    assert verdict == "CRASHED in weights: GPU memory ran out while the weights were loaded (sglang)"
    assert "Tried to allocate 2.00 GiB" in line
    assert action.startswith("  → ")
    assert (follower.returncode, problems) == (1, "")


def test_a_log_that_was_replaced_is_begun_anew(follower: subprocess.Popen[str], log: Path, tmp_path: Path) -> None:
    assert next_line(follower).startswith("LOADING in weights")
    new = tmp_path / "new.log"
    new.write_bytes(real("sglang0523-unknown-flag"))
    new.replace(log)
    output, _ = follower.communicate()
    assert output.startswith("MISCONFIGURED in arguments")


def test_a_log_that_was_cut_is_begun_anew(follower: subprocess.Popen[str], log: Path) -> None:
    assert next_line(follower).startswith("LOADING in weights")
    log.write_text("usage: x\nlaunch_server.py: error: unrecognized arguments: --x\n", encoding="utf-8")
    output, _ = follower.communicate()
    assert output.startswith("MISCONFIGURED in arguments")


def test_a_pipe_is_read_as_it_comes() -> None:
    process = follow("-", "--json", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(LOADING + BAR)
    process.stdin.flush()
    while (document := json.loads(next_line(process)))["progress"] is None:
        pass
    assert document["progress"]["done"] == 2
    output, _ = process.communicate(FAILED + REASON + END)
    assert json.loads(output.splitlines()[-1])["kind"] == "crashed"


def test_a_silent_log_that_is_followed_is_judged_by_this_machines_clock(log: Path) -> None:
    ten_minutes_ago = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - 600))
    log.write_text(LOADING.format(now=ten_minutes_ago), encoding="utf-8")
    process = follow(str(log))
    assert next_line(process).startswith("LOADING, stalled, in weights")
    process.kill()
    process.communicate()


def test_a_log_that_ended_in_mid_load_long_ago_says_so(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    an_hour_ago = time.time() - 3600
    os.utime(log, (an_hour_ago, an_hour_ago))
    assert main(["diagnose", str(log)]) == 0
    assert "nothing was written for 1h00m: look whether its process is still there" in capsys.readouterr().out


def test_a_log_that_was_written_just_now_says_nothing_of_the_kind(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(log)]) == 0
    assert "→ wait" in capsys.readouterr().out


def test_stamps_without_a_year_are_of_this_year_in_a_log_that_is_followed(log: Path) -> None:
    log.write_text(f"INFO {time.strftime('%m-%d %H:%M:%S')} [core.py:1] hello\n", encoding="utf-8")
    intake, now = next(diagnose._growing(str(log)))
    assert now is not None
    assert intake.last_stamp == pytest.approx(now, abs=120.0)
