"""Where a package lies, and what in it is not as it was installed or committed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from k2tui.remote.installed_package import Package, commit, modified, stamp_of
from tests.remote.engine_packages import OLD, install, write

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git on this machine")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory with an SGLang as an installer leaves it."""
    write(tmp_path / "site", OLD)
    install(tmp_path / "site", "sglang", "0.5.9")
    return tmp_path / "site"


def package(site: Path) -> Package:
    return Package("sglang", str(site / "sglang"))


def git(tree: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-c", "init.defaultBranch=main", *words]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The same as a work tree, with its package in python/, as SGLang's own has it."""
    tree = tmp_path / "tree"
    write(tree / "python", OLD)
    git(tree.parent, "init", "-q", str(tree))
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    return tree


def test_what_is_as_it_was_installed_is_not_modified(site: Path) -> None:
    assert (package(site).version, modified(package(site))) == ("0.5.9", ([], None))


def grows(path: Path) -> None:
    path.write_text(path.read_text() + "\n# mine\n")


def changes_in_place(path: Path) -> None:
    """The same size and, to all that can be seen, the same time."""
    before = path.stat()
    path.write_text(path.read_text().replace("auto", "otua"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [grows, changes_in_place])
def test_a_file_that_was_changed_is_named(change: Callable[[Path], None], site: Path) -> None:
    change(site / "sglang/srt/server_args.py")
    assert modified(package(site)) == (["srt/server_args.py"], None)


def test_files_that_came_and_went_are_named(site: Path) -> None:
    (site / "sglang/srt/patch.py").write_text("")
    (site / "sglang/srt/utils.py").unlink()
    assert modified(package(site))[0] == ["srt/patch.py (added)", "srt/utils.py (gone)"]


def test_without_a_list_of_files_it_can_not_be_told(site: Path) -> None:
    (site / "sglang-0.5.9.dist-info/RECORD").unlink()
    changed, why = modified(package(site))
    assert changed is None
    assert why is not None
    shutil.rmtree(site / "sglang-0.5.9.dist-info")
    assert modified(package(site))[0] is None
    assert package(site).version == "0.5.9"  # by its own version.py


def test_the_stamp_changes_with_the_files_and_with_the_reader(site: Path) -> None:
    first = stamp_of(package(site), "1")
    assert stamp_of(package(site), "1") == first
    assert stamp_of(package(site), "2") != first
    grows(site / "sglang/srt/utils.py")
    assert stamp_of(package(site), "1") != first


@needs_git
def test_a_checkout_tells_its_commit(checkout: Path, tmp_path: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert commit(package(checkout / "python")) == head
    git(checkout, "pack-refs", "--all")
    assert commit(package(checkout / "python")) == head
    git(checkout, "checkout", "-q", "--detach")
    assert commit(package(checkout / "python")) == head
    git(checkout, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    assert commit(package(tmp_path / "other/python")) == head


@needs_git
@pytest.mark.parametrize("version", ["2", "4"])
def test_what_differs_from_the_commit_is_named(version: str, checkout: Path) -> None:
    git(checkout, "update-index", "--index-version", version)
    assert modified(package(checkout / "python")) == ([], None)
    changes_in_place(checkout / "python/sglang/srt/server_args.py")
    (checkout / "python/sglang/new.py").write_text("")
    (checkout / "python/sglang/srt/utils.py").unlink()
    changed, _ = modified(package(checkout / "python"))
    assert changed is not None
    assert {"new.py (added)", "srt/utils.py (gone)"} <= set(changed)
    grows(checkout / "python/sglang/srt/parsers.py")
    assert "srt/parsers.py" in (modified(package(checkout / "python"))[0] or [])


@needs_git
def test_a_file_that_was_only_touched_is_not_modified(checkout: Path) -> None:
    os.utime(checkout / "python/sglang/srt/utils.py", (1, 1))
    assert modified(package(checkout / "python"))[0] == []


@needs_git
def test_what_was_staged_is_said_not_to_be_told(checkout: Path) -> None:
    grows(checkout / "python/sglang/srt/utils.py")
    git(checkout, "add", ".")
    changed, note = modified(package(checkout / "python"))
    assert changed == []
    assert note is not None
    assert "staged" in note


@needs_git
def test_a_broken_index_is_no_answer(checkout: Path) -> None:
    (checkout / ".git/index").write_bytes(b"DIRC\0\0\0\2\0\0\0\7rubbish")
    changed, note = modified(package(checkout / "python"))
    assert changed is None
    assert note is not None
    assert "index" in note


@needs_git
def test_an_installed_package_below_somebody_elses_checkout_is_no_checkout(site: Path) -> None:
    git(site.parent, "init", "-q", ".")
    assert commit(package(site)) is None
    assert modified(package(site)) == ([], None)
