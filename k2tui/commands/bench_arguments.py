"""The words of `k2tui bench`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from k2tui.core.benching.plan import FEWEST_PROMPT_TOKENS, MOST_STREAMS, MOST_TOKENS

DEFAULT = "run"
"""What `k2tui bench SERVER` means."""
BENCH_ACTIONS = (DEFAULT, "history", "show", "compare", "base", "ab", "matrix", "series", "resume", "import")


def with_action(words: Sequence[str], at: int, actions: Sequence[str]) -> list[str]:
    """`bench SERVER -- WORD` as `bench run SERVER --word=WORD`; `at` is the place of the word `bench`."""
    end = words.index("--", at) if "--" in words[at:] else len(words)
    handed_on = [f"--word={word}" for word in words[end + 1 :]]
    following = list(words[at + 1 : at + 2])
    if not following or following[0] in (*actions, "-h", "--help"):
        return [*words[:end], *handed_on]
    return [*words[: at + 1], DEFAULT, *words[at + 1 : end], *handed_on]


def add_bench(
    bench: argparse.ArgumentParser,
    *,
    as_json: Callable[[argparse.ArgumentParser], None],
    seconds: Callable[[str], float],
    count: Callable[[str], int],
) -> None:
    """The commands below `bench`."""
    bench.usage = f"k2tui bench [{DEFAULT}] SERVER|URL [options]\n       k2tui bench {'|'.join(BENCH_ACTIONS[1:])} ..."
    bench.epilog = f"k2tui bench {DEFAULT} --help shows what can be measured, and how."
    actions = bench.add_subparsers(dest="action", metavar="SERVER|URL|ACTION", prog=bench.prog, required=True)
    run = actions.add_parser(DEFAULT, help="measure tok/s of a server, or of any URL; 0 when every gate held")
    run.add_argument("target", metavar="SERVER|URL")
    ways = run.add_mutually_exclusive_group()
    ways.add_argument("--quick", action="store_true", help="one stream, a figure within seconds (the default)")
    ways.add_argument("--sweep", metavar="C,C,…", type=_concurrencies, help="so many streams at a time, one point each")
    ways.add_argument("--prefill", action="store_true", help="prefill tok/s, as the slope of TTFT over prompt length")
    ways.add_argument("--full", action="store_true", help="sglang.bench_serving on the node; its words after --")
    run.add_argument("--max-tokens", metavar="N", type=count, default=256, help="output tokens a request (256)")
    run.add_argument("--repeats", metavar="R", type=count, default=3, help="requests of a quick figure (3)")
    run.add_argument("--prompts", metavar="FILE", help="your own prompts, one a line, or JSON strings a line")
    run.add_argument("--cache", choices=("fresh", "cold", "warm"), default="fresh", help="what the cache may know")
    run.add_argument("--hold", metavar="S", type=seconds, default=30.0, help="how long each point is held (30s)")
    run.add_argument("--budget", metavar="S", type=seconds, default=25.0, help="when a quick figure ends at last (25s)")
    run.add_argument("--lengths", metavar="P,P", type=_lengths, help="prompt tokens of a prefill slope (256,8192)")
    run.add_argument(
        "--seed", metavar="N", type=int, help="of order and nonces, to make a run again; a new one each time"
    )
    run.add_argument("--api-key-env", metavar="NAME", help="the variable of this shell that has the URL's API key")
    run.add_argument(
        "--client",
        choices=("auto", "rust", "python"),
        default="auto",
        help="of --full: which of SGLang's clients (auto)",
    )
    run.add_argument(
        "--word",
        metavar="WORD",
        dest="words",
        action="append",
        default=[],
        help="with --full: a word for sglang.bench_serving; all that stands after -- is the same",
    )
    history = actions.add_parser("history", help="what was measured, newest first")
    history.add_argument("server", metavar="SERVER", nargs="?", help="of this server or URL; of all without")
    history.add_argument("--export", choices=("json", "csv", "md"), help="all figures: JSON lines, CSV or Markdown")
    history.add_argument("--most", metavar="N", type=count, default=50, help="so many at most (50)")
    show = actions.add_parser("show", help="one benchmark whole: figures, gates, system, requests")
    show.add_argument("bench", metavar="ID")
    compare = actions.add_parser(
        "compare", help="B against A: ratio, interval, verdict, what changed; 0 for faster or no difference"
    )
    compare.add_argument("a", metavar="A", help="a benchmark's id, SERIES:ARM, or a profile's name")
    compare.add_argument("b", metavar="B")
    base = actions.add_parser("base", help="make a benchmark the base of its server, or take it away")
    base.add_argument("server", metavar="SERVER")
    base.add_argument("bench", metavar="ID|none")
    ab = actions.add_parser("ab", help="restart a server with each profile in turn, measure, and compare")
    ab.add_argument("server", metavar="SERVER")
    ab.add_argument("profiles", metavar="PROFILE", nargs="+", help="two or more")
    ab.add_argument("--restarts", metavar="N", type=count, default=3, help="of each profile (3)")
    ab.add_argument("--leave", choices=("as-found", "best"), default="as-found", help="how the server is left")
    matrix = actions.add_parser("matrix", help="the series of restarts of [matrix.NAME]")
    matrix.add_argument("name", metavar="NAME")
    resume = actions.add_parser("resume", help="go on with a series that was interrupted, or end it")
    resume.add_argument("series", metavar="ID")
    ends = resume.add_mutually_exclusive_group(required=True)
    ends.add_argument("--continue", dest="go_on", action="store_true", help="make the trials that are missing")
    ends.add_argument("--end", dest="end", action="store_true", help="make no more, and leave the server as found")
    for verb in (ab, matrix):
        verb.add_argument("--dry-run", action="store_true", help="show order and cost, and do nothing")
    for verb in (ab, matrix, resume):
        verb.add_argument("--confirm", metavar="NODE", help="the node's name, when one is due")
    actions.add_parser("series", help="the A/B and matrix series, and where each is")
    take = actions.add_parser("import", help="keep what aiperf, guidellm, vllm or sglang.bench_serving measured")
    take.add_argument("file", metavar="FILE", help="its result file, or -")
    take.add_argument("--as", dest="subject", metavar="SERVER", required=True, help="the server or URL it is of")
    for command in actions.choices.values():
        as_json(command)


def _concurrencies(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and len(part) < 9 and 1 <= int(part) <= MOST_STREAMS for part in parts):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no list of numbers of streams up to {MOST_STREAMS}, such as 1,2,4,8"
        )
    return tuple(dict.fromkeys(int(part) for part in parts))


def _lengths(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a short and a long prompt, such as 256,8192")
    short, long = (int(part) for part in parts)
    if not FEWEST_PROMPT_TOKENS <= short < long <= MOST_TOKENS:
        raise argparse.ArgumentTypeError(
            f"{text!r}: the first must be the shorter one, both of {FEWEST_PROMPT_TOKENS} to {MOST_TOKENS} tokens"
        )
    return short, long
