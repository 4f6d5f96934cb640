"""Where `state.db` lies: on a file system of another machine, or on one that hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from k2tui.adapters.state import file as state_file
from k2tui.adapters.state.db import StateDb
from tests.adapters.recorder import one

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(
    ("kind", "mode"), [("ext4", "wal"), ("nfs4", "delete"), ("fuse.sshfs", "delete"), ("lustre", "delete")]
)
async def test_what_several_machines_share_has_no_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, mode: str
) -> None:
    home = tmp_path.resolve()
    store = StateDb(home / "state" / "state.db")
    mounts = home / "mounts"
    mounts.write_text(f"a / ext4 rw 0 0\nb {home} {kind} rw 0 0\nc {home}/state.d nfs rw 0 0\n\nodd\n")
    monkeypatch.setattr(state_file, "MOUNTS", mounts)
    await store.record(one(1))
    assert await store._run(lambda db: db.execute("PRAGMA journal_mode").fetchone()) == (mode,)
    assert await store.recall("gpu-a", "/m") == (one(1),)
    await store.close()


def test_a_file_system_that_hangs_keeps_no_program_from_its_end(tmp_path: Path) -> None:
    program = f"""if True:
        import asyncio, pathlib, threading
        from k2tui.adapters.state.db import StateDb

        async def main():
            store = StateDb(pathlib.Path({str(tmp_path / "state.db")!r}))
            hung = threading.Event()
            def hangs():
                hung.set()
                threading.Event().wait()
            store._opened = hangs
            asking = asyncio.ensure_future(store.recall("a", "b"))
            await asyncio.to_thread(hung.wait)
            closing = asyncio.ensure_future(store.close())
            await asyncio.sleep(0)
            for task in (asking, closing):
                task.cancel()
            await asyncio.gather(asking, closing, return_exceptions=True)
            print("done")

        asyncio.run(main())
    """
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == (b"done\n", b"")
