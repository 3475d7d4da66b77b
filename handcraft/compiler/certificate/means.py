"""Means over keys in equal shares: how far rounding takes their sum, in any order of summation.

A sum in any order is a binary tree whose leaves are the terms. Of k shares of 1/k times numbers of
size at most T, a node over j leaves holds at most x = j T / k, and rounding it costs at most u 2^e
where 2^e <= x < 2^(e+1). Nodes are many only where they are small: a tree with k leaves has at most
k - j + 1 inner nodes of at least j leaves, for any j >= 2.

Proof. Those nodes are closed upwards. Let N be their number and B that of the lowest ones, each of
which has at least j leaves. B - 1 of the others have two children among them; the other
N - 2 B + 1 have one, and a leaf at least below their other child. So k >= B j + N - 2 B + 1, and
N <= k - 1 - B (j - 2) <= k - j + 1.

The tree that adds one term after the other has exactly k - j + 1 such nodes, for every j. So with
a cost that grows with j no tree costs more than it does, which is the sum over j = 2 .. k of
u 2^floor(log2(j T / k)): about a third of k u T, where k roundings of T are k u T.

Nodes hold what was rounded below them: where j T / k is a little less than a power of two, they
may reach it. So T stands for T (1 + gamma), of as many roundings as there are at most.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from handcraft.compiler.certificate.formats import (
    BEYOND,
    ROUNDOFF,
    TINY,
    Floats,
    Mask,
    gamma,
)

ROUNDED = 3
"""Roundings of a term before the sum: the share, the product, and one to spare."""


def mean_error(most: int, size: Floats, is_digital: Mask) -> Floats:
    """Return a bound on the rounding of means, `[n_format, n]`.

    Args:
        most: the most keys that share.
        size: the largest size of a number, its error included, `[n_format, n]`.
        is_digital: numbers that are -1, 0 or 1, so that no product is rounded, `[n_format, n]`.
    """
    growth = gamma(most + ROUNDED)
    reach = np.where(growth < 1, size * (1 + growth), 0.0)
    fractions, exponents = np.frexp(reach)
    shapes, places = np.unique(fractions, return_inverse=True)
    costs = np.array([_cost(most, float(shape)) for shape in shapes])
    sums = np.ldexp(costs[places.reshape(reach.shape)], exponents)
    terms = np.where(is_digital, 1, 2) * reach
    bound: Floats = np.where(growth < 1, ROUNDOFF * (sums + terms) + TINY * 2 * most, BEYOND)
    return bound


@lru_cache(maxsize=256)
def _cost(most: int, size: float) -> float:
    """Return the largest sum over j = 2 .. k of 2^floor(log2(j size / k)), for k up to `most`.

    It is added up by powers of two: so many j reach each. Of 2^e k / size what may be too much by
    rounding is taken off.
    """
    if not size or most < 2:
        return 0.0
    k = np.arange(2, most + 1)
    _, top = np.frexp(size)
    powers = np.ldexp(1.0, np.arange(int(top) - 1, int(top) - 3 - most.bit_length(), -1))
    least = np.ceil(powers[:, None] * k / size * (1 - 2.0**-40))
    reaching = np.maximum(k - np.maximum(least, 2) + 1, 0)
    exactly = np.diff(reaching, axis=0, prepend=0.0)
    return float((powers @ exactly).max())
