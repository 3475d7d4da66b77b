"""Keys and values kept from earlier positions, so that one more token costs one position.

Only causal models can keep them: what a position says never changes when text is added. Values
agree with the full pass to rounding, not bit for bit (matrix products of other shapes may sum in
another order); where all products are exact, so are both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from handcraft.runtime.transformer import Ids, KeysValues, block, check_ids, embed, unembed

if TYPE_CHECKING:
    from handcraft.runtime.config import Config
    from handcraft.runtime.encoder_decoder import Source
    from handcraft.runtime.weights import Array, Weights


@dataclass(frozen=True, slots=True, eq=False)
class Cache:
    """The keys and values of the first `length` positions.

    `keys` and `values` have one array `[n_head, length, d_head]` for each layer, empty in a
    layer without heads. `source` has those of the cross heads, which never change.
    """

    length: int
    keys: tuple[Array, ...]
    values: tuple[Array, ...]
    source: Source | None = None


def empty_cache(weights: Weights, source: Source | None = None) -> Cache:
    """Return the cache of a text of which nothing has been read, beside its source if any."""
    nothing = tuple(
        np.zeros((layer.n_head, 0, layer.d_head), weights.dtype) for layer in weights.config.layers
    )
    return Cache(0, nothing, nothing, source)


def extend(weights: Weights, cache: Cache, ids: Ids) -> tuple[Cache, Array]:
    """Read further ids `[n_new]` and return the longer cache and the logits `[n_new, n_out]`.

    Raises:
        InputError: `too-long`, `unknown-id`, `empty-text`.
        HandcraftError: `not-finite`.
    """
    assert_causal(weights.config)
    check_ids(weights.config, ids, first=cache.length)
    length = cache.length + len(ids)
    mask = np.tri(len(ids), length, k=cache.length, dtype=np.bool_)
    keys: list[Array] = []
    values: list[Array] = []
    with np.errstate(over="ignore", invalid="ignore"):
        x = embed(weights, ids, first=cache.length)
        for number in range(weights.config.n_layer):
            earlier = KeysValues(cache.keys[number], cache.values[number])
            layer = block(weights, number, x, mask, earlier, cache.source)
            keys.append(earlier.k if layer.attention is None else layer.attention.k)
            values.append(earlier.v if layer.attention is None else layer.attention.v)
            x = layer.resid_post
        _, logits = unembed(weights, x)
    return Cache(length, tuple(keys), tuple(values), cache.source), logits


def assert_causal(config: Config) -> None:
    """Stop where a caller keeps keys of a model whose positions see the future."""
    assert config.attention == "causal", "only causal models have a cache"
