"""What may be compared with what: the work that was done and the system that did it, each with a hash of its own.

Two runs may be compared where their workload keys are equal; what differs between their systems is what changed
(vLLM's and SGLang's own tools leave that to their reader). A key is SHA-256 of canonical JSON: sorted names, no blanks.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from k2tui.core.benching.codec import document_of
from k2tui.core.benching.facts import Measured
from k2tui.core.benching.plan import BenchPlan, BenchTarget, Procedure
from k2tui.core.benching.result import BenchSystem
from k2tui.core.flags import arguments, engine_of, identity
from k2tui.core.printable import printable
from k2tui.core.readings import GpuReading
from k2tui.core.secrets import is_secret_name, masked_argv, masked_env

TOOL = "k2tui"
TEMPERATURE = 0.0
"""What the load generator samples with."""
ENV_PREFIXES = ("NCCL_", "SGLANG_", "CUDA_", "TORCH_", "VLLM_")
"""Variables that bear on speed."""

_NOT_SPEED = frozenset(
    {
        # Where it listens and who may ask.
        "port",
        "host",
        "root-path",
        "api-key",
        "admin-api-key",
        "served-model-name",
        "ssl-keyfile",
        "ssl-certfile",
        "ssl-ca-certs",
        "allowed-origins",
        "trust-remote-code",
        "dist-init-addr",
        "nccl-port",
        # What it writes.
        "log-level",
        "log-level-http",
        "log-requests",
        "log-requests-level",
        "enable-log-requests",
        "disable-log-requests",
        "disable-log-stats",
        "max-log-len",
        "show-time-cost",
        "decode-log-interval",
        "uvicorn-log-level",
        "uvicorn-access-log-exclude-prefixes",
        "disable-uvicorn-access-log",
        "crash-dump-folder",
        "watchdog-timeout",
        # What a sampled token looks like, and where weights are fetched to.
        "random-seed",
        "seed",
        "download-dir",
        # A field of its own.
        "model-path",
    }
)
"""Flags (by `identity`) that do not bear on tok/s, or that the system says elsewhere: one change is told once."""
_NOT_SPEED_ENV = ("NCCL_DEBUG",)


def key_of(document: Mapping[str, object]) -> str:
    """SHA-256 of a document, in hex."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def ignores_eos(plan: BenchPlan, target: BenchTarget) -> bool:
    """Whether requests go on behind the end that the model makes: not where tokens behind it would change how many a
    speculative draft gets accepted. It is part of the work, so what is sent must be this."""
    return target.speculative is not True if plan.ignore_eos is None else plan.ignore_eos


def workload_of(plan: BenchPlan, target: BenchTarget, measured: Measured) -> dict[str, object]:
    """What was asked for, as far as two runs must agree in it: not nonces, seeds, repeats and durations."""
    work: dict[str, object] = {
        "tool": TOOL,
        "formula_set": measured.formula_set,
        "procedure": plan.procedure.value,
        "prompt_set": measured.prompt_set,
        "policy": plan.policy.value,
        "concurrencies": sorted(set(plan.concurrencies)),
        "api": target.path,
        "temperature": TEMPERATURE,
        "ignore_eos": ignores_eos(plan, target) if measured.ignore_eos is None else measured.ignore_eos,
        "measured_from": measured_from(target),
    }
    if plan.procedure is Procedure.PREFILL:
        work["prompt_lengths"] = list(measured.prompt_lengths or plan.prompt_lengths)
    else:
        work["max_tokens"] = plan.max_tokens
    return work


def measured_from(target: BenchTarget) -> str:
    """node | remote: over a network, TTFT is another quantity."""
    return "remote" if target.node is None else "node"


def system_document(system: BenchSystem) -> dict[str, object]:
    """What the system key is the hash of; the names of flags and variables are names there."""
    document = document_of(system)
    return {**document, "argv": dict(system.argv), "env": dict(system.env)}


def system_key_of(system: BenchSystem) -> str | None:
    """Its hash; None where nothing is known of it."""
    return None if system == BenchSystem() else key_of(system_document(system))


def system_of(
    *,
    argv: Sequence[str] = (),
    env: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    engine: str | None = None,
    model: str | None = None,
    version: str | None = None,
    revision: str | None = None,
    quantization: str | None = None,
    image: str | None = None,
    gpus: Iterable[GpuReading] = (),
    driver: str | None = None,
    topology: str | None = None,
    secrets: Collection[str] = (),
) -> BenchSystem:
    """The system as far as it is known. `gpus` are the server's own; `secrets` are values to be masked everywhere.

    `model` is the path of the command where it is not given.
    """
    its_gpus = tuple(gpus)
    flags = dict(_flags(masked_argv(argv, secrets), engine or engine_of(argv) or ""))
    path = flags.pop("model-path", None)
    flags = {name: value for name, value in flags.items() if name not in _NOT_SPEED and not is_secret_name(name)}
    if quantization is not None:
        flags.pop("quantization", None)
    limits = {gpu.power_limit_w for gpu in its_gpus}
    return BenchSystem(
        model=_text(model or path),
        revision=_text(revision),
        quantization=_text(quantization),
        engine=engine or engine_of(argv),
        version=_text(version),
        argv=tuple(sorted(flags.items())),
        env=tuple(sorted(_speed_env(dict(env), secrets).items())),
        image=_text(image),
        gpus=_gpu_words(its_gpus),
        driver=_text(driver),
        power_limit_w=limits.pop() if len(limits) == 1 else None,
        topology=_text(topology),
    )


def _flags(argv: Sequence[str], engine: str) -> Iterable[tuple[str, str]]:
    """Every flag by the one name of all its spellings; of one that stands there twice, the last, as argparse counts."""
    for part in arguments(argv).with_full_names(engine).parts:
        if part.name is not None:
            yield identity(part.name), printable(" ".join(part.values))


def _speed_env(env: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    shown = masked_env(env, secrets)
    return {
        name: printable(value)
        for name, value in shown.items()
        if name.startswith(ENV_PREFIXES) and not name.startswith(_NOT_SPEED_ENV)
    }


def _gpu_words(gpus: Sequence[GpuReading]) -> str | None:
    """`8 × NVIDIA H200`; None where one of them did not say what it is."""
    names = Counter(gpu.name for gpu in gpus)
    if not names or None in names:
        return None
    return printable(", ".join(f"{count} × {name}" for name, count in sorted(names.items(), key=str)))


def _text(text: str | None) -> str | None:
    return printable(text) if text else None
