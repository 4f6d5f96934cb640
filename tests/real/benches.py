"""Benchmarks of a real SGLang: against its own counters, the gates, a death in the middle, its own bench_serving."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import time
import urllib.request
from collections.abc import Sequence

from tests.real.load import Load
from tests.real.perform import StoryEnds, Table, Theatre, end_everything, perform
from tests.real.stage import Event, Stage, Stream, claim, documents, wait_for

WITHIN = 0.005
"""What the tokens of a run may be off from the server's counter."""
POINTS = (1, 4, 8)
OWN_REQUESTS = """
[probe]
generate = "never"
[verify]
checks = "none"
"""
"""k2tui's own would be in the server's counter."""
SHORT = ("--quick", "--repeats", "3", "--max-tokens", "32", "--budget", "300")
"""Requests that come to their end on a slow machine too: what came of one that is cut is not what the server counts."""
WARM_UPS = 2
BUSY = ("G4", "G6")
"""Gates that tell of the machine, not of the server or of how it was measured."""
_GENERATED = re.compile(r"^sglang:generation_tokens_total(?:\{[^}]*\})? (\S+)$", re.MULTILINE)


def play(theatre: Theatre, table: Table) -> None:
    """One server, measured in every way."""
    print("Benchmarks")
    stage = theatre.stage("benches")
    with stage.config.open("a", encoding="utf-8") as config:
        config.write(OWN_REQUESTS)
    with contextlib.suppress(StoryEnds):
        with table.proves("a server is up to be measured", needed=True):
            code, text = stage.ask("start", "toy", "--json")
            claim(code == 0, f"exit {code}: {text[-1000:]}")
        measured(stage, table)
        flagged(stage, table)
        handed_over(stage, table)
        killed(stage, table)
    end_everything(stage)


def measured(stage: Stage, table: Table) -> None:
    """A quick figure, a sweep and a prefill slope."""
    with table.proves("a quick figure: tok/s of one stream, every token counted") as told:
        quick, made = counted(stage, *SHORT)
        trusted(quick, told)
        claim(number(quick, "decode_tps") > 0 and number(quick, "ttft_any_ms") > 0, f"{quick}")
        agrees(quick, made, told)
        told.append(
            f"{number(quick, 'decode_tps'):.1f} tok/s of one stream ({number(quick, 'decode_tps_min'):.1f} to "
            f"{number(quick, 'decode_tps_max'):.1f}), TTFT any {number(quick, 'ttft_any_ms'):.0f} ms, "
            f"answer {shown(quick['ttft_answer_ms'])} ms, in {number(quick, 'elapsed_s'):.1f} s"
        )
    with table.proves("a sweep over 1, 4 and 8 streams") as told:
        streams = ",".join(map(str, POINTS))
        sweep, made = counted(stage, "--sweep", streams, "--hold", "10", "--max-tokens", "16", *own_prompts(stage))
        points = {int(str(point["c"])): point for point in rows(sweep, "points")}
        claim(set(points) == set(POINTS), f"points {sorted(points)}")
        claim(all(point["agg_tps_total"] for point in points.values()), f"{points}")
        trusted(sweep, told)
        agrees(sweep, made, told)
        for c, point in sorted(points.items()):
            steady = "" if point["steady"] else " (the window was too short for it)"
            whole, window = shown(point["agg_tps_total"]), shown(point["agg_tps_steady"])
            told.append(f"c={c}: {whole} tok/s in all, {window} in its window{steady}")
    with table.proves("the slope of prefill over the prompt's length") as told:
        prefill = result_of(stage, "--prefill", "--lengths", "128,1024")
        slope = prefill["slope"]
        assert isinstance(slope, dict)
        claim(slope["prefill_tps"], f"{slope}, {prefill['notes']}")
        trusted(prefill, told)
        told.append(
            f"{number(slope, 'prefill_tps'):.0f} tok/s of prefill, "
            f"from {shown(slope['short_tokens'])} tokens to {shown(slope['long_tokens'])}"
        )


def flagged(stage: Stage, table: Table) -> None:
    """What must not be believed is said."""
    with table.proves("a second run on a warm cache is flagged by G3") as told:
        first = result_of(stage, *SHORT, "--seed", "7")
        claim(not [gate for gate in red(first) if gate.startswith("G3")], f"the first: {red(first)}")
        second = result_of(stage, *SHORT, "--seed", "7")
        found = [gate for gate in red(second) if gate.startswith("G3")]
        claim(found and second["valid"] is False, f"the second: {gates(second)}")
        told.append(found[0])
    quiet(stage.port)
    with table.proves("a second client is flagged by G2") as told, Load(stage.port, 1, 2000) as load:
        wait_for(lambda: load.tokens_by(float("inf")) > 10, "a stream of somebody else")
        disturbed = result_of(stage, *SHORT)
        found = [gate for gate in red(disturbed) if gate.startswith("G2")]
        claim(found and disturbed["valid"] is False, gates(disturbed))
        told.append(found[0])


def handed_over(stage: Stage, table: Table) -> None:
    """SGLang's own benchmark on the node, by both of its clients."""
    words = "--num-prompts 4 --random-input-len 64 --random-output-len 16 --random-range-ratio 1 --max-concurrency 2"
    for client in ("rust", "python"):
        with table.proves(f"sglang.bench_serving runs through k2tui, by its {client} client") as told:
            quiet(stage.port)
            code, text = stage.ask("bench", "toy", "--json", "--full", "--client", client, "--", *words.split())
            result = documents(text)[-1]
            claim(code == 0 and result["valid"] is True, f"exit {code}: {text[-1000:]}")
            point = rows(result, "points")[0]
            total = f"{number(point, 'agg_tps_total'):.1f} tok/s in all at c={point['c']}"
            told.append(f"{result['tool']} {result['tool_version']}: {total}, of {point['sent']} requests")
            shown = stage.ask_json("bench", "show", str(result["bench_id"]))[1][0]
            claim(shown["points"] == result["points"], f"the history has {shown['points']}")


def killed(stage: Stage, table: Table) -> None:
    """The server is killed while it is measured."""
    with table.proves("a server that is killed in mid-run: a failed run that keeps what was measured") as told:
        words = ("--repeats", "50", "--budget", "600", "--max-tokens", "16", *own_prompts(stage))
        stream = Stream.open(stage, "bench", "toy", *words, "--json")
        ended = ("request", "result")
        wait_for(lambda: sum(event["type"] in ended for event in stream.events) >= WARM_UPS + 2, "two requests")
        for pid in processes(stage):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        code = stream.end()
        result = next(event for event in reversed(stream.events) if event["type"] == "result")
        claim(code == 1 and result["error"] and result["valid"] is False, f"exit {code}: {result['error']}")
        whole = [one for one in rows(result, "requests") if one["finish"] == "length" and not one["is_warm_up"]]
        claim(len(whole) >= 2 and result["decode_tps"], f"kept: {rows(result, 'requests')}")
        kept = stage.ask_json("bench", "history", "toy")[1][0]["benches"]
        assert isinstance(kept, list)
        claim(kept[0]["bench_id"] == result["bench_id"], f"the newest of the history is {kept[0]['bench_id']}")
        told.append(f"{result['error']}; {len(whole)} requests and their {result['decode_tps']} tok/s are kept")
    with table.proves("and a server that is not there can't be measured") as told:
        code, said = stage.ask_json("bench", "toy")
        claim(code == 3 and said[-1]["code"] == "not_running", f"exit {code}: {said[-1]}")
        told.append(str(said[-1]["message"]))


def counted(stage: Stage, *words: str) -> tuple[Event, float]:
    """A benchmark's result, and how many tokens the server says it made meanwhile."""
    before = quiet(stage.port)
    result = result_of(stage, *words)
    return result, quiet(stage.port) - before


def result_of(stage: Stage, *words: str) -> Event:
    code, said = stage.ask_json("bench", "toy", *words)
    claim(said and said[-1]["type"] == "result", f"exit {code}: {said[-2:]}")
    return said[-1]


def generated(port: int) -> float:
    """SGLang's counter of all tokens that it made."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as reply:
        text = reply.read().decode()
    return sum(float(value) for value in _GENERATED.findall(text))


def quiet(port: int) -> float:
    """The same, once nothing is generated any more: it is counted a moment after it was sent."""
    seen = [generated(port)]

    def look() -> bool:
        time.sleep(1)
        seen.append(generated(port))
        return seen[-1] == seen[-2]

    wait_for(look, "an idle server")
    return seen[-1]


def own_prompts(stage: Stage) -> tuple[str, str]:
    """The operator's own prompts, short ones: a slow machine reads little."""
    path = stage.directory / "prompts.txt"
    things = ("a bridge", "bread", "rain", "a clock", "the sea", "a violin", "snow", "a letter")
    path.write_text("".join(f"Tell me how {thing} is made, and who needs it.\n" for thing in things), encoding="utf-8")
    return "--prompts", str(path)


def agrees(result: Event, made: float, told: list[str]) -> None:
    """The requests' own tokens, warm-up included, are the server's."""
    ours = sum(int(str(request["osl"])) for request in rows(result, "requests") if request["osl"] is not None)
    claim(made and abs(ours / made - 1) <= WITHIN, f"{ours} tokens came, the server's counter says {made:.0f}")
    told.append(f"{ours} tokens came, {made:.0f} by the server's counter")


def trusted(result: Event, told: list[str]) -> None:
    """It is valid; or where server and client share too few cores G4 says, rightly, that the client woke up late."""
    late = [gate for gate in red(result) if gate[:2] in BUSY]
    claim(len(late) == len(red(result)) and result["error"] is None, f"not valid: {red(result)}, {result['error']}")
    claim(late or result["valid"] is True, f"not valid, and no gate is red: {gates(result)}")
    told.append(f"not valid on this machine: {', '.join(late)}" if late else f"valid: {gates(result)}")


def rows(result: Event, name: str) -> Sequence[Event]:
    found = result[name]
    assert isinstance(found, list)
    return found


def number(result: Event, name: str) -> float:
    return float(str(result[name]))


def shown(figure: object) -> str:
    return "—" if figure is None else f"{float(str(figure)):.1f}"


def red(result: Event) -> list[str]:
    return [f"{gate['id']}: {gate['reason']}" for gate in rows(result, "gates") if gate["ok"] is False]


def gates(result: Event) -> str:
    return ", ".join(f"{gate['id']} {gate['ok']}" for gate in rows(result, "gates"))


def processes(stage: Stage) -> list[int]:
    return [int(line.split()[0]) for line in stage.processes()]


if __name__ == "__main__":
    sys.exit(perform(play))
