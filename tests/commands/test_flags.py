"""`k2tui flags`: what a server's build, or a known release, accepts."""

from __future__ import annotations

import argparse
import json
from typing import Any, cast

import pytest

from k2tui.adapters.scripts import script
from k2tui.commands.flags import main
from k2tui.commands.wires import Wires
from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.errors import K2Error
from k2tui.services.fleet import Fleet
from tests.commands.fleets import StandingFleet, standing

Capture = pytest.CaptureFixture[str]
BUILD = Build(
    "sglang",
    (
        BuildFlag("tp-size", aliases=("tensor-parallel-size",), type="int", default="1", help="ranks"),
        BuildFlag("load-format", type="str", default="auto", choices=("auto", "pt")),
        BuildFlag("model-path", type="str", required=True),
        BuildFlag(
            "disable-cuda-graph", Takes.NOTHING, type="bool", default="False", deprecated=True, replacement="--x"
        ),
        BuildFlag("num-continuous-decode-steps", type="int", default="1"),
    ),
    "0.5.23",
    path="/opt/sglang",
    modified=("srt/models/deepseek_v2.py",),
    commit="0123456789abcdef",
    took_s=0.41,
)


def flags(*words: str, fleet: StandingFleet | None = None) -> int:
    """The exit code of the command."""
    fleet = fleet or standing()
    wires = Wires(settings=lambda: fleet.settings, fleet=lambda _: cast(Fleet, fleet), script=script)
    named = [word for word in words if word != "--json"]
    return main(argparse.Namespace(build=named[0], name=([*named, None])[1], json="--json" in words), wires)


def document(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def fleet() -> StandingFleet:
    made = standing()
    made.builds["kimi"] = BUILD
    return made


def test_one_flag_for_programs_has_exactly_what_it_should(capsys: Capture) -> None:
    assert flags("sglang==0.5.23", "num-continuous-decode-steps", "--json") == 0
    found = document(capsys)
    assert {*found} > {
        *("name", "type", "default", "choices", "aliases", "status", "replacement", "effect", "note", "source")
    }
    assert (found["name"], found["type"], found["default"]) == ("num-continuous-decode-steps", "int", "1")
    assert (found["status"], found["effect"], found["replacement"]) == ("ok", "none", None)
    assert "never used" in found["source"]


@pytest.mark.parametrize(
    ("words", "code", "status", "replacement"),
    [
        (("sglang==0.5.9", "cuda-graph-max-bs"), 0, "ok", None),
        (("sglang==0.5.23", "cuda-graph-max-bs"), 0, "gone", "--cuda-graph-max-bs-decode"),
        (("sglang==0.5.18", "cuda-graph-max-bs"), 0, "deprecated", "--cuda-graph-max-bs-decode"),
        (("sglang==0.5.9", "nothing-like-it"), 3, "unknown", None),
        (("vllm==0.11.0", "tensor-parallel-size"), 0, "ok", None),
    ],
)
def test_a_release_is_told_from_the_table(
    words: tuple[str, str], code: int, status: str, replacement: str | None, capsys: Capture
) -> None:
    assert flags(*words, "--json") == code
    found = document(capsys)
    assert (found["status"], found["replacement"]) == (status, replacement)


def test_a_release_that_is_not_known_is_told_by_the_nearest_lower_one(capsys: Capture) -> None:
    flags("sglang==0.5.16", "--json")
    found = document(capsys)
    assert (found["version"], found["how"]) == ("0.5.15", "table")
    assert "nearest lower one" in found["note"]
    assert all("nearest lower one" in flag["note"] for flag in found["flags"])


@pytest.mark.parametrize("name", ["sglang==0.1", "lmdeploy==1.0", "sglang=="])
def test_what_no_release_is_has_its_own_exit_code(name: str) -> None:
    with pytest.raises(K2Error) as caught:
        flags(name)
    assert caught.value.exit_code == 3


def test_a_server_that_is_none_has_its_own_exit_code() -> None:
    with pytest.raises(K2Error) as caught:
        flags("nobody")
    assert (caught.value.code, caught.value.exit_code) == ("no_such_server", 3)


def test_all_flags_of_a_servers_build(fleet: StandingFleet, capsys: Capture) -> None:
    assert flags("kimi", "--json", fleet=fleet) == 0
    found = document(capsys)
    assert (found["engine"], found["version"], found["how"]) == ("sglang", "0.5.23", "source")
    assert (found["path"], found["modified"], found["took_s"]) == ("/opt/sglang", ["srt/models/deepseek_v2.py"], 0.41)
    assert [flag["name"] for flag in found["flags"]] == [flag.name for flag in BUILD.flags]
    assert found["flags"][2]["required"] is True
    assert fleet.closed


def test_a_table_for_people(fleet: StandingFleet, capsys: Capture) -> None:
    flags("kimi", fleet=fleet)
    assert capsys.readouterr().out.splitlines() == [
        "5 flags of the source of sglang 0.5.23 in /opt/sglang, read in 0.41 s",
        "at commit 0123456789ab",
        "modified: srt/models/deepseek_v2.py",
        "FLAG                           TYPE   DEFAULT  SAYS                 CHOICES",
        "--tp-size                      int    1",
        "--load-format                  str    auto                          auto, pt",
        "--model-path                   str !",
        "--disable-cuda-graph           bool   False    deprecated, use --x",
        "--num-continuous-decode-steps  int    1        no effect",
    ]


def test_one_flag_for_people(fleet: StandingFleet, capsys: Capture) -> None:
    assert flags("kimi", "--tensor-parallel-size", fleet=fleet) == 0
    assert capsys.readouterr().out.splitlines() == [
        "--tp-size: ok",
        "  type    int",
        "  default 1",
        "  also    --tensor-parallel-size",
        "  effect  yes, it is looked at after a start",
        "  note    --tensor-parallel-size is another name of it",
        "  help    ranks",
        "  source  the source of sglang 0.5.23 in /opt/sglang",
    ]


def test_an_unknown_flag_tells_what_is_near(fleet: StandingFleet, capsys: Capture) -> None:
    assert flags("kimi", "load-formt", fleet=fleet) == 3
    assert "near: --load-format" in capsys.readouterr().out


def test_a_variable_is_not_taken_for_a_flag_that_nobody_knows(fleet: StandingFleet, capsys: Capture) -> None:
    assert flags("kimi", "NCCL_PROTO", fleet=fleet) == 3
    assert "written like a variable" in capsys.readouterr().out


def test_no_default_is_not_told_as_one(capsys: Capture) -> None:
    assert flags("sglang==0.5.23", "api-key") == 0
    assert "default" not in capsys.readouterr().out
    assert flags("sglang==0.5.23", "api-key", "--json") == 0
    assert document(capsys)["default"] == "None"
