"""Logins take turns, and who waits for a dead host keeps nobody waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from k2tui.adapters import handshakes
from k2tui.adapters.handshakes import FOR_ONE_SSHD, IN_ALL, handshake
from tests.waiting import until


class Logins:
    """Logins that stay under way until they are let through."""

    def __init__(self) -> None:
        self.under_way: list[str] = []
        self.most = 0
        self._go = asyncio.Event()

    async def log_in(self, sshd: str) -> None:
        async with handshake(sshd):
            self.under_way.append(sshd)
            self.most = max(self.most, len(self.under_way))
            await self._go.wait()
            self.under_way.remove(sshd)

    def let_through(self) -> None:
        self._go.set()


@asynccontextmanager
async def logging_in(*sshds: str) -> AsyncIterator[Logins]:
    """All of them at once; afterwards they have ended."""
    logins = Logins()
    tasks = [asyncio.ensure_future(logins.log_in(sshd)) for sshd in sshds]
    yield logins
    logins.let_through()
    await asyncio.gather(*tasks)


async def test_one_sshd_is_asked_for_few_logins_at_a_time() -> None:
    async with logging_in(*["bastion"] * 20) as logins:
        await until(lambda: len(logins.under_way) == FOR_ONE_SSHD)
    assert logins.most == FOR_ONE_SSHD


async def test_a_fleet_logs_in_a_few_at_a_time() -> None:
    async with logging_in(*map(str, range(40))) as logins:
        await until(lambda: len(logins.under_way) == IN_ALL)
    assert logins.most == IN_ALL


async def test_hosts_that_do_not_answer_give_their_turns_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "TURN_S", 0.05)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(logging_in(*(f"dead-{number}" for number in range(2 * IN_ALL))))
        alive = await stack.enter_async_context(logging_in("alive"))
        await until(lambda: alive.under_way)


async def test_every_turn_is_given_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "TURN_S", 0.01)
    async with logging_in(*(f"slow-{number}" for number in range(3 * IN_ALL))) as slow:
        await until(lambda: len(slow.under_way) == 3 * IN_ALL)
    monkeypatch.setattr(handshakes, "TURN_S", 3600.0)
    async with logging_in(*(f"next-{number}" for number in range(3 * IN_ALL))) as logins:
        await until(lambda: len(logins.under_way) == IN_ALL)
    assert logins.most == IN_ALL
