"""What nvidia-smi says of links and memory becomes lines for a screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.probing.gpu_report import MOST_CHARS, MOST_LINES, report, sections_of

LOGS = Path(__file__).parent.parent / "logs" / "nvidia-smi"


def real(command: str) -> str:
    """What a real pair of H200 answered."""
    text = (LOGS / "h200x2-others.txt").read_text()
    return text.partition(f"$ nvidia-smi {command}\n")[2].partition("\nrc ")[0]


def told(name: str, answer: str, code: int | str = 0) -> list[str]:
    lines = "".join(f"line {line}\n" for line in answer.splitlines())
    return [line.strip() for line in report(sections_of(f"section {name}\n{lines}end {code}\n"))[1:]]


def test_the_whole_answer_of_a_real_pair_fits_a_screen() -> None:
    lines = report(sections_of((LOGS / "h200x2-gpu-details.txt").read_text()))
    assert len(lines) < 40
    assert "  GPU 0: receives 4528 MB/s, sends 346 MB/s" in lines
    assert "  GPU 1: 18 links at 26.562 GB/s each" in lines
    assert "  GPU 0: 0 corrected, 0 not, since the driver came; 0 not, ever" in lines
    assert "  00000000:00:07.0: 0 after corrected errors, 0 after others" in lines


def test_the_topology_is_shown_as_the_driver_draws_it() -> None:
    lines = told("topology", real("topo -m"))
    assert lines[0].split() == ["GPU0", "GPU1", "CPU", "Affinity", "NUMA", "Affinity", "GPU", "NUMA", "ID"]
    assert lines[1].split()[:3] == ["GPU0", "X", "NV18"]
    assert lines[-1].startswith("NV#")
    assert not any("\x1b" in line or "\t" in line for line in lines)


def test_its_columns_stand_under_their_heads() -> None:
    heading, first, *_ = report(sections_of("section topology\nline \tGPU0\tGPU1\nline GPU0\t X \tNV18\nend 0\n"))[1:]
    assert heading.index("GPU1") == first.index("NV18")


def test_traffic_is_said_for_each_gpu() -> None:
    lines = told("pcie", real("dmon -s t -c 2"))
    assert lines[0] == "GPU 0: receives 7083 MB/s, sends 44 MB/s"
    assert told("pcie", "    0      -      - ") == ["GPU 0: receives —, sends —"]


def test_links_are_counted_and_those_that_are_down_named() -> None:
    lines = told("links", real("nvlink -s"))
    assert lines == ["GPU 0: 4 links at 26.562 GB/s each", "GPU 1: 4 links at 26.562 GB/s each"]
    broken = real("nvlink -s").replace("Link 2: 26.562 GB/s", "Link 2: <inactive>", 1)
    assert told("links", broken)[0] == "GPU 0: 3 links at 26.562 GB/s each; down: 2"
    assert told("links", "GPU 0: NVIDIA RTX PRO 6000 (UUID: GPU-0)") == ["GPU 0: no NVLink"]


def test_errors_of_links_are_named_and_none_is_none() -> None:
    answer = (LOGS / "h200x2-nvlink-e.txt").read_text()
    assert told("link_errors", answer) == ["GPU 0: none", "GPU 1: none"]
    assert re.search("Link 5: CRC Errors: 0", answer)
    answer = answer.replace("Link 5: CRC Errors: 0", "Link 5: CRC Errors: 17", 1)
    assert told("link_errors", answer)[0] == "GPU 0: 17 crc on link 5"


@pytest.mark.parametrize(
    ("name", "answer", "wanted"),
    [
        ("ecc", "0, 3, 0, 1", "GPU 0: 3 corrected, 0 not, since the driver came; 1 not, ever"),
        ("ecc", "0, [N/A], [N/A], [N/A]", "GPU 0: — corrected, — not, since the driver came; — not, ever"),
        ("rows", "00000000:00:06.0, 0, 0, No, No", "00000000:00:06.0: 0 after corrected errors, 0 after others"),
        (
            "rows",
            "00000000:00:06.0, 1, 2, Yes, Yes",
            "00000000:00:06.0: 1 after corrected errors, 2 after others; one waits for the next reset; "
            "one could not be replaced: ask for a new GPU",
        ),
    ],
)
def test_memory_errors_are_counted(name: str, answer: str, wanted: str) -> None:
    assert told(name, answer) == [wanted]


@pytest.mark.parametrize(
    ("answer", "code", "wanted"),
    [
        ("", 127, "there is no nvidia-smi on this node"),
        ("", 137, "nvidia-smi did not answer"),
        ("half an answ", "", "nvidia-smi did not answer"),
        ("No devices were found", 6, "nvidia-smi says: No devices were found"),
        ("", 9, "nvidia-smi says: it ended with 9"),
        ("", 0, "nothing"),
    ],
)
def test_what_is_not_said_is_said_to_be_so(answer: str, code: int | str, wanted: str) -> None:
    (line,) = told("pcie", answer, code)
    assert line.startswith(wanted)


def test_an_answer_is_cut_where_it_is_too_much() -> None:
    lines = told("topology", "\n".join(["x" * 1000] * 2000))
    assert len(lines) == MOST_LINES
    assert {len(line) for line in lines} == {MOST_CHARS}


@given(st.text(max_size=300))
def test_no_output_can_break_it(text: str) -> None:
    for name in ("topology", "pcie", "links", "link_errors", "ecc", "rows", "another"):
        report(sections_of(f"section {name}\nline {text}\nend 0\n{text}"))
