"""What a launch runs with otherwise than one would wish, although nothing failed."""

from __future__ import annotations

import re
from dataclasses import replace

from k2tui.core.facts import ArgsSeen, Remarked
from k2tui.core.families import family_of
from k2tui.core.flag_knowledge import dead_flags
from k2tui.core.launch import Finding, Launch, LaunchPhase

_MOST = 12
_UNSET = frozenset(("", "None", "none", "auto", "null"))


def of_arguments(launch: Launch, fact: ArgsSeen) -> Launch:
    """What the arguments alone tell: parsers that are missing or of another family, flags without effect."""
    number = fact.line.number
    for known in dead_flags(launch.engine or "sglang"):
        default = known.default or ""
        if fact.values.get(known.name.replace("-", "_"), default) != default:
            sentence = f"--{known.name} has no effect: {known.basis}."
            launch = _noted(launch, Finding("dead_flag", sentence, "source", number))
    return _parsers(launch, number)


def of_remark(launch: Launch, fact: Remarked) -> Launch:
    """What a line in passing tells of the settings."""
    number = fact.line.number
    if launch.phase.order >= LaunchPhase.READY.order:
        return launch  # from here on anybody's words are printed
    match fact.name:
        case "deprecated_flag":
            instead = f": use {fact.more}" if fact.more else ""
            return _noted(
                launch, Finding("deprecated_flag", f"{fact.subject} is deprecated{instead}.", "source", number)
            )
        case "setting_ignored" if fact.line.is_record:
            text = f"{fact.subject} has no effect here, by the engine's own word."
            return _noted(launch, Finding("setting_ignored", text, "source", number))
        case "backend_used":
            return _backend_used(launch, fact)
        case "backend_default":
            return _backend_default(launch, fact)
        case "backend_replaced":
            return _backend_replaced(launch, fact)
        case "parsers_detected":
            return _detected(launch, fact)
        case "on_cpu":
            return _noted(launch, Finding("on_cpu", "It runs on the CPU; no GPU is used.", "source", number))
    return launch


def of_draft(launch: Launch) -> Launch:
    """The draft model turns out to be the target once more."""
    draft = next((bar for bar in launch.bars if bar.draft and bar.phase is LaunchPhase.WEIGHTS), None)
    target = next((bar for bar in launch.bars if not bar.draft and bar.phase is LaunchPhase.WEIGHTS), None)
    path = launch.args.get("speculative_draft_model_path", "None")
    if draft is None or target is None or draft.progress.total != target.progress.total or draft.progress.total < 2:
        return launch
    if path not in _UNSET and path != launch.args.get("model_path"):
        return launch
    text = (
        "The draft is the target's own checkpoint, loaded a second time: right for a model with MTP layers of its own, "
        "else give --speculative-draft-model-path."
    )
    line = launch.mark.line_number if launch.mark is not None else 0
    return _noted(launch, Finding("draft_is_target", text, "inferred", line))


def of_port(launch: Launch, asked: int | None, bound: int, number: int) -> Launch:
    """The web server's own line names another port than the one that was asked for."""
    if asked in (None, 0, bound):
        return launch
    text = f"It listens on port {bound}; {asked} was asked for."
    return _noted(launch, Finding("other_port", text, "source", number))


def of_probed_port(launch: Launch, asked: int | None) -> Launch:
    """Somebody looked for it on another port than the one that its log names."""
    return launch if launch.port is None else of_port(launch, asked, launch.port, 0)


def runs_otherwise(launch: Launch) -> Finding | None:
    """A finding that contradicts what was asked for in so many words: the launch is misconfigured."""
    return next((found for found in launch.findings if found.name in _CONTRADICTS), None)


def _backend_used(launch: Launch, fact: Remarked) -> Launch:
    """vLLM's own word for the back-end, against the one that was asked for."""
    asked = launch.args.get("attention_backend", "None")
    if asked in _UNSET or _plain(asked) == _plain(fact.subject):
        return launch
    text = f"--attention-backend {asked} was asked for, and {fact.subject} is used."
    return _noted(launch, Finding("backend_ignored", text, "source", fact.line.number))


def _backend_default(launch: Launch, fact: Remarked) -> Launch:
    """SGLang takes a default although one back-end was given for both prefill and decode.

    From 0.5.2 on no version says so then (server_args.py); before, the two were dropped when they were the same.
    """
    asked = launch.args.get("prefill_attention_backend", "None")
    if asked in _UNSET or asked != launch.args.get("decode_attention_backend") or _plain(asked) == _plain(fact.subject):
        return launch
    text = f"{asked} was asked for, for prefill and decode, and {fact.subject} is used: give --attention-backend."
    return _noted(launch, Finding("backend_ignored", text, "source", fact.line.number))


def _plain(backend: str) -> str:
    return backend.casefold().replace("_", "").removesuffix("vllmv1")


def _backend_replaced(launch: Launch, fact: Remarked) -> Launch:
    """The line names what was asked for and what is used instead."""
    said = frozenset(re.findall(r"[\w-]+", fact.subject.casefold()))
    for name, of in (("attention_backend", "attention"), ("quantization", "quantiz"), ("moe_runner_backend", "moe")):
        if of not in fact.subject.casefold():
            continue
        asked = launch.args.get(name, "None")
        if asked in _UNSET or asked.casefold() not in said or asked.casefold() == fact.more.casefold():
            continue
        text = f"--{name.replace('_', '-')} {asked} was asked for, and in part at least {fact.more} is used."
        return _noted(launch, Finding("backend_replaced", text, "source", fact.line.number))
    return launch


def _parsers(launch: Launch, number: int) -> Launch:
    args, engine = launch.args, launch.engine or ""
    if "model_path" not in args or (engine == "sglang" and "reasoning_parser" not in args):
        return launch  # the line was cut: what it does not show may be set
    family = family_of(args["model_path"])
    if family is None:
        return launch
    wanted, found = family.reasoning.get(engine, ()), args.get("reasoning_parser", "None")
    if family.thinks and wanted and found in _UNSET - {"auto"}:
        text = f"{family.name} thinks, and no reasoning parser is set: its thoughts come back inside content. "
        launch = _noted(
            launch, Finding("no_reasoning_parser", f"{text}Set --reasoning-parser {wanted[0]}.", "inferred", number)
        )
    elif wanted and found not in _UNSET and found not in wanted:
        text = f"--reasoning-parser {found} is not of this family ({family.name}): {wanted[0]} is."
        launch = _noted(launch, Finding("other_reasoning_parser", text, "inferred", number))
    wanted, found = family.tools.get(engine, ()), args.get("tool_call_parser", "None")
    if wanted and found not in _UNSET and found not in wanted:
        text = f"--tool-call-parser {found} is not of this family ({family.name}): {wanted[0]} is."
        launch = _noted(launch, Finding("other_tool_parser", text, "inferred", number))
    return launch


def _detected(launch: Launch, fact: Remarked) -> Launch:
    """The engine read the chat template and names the parsers that fit it."""
    for name, flag, fits, missing in (
        ("reasoning_parser", "--reasoning-parser", fact.subject, "no_reasoning_parser"),
        ("tool_call_parser", "--tool-call-parser", fact.more, "no_tool_parser"),
    ):
        if fits in _UNSET or name not in launch.args or launch.args[name] not in _UNSET - {"auto"}:
            continue
        text = f"The chat template fits {flag} {fits}, by the engine's own word, and none is set."
        launch = _noted(launch, Finding(missing, text, "source", fact.line.number))
    return launch


def _noted(launch: Launch, finding: Finding) -> Launch:
    """The first of each name and text counts, and of a name that says all there is once is enough."""
    if len(launch.findings) >= _MOST or any(
        (known.name, known.text) == (finding.name, finding.text) or known.name == finding.name in _ONCE
        for known in launch.findings
    ):
        return launch
    return replace(launch, findings=(*launch.findings, finding))


_CONTRADICTS = frozenset(("other_port", "backend_ignored"))
_ONCE = frozenset(("other_port", "no_reasoning_parser", "no_tool_parser", "draft_is_target", "on_cpu"))
