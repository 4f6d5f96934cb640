"""What k2tui has to say of each real failure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.real import broken_models
from tests.real.stage import Event, claim


@dataclass(frozen=True)
class Verdict:
    """What k2tui has to say of a failure."""

    kind: str
    phase: str
    failure: str
    """JSON key `class`."""
    line: str
    """A pattern of the one line that explains it."""
    advice: str
    """How the first advice begins."""

    def is_told_by(self, document: Event, told: list[str]) -> None:
        """Claims it of a `failed` event or of a diagnosis."""
        said = f"{document['kind']}, {document['phase']}: {document['root_cause']}"
        claim((document["kind"], document["phase"]) == (self.kind, self.phase), said)
        cause, advice = document["root_cause"], document["advice"]
        claim(isinstance(cause, dict) and cause["class"] == self.failure, said)
        claim(isinstance(cause, dict) and re.search(self.line, cause["line"]), said)
        claim(isinstance(advice, list) and advice and advice[0]["text"].startswith(self.advice), f"{advice}")
        assert isinstance(cause, dict)
        assert isinstance(advice, list)
        told.append(f"{self.kind}, {self.phase}, {self.failure}: {cause['line']}")
        told.append(f"→ {advice[0]['text']}")


MODEL_NOT_FOUND = Verdict(
    "misconfigured", "args", "model_not_found", r"^(?:OSError|\S*HFValidationError): ", "The model path is neither"
)
UNKNOWN_FLAG = Verdict(
    "misconfigured",
    "args",
    "bad_argument",
    "error: unrecognized arguments: --no-such-flag",
    "Compare the arguments with this version's --help",
)
NO_ROOM = Verdict(
    "crashed",
    "kv_cache",
    "kv_no_room",
    "^ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static",
    "Raise --mem-fraction-static",
)
POINTER = Verdict(
    "crashed",
    "weights",
    "corrupt_shard",
    "SafetensorError: Error while deserializing header",
    "A weight file is no safetensors file: look for one of 130 bytes (git lfs pull)",
)
SHARD_MISSING = Verdict(
    "crashed",
    "weights",
    "missing_shards",
    rf"references 1 shard file\(s\) missing from .*{re.escape(broken_models.SHARD)}",
    "Finish the download",
)
PORT_TAKEN = Verdict(
    "crashed",
    "warmup",
    "port_taken",
    r"\[Errno 98\] error while attempting to bind on address",
    "Stop what listens on that port",
)
SILENT = Verdict("hung", "weights", "silence", r"shards: +\d+% Completed \| \d+/64", "No shard for a long time")
KILLED_LOADING = Verdict(
    "crashed",
    "weights",
    "child_killed",
    r"Rank 0 scheduler died during initialization \(exit code: -9\)",
    "Killed from outside, most likely by the kernel's OOM killer",
)
KILLED_SERVING = Verdict(
    "crashed",
    "serving",
    "child_killed",
    r"Subprocess scheduler_0 \(pid=\d+\) crashed with exit code -9",
    "Killed from outside, most likely by the kernel's OOM killer",
)
