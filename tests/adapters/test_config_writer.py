"""The operator's own file, changed in one place: everything else comes back byte for byte."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k2tui.adapters.config_file import ConfigFile
from k2tui.adapters.config_writer import TomlConfigWriter
from k2tui.core.config_document import profile_table
from k2tui.core.errors import ConfigErrors, ExitCode, K2Error
from k2tui.core.flags import identity
from k2tui.core.secrets import MASK
from k2tui.core.settings import ProfileSettings

CMD = "python3 -m sglang.launch_server --model-path /m --tp-size 8"
BASE = f'[profiles.base]   # pasted\ncmd = "{CMD}"\n'
NODE = "# mine\n[nodes.a]\n"
SERVER = '[servers.s]\nnode = "a"   # where\nprofile = "base" # what\n'


class Saved:
    """A file, and what a save made of it."""

    def __init__(self, before: str | bytes, directory: Path) -> None:
        self.path = directory / "config.toml"
        self.before = before.encode() if isinstance(before, str) else before
        self.path.write_bytes(self.before)
        self.config = ConfigFile(str(self.path), {})
        self.config.load()
        self.writer = TomlConfigWriter(self.config)

    def save(self, profile: ProfileSettings, server: str | None = None) -> str:
        assert self.writer.save_profile(profile, server=server) == str(self.path)
        loaded = ConfigFile(str(self.path), {}).load().profiles[profile.name]
        assert plain(loaded) == plain(profile)
        return self.path.read_bytes().decode()

    @property
    def is_as_it_was(self) -> bool:
        return self.path.read_bytes() == self.before and os.listdir(self.path.parent) == [self.path.name]


def plain(made: ProfileSettings) -> dict[str, Any]:
    """What a profile says, whatever its flags are spelled like."""
    table = profile_table(made)
    return {**table, "flags": {identity(name): value for name, value in table.get("flags", {}).items()}}


def profile(name: str = "p", **changes: Any) -> ProfileSettings:
    return ProfileSettings(name, **{"extends": "base", **changes})


EDITS: list[tuple[str, str, ProfileSettings, str]] = [
    # what is changed, the profile as it stands, the profile to be, the profile as it stands then
    ("a value", "flags = { a-b = 1 } # c", profile(flags={"a-b": 2}), "flags = { a-b = 2 } # c"),
    ("a value in another spelling", "flags = { a_b = 1 }", profile(flags={"a-b": 2}), "flags = { a_b = 2 }"),
    ("an alias", "flags = { tp = 1 }", profile(flags={"tp-size": 2}), "flags = { tp = 2 }"),
    ("a quoted key", 'flags = { "a-b" = "x" }', profile(flags={"a-b": "y"}), 'flags = { "a-b" = "y" }'),
    ("one more", "flags = { a = 1 }", profile(flags={"a": 1, "b": "x"}), 'flags = { a = 1, b = "x" }'),
    ("one less", "flags = { a = 1, b = 2 } # c", profile(flags={"b": 2}), "flags = { b = 2 } # c"),
    ("a number that becomes text", "flags = { a = 1 }", profile(flags={"a": "1"}), 'flags = { a = "1" }'),
    ("a switch", "flags = { a = 1 }", profile(flags={"a": True}), "flags = { a = true }"),
    ("a list", "flags = { a = [1, 2] }", profile(flags={"a": (1, 3)}), "flags = { a = [1, 3] }"),
    ("JSON", "flags = { a = { x = 1 } }", profile(flags={"a": {"x": 2}}), "flags = { a = { x = 2 } }"),
    ("all", 'env = { A = "1" }\n# why\nunset = ["tp-size"]', profile(), "env = {}\n# why"),
    ("nothing", "flags = {a=1} # c", profile(flags={"a": 1}), "flags = {a=1} # c"),
    ("nothing, odd", "flags = {a=1 ,  b= 2}", profile(flags={"b": 2, "a": 1}), "flags = {a=1 ,  b= 2}"),
    ("a first flag", "# below", profile(flags={"a": 1}), "flags = { a = 1 }\n# below"),
    ("a first unset", "# below", profile(unset=("tp-size",)), 'unset = ["tp-size"]\n# below'),
    (
        "a header of its own",
        '[profiles.p.env]\n# one\nA = "1" # a',
        profile(env={"A": "2"}),
        '[profiles.p.env]\n# one\nA = "2" # a',
    ),
    (
        "one more below a header",
        '[profiles.p.env]\nA = "1" # a\n# z',
        profile(env={"A": "1", "B": "2"}),
        '[profiles.p.env]\nA = "1" # a\nB = "2"\n# z',
    ),
    ("dotted keys", "flags.a = 1 # a\n# z", profile(flags={"a": 1, "b": 2}), "flags.a = 1 # a\nflags.b = 2\n# z"),
    ("dotted keys, one less", "flags.a = 1 # a\nflags.b = 2", profile(flags={"b": 2}), "flags.b = 2"),
    (
        "a list over lines",
        'unset = [\n  # gone\n  "tp-size",\n]',
        profile(unset=("tp-size",)),
        'unset = [\n  # gone\n  "tp-size",\n]',
    ),
]


@pytest.mark.parametrize(("before", "made", "after"), [edit[1:] for edit in EDITS], ids=[edit[0] for edit in EDITS])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("last", [False, True], ids=["in the middle", "at the end"])
def test_a_profile_that_is_there_is_changed_key_by_key(
    before: str, made: ProfileSettings, after: str, end: str, last: bool, tmp_path: Path
) -> None:
    head = f'{NODE}{BASE}\n# of p\n[profiles.p] # p\nextends = "base" # b\n'
    tail = "" if last else f"\n\n# the server\n{SERVER}"
    saved = Saved(f"{head}{before}\n{tail}".replace("\n", end), tmp_path)
    assert saved.save(made) == f"{head}{after}\n{tail}".replace("\n", end)


def test_a_new_profile_stands_at_the_end(tmp_path: Path) -> None:
    before = f"{NODE}{BASE}{SERVER}# the end"
    saved = Saved(before, tmp_path)
    made = profile("fast", flags={"a-b": 1, "c": (1, "x")}, env={"NCCL_PROTO": "LL"}, unset=("tp-size",))
    assert saved.save(made) == (
        f'{before}\n\n[profiles.fast]\nextends = "base"\nflags = {{ a-b = 1, c = [1, "x"] }}\n'
        'env = { NCCL_PROTO = "LL" }\nunset = ["tp-size"]\n'
    )


def test_the_server_uses_it_from_now_on(tmp_path: Path) -> None:
    saved = Saved(f"{NODE}{BASE}{SERVER}", tmp_path)
    assert 'profile = "fast" # what\n' in saved.save(profile("fast"), "s")


def test_a_server_that_only_was_watched_can_not_get_a_profile_and_the_file_stays(tmp_path: Path) -> None:
    saved = Saved(f'{NODE}{BASE}[servers.s]\nnode = "a"\nlog = "/l"\n', tmp_path)
    with pytest.raises(ConfigErrors, match="profile or log, not both"):
        saved.writer.save_profile(profile("fast"), server="s")
    assert saved.is_as_it_was


def test_a_long_command_is_written_a_flag_a_line(tmp_path: Path) -> None:
    cmd = f"NCCL_PROTO=LL {CMD} --trust-remote-code --model-loader-extra-config '{{\"a\": 1}}' --served-model-name kimi"
    text = Saved(f"{NODE}{BASE}", tmp_path).save(ProfileSettings("whole", cmd=cmd))
    assert text.endswith(
        "cmd = '''\nNCCL_PROTO=LL \\\n  python3 -m sglang.launch_server \\\n  --model-path /m \\\n  --tp-size 8 \\\n"
        "  --trust-remote-code \\\n  --model-loader-extra-config '{\"a\": 1}' \\\n  --served-model-name kimi\n'''\n"
    )


WHERE: list[tuple[str, str]] = [
    ("inline in an inline table", f'profiles = {{ base = {{ cmd = "{CMD}" }}, p = {{ extends = "base" }} }}'),
    ("inline", f'[profiles]\nbase = {{ cmd = "{CMD}" }}\np = {{ extends = "base" }}'),
    ("dotted from the top", f'profiles.base.cmd = "{CMD}"\nprofiles.p.extends = "base"\n'),
    ("dotted below a header", f'[profiles]\nbase.cmd = "{CMD}"\n"p".extends = "base"'),
    ("apart", f'[profiles.p]\nextends = "base"\n[nodes.b]\n[profiles.base]\ncmd = "{CMD}"'),
    ("indented", f'[profiles]\n  [profiles.base]\n  cmd = "{CMD}"\n  [ profiles . "p" ]\n    extends = "base"'),
    ("only by its flags", f'[profiles.base]\ncmd = "{CMD}"\n[profiles.p]\nextends = "base"\n[profiles.p.flags]\na = 1'),
]


@pytest.mark.parametrize("text", [text for _, text in WHERE], ids=[name for name, _ in WHERE])
@pytest.mark.parametrize("name", ["p", "new"])
def test_a_profile_is_saved_however_the_file_is_written(text: str, name: str, tmp_path: Path) -> None:
    saved = Saved(f"# first\n{text}\n", tmp_path)
    was = ConfigFile(str(saved.path), {}).load()
    made = profile(name, flags={"b": 2}, env={"A": "1"})
    assert saved.save(made, None).startswith("# first\n")
    now = ConfigFile(str(saved.path), {}).load()
    assert {**was.profiles, name: made} == now.profiles
    assert was.nodes == now.nodes


TABLES = '[servers.new]\nnode = "a"\nprofile = "new"\n\n[profiles.new]\n# it said so\ncmd = "python3 -m x --a 1"\n'


def test_an_adopted_server_is_put_at_the_end(tmp_path: Path) -> None:
    before = f"{NODE}{BASE}{SERVER}".replace("\n", "\r\n")
    saved = Saved(before, tmp_path)
    assert saved.writer.add_server(TABLES) == str(saved.path)
    added = f"\n{TABLES}".replace("\n", "\r\n")
    assert saved.path.read_bytes().decode() == before + added


def test_a_table_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)
    with pytest.raises(K2Error, match=r"has \[profiles.base\] already") as error:
        saved.writer.add_server(TABLES.replace("new", "base"))
    assert error.value.code == "exists"
    assert saved.is_as_it_was


def test_tables_that_the_config_can_not_have_are_not_written(tmp_path: Path) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)
    with pytest.raises(ConfigErrors, match="the name of a node"):
        saved.writer.add_server(TABLES.replace('node = "a"', 'node = "b"'))
    assert saved.is_as_it_was


@pytest.mark.parametrize(
    ("made", "where"),
    [
        (profile(env={"HF_TOKEN": MASK}), "env.HF_TOKEN"),
        (profile(flags={"api-key": MASK}), "flags.api-key"),
        (profile(flags={"a": ("x", f"k={MASK}")}), "flags.a"),
        (profile(flags={"a": {"b": [MASK]}}), "flags.a.b"),
        (ProfileSettings("p", cmd=f"python3 -m x --api-key {MASK}"), "cmd"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_masked_value_is_not_written(made: ProfileSettings, where: str, tmp_path: Path) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)
    with pytest.raises(K2Error, match=rf"can't be saved: {where} has a secret") as error:
        saved.writer.save_profile(made)
    assert error.value.hint is not None
    assert saved.is_as_it_was


def test_a_file_that_changed_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)
    saved.before += b"# typed just now\n"
    saved.path.write_bytes(saved.before)
    with pytest.raises(K2Error, match="was changed since k2tui read it") as error:
        saved.writer.save_profile(profile())
    assert error.value.code == "config_changed"
    assert saved.is_as_it_was


def test_a_file_that_changes_while_it_is_written_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)
    synced = os.fsync

    def typing(descriptor: int) -> None:
        synced(descriptor)
        saved.path.write_bytes(saved.before + b"# typed just now\n")

    monkeypatch.setattr(os, "fsync", typing)
    with pytest.raises(K2Error, match="was changed since"):
        saved.writer.save_profile(profile())
    saved.before += b"# typed just now\n"
    assert saved.is_as_it_was


def test_two_saves_in_a_row(tmp_path: Path) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)
    saved.save(profile())
    assert "[profiles.q]" in saved.save(profile("q", extends="p"))


def test_without_a_file_there_is_nothing_to_write_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    config = ConfigFile(None, {})
    config.load()
    with pytest.raises(K2Error, match="there is no config") as error:
        TomlConfigWriter(config).save_profile(ProfileSettings("p", cmd=CMD))
    assert (error.value.code, error.value.exit_code) == ("no_config_file", ExitCode.USAGE)
    assert not list(tmp_path.rglob("*.toml"))


def test_the_files_mode_stays(tmp_path: Path) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)
    saved.path.chmod(0o640)
    saved.save(profile())
    assert stat.S_IMODE(saved.path.stat().st_mode) == 0o640


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    target, place = tmp_path / "dotfiles" / "k2.toml", tmp_path / "config"
    target.parent.mkdir()
    place.mkdir()
    saved = Saved(f"{NODE}{BASE}", place)
    saved.path.rename(target)
    saved.path.symlink_to("../dotfiles/k2.toml")
    saved.save(profile())
    assert saved.path.is_symlink()
    assert b"[profiles.p]" in target.read_bytes()
    assert os.listdir(place) == ["config.toml"]
    assert os.listdir(target.parent) == ["k2.toml"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written(tmp_path: Path) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(K2Error, match="can't be written: Permission denied; it was left as it is"):
            saved.writer.save_profile(profile())
    finally:
        tmp_path.chmod(0o700)
    assert saved.is_as_it_was


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(K2Error, match="can't be written: No space left on device"):
        saved.writer.save_profile(profile())
    assert saved.is_as_it_was


def test_reading_a_config_does_not_load_what_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"{NODE}{BASE}")
    code = (
        "import sys\nfrom k2tui.adapters.config_file import ConfigFile\n"
        "from k2tui.adapters.config_writer import TomlConfigWriter\n"
        f"config = ConfigFile({str(path)!r}, {{}})\nconfig.load()\nTomlConfigWriter(config)\n"
        "sys.exit('tomlkit' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- any file

COMMENT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12).map(
    lambda text: f"#{text}\n"
)
NOISE = st.lists(COMMENT | st.just("\n") | st.just("  \n"), max_size=3).map("".join)
TAIL = st.sampled_from(["", " # said", "   #", "\t# é — 漢字"])
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)
SCALAR = TEXT | st.integers(-(2**40), 2**40) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
FLAGS = st.dictionaries(st.from_regex(r"[a-z]{1,3}-[a-z]{1,3}", fullmatch=True), SCALAR, max_size=3)
ENV = st.dictionaries(st.from_regex(r"[A-Z_]{1,4}", fullmatch=True), TEXT, max_size=3)


@st.composite
def tables(draw: st.DrawFn, name: str, rows: list[tuple[str, str]]) -> str:
    """A table with its keys in any order, comments anywhere."""
    header = draw(st.sampled_from([f"[{name}]", f"[ {name} ]", f"  [{name}]"]))
    lines = [f"{header}{draw(TAIL)}\n"]
    for key, value in draw(st.permutations(rows)):
        lines.append(draw(NOISE))
        blank = draw(st.sampled_from([" ", "", "  "]))
        lines.append(f"{draw(st.sampled_from(['', '  ']))}{key}{blank}={blank}{value}{draw(TAIL)}\n")
    return "".join(lines)


def literal(value: object) -> str:
    from k2tui.core.toml_text import toml_value

    return toml_value(value)


@st.composite
def profiles(draw: st.DrawFn) -> tuple[list[str], ProfileSettings]:
    """The pieces that a profile is written in, in the order of the file; what it says."""
    flags, env = draw(FLAGS), draw(ENV)
    rows = [("extends", '"base"')]
    pieces: list[str] = []
    for key, entries in (("flags", flags), ("env", env)):
        written = [(f'"{name}"' if draw(st.booleans()) else name, literal(value)) for name, value in entries.items()]
        how = draw(st.sampled_from(["inline", "header", "dotted"]))
        if not entries:
            continue
        if how == "inline":
            comma = draw(st.sampled_from([", ", ","]))
            pad = draw(st.sampled_from([" ", ""]))
            rows.append((key, f"{{{pad}{comma.join(f'{name} = {value}' for name, value in written)}{pad}}}"))
        elif how == "dotted":
            rows.extend((f"{key}.{name}", value) for name, value in written)
        else:
            pieces.append(draw(tables(f"profiles.p.{key}", written)))
    return [draw(tables("profiles.p", rows)), *pieces], profile(flags=flags, env=env)


@st.composite
def files(draw: st.DrawFn) -> tuple[list[tuple[bool, str]], Callable[[str], bytes]]:
    """Pieces of a file, each with whether it is the profile's; and how text becomes bytes."""
    mine, _ = draw(profiles())
    others = [
        draw(tables("profiles.base", [("cmd", f"'{CMD}'")])),
        draw(tables("nodes.a", [("tags", '["x", # y\n  "z"]')])),
        draw(tables("servers.s", [("node", '"a"'), ("profile", '"base"'), ("port", "0x7530")])),
        draw(tables("keys", [('"log.follow"', '"Z"')])),
    ]
    order: list[tuple[bool, str]] = [(False, each) for each in others]
    at = sorted(draw(st.lists(st.integers(0, len(others)), min_size=len(mine), max_size=len(mine))), reverse=True)
    for place, piece in zip(at, reversed(mine), strict=True):
        order.insert(place, (True, piece))
    order.insert(0, (False, draw(NOISE) + 'theme = "k2-dark"\n'))
    end, mark = draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from(["", "\ufeff"]))
    return order, lambda text: (mark + text.replace("\n", end)).encode()


@settings(max_examples=200, deadline=None)
@given(files(), profiles(), st.booleans())
def test_any_file_comes_back_byte_for_byte_but_for_the_profile(
    file: tuple[list[tuple[bool, str]], Callable[[str], bytes]],
    changed: tuple[list[str], ProfileSettings],
    is_new: bool,
) -> None:
    pieces, as_bytes = file
    made = changed[1] if not is_new else ProfileSettings("new", extends="p", flags=changed[1].flags)
    whole = as_bytes("".join(text for _, text in pieces))
    with TemporaryDirectory() as directory:
        saved = Saved(whole, Path(directory))
        was = ConfigFile(str(saved.path), {}).load()
        saved.save(made)
        now = ConfigFile(str(saved.path), {}).load()
        after = saved.path.read_bytes()
    assert (now.nodes, now.servers, now.keys) == (was.nodes, was.servers, was.keys)
    assert now.profiles == {**was.profiles, made.name: made}
    if is_new:
        assert after.startswith(whole)
        return
    at = 0
    for place, (is_mine, text) in enumerate(pieces):
        if is_mine:
            continue
        kept = as_bytes(text).removeprefix("\ufeff".encode())
        found = after.index(kept, at)
        between = any(mine for mine, _ in pieces[max(0, place - 1) : place])
        assert between or found == at or (at == 0 and after.startswith("\ufeff".encode()))
        at = found + len(kept)
    assert at == len(after) or pieces[-1][0]


@settings(max_examples=100, deadline=None)
@given(files(), profiles())
def test_every_comment_stays(
    file: tuple[list[tuple[bool, str]], Callable[[str], bytes]], changed: tuple[list[str], ProfileSettings]
) -> None:
    pieces, as_bytes = file
    whole = as_bytes("".join(text for _, text in pieces))
    with TemporaryDirectory() as directory:
        saved = Saved(whole, Path(directory))
        after = saved.save(changed[1])
    comments = [line for line in whole.decode().splitlines() if line.startswith("#")]
    kept = iter(after.splitlines())
    assert all(comment in kept for comment in comments)
