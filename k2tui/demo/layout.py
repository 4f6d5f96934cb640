"""The demo's directories: a node is a HOME with stand-ins in front of its PATH; models and stand-ins are shared."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import k2tui
from k2tui.demo.engine import knobs
from k2tui.demo.engine.processes import process_start
from k2tui.demo.faults import NodeFault, kernel_log
from k2tui.demo.models import MODELS, write_model
from k2tui.demo.package import write_package
from k2tui.demo.tools import tools

GPU_LINE = "NVIDIA H200|143771|700.00|580.159.04"
_WITHOUT_SMI = "bin-without-smi"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PASSED_ON = ("TZ", "LD_LIBRARY_PATH")
"""Variables of the operator's own environment that a node keeps: the interpreter may need them."""

_PYTHON = """#!/bin/sh
# python3 of a demo node: the interpreter that runs the demo, with the simulated sglang in front.
node=${{0%/bin/*}}
. "$node/demo.env"
PYTHONPATH='{site}:{package}'${{PYTHONPATH:+:$PYTHONPATH}}
export PYTHONPATH
exec '{python}' "$@"
"""
_SGLANG = """#!/usr/bin/env python3
import sys

from k2tui.demo.engine.server import main

if sys.argv[1:2] != ["serve"]:
    sys.exit("usage: sglang serve --model-path MODEL_PATH [options]")
sys.exit(main(sys.argv[2:], as_module=False))
"""


@dataclass(frozen=True)
class NodeKnobs:
    """What the engines of a node are told."""

    pace: float = 1.0
    fault: str | None = None
    traffic: int = 0
    rate: float | None = None


@dataclass(frozen=True)
class Layout:
    """Everything under one root."""

    root: Path
    version: str
    """The SGLang release that the nodes play."""

    @property
    def identity(self) -> Path:
        return self.root / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        return self.root / "known_hosts"

    @property
    def owner_file(self) -> Path:
        return self.root / "owner"

    def node(self, name: str) -> Path:
        """The node's home directory."""
        return self.root / "nodes" / name

    def make(self) -> None:
        """Shared parts: models, stand-ins, the owner's identity."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.owner_file.write_text(owner(), encoding="ascii")
        for model in MODELS:
            write_model(model, self.root / "shared")
        site, programs = self.root / "opt" / "site", self.root / "opt" / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        write_package(site, self.version)
        python = _PYTHON.format(site=site, package=Path(k2tui.__file__).parent.parent, python=sys.executable)
        smi, journal = (
            resources.files("k2tui.demo").joinpath(name).read_text(encoding="ascii")
            for name in ("smi.sh", "journalctl.sh")
        )
        texts = {"python3": python, "python": python, "sglang": _SGLANG, "nvidia-smi": smi, "journalctl": journal}
        for name, text in {**texts, **tools()}.items():
            (programs / name).write_text(text, encoding="utf-8")
            (programs / name).chmod(0o755)
        without = self.root / "opt" / _WITHOUT_SMI
        without.mkdir(exist_ok=True)
        for name in {**texts, **tools()}:
            if name != "nvidia-smi":
                (without / name).unlink(missing_ok=True)
                (without / name).symlink_to(Path("..", "bin", name))

    def make_node(self, name: str, *, gpus: int, told: NodeKnobs) -> None:
        """One node's home."""
        home = self.node(name)
        shutil.rmtree(home, ignore_errors=True)
        (home / "gpus").mkdir(parents=True)
        (home / "tmp").mkdir()
        self._programs(name, "bin")
        (home / "shared").symlink_to(Path("..", "..", "shared"))
        uuids = "".join(f"{gpu_uuid(name, index)}\n" for index in range(gpus))
        (home / "gpus.conf").write_text(f"{GPU_LINE}\n{uuids}", encoding="ascii")
        self.tell(name, told)

    def tell(self, name: str, told: NodeKnobs) -> None:
        """What engines that start from now on are told; a variable of a profile goes first."""
        values = {
            knobs.NODE: str(self.node(name)),
            knobs.OWNER: owner(),
            knobs.SGLANG: self.version,
            knobs.PACE: str(told.pace),
            knobs.FAULT: told.fault or "",
            knobs.TRAFFIC: str(told.traffic),
            knobs.RATE: "" if told.rate is None else str(told.rate),
        }
        lines = "".join(f': "${{{name}={value}}}"\nexport {name}\n' for name, value in values.items())
        path = self.node(name) / "demo.env"
        temporary = path.with_suffix(".new")
        temporary.write_text(lines, encoding="utf-8")
        temporary.replace(path)

    def break_node(self, name: str, fault: NodeFault) -> None:
        """Let this be wrong with the node from now on, beside what is wrong already."""
        home, where = self.node(name), fault.where or ""
        files = {
            "smi.fault": fault.smi,
            "kernel.log": kernel_log(fault, node=name) or None,
            "kernel.denied": "" if fault.kind == "kernel_denied" else None,
            "clock.skew": where if fault.kind == "clock_skew" else None,
            "df.fault": where if fault.kind == "disk_full" else None,
            "rc.noise": where if fault.kind == "rc_noise" else None,
        }
        for file, text in files.items():
            if text is not None:
                temporary = home / f"{file}.new"
                temporary.write_text(f"{text}\n", encoding="ascii")
                temporary.replace(home / file)
        if fault.kind == "no_smi":
            self._programs(name, _WITHOUT_SMI)

    def mend_node(self, name: str) -> None:
        """Nothing is wrong with it any more; its kernel's log keeps what it had to say."""
        for file in ("smi.fault", "kernel.denied", "clock.skew", "df.fault", "rc.noise"):
            (self.node(name) / file).unlink(missing_ok=True)
        self._programs(name, "bin")

    def _programs(self, name: str, directory: str) -> None:
        link = self.node(name) / "bin"
        temporary = link.with_suffix(".new")
        temporary.symlink_to(Path("..", "..", "opt", directory))
        temporary.replace(link)

    def login_shell(self, fault: NodeFault | None, name: str) -> str:
        """What runs the commands that come to a node."""
        stand_in = {"rc_noise": "noisy-sh", "fish": "fish", "tcsh": "tcsh"}.get(fault.kind if fault else "")
        return "/bin/sh" if stand_in is None else str(self.node(name) / "bin" / stand_in)

    def environment(self, name: str) -> Mapping[str, str]:
        """What a command on the node sees."""
        home = self.node(name)
        kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return {
            **kept,
            "HOME": str(home),
            "PATH": f"{home}/bin:{_SYSTEM_PATH}",
            "TMPDIR": str(home / "tmp"),
            "USER": name,
            "LOGNAME": name,
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "K2TUI_ONLY": f"{knobs.NODE}={home}",  # of this machine's processes only the node's own are found
        }


def gpu_uuid(node: str, index: int) -> str:
    """A GPU's identity, another one on each node."""
    number = int.from_bytes(node.encode(), "big") % 16**8
    return f"GPU-{number:08x}-1111-2222-3333-{index:012d}"


def owner() -> str:
    """This process, so that it can't be mistaken for a later one: `pid:start_ticks`."""
    pid = os.getpid()
    return f"{pid}:{process_start(pid)}"
