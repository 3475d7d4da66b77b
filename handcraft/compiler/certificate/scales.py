"""What queries are multiplied by: powers of two, so that exact scores stay exact."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handcraft.compiler.graph import Head

VANISHING = {"float64": 746, "float32": 746, "bfloat16": 746, "float16": 18}
"""A score lower by this has a share of exactly 0 after the softmax: exp(-746) is 0 in float64.

float32 (104) takes the same weights as float64, so both formats run one model; float16 has no room.
"""


ALONE = {**VANISHING, "float32": 104, "bfloat16": 104}
"""The same for weights of one format, which no other has to take."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """How heads are scaled.

    Attributes:
        halvings: how often the smallest scale without leak is halved.
        fixed: the scale of every head instead, a power of two.
        alone: the one format that the weights are made for, whatever format runs them.
    """

    halvings: int = 0
    fixed: int | None = None
    alone: str | None = None


NO_LEAK = Scaling()
"""Every head has the smallest scale at which a loser's share is exactly 0."""


def scale(head: Head, d_head: int, dtype: str, scaling: Scaling) -> Fraction:
    """Return what a head's queries are multiplied by, in a format.

    Scores are divided by sqrt(d_head): without leak the gap g must satisfy
    s g >= vanishing * sqrt(d_head).
    """
    if scaling.fixed is not None:
        return Fraction(scaling.fixed)
    vanishing = VANISHING[dtype] if scaling.alone is None else ALONE[scaling.alone]
    return _scale(head.gap, d_head, vanishing, scaling.halvings)


@lru_cache(maxsize=256)
def _scale(gap: Fraction, d_head: int, vanishing: int, halvings: int) -> Fraction:
    wanted = Fraction(vanishing * (isqrt(d_head - 1) + 1)) / gap
    found = Fraction(1)
    while found < wanted:
        found *= 2
    while found / 2 >= wanted:
        found /= 2
    return found / (1 << halvings)
