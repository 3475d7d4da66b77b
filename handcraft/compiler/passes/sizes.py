"""How many numbers the layers take, and layers that are all as large as the largest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from handcraft.runtime.config import LayerConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.place import Placed


def padded(placed: Placed) -> Placed:
    """Return the placement with every layer as large as the largest of each kind."""
    largest = LayerConfig(
        n_head=max((size.n_head for size in placed.sizes), default=0),
        d_head=max((size.d_head for size in placed.sizes), default=0),
        d_mlp=max((size.d_mlp for size in placed.sizes), default=0),
    )
    return replace(placed, sizes=(largest,) * len(placed.sizes))


def parameters(sizes: Sequence[LayerConfig], d_model: int, rows: int) -> int:
    """Return the numbers in all matrices and biases.

    Args:
        sizes: of each layer.
        d_model: width of the residual stream.
        rows: rows of the embeddings and of an unembedding of its own, each `d_model` wide.
    """
    return rows * d_model + sum(_parameters(size, d_model) for size in sizes)


def _parameters(size: LayerConfig, d_model: int) -> int:
    inner = size.n_head * size.d_head
    attention = 3 * inner * (d_model + 1) + (inner + 1) * d_model if inner else 0
    mlp = size.d_mlp * (2 * d_model + 1) + d_model if size.d_mlp else 0
    return attention + mlp
