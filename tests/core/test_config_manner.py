"""How a server is kept and restarted, as a config says it: what is wrong with it, one line each."""

from __future__ import annotations

import pytest

from k2tui.core.errors import ConfigErrors
from tests.core.test_config_errors import SERVER, read

WRONG: list[tuple[str, str, str]] = [
    (
        "a supervisor that is none",
        SERVER.replace("profile =", "supervisor = 'systemctl'\nprofile ="),
        'line 4, servers.kimi.supervisor: found "systemctl", expected one of setsid, systemd, tmux, docker;'
        " did you mean systemd?",
    ),
    (
        "docker without an image",
        SERVER.replace("profile =", "supervisor = 'docker'\nprofile ="),
        "line 2, servers.kimi.image: found nothing, expected the name of an image:"
        ' supervisor = "docker" runs it in one',
    ),
    (
        "an image without docker",
        SERVER.replace("profile =", "image = 'lmsysorg/sglang'\nprofile ="),
        'line 4, servers.kimi.image: found "lmsysorg/sglang", expected supervisor = "docker" beside it:'
        " nothing else runs in an image",
    ),
    (
        "an image that docker would take for an option",
        SERVER.replace("profile =", "supervisor = 'docker'\nimage = '--privileged'\nprofile ="),
        'line 5, servers.kimi.image: found "--privileged", expected the name of an image,'
        ' such as "lmsysorg/sglang:v0.5.9"',
    ),
    (
        "a drain without a unit",
        SERVER.replace("profile =", "drain = 60\nprofile ="),
        'line 4, servers.kimi.drain: found 60, expected a TIME in quotes, such as "60s" (30s, 5m, 1h, 1d)',
    ),
    (
        "a word for what follows a failure that is none",
        SERVER.replace("profile =", "on_failure = 'roll-back'\nprofile ="),
        'line 4, servers.kimi.on_failure: found "roll-back", expected one of ask, rollback, leave;'
        " did you mean rollback?",
    ),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_each_mistake_gives_one_line(text: str, expected: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        read(text)
    assert caught.value.lines == (f"k2.toml, {expected}",)


@pytest.mark.parametrize("supervisor", ["setsid", "systemd", "tmux"])
def test_what_runs_on_the_node_itself_needs_no_image(supervisor: str) -> None:
    text = SERVER.replace("profile =", f"supervisor = '{supervisor}'\nprofile =")
    assert read(text).servers["kimi"].supervisor == supervisor
