"""No test sees the operator's own files, and none is timed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("k2tui", deadline=None)
settings.load_profile("k2tui")

_OF_THE_OPERATOR = ("K2TUI_CONFIG", "NO_COLOR", "FORCE_COLOR", "SSH_AUTH_SOCK", "SSH_CONNECTION", "TMUX", "TMUX_PANE")
_DIRECTORIES = {
    "HOME": "",
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
    "XDG_DATA_HOME": ".local/share",
    "XDG_CACHE_HOME": ".cache",
}


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> None:
    """A shell that starts this in the background has SIGINT ignored, and every program below inherits that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def a_home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new, empty home directory for the whole run."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name, below in _DIRECTORIES.items():
            patch.setenv(name, str(home / below))
        for name in _OF_THE_OPERATOR:
            patch.delenv(name, raising=False)
        yield home
