"""What must fail blocks, what may go wrong warns, and what nobody looked at is never called fine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.checkpoint import Checkpoint, Shard, ShardTrouble
from k2tui.core.flag_combinations import Asked
from k2tui.core.preflight import Preflight, SettingCheck, Weight
from k2tui.core.preflight_items import (
    clients_item,
    disk_items,
    inner_ports,
    model_item,
    port_items,
    program_item,
    settings_items,
)
from k2tui.core.preflight_look import DiskLook, Holder, NodeLook, parse_look
from k2tui.core.runs import ProcessIdentity, Run
from tests.core.builds import NEW

FINE, NOTE, WARN, BLOCK, UNKNOWN = Weight.FINE, Weight.NOTE, Weight.WARN, Weight.BLOCK, Weight.UNKNOWN
LIVE = Run("kimi", "r1", "/home/k2tui/runs/kimi/r1", session_id=700, child=ProcessIdentity("b", 710, 5), port=30000)
LIVE = replace(LIVE, alive=True)
GIB = 2**30


@pytest.mark.parametrize(
    ("holder", "replaces", "weight", "text"),
    [
        (None, None, FINE, "port 30000 free"),
        (Holder(710, 700, "python3"), LIVE, FINE, "port 30000 will be free"),
        (Holder(911, 700, "sglang::scheduler"), LIVE, FINE, "port 30000 will be free"),
        (Holder(5, 4, "nginx: master"), LIVE, BLOCK, "port 30000 is held by pid 5, nginx: master"),
        (Holder(710, 700, "python3"), None, BLOCK, "port 30000 is held by pid 710, python3"),
        (Holder(710, 700, "python3"), replace(LIVE, alive=False), BLOCK, "port 30000 is held by pid 710, python3"),
        (Holder(), LIVE, BLOCK, "port 30000 is held by another user's process"),
        (Holder(), replace(LIVE, kept_by="docker"), FINE, "port 30000 will be free"),
        (Holder(), replace(LIVE, kept_by="docker", port=1), BLOCK, "port 30000 is held by another user's process"),
    ],
)
def test_a_port_is_free_or_will_be_or_is_somebody_elses(
    holder: Holder | None, replaces: Run | None, weight: Weight, text: str
) -> None:
    (item,) = port_items(NodeLook(ports={30000: holder}), 30000, {}, replaces)
    assert (item.name, item.weight, item.text) == ("port", weight, text)


def test_a_port_that_nobody_looked_at_is_not_called_free() -> None:
    (item,) = port_items(NodeLook(), 30000, {30233: "attention DP"}, LIVE)
    assert (item.weight, item.text) == (UNKNOWN, "port 30000 not looked at")


@pytest.mark.parametrize("port", [0, 65536, 99999])
def test_a_number_that_no_port_has_is_not_free(port: int) -> None:
    (item,) = port_items(NodeLook(ports={port: None}), port, {}, None)
    assert (item.weight, item.text) == (Weight.BLOCK, f"port {port} is none: ports are 1 to 65535")


def test_inner_ports_are_told_only_when_they_are_taken() -> None:
    ports = {30000: None, 30233: None, 30234: Holder(5, 4, "redis")}
    items = port_items(NodeLook(ports=ports), 30000, {30233: "attention DP", 30234: "attention DP"}, None)
    assert [item.text for item in items] == ["port 30000 free", "port 30234 (attention DP) is held by pid 5, redis"]


@pytest.mark.parametrize(
    ("words", "engine", "ports"),
    [
        ("--tp-size 8", "sglang", []),
        ("--dp-size 8 --enable-dp-attention --tp-size 8", "sglang", [30233, 30234, 30235, 30236, 30237, 30238]),
        ("--attn-dp-size 8 --tp-size 8", "sglang", [30233, 30234, 30235, 30236, 30237, 30238]),
        ("--enable-dp-attention --tp-size 8", "sglang", []),
        ("--dp-size 8 --enable-dp-attention --dist-init-addr a:5", "sglang", []),
        ("--nccl-port 28765 --grpc-port 30001", "sglang", [28765, 30001]),
        ("--nccl-port 28765", "vllm", []),
    ],
)
def test_the_inner_ports_follow_from_the_command(words: str, engine: str, ports: list[int]) -> None:
    assert sorted(inner_ports(Asked.of(["python3", "-m", "x", *words.split()], {}), engine, 30000)) == ports


@pytest.mark.parametrize(
    ("look", "weight", "text"),
    [
        (NodeLook(has_program=True), FINE, "python3 found"),
        (NodeLook(has_program=False), BLOCK, "no program /opt/bin/python3"),
        (NodeLook(missing_cwd="/root/sglang"), BLOCK, "no directory /root/sglang"),
        (NodeLook(setup="3"), BLOCK, "the setup line fails with exit 3"),
        (NodeLook(setup="ended"), BLOCK, "the setup line leaves the shell"),
        (NodeLook(setup="slow"), UNKNOWN, "/opt/bin/python3 not looked at: the setup line takes longer than 10 s"),
        (NodeLook(), UNKNOWN, "/opt/bin/python3 not looked at"),
    ],
)
def test_the_program_is_there_or_why_it_is_not(look: NodeLook, weight: Weight, text: str) -> None:
    item = program_item(look, "/opt/bin/python3", server="kimi")
    assert (item.name, item.weight, item.text) == ("program", weight, text)


def test_a_program_in_an_image_is_not_looked_at() -> None:
    assert program_item(NodeLook(), "python3", server="kimi", image="sglang:latest").weight is UNKNOWN


WHOLE = Checkpoint("/m/kimi", tuple(Shard(f"{number}.safetensors", 2 * 10**9) for number in range(64)))


def broken(what: str, shards: int = 63) -> Checkpoint:
    return Checkpoint("/m/kimi", WHOLE.shards[:shards], (ShardTrouble("63.safetensors", what, f"63 is {what}"),))


@pytest.mark.parametrize(
    ("state", "model", "checkpoint", "load_format", "weight", "text"),
    [
        ("dir", "/m/kimi", WHOLE, "auto", FINE, "64 of 64 shards, 128 GB"),
        ("dir", "/m/kimi", broken("missing"), "auto", BLOCK, "63 of 64 shards: 63 is missing"),
        ("dir", "/m/kimi", broken("missing"), "dummy", FINE, "64 of 64 shards, 126 GB"),
        ("dir", "/m/kimi", broken("short", 64), "auto", BLOCK, "63 is short"),
        ("dir", "/m/kimi", broken("pointer", 64), "auto", BLOCK, "63 is pointer"),
        ("dir", "/m/kimi", broken("long", 64), "auto", WARN, "63 is long"),
        ("dir", "/m/kimi", broken("partial", 64), "auto", WARN, "63 is partial"),
        ("dir", "/m/kimi", Checkpoint("/m/kimi"), "auto", WARN, "no weight files in kimi"),
        ("dir", "/m/kimi", None, "auto", UNKNOWN, "kimi is there, its shards were not looked at"),
        ("dir", "/m/kimi", None, "dummy", FINE, "kimi is there, its weights are made up"),
        ("file", "/m/kimi.gguf", None, "auto", FINE, "kimi.gguf is there"),
        ("none", "/m/kimi", None, "auto", BLOCK, "no model /m/kimi"),
        ("none", "~/m/kimi/", None, "auto", BLOCK, "no model ~/m/kimi/"),
        ("none", "org/kimi", None, "auto", NOTE, "kimi is not in the hub's cache: it is downloaded first"),
        ("none", "org/kimi", WHOLE, "auto", FINE, "64 of 64 shards, 128 GB"),
        ("slow", "/m/kimi", None, "auto", UNKNOWN, "kimi: the disk does not answer"),
        (None, "/m/kimi", None, "auto", UNKNOWN, "kimi: not looked at"),
        (None, None, None, "auto", UNKNOWN, "the command names no model"),
    ],
)
def test_the_model_is_there_whole_or_what_is_missing(
    state: str | None, model: str | None, checkpoint: Checkpoint | None, load_format: str, weight: Weight, text: str
) -> None:
    item = model_item(NodeLook(model=state), model, checkpoint, load_format=load_format)
    assert (item.name, item.weight, item.text) == ("model", weight, text)


def test_one_file_is_one_shard_and_a_hub_that_is_off_blocks() -> None:
    assert model_item(NodeLook(), "m", replace(WHOLE, shards=WHOLE.shards[:1])).text == "1 of 1 shard, 2.0 GB"
    assert model_item(NodeLook(model="none"), "org/kimi", None, offline=True).weight is BLOCK
    assert model_item(NodeLook(model="none"), "/m/kimi", None, in_image=True).weight is UNKNOWN


@pytest.mark.parametrize(
    ("disks", "weights", "text"),
    [
        ([("/data", 1000, 500)], [FINE], "disk 537 GB free"),
        ([("/data", 1000, 500), ("/dev/shm", 100, 90)], [FINE], "disk 537 GB free"),
        ([("/data", 1000, 1)], [WARN], "/data is nearly full: 1.1 GB free"),
        ([("/data", 1000, 15)], [WARN], "/data is nearly full: 16.1 GB free"),
        ([("/data", 1000, 0)], [BLOCK], "/data is full: 0 B free"),
        ([("/data", 1000, 500), ("/dev/shm", 100, 0.1)], [WARN], "/dev/shm is nearly full: 107 MB free"),
        ([("/data", 1000, 500), ("/dev/shm", 100, 0)], [BLOCK], "/dev/shm is full: 0 B free"),
        ([("/data", 1000, 500), ("/dev/shm", 0.0625, 0.0625)], [FINE], "disk 537 GB free"),
        ([("/data", 1000, 0), ("/dev/shm", 100, 0)], [BLOCK, BLOCK], "/data is full: 0 B free"),
        ([("/dev/shm", 100, 90)], [UNKNOWN], "disk not looked at"),
        ([], [UNKNOWN], "disk not looked at"),
    ],
)
def test_a_disk_has_room_or_how_little(disks: list[tuple[str, float, float]], weights: list[Weight], text: str) -> None:
    look = NodeLook(disks=tuple(DiskLook(path, int(total * GIB), int(free * GIB)) for path, total, free in disks))
    items = disk_items(look)
    assert ([item.weight for item in items], items[0].text) == (weights, text)


def test_a_home_that_is_not_ours_blocks() -> None:
    (item,) = disk_items(NodeLook(home="/root/k2tui", home_writable=False))
    assert (item.weight, item.text) == (BLOCK, "/root/k2tui can't be written to")


def check(name: str, weight: Weight = FINE, text: str = "known") -> SettingCheck:
    return SettingCheck(name, weight, text)


def test_settings_come_to_a_count_or_to_the_heaviest() -> None:
    flags = [check(f"--{letter}") for letter in "abcdefghijklmn"]
    fine = settings_items([*flags, check("A"), check("B")], 2, NEW)
    assert [item.text for item in fine] == ["flags accepted by this build 14/14", "2 variables"]
    dead = check("--x", WARN, "no effect in this version")
    (item,) = settings_items([*flags[1:], dead], 0, NEW)
    assert (item.weight, item.text) == (
        WARN,
        "flags accepted by this build 14/14; --x: no effect in this version",
    )
    gone = check("--cuda-graph-max-bs", BLOCK, "gone: use --cuda-graph-max-bs-decode")
    (item,) = settings_items([dead, gone, gone], 0, NEW)
    assert (item.weight, item.text) == (
        BLOCK,
        "--cuda-graph-max-bs: gone: use --cuda-graph-max-bs-decode (and 1 more)",
    )
    (_, item) = settings_items([*flags, check("A", BLOCK, "wrong")], 1, NEW)
    assert (item.name, item.weight, item.text) == ("env", BLOCK, "A: wrong")


def test_without_a_build_flags_are_not_called_accepted() -> None:
    unread = check("--a", UNKNOWN, "not checked: the build was not read")
    (item,) = settings_items([unread], 0, None)
    assert (item.weight, item.text) == (UNKNOWN, "flags not checked: the build was not read")
    (item,) = settings_items([unread, check("--b", BLOCK, "needs --c")], 0, None)
    assert (item.weight, item.text) == (BLOCK, "--b: needs --c")


@pytest.mark.parametrize(
    ("requests", "replaces", "weight", "text"),
    [
        (2, LIVE, WARN, "2 requests running"),
        (1, LIVE, WARN, "1 request running"),
        (0, LIVE, FINE, "no request running"),
        (None, LIVE, UNKNOWN, "running requests: it does not say"),
    ],
)
def test_who_would_be_cut_off_is_told(requests: int | None, replaces: Run, weight: Weight, text: str) -> None:
    item = clients_item(requests, replaces)
    assert item is not None
    assert (item.name, item.weight, item.text) == ("clients", weight, text)


def test_nobody_is_cut_off_where_nothing_is_stopped() -> None:
    assert clients_item(3, None) is None
    assert clients_item(3, replace(LIVE, alive=False)) is None


def test_an_answer_that_was_cut_tells_what_it_told() -> None:
    whole = b"rc noise\nk2pre 1\nhome yes /h\ndisk 2048 1024 /a b\nprogram yes python3\nport 80 free\nk2end\n"
    seen = parse_look(whole)
    assert (seen.is_whole, seen.home, seen.has_program, seen.ports) == (True, "/h", True, {80: None})
    assert seen.disks == (DiskLook("/a b", 2048 * 1024, 1024 * 1024),)
    cut = parse_look(whole[: whole.index(b"port")])
    assert (cut.is_whole, cut.has_program, cut.ports) == (False, True, {})


@given(st.binary(max_size=200), st.sampled_from([b"", b"k2pre 1\n", b"k2pre 1\nport 1 held ", b"k2pre 1\ndisk "]))
def test_no_answer_breaks_the_reader_and_no_escape_passes(data: bytes, head: bytes) -> None:
    seen = parse_look(head + data)
    holders = [holder.command for holder in seen.ports.values() if holder is not None]
    texts = [seen.home or "", seen.missing_cwd or "", *holders, *(disk.path for disk in seen.disks)]
    assert all(text.isprintable() for text in texts)


def test_blocks_and_warnings_are_what_their_weights_say() -> None:
    items = (*disk_items(NodeLook(home="/h", home_writable=False)), *settings_items([check("A", WARN, "w")], 1, NEW))
    found = Preflight(items)
    assert ([item.name for item in found.blocks], [item.name for item in found.warnings]) == (["disk"], ["env"])
