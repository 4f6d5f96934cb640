"""What an operator changes in the launch sheet: a row of edits on top of a profile. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from k2tui.core.flags import identity, normal
from k2tui.core.verbs import ProfileChange

_ENV = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one flag or variable."""

    name: str
    """A flag's name without dashes, or a variable's name."""
    value: str | None
    """As typed; None: taken away."""
    is_env: bool


@dataclass(frozen=True)
class Draft:
    """A profile chosen and edits made, in order."""

    profile: str | None = None
    edits: tuple[Edit, ...] = ()

    def with_edit(self, edit: Edit) -> Draft:
        """One more edit."""
        return replace(self, edits=(*self.edits, edit))

    def taken_back(self) -> Draft:
        """Without the last edit."""
        return replace(self, edits=self.edits[:-1])

    def reset(self) -> Draft:
        """Without any edit."""
        return replace(self, edits=())

    def change(self, given: Mapping[str, bool] | None = None) -> ProfileChange:
        """The same for the fleet; the last edit of a name counts. `given`: which names the profile itself has."""
        last: dict[tuple[bool, str], Edit] = {}
        for edit in self.edits:
            last[edit.is_env, edit.name if edit.is_env else identity(edit.name)] = edit
        kept = last.values()
        has = given or {}
        return ProfileChange(
            profile=self.profile,
            set={e.name: "false" if e.value is None else (e.value or "true") for e in kept if not e.is_env},
            unset=tuple(e.name for e in kept if e.is_env and e.value is None and has.get(e.name, True)),
            env={e.name: e.value for e in kept if e.is_env and e.value is not None},
        )


def edit_of(text: str) -> Edit | None:
    """An edit as typed: `--flag value`, `flag value`, `--switch`, or `NAME=value`. None for nothing."""
    text = text.strip()
    if not text:
        return None
    if not text.startswith("-") and (found := _ENV.fullmatch(text)) and found[1].upper() == found[1]:
        return Edit(found[1], found[2], True)
    name, _, value = text.partition("=") if re.match(r"--?[\w.-]+=", text) else text.partition(" ")
    return Edit(normal(name), value.strip(), False)
