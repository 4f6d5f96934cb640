from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from k2tui.adapters.audit_file import AuditFile
from k2tui.core.errors import K2Error
from k2tui.services.doors import Audit

USER = "ana@jump"


def note(audit: Audit, detail: str = "+ --tp-size 8", result: str = "done") -> None:
    audit.write(node="gpu-a", action="restart", subject="kimi", detail=detail, result=result)


def entries(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_change_is_one_line_with_who_and_when(tmp_path: Path) -> None:
    path = tmp_path / "state" / "audit.jsonl"
    audit = AuditFile(path, user="ana@jump", clock=lambda: 1_700_000_000.0)
    note(audit, result="began")
    note(audit)
    assert entries(path)[1] == {
        "time": "2023-11-14T22:13:20Z",
        "user": "ana@jump",
        "node": "gpu-a",
        "action": "restart",
        "subject": "kimi",
        "diff": "+ --tp-size 8",
        "result": "done",
    }
    assert [entry["result"] for entry in entries(path)] == ["began", "done"]


def test_the_user_is_the_one_who_runs_it(tmp_path: Path) -> None:
    note(AuditFile(tmp_path / "a", user=USER))
    assert "@" in entries(tmp_path / "a")[0]["user"]


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.touch(mode=0o644)
    note(AuditFile(path, user=USER))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_secrets_are_masked_by_name_and_shape(tmp_path: Path) -> None:
    audit = AuditFile(tmp_path / "a", user=USER)
    note(audit, detail="+ HF_TOKEN=hunter1", result="failed: hf_ABCDEF1234567")
    assert "hunter" not in (tmp_path / "a").read_text()
    assert "hf_" not in (tmp_path / "a").read_text()


def test_a_line_break_stays_in_its_line(tmp_path: Path) -> None:
    note(AuditFile(tmp_path / "a", user=USER), detail="a\nb\x1b[31m\udcff")
    assert len((tmp_path / "a").read_bytes().splitlines()) == 1


def test_many_writers_lose_no_line(tmp_path: Path) -> None:
    def write(number: int) -> None:
        audit = AuditFile(tmp_path / "a", user=USER)
        for _ in range(20):
            note(audit, detail=str(number) * 500)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(entries(tmp_path / "a")) == 160


def refused(path: Path) -> K2Error:
    with pytest.raises(K2Error) as caught:
        note(AuditFile(path, user=USER))
    assert caught.value.code == "audit"
    return caught.value


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").touch()
    (tmp_path / "a").symlink_to(tmp_path / "real")
    assert "symbolic link" in refused(tmp_path / "a").message
    assert (tmp_path / "real").read_text() == ""


def test_a_pipe_is_refused_and_waited_for_by_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    refused(tmp_path / "a")


def test_a_directory_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert "Is a directory" in refused(tmp_path / "a").message


def test_a_place_that_can_not_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused(tmp_path / "file" / "a")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        with open("/dev/full", "wb", buffering=0) as device:
            return device.write(data)

    monkeypatch.setattr(os, "write", full)
    assert "No space left on device" in refused(tmp_path / "a").message
