"""Sinusoidal positions: the formula, and what it is for."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest

from handcraft.runtime.positions import sinusoids


@pytest.mark.parametrize("d_model", [1, 4, 7])
def test_each_channel_is_the_sine_or_cosine_that_the_formula_says(d_model: int) -> None:
    found = sinusoids(9, d_model)
    assert found.shape == (9, d_model)
    for p in range(9):
        for channel in range(d_model):
            angle = p / 10_000 ** (2 * (channel // 2) / d_model)
            expected = cos(angle) if channel % 2 else sin(angle)
            assert found[p, channel] == pytest.approx(expected, abs=1e-15)


def test_products_of_positions_depend_on_their_distance_alone() -> None:
    found = sinusoids(12, 8, base=100.0)
    products = found @ found.T
    for distance in range(12):
        np.testing.assert_allclose(np.diff(np.diagonal(products, distance)), 0, atol=1e-12)
