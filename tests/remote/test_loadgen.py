"""The load generator against a server whose truth is known: what it does, in which order, and what it says."""

from __future__ import annotations

import ast
import datetime
import itertools
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from k2tui.remote import load_live, load_spec
from tests.fakes.truth_server import Behaviour, TruthServer
from tests.remote.load_stage import Told, measured, spec, started
from tests.remote.node import free_port
from tests.waiting import until

REMOTE = Path(load_spec.__file__).parent


def fast(**behaviour: Any) -> TruthServer:
    """A server that is quicker than those whose rate is to be told to the percent."""
    return TruthServer(Behaviour(**{"tok_s": 400.0, **behaviour}))


def grown(told: Told, name: str) -> float:
    """What a counter of the server grew by."""
    before, after = (next(line for line in told.of("counters") if line["when"] == when) for when in ("before", "after"))
    return float(after[name] - before[name])


def osl(told: Told) -> int:
    return sum(line["osl"] for line in told.of("request"))


async def test_a_quick_figure_says_its_lines_in_order() -> None:
    async with fast() as server:
        told = await measured(server.port)
    kinds = [kind for kind, _ in itertools.groupby(line["type"] for line in told.lines) if kind != "figure"]
    kinds = [kind for kind, _ in itertools.groupby(kinds)]
    assert kinds == ["hello", "counters", "request", "connected", "request", "point", "client", "counters", "end"]
    hello = told.one("hello")
    assert (hello["formula_set"], hello["model"], hello["engine"]) == ("k2-1", "truth", "sglang")
    assert len(hello["prompt_set"]) == 64
    assert told.one("connected")["note"] is None
    assert [line["when"] for line in told.of("counters")] == ["before", "after"]
    assert 0 < told.one("client")["cpu_share"] <= 1.5
    assert told.one("client")["lag_p99_ms"] >= told.one("client")["lag_p50_ms"]


async def test_every_token_that_the_server_made_is_in_a_request() -> None:
    async with fast() as server:
        told = await measured(server.port)
    assert osl(told) == server.made == grown(told, "generation_tokens")
    assert sum(line["isl"] for line in told.of("request")) == grown(told, "prompt_tokens")


async def test_the_connection_is_open_and_warm_before_the_clock_starts() -> None:
    async with fast() as server:
        await measured(server.port)
        first = server.asked.index("POST /v1/chat/completions")
        assert server.opened == 2  # one of the streams, one of the side doors
    assert server.asked[0] == "GET /v1/models"
    assert "GET /v1/models" not in server.asked[first:]


async def test_each_request_begins_with_a_nonce_of_its_own() -> None:
    async with fast() as server:
        told = await measured(server.port)
        nonces = [truth.asked["messages"][0]["content"] for truth in server.truths]
    assert len(set(nonces)) == len(nonces) == 4
    assert all(len(nonce.split()) == 8 for nonce in nonces)
    assert {line["cached"] for line in told.of("request")} == {0}


async def test_the_same_seed_asks_the_same_again_and_the_cache_knows_it() -> None:
    async with fast() as server:
        first = await measured(server.port, seed=7, max_tokens=20)
        again = await measured(server.port, seed=7, max_tokens=20)
    assert {line["cached"] for line in first.of("request")} == {0}
    assert min(line["cached"] for line in again.of("request")) > 300
    assert first.one("hello")["nonce"] == again.one("hello")["nonce"]


async def test_a_warm_measurement_asks_what_the_cache_knows() -> None:
    async with fast() as server:
        told = await measured(server.port, policy="warm", max_tokens=20)
    assert all(line["cached"] > 300 for line in told.requests)


async def test_a_tight_interval_ends_it_before_all_requests_are_made() -> None:
    async with fast(tok_s=50.0) as server:
        told = await measured(server.port, repeats=40, budget_s=1000)
    assert 2 <= len(told.requests) < 40


async def test_a_first_figure_comes_in_time_though_there_is_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_live.FIRST_S + load_live.EVERY_S <= 3
    monkeypatch.setattr(load_live, "FIRST_S", 0.1)
    async with fast(ttft_s=0.8) as server:
        told = await measured(server.port, max_tokens=2)
    assert told.of("figure")[0]["decode_tps"] is None


async def test_the_budget_cuts_the_request_that_runs_and_its_figure_counts() -> None:
    async with fast(tok_s=40.0) as server:
        told = await measured(server.port, max_tokens=400, repeats=3, budget_s=3.0)
        truth = server.measured[-1].decode_tps
    (line,) = told.requests
    assert (line["finish"], line["error"], told.error) == (None, None, None)
    assert line["decode_tps"] == pytest.approx(truth, rel=0.02)
    assert told.one("point")["output_tokens"] == line["osl"] < 400


async def test_letting_go_of_the_leash_ends_it_and_what_was_measured_is_said() -> None:
    async with fast() as server:
        told, task = started(server.port, max_tokens=100_000, budget_s=1000)
        await until(lambda: server.truths and len(server.truths[-1].times) > 100)
        told.stop()
        await task
        assert not server.streams or await _gone(server)
    (line,) = told.requests
    assert line["decode_tps"] == pytest.approx(400, rel=0.2)
    assert (told.error, told.lines[-1]["type"], len(told.of("point"))) == ("stopped", "end", 1)


async def _gone(server: TruthServer) -> bool:
    await until(lambda: not server.streams)
    return True


async def test_the_leash_ends_a_sweep_with_all_its_streams() -> None:
    async with fast() as server:
        told, task = started(server.port, procedure="sweep", concurrencies=[8], max_tokens=100_000)
        await until(lambda: len(server.streams) == 8 and len(server.streams[0]._truth.times) > 50)
        told.stop()
        await task
    assert [line["error"] for line in told.requests] == [None] * 8
    assert told.one("point")["output_tokens"] == sum(line["osl"] for line in told.requests) > 400


@pytest.mark.parametrize("procedure", ["quick", "sweep"])
async def test_a_server_that_dies_is_told_with_what_was_measured(procedure: str) -> None:
    async with fast() as server:
        plan: dict[str, Any] = {"procedure": procedure, "concurrencies": [4], "max_tokens": 100_000, "budget_s": 1000}
        told, task = started(server.port, **plan)
        await until(lambda: server.truths and len(server.truths[-1].times) > 100)
        server.kill()
        await task
    assert told.error == "server_gone"
    assert told.lines[-1]["type"] == "end"
    assert [line["error"] for line in told.requests] == ["the connection was cut"] * (4 if procedure == "sweep" else 1)
    assert all(line["osl"] > 50 for line in told.requests)
    assert told.one("point")["failed"] == len(told.requests)


async def test_a_request_that_waits_for_its_first_token_when_the_server_dies_has_its_error() -> None:
    async with fast(ttft_s=0.5) as server:
        told, task = started(server.port, max_tokens=100)
        await until(lambda: server.measured)
        server.kill()
        await task
    assert [line["error"] for line in told.requests] == ["the connection was cut"]
    assert told.error == "server_gone"


async def test_a_stream_that_stalls_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k2tui.remote.load_client.IDLE_S", 0.4)
    async with fast(stalls_after=50) as server:
        told = await measured(server.port, repeats=1)
    assert [line["error"] for line in told.requests] == ["not a byte came for 0.4 s"]
    assert told.requests[0]["osl"] == 50
    assert told.one("point")["failed"] == 1


async def test_a_server_that_closes_an_idle_connection_is_asked_again_on_a_new_one() -> None:
    async with fast(drops=3) as server:
        told = await measured(server.port)
    assert server.dropped == 3
    assert [line["error"] for line in told.of("request")] == [None] * 4


async def test_requests_that_fail_are_told_and_the_next_is_made() -> None:
    async with fast(fails=2) as server:
        told = await measured(server.port, repeats=3)
    assert [line["error"] for line in told.of("request")][1:3] == ["HTTP 500: out of [31m luck"] * 2
    assert [line["error"] for line in told.requests] == ["HTTP 500: out of [31m luck", None, None]
    assert (told.one("point")["sent"], told.one("point")["failed"]) == (3, 1)


REFUSED = {
    "ignore_eos": "refuses ignore_eos",
    "stream_options": "refuses stream_options",
    "continuous_usage_stats": "does not count as it goes",
    "max_tokens": "wants max_completion_tokens",
    "system": "refuses a system message",
}


@pytest.mark.parametrize("field", REFUSED)
async def test_what_a_server_refuses_is_left_out_and_said(field: str) -> None:
    async with fast(refuses=(field,)) as server:
        told = await measured(server.port)
    assert REFUSED[field] in told.one("connected")["note"]
    assert told.error is None
    assert [line["finish"] for line in told.requests] == ["length"] * 2
    assert told.one("connected")["ignore_eos"] is (field != "ignore_eos")


async def test_a_server_that_refuses_everything_is_told_in_its_words() -> None:
    async with fast(refuses=("model",)) as server:
        told = await measured(server.port)
    assert told.error == "refused"
    assert "HTTP 400: Unknown parameter: model" in told.one("error")["message"]
    assert len(told.of("request")) == 1


@pytest.mark.parametrize(
    ("plan", "target", "finish"),
    [
        ({}, {}, "length"),
        ({"ignore_eos": False}, {}, "stop"),
        ({}, {"speculative": True}, "stop"),
        ({"ignore_eos": True}, {"speculative": True}, "length"),
    ],
)
async def test_the_end_of_an_answer_is_ignored_but_for_speculative_decoding(
    plan: dict[str, Any], target: dict[str, Any], finish: str
) -> None:
    async with fast(stop_after=70) as server:
        told = await measured(server.port, target, **plan)
    assert {line["finish"] for line in told.requests} == {finish}


async def test_another_client_is_seen() -> None:
    async with fast(others=3) as server:
        told = await measured(server.port)
    assert told.of("others")[0]["running"] > told.of("others")[0]["ours"]
    assert len(told.of("others")) <= told.lines[-1]["wall_s"] + 1


async def test_alone_nobody_else_is_seen() -> None:
    async with fast() as server:
        told = await measured(server.port, procedure="sweep", concurrencies=[8, 1], hold_s=1.5, max_tokens=50)
    assert not told.of("others")


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
async def test_the_counters_of_both_engines_are_read(engine: str) -> None:
    async with fast(metrics=engine) as server:
        told = await measured(server.port)
    assert grown(told, "generation_tokens") == osl(told)
    assert grown(told, "requests") == len(told.of("request"))


async def test_a_server_without_side_doors_is_measured_all_the_same() -> None:
    async with fast(metrics="none", flush=None) as server:
        told = await measured(server.port, policy="cold", procedure="sweep", concurrencies=[2], hold_s=1)
    assert not told.of("counters")
    assert told.one("flush")["ok"] is None
    assert (told.error, told.one("point")["failed"]) == (None, 0)


async def test_a_sweep_holds_each_concurrency_in_a_random_order() -> None:
    async with fast() as server:
        plan: dict[str, Any] = {"concurrencies": [1, 2, 8], "hold_s": 1, "max_tokens": 50, "policy": "cold"}
        told = await measured(server.port, procedure="sweep", seed=3, **plan)
        other = await measured(server.port, procedure="sweep", seed=5, **{**plan, "hold_s": 0.2})
    order = told.one("connected")["order"]
    assert sorted(order) == [1, 2, 8]
    assert order != other.one("connected")["order"]
    assert [line["c"] for line in told.of("point")] == [line["c"] for line in told.of("client")] == order
    assert [line["ok"] for line in told.of("flush")] == [True] * 3
    assert [line["when"] for line in told.of("counters")] == ["before", *(f"point:{c}" for c in order), "after"]
    for point in told.of("point"):
        c = point["c"]
        lines = [line for line in told.requests if line["c"] == c]
        stream_tps = 50 / (0.03 + 50 / 400)  # a prefill, then 50 steps
        assert point["agg_tps_steady"] == pytest.approx(stream_tps * c, rel=0.1)
        assert point["agg_tps_total"] == pytest.approx(stream_tps * c, rel=0.15)
        assert (point["sent"], point["failed"], point["output_tokens"]) == (len(lines), 0, 50 * len(lines))
        assert len(lines) >= 3 * c  # three mean requests at least
        assert not point["steady"]
        assert max(line["began_s"] for line in lines[:c]) - min(line["began_s"] for line in lines[:c]) < 0.1
    assert osl(told) + osl(other) == server.made


async def test_the_cache_of_another_client_is_not_emptied() -> None:
    async with fast(others=2) as server:
        told = await measured(server.port, procedure="sweep", policy="cold", hold_s=0.5, max_tokens=20)
    assert server.flushes == 0
    assert told.one("flush")["ok"] is False
    assert told.one("flush")["says"] == "2 requests run: their cache was left"


async def test_a_point_where_every_request_fails_ends() -> None:
    async with fast(fails=10_000) as server:
        told = await measured(server.port, procedure="sweep", concurrencies=[4], hold_s=1000)
    point = told.one("point")
    assert point["failed"] == point["sent"] >= 8
    assert [point[name] for name in ("agg_tps_steady", "agg_tps_total", "output_tokens")] == [None] * 3


async def test_a_prefill_slope_is_the_servers_rate() -> None:
    async with fast(prefill_tok_s=4000.0, ttft_s=0.1) as server:
        told = await measured(server.port, procedure="prefill", repeats=3, prompt_lengths=[256, 4096])
    slope = told.one("slope")
    assert slope["prefill_tps"] == pytest.approx(4000, rel=0.1)
    assert slope["isl_over_ttft"] < slope["prefill_tps"]
    assert slope["short_tokens"] == pytest.approx(256, rel=0.05)
    assert slope["long_tokens"] == pytest.approx(4096, rel=0.05)
    assert [round(line["isl"], -3) for line in told.requests] == [0, 4000, 4000, 0, 0, 4000]
    assert {line["cached"] for line in told.requests} == {0}


async def test_a_long_prompt_fits_the_model() -> None:
    async with fast(max_model_len=2000) as server:
        told = await measured(server.port, procedure="prefill", repeats=1)
    assert 1500 < max(line["isl"] for line in told.requests) < 2000


async def test_a_first_token_that_a_parser_keeps_back_is_waited_for() -> None:
    async with fast(swallows=(1, 3), prefill_tok_s=50_000.0) as server:
        told = await measured(server.port, procedure="prefill", repeats=1)
    assert all(line["ttft_any_ms"] > 0 for line in told.requests)
    assert told.one("slope")["prefill_tps"] is not None


async def test_where_nobody_listens_it_says_so() -> None:
    told = await measured(free_port())
    assert [line["type"] for line in told.lines] == ["error", "end"]
    assert told.error == "unreachable"


async def test_what_answers_but_is_no_model_server_is_told() -> None:
    async with fast(refuses=("messages",)) as server:
        told = await measured(server.port, {"path": "/nothing"})
    assert told.error == "refused"
    assert "HTTP 404: no such path" in told.one("error")["message"]


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    """Of a server whose certificate nobody signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "elsewhere")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    certificate = builder.sign(key, hashes.SHA256())
    pem = tmp_path / "server.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem.write_bytes(secret + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


async def test_tls_is_spoken_with_a_server_of_this_machine(tls: ssl.SSLContext) -> None:
    async with TruthServer(Behaviour(splits=True), tls) as server:
        told = await measured(server.port, {"tls": True})
    assert told.error is None
    assert [line["osl"] for line in told.requests] == [100] * len(server.measured)


async def test_a_certificate_that_nobody_signed_is_refused_anywhere_else(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("k2tui.remote.load_http._is_here", lambda host: False)
    async with TruthServer(Behaviour(), tls) as server:
        told = await measured(server.port, {"tls": True})
    assert told.error == "unreachable"
    assert "certificate" in told.one("error")["message"]


BAD = [b"", b"{", b"[]", b"{}", spec(0), spec(70_000), spec(1, {"host": "a b"}), spec(1, {"api_key": "a\r\nX: y"})]
BAD += [
    spec(1, procedure="full"),
    spec(1, concurrencies=[0]),
    spec(1, budget_s=0),
    spec(1, seed="x"),
    spec(1, prompts=[""]),
]


@pytest.mark.parametrize("line", BAD)
def test_a_line_that_makes_no_sense_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        load_spec.read_spec(line)


@pytest.mark.parametrize("path", sorted(REMOTE.glob("load*.py")), ids=lambda path: path.stem)
def test_a_part_can_be_read_by_python_3_8(path: Path) -> None:
    ast.parse(path.read_text("utf-8"), feature_version=(3, 8))
