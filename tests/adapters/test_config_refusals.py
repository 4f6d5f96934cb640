"""What is never written into the operator's config, and a file that is never written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.settings import ProfileSettings
from tests.adapters.test_config_writer import BASE, NODE, Saved, profile


def test_a_file_that_nobody_may_write_is_not_replaced_either(tmp_path: Path) -> None:
    saved = Saved(f"{NODE}{BASE}", tmp_path)
    saved.path.chmod(0o444)
    with pytest.raises(K2Error, match="can't be written: it is read-only; it was left as it is"):
        saved.writer.save_profile(profile())
    assert saved.is_as_it_was
    assert os.listdir(tmp_path) == ["config.toml"]


@pytest.mark.parametrize("text", [f"{NODE}{BASE}", f'{NODE}[profiles]\nbase = {{ cmd = "x --a 1" }}\n'])
@pytest.mark.parametrize(
    ("value", "words"), [("a\udcff", "env.A has bytes that are no text in UTF-8"), ("a\n\x01b", "control characters")]
)
def test_a_value_that_no_config_can_have_is_refused_in_words(text: str, value: str, words: str, tmp_path: Path) -> None:
    saved = Saved(text, tmp_path)
    with pytest.raises(K2Error, match=words) as refused:
        saved.writer.save_profile(ProfileSettings("base", cmd="x --a 1", env={"A": value}))
    assert refused.value.exit_code is ExitCode.USAGE
    assert saved.is_as_it_was
