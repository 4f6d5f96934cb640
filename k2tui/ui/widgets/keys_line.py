"""The last line: the keys of this screen only, or what there is to say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from k2tui.core.keymap import Action
from k2tui.ui.present import key_text
from k2tui.ui.spans import Line, Span, clip, width_of
from k2tui.ui.widgets.pane import Drawn


def keys_line(
    actions: Iterable[Action],
    width: int,
    *,
    off: Collection[str] = (),
    labels: Mapping[str, str] | None = None,
    last: int = 2,
) -> Line:
    """` r restart  s stop … ? help  q quit`: whole entries only. The `last` ones stay when others must go.

    `labels` words an action for this place: `enter press`, `esc cancel`.
    """
    words = labels or {}
    items = [_entry(action, words.get(action.id, action.label), off=action.id in off) for action in actions]
    tail, head = items[len(items) - last :], items[: len(items) - last]
    room = width - 1 - sum(width_of(item) + 2 for item in tail)
    line: list[Span] = [(" ", "text")]
    for item in head:
        wide = width_of(item) + 2
        if wide > room:
            break
        line += [*item, ("  ", "text")]
        room -= wide
    for item in tail:
        line += [*item, ("  ", "text")]
    return tuple(line[:-1])


def _entry(action: Action, label: str, *, off: bool) -> Line:
    key = key_text(action.keys[0])
    if off:
        return ((f"{key} {label}", "key-off"),)
    return ((key, "key"), (f" {label}", "muted"))


class KeysLine(Drawn):
    """One row at the bottom."""

    def show_keys(
        self, actions: Iterable[Action], *, off: Collection[str] = (), labels: Mapping[str, str] | None = None
    ) -> None:
        """Show the keys; `off` are struck out."""
        self.put([(keys_line(actions, self.room.width, off=off, labels=labels), None)])

    def show_note(self, text: str, role: str) -> None:
        """Show a sentence in their place."""
        self.put([(clip(((" ", "text"), (text, role)), self.room.width), None)])
