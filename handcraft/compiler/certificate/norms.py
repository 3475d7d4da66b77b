"""What layer norms do to what sublayers read, in a model whose norms are meant to do nothing.

A norm turns a row x into g (x - m) / sqrt(v + epsilon), m its mean and v its variance. Here g is
the root of what v + epsilon is expected to be, so that the factor is 1 up to a small share, the
same for the whole row. Readers cancel m: a reference direction that nothing writes holds -m after
the norm, and each reader subtracts it as often as the sum of its coefficients says. So what is left
is a share of what is read, and the rounding of m and of the differences.

Of how software computes m and v nothing is taken for granted but that m is off by at most
(n + 8) u max|x| and v by a share of at most (2 n + 16) u: sums in any order, in two passes or from
the mean of squares, and running means and variances (Welford), are better than that. So a variance
that is less than half a unit in the last place of a large epsilon, a power of four, is lost, the
factor is exactly 1, and nothing but the difference x - m is rounded.

What is assumed of software, beside IEEE arithmetic that keeps subnormal numbers:

- v + epsilon is a number of the format (one that stayed in float64 would lose no variance), and the
  root of a power of four and its reciprocal are exact; elsewhere they are off by two units in the
  last place at most, together with all that the factor needs by 8 u.
- rows are made as `(x - m) * r` or as `x * r + (-m * r)`, fused or not, and then multiplied by the
  gain. Each costs 3 u of |x| and of |m|, for the direction and for the reference; and readers round
  the weight of the reference, its product with the mean, and one more sum. `shift` holds all that.
- readers add up their products in any order, fused or not. As no direction is exactly 0 behind a
  norm, each one that is read is a term: of a one-hot too. That products with weights of 0 are 0
  takes numbers that are finite, which `beyond` sees to.
- a text has its start token and its `bos` where they belong, and nowhere else.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.certificate.formats import (
    BEYOND,
    LARGEST,
    ROUNDOFF,
    TINY,
    Floats,
    Mask,
    gamma,
    outward,
)
from handcraft.compiler.certificate.readings import SYMBOL, Slip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.certificate.activations import Smooth
    from handcraft.compiler.certificate.readings import Written
    from handcraft.compiler.certificate.stream import Stream

TAKEN = 4
"""Roundings of what is read and taken away: the sum with the mean, two products, and their sum."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """How the norms of a model are made to do nothing.

    Attributes:
        epsilon: what is added to the variance.
        pair: two constant directions, pair and -pair, that make up the rest of it; 0 without them.
        d_model: how many directions a row has.
        one: what a constant direction holds by which logits are pushed down, a power of two.
    """

    epsilon: float
    pair: float
    d_model: int
    one: float = 1.0

    @property
    def expected(self) -> float:
        """What variance and epsilon are expected to add up to, epsilon without a pair."""
        return 2 * self.pair**2 / self.d_model if self.pair else self.epsilon

    @property
    def gain(self) -> float:
        """What normalised rows are multiplied by: the root of `expected`."""
        return float(np.sqrt(self.expected))


@dataclass(frozen=True, slots=True)
class Stock:
    """What software that is not ours does between the matrices.

    Attributes:
        pinned: its layer norms.
        smooth: its neurons; None where they are ReLUs.
    """

    pinned: Pinned
    smooth: Smooth | None


def slip(stream: Stream, pinned: Pinned) -> Slip:
    """Return how far norms can move the directions of a stream."""
    n, u = pinned.d_model, ROUNDOFF
    squares, total, most = _sizes(stream)
    balance = _balance(total, stream, pinned)
    squares = squares + balance**2 + pinned.one**2
    held = np.maximum(np.maximum(most, balance), pinned.pair)
    apart = stream.uneven + stream.error.sum(axis=1, keepdims=True) + stream.spread
    mean = outward(np.minimum(2 * balance, apart) / n + gamma(n + 8) * held + TINY)
    if pinned.pair:
        off = (squares + n * pinned.epsilon) / (4 * pinned.pair**2) + (n + 16) * u
        shift = 11 * u * mean + 4 * TINY * pinned.gain
    else:
        variance = squares * (1 + 3 * gamma(n + 8)) / n
        is_lost = variance < u * pinned.epsilon
        off = np.where(is_lost, u, variance / (2 * pinned.epsilon) + 8 * u)
        shift = np.where(is_lost, 4, 11) * u * mean + 4 * TINY * pinned.gain
    share, shift = outward(off), outward(shift)
    beyond = (pinned.epsilon > LARGEST) | (squares + 2 * pinned.pair**2 > LARGEST) | (share > 0.5)
    return Slip(np.where(beyond, BEYOND, share), np.where(beyond, BEYOND, shift), mean)


def normed(stream: Stream, pinned: Pinned) -> Stream:
    """Return a stream as sublayers read it, behind a norm."""
    view = copy(stream)
    view.slip = slip(stream, pinned)
    return view


def left_over(stream: Stream, stock: Stock, *, both: Mask) -> Floats:
    """Return what stays of each direction that neurons read and take away, `[n_format, n]`.

    Where one neuron does it, what is below 0 by error stays.

    Args:
        stream: the stream before it.
        stock: norms and neurons.
        both: which directions two neurons clear, one for each sign, `[n]`.
    """
    found = slip(stream, stock.pinned)
    size = stream.sizes()
    over = found.share * size + found.shift + gamma(TAKEN) * (size + found.mean)
    bend = np.zeros_like(over)
    if stock.smooth is not None:
        exact = stream.exact_sizes()
        once = stock.smooth.off(-exact, exact, stream.error + over)
        bend = np.where(both, stock.smooth.odd(size + over), once)
    return outward(over + bend + np.where(both, 0.0, stream.error))


def unbalanced(
    stream: Stream, pinned: Pinned, written: Sequence[Written] = (), cleared: Floats | None = None
) -> Floats:
    """Return how far a sublayer can take rows from adding up to 0, `[n_format, 1]`.

    What is exact adds up to 0. What is written is rounded in its own direction, and again in the
    one that balances, whose sum has the terms of all others, and weights that are rounded. Without
    a sublayer it is the embedding, whose balance is rounded once.

    Args:
        stream: the stream after it.
        pinned: its layer norms.
        written: what its operations add.
        cleared: the sizes of what is taken away, `[n_format, n]`.
    """
    mass, count = np.zeros_like(stream.uneven), np.zeros_like(stream.uneven)
    for w in written:
        mass = mass + w.mass.sum(axis=-1, keepdims=True)
        count = count + w.count.sum(axis=-1, keepdims=True)
    if cleared is not None:
        mass = mass + 2 * cleared.sum(axis=1, keepdims=True)
        count = count + 2 * cleared.shape[1]
    rounding = 2 * gamma(count + 3) * mass
    _, total, _ = _sizes(stream)
    return outward(rounding + 2 * ROUNDOFF * _balance(total, stream, pinned) + TINY * (count + 2))


def _balance(total: Floats, stream: Stream, pinned: Pinned) -> Floats:
    """Return how large the direction is that makes rows add up to 0, up to what they do not."""
    size: Floats = total + pinned.one + stream.uneven
    return size


def _sizes(stream: Stream) -> tuple[Floats, Floats, Floats]:
    """Return bounds on the sum of squares, of absolute values, and on the largest of a row.

    Each is `[n_format, 1]`. Of a one-hot variable one direction counts, and the errors of all; what
    only the token or only the position decides counts as in the worst row of the embeddings.
    """
    size, error = stream.sizes(), stream.error
    total, squares = np.zeros((len(size), 1)), np.zeros((len(size), 1))
    for number in np.unique(stream.group[:-1]):
        if number == SYMBOL:
            continue
        here = np.flatnonzero(stream.group[:-1] == number)
        if stream.onehot[number]:
            top = size[:, here].max(axis=1, keepdims=True)
            top = np.maximum(top, np.abs(stream.at_start[here]).sum())
            top = top + error[:, here].sum(axis=1, keepdims=True)
            total, squares = total + top, squares + top**2
        else:
            total = total + size[:, here].sum(axis=1, keepdims=True)
            squares = squares + (size[:, here] ** 2).sum(axis=1, keepdims=True)
    for symbol in stream.symbols:
        start = np.abs(stream.at_start[symbol.places])
        rows = np.vstack((np.abs(symbol.table), start))
        off = error[:, symbol.places].max(axis=1, keepdims=True, initial=0.0)
        total = total + rows.sum(axis=1).max() + off * rows.shape[1]
        each = ((rows + off[:, :, None]) ** 2).sum(axis=2)
        squares = squares + each.max(axis=1, keepdims=True)
    return outward(squares), outward(total), size[:, :-1].max(axis=1, keepdims=True, initial=0.0)
