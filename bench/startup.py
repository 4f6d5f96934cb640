"""What it costs to begin: plain commands, and the first frame of the app."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure
from bench.processes import InTerminal, cpu_s, environment, k2tui

PLAIN_LIMIT_S = 0.15
FIRST_PAINT_LIMIT_S = 0.8
HEAVY = ("textual", "asyncssh", "httpx", "asyncio")
CONFIG = """
[nodes.first-paint]
host = "first-paint"
transport = "local"
"""


def figures() -> Iterator[Figure]:
    """Plain commands, their imports, the first paint."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        env = environment(home)
        bare = cpu_s([sys.executable, "-c", "pass"], env)
        yield Figure("python -c pass, to compare with", bare, "CPU-s")
        yield Figure("k2tui --version", cpu_s(k2tui("--version"), env), "CPU-s", PLAIN_LIMIT_S)
        yield Figure("k2tui config path", cpu_s(k2tui("config", "path"), env), "CPU-s", PLAIN_LIMIT_S)
        loaded = _loaded_by_version(env)
        yield Figure("heavy libraries loaded by --version", len(loaded), "", 0, note=", ".join(loaded))
        yield Figure("first paint of the app", min(_first_paint(home) for _ in range(3)), "CPU-s", FIRST_PAINT_LIMIT_S)


def _loaded_by_version(env: dict[str, str]) -> list[str]:
    program = (
        "import sys, k2tui.cli\ntry:\n    k2tui.cli.main(['--version'])\nexcept SystemExit:\n    pass\n"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def _first_paint(home: Path) -> float:
    """CPU until the frame with the node's name stands in the terminal."""
    config = home / "config.toml"
    config.write_text(CONFIG, encoding="utf-8")
    with InTerminal(k2tui("--config", str(config)), environment(home)) as app:
        app.wait_for(rb"first-paint")
        return app.cpu_s()
