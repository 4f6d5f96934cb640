"""The weight files of a model as they lie on the node: sizes, and what is missing or impossible."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from k2tui.core.runs import is_whole, printable


@dataclass(frozen=True, slots=True)
class Shard:
    """One weight file."""

    name: str
    size_bytes: int
    header_bytes: int | None = None
    """Length of the safetensors header by the file's first 8 bytes (little-endian u64); None: not read, or no such."""
    tensors_bytes: int | None = None
    """The largest end of `data_offsets` in the header: what must follow it; None: not read."""


@dataclass(frozen=True, slots=True)
class ShardTrouble:
    """A file that can't be loaded, or that the index names and nobody has."""

    name: str
    what: str
    """missing | pointer | short | long | no_header | partial; the failure class is `missing_shards` for the first, else
    `corrupt_shard`."""
    text: str
    """One sentence with the file and the figures: `model-3-of-64.safetensors is a Git LFS pointer of 134 bytes`."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model's directory on a node."""

    path: str
    """Absolute, after the hub's cache was resolved."""
    shards: tuple[Shard, ...] = ()
    """Those that an engine would load, sorted by name."""
    troubles: tuple[ShardTrouble, ...] = ()
    index_bytes: int | None = None
    """`metadata.total_size` of the index: bytes of tensors; may be wrong for checkpoints that were re-sharded."""
    cached_bytes: int | None = None
    """How much of the shards stood in the page cache when they were looked at; None where nobody could measure."""
    is_sorted: bool | None = None
    """Whether the engine reads the shards in the order of their names, where that was said; None: by its version."""

    @property
    def total_bytes(self) -> int:
        """Of all shards that are there."""
        return sum(shard.size_bytes for shard in self.shards)

    @property
    def cached_share(self) -> float | None:
        """0 to 1; None where it was not measured."""
        total = self.total_bytes
        return None if self.cached_bytes is None or not total else min(1.0, self.cached_bytes / total)


_LFS_POINTER = int.from_bytes(b"version ", "little")
"""The first eight bytes of `version https://git-lfs.github.com/spec/v1`, read as a header's length."""
_HEADER_LIMIT = 100_000_000
"""What the safetensors library takes for a header at most."""
_MOST = 8192
"""Shards, names and troubles of one checkpoint."""
_SIZE = re.compile(rb"[0-9]{1,20}")
_REGULAR = re.compile(r"8[0-9a-f]{3}")
"""The mode of a regular file, as `stat -c %f` prints it."""
_NOT_WEIGHTS = ("training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.pt", "scaler.pt")
_WHOLE_INDEX = "k2whole"


def parse(output: bytes) -> Checkpoint | None:
    """What remote/weights.sh said; None when it found no such directory or did not come to its end."""
    seen = _Seen()
    if not is_whole(output):
        return None
    for record in output.split(b"/\n"):
        tag, _, rest = record.partition(b" ")
        seen.take(tag, rest)
    return seen.checkpoint()


def from_json(value: object) -> Checkpoint | None:
    """A checkpoint as a context tells it: `sorted`, `shards` with `name` and `size_bytes`, names of the `index`."""
    if not isinstance(value, Mapping):
        return None
    shards, index = value.get("shards"), value.get("index")
    told = [found for one in _list(shards) if (found := _shard_of(one)) is not None]
    files = {shard.name: shard for shard in told}
    names = [name for name in _list(index) if isinstance(name, str)]
    if not files and not names:
        return None
    path, is_sorted, cached = value.get("path"), value.get("sorted"), value.get("cached_bytes")
    kept = _loaded(files, names)
    return Checkpoint(
        path=printable(path) if isinstance(path, str) else "",
        shards=kept,
        troubles=_troubles(kept, names, files, {}, ()),
        index_bytes=_count(value.get("index_bytes")),
        cached_bytes=_count(cached),
        is_sorted=is_sorted if isinstance(is_sorted, bool) else None,
    )


class _Seen:
    """The records of a node's answer, as they come."""

    def __init__(self) -> None:
        self.path: str | None = None
        self.files: dict[str, Shard] = {}
        self.index: list[str] = []
        self.index_bytes: int | None = None
        self.dangling: list[str] = []
        self.leftovers: list[tuple[str, int]] = []
        self.cached: dict[str, int] = {}
        self.cached_bytes: int | None = None
        self.headers: dict[str, int] = {}
        self.ends: dict[int, int] = {}

    def take(self, tag: bytes, rest: bytes) -> None:
        """One record; what can't be read is left out."""
        if len(self.files) + len(self.index) + len(self.leftovers) >= _MOST:
            return
        first, _, second = rest.partition(b" ")
        match tag:
            case b"path" if self.path is None:
                self.path = _name(rest)
            case b"f" | b"l":
                mode = first.decode("ascii", "replace")
                size, _, name = second.partition(b" ")
                if name and _REGULAR.fullmatch(mode) and (size_bytes := _number(size)) is not None:
                    if tag == b"l":
                        self.leftovers.append((_name(name), size_bytes))
                    else:
                        self.files[_name(name)] = Shard(_name(name), size_bytes)
            case b"i":
                self.index.append(_unescaped(rest))
            case b"d":
                self.dangling.append(_name(rest))
            case b"c" if (cached := _number(first)) is not None:
                self.cached[_name(second)] = cached
            case b"cached":
                self.cached_bytes = _number(rest)
            case b"h" if (header := _number(first)) is not None:
                self.headers[_name(second)] = header
            case b"t" if (place := _number(first)) is not None and (end := _number(second)) is not None:
                self.ends[place] = end

    def checkpoint(self) -> Checkpoint | None:
        """All records together."""
        if not self.path:
            return None
        names = self._index_names()
        ends = {name: self.ends.get(place) for place, name in enumerate(self.headers, start=1)}
        files = {name: self._with_header(shard, ends.get(name)) for name, shard in self.files.items()}
        shards = _loaded(files, names)
        cached = [self.cached.get(shard.name) for shard in shards]
        measured = [size for size in cached if size is not None]
        return Checkpoint(
            path=printable(self.path),
            shards=shards,
            troubles=_troubles(shards, names, (*files,), self.headers, self.leftovers, self.dangling),
            index_bytes=self.index_bytes,
            cached_bytes=sum(measured) if shards and len(measured) == len(shards) else self.cached_bytes,
        )

    def _index_names(self) -> list[str]:
        """The files that the index names; none of them when it was not read to its end."""
        total = next((name for name in self.index if re.fullmatch(r"=[0-9]{1,20}", name)), None)
        self.index_bytes = None if total is None else int(total[1:])
        is_read = _WHOLE_INDEX in self.index
        return [name for name in self.index if name not in (_WHOLE_INDEX, total)] if is_read else []

    def _with_header(self, shard: Shard, end: int | None) -> Shard:
        header = self.headers.get(shard.name)
        if header is None or _no_header(shard, header):
            return shard
        return replace(shard, header_bytes=header, tensors_bytes=end)


def _loaded(files: Mapping[str, Shard], index: Iterable[str]) -> tuple[Shard, ...]:
    """The files that an engine would load, by name: safetensors of the index, else the others, else .bin, else .pt."""
    wanted = frozenset(index)
    kept: list[Shard] = []
    for ending in (".safetensors", ".bin", ".pt", ""):
        kept = [file for name, file in files.items() if name.endswith(ending) and not name.endswith(_NOT_WEIGHTS)]
        if kept:
            break
    if any(shard.name in wanted for shard in kept):
        kept = [shard for shard in kept if shard.name in wanted]
    elif not all(shard.name.startswith("consolidated") for shard in kept):
        kept = [shard for shard in kept if not shard.name.startswith("consolidated")]
    return tuple(sorted(kept, key=by_name))


def _troubles(
    shards: tuple[Shard, ...],
    index: Iterable[str],
    there: Iterable[str],
    headers: Mapping[str, int],
    leftovers: Iterable[tuple[str, int]],
    dangling: Iterable[str] = (),
) -> tuple[ShardTrouble, ...]:
    """What is wrong with the files that an engine would load."""
    known, links = frozenset(there), frozenset(dangling)
    named = [name for name in dict.fromkeys(index) if "/" not in name]
    gone = [name for name in named if name not in known]
    found: list[ShardTrouble] = []
    for name in gone:
        how = "is a link to a file that is not there" if name in links else "is named by the index and is not there"
        found.append(ShardTrouble(name, "missing", f"{printable(name)} {how}"))
    if not named:
        found += [
            ShardTrouble(name, "missing", f"{printable(name)} is a link to a file that is not there")
            for name in dict.fromkeys(dangling)
        ]
    for shard in shards:
        trouble = _trouble(shard, headers.get(shard.name))
        if trouble is not None:
            found.append(trouble)
    # What a download left behind says nothing when the index or a single file vouches for the rest.
    if found or not (named or len(shards) == 1):
        for name, size_bytes in leftovers:
            base = name.rpartition("/")[2]
            text = f"{printable(base)} was left by a download that did not end, with {_figure(size_bytes)}"
            found.append(ShardTrouble(base, "partial", text))
    return tuple(sorted(found[:_MOST], key=lambda trouble: (trouble.name, trouble.what)))


def _trouble(shard: Shard, header: int | None) -> ShardTrouble | None:
    """Why a file can't be loaded; None when it can, or when nobody looked into it."""
    name, size = printable(shard.name), shard.size_bytes
    if size == 0:
        return ShardTrouble(shard.name, "short", f"{name} is empty")
    if header is None and shard.header_bytes is None:
        return None
    if header == _LFS_POINTER and size < 1024:
        return ShardTrouble(shard.name, "pointer", f"{name} is a Git LFS pointer of {_figure(size)}")
    if header is not None and _no_header(shard, header):
        said = "it is shorter than that" if size < 8 else f"its header would have {_figure(header)}"
        return ShardTrouble(shard.name, "no_header", f"{name} does not begin as a safetensors file does: {said}")
    begin = 8 + (shard.header_bytes or 0)
    what, end = ("header", begin) if size < begin else ("tensors", begin + (shard.tensors_bytes or 0))
    if size < end:
        text = f"{name} has {_figure(size)}, its {what} should end at {end:,}: {_figure(end - size)} are missing"
        return ShardTrouble(shard.name, "short", text)
    if shard.tensors_bytes is not None and size > end:
        text = f"{name} has {_figure(size)}, its tensors should end at {end:,}: {_figure(size - end)} too many"
        return ShardTrouble(shard.name, "long", text)
    return None


def _no_header(shard: Shard, header: int) -> bool:
    """No safetensors file has a header of this length."""
    return shard.size_bytes < 8 or not 2 <= header <= _HEADER_LIMIT


def by_name(shard: Shard) -> tuple[object, ...]:
    """What sorts shards by their names."""
    return (shard.name,)


def _name(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _unescaped(data: bytes) -> str:
    """A name of the index, where JSON may have escaped what is not ASCII."""
    text = _name(data)
    if "\\" not in text:
        return text
    try:
        found: object = json.loads(f'"{text}"')
    except ValueError:
        return text
    return found if isinstance(found, str) else text


def _number(data: bytes) -> int | None:
    return int(data) if _SIZE.fullmatch(data) else None


def _figure(size_bytes: int) -> str:
    return "1 byte" if size_bytes == 1 else f"{size_bytes:,} bytes"


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _list(value: object) -> list[object]:
    return value[:_MOST] if isinstance(value, list) else []


def _shard_of(value: object) -> Shard | None:
    if not isinstance(value, Mapping):
        return None
    name, size = value.get("name"), _count(value.get("size_bytes"))
    if not isinstance(name, str) or not name or size is None:
        return None
    return Shard(name, size, _count(value.get("header_bytes")), _count(value.get("tensors_bytes")))
