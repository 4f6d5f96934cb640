"""A command line as an operator pastes it, read without a shell: environment and arguments out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.secrets import mask

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_CONTINUATION = re.compile(r"\\([ \t\r\u00a0]*)(?:\n|\Z)")
_REDIRECTION = re.compile(r"&>>?|<<<?|>>|>\||[<>]&?")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_DROPPED = frozenset({"nohup", "setsid", "exec", "time"})
"""Words in front of a program that k2tui's own supervisor makes needless."""
_SHOWN = 40
"""Characters of the offending piece that an error shows."""


class CommandError(K2Error):
    """A pasted command that can't be run as it stands."""

    def __init__(self, found: str, expected: str) -> None:
        shown = found if len(found) <= _SHOWN else found[: _SHOWN - 1] + "…"
        self.found = mask(shown)
        """The piece that is wrong, or a few words for it."""
        self.expected = expected
        """What would be right, and what to do."""
        super().__init__(
            f"found {self.found}, expected {expected}", code="bad_command", subject="cmd", exit_code=ExitCode.USAGE
        )


@dataclass(frozen=True, slots=True)
class PastedCommand:
    """What a pasted command line runs."""

    env: Mapping[str, str]
    argv: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """What was left out or read otherwise than a shell would, one sentence each."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    bare: int
    """How many characters at its start were outside quotes and backslashes."""

    @property
    def is_assignment(self) -> bool:
        found = _ASSIGNMENT.match(self.text)
        return found is not None and found.end() <= self.bare

    @property
    def plain(self) -> str | None:
        """The text when no part of it was quoted."""
        return self.text if self.bare == len(self.text) else None


def parse_command(text: str) -> PastedCommand:
    """Environment and arguments of one command. Raises CommandError for what only a shell could do."""
    if "\0" in text:
        raise CommandError("a NUL byte", "text without NUL")
    reader = _Reader(text.replace("\r\n", "\n"))
    env: dict[str, str] = {}
    command: list[_Word] = []
    for words in reader.statements():
        _no_preparation(words)
        if words[0].plain == "export":
            _no_second(command, words)
            _export(words[1:], env)
        elif all(word.is_assignment for word in words):
            _no_second(command, words)
            for word in words:
                name = _assign(word, env)
                reader.warn(f"{name} is set on a line of its own: a shell would need export, k2tui passes it on")
        elif not command:
            command = words
        elif words[0].text.startswith("-"):
            reader.warn(f"{words[0].text} was taken as part of the command; a shell would end the command before it")
            command = [*command, *words]
        elif [word.text for word in words] != ["disown"]:
            _no_second(command, words)
    argv = _without_prefix(command, env, reader)
    if not argv:
        raise CommandError("no program", "a command, such as python3 -m sglang.launch_server --model-path ...")
    return PastedCommand(env, argv, tuple(reader.warnings))


def _export(words: list[_Word], env: dict[str, str]) -> None:
    for word in words:
        if word.is_assignment:
            _assign(word, env)
        elif word.text not in env:
            raise CommandError(f"export {word.text}", f"export {word.text}=VALUE: k2tui can't know its value")


def _assign(word: _Word, env: dict[str, str]) -> str:
    name, _, value = word.text.partition("=")
    env[name] = value
    return name


def _no_second(command: list[_Word], words: list[_Word]) -> None:
    if command:
        raise CommandError(f"a second command: {words[0].text}", "one command; what must run before it goes into setup")


def _no_preparation(words: list[_Word]) -> None:
    """What prepares the shell has its own keys in the config."""
    if words[0].plain in {"cd", "pushd"}:
        raise CommandError(words[0].text, "the program alone; its directory goes into the server's cwd")
    if words[0].plain in {"source", ".", "conda", "ulimit", "module"}:
        raise CommandError(words[0].text, "the program alone; what must run before it goes into the server's setup")


def _without_prefix(command: list[_Word], env: dict[str, str], reader: _Reader) -> tuple[str, ...]:
    """The arguments from the program on; assignments in front of it go to `env`."""
    rest = list(command)
    after_env = False
    while rest:
        word = rest[0]
        if word.is_assignment or (after_env and _ASSIGNMENT.match(word.text)):
            _assign(rest.pop(0), env)
        elif word.plain == "env":
            rest.pop(0)
            after_env = True
            if rest and rest[0].text.startswith("-"):
                raise CommandError(f"env {rest[0].text}", "env NAME=VALUE without options")
        elif word.plain in _DROPPED:
            rest.pop(0)
            while rest and rest[0].text.startswith("-"):
                rest.pop(0)
            reader.warn(f"{word.plain} was left out: k2tui's supervisor outlives the connection by itself")
        else:
            break
    return tuple(word.text for word in rest)


class _Reader:
    """Splits text into statements of words, the way of a POSIX shell as far as no shell is needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.warnings: list[str] = []

    def warn(self, sentence: str) -> None:
        """Say once what was left out."""
        if (masked := mask(sentence)) not in self.warnings:
            self.warnings.append(masked)

    def statements(self) -> Iterator[list[_Word]]:
        """Lists of words, none of them empty, ended by newline, `;` or `&`."""
        words: list[_Word] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r\u00a0":
                self._at += 1
            elif char == "\\" and (skipped := self._continuation()):
                self._at += skipped
            elif char == "#":
                self._at = self._end_of_line()
            elif char in "\n;":
                self._at += 1
                if words:
                    yield words
                words = []
            elif char == "&" and not self._sees("&>"):
                self._refuse_operator()
                self._at += 1
                self.warn("& was left out: k2tui starts it in the background by itself")
                if words:
                    yield words
                words = []
            elif char in "<>" or self._sees("&>"):
                self._redirection("")
            else:
                self._refuse_operator()
                self._word_into(words)
        if words:
            yield words

    def _word_into(self, words: list[_Word]) -> None:
        word = self._word()
        if word.plain is not None and word.text.isdigit() and self._peek() in ("<", ">"):
            self._redirection(word.text)
        else:
            _refuse_expansion(word)
            words.append(word)

    def _word(self) -> _Word:
        parts: list[str] = []
        bare: int | None = None
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\r\n\u00a0;&|<>()":
                break
            if char == "\\" and (skipped := self._continuation()):
                self._at += skipped
            elif char in "'\"\\":
                bare = sum(map(len, parts)) if bare is None else bare
                parts.append(self._escaped() if char == "\\" else self._quoted(char))
            else:
                self._refuse_expansion_char()
                parts.append(char)
                self._at += 1
        text = "".join(parts)
        return _Word(text, len(text) if bare is None else bare)

    def _quoted(self, quote: str) -> str:
        start = self._at
        self._at += 1
        parts: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == quote:
                self._at += 1
                return "".join(parts)
            if quote == '"':
                follows = self._text[self._at + 1 : self._at + 2]
                if char == "\\" and follows and follows in '$`"\\\n':
                    parts.append("" if follows == "\n" else follows)
                    self._at += 2
                    continue
                self._refuse_expansion_char()
            parts.append(char)
            self._at += 1
        raise CommandError(self._text[start : start + _SHOWN].split("\n")[0], f"a closing {quote}")

    def _escaped(self) -> str:
        escaped = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        return escaped

    def _continuation(self) -> int:
        """How many characters a backslash at the end of a line, with the line's end, takes; 0 when it is none."""
        found = _CONTINUATION.match(self._text, self._at)
        if found is None:
            return 0
        if found[1]:
            self.warn("a backslash with blanks behind it was read as the line's continuation")
        return len(found[0])

    def _redirection(self, descriptor: str) -> None:
        """Leave out `> file`, `2>&1`, `&> file`, `< file`; k2tui keeps the log."""
        found = _REDIRECTION.match(self._text, self._at)
        assert found is not None
        operator = found[0]
        if operator.startswith("<<"):
            raise CommandError(self._snippet(), "a command without a here-document")
        self._at = found.end()
        while self._peek() in (" ", "\t"):
            self._at += 1
        target = self._word()
        if not target.text:
            raise CommandError(f"{descriptor}{operator}", "a file behind it")
        self.warn(f"{descriptor}{operator}{target.text} was left out: k2tui keeps one log for each run")

    def _refuse_operator(self) -> None:
        rest = self._text[self._at :]
        if rest.startswith(("&&", "||")):
            raise CommandError(
                self._snippet(),
                "one command; what must run before it goes into the server's setup, its directory into cwd",
            )
        if rest.startswith("|"):
            raise CommandError(self._snippet(), "a command without a pipe; k2tui keeps the log by itself")
        if rest.startswith(("(", ")")):
            raise CommandError(self._snippet(), "a command without a subshell, or quotes around it")
        if rest.startswith("$ "):
            raise CommandError("$", "the command without the prompt in front")
        if rest.startswith(("–", "—")):
            raise CommandError(self._snippet(), "a plain - in front of a flag; a text editor made it a dash")

    def _refuse_expansion_char(self) -> None:
        char, follows = self._text[self._at], self._text[self._at + 1 : self._at + 2]
        if char == "`" or (char == "$" and follows == "("):
            raise CommandError(self._snippet(), "the value itself; k2tui runs no shell that could run a command for it")
        if char == "$" and (follows.isalnum() or (follows and follows in "_{'\"@*#?$!-")):
            raise CommandError(self._snippet(), "the value itself; k2tui runs no shell that could fill in a variable")

    def _snippet(self) -> str:
        return self._text[self._at : self._end_of_line()].strip()

    def _end_of_line(self) -> int:
        end = self._text.find("\n", self._at)
        return len(self._text) if end < 0 else end

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _sees(self, text: str) -> bool:
        return self._text.startswith(text, self._at)


def _refuse_expansion(word: _Word) -> None:
    """`~` and `{a,b}` outside quotes are a shell's to expand."""
    start = _ASSIGNMENT.match(word.text)
    value_at = start.end() if start else 0
    if word.text[value_at : value_at + 1] == "~" and value_at < word.bare:
        raise CommandError(word.text, "an absolute path; k2tui runs no shell that could expand ~")
    braces = _BRACES.search(word.text)
    if braces is not None and braces.start() < word.bare:
        raise CommandError(word.text, "single quotes around {...}, else a shell takes it apart")
