"""A model's files are told as they lie on the node, whatever the shell, the tools and the names of the files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.checkpoint import Checkpoint, parse
from k2tui.core.runs import is_whole
from k2tui.services.doors import Completed, Script
from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin
from tests.remote.weights import names, safetensors, write_index, write_model

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 9863109\n"
TOOLS = ("awk", "cat", "cut", "grep", "head", "od", "sed", "sort", "stat", "timeout", "tr")
EVERY_SHELL = pytest.mark.parametrize("link", ["dash", "bash", "busybox", "busybox alone"], indirect=True)


@pytest.fixture(params=["dash"])
def link(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShellLink:
    """This machine by one of its shells; alone: with busybox's own tools and no others."""
    shell, _, alone = str(request.param).partition(" ")
    tools = shell_bin(shell, tmp_path / "bin")
    if alone:
        for tool in TOOLS:
            (tools / tool).symlink_to(shutil.which("busybox") or "")
        monkeypatch.setenv("PATH", str(tools))
    return ShellLink(tools, env={"HOME": str(tmp_path)})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A whole model of three shards."""
    directory = tmp_path / "a model"
    write_model(directory)
    return directory


async def said(link: ShellLink, model: Path, weights: Script | None = None) -> Completed:
    return await link.run(weights or script("weights"), (str(model), "", "", ""))


async def look(link: ShellLink, model: Path, weights: Script | None = None) -> Checkpoint:
    found = parse((await said(link, model, weights)).stdout)
    assert found is not None
    return found


def sizes(found: Checkpoint) -> dict[str, int]:
    return {shard.name: shard.size_bytes for shard in found.shards}


def troubles(found: Checkpoint) -> list[tuple[str, str]]:
    return [(trouble.name, trouble.what) for trouble in found.troubles]


def tool(link: ShellLink, name: str, text: str) -> None:
    """A program of the node."""
    (link.bin / name).unlink(missing_ok=True)
    (link.bin / name).write_text(f"#!/bin/sh\n{text}\n")
    (link.bin / name).chmod(0o755)


@EVERY_SHELL
async def test_a_whole_model_is_told_with_its_headers(link: ShellLink, tmp_path: Path) -> None:
    paths = write_model(tmp_path / "kimi", shards=64)
    found = await look(link, tmp_path / "kimi")
    assert found.path == str(tmp_path / "kimi")
    assert sizes(found) == {path.name: path.stat().st_size for path in paths}
    assert [shard.name for shard in found.shards] == names(64)
    assert [shard.tensors_bytes for shard in found.shards] == [100 * number + 8 for number in range(1, 65)]
    assert all(8 + (shard.header_bytes or 0) + (shard.tensors_bytes or 0) == shard.size_bytes for shard in found.shards)
    assert found.troubles == ()
    assert found.index_bytes == sum(shard.tensors_bytes or 0 for shard in found.shards)


@EVERY_SHELL
async def test_nothing_on_the_node_is_changed(link: ShellLink, model: Path) -> None:
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in model.iterdir()}
    done = await said(link, model)
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in model.iterdir()} == before
    assert done.stderr == b""


@EVERY_SHELL
async def test_a_file_may_have_any_name(link: ShellLink, tmp_path: Path) -> None:
    files = [
        "a b.safetensors",
        "-rf.safetensors",
        "größe 重み.safetensors",
        "one\ntwo.safetensors",
        "x\nf 81a4 5 forged.safetensors",
        "*.safetensors",
        "$(id) `id` '\".safetensors",
    ]
    for number, name in enumerate(files, start=1):
        (tmp_path / name).write_bytes(safetensors(number))
    found = await look(link, tmp_path)
    assert sizes(found) == {name: len(safetensors(number)) for number, name in enumerate(files, start=1)}
    assert found.troubles == ()
    assert all(shard.tensors_bytes for shard in found.shards)


@EVERY_SHELL
async def test_what_can_not_be_loaded_is_told_with_its_figures(link: ShellLink, model: Path) -> None:
    one, two, three = (model / name for name in names(3))
    one.write_bytes(POINTER)
    two.write_bytes(two.read_bytes()[:-50])
    three.write_bytes(bytes(100))
    (model / "extra.safetensors").write_bytes(b"not of the index")
    found = await look(link, model)
    assert troubles(found) == [(one.name, "pointer"), (two.name, "short"), (three.name, "no_header")]
    assert found.troubles[0].text == f"{one.name} is a Git LFS pointer of {len(POINTER)} bytes"
    assert found.troubles[1].text.endswith(": 50 bytes are missing")


@EVERY_SHELL
@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "short"),
        (b"abc", "no_header"),
        (b"\xff" * 8, "no_header"),
        (b"\xff" * 400, "no_header"),
        (safetensors(8)[:20], "short"),
        (safetensors(8) + b"more", "long"),
    ],
)
async def test_a_broken_file_does_not_hide_the_others(data: bytes, what: str, link: ShellLink, model: Path) -> None:
    broken = model / names(3)[1]
    broken.write_bytes(data)
    found = await look(link, model)
    assert troubles(found) == [(broken.name, what)]
    assert [bool(shard.tensors_bytes) for shard in found.shards if shard.name != broken.name] == [True, True]


@EVERY_SHELL
async def test_what_the_index_names_and_nobody_has_is_missing(link: ShellLink, model: Path) -> None:
    gone, dangling = (model / name for name in names(3)[:2])
    gone.unlink()
    dangling.unlink()
    dangling.symlink_to("nowhere")
    found = await look(link, model)
    assert troubles(found) == [(gone.name, "missing"), (dangling.name, "missing")]
    assert "is named by the index" in found.troubles[0].text
    assert "is a link to a file that is not there" in found.troubles[1].text


@EVERY_SHELL
async def test_what_a_broken_download_left_is_told_when_something_is_missing(link: ShellLink, model: Path) -> None:
    left = model / ".cache" / "huggingface" / "download" / "abc.incomplete"
    left.parent.mkdir(parents=True)
    left.write_bytes(bytes(5))
    (model / "two.safetensors.part").write_bytes(bytes(6))
    assert troubles(await look(link, model)) == []
    gone = model / names(3)[2]
    gone.unlink()
    assert troubles(await look(link, model)) == [
        ("abc.incomplete", "partial"),
        (gone.name, "missing"),
        ("two.safetensors.part", "partial"),
    ]


async def test_a_consolidated_copy_is_no_shard(link: ShellLink, tmp_path: Path) -> None:
    paths = write_model(tmp_path / "indexed", shards=2)
    (tmp_path / "indexed" / "consolidated.safetensors").write_bytes(safetensors(900))
    assert list(sizes(await look(link, tmp_path / "indexed"))) == [path.name for path in paths]
    (tmp_path / "indexed" / "model.safetensors.index.json").unlink()
    assert list(sizes(await look(link, tmp_path / "indexed"))) == [path.name for path in paths]


@EVERY_SHELL
async def test_without_safetensors_the_older_formats_are_told(link: ShellLink, tmp_path: Path) -> None:
    (tmp_path / "optimizer.pt").write_bytes(bytes(9))
    (tmp_path / "consolidated.00.pt").write_bytes(bytes(7))
    assert sizes(await look(link, tmp_path)) == {"consolidated.00.pt": 7}
    (tmp_path / "pytorch_model-00001-of-00002.bin").write_bytes(bytes(5))
    (tmp_path / "training_args.bin").write_bytes(bytes(1))
    found = await look(link, tmp_path)
    assert (sizes(found), found.troubles) == ({"pytorch_model-00001-of-00002.bin": 5}, ())


async def test_a_directory_without_weights_has_no_shards(link: ShellLink, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").mkdir()
    assert (await look(link, tmp_path)).shards == ()


@EVERY_SHELL
async def test_a_model_that_is_not_there_is_none(link: ShellLink, tmp_path: Path) -> None:
    for model in ("org/name", "name", "/no/such", "~/no", "", ".", "../..", "a/b/c", "-x", "org/.."):
        done = await link.run(script("weights"), (model, "", str(tmp_path / "none"), ""))
        assert is_whole(done.stdout)
        assert model in (".", "../..") or parse(done.stdout) is None


@EVERY_SHELL
@pytest.mark.parametrize("indent", [None, 2])
async def test_of_a_large_index_only_the_names_leave_the_node(indent: int | None, link: ShellLink, model: Path) -> None:
    files = [f"größe {number}.safetensors" for number in range(4)]
    for name in files:
        (model / name).write_bytes(safetensors(8))
    write_index(model, [files[number % 4] for number in range(40_000)], total=123, indent=indent)
    done = await said(link, model)
    found = parse(done.stdout)
    assert found is not None
    assert (list(sizes(found)), found.index_bytes, found.troubles) == (files, 123, ())
    assert len(done.stdout) < 3000


async def test_an_index_that_can_not_be_read_leaves_all_files(link: ShellLink, model: Path) -> None:
    tool(link, "cat", "head -c 200 model.safetensors.index.json; exit 1")
    (model / "other.safetensors").write_bytes(safetensors(8))
    found = await look(link, model)
    assert (len(found.shards), found.troubles) == (4, ())


async def test_a_header_of_many_megabytes_is_left_alone(link: ShellLink, tmp_path: Path) -> None:
    header = 4_194_305
    (tmp_path / "model.safetensors").write_bytes(header.to_bytes(8, "little") + b" " * header)
    (shard,) = (await look(link, tmp_path)).shards
    assert (shard.header_bytes, shard.tensors_bytes) == (header, None)


@EVERY_SHELL
async def test_the_largest_end_counts_in_whatever_order_and_spacing(link: ShellLink, tmp_path: Path) -> None:
    header = (
        b'{"a]": {"dtype": "U8", "shape": [1, 2], "data_offsets": [ 5, 12000000000 ]},'
        b'"b":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}'
    )
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 12_000_000_000)
    found = await look(link, tmp_path)
    assert (found.shards[0].tensors_bytes, found.troubles) == (12_000_000_000, ())


async def test_the_page_cache_is_told_where_somebody_can_measure(link: ShellLink, model: Path) -> None:
    tool(link, "fincore", "for file; do case $file in -*|RES) ;; *) echo 40;; esac; done")
    assert (await look(link, model)).cached_bytes == 120
    tool(link, "fincore", "echo 40")
    assert (await look(link, model)).cached_bytes is None


@pytest.mark.parametrize("link", ["busybox alone"], indirect=True)
async def test_vmtouch_measures_where_fincore_is_missing(link: ShellLink, model: Path) -> None:
    assert (await look(link, model)).cached_bytes is None
    tool(link, "vmtouch", "echo '  Resident Pages: 2/3  8K/12K  66.7%'")
    tool(link, "getconf", "echo 4096")
    assert (await look(link, model)).cached_bytes == 8192


async def test_a_mount_that_hangs_costs_the_headers_only(link: ShellLink, model: Path) -> None:
    tool(link, "head", "exec sleep 600")
    text = script("weights").text.replace("| head -n 4096", "").replace("limited 5 head", "limited 0.1 head")
    found = await look(link, model, Script("weights", text))
    assert (len(found.shards), found.troubles) == (3, ())
    assert [shard.header_bytes for shard in found.shards] == [None] * 3


async def test_a_header_that_was_read_in_part_is_not_believed(link: ShellLink, model: Path) -> None:
    head = shutil.which("head")
    tool(link, "head", f'[ "$1" != -c ] || {{ {head} -c 120 "$4"; exit 1; }}; exec {head} "$@"')
    found = await look(link, model)
    assert [bool(shard.header_bytes) for shard in found.shards] == [True] * 3
    assert [shard.tensors_bytes for shard in found.shards] == [None] * 3
    assert found.troubles == ()
