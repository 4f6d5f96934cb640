"""Who speaks in a log that several services write: of them those count that speak as an engine does, once one did."""

from __future__ import annotations

from k2tui.core.facts import Fault, LaunchFact, ServiceEnded


class Speakers:
    """The services of one log (compose, kubectl); a log without any has none, and everything counts."""

    def __init__(self) -> None:
        self._engines: set[str] = set()
        self._others: set[str] = set()
        """Those that said something before an engine was heard in them."""

    def begins(self, fact: LaunchFact, engine: str | None) -> bool:
        """An engine is heard for the first time, in a service that was silent: what went before was another's."""
        service = fact.line.service
        speaks = engine or (fact.engine if isinstance(fact, Fault) else None)
        return bool(service and speaks) and not self._engines and service not in self._others

    def counts(self, fact: LaunchFact, engine: str | None) -> bool:
        """The fact is an engine's, or nobody knows yet whose; `engine` is whose rule read it."""
        if isinstance(fact, ServiceEnded):
            return fact.service in self._engines
        service = fact.line.service
        if not service:
            return True
        if engine or (isinstance(fact, Fault) and fact.engine):
            self._engines.add(service)
        self._others.add(service)
        return not self._engines or service in self._engines
