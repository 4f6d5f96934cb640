"""What remote/probe.sh says, line by line, as a NodeReading."""

from __future__ import annotations

import re
from dataclasses import dataclass

from k2tui.core.probing.gpus import MOST_WORDS, GpuTable, number, read_processes
from k2tui.core.probing.host import HostTable
from k2tui.core.probing.kernel_log import KernelLog
from k2tui.core.readings import GpuProcess, NodeReading

PROTOCOL = "k2p1"
NO_NVIDIA_SMI = "no nvidia-smi"
LEAST_GPU_SILENCE_S = 10.0
GPU_SILENCE_INTERVALS = 3
"""nvidia-smi is said to hang when it prints nothing for so long."""
NO_ANSWER = "nvidia-smi does not answer: the driver may hang; look for XIDs and for processes in state D"
MOST_ANSWER_LINES = 600

_PAIR = re.compile(r"(\w+)=(\S*)")
_NOW = re.compile(r"(\d{9,11})(?:\.(\d{1,9}))?")
_ZONE = re.compile(r"([+-])(\d\d)(\d\d)")
_TIME_OUT_CODES = ("124", "137", "-")


@dataclass(frozen=True, slots=True)
class _Clock:
    """The node's clock at one moment of its uptime."""

    up_s: float
    unix_s: float
    east_s: float

    @property
    def local_s(self) -> float:
        """Naive local seconds: as its log lines would be stamped."""
        return self.unix_s + self.east_s


class ProbeReader:
    """Keeps the newest of everything. A line that it does not know changes nothing and never raises."""

    def __init__(self, interval_s: float = 2.0) -> None:
        self.interval_s = interval_s
        """How often the probe was asked to speak."""
        self.greeted = False
        """The hello line came, in a protocol that this reader speaks."""
        self.fields_driver = ""
        """The driver that knows the columns of the gpu lines, in the probe's words."""
        self.pong: str | None = None
        """The word of the newest pong."""
        self.kernel = KernelLog()
        self.gpus_answer = False
        """Rows come from nvidia-smi now, so it may be asked something else."""
        self._gpus = GpuTable()
        self._host = HostTable()
        self._boot_id: str | None = None
        self._node_kernel: str | None = None
        self._driver: str | None = None
        self._clock: _Clock | None = None
        self._offset_s: float | None = None
        self._up_s: float | None = None
        self._gpus_at: float | None = None
        self._gpus_up_s: float | None = None
        self._row_interval_s = interval_s
        self._none: str | None = None
        self._trouble: str | None = None
        self._processes: tuple[GpuProcess, ...] = ()
        self._processes_at: float | None = None
        self._xids_at: float | None = None
        self._host_at: float | None = None
        self._answers: dict[str, list[str]] = {}
        self._reading: NodeReading | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """The columns of the gpu lines."""
        return self._gpus.columns

    @property
    def has_driver(self) -> bool:
        """The node has NVIDIA GPUs, or had; what the kernel says of them is worth knowing."""
        return self.greeted and self._none != NO_NVIDIA_SMI and (bool(self._gpus.columns) or self._driver is not None)

    @property
    def node_now(self) -> float | None:
        """Unix time by the node's clock, at its newest tick."""
        if self._clock is None or self._up_s is None:
            return None
        return self._clock.unix_s + self._up_s - self._clock.up_s

    @property
    def reading(self) -> NodeReading:
        """The newest of everything."""
        if self._reading is None:
            self._reading = NodeReading(
                boot_id=self._boot_id,
                kernel=self._node_kernel,
                driver=self._gpus.driver or self._driver,
                gpus=() if self._none is not None else self._gpus.gpus,
                gpus_at=self._gpus_at,
                no_gpus_because=self._none or (None if self._gpus.gpus else self._gpus.words),
                gpus_trouble=self._trouble,
                gpu_processes=self._processes,
                gpu_processes_at=self._processes_at,
                xids=self.kernel.xids,
                xids_unknown_because=self.kernel.unknown_because,
                xids_at=self._xids_at,
                host=self._host.reading,
                host_at=self._host_at,
                clock_offset_s=self._offset_s,
            )
        return self._reading

    def feed(self, line: str, at: float, wall: float | None = None) -> bool:
        """Take in `line`, which came at `at` (time.monotonic) or `wall` (time.time) of this machine.

        False when it told nothing by itself: the reading is as it was.
        """
        tag, _, words = line.rstrip("\r\n").partition(" ")
        match tag:
            case "gpu":
                self._gpu(words, at)
            case "tick":
                self._tick(words, at, wall)
            case "df":
                self._host.df(words, self._up_s)
            case "app" | "kernel":
                lines = self._answers.setdefault(tag, [])
                if len(lines) < MOST_ANSWER_LINES:
                    lines.append(words)
                return False
            case "began":
                self._answers[words] = []
                return False
            case "ended":
                self._answered(*words.partition(" ")[::2], at)
            case "hello" if words.startswith(PROTOCOL):
                self._hello(words, wall)
            case "clock":
                self._set_clock(words, wall)
            case "fields":
                driver, _, columns = words.partition(" ")
                self.fields_driver = driver
                self._gpus.name_columns(filter(None, columns.split(",")))
                self._none = None
            case "none":
                self._none = words[:MOST_WORDS] or NO_NVIDIA_SMI
            case "pong":
                self.pong = words
            case _:
                return False
        self._reading = None
        return True

    def _hello(self, words: str, wall: float | None) -> None:
        pairs = dict(_PAIR.findall(words))
        before, self._boot_id = self._boot_id, pairs.get("boot") or None
        self._node_kernel = words.partition("kernel=")[2] or None
        self._driver = pairs.get("driver") or None
        self.greeted, self.gpus_answer = True, False
        self._gpus.begin()
        self._host.begin()
        self._answers = {}
        self.kernel.begin(rebooted=before is not None and before != self._boot_id)
        self._set_clock(words, wall)
        self._up_s = self._gpus_up_s = number(pairs.get("up"))
        self._trouble = None

    def _set_clock(self, words: str, wall: float | None) -> None:
        pairs = dict(_PAIR.findall(words))
        up_s, now, zone = number(pairs.get("up")), _NOW.match(pairs.get("now", "")), _ZONE.match(pairs.get("tz", ""))
        if up_s is None or now is None or zone is None:
            return
        fraction = float(f"0.{now[2]}") if now[2] else 0.5  # a date without %N gives whole seconds, cut off
        east_s = (int(zone[2]) * 3600 + int(zone[3]) * 60) * (1 if zone[1] == "+" else -1)
        self._clock = _Clock(up_s, int(now[1]) + fraction, east_s)
        if wall is not None:
            self._offset_s = self._clock.local_s - wall

    def _tick(self, words: str, at: float, wall: float | None) -> None:
        pairs = dict(_PAIR.findall(words))
        up_s = number(pairs.get("up"))
        self._host.tick(pairs, up_s)
        self._host_at, self._up_s = at, up_s
        self._judge_gpus(up_s)
        if self._clock is not None and up_s is not None and wall is not None and self._offset_s is not None:
            # Every line comes a little late, so each estimate is a little too low: the highest is the best.
            self._offset_s = max(self._offset_s, self._clock.local_s + (up_s - self._clock.up_s) - wall)

    def _judge_gpus(self, up_s: float | None) -> None:
        """Whether nvidia-smi still speaks, by the node's own clock: a link that stood still is not its fault."""
        if up_s is None or self._none is not None or not self.greeted:
            return
        if self._gpus_up_s is None or up_s < self._gpus_up_s:
            self._gpus_up_s = up_s
        quiet_s = up_s - self._gpus_up_s
        interval_s = max(self.interval_s, self._row_interval_s)
        if self._gpus.words is not None and self._gpus.gpus and quiet_s > 1.5 * interval_s:
            self._trouble, self.gpus_answer = f"nvidia-smi says: {self._gpus.words}", False
        elif self._gpus.words is None and quiet_s > max(GPU_SILENCE_INTERVALS * interval_s, LEAST_GPU_SILENCE_S):
            self._trouble, self.gpus_answer = NO_ANSWER, False

    def _gpu(self, words: str, at: float) -> None:
        if self._gpus.read(words):
            self._gpus_at, self._gpus_up_s = at, self._up_s
            self._row_interval_s = self.interval_s
            self._none = self._trouble = None
            self.gpus_answer = True

    def _answered(self, tag: str, code: str, at: float) -> None:
        """A program that was asked something has ended."""
        lines = self._answers.pop(tag, [])
        if tag == "kernel":
            boot_at = None if self.node_now is None or self._up_s is None else self.node_now - self._up_s
            self.kernel.answered(lines, code, boot_at)
            if self.kernel.is_settled:
                self._xids_at = at
        elif tag == "app" and code == "0":
            self._processes, self._processes_at = read_processes(lines), at
        elif tag == "app" and code not in _TIME_OUT_CODES:  # the driver can't say; a question that hung says nothing
            self._processes, self._processes_at = (), None
