"""The floating-point formats that a certificate speaks of, and what rounding does in each.

All bounds are computed in float64 and made a little larger by `outward`, which covers the
rounding of the computation itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

OUTWARD = 1 + 2.0**-36
"""Covers the rounding of a bound that sums up to a thousand terms, several times over."""

BEYOND = 1e150
"""Stands for a bound that is of no use: no format of a decision could hold it."""

FINE = 4096
"""The grid of 0: a multiple of every power of two."""


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format.

    Attributes:
        name: as numpy and `ml_dtypes` call it.
        digits: bits of the significand, the hidden one included.
        smallest: the exponent of the smallest positive number.
        largest: the largest number.
        vanishing: exp(-vanishing) is 0.
        scaled: the format whose score scales the weights have.
    """

    name: str
    digits: int
    smallest: int
    largest: float
    vanishing: float

    @property
    def roundoff(self) -> float:
        """The largest relative error of rounding."""
        return 2.0**-self.digits

    @property
    def tiny(self) -> float:
        """The largest absolute error of rounding a number near 0."""
        return 2.0 ** (self.smallest - 1) if self.smallest > -1074 else 5e-324


FORMATS = (
    Format("float64", 53, -1074, 1.7976931348623157e308, 745.2),
    Format("float32", 24, -149, 3.4028234663852886e38, 104.0),
    Format("float16", 11, -24, 65504.0, 17.4),
    Format("bfloat16", 8, -133, 3.3895313892515355e38, 93.0),
)
"""Every format with a verdict.

exp(-x) rounds to 0 from the x at which it is below half the smallest number.
"""


def column(numbers: Sequence[float]) -> Floats:
    """Return one number for each format, `[n_format, 1]`."""
    return np.array(numbers, dtype=np.float64)[:, None]


ROUNDOFF = column([f.roundoff for f in FORMATS])
TINY = column([f.tiny for f in FORMATS])
DIGITS = np.array([f.digits for f in FORMATS], dtype=np.int64)[:, None]
SMALLEST = np.array([f.smallest for f in FORMATS], dtype=np.int64)[:, None]
LARGEST = column([f.largest for f in FORMATS])


def outward(bound: Floats) -> Floats:
    """Return a bound made larger by the rounding of its own computation, and finite."""
    larger: Floats = np.fmin(bound * OUTWARD, BEYOND)  # also where the bound is no number
    return larger


def held(error: Floats, mass: Floats) -> Floats:
    """Return errors, of no use where what is summed may leave a format, `[n_format, ...]`."""
    limits = LARGEST.reshape(len(FORMATS), *([1] * (mass.ndim - 1)))
    bound: Floats = np.where(mass <= limits, error, BEYOND)
    return bound


def gamma(count: Floats | Integers | int) -> Floats:
    """Return n u / (1 - n u), which bounds n roundings in any order.

    Counts are `[n]` or `[n_format, n]`, the result is `[n_format, n]`.
    """
    product = np.asarray(count, dtype=np.float64) * ROUNDOFF
    few = product < 0.5
    bound: Floats = np.where(few, product / np.where(few, 1 - product, 1.0), BEYOND)
    return bound


def rounded(numbers: Floats) -> Floats:  # [n] -> [n_format, n]
    """Return numbers rounded to nearest in each format; what is too large is infinite."""
    _, exponents = np.frexp(numbers)
    quantum = np.maximum(exponents - DIGITS, SMALLEST)
    near: Floats = np.ldexp(np.rint(np.ldexp(numbers, -quantum)), quantum)
    near[0] = numbers
    return np.where(np.abs(near) > LARGEST, np.copysign(inf, near), near)


def grid(numbers: Floats) -> Integers:
    """Return for each number the largest g such that it is a multiple of 2^g."""
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    fractions, exponents = np.frexp(finite)
    whole = np.abs(fractions * 2.0**53).astype(np.int64)
    lowest = (whole & -whole).astype(np.float64)
    trailing = np.frexp(np.where(whole == 0, 1.0, lowest))[1] - 1
    return np.where(whole == 0, FINE, exponents - 53 + trailing).astype(np.int64)


def fits(size: Floats, grids: Integers) -> Mask:
    """Return whether all multiples of 2^grid up to a size are numbers of each format."""
    limits = np.ldexp(1.0, np.minimum(DIGITS + grids, 1020))
    room: Mask = (size <= limits) & (size <= LARGEST) & (grids >= SMALLEST)
    return room


def largest_exp(exponent: float) -> float:
    """Return an upper bound on exp(-exponent)."""
    return exp(-exponent) * (1 + 2.0**-9) if exponent < 740 else 2.0**-1070
