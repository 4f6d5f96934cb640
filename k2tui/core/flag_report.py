"""All that is known of a flag on a build: what the build says, and what is known beside it."""

from __future__ import annotations

from dataclasses import dataclass

from k2tui.core.builds import Build, BuildFlag, Found, Match, Takes, look_up
from k2tui.core.effects import wanted
from k2tui.core.effects.checks import VALUE
from k2tui.core.engine_flags import releases_with, replacement_of, versions
from k2tui.core.flag_knowledge import Kind, Known, knowledge_of
from k2tui.core.versions import is_within

_BASE = ("python3", "-m", "engine")


@dataclass(frozen=True, slots=True)
class FlagReport:
    """One flag on one build. What is not known is None."""

    name: str
    """Without dashes: as the build has it, or as it was asked for."""
    status: str
    """ok | deprecated | gone | unknown."""
    source: str
    """Where that is known from."""
    type: str | None = None
    takes: Takes | None = None
    default: str | None = None
    choices: tuple[str, ...] | None = None
    aliases: tuple[str, ...] = ()
    required: bool = False
    replacement: str | None = None
    """With dashes."""
    effect: str | None = None
    """yes: k2tui can see it after a start | none: this version does nothing with it | None: not known."""
    note: str | None = None
    help: str | None = None


def report(build: Build, name: str) -> FlagReport:
    """What is known of the flag that this name leads to, or why it leads to none."""
    found = look_up(build, name)
    plain = name.strip().lstrip("-").partition("=")[0]
    return _missing(build, plain, found) if found.flag is None else _accepted(build, found.flag, plain, found.match)


def reports(build: Build) -> tuple[FlagReport, ...]:
    """Every flag of a build, in its order."""
    return tuple(_accepted(build, flag, flag.name, Match.EXACT) for flag in build.flags)


def source_of(build: Build) -> str:
    """Where the flags of a build are known from, in a few words."""
    of = f"{build.engine} {build.version or 'of an unknown version'}"
    match build.how:
        case "table":
            return f"the release {of}"
        case "argparse":
            return f"the parser of {of}{f' in {build.path}' if build.path else ''}"
        case _:
            return f"the source of {of}{f' in {build.path}' if build.path else ''}"


def _accepted(build: Build, flag: BuildFlag, plain: str, match: Match) -> FlagReport:
    known = knowledge_of(build.engine, flag.name, build.version)
    # what holds of one value is a note; whether the flag is there, the build knows better
    of_flag = [one for one in known if one.value is None and one.kind is not Kind.GONE]
    deprecated = flag.deprecated or any(one.kind is Kind.DEPRECATED for one in of_flag)
    dead = any(one.effect == "none" for one in of_flag)
    seen = _is_seen(build, flag)
    notes = []
    if match is Match.ALIAS:
        notes.append(f"{_dashed(plain)} is another name of it")
    if match is Match.PREFIX:
        notes.append(f"{_dashed(plain)} is the beginning of this name only: write the whole name")
    if flag.refused:
        notes.append("the parser knows it only to refuse it")
    notes += [one.text for one in of_flag]
    notes += [f"{one.value}: {one.text}" for one in known if one.value is not None]
    told = next((one.replacement for one in of_flag if one.replacement is not None), None)
    return FlagReport(
        name=flag.name,
        status="gone" if flag.refused else "deprecated" if deprecated else "ok",
        source=_source(build, known),
        type=flag.type,
        takes=flag.takes,
        default=flag.default,
        choices=flag.choices,
        aliases=flag.aliases,
        required=flag.required,
        replacement=flag.replacement or told,
        effect="none" if dead else "yes" if seen else None,
        note=_note(build, notes),
        help=flag.help,
    )


def _missing(build: Build, plain: str, found: Found) -> FlagReport:
    """A name that the build has no flag for: it had, or will have, or nobody ever had."""
    known = [one for one in reversed(knowledge_of(build.engine, plain, None)) if one.kind is Kind.GONE]
    known = [one for one in known if one.value is None]
    spans = releases_with(build.engine, plain)
    older = [span for span in spans if build.version is not None and is_within(span[1], None, build.version)]
    notes = []
    if found.match is Match.AMBIGUOUS:
        notes.append(f"the parser refuses it as ambiguous: {', '.join(map(_dashed, found.names[:5]))}")
    if spans:
        notes.append(f"{build.engine} has it {_when(build.engine, spans)}")
    if older or known:
        told = [one.replacement for one in known if one.replacement is not None]
        said = replacement_of(build.engine, plain)
        words = [*told, *([] if said is None else [said])]
        there = next((word for word in words if look_up(build, word).match in (Match.EXACT, Match.ALIAS)), None)
        return FlagReport(plain, "gone", _source(build, known[:1]), replacement=there, note=_note(build, notes))
    if found.match is Match.UNKNOWN and not spans:
        notes.append(f"near: {', '.join(map(_dashed, found.names))}" if found.names else "no name is near")
    return FlagReport(plain, "unknown", _source(build, []), note=_note(build, notes))


def _is_seen(build: Build, flag: BuildFlag) -> bool:
    """Is there a check that sees its effect? That a server tells its value back is none."""
    asked = wanted(None, ((*_BASE, f"--{flag.name}", "x"), {}))
    return any(setting == f"--{flag.name}" and not check.startswith(VALUE) for check, setting in asked.settings.items())


def _when(engine: str, spans: tuple[tuple[str, str], ...]) -> str:
    newest = versions(engine)[-1]
    words = [
        f"from {first} on" if last == newest else f"in {first}" if first == last else f"from {first} to {last}"
        for first, last in spans
    ]
    return " and ".join(words)


def _source(build: Build, known: list[Known] | tuple[Known, ...]) -> str:
    return "; ".join(dict.fromkeys([source_of(build), *(one.basis for one in known)]))


def _note(build: Build, notes: list[str]) -> str | None:
    """What there is to say; a release that had to be guessed is said of every flag."""
    said = [*notes, *([build.note] if build.how == "table" and build.note else [])]
    return "; ".join(said) or None


def _dashed(name: str) -> str:
    return f"--{name}"
