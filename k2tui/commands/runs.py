"""`k2tui runs`: every run of the servers, what it changed, how long it took, what was proved; and two side by side."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence

from k2tui.commands.listing import exit_code, opened
from k2tui.commands.narrow import only_server
from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.history import PastLaunch
from k2tui.core.run_compare import Difference, compare_runs, launches_of
from k2tui.core.run_words import change_words, changed_settings, command_of, ending_words, verdict_word
from k2tui.core.runs import Run
from k2tui.core.settings import Settings
from k2tui.core.telling import effect_json
from k2tui.core.verdicts import RunVerdict
from k2tui.core.words import UNKNOWN, duration
from k2tui.services.fleet import Fleet

HEAD = ("STARTED", "SERVER", "RUN", "WHY", "READY", "PROOF", "ENDED", "CHANGED")


def main(args: argparse.Namespace, wires: Wires) -> int:
    """List them, or compare two."""
    settings = wires.settings()
    if args.server is not None:
        settings = only_server(settings, args.server)
    return asyncio.run(_run(args, settings, wires, Output(as_json=args.json)))


async def _run(args: argparse.Namespace, settings: Settings, wires: Wires, output: Output) -> int:
    fleet = wires.fleet(settings)
    try:
        await opened(fleet)
        runs = {name: await fleet.runs(name) for name in settings.servers}
        if args.compare is not None:
            return _compare(fleet, runs, args.compare, output)
        if output.as_json:
            listed = [document for name in runs for document in _documents(fleet, name, runs[name])]
            output.json({"runs": listed})
        else:
            output.table(HEAD, [row for name in runs for row in _rows(fleet, name, runs[name])])
        return exit_code(fleet)
    finally:
        await fleet.close()


def before(runs: Sequence[Run], at: int) -> Run | None:
    """The run before the one in this place, of runs newest first, that was really started."""
    return next((run for run in runs[at + 1 :] if not run.is_planned), None)


def _rows(fleet: Fleet, name: str, runs: Sequence[Run]) -> list[list[str]]:
    past = launches_of(fleet.server(name))
    return [
        [
            UNKNOWN if run.started_at is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started_at)),
            name,
            run.run_id,
            run.why,
            duration(past[run.run_id].ready_s if run.run_id in past else None),
            verdict_word(run),
            ending_words(run),
            change_words(run, before(runs, at)),
        ]
        for at, run in enumerate(runs)
    ]


def _documents(fleet: Fleet, name: str, runs: Sequence[Run]) -> list[dict[str, object]]:
    view = fleet.server(name)
    past = launches_of(view)
    return [run_document(run, before(runs, at), view.settings.node, past) for at, run in enumerate(runs)]


def run_document(run: Run, earlier: Run | None, node: str, past: Mapping[str, PastLaunch]) -> dict[str, object]:
    """One run for programs; null is not known. Secrets are masked on the node already."""
    launch = past.get(run.run_id)
    changes = [] if earlier is None else changed_settings(command_of(earlier), command_of(run))
    return {
        "run_id": run.run_id,
        "server": run.server,
        "node": node,
        "started_at": run.started_at,
        "started_by": run.started_by,
        "ended_at": run.ended_at,
        "why": run.why,
        "replaces": run.replaces,
        "profile": run.profile,
        "alive": run.alive,
        "is_planned": run.is_planned,
        "kept_by": run.kept_by,
        "attach": run.attach,
        "end": ending_words(run),
        "exit_code": run.exit_code,
        "restarts": run.restarts,
        "compared_with": None if earlier is None else earlier.run_id,
        "changed": [{"name": one.name, "is_env": one.is_env, "old": one.old, "new": one.new} for one in changes],
        "phases_s": None if launch is None else {phase.value: took for phase, took in launch.phases_s.items()},
        "ready_s": None if launch is None else launch.ready_s,
        "version": None if launch is None else launch.version,
        "verdict": _verdict_json(run.verdict),
        "argv": list(run.argv),
        "env": dict(run.env),
        "log": run.log_path,
    }


def _verdict_json(verdict: RunVerdict | None) -> dict[str, object] | None:
    if verdict is None:
        return None
    return {
        "verified": verdict.verified,
        "at": verdict.at,
        "text": verdict.text,
        "version": verdict.version,
        "modified": None if verdict.modified is None else list(verdict.modified),
        "effects": [effect_json(effect) for effect in verdict.effects],
    }


def _compare(fleet: Fleet, runs: Mapping[str, Sequence[Run]], ids: Sequence[str], output: Output) -> int:
    """All differences of two runs, the older one first."""
    one, other = sorted((_named(runs, run_id) for run_id in ids), key=lambda run: run.run_id)
    past = {**launches_of(fleet.server(one.server)), **launches_of(fleet.server(other.server))}
    rows = compare_runs(one, other, past)
    if output.as_json:
        differences = [{"group": r.group, "name": r.name, "one": r.one, "other": r.other} for r in rows]
        output.json({"one": one.run_id, "other": other.run_id, "differences": differences})
    elif rows:
        output.table(("", "", one.run_id, other.run_id), [_cells(row) for row in rows])
    else:
        output.line("they are the same in all that is known of them")
    return int(ExitCode.DONE)


def _cells(row: Difference) -> list[str]:
    return [row.group, row.name, row.words(row.one), row.words(row.other)]


def _named(runs: Mapping[str, Sequence[Run]], run_id: str) -> Run:
    """The run of this id; a part of it will do where that is clear."""
    found = [run for every in runs.values() for run in every if run_id in run.run_id]
    exact = [run for run in found if run.run_id == run_id]
    if len(exact or found) == 1:
        return (exact or found)[0]
    several = ", ".join(run.run_id for run in found[:5])
    raise K2Error(
        f"several runs are called {run_id}" if found else f"there is no run {run_id}",
        code="no_such_run",
        subject=run_id,
        hint=f"give more of it: {several}" if found else "k2tui runs lists them",
        exit_code=ExitCode.MISSING,
    )
