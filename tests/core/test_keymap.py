"""The key map keeps its promises: one meaning a key, one word an action."""

from __future__ import annotations

from collections import Counter

from k2tui.core.keymap import ACTIONS, BY_ID, clashes, moved

FORBIDDEN = {f"ctrl+{letter}" for letter in "sbajwz"}


def test_no_key_has_two_meanings() -> None:
    assert clashes(ACTIONS) == ()


def test_ids_and_command_words_are_unique() -> None:
    assert len(BY_ID) == len(ACTIONS)
    assert [word for word, count in Counter(action.word for action in ACTIONS).items() if count > 1] == []


def test_every_action_says_what_it_is() -> None:
    for action in ACTIONS:
        assert action.keys
        assert action.label
        assert action.meaning
        assert action.scope in {"anywhere", "server", "rows", "benches", "log", "plot", "sheet"}


def test_no_action_lives_on_a_key_that_multiplexers_take() -> None:
    assert not {key for action in ACTIONS for key in action.keys} & FORBIDDEN


def test_no_action_needs_ctrl_or_alt_but_leaving() -> None:
    for action in ACTIONS:
        if action.id != "app.leave":
            assert any("+" not in key or key == "shift+tab" for key in action.keys), action.id


def test_an_operator_can_move_a_key() -> None:
    by_id = {action.id: action for action in moved({"log.follow": "F"})}
    assert by_id["log.follow"].keys == ("F",)
    assert by_id["log.wrap"].keys == ("w",)


def test_named_keys_stay_when_a_letter_is_moved() -> None:
    by_id = {action.id: action for action in moved({"app.back": "b"})}
    assert by_id["app.back"].keys == ("b", "escape", "backspace")


def test_a_move_onto_a_taken_key_is_a_clash() -> None:
    assert clashes(moved({"log.follow": "w"})) == (("w", "log.follow", "log.wrap"),)
