"""What a start asks to be proved, and how what a server shows is judged. No I/O: services/proofs asks."""

from k2tui.core.effects.verdict import proof_of, verdict_of
from k2tui.core.effects.wanted import Command, Wanted, model_names, wanted

__all__ = ["Command", "Wanted", "model_names", "proof_of", "verdict_of", "wanted"]
