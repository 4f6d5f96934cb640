"""Long text over a whole screen: a server described, one log line, a fact."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.geometry import Region

from k2tui.core import words
from k2tui.core.errors import K2Error
from k2tui.core.launch import Launch
from k2tui.core.profiles import command_lines
from k2tui.core.run_words import verdict_word
from k2tui.core.secrets import mask, masked_argv
from k2tui.core.views import ServerView
from k2tui.ui import present
from k2tui.ui.actions import EVERYWHERE, bindings
from k2tui.ui.expected import Expected
from k2tui.ui.fleetlike import FleetLike, UiClock
from k2tui.ui.layout import Places
from k2tui.ui.scene import Scene, launch_took
from k2tui.ui.screens.moving import MovingScreen
from k2tui.ui.spans import Line, chunks, wrapped
from k2tui.ui.verdicts import engine_words, silence_sentence
from k2tui.ui.widgets.cause_rows import advice_text
from k2tui.ui.widgets.effect_rows import modified_of
from k2tui.ui.widgets.grid_cells import interrupted_words
from k2tui.ui.widgets.launch_pane import headline
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.phase_rows import phase_rows, usual_words
from k2tui.ui.widgets.run_rows import ending
from k2tui.ui.widgets.serving_pane import serving_lines, source_note
from k2tui.ui.widgets.state_pane import disagreement_lines, proof_lines, witness_lines
from k2tui.ui.widgets.status_line import status_line

LABEL = 12


class TextPane(Pane):
    """Lines of text, wrapped to the width."""

    def __init__(self, title: str, rows: Sequence[Line | str]) -> None:
        super().__init__(id="text")
        self.title = title
        self._given = rows

    def tell(self, rows: Sequence[Line | str]) -> None:
        """Other text, where it changes while one reads."""
        self._given = rows
        self.lay_out()

    def lay_out(self) -> None:
        lines: list[Line] = []
        for row in self._given:
            if isinstance(row, str):
                lines += [((text, "text"),) for text in wrapped(mask(row), self.inner_width, 2000)] or [()]
            else:
                lines += list(chunks(row, self.inner_width, 2000)) or [()]
        self.show(lines)


class TextScreen(MovingScreen):
    """Text to read and to copy."""

    HERE: ClassVar[tuple[str, ...]] = EVERYWHERE
    BINDINGS = bindings(*HERE)
    SHOWN: ClassVar[tuple[str, ...]] = ("move.down", "move.up", "row.copy", "app.help", "app.back")

    def __init__(self, title: str, rows: Sequence[Line | str]) -> None:
        super().__init__()
        self.crumb = title
        self._rows_given = rows

    def make_panes(self) -> list[Pane]:
        self.text = TextPane("Text", self._rows_given)
        return [self.text]

    def arrange_panes(self, area: Region) -> Places:
        return {"text": area}

    def draw(self, scene: Scene) -> None:
        self.text.lay_out()

    def status_row(self, scene: Scene, width: int) -> Line:
        return status_line([self.crumb], [], scene, width, extra=self.hold_line())

    def action_app_open(self) -> None:
        self.k2.go_back()


def describe_screen(name: str, fleet: FleetLike, clock: UiClock) -> TextScreen:
    """Everything that is known of a server."""
    scene = Scene.of(fleet, clock)
    server = fleet.server(name)
    return TextScreen(f"{server.settings.node} › {name}", described(server, scene, fleet))


_EARLIER = 10
"""As many earlier launches are listed."""


def _row(label: str, text: str, role: str = "text") -> Line:
    return ((f"{label:<{LABEL}}", "muted"), (text, role))


def described(server: ServerView, scene: Scene, fleet: FleetLike) -> list[Line | str]:
    """The text: state, launch, command, environment, files, runs."""
    settings, run, launch = server.settings, server.run, server.launch
    node = scene.node(settings.node)
    rows: list[Line | str] = [headline(server, scene), ()]
    if node is not None:
        rows.append(_row("node", f"{settings.node} ({node.settings.host}), {node.settings.transport}"))
        rows.append(_row("link", present.link_words(node.link, scene.now)))
        rows.append(_row("kernel", node.reading.kernel or words.UNKNOWN))
        rows.append(_row("driver", node.reading.driver or words.UNKNOWN))
    if launch is not None:
        rows += [
            _row("engine", engine_words(launch) or words.UNKNOWN),
            _row("model", launch.model or words.UNKNOWN),
            _row("KV cache", present.number(launch.kv_tokens, "tokens")),
        ]
    rows += _build_rows(server)
    if interrupted_words(server):
        rows.append(_row("interrupted", interrupted_words(server), "warning"))
    rows += _found_rows(server)
    rows += [(), (("State", "title"),)]
    facts = [
        *disagreement_lines(server, 100, 3),
        *proof_lines(server, scene.now, 100, rows=6),
        *witness_lines(server, scene.now, 100),
    ]
    rows += facts or [(("not running", "muted"),)]
    if server.serving is not None:
        rows += [(), (("Serving", "title"), ("  ", "text"), *source_note(server.serving, scene.now))]
        rows += serving_lines(server, scene.now, 100, 40)
    if launch is not None:
        rows += _launch_rows(server, launch, scene.log_now(server))
    rows += _earlier_rows(server)
    if run is not None:
        rows += [(), (("Command of the newest run", "title"),)]
        rows += [f"{name}={value}" for name, value in run.env]
        rows.append(" ".join(masked_argv(run.argv)))
        rows += [(), (("Files on the node", "title"),)]
        rows += [_row("run", run.directory), _row("log", server.log_path or run.log_path)]
    elif server.log_path is not None:
        rows += [(), _row("log", server.log_path)]
    rows += [] if server.found is not None else _planned(server, fleet)
    if server.runs:
        rows += [(), (("Runs", "title"),)]
        for other in server.runs:
            said, role = ending(other)
            proved = "" if other.verdict is None else f"  {verdict_word(other)}"
            text = f"{other.run_id}  {other.why}  {said}{proved}  {other.started_by or ''}"
            rows.append(_row(present.run_time(other.run_id), text, role))
    return rows


def _build_rows(server: ServerView) -> list[Line | str]:
    """The engine as it is installed, and what of it is not as it was installed."""
    rows: list[Line | str] = []
    build = server.build
    if build is not None:
        where = f" in {build.path}" if build.path else ""
        commit = f", commit {build.commit}" if build.commit else ""
        rows.append(_row("build", f"{build.engine} {build.version or words.UNKNOWN}{where}{commit}"))
    files = modified_of(server)
    if files:
        rows.append(_row("modified", ", ".join(files), "warning"))
    return rows


def _found_rows(server: ServerView) -> list[Line | str]:
    """A server that somebody else started: who, when, with what, and what runs below it."""
    found = server.found
    if found is None:
        return []
    rows: list[Line | str] = [(), (("Found, not started by k2tui", "title"),)]
    process = found.process
    rows.append(_row("process", f"pid {process.pid}, started by {process.user}"))
    if process.began_at is not None:
        rows.append(_row("since", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(process.began_at))))
    if found.container is not None:
        rows.append(_row("container", found.container))
    listening = {True: "it listens on it", False: "nothing listens on it", None: "nobody could tell whether it listens"}
    port = words.UNKNOWN if found.port is None else f"{found.port}, {listening[found.listening]}"
    rows.append(_row("port", port))
    rows.append(_row("directory", found.cwd or words.UNKNOWN))
    rows.append(_row("log", found.log or found.log_note or words.UNKNOWN))
    rows.append(_row("GPUs", ", ".join(map(str, found.gpus)) or words.UNKNOWN))
    rows += [(), (("Its command", "title"),), " ".join(masked_argv(found.argv))]
    rows += [(), (("Its environment, as far as k2tui shows it", "title"),)]
    if found.env_unknown:
        rows.append((("it can't be read with this login", "muted"),))
    rows += [f"{name}={value}" for name, value in found.env]
    if found.workers:
        rows += [(), (("Processes below it", "title"),)]
        rows += [_row(f"pid {worker.pid}", f"{worker.user}  {mask(worker.title)}") for worker in found.workers]
    return rows


def _earlier_rows(server: ServerView) -> list[Line | str]:
    """Earlier launches of this model on this node: how long they took, and which phases were slow."""
    past = server.around.past
    if not past:
        return []
    rows: list[Line | str] = [(), (("Earlier launches of this model here", "title"),)]
    for one in past[:_EARLIER]:
        end = one.kind.value if one.ready_s is None else f"ready in {words.duration(one.ready_s)}"
        flags = "" if server.around.key in (None, one.key) else "  other flags"
        slow = "".join(f"  {words.PHASE_WORDS[phase]} slower than usual" for phase in one.slower)
        when = time.strftime("%m-%d %H:%M", time.localtime(one.began_at))
        rows.append(_row(when, f"{end}{flags}{slow}", "warning" if slow else "text"))
    return rows


def _launch_rows(server: ServerView, launch: Launch, log_now: float | None) -> list[Line | str]:
    """Its phases, what is wrong with it and what it runs with."""
    rows: list[Line | str] = [(), (("Launch", "title"),)]
    for row in phase_rows(launch, log_now, Expected.of(server)):
        head = _row(words.PHASE_WORDS[row.phase], f"{row.state:<8} {words.phase_time(row.elapsed_s):>8}")
        rows.append((*head, ("  ", "text"), *usual_words(row)))
    rows.append(_row("took", words.duration(launch_took(launch))))
    if launch.silence is not None:
        rows.append(_row("silence", f"{launch.silence.word.value}: {silence_sentence(launch, log_now)}"))
    if launch.cause is not None:
        said = f"{words.failure_words(launch.cause.failure)}, line {launch.cause.line_number}"
        rows += [_row("cause", said, "bad"), launch.cause.line]
    rows += [advice_text(advice) for advice in server.advice]
    rows += [_row("found", f"{finding.text} (line {finding.line_number})") for finding in launch.findings]
    checkpoint = server.around.checkpoint
    if checkpoint is not None:
        size = words.size(checkpoint.total_bytes)
        rows.append(_row("weights", f"{len(checkpoint.shards)} files, {size}, in {checkpoint.path}"))
        rows += [_row("", trouble.text, "bad") for trouble in checkpoint.troubles]
    return rows


def _planned(server: ServerView, fleet: FleetLike) -> list[Line | str]:
    """The command that a start would run now."""
    try:
        profile = fleet.plan(server.settings.name).profile
    except K2Error as error:
        return [(), _row("profile", error.message, "muted")]
    lines: list[Line | str] = [(), ((f"A start would run (profile {profile.name})", "title"),)]
    return [*lines, *[((line, "text"),) for line in command_lines(profile)]]
