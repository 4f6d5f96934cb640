"""What is known of each flag and variable of a command on the build that will run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from k2tui.core.builds import Build, BuildFlag, Found, Match, Takes, look_up
from k2tui.core.engine_flags import ENGINES, releases_with, replacement_of
from k2tui.core.flag_combinations import Asked, combinations
from k2tui.core.flag_knowledge import Kind, Known, knowledge_of
from k2tui.core.flag_values import wrong_value
from k2tui.core.flags import Part, identity, is_flag
from k2tui.core.gpu_families import NEEDS, capability_of
from k2tui.core.preflight import SettingCheck, Weight
from k2tui.core.secrets import MASK, masked_argv
from k2tui.core.variable_checks import RANK, check_variable
from k2tui.core.versions import is_within

_NOT_READ = "not checked: the build was not read"


def check_settings(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    engine: str,
    build: Build | None = None,
    gpu_names: Sequence[str] = (),
) -> tuple[SettingCheck, ...]:
    """One check for each flag, then one for each variable, in the order of the command.

    Names are those of `Setting`. What the build requires and the command lacks comes after the flags. `gpu_names`: of
    the GPUs that it will run on; empty: not known.
    """
    asked = Asked.of(masked_argv(argv), env, gpu_names)
    judge = _Judge(asked, engine, build)
    return (*judge.flags(), *judge.missing(), *(judge.variable(name) for name in env))


class _Judge:
    """One command against one build."""

    def __init__(self, asked: Asked, engine: str, build: Build | None) -> None:
        self._asked, self._engine, self._build = asked, engine, build
        self._version = None if build is None else build.version
        self._names = (
            {} if build is None else {name: flag for flag in build.flags for name in (flag.name, *flag.aliases)}
        )
        # a table is a release, and what runs may be another one; what was read on the node is what runs
        self._is_guess = build is not None and build.how == "table" and build.note is not None
        self._said: dict[str, list[SettingCheck]] = {}
        for rule, text in combinations(asked, engine=engine, version=self._version):
            found = SettingCheck("", rule.weight, text, rule.basis)
            self._said.setdefault(identity(rule.name), []).append(found)

    def flags(self) -> Iterator[SettingCheck]:
        """Each flag once, whatever its spellings, at its first place."""
        groups: dict[str, list[Part]] = {}
        for part in self._asked.command.parts:
            key = " ".join(part.values) if part.name is None else identity(part.name)
            groups.setdefault(key, []).append(part)
        has_model = self._asked.has("model-path")
        for parts in groups.values():
            if parts[-1].name is None:
                yield self._stray(parts[-1], has_model)
                continue
            name = f"--{parts[-1].name}"
            checks = [replace(check, name=name) for check in self._findings(parts)]
            yield max(checks, key=lambda check: RANK.index(check.weight))  # the first of the heaviest

    def missing(self) -> Iterator[SettingCheck]:
        """What the build requires and nobody gave."""
        for flag in () if self._build is None else self._build.flags:
            given = any(self._asked.has(name) for name in (flag.name, *flag.aliases))
            if flag.required and not given and not self._is_positional(flag):
                yield SettingCheck(f"--{flag.name}", Weight.BLOCK, "missing: it is required")

    def variable(self, name: str) -> SettingCheck:
        """What is known of a variable of the command."""
        return check_variable(name, self._asked, engine=self._engine, version=self._version)

    def _is_positional(self, flag: BuildFlag) -> bool:
        is_model = identity(flag.name) == "model-path"
        return is_model and any(part.name is None for part in self._asked.command.parts)

    def _stray(self, part: Part, has_model: bool) -> SettingCheck:
        words = " ".join(part.values)
        if self._asked.command.head[-1:] == ("serve",) and not has_model and len(part.values) == 1:
            return SettingCheck(words, Weight.FINE, "the model")
        if self._build is None:
            return SettingCheck(words, Weight.UNKNOWN, _NOT_READ)
        return SettingCheck(words, Weight.BLOCK, "belongs to no flag", "a switch before it takes no value")

    def _findings(self, parts: Sequence[Part]) -> Iterator[SettingCheck]:
        """Everything that can be said of one flag; at least one thing."""
        part, engine = parts[-1], self._engine
        name = part.name or ""
        flag, check = self._find(part)
        yield from self._known(flag.name if flag is not None else name, part)
        if check is not None:
            yield check
        if flag is not None:
            yield from self._of_flag(flag, part)
            if engine == "sglang" and "_" in part.tokens[0].partition("=")[0]:
                yield SettingCheck("", Weight.BLOCK, f"spelt with dashes: --{flag.name}", "", f"--{flag.name}")
        if len(parts) > 1:
            yield SettingCheck(
                "", Weight.WARN, f"given {_times(len(parts))}: the last counts", "argparse takes the last"
            )
        yield from self._said.get(identity(name), ())

    def _of_flag(self, flag: BuildFlag, part: Part) -> Iterator[SettingCheck]:
        """What the build itself says of this flag and its values."""
        wrong = _wrong(flag, part)
        if wrong is not None:
            yield SettingCheck("", Weight.BLOCK, wrong)
        if flag.refused:
            instead = f"gone: use {flag.replacement}" if flag.replacement else "gone, and nothing stands for it"
            yield SettingCheck("", Weight.BLOCK, instead, "the build refuses it in so many words", flag.replacement)
        elif flag.deprecated:
            instead = f": use {flag.replacement}" if flag.replacement else ""
            yield SettingCheck("", Weight.NOTE, f"deprecated{instead}", "the build says so", flag.replacement)
        yield SettingCheck("", Weight.FINE, "known")

    def _known(self, name: str, part: Part) -> Iterator[SettingCheck]:
        """What is known beyond the build: traps, needs, what has no effect."""
        is_here = name in self._names
        for known in knowledge_of(self._engine, name, self._version):
            if known.value is not None:
                if known.value not in part.values:
                    continue
                if known.kind is Kind.GONE and self._version is None:
                    continue
            elif known.kind is Kind.GONE or (known.kind is Kind.DEPRECATED and self._build is None):
                continue  # the build knows better; without one, nothing tells whether it holds
            elif known.kind is Kind.DEPRECATED and not is_here:
                continue
            if known.until is not None and self._version is None:
                continue
            yield _of_known(known, known.weight)
        for need in NEEDS if self._engine == "sglang" else ():
            if name not in need.flags or need.value not in part.values:
                continue
            if (need.since or need.until) and not (
                self._version is not None and is_within(self._version, need.since, need.until)
            ):
                continue
            wrong = [gpu for gpu in self._asked.gpu_names if _cannot(gpu, need.majors)]
            if wrong:
                text = f"{need.value} {need.text}"
                yield SettingCheck("", need.weight, text, f"{need.basis}; here is {wrong[0]}")

    def _find(self, part: Part) -> tuple[BuildFlag | None, SettingCheck | None]:
        """The build's flag for this part, as its parser finds it, and what there is to say of the spelling."""
        name = part.name or ""
        if self._build is None:
            return None, SettingCheck("", Weight.UNKNOWN, _NOT_READ)
        found = look_up(self._build, name)
        if found.flag is not None and found.match is not Match.PREFIX:
            flag = found.flag
            if "." in name and flag.type == "json":  # vllm: a part of a JSON argument
                flag = replace(flag, type=None, choices=None)
            return flag, None
        if self._engine == "vllm" and (other := self._vllm_spelling(name, part.tokens[0])) is not None:
            return other, None
        if found.flag is not None and part.tokens[0].startswith("--"):
            full = f"--{found.names[0]}"
            basis = "argparse takes the beginning of a name while only one begins so"
            return found.flag, SettingCheck("", Weight.NOTE, f"short for {full}", basis, full)
        return None, self._refused(name, found)

    def _vllm_spelling(self, name: str, token: str) -> BuildFlag | None:
        """`--no-x` of a switch, `-O3`: vllm utils, FlexibleArgumentParser."""
        switch = self._names.get(name.removeprefix("no-"))
        if name.startswith("no-") and switch is not None and switch.type == "bool":
            return switch
        if token.startswith("-O") and "O" in self._names:
            return replace(self._names["O"], takes=Takes.MAYBE, type=None, choices=None)
        return None

    def _refused(self, name: str, found: Found) -> SettingCheck:
        weight = Weight.WARN if self._is_guess else Weight.BLOCK
        for known in _gone(self._engine, name):
            if known.replacement is None or self._has(known.replacement):
                return _of_known(known, weight)
        instead = replacement_of(self._engine, name) if self._engine in ENGINES else None
        if instead is not None and self._has(instead):
            return SettingCheck("", weight, f"gone: use {instead}", "a release between says so itself", instead)
        if found.match is Match.AMBIGUOUS:
            some = ", ".join(f"--{other}" for other in found.names[:3])
            return SettingCheck("", weight, f"ambiguous: {some}", "argparse refuses the beginning of several names")
        spans = releases_with(self._engine, name) if self._engine in ENGINES else ()
        if spans:
            first, last = spans[-1]
            when = first if first == last else f"{first} to {last}"
            return SettingCheck("", weight, f"not in this version: {when}", "the flags of each known release")
        if found.names:
            near = f"--{found.names[0]}"
            return SettingCheck("", weight, f"unknown: {near}?", "", near)
        return SettingCheck("", weight, "unknown to this build")

    def _has(self, flag: str) -> bool:
        return flag.lstrip("-").partition("=")[0] in self._names


def _gone(engine: str, name: str) -> tuple[Known, ...]:
    """What is known of a flag that this build lacks, whichever release took it away; the newest first."""
    known = [known for known in knowledge_of(engine, name, None) if known.kind is Kind.GONE and known.value is None]
    return tuple(reversed(known))


def _of_known(known: Known, weight: Weight) -> SettingCheck:
    return SettingCheck("", weight, known.text, known.basis, known.replacement)


def _wrong(flag: BuildFlag, part: Part) -> str | None:
    """What is wrong with the values, a few words; None when they are fine, or masked."""
    values = part.values
    if flag.takes is Takes.NOTHING:
        return None if not values else f"takes no value, found {_cut(values[0])}"
    if not is_flag(part.tokens[0]):
        return None  # a model without its flag
    if not values:
        return None if flag.takes is Takes.MAYBE or flag.takes is Takes.SEVERAL else "needs a value"
    if len(values) > 1 and flag.takes is not Takes.SEVERAL:
        return f"takes one value, found {len(values)}"
    single = replace(flag, takes=Takes.ONE)
    for value in values:
        said = None if value in ("", MASK) else wrong_value(single, value)
        if said is not None:
            return said.removeprefix(f"--{flag.name} ")
    return None


def _cannot(gpu: str, majors: frozenset[int]) -> bool:
    capability = capability_of(gpu)
    return capability is not None and capability[0] not in majors


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _cut(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"
