"""The real SGLang of the journey: installed once into a cache, found again by a hash of what it was made from."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

KIT = Path(__file__).parent / "kit"
VERSION = "0.5.23"
TORCH = "torch==2.13.0"
SGLANG = f"sglang=={VERSION}"
# Where a plain `torch` is a CUDA build, the PyTorch project's own index has the CPU build.
CPU_TORCH = {
    "TORCH_SPEC": f"{TORCH}+cpu",
    "TORCH_PIP_ARGS": "--index-url https://download.pytorch.org/whl/cpu",
}
_NO_NETWORK = ("ConnectionError", "NameResolutionError", "ConnectTimeout", "ReadTimeout", "ProxyError", "resolution")


class NoEngine(Exception):
    """The engine can't be had here; the text is the one line that says why."""


@dataclass(frozen=True)
class Engine:
    """An installed engine with its toy models."""

    directory: Path

    @property
    def python(self) -> Path:
        return self.directory / "venv" / "bin" / "python"

    @property
    def model(self) -> Path:
        """64 shards, scripted answers."""
        return self.directory / "models" / "tiny-qwen3-64shards"

    @property
    def slow(self) -> Path:
        """On PYTHONPATH it makes each shard take SLOW_SHARD_S seconds more."""
        return KIT / "slow"


def find_or_install(say: Callable[[str], None]) -> Engine:
    """The engine, installed now when the cache does not hold this very one. Raises NoEngine."""
    directory = Path(os.environ.get("K2TUI_REAL_DIR") or Path.home() / ".cache" / "k2tui-real")
    stamp = directory / "stamp"
    made_from = stamp.read_text(encoding="ascii").strip() if stamp.is_file() else ""
    for torch in (own_choice(), CPU_TORCH):
        if made_from == fingerprint(torch):
            _set_up(directory, torch)
            return Engine(directory)
    say(f"installing SGLang {VERSION} for the CPU into {directory}: some minutes, once")
    _set_up(directory, own_choice() or ({} if _plain_torch_is_for_the_cpu() else CPU_TORCH))
    return Engine(directory)


def own_choice() -> dict[str, str]:
    """Which torch the caller's environment asks for; empty: none."""
    return {name: os.environ[name] for name in CPU_TORCH if os.environ.get(name)}


def fingerprint(torch: Mapping[str, str]) -> str:
    """The hash that setup.sh writes as its stamp: the kit's content and the versions."""
    standins = sorted(KIT.glob("standins/**/*.py"), key=lambda path: path.relative_to(KIT).as_posix().encode())
    files = [KIT / "setup.sh", KIT / "requirements.txt", KIT / "make_models.py", *standins]
    versions = f"{torch.get('TORCH_SPEC', TORCH)} {SGLANG} {torch.get('TORCH_PIP_ARGS', '')}\n"
    return hashlib.sha256(b"".join(path.read_bytes() for path in files) + versions.encode()).hexdigest()


def _plain_torch_is_for_the_cpu() -> bool:
    """Does the configured index offer the CPU build? An index that does not answer is said at once."""
    name, _, version = TORCH.partition("==")
    ask = [sys.executable, "-m", "pip", "--retries", "1", "index", "versions", name]
    done = subprocess.run(
        [*ask, "--python-version", "3.11", "--only-binary=:all:"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NoEngine(_reason(done.stdout + done.stderr, "pip found no torch"))
    return f"{version}+cpu" in done.stdout


def _set_up(directory: Path, torch: Mapping[str, str]) -> None:
    environment = {**os.environ, **torch, "PIP_RETRIES": "1"}
    log = Path(f"{directory}.log")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        code = subprocess.run(
            [KIT / "setup.sh", directory],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            check=False,
        ).returncode
    if code:
        raise NoEngine(f"{_reason(log.read_text(errors='replace'), 'the engine could not be installed')} ({log})")
    log.unlink()


def _reason(output: str, otherwise: str) -> str:
    if any(word in output for word in _NO_NETWORK):
        return "no network: pip can't reach its package index, and the real engine is not in the cache"
    errors = [line.strip() for line in output.splitlines() if "error" in line.lower()]
    return f"{otherwise}: {errors[0][:160]}" if errors else otherwise
