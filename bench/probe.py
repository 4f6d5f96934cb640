"""What the probe costs a node: the CPU of its shells and of all they start, beyond nvidia-smi."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure
from bench.processes import TICKS_PER_S
from k2tui.adapters.scripts import script

LIMIT_PERCENT = 0.3
INTERVAL_S = 2
GPUS = 8
SECONDS = 60.0
APPS_EVERY_S, KERNEL_EVERY_S = 10, 30
"""As often as a node is asked whose details are on screen."""
SHELLS = ("bash", "dash")

_FIELDS = (
    "index,uuid,name,utilization.gpu,memory.used,memory.total,power.draw,power.limit,temperature.gpu,clocks.sm,"
    "clocks_event_reasons.active,driver_version,temperature.memory,clocks.mem,clocks.max.sm,pstate,fan.speed,"
    "pcie.link.gen.gpucurrent,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max,pci.bus_id,"
    "ecc.errors.uncorrected.volatile.total,remapped_rows.pending,mig.mode.current,persistence_mode,gpu_recovery_action"
)
_ROW = (
    "GPU-00000000-1111-2222-3333-444444444444, NVIDIA H200, 98, 139120, 143771, 652.18, 700.00, 66, 1980, "
    "0x0000000000000000, 580.159.04, 71, 3201, 1980, P0, [N/A], 5, 5, 16, 16, 00000000:19:00.0, 0, No, Disabled, "
    "Enabled, None"
)
_SMI = f"""#!/bin/sh
case $1 in --query-compute-apps*)
  for index in 0 1 2 3 4 5 6 7; do echo "GPU-00000000-1111-2222-3333-444444444444, 1533, 29536, sglang::scheduler"; done
  exit ;;
esac
rows=
for index in {" ".join(map(str, range(GPUS)))}; do rows="$rows$index, {_ROW}
"; done
while :; do printf %s "$rows"; sleep {INTERVAL_S}; done
"""
"""A stand-in nvidia-smi with rows as long as the real ones."""


def figures() -> Iterator[Figure]:
    """With bash, which waits without a process, and with a plain sh."""
    shells = [shell for shell in SHELLS if shutil.which(shell)]
    with tempfile.TemporaryDirectory() as folder:
        stand_in = Path(folder, "nvidia-smi")
        stand_in.write_text(_SMI, encoding="ascii")
        stand_in.chmod(0o755)
        probes = [_Probe(shell, folder) for shell in shells]
        try:
            _look_on(probes)
            for probe in probes:
                yield Figure(
                    f"the probe on the node at {INTERVAL_S} s with {probe.shell}, {GPUS} GPUs",
                    probe.percent(),
                    "%",
                    LIMIT_PERCENT,
                    note="of one core, beyond nvidia-smi",
                )
        finally:
            for probe in probes:
                probe.close()


class _Probe:
    """The script as a node runs it, in a session of its own."""

    def __init__(self, shell: str, path: str) -> None:
        self.shell = shell
        text = f"set -- {INTERVAL_S} '' {_FIELDS} / /dev/shm\n{script('probe').text}"
        self._process = subprocess.Popen(
            [shell, "-c", text],
            env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._output = self._process.stdout
        while not self._output.readline().startswith(b"tick"):
            pass
        os.set_blocking(self._output.fileno(), False)
        self._began_at, self._began_s = time.monotonic(), self._cpu_s()

    def say(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n".encode("ascii"))
        self._process.stdin.flush()

    def drain(self) -> None:
        """Read what it has printed, as a client does."""
        while self._output.read(1 << 16):
            pass

    def percent(self) -> float:
        """Of one core, since the first tick."""
        return 100 * (self._cpu_s() - self._began_s) / (time.monotonic() - self._began_at)

    def _cpu_s(self) -> float:
        """Of every process of its session that is no nvidia-smi, with the children that ended."""
        ticks = 0
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                head, _, tail = (entry / "stat").read_text("utf-8", "replace").rpartition(") ")
            except OSError:
                continue
            fields = tail.split()
            if int(fields[3]) == self._process.pid and not head.endswith("(nvidia-smi"):
                ticks += sum(map(int, fields[11:15]))
        return ticks / TICKS_PER_S

    def close(self) -> None:
        """Close its stdin, which ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        os.set_blocking(self._output.fileno(), True)
        self._output.read()
        self._process.wait()


def _look_on(probes: list[_Probe]) -> None:
    """Read and ask, as one who looks at these nodes."""
    for second in range(int(SECONDS)):
        time.sleep(1.0)
        for probe in probes:
            probe.drain()
            if second % APPS_EVERY_S == 5:
                probe.say("ask processes")
            if second % KERNEL_EVERY_S == 0:
                probe.say(f"ask kernel journal {int(time.time()) - KERNEL_EVERY_S}")
