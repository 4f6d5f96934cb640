"""A run as JSON: what this side remembers of it when its node has thrown its directory away.

Secrets are masked in a `Run` already. Who its processes were is left out: nothing may be signalled from memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from k2tui.core.run_verdict_json import read_verdict, verdict_json
from k2tui.core.runs import Run

_TEXTS = ("profile", "started_by", "cwd", "setup", "replaces", "engine")
_TIMES = ("ended_at", "started_at")


def run_json(run: Run) -> str:
    """One line of ASCII; `run_from_json` reads it."""
    document: dict[str, object] = {
        "server": run.server,
        "run_id": run.run_id,
        "directory": run.directory,
        "port": run.port,
        "gpus": list(run.gpus),
        "argv": list(run.argv),
        "env": [list(pair) for pair in run.env],
        "exit_code": run.exit_code,
        "stop_asked": run.stop_asked,
        "restarts": run.restarts,
        "why": run.why,
        "kept_by": run.kept_by,
        "verdict": None if run.verdict is None else json.loads(verdict_json(run.verdict)),
    }
    document.update({name: getattr(run, name) for name in (*_TEXTS, *_TIMES)})
    return json.dumps(document)


def run_from_json(text: str) -> Run | None:
    """The run of such a line, not looked at (`alive` is None); None for what is none."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    server, run_id, directory = (_text(found, name) for name in ("server", "run_id", "directory"))
    if server is None or run_id is None or directory is None:
        return None
    pairs = [pair for pair in _list(found, "env") if isinstance(pair, list) and len(pair) == 2]
    verdict = found.get("verdict")
    return Run(
        server=server,
        run_id=run_id,
        directory=directory,
        port=_whole(found, "port"),
        gpus=tuple(gpu for gpu in _list(found, "gpus") if isinstance(gpu, int)),
        argv=tuple(map(str, _list(found, "argv"))),
        env=tuple((str(name), str(value)) for name, value in pairs),
        profile=_text(found, "profile"),
        started_by=_text(found, "started_by"),
        exit_code=_whole(found, "exit_code"),
        ended_at=_time(found, "ended_at"),
        stop_asked=found.get("stop_asked") is True,
        started_at=_time(found, "started_at"),
        restarts=_whole(found, "restarts") or 0,
        cwd=_text(found, "cwd"),
        setup=_text(found, "setup"),
        why=_text(found, "why") or "start",
        replaces=_text(found, "replaces"),
        kept_by=_text(found, "kept_by") or "setsid",
        verdict=read_verdict(json.dumps(verdict)) if isinstance(verdict, dict) else None,
        engine=_text(found, "engine"),
    )


def _text(document: Mapping[str, object], name: str) -> str | None:
    value = document.get(name)
    return value if isinstance(value, str) else None


def _list(document: Mapping[str, object], name: str) -> list[object]:
    value = document.get(name)
    return value if isinstance(value, list) else []


def _whole(document: Mapping[str, object], name: str) -> int | None:
    value = document.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _time(document: Mapping[str, object], name: str) -> float | None:
    value = document.get(name)
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e12 else None
