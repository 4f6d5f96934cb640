"""Server-sent events and what they carry."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from k2tui.remote.load_figures import request_figures
from k2tui.remote.load_http import HttpError
from k2tui.remote.load_sse import EventReader
from k2tui.remote.load_stream import CONTENT, EMPTY, FINISH, REASONING, TOOL, USAGE, Stream, said_in

TEXT = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=20)
DATA = st.lists(TEXT, min_size=1, max_size=3).map("\n".join)
FIELDS = st.sampled_from([": ping", "event: message", "id: 7", "retry: 10", "data", ":"])


def written(events: list[tuple[str, list[str]]], newline: str, space: str) -> bytes:
    """Events as a server may write them: fields and comments between, data over several lines."""
    lines: list[str] = []
    for data, others in events:
        lines += [other for other in others if other != "data"]
        lines += [f"data:{space}{line}" for line in data.split("\n")]
        lines.append("")
    return (newline.join(lines) + newline).encode()


@given(
    st.lists(st.tuples(DATA, st.lists(FIELDS, max_size=2)), min_size=1, max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 500), max_size=12),
)
@example([('{"a":1}', []), ("[DONE]", [])], "\n", [])
def test_events_are_the_same_wherever_the_bytes_are_cut(
    events: list[tuple[str, list[str]]], newline: str, cuts: list[int]
) -> None:
    data = written(events, newline, " ")
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    reader, got = EventReader(), []
    for low, high in zip([0, *places], [*places, len(data)], strict=True):
        got += reader.feed(data[low:high])
    assert [event.decode() for event in got] == [text for text, _ in events]


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=6))
def test_the_quick_way_and_the_slow_way_read_alike(parts: list[bytes]) -> None:
    whole = b"".join(b"data: " + part + b"\n\n" for part in parts)
    quick, slow = EventReader(), EventReader()
    slowly = [event for byte in whole for event in slow.feed(bytes([byte]))]
    assert quick.feed(whole) == slowly


@given(st.lists(st.binary(max_size=40).map(lambda data: data + b"\n\n"), max_size=5))
def test_no_bytes_break_the_reader(parts: list[bytes]) -> None:
    whole, reader, bytewise = EventReader(), EventReader(), []
    for part in parts:
        for byte in part:
            bytewise += reader.feed(bytes([byte]))
    assert whole.feed(b"".join(parts)) == bytewise


def test_a_byte_order_mark_and_a_missing_space_do_no_harm() -> None:
    assert EventReader().feed(b"\xef\xbb\xbfdata:a\n\n") == [b"a"]


def test_an_event_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k2tui.remote.load_sse.MOST_EVENT", 1000)
    with pytest.raises(HttpError):
        EventReader().feed(b"data: " + b"x" * 2000)


def stream(*documents: object, status: int = 200) -> Stream:
    log = Stream()
    log.on_head(status, {}, 0.5)
    for number, document in enumerate(documents):
        data = document if isinstance(document, str) else json.dumps(document)
        log.on_body(f"data: {data}\n\n".encode(), 1.0 + number)
    return log


def chat(delta: dict[str, Any] | None, usage: dict[str, Any] | None = None, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, **choice}], "usage": usage}


CALL = {"tool_calls": [{"index": 0, "function": {"name": "look", "arguments": ""}}]}


@pytest.mark.parametrize(
    ("document", "kind", "size"),
    [
        (chat({"role": "assistant", "content": ""}), EMPTY, 0),
        (chat({"role": "assistant", "content": None}), EMPTY, 0),
        (chat({}), EMPTY, 0),
        (chat({"content": " 😀"}), CONTENT, 2),
        (chat({"reasoning_content": "hm"}), REASONING, 2),
        (chat({"reasoning": "hm"}), REASONING, 2),
        (chat({"reasoning_content": "hm", "content": "so"}), CONTENT, 4),
        (chat(CALL), TOOL, 4),
        (chat({"tool_calls": [{"function": {"arguments": '{"a":'}}]}), TOOL, 5),
        (chat({"tool_calls": [{"function": None}]}), EMPTY, 0),
        (chat({}, finish_reason="length"), FINISH, 0),
        (chat({"content": "x"}, finish_reason="stop"), CONTENT, 1),
        ({"choices": [{"text": "abc", "index": 0}]}, CONTENT, 3),
        ({"choices": [], "usage": {"completion_tokens": 3}}, USAGE, 0),
    ],
)
def test_every_kind_of_delta_is_known(document: dict[str, Any], kind: int, size: int) -> None:
    ((at, got_kind, got_size, _),) = stream(document).events
    assert (at, got_kind, got_size) == (1.0, kind, size)


def test_done_and_pings_are_no_events() -> None:
    log = stream(chat({"content": "x"}), "[DONE]")
    log.on_body(b": ping\n\ndata:\n\n", 9.0)
    assert (len(log.events), log.done_at) == (1, 2.0)


@pytest.mark.parametrize("count", [True, -1, 1.5, "3", None, 10**30, [3]])
def test_a_count_that_is_none_is_not_believed(count: object) -> None:
    assert stream(chat({"content": "x"}, {"completion_tokens": count})).events[0][3] is None


def test_why_it_ended_is_kept_as_the_server_said_it() -> None:
    log = stream(chat({}, finish_reason="abort", matched_stop="NaN happened\x1b[2J"))
    assert (log.finish, log.matched) == ("abort", "NaN happened [2J")


@pytest.mark.parametrize("data", ["{", "[1]", '"x"', '{"choices":[3]}', '{"choices":[{"delta":"x"}]}', "\\xff", "NaN1"])
def test_an_event_of_another_shape_ends_the_stream_with_a_sentence(data: str) -> None:
    with pytest.raises(HttpError, match="none that a model server sends"):
        stream(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "usage",
                    "content",
                    "tool_calls",
                    "function",
                    "error",
                    "finish_reason",
                    "completion_tokens",
                    "text",
                ]
            ),
            inner,
            max_size=4,
        ),
        max_leaves=12,
    )
)
def test_no_document_breaks_the_stream_other_than_by_its_error(document: object) -> None:
    with suppress(HttpError):
        stream(document)


def test_a_fault_in_mid_stream_is_told_in_the_servers_words() -> None:
    log = Stream()
    log.on_head(200, {}, 0.0)
    with pytest.raises(HttpError):
        log.on_body(b'data: {"error":{"message":"worker \\u001b[1mdied","code":500}}\n\n', 1.0)
    log.on_end("x", 2.0)
    assert log.error == "the server broke off: worker [1mdied"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"error":{"message":"no such model"}}', "no such model"),
        (b'{"object":"error","message":"too long"}', "too long"),
        (b'{"detail":"Not Found"}', "Not Found"),
        (b'{"detail":[{"loc":["body"]}]}', '{"detail":[{"loc":["body"]}]}'),
        (b"<html>\n bad\x00 gateway", "<html> bad gateway"),
        (b"", "no reason was given"),
    ],
)
def test_an_error_says_its_reason_in_one_line(body: bytes, says: str) -> None:
    log = Stream()
    log.on_head(503, {}, 0.0)
    if body:
        log.on_body(body, 1.0)
    log.on_end(None, 2.0)
    assert log.error == f"HTTP 503: {says}"
    assert said_in(body) == says


def test_a_stream_that_ends_without_an_end_is_an_error() -> None:
    log = stream(chat({"content": "x"}))
    log.on_end(None, 3.0)
    assert log.error == "the stream ended before its end"


def test_a_connection_that_is_lost_after_the_end_does_no_harm() -> None:
    log = stream(chat({"content": "x"}, finish_reason="stop"))
    log.on_end("the connection was cut", 3.0)
    assert log.error is None


def test_a_usage_that_is_no_object_breaks_the_stream_and_not_the_generator() -> None:
    stream = Stream()
    stream.on_head(200, {}, 0.0)
    with pytest.raises(HttpError):
        stream.on_body(b'data: {"choices":[{"delta":{"content":"a"}}],"usage":[1,2]}\n\n', 1.0)
    assert (stream.usage, stream.error) == (None, "an event of the stream is none that a model server sends")
    assert request_figures(stream, 1, 1, 0.0, False)["osl"] is None


def test_a_line_of_megabytes_in_many_pieces_is_one_event_and_has_its_limit() -> None:
    reader, piece, seen = EventReader(), b"x" * 65536, []
    for part in (b"data: ", *[piece] * 200, b"\r", b"\n\r\ndata: b\n", b"\n"):
        seen += reader.feed(part)
    assert [(len(event), event[:1]) for event in seen] == [(200 * 65536, b"x"), (1, b"b")]
    with pytest.raises(HttpError):
        seen += [event for _ in range(300) for event in reader.feed(piece)]
