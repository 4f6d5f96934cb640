"""Are the GPUs of a launch there, whole and free: what was read of them, against what the command takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from k2tui.core.checkpoint import Checkpoint
from k2tui.core.flag_combinations import Asked
from k2tui.core.found import NodeProcess
from k2tui.core.gpu_words import HELD_MIB, processes_on
from k2tui.core.preflight import PreflightItem, Weight
from k2tui.core.readings import GpuReading, NodeReading
from k2tui.core.runs import Run
from k2tui.core.words import size

MIB = 1024**2
BALANCE = 0.9
"""SGLang refuses ranks that find less than this share of what the best of them finds free, before it loads (0.5.2
model_runner.py:678, 0.5.12:1312, 0.5.23 distributed/bootstrap.py:444)."""
VLLM_SHARE = 0.9
"""vLLM's --gpu-memory-utilization where it is not given. Releases of the newer engine refuse a GPU with less free, with
the words `Free memory on device ... on startup is less than desired GPU memory utilization`; 0.8 did not look yet."""
OTHERS_MIB = 256.0
"""Less is a desktop, or a tool that looks at GPUs."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What others hold of one GPU."""

    gpu: GpuReading
    held_mib: float = 0.0
    by: tuple[str, ...] = ()
    """Who, a few words each; empty: nobody can say."""
    pids: frozenset[int] = field(default=frozenset())

    @property
    def free_mib(self) -> float | None:
        """What a start will find; None without the GPU's size."""
        total = self.gpu.memory_total_mib
        return None if total is None else max(0.0, total - self.held_mib)


def gpus_of(indices: Sequence[int], env: Mapping[str, str], reading: NodeReading) -> tuple[int, ...]:
    """The GPUs that a launch uses: those of its server, else those that it may see, else all."""
    if indices:
        return tuple(dict.fromkeys(indices))
    words = [word.strip() for word in env.get("CUDA_VISIBLE_DEVICES", "").split(",") if word.strip()]
    if words and all(word.isdecimal() and len(word) < 4 for word in words):
        return tuple(dict.fromkeys(map(int, words)))
    return tuple(gpu.index for gpu in reading.gpus)


def names_of(indices: Iterable[int], reading: NodeReading) -> tuple[str, ...]:
    """The names of these GPUs, as far as they are known."""
    known = {gpu.index: gpu.name for gpu in reading.gpus}
    return tuple(name for index in indices if (name := known.get(index)))


def gpu_items(
    reading: NodeReading,
    processes: Sequence[NodeProcess],
    *,
    indices: Sequence[int],
    asked: Asked,
    engine: str,
    replaces: Run | None,
    rivals: Sequence[str],
    checkpoint: Checkpoint | None,
) -> tuple[PreflightItem, ...]:
    """What stands in the way at the GPUs; one item that says how many there are when nothing does."""
    if asked.value("device") == "cpu":
        return (PreflightItem("gpus", Weight.FINE, "no GPU needed: it runs on the CPU"),)
    items = [
        PreflightItem("gpus", Weight.BLOCK, f"{rival} runs on the same GPUs", f"stop {rival} first") for rival in rivals
    ]
    if not reading.gpus:
        why = reading.no_gpus_because or "not read yet"
        return (*items, PreflightItem("gpus", Weight.UNKNOWN, f"GPUs not looked at: {why}"))
    known = {gpu.index: gpu for gpu in reading.gpus}
    items += _missing(indices, known, asked, engine)
    gpus = [known[index] for index in _first(indices, asked, engine) if index in known]
    items += [
        PreflightItem("gpus", Weight.BLOCK, f"GPU {gpu.index}: {gpu.fault}", "it needs a reset, or the node a reboot")
        for gpu in gpus
        if gpu.fault
    ]
    if reading.gpus_trouble is not None:
        return (*items, PreflightItem("gpus", Weight.UNKNOWN, f"GPU figures are old: {reading.gpus_trouble}"))
    if not rivals:
        items += _held([taken(gpu, reading, processes, replaces) for gpu in gpus], asked, engine, checkpoint, reading)
    if items:
        return tuple(items)
    names = set(names_of(indices, reading))
    kind = f" {_short(next(iter(names)))}" if len(names) == 1 else ""
    plural = "" if len(gpus) == 1 else "s"
    are = "will be" if replaces is not None else "is" if len(gpus) == 1 else "are"
    return (PreflightItem("gpus", Weight.FINE, f"{len(gpus)}{kind} GPU{plural} {are} free"),)


def _first(indices: Sequence[int], asked: Asked, engine: str) -> Sequence[int]:
    """Those that its ranks take: the first ones, unless the command says otherwise."""
    here = _ranks_here(asked, engine)
    if here is None or asked.has("base-gpu-id") or asked.has("gpu-id-step"):
        return indices
    return indices[:here]


def _ranks_here(asked: Asked, engine: str) -> int | None:
    ranks, nodes = asked.ranks(engine), asked.count("nnodes", 1)
    return None if ranks is None or not nodes or nodes < 1 else -(-ranks // nodes)


def _missing(
    indices: Sequence[int], known: Mapping[int, GpuReading], asked: Asked, engine: str
) -> Iterable[PreflightItem]:
    gone = [index for index in indices if index not in known]
    if gone:
        has = f"this node has {_spans(known)}"
        which = f"GPU{'' if len(gone) == 1 else 's'} {_spans(gone)}"
        yield PreflightItem("gpus", Weight.BLOCK, f"no {which}: {has}", "correct gpus of the server")
    here = _ranks_here(asked, engine)
    if here is not None and here > len(indices):
        text = f"{len(indices)} GPU{'' if len(indices) == 1 else 's'} for {here} ranks"
        yield PreflightItem("gpus", Weight.BLOCK, text, "lower --tp-size, or give the server more gpus")


def taken(gpu: GpuReading, reading: NodeReading, processes: Sequence[NodeProcess], replaces: Run | None) -> Taken:
    """What is held of a GPU by others than the run that will be stopped."""
    listed = processes_on(reading, gpu)
    by_pid = {process.pid: process for process in processes}
    others = [found for found in listed if not _is_of(by_pid.get(found.pid), found.pid, replaces)]
    if listed or replaces is not None:
        known = sum(found.memory_mib or 0.0 for found in others)
        if len(others) == len(listed) and any(found.memory_mib is None for found in others):
            known = max(known, gpu.memory_used_mib or 0.0)
        who = [_who(by_pid.get(found.pid), found.pid, found.name) for found in others]
        return Taken(gpu, known, tuple(dict.fromkeys(who)), frozenset(found.pid for found in others))
    used = gpu.memory_used_mib or 0.0
    return Taken(gpu, used if used > HELD_MIB else 0.0)


def _is_of(process: NodeProcess | None, pid: int, run: Run | None) -> bool:
    """A process of the run that will be stopped; in a container its session is another, and so is its parent."""
    if run is None or not run.alive:
        return False
    if run.child is not None and run.child.pid == pid:
        return True
    if process is None:
        return run.kept_by == "docker"
    return process.session == run.session_id or run.kept_by == "docker"


def _who(process: NodeProcess | None, pid: int, name: str | None) -> str:
    title = (process.title if process is not None else name or "").split(" ")[0].rpartition("/")[2][:40]
    user = f" of {process.user}" if process is not None and process.user else ""
    return f"{title or 'a process'}{user}, pid {pid}" if pid else title or "a process of a container"


def _held(
    found: Sequence[Taken], asked: Asked, engine: str, checkpoint: Checkpoint | None, reading: NodeReading
) -> Iterable[PreflightItem]:
    holds = [one for one in found if one.held_mib > OTHERS_MIB]
    if not holds:
        if reading.gpu_processes_at is None and any((one.gpu.memory_used_mib or 0.0) > HELD_MIB for one in found):
            yield PreflightItem("gpus", Weight.UNKNOWN, "who holds GPU memory is not known yet")
        return
    worst = max(holds, key=lambda one: one.held_mib)
    where = f"GPU {worst.gpu.index}" if len(holds) == 1 else f"{len(holds)} GPUs, {worst.gpu.index} the most"
    who = f" by {worst.by[0]}" if worst.by else ", nobody can say by whom"
    more = f" and {len(worst.by) - 1} more" if len(worst.by) > 1 else ""
    text = f"{size(worst.held_mib * MIB)} held on {where}{who}{more}"
    why = _hopeless(found, asked, engine, checkpoint)
    if why is not None:
        yield PreflightItem("gpus", Weight.BLOCK, text, why)
    else:
        tight = _weights_against(found, asked, engine, checkpoint)
        hint = "less is left for the KV cache" if tight is None or tight[0] >= tight[1] else _left(*tight)
        yield PreflightItem("gpus", Weight.WARN, text, hint)


def _hopeless(found: Sequence[Taken], asked: Asked, engine: str, checkpoint: Checkpoint | None) -> str | None:
    """Why the start must fail with what is left; None when it may not."""
    free = [one.free_mib for one in found]
    left = [mib for mib in free if mib is not None]
    ranks = asked.ranks(engine)
    if not left or len(left) < len(free) or ranks is None:
        return None
    if engine == "vllm":
        share = _share(asked.value("gpu-memory-utilization"), VLLM_SHARE)
        if any((one.free_mib or 0.0) < share * (one.gpu.memory_total_mib or 0.0) for one in found):
            return f"vLLM wants {share:.0%} of each GPU free"
    elif ranks > 1 and len(found) == ranks and _is_strict(asked.env) and min(left) < BALANCE * max(left):
        return "SGLang refuses GPUs that have unlike amounts free: end that process"
    weights = _weights_against(found, asked, engine, checkpoint)
    # float32 is halved by some engines on the way to the GPU, nothing is made smaller than that
    return _left(*weights) if weights is not None and weights[0] < weights[1] / 2 else None


def _weights_against(
    found: Sequence[Taken], asked: Asked, engine: str, checkpoint: Checkpoint | None
) -> tuple[float, float] | None:
    """(MiB that are left on the fullest GPU, MiB of the files that fall to it); None where that can't be said."""
    ranks = asked.ranks(engine)
    left = [one.free_mib for one in found if one.free_mib is not None]
    if checkpoint is None or checkpoint.troubles or not ranks or not left or _is_shrunk(asked):
        return None
    return min(left), checkpoint.total_bytes / ranks / MIB


def _left(free_mib: float, weights_mib: float) -> str:
    return f"{size(free_mib * MIB)} are left for {size(weights_mib * MIB)} of weights"


def _is_strict(env: Mapping[str, str]) -> bool:
    """SGLang's balance check is on."""
    off = env.get("SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK", "").casefold() in ("0", "false", "no", "n")
    return not off and env.get("SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK", "").casefold() not in ("1", "true", "yes", "y")


def _is_shrunk(asked: Asked) -> bool:
    """The weights may take less on a GPU than they do on the disk."""
    names = ("cpu-offload-gb", "quantization", "torchao-config", "offload-group-size")
    return asked.value("load-format") == "dummy" or any(asked.has(name) for name in names)


def _share(text: str | None, default: float) -> float:
    try:
        found = float(text or "")
    except ValueError:
        return default
    return found if 0 < found <= 1 else default


def _short(name: str) -> str:
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ").partition(" Blackwell")[0]


def _spans(numbers: Iterable[int]) -> str:
    """`0-3, 6`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
