"""Rounding of rationals to floating point: once, to the nearest, ties to even."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handcraft.compiler.rounding import rounded, zeros
from handcraft.errors import HandcraftError

BITS = {"float64": 52, "float32": 23, "float16": 10}
LARGEST = {dtype: Fraction(float(np.finfo(dtype).max)) for dtype in BITS}

formats = pytest.mark.parametrize("dtype", BITS)


@formats
@given(number=st.fractions(min_value=-60000, max_value=60000, max_denominator=2**23))
def test_no_other_number_of_the_format_is_nearer(dtype: str, number: Fraction) -> None:
    near = rounded(number, dtype)
    assert near.dtype == dtype
    distance = abs(Fraction(float(near)) - number)
    for direction in (-np.inf, np.inf):
        neighbour = np.nextafter(near, near.dtype.type(direction))
        assert abs(Fraction(float(neighbour)) - number) >= distance


@formats
@pytest.mark.parametrize(("steps", "expected"), [(1, 0), (3, 4), (5, 4), (7, 8)])
def test_a_tie_goes_to_the_even_neighbour(dtype: str, steps: int, expected: int) -> None:
    half = Fraction(1, 2 ** (BITS[dtype] + 1))
    assert Fraction(float(rounded(1 + steps * half, dtype))) == 1 + expected * half


@formats
def test_the_least_more_than_a_tie_goes_up(dtype: str) -> None:
    step = Fraction(1, 2 ** BITS[dtype])
    assert Fraction(float(rounded(1 + step / 2 + step / 2**60, dtype))) == 1 + step


@formats
@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_beyond_the_format_is_refused(dtype: str, sign: int) -> None:
    assert Fraction(float(rounded(sign * LARGEST[dtype], dtype))) == sign * LARGEST[dtype]
    with pytest.raises(HandcraftError, match="too large") as caught:
        rounded(sign * 2 * LARGEST[dtype], dtype)
    assert caught.value.code == "not-finite"


@formats
def test_a_number_that_would_vanish_is_refused(dtype: str) -> None:
    least = Fraction(float(np.finfo(dtype).smallest_subnormal))
    assert Fraction(float(rounded(least, dtype))) == least
    assert rounded(Fraction(0), dtype) == 0
    with pytest.raises(HandcraftError, match="would be 0") as caught:
        rounded(least / 3, dtype)
    assert caught.value.code == "not-zero"


@formats
def test_zeros_have_the_shape_and_the_format(dtype: str) -> None:
    array = zeros((2, 3), dtype)
    assert (array.shape, array.dtype) == ((2, 3), np.dtype(dtype))
    assert not array.any()
