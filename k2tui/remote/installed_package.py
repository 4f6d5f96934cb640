"""A package as it lies on a disk: where, which version, and what is not as it was installed or committed."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import os
import re
import struct
import sys
import time

MOST_MODIFIED = 200
MOST_INDEX_BYTES = 64 << 20
LOOKING_S = 1.0
"""How long the files of a package are read for; those that look changed come first."""
_SLACK_NS = 5_000_000_000
"""An installer writes its files within so long before it writes their list down."""


class Package:
    """One installed package."""

    def __init__(self, name: str, root: str) -> None:
        self.name = name
        self.root = root
        """The directory of its modules."""
        self.dist = _dist_info(name, root)
        """Its dist-info directory; None: it was never installed."""
        self.git = _git(root)
        """The work tree that it lies in; None: none, or it is what an installer wrote."""
        if self.dist is not None and self.git is not None and os.path.dirname(self.dist) == os.path.dirname(root):
            self.git = None
        self.version = self._version()

    def _version(self) -> str | None:
        if self.dist is not None and os.path.dirname(self.dist) == os.path.dirname(self.root):
            return _metadata_version(self.dist) or _version_file(self.root)
        found = _version_file(self.root)
        return found or (None if self.dist is None else _metadata_version(self.dist))


def locate(name: str) -> Package | None:
    """The package of this name that this interpreter would import; it is not imported."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Package(name, os.path.realpath(next(iter(spec.submodule_search_locations))))


def stamp_of(package: Package, reader: str) -> str:
    """Changes when a module of the package does, or `reader`, which is what makes a document of them."""
    digest = hashlib.sha256(repr((reader, package.root, package.version, sys.version_info[:2])).encode())
    for path, stat in _modules(package.root):
        digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def modified(package: Package) -> tuple[list[str] | None, str | None]:
    """(modules that are not as they were installed or committed, what to know of that); None: it can't be told."""
    if package.git is not None:
        return _since_commit(package)
    if package.dist is None:
        return None, "it was not installed by an installer: what was changed in it can't be told"
    try:
        return _since_install(package, package.dist)
    except (OSError, ValueError, csv.Error):
        return None, "its installer left no list of files: what was changed in it can't be told"


def commit(package: Package) -> str | None:
    """The commit that a work tree is at; None: it is none, or that can't be told."""
    if package.git is None:
        return None
    git, common = package.git[1], package.git[2]
    head = _text(os.path.join(git, "HEAD"))
    if not head.startswith("ref: "):
        return head if re.fullmatch(r"[0-9a-f]{40,64}", head) else None
    ref = head[5:]
    for place in (git, common):
        found = _text(os.path.join(place, ref))
        if re.fullmatch(r"[0-9a-f]{40,64}", found):
            return found
    packed = re.search(
        rf"^([0-9a-f]{{40,64}}) {re.escape(ref)}$", _text(os.path.join(common, "packed-refs")), re.MULTILINE
    )
    return packed[1] if packed else None


def _modules(root: str) -> list[tuple[str, os.stat_result]]:
    """Every .py file below a directory, by its path in it, in order; links to directories are not followed."""
    found: list[tuple[str, os.stat_result]] = []
    left = [root]
    while left:
        try:
            entries = list(os.scandir(left.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith(".py"):
                try:
                    found.append((os.path.relpath(entry.path, root), entry.stat()))
                except OSError:
                    continue
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                left.append(entry.path)
    return sorted(found, key=lambda one: one[0])


def _since_install(package: Package, dist: str) -> tuple[list[str] | None, str | None]:
    base = os.path.dirname(dist)
    listed: dict[str, tuple[str, int]] = {}
    with open(os.path.join(dist, "RECORD"), newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            if len(row) == 3 and row[0].endswith(".py") and row[1].startswith("sha256=") and row[2].isdigit():
                listed[os.path.normpath(os.path.join(base, row[0]))] = (row[1][7:], int(row[2]))
    inside = {path: what for path, what in listed.items() if path.startswith(package.root + os.sep)}
    if not inside:
        return None, "what is listed as installed is not what runs: what was changed in it can't be told"
    installed_ns = os.stat(os.path.join(dist, "RECORD")).st_mtime_ns
    there = {os.path.join(package.root, path): stat for path, stat in _modules(package.root)}
    found = {path: " (gone)" for path in inside if path not in there}
    found.update({path: " (added)" for path in there if path not in inside})
    both = [path for path in inside if path in there]
    found.update({path: "" for path in both if there[path].st_size != inside[path][1]})
    rest = [path for path in both if path not in found]
    rest.sort(key=lambda path: there[path].st_mtime_ns <= installed_ns + _SLACK_NS)  # what is newer comes first
    began, looked = time.monotonic(), 0
    for path in rest:
        if time.monotonic() - began > LOOKING_S:
            break
        looked += 1
        if _sha256(path) != inside[path][0]:
            found[path] = ""
    note = None if looked == len(rest) else f"{len(rest) - looked} of its files were looked at by size and time alone"
    names = sorted(os.path.relpath(path, package.root) + word for path, word in found.items())
    return names[:MOST_MODIFIED], note


def _sha256(path: str) -> str:
    try:
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _since_commit(package: Package) -> tuple[list[str] | None, str | None]:
    assert package.git is not None
    tree, git, _ = package.git
    try:
        if os.path.getsize(os.path.join(git, "index")) > MOST_INDEX_BYTES:
            raise ValueError
        with open(os.path.join(git, "index"), "rb") as file:
            written_ns = os.fstat(file.fileno()).st_mtime_ns
            entries, is_whole = _index(file.read())
    except (OSError, ValueError, struct.error, IndexError):
        return None, "the checkout's index can't be read: what was changed in it can't be told"
    below = os.path.relpath(package.root, tree).replace(os.sep, "/") + "/"
    known = {path[len(below) :]: what for path, what in entries.items() if path.startswith(below)}
    found = []
    there = dict(_modules(package.root))
    for path in sorted({*known, *there}):
        if not path.endswith(".py"):
            continue
        if path not in there or path not in known:
            found.append(f"{path} ({'gone' if path in known else 'added'})")
            continue
        size, seconds, nanoseconds, digest = known[path]
        stat = there[path]
        is_same_time = (int(stat.st_mtime_ns // 10**9) & 0xFFFFFFFF, stat.st_mtime_ns % 10**9) == (seconds, nanoseconds)
        if stat.st_size & 0xFFFFFFFF == size and is_same_time and stat.st_mtime_ns < written_ns:
            continue
        if _blob(os.path.join(package.root, path)) != digest:
            found.append(path)
    note = None if is_whole else "what was staged in the checkout and not committed is not told"
    return found[:MOST_MODIFIED], note


def _blob(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return b""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).digest()


def _index(data: bytes) -> tuple[dict[str, tuple[int, int, int, bytes]], bool]:
    """(path to size, seconds and nanoseconds of its time, SHA-1; True when nothing was staged since the last tree).

    Git's index file, versions 2 to 4 (Documentation/gitformat-index.txt of Git).
    """
    kind, version, count = struct.unpack(">4sII", data[:12])
    if kind != b"DIRC" or version not in (2, 3, 4):
        raise ValueError
    found: dict[str, tuple[int, int, int, bytes]] = {}
    at, path = 12, b""
    for _ in range(count):
        seconds, nanoseconds, size = struct.unpack(">8xII20xI", data[at : at + 40])
        digest = data[at + 40 : at + 60]
        (flags,) = struct.unpack(">H", data[at + 60 : at + 62])
        begin = at + (64 if flags & 0x4000 else 62)
        if version == 4:
            cut, begin = _offset(data, begin)
            end = data.index(b"\0", begin)
            path = path[: len(path) - cut] + data[begin:end]
            at = end + 1
        else:
            end = data.index(b"\0", begin)
            path = data[begin:end]
            at += (end - at + 8) & ~7
        found[path.decode("utf-8", "surrogateescape")] = (size, seconds, nanoseconds, digest)
    return found, not re.match(rb"TREE....\0-1 ", data[at:], re.DOTALL)


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """Git's number of variable length, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _git(root: str) -> tuple[str, str, str] | None:
    """(work tree, its git directory, the one that its work trees share) that a directory lies in."""
    tree = root
    for _ in range(6):
        tree = os.path.dirname(tree)
        git = os.path.join(tree, ".git")
        if os.path.isfile(git):
            told = _text(git)
            git = os.path.normpath(os.path.join(tree, told[8:])) if told.startswith("gitdir: ") else git
        if os.path.isfile(os.path.join(git, "HEAD")):
            shared = _text(os.path.join(git, "commondir"))
            return tree, git, os.path.normpath(os.path.join(git, shared)) if shared else git
    return None


def _dist_info(name: str, root: str) -> str | None:
    """The newest dist-info of this name: beside the package, else on the interpreter's path."""
    for place in (os.path.dirname(root), *sys.path):
        try:
            entries = os.listdir(place or ".")
        except OSError:
            continue
        found = [one for one in entries if re.fullmatch(rf"{name}-[^-]+\.dist-info", one, re.IGNORECASE)]
        if found:
            whole = [os.path.join(place, one) for one in found]
            return os.path.realpath(max(whole, key=os.path.getmtime))
    return None


def _metadata_version(dist: str) -> str | None:
    found = re.search(r"^Version: *(\S+)", _text(os.path.join(dist, "METADATA")), re.MULTILINE)
    return found[1] if found else None


def _version_file(root: str) -> str | None:
    """What `version.py` or `_version.py` says of itself."""
    for name in ("_version.py", "version.py"):
        text = _text(os.path.join(root, name))
        found = re.search(r"^(?:__version__|version)\b[^\n\"']*=\s*[\"']([\w.+!-]+)[\"']", text, re.MULTILINE)
        if found:
            return found[1]
    return None


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4 << 20).strip()
    except OSError:
        return ""
