"""Positions by the formula of the first transformer, for models whose positions are not a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sinusoids(n_ctx: int, d_model: int, base: float = 10_000.0) -> NDArray[np.float64]:
    """Return the embedding `[n_ctx, d_model]` of every position, to be used as `wpe.weight`.

    Channels 2i and 2i + 1 are the sine and the cosine of one angle, p / base^(2i / d_model) at
    position p; with an odd width the last channel is a sine.
    """
    positions = np.arange(n_ctx, dtype=np.float64)[:, None]
    pairs = np.arange((d_model + 1) // 2)
    angles = positions / base ** (2 * pairs / d_model)
    embedding = np.empty((n_ctx, d_model))
    embedding[:, 0::2] = np.sin(angles)
    embedding[:, 1::2] = np.cos(angles)[:, : d_model // 2]
    return embedding
