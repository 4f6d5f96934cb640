"""Bytes in, server-sent events out."""

from __future__ import annotations

from k2tui.remote.load_http import HttpError

MOST_EVENT = 16 << 20


class EventReader:
    """Reads `text/event-stream` as the HTML standard has it (section 9.2.6), of which only the data is kept.

    Pieces may end anywhere, also inside of a character: an event is bytes.
    """

    def __init__(self) -> None:
        self._kept = b""
        self._more: list[bytes] = []
        """What came behind it without an end of a line."""
        self._size = 0
        self._data: list[bytes] = []
        self._skips_lf = False
        self._is_first = True

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of each event that ends in this piece."""
        # As both engines write them: whole events, a line each.
        is_amid = self._kept or self._more or self._data or self._skips_lf
        if piece.startswith(b"data: ") and piece.endswith(b"\n\n") and not is_amid:
            events = piece[6:-2].split(b"\n\ndata: ")
            if piece.count(b"\n") == 2 * len(events) and b"\r" not in piece:
                self._is_first = False
                return events
        return self._slowly(piece)

    def _slowly(self, piece: bytes) -> list[bytes]:
        if self._skips_lf and piece:
            self._skips_lf = False
            if piece[:1] == b"\n":
                piece = piece[1:]
        if not (self._is_first or b"\n" in piece or b"\r" in piece):  # put together once, however long the line gets
            self._more.append(piece)
            self._size += len(piece)
            if self._size > MOST_EVENT:
                raise HttpError("an event of the stream has no end")
            return []
        text = b"".join((self._kept, *self._more, piece))
        self._more, self._size = [], 0
        if self._is_first and (len(text) >= 3 or b"\n" in text):
            self._is_first = False
            if text[:3] == b"\xef\xbb\xbf":
                text = text[3:]
        self._skips_lf = text[-1:] == b"\r"  # its line feed may be the first of the next piece
        lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._kept = lines.pop()
        if len(self._kept) > MOST_EVENT:
            raise HttpError("an event of the stream has no end")
        events = []
        for line in lines:
            if line:
                self._field(line)
            elif self._data:
                events.append(b"\n".join(self._data))
                self._data = []
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name != b"data":  # a comment (a ping), or a field that does not matter here
            return
        self._data.append(value[1:] if value[:1] == b" " else value)
        if sum(map(len, self._data)) > MOST_EVENT:
            raise HttpError("an event of the stream has no end")
