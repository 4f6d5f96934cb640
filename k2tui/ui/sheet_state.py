"""What an operator changes in the launch sheet: a beginning, and a row of edits on top of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from k2tui.core.flags import identity, normal
from k2tui.core.verbs import ProfileChange

_ENV = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_ENV_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of one flag or variable."""

    name: str
    """A flag's name without dashes, or a variable's name."""
    value: str | None
    """As typed; None: taken away."""
    is_env: bool

    @property
    def of(self) -> tuple[bool, str]:
        """The same for every spelling of one flag."""
        return self.is_env, self.name if self.is_env else identity(self.name)


@dataclass(frozen=True)
class Draft:
    """What is begun from (a profile, a run, or a pasted command; the server's own profile without any), and edits."""

    profile: str | None = None
    run: str | None = None
    """A run's id."""
    cmd: str | None = None
    edits: tuple[Edit, ...] = ()
    """In order."""
    before: Draft | None = None
    """The draft that this beginning took the place of."""

    @classmethod
    def of(cls, change: ProfileChange) -> Draft:
        """A change that somebody has worded already, to be edited further."""
        edits = [Edit(normal(name), _typed(value), False) for name, value in change.set.items()]
        for name in change.unset:
            is_env = _ENV_NAME.fullmatch(name) is not None
            edits.append(Edit(name if is_env else normal(name), None, is_env))
        edits += [Edit(name, value, True) for name, value in change.env.items()]
        return cls(change.profile, change.run, change.cmd, tuple(edits))

    def with_edit(self, edit: Edit) -> Draft:
        """One more edit."""
        return replace(self, edits=(*self.edits, edit))

    def without(self, name: str, *, is_env: bool) -> Draft:
        """Without any edit of this flag or variable."""
        gone = Edit(name if is_env else normal(name), None, is_env).of
        return replace(self, edits=tuple(edit for edit in self.edits if edit.of != gone))

    def begun_from(self, *, profile: str | None = None, run: str | None = None, cmd: str | None = None) -> Draft:
        """Another beginning, without edits; this one can be had back."""
        return Draft(profile, run, cmd, before=self)

    def taken_back(self) -> Draft:
        """Without the last edit; without any, with the beginning before."""
        if self.edits:
            return replace(self, edits=self.edits[:-1])
        return self.before or self

    def reset(self) -> Draft:
        """Without any edit; where there are none, with the first beginning."""
        if self.edits:
            return replace(self, edits=())
        first = self
        while first.before is not None:
            first = first.before
        return replace(first, edits=())

    @property
    def beginning(self) -> Draft:
        """The same without edits."""
        return Draft(self.profile, self.run, self.cmd)

    def change(self, base_env: Collection[str] | None = None) -> ProfileChange:
        """The same for the fleet; the last edit of a name counts.

        `base_env`: the variables that the beginning has, so that none is taken away that is not there. None: not known.
        """
        last: dict[tuple[bool, str], Edit] = {edit.of: edit for edit in self.edits}
        kept = last.values()
        return ProfileChange(
            profile=self.profile,
            run=self.run,
            cmd=self.cmd,
            set={e.name: "false" if e.value is None else (e.value or "true") for e in kept if not e.is_env},
            unset=tuple(
                e.name for e in kept if e.is_env and e.value is None and (base_env is None or e.name in base_env)
            ),
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


def _typed(value: str) -> str | None:
    words: Mapping[str, str | None] = {"true": "", "false": None}
    return words.get(value, value)
