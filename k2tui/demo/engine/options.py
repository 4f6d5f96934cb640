"""SGLang's own command line: every flag of a release, its errors, and the server arguments that it resolves to."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from k2tui.demo.engine.releases import Release

_YELLOW = "\x1b[1;33m{}\x1b[0m"
_DEPRECATED = "'{}' is deprecated and will be removed in a future release. Use '{}' instead."
_DISABLE_GRAPHS = ("--disable-cuda-graph", "--cuda-graph-backend-{decode,prefill}=disabled")
GRAPH_MOST = 64
"""The largest batch with a graph, when nothing is asked for."""


@dataclass(frozen=True)
class Options:
    """A command line that was accepted."""

    release: Release
    argv: tuple[str, ...]
    server_args: Mapping[str, Any]
    """Resolved values in the order in which the log prints them."""
    notices: tuple[str, ...]
    """What is logged about deprecated words, before anything else."""

    def __getitem__(self, name: str) -> Any:
        return self.server_args.get(name)

    @property
    def model_path(self) -> str:
        return str(self["model_path"])

    @property
    def served_name(self) -> str:
        return str(self["served_model_name"])

    @property
    def ranks(self) -> int:
        """Schedulers: tp x pp."""
        return max(1, int(self["tp_size"]) * int(self["pp_size"] or 1))

    @property
    def decode_graphs(self) -> bool:
        if self.release.classic:
            return not self["disable_cuda_graph"]
        return bool(self["cuda_graph_config"]["decode"]["backend"] != "disabled")

    @property
    def prefill_graphs(self) -> bool:
        return not self.release.classic and self["cuda_graph_config"]["prefill"]["backend"] != "disabled"

    @property
    def decode_sizes(self) -> list[int]:
        """Batch sizes that get a graph."""
        if self.release.classic:
            return list(self["cuda_graph_bs"])
        return list(self["cuda_graph_config"]["decode"]["bs"])

    @property
    def prefill_shapes(self) -> list[int]:
        """Token counts that get a prefill graph."""
        return list(self["cuda_graph_config"]["prefill"]["bs"])

    @property
    def launch_command(self) -> str:
        return shlex.join(self.argv)


def parse(release: Release, argv: Sequence[str], *, unknown: Sequence[str] = ()) -> Options:
    """Accept a command line as the release would; SystemExit 2 with argparse's own words when it would not.

    `unknown` are words that this build is told not to know.
    """
    spec = release.spec()
    parser = _parser(release, spec["flags"])
    if unknown:
        parser.parse_args([word for word in argv if word not in unknown])
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    given = vars(parser.parse_args(list(argv)))
    server_args = {**spec["server_args"], **given}
    server_args["tokenizer_path"] = given.get("tokenizer_path") or server_args["model_path"]
    server_args["served_model_name"] = given.get("served_model_name") or server_args["model_path"]
    _resolve_graphs(release, server_args, given)
    notices = []
    if given.get("disable_cuda_graph") and not release.classic:
        notices.append(_YELLOW.format(_DEPRECATED.format(*_DISABLE_GRAPHS)))
    if server_args["tool_call_parser"] == "qwen25":
        server_args["tool_call_parser"] = "qwen"
        notices.append("The tool_call_parser 'qwen25' is deprecated. Please use 'qwen' instead.")
    return Options(release, tuple(argv), server_args, tuple(notices))


def _resolve_graphs(release: Release, server_args: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Which batch sizes are captured: as asked, or steps up to the largest that was asked for."""
    suffix = "" if release.classic else "_decode"
    most = int(given.get(f"cuda_graph_max_bs{suffix}") or GRAPH_MOST)
    sizes = given.get(f"cuda_graph_bs{suffix}")
    sizes = sorted(sizes) if sizes else [size for size in (1, 2, 4, 8, 12, *range(16, 513, 8)) if size <= most]
    if release.classic:
        server_args.update(cuda_graph_bs=sizes, cuda_graph_max_bs=most)
        return
    config = json.loads(json.dumps(server_args["cuda_graph_config"]))
    config["decode"].update(bs=sizes, max_bs=most)
    for name in ("decode", "prefill"):
        asked_off = given.get("disable_cuda_graph") or given.get(f"disable_{name}_cuda_graph")
        if asked_off or given.get(f"cuda_graph_backend_{name}") == "disabled":
            config[name]["backend"] = "disabled"
    server_args["cuda_graph_config"] = config


def last_flag(argv: Sequence[str]) -> tuple[str, ...]:
    """The last flag with its values."""
    for place in range(len(argv) - 1, -1, -1):
        if argv[place].startswith("--"):
            return tuple(argv[place:])
    return tuple(argv[-1:])


def _parser(release: Release, flags: Sequence[Mapping[str, Any]]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=release.prog, argument_default=argparse.SUPPRESS)
    for row in flags:
        parser.add_argument(*row["flags"], **_keywords(row))
    return parser


def _keywords(row: Mapping[str, Any]) -> dict[str, Any]:
    kind = row.get("kind", "str")
    shared = {key: row[key] for key in ("dest", "required") if key in row}
    if kind == "switch":
        return {"action": "store_true", **shared}
    if kind == "toggle":
        return {"action": argparse.BooleanOptionalAction, **shared}
    more = {key: row[key] for key in ("nargs", "choices") if key in row}
    return {"type": _TYPES[kind], **more, **shared}


def human_readable_int(text: str) -> int:
    """`64k` to 65536, as SGLang's size flags read it."""
    factor = {"k": 1024, "m": 1024**2, "g": 1024**3}.get(text[-1:].lower(), 1)
    return int(text[:-1]) * factor if factor > 1 else int(text)


_TYPES: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "json": json.loads,
    "size": human_readable_int,
}
