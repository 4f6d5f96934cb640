"""When a server is asked for a real answer, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.core.effects import Wanted, proof_of
from k2tui.core.effects.checks import COMPLETION
from k2tui.core.errors import K2Error
from k2tui.core.manners import may_generate
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import Proof
from k2tui.services.doors import Clock, NodeLink
from k2tui.services.proofs import LogTail, NodeLooks

RETRY_S = 30.0
OF_HUNG_S = 300.0
"""What looks hung by its log and has work by its HTTP side is proved again after this time."""


@dataclass(frozen=True)
class ProofManners:
    """When k2tui may ask a server for tokens to learn its state."""

    generate: str
    """on-doubt | never | always."""
    max_s: float


@dataclass(frozen=True)
class Abstains:
    """What forbids any witness that generates, now."""

    capturing: bool = False
    job_running: bool = False
    measured: bool = False
    """A benchmark goes on: another request would be in its figures."""

    @property
    def why(self) -> str | None:
        """A sentence for the operator; None where nothing forbids it."""
        if self.capturing:
            return "not asked for a completion: what passes through this server is captured"
        if self.job_running:
            return "not asked for a completion: a job runs on this server"
        if self.measured:
            return "not asked for a completion: it is being measured"
        return None


class Proving:
    """The proofs of one server. Every completion that services ask for goes through `prove`."""

    def __init__(self, link: NodeLink, manners: ProofManners, clock: Clock) -> None:
        self.manners = manners
        self.proof: Proof | None = None
        self.proof_at: float | None = None
        self._tried_at: float | None = None
        self._link, self._clock = link, clock

    def begin_again(self) -> None:
        """Another run: nothing is proved, and nothing was tried."""
        self.proof = self.proof_at = self._tried_at = None

    def forget(self) -> None:
        """What was proved no longer counts, and is not to be proved at once again."""
        self.proof = self.proof_at = None
        self._tried_at = self._clock.monotonic()

    def is_owed(self, abstains: Abstains, *, silent_s: float | None, idle: bool) -> bool:
        """May and should it be asked by itself now? `silent_s`: since the log fell silent where it should not be, None
        while it is as it should be; `idle`: HTTP says that it has nothing to do."""
        now = self._clock.monotonic()
        if self._tried_at is not None and now - self._tried_at <= RETRY_S:
            return False
        doubt = self.proof is None or not self.proof.ok or self._is_old(now, silent_s, idle=idle)
        return self._may(abstains, doubt=doubt)

    async def prove(
        self,
        port: int | None,
        abstains: Abstains,
        *,
        argv: Sequence[str],
        wanted: Wanted | None = None,
        api_key: str | None = None,
        engine: str | None = None,
        version: str | None = None,
        node: NodeLooks | None = None,
        log: LogTail | None = None,
        asked: bool,
    ) -> Proof:
        """Ask now, and keep what came of it. `asked`: by the operator, else by ourselves on doubt.

        `wanted` None: no more than an answer of the server that was launched. `node`: the run on its node.
        """
        from k2tui.services.proofs.prove import prove  # noqa: PLC0415  not needed for the first paint

        if not self._may(abstains, doubt=True, asked=asked):
            why = abstains.why or 'not asked for a completion: [probe] generate = "never"'
            return proof_of([Effect(COMPLETION, Outcome.CANNOT, why)], answered=False)
        if port is None:
            return _failed("no port is known to ask on")
        max_s = self.manners.max_s
        self._tried_at = self._clock.monotonic()
        client = self._link.http(port, timeout_s=max_s)
        try:
            proof = await prove(
                client,
                argv=argv,
                wanted=wanted or Wanted(),
                max_s=max_s,
                port=port,
                api_key=api_key,
                engine=engine,
                version=version,
                node=node,
                log=log,
            )
        except K2Error as error:
            proof = _failed(str(error))
        finally:
            await client.aclose()
        if not _is_open(proof):
            self.proof, self.proof_at = proof, self._clock.monotonic()
        return proof

    def _may(self, abstains: Abstains, *, doubt: bool, asked: bool = False) -> bool:
        return may_generate(
            self.manners.generate,
            doubt=doubt,
            capturing=abstains.capturing,
            job_running=abstains.job_running or abstains.measured,
            asked=asked,
        )

    def _is_old(self, now: float, silent_s: float | None, *, idle: bool) -> bool:
        """The log is silent where it should not be: the proof is from before that, or old while there is work."""
        if silent_s is None or self.proof_at is None:
            return False
        age_s = now - self.proof_at
        return age_s >= silent_s or (age_s > OF_HUNG_S and not idle)


def _failed(why: str) -> Proof:
    return proof_of([Effect(COMPLETION, Outcome.NOT_PROVED, why)], answered=False)


def _is_open(proof: Proof) -> bool:
    """Nothing was learned of the server: its queue was long. What was known before stays."""
    missing = any(effect.outcome is Outcome.NOT_PROVED for effect in proof.effects)
    return not proof.ok and not missing
