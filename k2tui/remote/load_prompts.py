"""What is asked, each time behind a new nonce; and prompts of a wished length for the prefill slope."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

from k2tui.remote.load_texts import PASSAGES, TASK

APART = 5
"""From a prompt's first passage to its second."""
WARM_NONCE = "k2tui, the same words again"


def usual_prompts() -> tuple[str, ...]:
    """As many as there are passages, each of two of them: about 400 tokens."""
    count = len(PASSAGES)
    return tuple(f"{TASK}\n\n{PASSAGES[i]}\n\n{PASSAGES[(i + APART) % count]}" for i in range(count))


def set_name(prompts: Sequence[str]) -> str:
    """SHA-256 of the prompts without their nonces."""
    return hashlib.sha256("\0".join(prompts).encode("utf-8", "surrogatepass")).hexdigest()


class Prompts:
    """Gives one prompt after the other. A seed gives the same nonces again, which a cache may then know."""

    def __init__(self, own: Sequence[str], *, seed: int | None, warm: bool) -> None:
        self._texts = tuple(own) or usual_prompts()
        self._random = random.Random(seed) if seed is not None else random.SystemRandom()
        self._warm = warm
        self._given = 0
        self.name = set_name(self._texts)
        self.nonce = f"{self._random.getrandbits(64):016x}"
        """Of the whole measurement."""

    def next(self) -> tuple[str, str]:
        """(nonce, text)."""
        text = self._texts[self._given % len(self._texts)]
        self._given += 1
        return self.fresh(), text

    def first(self) -> tuple[str, str]:
        """The first text, whatever was given before: what a single stream is measured with."""
        return self.fresh(), self._texts[0]

    def fresh(self) -> str:
        """A line of at least 16 tokens that no prompt had before; the same one always where the cache may know it."""
        if self._warm:
            return WARM_NONCE
        return " ".join(f"{self._random.getrandbits(16):04x}" for _ in range(8))

    def shuffled(self, values: Sequence[int]) -> list[int]:
        """The same values in a random order."""
        return self._random.sample(list(values), len(values))

    def of_length(self, size: int) -> str:
        """Natural text of this many characters: the passages in a random order, again and again."""
        made: list[str] = []
        length = 0
        while length < size:
            for passage in [PASSAGES[0]] if self._warm else self._random.sample(PASSAGES, len(PASSAGES)):
                made.append(passage)
                length += len(passage) + 2
                if length >= size:
                    break
        return "\n\n".join(made)[:size]
