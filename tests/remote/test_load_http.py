"""Bytes of a connection to a reply, however they are cut into pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.remote.load_door import Door
from k2tui.remote.load_http import Body, Connection, HttpError, Reply, ask, chunk_size, connect, plain, read_head
from k2tui.remote.load_spec import Target


class Heard(Reply):
    """What a reply said."""

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self.ends: list[str | None] = []

    def on_head(self, status: int, headers: Mapping[str, str], at: float) -> None:
        self.status = status

    def on_body(self, payload: bytes, at: float) -> None:
        assert payload
        self.body += payload

    def on_end(self, error: str | None, at: float) -> None:
        self.ends.append(error)


class Wire(asyncio.Transport):
    """The other end of a connection, by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


def asked() -> tuple[Connection, Heard, Wire]:
    connection, reply, wire = Connection(), Heard(), Wire()
    connection.connection_made(wire)
    connection.ask(b"GET", reply)
    return connection, reply, wire


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True) if a < b]


def chunked(parts: list[bytes], *, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    framed = b"".join(b"%X%s\r\n%s\r\n" % (len(part), extension, part) for part in parts if part)
    return framed + b"0\r\n" + trailer + b"\r\n"


CUTS = st.lists(st.integers(0, 10_000), max_size=20)
PARTS = st.lists(st.binary(max_size=60), max_size=8)


@given(PARTS, CUTS, st.sampled_from([b"", b";a=b", b" ; x"]), st.sampled_from([b"", b"A: b\r\nC: d\r\n"]))
def test_a_chunked_body_is_the_same_wherever_it_is_cut(
    parts: list[bytes], cuts: list[int], extension: bytes, trailer: bytes
) -> None:
    body = Body(chunked=True)
    whole = chunked(parts, extension=extension, trailer=trailer)
    got = b"".join(body.feed(piece) for piece in pieces(whole, cuts))
    assert (got, body.done, body.rest) == (b"".join(parts), True, b"")


@given(st.binary(min_size=1, max_size=200), CUTS)
def test_a_body_of_a_length_ends_with_its_last_byte(data: bytes, cuts: list[int]) -> None:
    body = Body(length=len(data))
    for piece in pieces(data, cuts)[:-1]:
        body.feed(piece)
        assert not body.done
    body = Body(length=len(data))
    assert body.feed(data + b"more") == data
    assert (body.done, body.rest) == (True, b"more")


@given(st.binary(max_size=300), CUTS)
def test_no_bytes_break_the_reader_other_than_by_its_error(data: bytes, cuts: list[int]) -> None:
    connection, reply, _ = asked()
    for piece in pieces(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + data, cuts):
        connection.received(piece)
    connection.connection_lost(None)
    assert len(reply.ends) == 1


@given(PARTS, CUTS)
def test_a_kept_connection_answers_one_question_after_the_other(parts: list[bytes], cuts: list[int]) -> None:
    connection, first, wire = asked()
    for piece in pieces(b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n" + chunked(parts), cuts):
        connection.received(piece)
    assert (first.body, first.ends, connection.is_free) == (b"".join(parts), [None], True)
    second = Heard()
    connection.ask(b"GET", second)
    connection.received(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno")
    assert (second.status, second.body, second.ends, wire.closed) == (404, b"no", [None], False)


def test_a_server_that_closes_after_its_answer_is_not_asked_again() -> None:
    connection, reply, wire = asked()
    connection.received(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx")
    assert (reply.ends, connection.is_free, wire.closed) == ([None], False, True)


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    connection, reply, _ = asked()
    connection.received(b"HTTP/1.0 200 OK\r\n\r\nsome")
    assert reply.ends == []
    connection.connection_lost(None)
    assert (reply.body, reply.ends) == (b"some", [None])


@pytest.mark.parametrize("head", [b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", b"Content-Length: 5\r\n\r\nab", b""])
def test_a_connection_that_is_cut_in_mid_answer_is_an_error(head: bytes) -> None:
    connection, reply, _ = asked()
    connection.received(b"HTTP/1.1 200 OK\r\n" + head)
    connection.connection_lost(None)
    assert reply.ends == ["the connection was cut"]


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH_9\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"x" * 70_000])
def test_what_does_not_speak_http_is_told(said: bytes) -> None:
    connection, reply, wire = asked()
    connection.received(said)
    assert len(reply.ends) == 1
    assert reply.ends[0] is not None
    assert wire.closed


@pytest.mark.parametrize("line", [b"", b"-1", b"+5", b"1_0", b"g", b" "])
def test_a_chunk_size_is_hexadecimal_digits_and_nothing_else(line: bytes) -> None:
    with pytest.raises(HttpError):
        chunk_size(line)


def test_words_that_nobody_asked_for_close_the_connection() -> None:
    connection = Connection()
    wire = Wire()
    connection.connection_made(wire)
    connection.received(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert (wire.closed, connection.is_open) == (True, False)


def test_header_names_are_read_in_any_case() -> None:
    assert read_head(b"HTTP/1.1 200 OK\r\nX-A:  b \r\nServer: c")[2] == {"x-a": "b", "server": "c"}


def test_the_key_is_in_the_head_and_in_no_text() -> None:
    target = Target(port=1, host="::1", api_key="sk-secret")
    head = Door(target).request("POST", "/v1/x", b"{}")
    assert b"Host: [::1]:1\r\n" in head
    assert b"Authorization: Bearer sk-secret\r\n" in head
    assert "sk-secret" not in repr(target)


def test_a_servers_words_are_made_plain() -> None:
    assert plain("a\x1b[31mb\r\n  c\x9bd" + "e" * 500) == "a [31mb c d" + "e" * 289


async def test_a_port_where_nobody_listens_is_told_with_its_address(unused_tcp_port: int) -> None:
    with pytest.raises(HttpError, match=f"no connection to 127.0.0.1:{unused_tcp_port}: Connection refused"):
        await connect("127.0.0.1", unused_tcp_port, None)


async def test_a_short_question_that_is_not_answered_is_given_up() -> None:
    server = await asyncio.start_server(lambda *_: asyncio.sleep(0), "127.0.0.1", 0)
    connection = await connect("127.0.0.1", server.sockets[0].getsockname()[1], None)
    with pytest.raises(HttpError, match="no answer within"):
        await ask(connection, b"GET / HTTP/1.1\r\n\r\n", 0.05)
    assert not connection.is_open
    server.close()
