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
        n_cross=max((size.n_cross for size in placed.sizes), default=0),
        d_cross=max((size.d_cross for size in placed.sizes), default=0),
    )
    return replace(placed, sizes=(largest,) * len(placed.sizes))


def parameters(sizes: Sequence[LayerConfig], d_model: int, rows: int, d_source: int = 0) -> int:
    """Return the numbers in all matrices and biases.

    Args:
        sizes: of each layer.
        d_model: width of the residual stream.
        rows: rows of the embeddings and of an unembedding of its own, each `d_model` wide.
        d_source: width of the encoder's residual stream, which cross heads read.
    """
    return rows * d_model + sum(_parameters(size, d_model, d_source) for size in sizes)


def _parameters(size: LayerConfig, d_model: int, d_source: int) -> int:
    inner = size.n_head * size.d_head
    attention = 3 * inner * (d_model + 1) + (inner + 1) * d_model if inner else 0
    mlp = size.d_mlp * (2 * d_model + 1) + d_model if size.d_mlp else 0
    across = size.n_cross * size.d_cross
    cross = across * (2 * d_model + 1 + 2 * (d_source + 1)) + d_model if across else 0
    return attention + cross + mlp
