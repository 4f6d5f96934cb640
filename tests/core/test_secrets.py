from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.secrets import MASK, is_secret_name, mask, masked_argv, masked_env, secret_values


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "WANDB_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "OPENAI_APIKEY",
        "PGPASSWORD",
        "MY_AUTH",
        "KUBE_CREDENTIALS",
        "SESSION_COOKIE",
        "GITHUB_PAT",
        "TOKEN_OF_GITHUB",
        "--api-key",
        "--admin-api-key",
        "--ssl-keyfile-password",
        "hf_token",
        "apiKey",
        "password",
    ],
)
def test_a_secrets_name(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "--tokenizer-path",
        "--max-total-tokens",
        "--reasoning-parser",
        "--ssl-keyfile",
        "--speculative-token-map",
        "--swa-full-tokens-ratio",
        "--bucket-time-to-first-token",
        "--kt-max-deferred-experts-per-token",
        "NCCL_PROTO",
        "NCCL_TOKEN",
        "TOKENIZERS_PARALLELISM",
        "SSH_AUTH_SOCK",
        "PWD",
        "num-key-value-heads",
        "author",
        "",
    ],
)
def test_a_name_that_only_looks_like_one(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("HF_TOKEN=hunter2 python3", "HF_TOKEN=*** python3"),
        ("export WANDB_API_KEY='a b'", "export WANDB_API_KEY='***'"),
        ("--api-key hunter2 --port 3", "--api-key *** --port 3"),
        ("--api-key=hunter2 --port 3", "--api-key=*** --port 3"),
        ("--api-key 12345", "--api-key ***"),
        ("ServerArgs(api_key='hunter2', tp_size=8)", "ServerArgs(api_key='***', tp_size=8)"),
        ('{"api_key": "hunter2", "x": 1}', '{"api_key": "***", "x": 1}'),
        ("['--api-key', 'hunter 2']", "['--api-key', '***']"),
        ("password: 123456", "password: ***"),
        ("MY_SECRET_THING=abc", "MY_SECRET_THING=***"),
        ("Authorization: Bearer abc123", "Authorization: ***"),
        ("bearer abcdefgh12", "bearer ***"),
        ("Cookie: a=b; c=d", "Cookie: ***"),
        ("http://user:pass@host:30000/v1", "http://***@host:30000/v1"),
        ("key AKIAIOSFODNN7EXAMPLE leaked", "key *** leaked"),
        ("login with hf_abcDEF123456", "login with ***"),
        ("using sk-proj-abcdefghijklmnop1", "using ***"),
        ("ghp_0123456789abcdefghij", "***"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc-def", "***"),
    ],
)
def test_a_secret_is_masked_by_name_or_shape(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Decode batch. #running-req: 1, #token: 1043, token usage: 0.01, gen throughput (token/s): 90.12",
        "max_total_num_tokens=123456, chunked_prefill_size=8192, eos_token='</s>', eos_token_id=2",
        "ServerArgs(api_key=None, tokenizer_path='/m', ssl_keyfile='/etc/k.pem', hf_overrides={})",
        "KeyError: 'model.layers.0' Unexpected key: lm_head.weight",
        "hf_transfer hf_hub_download task-scheduler sk-learn disk-cache",
        "git@host:/x ssh://git@host/x http://host:30000/v1 scp a@b:/c",
        "the author says: auth=none, token: true",
        "profiles.base.env.HF_TOKEN: found ***, expected a text; API_KEY: not set",
        "",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert mask(text) == text


def test_a_known_value_is_masked_wherever_it_stands() -> None:
    assert mask("got xhunter22x", {"hunter22"}) == f"got x{MASK}x"


def test_a_short_known_value_does_not_blank_out_the_text() -> None:
    assert mask("a1b1c1", {"1"}) == "a1b1c1"


def test_a_longer_known_value_is_masked_before_a_part_of_it() -> None:
    assert mask("secret-and-more", {"secret-", "secret-and-more"}) == MASK


def test_variables_are_masked_by_name_and_shape() -> None:
    env = {"HF_TOKEN": "hunter2", "EMPTY_TOKEN": "", "NCCL_PROTO": "LL", "X": "http://a:b@c"}
    assert masked_env(env) == {"HF_TOKEN": MASK, "EMPTY_TOKEN": "", "NCCL_PROTO": "LL", "X": "http://***@c"}


def test_arguments_are_masked_after_a_secret_flag_only() -> None:
    argv = ("python3", "--api-key", "hunter2", "--port", "3", "--admin-api-key=hunter3", "--enable-x")
    assert masked_argv(argv) == ("python3", "--api-key", MASK, "--port", "3", f"--admin-api-key={MASK}", "--enable-x")


def test_the_values_that_must_never_be_shown() -> None:
    argv = ("python3", "--api-key", "one", "--admin-api-key=two", "--port", "3")
    assert secret_values(argv, {"HF_TOKEN": "three", "NCCL_PROTO": "LL", "MY_TOKEN": ""}) == {"one", "two", "three"}


@given(st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    assert mask(mask(text)) == mask(text)


@given(st.text(), st.from_regex(r"[A-Za-z0-9]{12,30}", fullmatch=True), st.text())
def test_no_known_value_is_left(before: str, secret: str, after: str) -> None:
    assert secret not in mask(f"{before} {secret} {after}", {secret}).replace(MASK, "")


@given(st.from_regex(r"[!-&(-~]{1,20}", fullmatch=True).filter(lambda value: "*" not in value and "'" not in value))
def test_a_value_beside_a_secret_flag_is_never_left(value: str) -> None:
    assert masked_argv(["--api-key", "x" + value]) == ("--api-key", MASK)
