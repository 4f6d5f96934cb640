"""The later verbs of the fake fleet: looked at before, restarted several at once, proved, undone, adopted, saved."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from k2tui.core.builds import Build
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.preflight import Preflight, PreflightItem, Weight
from k2tui.core.runs import Run
from k2tui.core.verbs import Manner, ProfileChange, VerbEvent
from k2tui.core.views import Proof

if TYPE_CHECKING:
    from tests.fakes.fleet import FakeFleet


class FakeVerbs:
    """What FakeFleet can do beside starting and stopping."""

    builds: dict[str, Build]
    """What `read_build` finds, by server."""
    preflights: dict[str, Preflight]
    """What `preflight` finds, by server; one where all is well for any other."""
    proofs: dict[str, Proof]
    """What `verify` finds, by server."""
    manners: list[Manner | None]
    """Of every start and restart, in order."""
    saved: list[tuple[str, ProfileChange, str, bool]]
    """(server, change, as_name, use) of every profile that was saved."""

    def __init__(self) -> None:
        self.builds, self.preflights, self.proofs, self.manners, self.saved = {}, {}, {}, [], []

    async def preflight(self: FakeFleet, name: str, change: ProfileChange | None = None) -> Preflight:  # type: ignore[misc]
        self.plan(name, change)
        return self.preflights.get(name, Preflight((PreflightItem("ssh", Weight.FINE, "ssh ok"),)))

    async def read_build(self: FakeFleet, name: str) -> Build:  # type: ignore[misc]
        if name not in self.builds:
            raise K2Error(f"no engine was found for {name}", code="no_build", subject=name)
        self.set(name, build=self.builds[name])
        return self.builds[name]

    async def restart_many(  # type: ignore[misc]
        self: FakeFleet,
        changes: Mapping[str, ProfileChange | None],
        *,
        confirm: Collection[str] = (),
        parallel: bool = False,
        manner: Manner | None = None,
    ) -> AsyncIterator[VerbEvent]:
        for name, change in changes.items():
            node = self.server(name).settings.node
            async for event in self.restart(name, change, confirm=node if node in confirm else None, manner=manner):
                yield event
                if event.type == "done" and event.exit_code is not ExitCode.DONE:
                    return

    async def verify(self: FakeFleet, name: str) -> AsyncIterator[VerbEvent]:  # type: ignore[misc]
        self._let("verify", name, None, None)
        proof = self.proofs.get(name, Proof(True, "47 tokens in 0.9 s"))
        self.set(name, proof=proof, proof_at=self.clock.at)
        yield VerbEvent("proved" if proof.ok else "failed", name, 0.9, proof.text)
        yield VerbEvent("done", name, 0.9, proof.text, exit_code=ExitCode.DONE if proof.ok else ExitCode.BAD)

    async def go_on(self: FakeFleet, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]:  # type: ignore[misc]
        self._let("go_on", name, None, confirm)
        self.set(name, planned=None)
        async for event in self._launch(self.plan(name), verify=True):
            yield event

    async def take_back(self: FakeFleet, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]:  # type: ignore[misc]
        self._let("take_back", name, None, confirm)
        self.set(name, planned=None)
        yield VerbEvent("done", name, 0.1, f"{name} is as it was", exit_code=ExitCode.DONE)

    async def adopt(self: FakeFleet, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]:  # type: ignore[misc]
        if confirm is None:
            text = f"adopt {name} needs a confirmation: pid 31337 of root in session 31337, with 2 processes below it"
            raise K2Error(text, code="confirm_needed", subject=name)
        self._let("adopt", name, None, confirm)
        view = self.server(name)
        self.set(name, found=None, settings=replace(view.settings, profile=name))
        yield VerbEvent("done", name, 0.1, f"{name} is one of ours", exit_code=ExitCode.DONE)

    async def save_profile(self: FakeFleet, name: str, change: ProfileChange, *, as_name: str, use: bool) -> str:  # type: ignore[misc]
        self.plan(name, change)
        self.saved.append((name, change, as_name, use))
        return "/home/operator/.config/k2tui/config.toml"

    async def runs(self: FakeFleet, name: str) -> tuple[Run, ...]:  # type: ignore[misc]
        return self.server(name).runs
