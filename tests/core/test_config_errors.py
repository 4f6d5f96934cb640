"""Everything that can be wrong with a config, and the one line that an operator gets for it."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from k2tui.core.config import settings_from
from k2tui.core.errors import ConfigErrors, ExitCode
from k2tui.core.settings import Settings
from k2tui.core.toml_lines import key_lines

PROFILE = '[profiles.base]\ncmd = "python3 -m sglang.launch_server --model-path /m --tp-size 8"\n'
SERVER = '[nodes.gpu-a]\n[servers.kimi]\nnode = "gpu-a"\nprofile = "base"\n' + PROFILE
ONE_SERVER = "[nodes.gpu-a]\n{}[servers.kimi]\nnode = 'gpu-a'\n{}"

TOP = "theme, read_only, mouse, probe, verify, fleet, nodes, servers, profiles, matrix, alerts, keys"
NODE_KEYS = "host, user, port, proxy_jump, identity, transport, home, disks, tags, confirm"
SERVER_KEYS = (
    "node, engine, setup, python, cwd, gpus, port, profile, log, on_crash, supervisor, image, on_failure, drain"
)
PROFILE_KEYS = "extends, cmd, flags, env, unset"
GPUS = 'GPU numbers in quotes, such as "0-7" or "0,2,4-5", each once'
NOT_YET = "no such key: this version has not got it yet; take it out"
PORT = "a port, a number from 1 to 65535"
WORD = "one word that is not empty and has no - in front"
ON_CRASH = '"stay", or "restart:N/TIME" such as "restart:2/1h" (30s, 5m, 1h, 1d)'
KEY = 'a key: a character such as "f", or a name such as "f5", "space", "ctrl+r"'
NAME = "a name of letters, digits, _ . @ - that starts with a letter or digit, at most 64 long"
TEXT = "a text that is not empty, in quotes"

WRONG: list[tuple[str, str, str]] = [
    # what is wrong, the file, the line without the file's name
    (
        "an unknown key at the top",
        "red_only = true",
        f"line 1, red_only: found an unknown key (= true), expected another key here: {TOP}; did you mean read_only?",
    ),
    (
        "an unknown table at the top",
        "[server.kimi]\nnode = 'a'",
        f"line 1, server: found an unknown key (= a table), expected another key here: {TOP}; did you mean servers?",
    ),
    (
        "an unknown key of a server",
        SERVER.replace("profile =", "prot = 3\nprofile ="),
        f"line 4, servers.kimi.prot: found an unknown key (= 3), expected another key here: {SERVER_KEYS};"
        " did you mean port?",
    ),
    (
        "an unknown key of a node, with a secret in it",
        "[nodes.gpu-a]\npassword = 'hunter2'",
        f"line 2, nodes.gpu-a.password: found an unknown key (= ***), expected another key here: {NODE_KEYS}",
    ),
    (
        "an unknown key of a profile",
        PROFILE + "flag = {}",
        f"line 3, profiles.base.flag: found an unknown key (= a table), expected another key here: {PROFILE_KEYS};"
        " did you mean flags?",
    ),
    (
        "a number for a switch",
        "read_only = 1",
        "line 1, read_only: found 1, expected true or false, without quotes",
    ),
    ("a switch for a text", "theme = true", f"line 1, theme: found true, expected {TEXT}"),
    (
        "a switch for a port",
        "[nodes.gpu-a]\nport = true",
        f"line 2, nodes.gpu-a.port: found true, expected {PORT}",
    ),
    (
        "port 0",
        SERVER.replace("profile =", "port = 0\nprofile ="),
        f"line 4, servers.kimi.port: found 0, expected {PORT}",
    ),
    (
        "port 70000",
        SERVER.replace("profile =", "port = 70000\nprofile ="),
        f"line 4, servers.kimi.port: found 70000, expected {PORT}",
    ),
    (
        "a port in quotes",
        SERVER.replace("profile =", "port = '30000'\nprofile ="),
        f'line 4, servers.kimi.port: found "30000", expected {PORT}',
    ),
    (
        "a server on a node that is not there",
        SERVER.replace('node = "gpu-a"', "node = 'gpu-b'"),
        'line 3, servers.kimi.node: found "gpu-b", expected the name of a node (gpu-a); did you mean gpu-a?',
    ),
    (
        "a server on a node where there are none",
        "[servers.kimi]\nnode = 'gpu-a'\nlog = '/l'",
        'line 2, servers.kimi.node: found "gpu-a", expected the name of a node: the file has no [nodes.gpu-a]',
    ),
    (
        "a server without a node",
        "[nodes.gpu-a]\n[servers.kimi]\nlog = '/l'",
        "line 2, servers.kimi.node: found nothing, expected the name of a node (gpu-a)",
    ),
    (
        "a server over several nodes",
        "[nodes.gpu-a]\n[servers.kimi]\nnodes = ['gpu-a', 'gpu-b']\nlog = '/l'",
        'line 3, servers.kimi.nodes: found ["gpu-a", "gpu-b"], expected node = "NAME": nodes is reserved for one server'
        " over several nodes",
    ),
    (
        "a server with a profile that is not there",
        SERVER.replace('profile = "base"', "profile = 'bass'"),
        'line 4, servers.kimi.profile: found "bass", expected the name of a profile (base); did you mean base?',
    ),
    (
        "a server with neither profile nor log",
        "[nodes.gpu-a]\n[servers.kimi]\nnode = 'gpu-a'",
        "line 2, servers.kimi.profile: found nothing, expected profile = NAME to start it, or log = PATH to watch it",
    ),
    (
        "a server with a profile and a log",
        SERVER.replace("profile =", "log = '/l'\nprofile ="),
        'line 4, servers.kimi.log: found "/l", expected profile or log, not both: what k2tui starts has a log of its'
        " own",
    ),
    (
        "a log with a relative path",
        ONE_SERVER.format("", "log = 'server.log'"),
        'line 4, servers.kimi.log: found "server.log", expected an absolute path, or one that starts with ~/',
    ),
    (
        "an engine that k2tui does not know",
        SERVER.replace("profile =", "engine = 'sglan'\nprofile ="),
        'line 4, servers.kimi.engine: found "sglan", expected one of sglang, vllm; did you mean sglang?',
    ),
    (
        "an engine that the command contradicts",
        SERVER.replace("profile =", "engine = 'vllm'\nprofile ="),
        'line 4, servers.kimi.engine: found "vllm", expected "sglang": that is what the command of profile base starts',
    ),
    *(
        (
            f"GPUs {gpus}",
            SERVER.replace("profile =", f"gpus = {gpus}\nprofile ="),
            f"line 4, servers.kimi.gpus: found {gpus}, expected {GPUS}",
        )
        for gpus in ('"7-0"', '"0,0"', '"0-3,2"', '""', '"a"', '"0-99999"', "8", "[0, 1]")
    ),
    *(
        (
            f"on_crash {value}",
            SERVER.replace("profile =", f"on_crash = {value}\nprofile ="),
            f"line 4, servers.kimi.on_crash: found {value}, expected {ON_CRASH}",
        )
        for value in ('"restart"', '"restart:0/1h"', '"restart:2/1y"', '"restart:-1/1h"', "true")
    ),
    ("an empty host", "[nodes.gpu-a]\nhost = ''", f'line 2, nodes.gpu-a.host: found "", expected {WORD}'),
    (
        "a host that is an option of ssh",
        "[nodes.gpu-a]\nhost = '-oProxyCommand=x'",
        f'line 2, nodes.gpu-a.host: found "-oProxyCommand=x", expected {WORD}',
    ),
    (
        "a transport that is none",
        "[nodes.gpu-a]\ntransport = 'ssh'",
        'line 2, nodes.gpu-a.transport: found "ssh", expected one of asyncssh, openssh, local; did you mean openssh?',
    ),
    (
        "a confirm that is none",
        "[nodes.gpu-a]\nconfirm = 'often'",
        'line 2, nodes.gpu-a.confirm: found "often", expected one of never, busy, always',
    ),
    (
        "a relative home",
        "[nodes.gpu-a]\nhome = 'k2tui'",
        'line 2, nodes.gpu-a.home: found "k2tui", expected an absolute path, or one that starts with ~/',
    ),
    (
        "one disk where a list is due",
        "[nodes.gpu-a]\ndisks = '/data'",
        'line 2, nodes.gpu-a.disks: found "/data", expected a list, such as ["/data", "/dev/shm"]',
    ),
    (
        "a number in a list of disks",
        "[nodes.gpu-a]\ndisks = [\n  '/data',\n  3,\n]",
        "line 4, nodes.gpu-a.disks.1: found 3, expected an absolute path, such as /data/k2tui",
    ),
    (
        "a node's name with a slash",
        "[nodes.'a/b']",
        f'line 1, nodes."a/b": found "a/b", expected {NAME}',
    ),
    (
        "a node without its name",
        "[nodes]\nhost = 'gpu-a'",
        'line 2, nodes.host: found "gpu-a", expected a table: [nodes.NAME] stands before such keys',
    ),
    ("nodes that are no table", "nodes = 3", "line 1, nodes: found 3, expected a table: [nodes]"),
    (
        "a probe that is none",
        "[probe]\ngenerate = 'sometimes'",
        'line 2, probe.generate: found "sometimes", expected one of on-doubt, never, always',
    ),
    (
        "an unknown key in an inline table",
        "theme = 'a'\nprobe = { genrate = 'never' }",
        'line 2, probe.genrate: found an unknown key (= "never"), expected another key here: generate;'
        " did you mean generate?",
    ),
    (
        "checks that are none",
        "verify = { checks = 'some' }",
        'line 1, verify.checks: found "some", expected one of diff, all, none',
    ),
    *(
        (
            f"max_s {value}",
            f"[verify]\nmax_s = {value}",
            f"line 2, verify.max_s: found {value}, expected a number of seconds above 0",
        )
        for value in ("0", "-1", "true", "inf", '"20"')
    ),
    (
        "a profile that extends one that is not there",
        PROFILE + "[profiles.reason]\nextends = 'bsae'",
        'line 4, profiles.reason.extends: found "bsae", expected the name of a profile (base); did you mean base?',
    ),
    (
        "a loop of extends",
        "[profiles.a]\nextends = 'b'\n[profiles.b]\nextends = 'c'\n[profiles.c]\nextends = 'a'",
        "line 2, profiles.a.extends: found a loop: a -> b -> c -> a,"
        " expected a chain that ends at a profile without extends",
    ),
    (
        "a profile that extends itself",
        "[profiles.a]\nextends = 'a'",
        "line 2, profiles.a.extends: found a loop: a -> a, expected a chain that ends at a profile without extends",
    ),
    (
        "a profile with cmd and extends",
        PROFILE + "[profiles.reason]\nextends = 'base'\ncmd = 'python3 x'",
        'line 4, profiles.reason.extends: found "base", expected cmd or extends, not both: a profile starts from one'
        " command",
    ),
    (
        "a command with a pipe",
        "[profiles.base]\ncmd = 'python3 -m sglang.launch_server | tee log'",
        "line 2, profiles.base.cmd: found | tee log, expected a command without a pipe; k2tui keeps the log by itself",
    ),
    (
        "a command without a closing quote",
        "[profiles.base]\ncmd = 'python3 -m x --name \"my model'",
        'line 2, profiles.base.cmd: found "my model, expected a closing "',
    ),
    (
        "a variable that is no text",
        PROFILE + "[profiles.base.env]\nNCCL_P2P_DISABLE = 1",
        'line 4, profiles.base.env.NCCL_P2P_DISABLE: found 1, expected a text in quotes, such as "1"',
    ),
    (
        "a secret variable that is no text",
        PROFILE + "env = { HF_TOKEN = 12345678 }",
        'line 3, profiles.base.env.HF_TOKEN: found ***, expected a text in quotes, such as "1"',
    ),
    (
        "a variable's name with a dash",
        PROFILE + "env = { NCCL-PROTO = 'LL' }",
        "line 3, profiles.base.env.NCCL-PROTO: found this name, expected a variable's name of letters, digits and _,"
        " such as NCCL_PROTO",
    ),
    (
        "a flag's name with a blank",
        PROFILE + "flags = { 'tp size' = 8 }",
        'line 3, profiles.base.flags."tp size": found this name, expected a flag\'s name, such as "reasoning-parser"',
    ),
    (
        "one flag in two spellings",
        PROFILE + "flags = { tp-size = 8, tensor_parallel_size = 4 }",
        "line 3, profiles.base.flags.tensor_parallel_size: found the same flag as tp-size,"
        " expected each flag once; take one out",
    ),
    (
        "a date for a flag",
        PROFILE + "flags = { revision = 2026-01-02 }",
        "line 3, profiles.base.flags.revision: found the date 2026-01-02, expected true, false, a text, a number,"
        " a list of these, or a table for one JSON argument",
    ),
    (
        "an empty list for a flag",
        PROFILE + "flags = { cuda-graph-bs = [] }",
        "line 3, profiles.base.flags.cuda-graph-bs: found [], expected at least one value; true gives the flag alone,"
        " false takes it away",
    ),
    (
        "a switch in a flag's list",
        PROFILE + "flags = { cuda-graph-bs = [1, true] }",
        "line 3, profiles.base.flags.cuda-graph-bs.1: found true, expected a text or a number in the list",
    ),
    (
        "a date in a flag's JSON",
        PROFILE + "flags = { extra = { a = { b = 10:00:00 } } }",
        "line 3, profiles.base.flags.extra.a.b: found the date 10:00:00, expected a value that JSON can hold:"
        " text, number, true, false, list or table",
    ),
    (
        "flags that are no table",
        PROFILE + "flags = ['--tp-size']",
        'line 3, profiles.base.flags: found ["--tp-size"], expected a table: [profiles.base.flags]',
    ),
    (
        "an unset of what the base does not give",
        PROFILE + "[profiles.reason]\nextends = 'base'\nunset = ['--tp-sise']",
        'line 5, profiles.reason.unset.0: found "tp-sise", expected a flag or variable that the base gives;'
        " did you mean tp-size?",
    ),
    (
        "an unset that is no list",
        PROFILE + "unset = 'tp-size'",
        'line 3, profiles.base.unset: found "tp-size", expected a list, such as ["tp-size"]',
    ),
    (
        "a NUL byte",
        "[nodes.gpu-a]\nhost = 'x'\nuser = \"a\\u0000b\"",
        r'line 3, nodes.gpu-a.user: found "a\u0000b", expected text without a NUL byte',
    ),
    (
        "a terminal escape",
        'theme = "\\u001b[31m"',
        r'line 1, theme: found "\u001b[31m", expected text without control characters',
    ),
    ("a job", "[jobs.synth]\nkind = 'infer'", f"line 1, jobs: found a table, expected {NOT_YET}"),
    (
        "a capture",
        PROFILE + "capture = { layers_in = [3] }",
        f"line 3, profiles.base.capture: found a table, expected {NOT_YET}",
    ),
    (
        "an action that is not there",
        '[keys]\n"log.folow" = "f"',
        'line 2, keys."log.folow": found an unknown action, expected the id of an action (k2tui\'s help lists them);'
        " did you mean log.follow?",
    ),
    (
        "a key that is none",
        '[keys]\n"log.follow" = "ctlr+f"',
        f'line 2, keys."log.follow": found "ctlr+f", expected {KEY}',
    ),
    (
        "a key that another action has",
        '[keys]\n"log.follow" = "r"',
        'line 2, keys."log.follow": found "r", expected a key of its own: server.restart has it already;'
        " move that one too, or choose another",
    ),
    (
        "a key that is bound twice",
        '[keys]\n"log.follow" = "Z"\n"log.wrap" = "Z"',
        'line 3, keys."log.wrap": found "Z", expected a key of its own: log.follow has it already;'
        " move that one too, or choose another",
    ),
    (
        "an empty pattern for the ssh config",
        "[fleet]\nfrom_ssh_config = ''",
        f'line 2, fleet.from_ssh_config: found "", expected {TEXT}',
    ),
]


def read(text: str) -> Settings:
    parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return settings_from(parser.loads(text), path="k2.toml", locate=key_lines(text))


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_each_mistake_gives_one_line_with_file_line_key_and_a_way_out(text: str, expected: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        read(text)
    assert caught.value.lines == (f"k2.toml, {expected}",)
    assert caught.value.exit_code is ExitCode.USAGE


def test_all_mistakes_come_in_one_run_in_the_order_of_the_file() -> None:
    pieces = [
        "mouse = 'yes'\n",
        "[verify]\nmax_s = 0\n",
        "[nodes.a]\nport = 0\nhost = ''\n",
        "[servers.s]\nnode = 'b'\n",
    ]
    with pytest.raises(ConfigErrors) as caught:
        read("".join(pieces))
    keys = [line.split(": found")[0] for line in caught.value.lines]
    assert keys == [
        "k2.toml, line 1, mouse",
        "k2.toml, line 3, verify.max_s",
        "k2.toml, line 5, nodes.a.port",
        "k2.toml, line 6, nodes.a.host",
        "k2.toml, line 7, servers.s.profile",
        "k2.toml, line 8, servers.s.node",
    ]


def test_a_wrong_node_does_not_make_its_servers_wrong() -> None:
    with pytest.raises(ConfigErrors) as caught:
        read("nodes = { gpu-a = 3 }\n[servers.kimi]\nnode = 'gpu-a'\nlog = '/l'")
    assert len(caught.value.lines) == 1


def test_a_theme_is_held_against_the_names_that_exist() -> None:
    with pytest.raises(ConfigErrors) as caught:
        settings_from({"theme": "k2-drak"}, path="k", locate=lambda key: 1, themes=["k2-dark", "k2-light"])
    assert caught.value.lines == (
        'k, line 1, theme: found "k2-drak", expected a theme (k2-dark, k2-light); did you mean k2-dark?',
    )


def test_a_long_value_is_cut_and_a_secret_in_it_is_masked() -> None:
    with pytest.raises(ConfigErrors) as caught:
        read(f"mouse = '{'x' * 200}'\nread_only = 'hf_ABCDEFGHIJ1234567890'")
    assert len(caught.value.lines[0]) < 160
    assert "hf_" not in caught.value.lines[1]
