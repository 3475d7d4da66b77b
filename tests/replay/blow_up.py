"""Six encoders with random weights: how they blow up, what only delays it, and what cures it.

Many stacks are run side by side: `seeds` is the first axis of every array. The parts are those of
the runtime (`linear`, `softmax`, `layer_norm`, `activate`); only the softmax that fails is written
here, and the sublayers are put together here, since no model of the runtime can be without the
residual stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handcraft.runtime.transformer import activate, layer_norm, linear, softmax
from handcraft.runtime.weights import Linear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from handcraft.runtime.weights import Array

D_MODEL, N_HEAD, D_HEAD, D_MLP = 4, 2, 3, 8
N_ENCODERS = 6

HELLO_WORLD = np.array([[1.0, 3, 3, 5], [2.84, 3.99, 4, 6]])
"""The published input `[2, 4]`: both tokens, each with its position."""

MOST_BLOCKS = 2000
"""A stack that has not overflowed by then counts as one that never does."""


class Block(NamedTuple):
    """The weights of one encoder, drawn from a normal distribution, for each seed."""

    W_Q: Array
    W_K: Array
    W_V: Array
    neurons: Linear
    out: Linear
    W_O: Array


class Kind(NamedTuple):
    """How an encoder is put together, beside what all of them have."""

    name: str
    softmax: Callable[[Array], Array]
    residual: bool = False
    norm: bool = False


class Measures(NamedTuple):
    """What is seen of a block, for each seed `[seeds]`.

    Attributes:
        score: the largest size of a score.
        out: the largest size of a number in the output; NaN if one is.
        gap: the largest difference between the rows of the two tokens.
    """

    score: Array
    out: Array
    gap: Array


def naive_softmax(x: Array) -> Array:  # [..., n] -> [..., n]
    """Return exp(x) / sum exp(x) as it is written: exp overflows beyond 709."""
    shares: Array = np.exp(x)
    total: Array = shares.sum(axis=-1, keepdims=True)
    return shares / total


def published_norm(x: Array) -> Array:  # [..., d_model] -> the same
    """Return the published layer norm, which adds 1e-6 to the deviation instead of the variance."""
    plain = Linear(np.ones(x.shape[-1], x.dtype), np.zeros(x.shape[-1], x.dtype))
    deviation: Array = x.std(axis=-1, keepdims=True)
    return layer_norm(x, plain, 0.0) * (deviation / (deviation + 1e-6))


def draw(generators: Sequence[np.random.Generator], dtype: str = "float64") -> Block:
    """Draw one block for each seed, in the order Q, K, V, W1, b1, W2, b2, WO."""
    shapes = (
        *[(N_HEAD, D_MODEL, D_HEAD)] * 3,
        *((D_MODEL, D_MLP), (1, D_MLP), (D_MLP, D_MODEL), (1, D_MODEL)),
        (N_HEAD * D_HEAD, D_MODEL),
    )
    sizes = [int(np.prod(shape)) for shape in shapes]
    drawn = np.stack([generator.standard_normal(sum(sizes)) for generator in generators])
    parts = np.split(drawn.astype(dtype), np.cumsum(sizes)[:-1], axis=-1)
    q, k, v, w1, b1, w2, b2, wo = (
        part.reshape(len(generators), *shape) for part, shape in zip(parts, shapes, strict=True)
    )
    return Block(q, k, v, Linear(w1, b1), Linear(w2, b2), wo)


def encoder(kind: Kind, block: Block, x: Array) -> tuple[Array, Measures]:
    """Run one encoder `[seeds, 2, d_model]` -> the same, and say what is seen of it."""
    q, k, v = (x[:, None] @ matrix for matrix in (block.W_Q, block.W_K, block.W_V))
    scores = q @ k.swapaxes(-1, -2) / sqrt(D_HEAD)
    mixed = kind.softmax(scores) @ v
    heads = mixed.swapaxes(1, 2).reshape(len(mixed), 2, N_HEAD * D_HEAD) @ block.W_O
    x = _after(kind, x, heads)
    x = _after(kind, x, linear(activate(linear(x, block.neurons), "relu"), block.out))
    gap = np.abs(x[:, 0] - x[:, 1]).max(axis=-1)
    return x, Measures(np.abs(scores).max(axis=(1, 2, 3)), np.abs(x).max(axis=(1, 2)), gap)


def _after(kind: Kind, x: Array, out: Array) -> Array:
    summed = x + out if kind.residual else out
    return published_norm(summed) if kind.norm else summed


def drawn_blocks(seeds: int, dtype: str = "float64") -> Iterator[Block]:
    """Yield one block after the other for the seeds from 0 on, without end."""
    generators = [np.random.default_rng(seed) for seed in range(seeds)]
    while True:
        yield draw(generators, dtype)


def measured(kind: Kind, blocks: Iterable[Block]) -> Iterator[Measures]:
    """Yield what is seen of each block, from the published input on."""
    x = HELLO_WORLD[None]
    for block in blocks:
        with np.errstate(all="ignore"):
            x, measures = encoder(kind, block, x.astype(block.W_O.dtype))
        yield measures


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of many stacks of encoders.

    Attributes:
        failed: how many came to NaN.
        first: how many of these in which block, counted from 1.
        out: the median of the largest numbers, of the others; NaN if there are none.
        gap: the median of the differences between the two tokens, of the others.
    """

    failed: int
    first: dict[int, int]
    out: float
    gap: float


def outcome(kind: Kind, blocks: Sequence[Block]) -> Outcome:
    """Run stacks of encoders of one kind."""
    first: dict[int, int] = {}
    alive = np.ones(len(blocks[0].W_O), dtype=bool)
    for number, last in enumerate(measured(kind, blocks), start=1):
        died = alive & ~np.isfinite(last.out)
        alive &= ~died
        if died.any():
            first[number] = int(died.sum())
    out, gap = (float(np.median(m[alive])) if alive.any() else np.nan for m in (last.out, last.gap))
    return Outcome(int((~alive).sum()), first, out, gap)


def depths(dtype: str, seeds: int) -> list[int]:
    """Return after how many blocks each stack with a stable softmax, and no more, overflows.

    A score that overflows counts too: the runtime refuses it.
    """
    reached = np.zeros(seeds, dtype=int)
    stacks = measured(Kind("stable softmax", softmax), drawn_blocks(seeds, dtype))
    for number, seen in enumerate(stacks, start=1):
        overflowed = ~np.isfinite(seen.out) | ~np.isfinite(seen.score)
        reached[(reached == 0) & overflowed] = number
        if reached.all() or number == MOST_BLOCKS:
            return [int(depth) for depth in reached]
    raise AssertionError("blocks do not end")
