"""Secrets, known by their names, their values and their shapes, and what is shown in their place."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

MASK = "***"
"""What is shown in a secret's place."""

SHORTEST_KNOWN = 6
"""Characters. A shorter secret is masked by its name only: as a value it would blank out half of any text."""

_WORD_BREAK = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_SECRET = re.compile(
    "KEYS?|APIKEYS?|PASSPHRASE|PWD|PAT|AUTH|AUTHORIZATION|BEARER"
    "|.*(?:TOKEN|APIKEY|SECRETS?|PASSWORDS?|PASSWD|COOKIES?|CREDENTIALS?)"
)
_LANGUAGE = re.compile("FIRST|LAST|NEXT|PER|INTER|EOS|BOS|PAD|UNK|SEP|MASK|STOP|IMAGE|AUDIO|VIDEO|DRAFT|THINK")
"""Words that make TOKEN a piece of language: `bucket-time-to-first-token`, `eos-token`."""
_PLACE = re.compile("FILE|PATH|DIR|SOCK|SOCKET|URL|NAME|TYPE|MODE|COUNT|LEN|LENGTH|SIZE|PARSER|MAP")
"""Last words of a name that says where a secret is, or counts something: `SSH_AUTH_SOCK`, `speculative-token-map`."""


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """True for the name of a variable, flag or field that holds a secret, such as `HF_TOKEN` or `--api-key`."""
    if name.startswith(("NCCL_", "--nccl", "CUDA_")):
        return False
    words = [word.upper() for word in _WORD_BREAK.split(name) if word]
    if not words or _PLACE.fullmatch(words[-1]) or words == ["PWD"]:
        return False
    is_variable = name.isupper()
    for at, word in enumerate(words):
        if _SECRET.fullmatch(word) is None:
            continue
        if word in {"TOKEN", "KEY", "KEYS"} and not is_variable and at < len(words) - 1:
            continue  # a flag or field is named by its last word: `token-usage`, `key-value-heads`
        if word == "TOKEN" and at and _LANGUAGE.fullmatch(words[at - 1]):
            continue
        return True
    return False


# A secret's name, then `=`, `:` or (a flag) a space, then its value. The name of a token count or of a bare `key` is
# not enough: `#token: 512`, `missing key: lm_head` are what logs are made of.
_NAMED = re.compile(
    r"""(?ix)
    (?<![\#A-Za-z0-9])
    (?P<name> (?:[A-Za-z0-9]+[_-]){0,8}?
        (?: api[_-]?keys? | access[_-]?keys? | (?:secret|private|license|encryption|signing|master)[_-]?key
          | [A-Za-z]*token | [A-Za-z]*secret | [A-Za-z]*passw(?:or)?d | passphrase | auth | authorization
          | (?:set-)?cookies? | credentials? )
        (?:_[A-Za-z0-9]+){0,3} )
    (?P<between> ["']?\]? (?: \s*[=:]\s* | ["'],\s*(?=["']) ) | [ ](?=[^\s-]) )
    (?P<value> (?:bearer|basic)[ ]+[^\s"',;)}\]]+ | "[^"\n]*" | '[^'\n]*' | [^\s"',;)}\]]+ )
    """
)
_NOT_SECRET = re.compile(
    r"(?i)[\"']?(?:none|null|true|false|auto|found|not|missing|required|invalid|\[.*|\{.*|<.*|\*\*\*)?[\"']?$"
)
_COUNT = re.compile(r"-?[\d.]+%?$")

_SHAPES = re.compile(
    r"""(?x)
    (?<![A-Za-z0-9_-]) (?:
        hf_ (?: (?=[a-z]*[A-Z0-9])[A-Za-z0-9]{8,} | [a-z]{20,} )
      | sk- (?=[A-Za-z_-]*[0-9]|[A-Za-z0-9_-]{20})[A-Za-z0-9_-]{8,}
      | A[KS]IA[0-9A-Z]{12,}
      | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_[A-Za-z0-9_]{16,} | glpat-[A-Za-z0-9_-]{12,}
      | xox[abprs]-[A-Za-z0-9-]{8,} | AIza[A-Za-z0-9_-]{30,} | nvapi-[A-Za-z0-9_-]{16,}
      | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?
    )
    | (?<=://) [^\s/@:"']* : [^\s/@"']+ (?=@)
    | (?i:(?<=bearer[ ]) [^\s"',;]{8,} | (?<=cookie:[ ]) [^"'\n]+ | (?<=authorization:[ ]basic[ ]) [A-Za-z0-9+/=]{8,})
    | (?<=-----BEGIN[ ])(?:[A-Z]+[ ])?PRIVATE[ ]KEY----- [\s\S]*? (?:-----END[ A-Z]*-----|\Z)
    """
)

_TOKEN = re.compile(r"""token["']?\s?[=:]\s?["']?(?![\s\d])|token["']?\]|token["'],""")
_GITHUB = re.compile(r"gh[pousr]_|github_pat_")


def _may_hold_secrets(text: str) -> bool:
    """False for nearly every line of a log, by plain searches: an alternation costs ten times as much."""
    low = text.lower()
    return (
        ("token" in low and ("-token " in low or _TOKEN.search(low) is not None))
        or "key" in low
        or "secret" in low
        or "passw" in low
        or "passphrase" in low
        or "auth" in low
        or "cookie" in low
        or "credential" in low
        or "bearer " in low
        or "hf_" in low
        or "sk-" in low
        or ("://" in low and "@" in low)
        or "akia" in low
        or "asia" in low
        or "eyj" in low
        or "xox" in low
        or "aiza" in low
        or "nvapi-" in low
        or "glpat-" in low
        or _GITHUB.search(low) is not None
    )


def mask(text: str, known: Collection[str] = ()) -> str:
    """The text with every secret masked: the known values, values beside a secret's name, and secrets' shapes."""
    for value in sorted(known, key=len, reverse=True) if known else ():
        if len(value) >= SHORTEST_KNOWN and value in text:
            text = text.replace(value, MASK)
    if not _may_hold_secrets(text):
        return text
    return _SHAPES.sub(MASK, _NAMED.sub(_mask_named, text))


def _mask_named(found: re.Match[str]) -> str:
    name, between, value = found["name"], found["between"], found["value"]
    is_flag = found.start() > 0 and found.string[found.start() - 1] == "-"
    is_count = name.lower().endswith("token") and _COUNT.match(value)
    if is_count or _NOT_SECRET.match(value) or not is_secret_name(name) or (between == " " and not is_flag):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{name}{between}{quote}{MASK}{quote}"


def masked_env(env: Mapping[str, str], known: Collection[str] = ()) -> dict[str, str]:
    """The variables with secret values masked."""
    return {name: MASK if value and is_secret_name(name) else mask(value, known) for name, value in env.items()}


def masked_argv(argv: Sequence[str], known: Collection[str] = ()) -> tuple[str, ...]:
    """The arguments with secret values masked, as one value after a flag, after `=`, or by their shape."""
    shown: list[str] = []
    hide_next = False
    for token in argv:
        flag, equals, value = token.partition("=")
        if token.startswith("-") and not _is_number(token):
            hide_next = is_secret_name(flag) and not equals
            shown.append(f"{flag}={MASK}" if equals and value and is_secret_name(flag) else mask(token, known))
        else:
            shown.append(MASK if hide_next and token else mask(token, known))
    return tuple(shown)


def secret_values(argv: Sequence[str], env: Mapping[str, str]) -> frozenset[str]:
    """The values that must never be shown: of secret variables and of secret flags."""
    found = {value for name, value in env.items() if value and is_secret_name(name)}
    hide_next = False
    for token in argv:
        flag, equals, value = token.partition("=")
        if token.startswith("-") and not _is_number(token):
            hide_next = is_secret_name(flag) and not equals
            if equals and value and is_secret_name(flag):
                found.add(value)
        elif hide_next and token:
            found.add(token)
    return frozenset(found)


def _is_number(token: str) -> bool:
    return token[1:2].isdigit() or token[1:3].lstrip(".").isdigit()
