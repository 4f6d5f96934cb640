"""Bytes of one log in; lines to a ring, facts to the launch. The one reader, live and offline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from k2tui.core.advance import advance
from k2tui.core.clock import clock_or_none, placed
from k2tui.core.facts import BarDrawn, LaunchFact, Line
from k2tui.core.grammar import GATE, read_facts
from k2tui.core.grammar.beats import HEAD, tells_nothing
from k2tui.core.grammar.prefix import pieces, stamp_of
from k2tui.core.grammar.stacks import FRAME
from k2tui.core.grammar.tracebacks import WORDS as TRACEBACK_WORDS
from k2tui.core.grammar.tracebacks import TracebackReader
from k2tui.core.grammar.wrapping import Wrapping
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.lines import LineSplitter
from k2tui.core.movement import BACK_S, without_jump
from k2tui.core.ring import LineRing
from k2tui.core.speakers import Speakers
from k2tui.core.surroundings import NOTHING_KNOWN, Surroundings
from k2tui.core.verdict import observed
from k2tui.core.zone import LogZone

_CUT_LINES = 64
"""So many lines at its beginning may belong to a traceback whose head was cut off."""


class LogIntake:
    """The reader of one log. Any bytes, cut anywhere, give the same launch; nothing in them raises."""

    def __init__(self, *, ring: LineRing | None = None, engine: str | None = None, near: float | None = None) -> None:
        """`near` is a log clock close to the log's own time: it gives the year to stamps that have none."""
        self.ring = LineRing() if ring is None else ring
        self.launch = Launch(engine=engine)
        """By the log and the last observation."""
        self.lines_seen = 0
        self.bytes_seen = 0
        self.last_stamp: float | None = None
        """Log clock of the newest line that has a stamp."""
        self._log = self.launch
        """By the log alone."""
        self._observe: Callable[[Launch], Launch] = _as_it_is
        self._splitter = LineSplitter()
        self._tracebacks = TracebackReader()
        self._near = near
        self._zone = LogZone()
        self._wrapping = Wrapping()
        self._speakers = Speakers()
        self._now: float | None = None
        self._clock_read: float | None = None
        """The newest live clock, as the log would print it."""
        self._future: tuple[float, float] | None = None
        """(a last progress that lies ahead of that clock, the clock when that was noticed)."""
        self._here: tuple[list[str], int] = ([], 0)
        """The lines that are being read, and which of them."""
        self._stamped_to = 0
        """Of those lines, how many were searched for a stamp."""
        self._before: tuple[str, int] = ("", 0)
        """The last line that was not blank before those, and its number."""
        self._looked_at = ""
        self._bar_began: dict[tuple[str, int], float] = {}
        self._beats: dict[tuple[int | None, str | None], tuple[int, str]] = {}

    def feed(self, data: bytes, now: float | None = None) -> None:
        """Take what was read from the log. `now` (log clock) is for bytes that were written just now: a bar that is
        redrawn has no stamp. Without it, a bar's time is reckoned from its own count of seconds."""
        self._now = self._zone.to_log(now)
        if now is not None:
            self._near = now
        before = self.last_stamp
        self.bytes_seen += len(data)
        batch = self._splitter.cut(data)
        lines = batch.lines
        if lines:
            self._read(lines, batch.redraws)
            self._leave(lines)
            self.ring.extend(lines)
        for drawn in batch.open_redraws:
            self._look(drawn, self._number(0))
        self.ring.set_open(self._splitter.open_line)
        text = self._splitter.open_text
        if text.endswith("]") and "%" in text and len(text) < 1000:
            self._look(text, self._number(0), bars_only=True)
        if now is not None and self.last_stamp is not None and self.last_stamp != before:
            self._zone.see(now, self.last_stamp)
            self._log = replace(self._log, clock_ahead_s=self._zone.ahead_s)
        self._clock_read = self._zone.to_log(now) if now is not None else self._clock_read
        self.launch = self._observe(self._in_time())

    def flush(self) -> None:
        """Look at the unfinished line: the end of the file, or nothing came for a while."""
        text = self._splitter.open_text
        if text.strip() and text != self._looked_at:
            self._looked_at = text
            self._look(text, self._number(0))
            self.launch = self._observe(self._in_time())

    def observe(
        self,
        *,
        now: float | None,
        process_alive: bool | None,
        exit_code: int | None = None,
        stop_asked: bool = False,
        probe: Mapping[str, object] | None = None,
        around: Surroundings = NOTHING_KNOWN,
    ) -> Launch:
        """What a log alone cannot say: a crash by its exit, a hang by silence, a stop that was asked for."""
        self._clock_read = self._zone.to_log(now)
        self._observe = partial(
            observed,
            now=self._clock_read,
            process_alive=process_alive,
            exit_code=exit_code,
            stop_asked=stop_asked,
            probe=probe,
            around=around,
        )
        self.launch = self._observe(self._in_time())
        return self.launch

    def _in_time(self) -> Launch:
        """The launch by its log, its last progress not in the future: such a silence begins when that is noticed.

        A clock was set back, or a stamp is not true (a request's text can hold any).
        """
        now, since = self._clock_read, self._log.quiet_since
        if now is None or since is None or since <= now + BACK_S:
            self._future = None
            return self._log
        if self._future is None or self._future[0] != since or self._future[1] > now:
            self._future = (since, now)
        return replace(without_jump(self._log, since - self._future[1]), quiet_since=self._future[1])

    def _number(self, index: int) -> int:
        return self.ring.line_number_base + self.lines_seen + index + 1

    def _read(self, lines: list[str], redraws: dict[int, list[str]]) -> None:
        head, gate, beats = HEAD.match, GATE.search, self._beats
        looked_at, self._looked_at = self._looked_at, ""
        steady = self._is_steady()
        quiet = not self._tracebacks.active and self.lines_seen >= _CUT_LINES
        for index, text in enumerate(lines):
            if quiet:
                if (found := head(text)) is not None:
                    if steady:
                        if not tells_nothing(found):
                            beats[found.lastindex, found[1]] = (index, text)
                        continue
                elif gate(text) is None and index not in redraws:
                    continue
            self._fold(lines)
            self._arrive(lines, index)
            if index in redraws:
                for drawn in redraws[index]:
                    self._look(drawn, self._number(index))
            elif index or text != looked_at:
                self._look(text, self._number(index))
            steady = self._is_steady()
            quiet = not self._tracebacks.active and self.lines_seen + index >= _CUT_LINES
        self._fold(lines)

    def _arrive(self, lines: list[str], index: int) -> None:
        """Line `index` is looked at: know what stands before it."""
        self._here = (lines, index)
        if index > self._stamped_to:
            self._note_stamp(lines, self._stamped_to, index)
        self._stamped_to = index + 1

    def _leave(self, lines: list[str]) -> None:
        """The lines are read: keep of them what those after them need."""
        if len(lines) > self._stamped_to:
            self._note_stamp(lines, self._stamped_to, len(lines))
        self._before = self._last_before(lines, len(lines))
        self._here, self._stamped_to = ([], 0), 0
        self.lines_seen += len(lines)

    def _last_before(self, lines: list[str], index: int) -> tuple[str, int]:
        for place in range(index - 1, -1, -1):
            if lines[place].strip():
                return self._wrapping.plain(lines[place]), self._number(place)
        return self._before

    def _note_stamp(self, lines: list[str], first: int, end: int) -> None:
        """The newest stamp of lines that nobody looked at."""
        for index in range(end - 1, first - 1, -1):
            if (stamp := stamp_of(self._wrapping.plain(lines[index]))) is not None and self._clock(stamp) is not None:
                return

    def _is_steady(self) -> bool:
        """It serves, and heartbeats change nothing but its figures: the last of each kind is enough."""
        return self._log.phase is LaunchPhase.SERVING and self._log.kind is LaunchKind.READY

    def _fold(self, lines: list[str]) -> None:
        """The heartbeats since the last other line, in order, the newest of each kind and rank."""
        if not self._beats:
            return
        newest = sorted(self._beats.values())
        self._beats.clear()
        for index, text in newest:
            self._arrive(lines, index)
            self._look(text, self._number(index))

    def _look(self, text: str, number: int, *, bars_only: bool = False) -> None:
        for inner, host in self._wrapping.inside(text):
            self._look_inside(inner, number, None if inner is text else text, host, bars_only=bars_only)

    def _look_inside(self, inner: str, number: int, whole: str | None, host: str, *, bars_only: bool) -> None:
        for line in pieces(inner, number, whole=whole, host=host):
            at = self._clock(line.stamp)
            if not bars_only:
                self._traceback(line, at)
            for fact, engine in read_facts(line):
                if not bars_only or isinstance(fact, BarDrawn):
                    self._apply(fact, engine, at)

    def _traceback(self, line: Line, at: float | None) -> None:
        reader = self._tracebacks
        if (
            reader.active
            or any(word in line.message for word in TRACEBACK_WORDS)
            or (line.number <= _CUT_LINES and self.last_stamp is None and FRAME.match(line.message))
        ):
            fact = reader.read(line, lambda: self._last_before(*self._here))
            if fact is not None:
                self._apply(fact, None, at)

    def _apply(self, fact: LaunchFact, engine: str | None, at: float | None) -> None:
        if isinstance(fact, BarDrawn):
            at = self._bar_time(fact)
        elif at is None:
            at = self._now if self._now is not None else self.last_stamp
        if self._speakers.begins(fact, engine) and self._log.suspects:
            self._log = Launch(clock_ahead_s=self._log.clock_ahead_s)  # until now it was somebody else who failed
        if not self._speakers.counts(fact, engine):
            return
        if engine is not None and self._log.engine is None:
            self._log = replace(self._log, engine=engine)
        before = self._log
        self._log = advance(before, fact, at)
        if len(self._log.bars) < len(before.bars):
            self._bar_began.clear()  # a new start

    def _bar_time(self, fact: BarDrawn) -> float | None:
        if self._now is not None:
            return self._now
        bar = (fact.progress.label, fact.progress.total)
        if bar not in self._bar_began or fact.progress.done == 0:
            if self.last_stamp is None:
                return None
            self._bar_began[bar] = self.last_stamp
        return self._bar_began[bar] + (fact.elapsed_s or 0)

    def _clock(self, stamp: str | None) -> float | None:
        at = clock_or_none(stamp)
        if at is not None:
            at = placed(at, self._near)
            self.last_stamp = at
        return at


def _as_it_is(launch: Launch) -> Launch:
    return launch
