"""From the logits of one position to a token: the greedy choice, probabilities, a draw."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from handcraft.errors import InputError
from handcraft.runtime.transformer import softmax

if TYPE_CHECKING:
    from handcraft.runtime.transformer import Ids, Mask
    from handcraft.runtime.weights import Array


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is drawn.

    Attributes:
        temperature: 0 takes the greedy choice, 1 follows the probabilities of the model.
        top_k: only so many of the best tokens are drawn from; all without it.

    Raises:
        InputError: `bad-temperature`, `bad-top-k`.
    """

    temperature: float = 0.0
    top_k: int | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.temperature) and self.temperature >= 0):
            raise InputError(
                "bad-temperature", f"a temperature is 0 or more, not `{self.temperature}`"
            )
        if self.top_k is not None and self.top_k < 1:
            raise InputError("bad-top-k", f"`top_k` is 1 or more, not `{self.top_k}`")


def near_best(logits: Array, margin: float) -> Mask:  # [..., n] -> [..., n]
    """Mark the largest logit and those that count as equal: closer than half the margin."""
    below = logits.max(axis=-1, keepdims=True).astype(np.float64) - logits
    marked: Mask = (below == 0) | (2 * below < margin)
    return marked


def greedy(logits: Array, margin: float) -> Ids:  # [..., n] -> [...]
    """Return the first of the tokens whose logits count as largest."""
    first: Ids = np.argmax(near_best(logits, margin), axis=-1)
    return first


def forbid(logits: Array, ids: tuple[int, ...]) -> Array:  # [..., n] -> [..., n]
    """Return logits in which the tokens that are never produced are impossible."""
    allowed = logits.copy()
    allowed[..., list(ids)] = -np.inf
    return allowed


def probabilities(logits: Array) -> Array:  # [..., n] -> [..., n]
    """Return the probabilities of the tokens, in the format of the logits."""
    return softmax(logits)


def sample(logits: Array, sampling: Sampling, margin: float, generator: np.random.Generator) -> int:
    """Return the token drawn from logits `[n]`; equal ones rank by their place in the vocabulary.

    The draw is made in double precision, whatever the format of the model.
    """
    if sampling.temperature == 0:
        return int(greedy(logits, margin))
    kept: Array = logits.astype(np.float64)
    if sampling.top_k is not None:
        kept = forbid(kept, _all_but_best(kept, sampling.top_k, margin))
    with np.errstate(over="ignore"):
        scaled = (kept - kept.max()) / sampling.temperature
    shares = np.cumsum(softmax(scaled))
    drawn = np.searchsorted(shares, generator.random() * shares[-1], side="right")
    return int(drawn)


def _all_but_best(logits: Array, top_k: int, margin: float) -> tuple[int, ...]:
    rest = logits
    for _ in range(min(top_k, int(np.isfinite(logits).sum()))):
        rest = forbid(rest, (int(greedy(rest, margin)),))
    return tuple(int(number) for number in np.flatnonzero(np.isfinite(rest)))
