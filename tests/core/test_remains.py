"""What a node says that is left of a run is read whatever it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.remains import MARGIN_BYTES, MIB, GpuHolder, GpuRemains, parse_remains


def test_a_clean_node_reads_as_one() -> None:
    remains = parse_remains(b"gpu 0 700 600\nk2end\n")
    assert remains is not None
    assert (remains.is_clean, remains.is_whole, remains.sentence) == (True, True, "nothing of it is left")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("process 7 D sglang::scheduler_TP0", "pid 7 (sglang::scheduler_TP0) waits in the kernel (state D)"),
        ("process 7 S python3 -m x", "pid 7 (python3 -m x) lives"),
        ("container k2tui-kimi-1", "container k2tui-kimi-1 still runs"),
        (
            "gpu 3 90000 600\nholder 3 7 89000 ours python3",
            "GPU 3 has 90000 MiB in use, 600 MiB before it started; held",
        ),
        ("port 9 nc -l", "its port is held by pid 9 (nc -l)"),
        ("port 0 ", "its port is held by somebody who can't be told"),
    ],
)
def test_what_stands_in_the_way_is_named(line: str, words: str) -> None:
    remains = parse_remains(f"{line}\nk2end\n".encode())
    assert remains is not None
    assert not remains.is_clean
    assert words in remains.sentence


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("process 7 Z python3", "nothing of it is left"),
        ("shm 1048576 psm_a\nshm 1048576 nccl-b", "2 leftovers in /dev/shm, 2 MiB, nobody has open"),
        ("outside 8 sglang::detokenizer", "pid 8 (sglang::detokenizer) left its session"),
        ("no_gpus nvidia-smi gave no answer within 10 s", "could not be looked at: nvidia-smi gave no answer"),
        ("gpu 0 90000 -", "nothing of it is left"),
    ],
)
def test_what_does_not_is_told_at_most(line: str, words: str) -> None:
    remains = parse_remains(f"{line}\nk2end\n".encode())
    assert remains is not None
    assert remains.is_clean
    assert words in remains.sentence


@pytest.mark.parametrize(
    ("used", "baseline", "holders", "is_back"),
    [
        (600 * MIB + MARGIN_BYTES, 600 * MIB, (), True),
        (601 * MIB + MARGIN_BYTES, 600 * MIB, (), False),
        (9000 * MIB, 600 * MIB, (GpuHolder(1, 8400 * MIB, False, ""),), True),
        (600 * MIB, 600 * MIB, (GpuHolder(1, None, True, ""),), False),
        (600 * MIB, None, (), None),
    ],
)
def test_a_gpu_is_back_near_its_baseline_and_free_of_the_run(
    used: int, baseline: int | None, holders: tuple[GpuHolder, ...], is_back: bool | None
) -> None:
    assert GpuRemains(0, used, baseline, holders).is_back is is_back


def test_a_run_without_a_directory_left_nothing_to_be_read() -> None:
    assert parse_remains(b"absent /h/runs/kimi/x\nk2end\n") is None


def test_an_answer_that_broke_off_is_known() -> None:
    remains = parse_remains(b"gpu 0 700 600\n")
    assert remains is not None
    assert not remains.is_whole


@given(st.one_of(st.binary(), st.text(alphabet="0123456789 \ngpuholdershm-").map(str.encode)))
def test_no_bytes_break_the_reader(output: bytes) -> None:
    remains = parse_remains(output)
    assert remains is None or remains.to_json()
    assert remains is None or remains.sentence.isprintable()
