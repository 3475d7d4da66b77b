"""The key/value cache against the full pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime_models import handmade, random_weights, stock_config

from handcraft.errors import InputError
from handcraft.runtime.cache import empty_cache, extend
from handcraft.runtime.transformer import forward

IDS = np.array([3, 8, 0, 3, 5, 1])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.sampled_from(["float64", "float32"]))
def test_reading_in_pieces_gives_the_logits_of_the_full_pass(pieces: list[int], dtype: str) -> None:
    weights = random_weights(stock_config(tied=False), dtype=dtype)
    cache = empty_cache(weights)
    read = []
    for size in pieces:
        ids = IDS[cache.length : cache.length + size]
        if len(ids):
            cache, logits = extend(weights, cache, ids)
            read.append(logits)
    full = forward(weights, IDS[: cache.length]).logits
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(np.concatenate(read), full, rtol=tolerance, atol=tolerance)
    assert read[0].dtype.name == dtype


def test_exact_models_give_the_same_bits_with_and_without_cache() -> None:
    weights = handmade().parameters
    ids = np.array([0, 0, 1, 0, 0])
    cache = empty_cache(weights)
    for place, number in enumerate(ids):
        cache, logits = extend(weights, cache, np.array([number]))
        assert np.array_equal(logits[0], forward(weights, ids).logits[place])


def test_the_cache_holds_the_keys_and_values_of_each_layer() -> None:
    weights = random_weights(stock_config())
    cache, _ = extend(weights, empty_cache(weights), IDS[:4])
    trace = forward(weights, IDS[:4])
    assert cache.length == 4
    assert [keys.shape for keys in cache.keys] == [(3, 4, 4), (2, 4, 5), (0, 0, 0)]
    np.testing.assert_allclose(cache.keys[1], trace["k.1"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(cache.values[1], trace["v.1"], rtol=1e-12, atol=1e-12)


def test_extending_leaves_the_old_cache_as_it_was() -> None:
    weights = random_weights(stock_config())
    cache, _ = extend(weights, empty_cache(weights), IDS[:2])
    first = extend(weights, cache, IDS[2:4])[1]
    assert np.array_equal(extend(weights, cache, IDS[2:4])[1], first)


def test_a_full_cache_refuses_more() -> None:
    weights = random_weights(stock_config())
    cache, _ = extend(weights, empty_cache(weights), IDS)
    with pytest.raises(InputError, match="7 ids are more than the 6 positions"):
        extend(weights, cache, IDS[:1])


def test_a_bidirectional_model_has_no_cache() -> None:
    weights = random_weights(stock_config(attention="bidirectional"))
    with pytest.raises(AssertionError, match="only causal models have a cache"):
        extend(weights, empty_cache(weights), IDS)
