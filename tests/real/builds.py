"""What the installed SGLang accepts, as k2tui reads it, against what its own parser holds."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.real.perform import StoryEnds, Table, Theatre, end_everything, perform
from tests.real.stage import Stage, claim

READ_S = 2.0
"""How long reading may take on the node."""
_ITS_OWN = """
import argparse, json
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser(add_help=False)
ServerArgs.add_cli_args(parser)
plain = lambda value: value if isinstance(value, (str, int, float, bool, type(None), list, dict)) else str(value)
print("\\nk2own " + json.dumps([
    {"options": a.option_strings, "nargs": a.nargs, "default": plain(a.default), "required": a.required,
     "choices": None if a.choices is None else [str(choice) for choice in a.choices]}
    for a in parser._actions
]))
"""
_TAKES = {"0": "nothing", "None": "one", "?": "maybe"}


def play(theatre: Theatre, table: Table) -> None:
    """Nothing is started."""
    print("What the installed SGLang accepts")
    stage = theatre.stage("builds")
    with contextlib.suppress(StoryEnds):
        flags(stage, table)
    end_everything(stage)


def flags(stage: Stage, table: Table) -> None:
    """Read it, compare it, ask for single flags."""
    patch_of(stage).unlink(missing_ok=True)  # of a journey that was killed
    with table.proves(f"its flags are read in under {READ_S:.0f} s, without importing torch", needed=True) as told:
        code, found = stage.ask_json("flags", "toy")
        claim(code == 0 and len(found) == 1, f"exit {code}: {found[-1:]}")
        (build,) = found
        claim(build["how"] == "source", f"by {build['how']}: {build['note']}")
        claim(build["loaded"] == [], f"loaded: {build['loaded']}")
        took_s = float(str(build["took_s"]))
        claim(took_s < READ_S, f"it took {took_s:.2f} s")
        claim(build["modified"] == [], f"modified: {build['modified']}")
        told.append(f"{len(listed(build))} flags of SGLang {build['version']} in {took_s:.2f} s; nothing is modified")
    with table.proves("they equal what its own parser holds: names, takes, choices, default, required") as told:
        own = by_its_own_parser(stage)
        ours = {key(one): as_compared(one) for one in listed(build)}
        wrong = sorted(
            f"--{max(names, key=len)}: {ours.get(names, 'missing')}, its own: {own.get(names, 'missing')}"
            for names in {*ours, *own}
            if ours.get(names) != own.get(names)
        )
        claim(not wrong, f"{len(wrong)} differ: {'; '.join(wrong[:5])}")
        told.append(f"{len(own)} flags with {sum(map(len, own))} names are equal")
    with table.proves("a second look takes it from what is remembered") as told:
        code, found = stage.ask_json("flags", "toy")
        claim(code == 0 and found == [build], f"exit {code}: another answer")
    with table.proves("a flag that was renamed is told with what it is now, a dead one as dead") as told:
        (old,) = stage.ask_json("flags", "toy", "cuda-graph-max-bs")[1]
        claim((old["status"], old["replacement"]) == ("gone", "--cuda-graph-max-bs-decode"), f"{old}")
        (dead,) = stage.ask_json("flags", "toy", "num-continuous-decode-steps")[1]
        claim((dead["status"], dead["effect"]) == ("ok", "none"), f"{dead}")
        told.append(f"{old['note']}")
    with table.proves("a file that was patched is named") as told:
        patched(stage)


def patched(stage: Stage) -> None:
    """A module more in the installed package, and gone again."""
    more = patch_of(stage)
    more.write_text("# not of the release\n", encoding="ascii")
    try:
        (build,) = stage.ask_json("flags", "toy")[1]
    finally:
        more.unlink()
    claim(build["modified"] == ["srt/k2tui_journey_patch.py (added)"], f"modified: {build['modified']}")


def patch_of(stage: Stage) -> Path:
    """The file of a patch that nobody needs."""
    (root,) = (stage.engine.directory / "venv" / "lib").glob("python3*/site-packages/sglang/srt")
    return root / "k2tui_journey_patch.py"


def listed(build: dict[str, object]) -> list[dict[str, Any]]:
    found = build["flags"]
    assert isinstance(found, list)
    return found


def key(one: dict[str, Any]) -> frozenset[str]:
    return frozenset((one["name"], *one["aliases"]))


def as_compared(one: dict[str, Any]) -> tuple[object, ...]:
    choices = None if one["choices"] is None else frozenset(one["choices"])
    return one["takes"], choices, one["default"], one["required"]


def by_its_own_parser(stage: Stage) -> dict[frozenset[str], tuple[object, ...]]:
    """Names of a flag to the same, asked in the engine's own interpreter, which imports all of it."""
    done = subprocess.run(
        [str(stage.engine.python), "-c", _ITS_OWN], capture_output=True, text=True, timeout=300, check=False
    )
    answer = next((line[6:] for line in done.stdout.splitlines() if line.startswith("k2own ")), None)
    claim(answer, f"its own parser could not be asked: {done.stderr[-300:]}")
    own: dict[frozenset[str], tuple[object, ...]] = {}
    for action in json.loads(str(answer)):
        default = action["default"]
        word = None if default == "==SUPPRESS==" else default if isinstance(default, str) else repr(default)
        choices = None if action["choices"] is None else frozenset(action["choices"])
        names = frozenset(option.lstrip("-") for option in action["options"])
        own[names] = (_TAKES.get(str(action["nargs"]), "several"), choices, word, action["required"])
    return own


def main() -> int:
    """The flags alone."""
    return perform(play)


if __name__ == "__main__":
    sys.exit(main())
