from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from k2tui.adapters.config_file import (
    ConfigFile,
    audit_path,
    default_path,
    load_settings,
    starter_text,
    this_machine,
    trusted_hosts_path,
)
from k2tui.core.errors import ConfigErrors, ExitCode, K2Error
from k2tui.core.settings import NodeSettings, Settings

EXAMPLE = Path(__file__).parents[2] / "config.example.toml"
SAMPLE = """
theme = "k2-dark"
read_only = false
mouse = false
probe = { generate = "on-doubt" }
verify = { checks = "diff", max_s = 20 }

[nodes.gpu-a]
host = "gpu-a"
transport = "asyncssh"
home = "/data/k2tui"
disks = ["/data", "/dev/shm"]
tags = ["prod"]
confirm = "busy"

[servers.kimi]
node = "gpu-a"
engine = "sglang"
setup = ". /opt/sglang/bin/activate"
cwd = "/root/sglang"
gpus = "0-7"
port = 30000
profile = "reason"
on_crash = "stay"

[servers.by-hand]
node = "gpu-a"
log = "/data/eagle3/synth_100k/logs/sglang_inference.log"

[profiles.base]
cmd = "NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS python3 -m sglang.launch_server --model-path /m --tp-size 8"

[profiles.reason]
extends = "base"
flags = { reasoning-parser = "kimi_k2", tool-call-parser = "kimi_k2" }
env = {}
unset = []

[keys]
"log.follow" = "f"
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "config.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def error_of(path: Path | str, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigErrors) as caught:
        load_settings(str(path), environ or {})
    assert caught.value.exit_code is ExitCode.USAGE
    assert len(caught.value.lines) == 1
    return caught.value.lines[0]


def test_the_sample_of_the_design_is_right(tmp_path: Path) -> None:
    settings = load_settings(str(written(tmp_path, SAMPLE)), {})
    assert settings.servers["kimi"].gpus == tuple(range(8))
    assert settings.profiles["reason"].extends == "base"


def test_the_flag_wins_over_the_environment_and_that_over_the_usual_place(tmp_path: Path) -> None:
    flag, variable = tmp_path / "a.toml", tmp_path / "b.toml"
    flag.write_text('theme = "a"')
    variable.write_text('theme = "b"')
    environ = {"K2TUI_CONFIG": str(variable)}
    assert load_settings(str(flag), environ).theme == "a"
    assert load_settings(None, environ).theme == "b"
    assert ConfigFile(None, {"K2TUI_CONFIG": ""}).path == default_path()


def test_without_any_config_this_machine_is_shown() -> None:
    name = this_machine()
    node = NodeSettings(name=name, host=name, transport="local")
    assert load_settings(None, {}) == Settings(nodes={name: node})


def test_a_file_with_a_windows_byte_order_mark_and_line_ends_is_read(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbftheme = 'x'\r\nmouse = 'y'\r\n"
    assert error_of(written(tmp_path, text)).startswith(f"{tmp_path}/config.toml, line 2, mouse: ")


def test_a_missing_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    assert (
        error_of(path) == f"{path}: found no file, expected the file that --config names; k2tui config init writes one"
    )


def test_a_missing_file_of_the_environment(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match="found no file, expected the file that K2TUI_CONFIG names"):
        load_settings(None, {"K2TUI_CONFIG": str(tmp_path / "none.toml")})


def test_a_directory(tmp_path: Path) -> None:
    assert error_of(tmp_path) == f"{tmp_path}: found a directory, expected a file, such as config.toml in it"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    path.chmod(0)
    assert "found a file that can't be read (Permission denied), expected one that you may read" in error_of(path)


def test_a_file_behind_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, "") / "config.toml"
    assert (
        error_of(path) == f"{path}: found a file that can't be read (Not a directory), expected one that you may read"
    )


def test_a_loop_of_links(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.symlink_to(path)
    assert "can't be read (Too many levels of symbolic links)" in error_of(path)


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    path = written(tmp_path, b"theme = 'a'\n# caf\xe9\n")
    assert error_of(path) == f"{path}, line 2: found the byte 0xe9, expected text in UTF-8; save it as UTF-8"


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    assert "found a file above 4 MiB, expected a config" in error_of(written(tmp_path, b"#" * (4 << 20) + b"##"))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[servers.kimi]\nport = = 3", ", line 2, servers.kimi.port: found broken TOML (Invalid value, column 8)"),
        ("theme = 'a'\ntheme = 'b'", ", line 2, theme: found broken TOML (Cannot overwrite a value, column 12)"),
        ("mouse true", ", line 1: found broken TOML ("),
        ("a\0b = 1", ", line 1: found broken TOML ("),
        ("cmd = '''\nx", ", line 1, cmd: found broken TOML ("),
        ("x = " + "[" * 100_000, ": found broken TOML (nested too deep)"),
        ("x = " + "9" * 5_000, ": found broken TOML (Exceeds the limit (4300"),
    ],
    ids=["value", "twice", "no equals sign", "NUL", "no end", "deep", "large"],
)
def test_broken_toml(tmp_path: Path, text: str, place: str) -> None:
    line = error_of(written(tmp_path, text))
    assert place in line
    assert line.endswith("expected KEY = VALUE or [TABLE], text in quotes, each key once")


def test_nodes_come_from_the_ssh_config_and_what_it_includes(tmp_path: Path) -> None:
    ssh = tmp_path / ".ssh"
    (ssh / "more").mkdir(parents=True)
    (ssh / "config").write_text(
        "# Host gpu-comment\nInclude more/*\nHost gpu-a gpu-b *.example !gpu-x gpu-?\n  HostName 10.0.0.1\n"
        'host="gpu-c"\nInclude config\nMatch host gpu-match\nHost db\n'
    )
    (ssh / "more" / "one").write_text("Host gpu-included\nInclude missing\n")
    path = written(tmp_path, "[fleet]\nfrom_ssh_config = 'gpu-*'\n[nodes.gpu-a]\nuser = 'root'\n")
    settings = load_settings(str(path), {"HOME": str(tmp_path)})
    assert list(settings.nodes) == ["gpu-a", "gpu-included", "gpu-b", "gpu-c"]
    assert settings.nodes["gpu-a"].user == "root"


def test_without_an_ssh_config_a_pattern_gives_no_nodes(tmp_path: Path) -> None:
    path = written(tmp_path, "fleet = { from_ssh_config = '*' }")
    assert load_settings(str(path), {"HOME": str(tmp_path)}).nodes == {}


def test_the_starter_is_private_right_and_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "config.toml"
    file = ConfigFile(str(path), {})
    file.write_starter()
    assert path.read_text() == starter_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(file.load().nodes) == [this_machine()]
    path.write_text("theme = 'mine'")
    with pytest.raises(K2Error) as caught:
        file.write_starter()
    assert (caught.value.code, caught.value.exit_code) == ("exists", ExitCode.USAGE)
    assert path.read_text() == "theme = 'mine'"


def test_a_starter_never_follows_a_link(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(K2Error):
        ConfigFile(str(path), {}).write_starter()
    assert not (tmp_path / "elsewhere").exists()


def test_a_starter_that_can_not_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(K2Error, match="can't be written: File exists") as caught:
        ConfigFile(str(written(tmp_path, "") / "config.toml"), {}).write_starter()
    assert caught.value.exit_code is ExitCode.USAGE


def test_the_starter_becomes_right_settings_when_its_comments_are_taken_away(tmp_path: Path) -> None:
    lines = starter_text().split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith("# [nodes"))
    code = [re.sub("^# ", "", line) for line in lines[start:] if not re.match("# [A-Z.]", line)]
    settings = load_settings(str(written(tmp_path, "\n".join(code))), {})
    assert (list(settings.servers), list(settings.profiles)) == (["kimi"], ["base", "reason"])


def test_k2tuis_own_files_are_in_the_state_directory() -> None:
    assert trusted_hosts_path().parent == audit_path().parent
    assert trusted_hosts_path().name == "known_hosts"


def test_the_example_is_right() -> None:
    settings = load_settings(str(EXAMPLE), {"HOME": "/nonexistent"})
    assert set(settings.servers) == {"kimi", "by-hand"}


def test_the_path_alone_costs_no_parser_and_no_checks() -> None:
    code = (
        "import sys; from k2tui.adapters.config_file import ConfigFile; ConfigFile(None, {}).path;"
        "print(sorted({'tomllib', 'tomli', 'asyncio', 'k2tui.core.config'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
