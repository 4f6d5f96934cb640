"""Which tool wrote a result file, and what it measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from k2tui.core.benching.codec import read_fact, read_json
from k2tui.core.benching.document import TYPE
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchResult, BenchSystem, GpuSample
from k2tui.core.benching.tools.aiperf import is_aiperf, of_aiperf
from k2tui.core.benching.tools.fields import Document
from k2tui.core.benching.tools.guidellm import is_guidellm, of_guidellm
from k2tui.core.benching.tools.made import About, Found, id_of, result_of
from k2tui.core.benching.tools.serving import is_sglang, is_vllm, of_sglang, of_vllm

LARGEST = 256 << 20
"""Characters of a file: with every text of every request in it."""
MOST_RUNS = 10_000
_KNOWN = "sglang.bench_serving (JSONL), vllm bench serve, aiperf (profile_export_aiperf.json), guidellm, k2tui"


def read_tool_result(
    text: str,
    *,
    subject: str,
    now: float,
    procedure: Procedure = Procedure.IMPORTED,
    node: str | None = None,
    run_id: str | None = None,
    profile: str | None = None,
    series_id: str | None = None,
    system: BenchSystem | None = None,
    samples: tuple[GpuSample, ...] = (),
) -> tuple[BenchResult, ...]:
    """Every measurement of a result file, as of `subject` (a server, or a URL); `now` is Unix time.

    What the file does not say comes from the rest; `system` replaces what it says. ValueError, with a sentence, for a
    file that is none of a tool that is known.
    """
    if len(text) > LARGEST:
        raise ValueError(f"the file is larger than {LARGEST >> 20} MiB: write it without the texts of the requests")
    documents = _documents(text)
    about = About(subject, now, procedure, node, run_id, profile, series_id, system, samples)
    results = list(_told_apart(result for document in documents for result in _results(document, about)))
    if not results:
        what = "no result of a tool that is known here" if documents else "no JSON, nor a JSON object a line"
        raise ValueError(f"the file is {what}; known are {_KNOWN}")
    return tuple(results)


def _told_apart(results: Iterable[BenchResult]) -> Iterator[BenchResult]:
    """Each once, with an id of its own: four digits are soon the same in a file of many."""
    taken: dict[str, BenchResult] = {}
    for result in results:
        one, turn = result, 0
        while one.bench_id in taken and replace(taken[one.bench_id], bench_id=result.bench_id) != result:
            turn += 1
            one = replace(result, bench_id=id_of(result.began_at, f"{result.bench_id} {turn}"))
        if one.bench_id not in taken:
            taken[one.bench_id] = one
            yield one


def _documents(text: str) -> list[Document]:
    """The one of the file, or one a line; a line that is none (cut while it was written) is left out."""
    whole = read_json(text)
    found = [whole] if whole is not None else [read_json(line) for line in text.splitlines()[:MOST_RUNS] if line]
    return [document for document in found if isinstance(document, dict)]


def _results(document: Document, about: About) -> Iterator[BenchResult]:
    if document.get("type") == TYPE:
        own = read_fact(BenchResult, document)
        if own is not None:
            # As of another server it is another one: it never takes the place of that which was measured.
            own_id = (
                own.bench_id if own.subject == about.subject else id_of(own.began_at, f"{own.bench_id} {about.subject}")
            )
            yield replace(own, bench_id=own_id, subject=about.subject, is_base=False)
        return
    for found in _found(document, _mark(document)):
        yield result_of(found, about)


def _found(document: Document, mark: str) -> list[Found]:
    if is_guidellm(document):
        return of_guidellm(document, mark)
    if is_aiperf(document):
        return [of_aiperf(document, mark)]
    if is_sglang(document):
        return [of_sglang(document, mark)]
    return [of_vllm(document, mark)] if is_vllm(document) else []


def _mark(document: Document) -> str:
    """What makes it another one: all of it but long lists."""
    return json.dumps({name: value for name, value in document.items() if not isinstance(value, list)}, sort_keys=True)
