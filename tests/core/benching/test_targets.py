"""URLs as they are typed, and what a command says of a server."""

from __future__ import annotations

import pytest

from k2tui.core.benching.plan import BenchTarget
from k2tui.core.benching.targets import base_url, decodes_speculatively, is_url, url_target
from k2tui.core.errors import ExitCode, K2Error


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "base"),
    [
        ("http://gpu-a:30000", "gpu-a", 30000, "/v1/chat/completions", "http://gpu-a:30000"),
        (" http://gpu-a:30000/ ", "gpu-a", 30000, "/v1/chat/completions", "http://gpu-a:30000"),
        ("http://gpu-a:30000/v1/", "gpu-a", 30000, "/v1/chat/completions", "http://gpu-a:30000"),
        ("http://gpu-a:30000/v1/chat/completions", "gpu-a", 30000, "/v1/chat/completions", "http://gpu-a:30000"),
        ("HTTPS://api.example.com", "api.example.com", 443, "/v1/chat/completions", "https://api.example.com:443"),
        ("http://proxy/kimi", "proxy", 80, "/kimi/v1/chat/completions", "http://proxy:80/kimi"),
        ("http://proxy/kimi/v1", "proxy", 80, "/kimi/v1/chat/completions", "http://proxy:80/kimi"),
        ("http://[::1]:8000", "::1", 8000, "/v1/chat/completions", "http://[::1]:8000"),
    ],
)
def test_a_url_names_a_server(url: str, host: str, port: int, path: str, base: str) -> None:
    target = url_target(url, "sk-1")
    assert (target.host, target.port, target.path, target.api_key) == (host, port, path, "sk-1")
    assert target.tls is url.lower().startswith("https")
    assert target.node is None
    assert base_url(target) == base
    assert is_url(target.name)


def test_one_server_has_one_name_with_and_without_the_last_slash() -> None:
    assert url_target("http://gpu-a:30000/").name == url_target("http://gpu-a:30000").name


@pytest.mark.parametrize(
    "url",
    ["kimi", "ftp://gpu-a", "http://", "http://gpu-a:99999", "http://gpu-a:x", "http://gpu a", "http://gpu-a/v1?key=1"],
)
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(K2Error) as refused:
        url_target(url)
    assert refused.value.exit_code is ExitCode.USAGE


def test_a_url_with_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(K2Error) as refused:
        url_target("http://me:hunter2@gpu-a:30000")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "speculates"),
    [
        ("", None),
        ("python3 -m sglang.launch_server --tp 8", False),
        ("python3 -m sglang.launch_server --speculative-algorithm EAGLE3", True),
        ("vllm serve /m --speculative-config={}", True),
    ],
)
def test_a_command_says_whether_it_drafts(words: str, speculates: bool | None) -> None:
    assert decodes_speculatively(words.split()) is speculates


def test_a_key_is_not_in_what_is_printed_of_a_target() -> None:
    assert "sk-1" not in repr(BenchTarget("kimi", api_key="sk-1"))
