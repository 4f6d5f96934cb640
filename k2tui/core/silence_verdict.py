"""Judges a silence: what it is, what still moves, who is behind, and who ends it."""

from __future__ import annotations

from k2tui.core.activity import Moving, RankActivity
from k2tui.core.behind import SPINS_CPU, behind, by_number, reads
from k2tui.core.clock import placed
from k2tui.core.launch import Launch, LaunchPhase
from k2tui.core.patience import limit_of, usual_of
from k2tui.core.silence import Silence, SilenceWord
from k2tui.core.surroundings import NOTHING_KNOWN, Surroundings
from k2tui.core.timeouts import gives_up
from k2tui.core.words import size

SILENT_FROM_S = 5.0
"""A shorter pause is no silence: nobody wants a word for it."""
SLOW_S = 30.0
"""A pause as long as that is worth a word."""
NOT_SEEN = "counters were not seen"

_HOST_BYTES_PER_S = 1e6
"""What a host's disks or network move less than that is noise."""
_FOREIGN_BYTES_PER_S = 10e6
"""What they must move when the ranks themselves read nothing: a file system in user space may read for them, but so
may anybody else."""
_WORKS_CPU = 2.5
"""A rank that only waits keeps one core busy, with its collective's helper two."""
_GPU_WORKS, _GPU_SPINS = 0.05, 0.95
_MEET = (LaunchPhase.DISTRIBUTED, LaunchPhase.KV_CACHE, LaunchPhase.CUDA_GRAPH, LaunchPhase.WARMUP)
"""Phases with collectives: a GPU that is busy all the time runs a kernel that waits for its peers."""
_LOADS = (LaunchPhase.ARGS, LaunchPhase.WEIGHTS, LaunchPhase.POSTPROCESS)
"""Phases that read from disks and network."""
_SOON_S = 900.0
"""A time-out that is farther away is no news."""
_OVERDUE_S = 60.0
"""One that did not fire so long after its time does not watch this silence."""
_NAMED = 3
"""As many ranks are named each; of more their sum is told."""


def judge(
    launch: Launch,
    quiet_s: float,
    alive: bool | None,
    around: Surroundings = NOTHING_KNOWN,
) -> Silence | None:
    """What a silence of `quiet_s` is, of a launch that is not ready yet; None while it is too short for a word.

    `alive` is None where nobody saw the process: then it can be stalled, not hung.
    """
    if quiet_s < SILENT_FROM_S:
        return None
    limit = limit_of(launch, around)
    moves = what_moves(launch, around.moving)
    seen = moves or what_stands(around.moving)
    word = SilenceWord.HEALTHY
    if quiet_s > limit.seconds:
        word = SilenceWord.STALLED if moves or not alive else SilenceWord.HUNG
        seen = seen or (NOT_SEEN,)
        if not alive and not moves:
            seen = ("its process was not seen", *seen)
    elif quiet_s >= max(SLOW_S, limit.seconds / 2) or has_long_pauses(launch, around):
        word = SilenceWord.SLOW
    end, since = gives_up(launch, launch.phase), launch.quiet_since
    return Silence(
        word=word,
        limit_s=limit.seconds,
        limit_by=limit.by,
        seen=seen,
        behind=tuple(sorted(behind(launch, around.moving), key=by_number)),
        gives_up=None if end is None else end.name,
        gives_up_at=None if end is None or since is None else since + end.seconds,
    )


def has_long_pauses(launch: Launch, around: Surroundings = NOTHING_KNOWN) -> bool:
    """It pauses longer than one likes, and longer than this phase takes here as a whole."""
    past = usual_of(launch, around)
    return launch.largest_gap_s >= max(SLOW_S, 0.0 if past is None else past.typical_s)


def sentence(silence: Silence, quiet_s: float, now: float | None) -> str:
    """`silent 95 s, limit 300 s (2 x the load's own time); TP5 still reads 310 MB/s; the barrier gives up in 6 min`.

    `now` is the log's clock; without it nothing is said of who gives up, and neither of one who gives up in hours.
    """
    parts = [f"silent {_span(quiet_s, 600)}, limit {_span(silence.limit_s, 600)} ({silence.limit_by})"]
    if silence.seen:
        parts.append(", ".join(silence.seen))
    told = any(part.startswith(f"{rank} ") for rank in silence.behind for part in silence.seen)
    if silence.behind and not told:
        parts.append(f"the others wait for {_listed(silence.behind)}")
    if silence.gives_up is not None and silence.gives_up_at is not None and now is not None:
        left_s = placed(silence.gives_up_at, now) - now
        if 0 <= left_s <= _SOON_S:
            parts.append(f"{silence.gives_up} gives up in {_span(left_s, 60)}")
        elif -_OVERDUE_S <= left_s < 0:
            parts.append(f"{silence.gives_up} is due to give up now")
    return "; ".join(parts)


def what_moves(launch: Launch, moving: Moving | None) -> tuple[str, ...]:
    """What shows that work is done although nothing is printed, in words; empty: nothing that counts."""
    if moving is None:
        return ()
    return (
        *_reading(moving),
        *_compiling(moving),
        *_host(launch, moving),
        *(f"{_who(one)} keeps {one.cpu:.0f} cores busy" for one in _busiest(moving) if one.cpu >= _WORKS_CPU),
        *_gpus(launch, moving),
    )


def what_stands(moving: Moving | None) -> tuple[str, ...]:
    """What was looked at and does not move, in words; empty: nobody looked."""
    if moving is None:
        return ()
    told: list[str] = []
    spinning = [one for one in moving.ranks if one.cpu >= SPINS_CPU and not reads(one)]
    if spinning:
        who = _who(spinning[0]) if len(spinning) == 1 else f"{len(spinning)} ranks"
        told.append(f"{who} {'keeps' if len(spinning) == 1 else 'keep'} a core busy without reading, as waiting does")
    elif any(one.read_bytes_per_s is not None for one in moving.ranks):
        told.append("no rank reads")
    for name, rate in (("disks", moving.disk_read_bytes_per_s), ("network", moving.net_received_bytes_per_s)):
        if rate is not None:
            told.append(f"{name} idle" if rate < _HOST_BYTES_PER_S else f"{name} {size(rate)}/s, for somebody else")
    if moving.gpu_busy is not None:
        busy = moving.gpu_busy >= _GPU_WORKS
        told.append(f"GPU {moving.gpu_busy:.0%} busy, as a waiting collective is" if busy else "GPUs idle")
    return tuple(told)


def _reading(moving: Moving) -> tuple[str, ...]:
    found = sorted((one for one in moving.ranks if reads(one)), key=lambda one: -(one.read_bytes_per_s or 0.0))
    if len(found) <= _NAMED:
        return tuple(f"{_who(one)} still reads {size(one.read_bytes_per_s)}/s" for one in found)
    return (f"{len(found)} ranks still read {size(sum(one.read_bytes_per_s or 0.0 for one in found))}/s",)


def _compiling(moving: Moving) -> tuple[str, ...]:
    names = moving.compilers
    return (f"{_listed(names)} {'runs' if len(names) == 1 else 'run'}",) if names else ()


def _host(launch: Launch, moving: Moving) -> tuple[str, ...]:
    """The host's counters are everybody's: where the ranks' own are known, those come first."""
    own = [one for one in moving.ranks if one.read_bytes_per_s is not None]
    least = _HOST_BYTES_PER_S
    if own and not any(reads(one) for one in own):
        if launch.phase not in _LOADS:
            return ()
        least = _FOREIGN_BYTES_PER_S
    disks, net = moving.disk_read_bytes_per_s, moving.net_received_bytes_per_s
    return (
        *((f"the disks read {size(disks)}/s",) if disks is not None and disks >= least else ()),
        *((f"the network brings {size(net)}/s",) if net is not None and net >= least else ()),
    )


def _gpus(launch: Launch, moving: Moving) -> tuple[str, ...]:
    busy = moving.gpu_busy
    if busy is None or busy < _GPU_WORKS or (launch.phase in _MEET and busy >= _GPU_SPINS):
        return ()
    return (f"a GPU is {busy:.0%} busy",)


def _busiest(moving: Moving) -> tuple[RankActivity, ...]:
    return tuple(sorted(moving.ranks, key=lambda one: -one.cpu)[:1])


def _who(one: RankActivity) -> str:
    return one.rank or one.name


def _listed(names: tuple[str, ...]) -> str:
    if len(names) <= _NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def _span(seconds: float, plain_below: int) -> str:
    """`95 s`, and from `plain_below` on `6 min 25 s` or `1 h 05 min`."""
    whole = round(seconds)
    if whole < plain_below:
        return f"{whole} s"
    minutes, second = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {second:02} s" if second else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02} min"
