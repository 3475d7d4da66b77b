"""Rounds rationals to a floating-point format, once, to nearest and ties to even."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from handcraft.errors import HandcraftError

if TYPE_CHECKING:
    from handcraft.compiler.forms import Number
    from handcraft.runtime.weights import Array


WHOLE = {"float64": 2**53, "float32": 2**24, "float16": 2**11}
"""Integers up to this are numbers of a format, so nothing of them is rounded."""


def rounded(number: Number, dtype: str) -> np.floating[Any]:
    """Return the nearest number of a format.

    Raises:
        HandcraftError: `not-finite` where the format has no number that large, `not-zero` where it
            has none that small but 0.
    """
    kind: type[np.floating[Any]] = np.dtype(dtype).type
    if isinstance(number, int) and -WHOLE[dtype] <= number <= WHOLE[dtype]:
        return kind(number)
    wide = _wide(number)
    with np.errstate(over="ignore"):
        near: np.floating[Any] = kind(wide)
    if not np.isfinite(near):
        size = abs(int(number)).bit_length() - 1
        shown = f"{wide:g}" if size < 1024 else f"2^{size} (or more)"
        message = f"the weight {shown} is too large for {dtype}"
        raise HandcraftError("not-finite", message, help="use a format with a larger range")
    if not near and number:
        message = f"a weight of this program is so small that it would be 0 in {dtype}"
        raise HandcraftError("not-zero", message, help="use a format with a larger range")
    if dtype == "float64" or not _is_tie(wide, near):
        return near
    neighbours = [near, np.nextafter(near, kind(-np.inf)), np.nextafter(near, kind(np.inf))]
    return min(
        (n for n in neighbours if np.isfinite(n)),
        key=lambda n: (abs(Fraction(float(n)) - number), _is_odd(n)),
    )


def zeros(shape: tuple[int, ...], dtype: str) -> Array:
    """Return an array of zeros."""
    array: Array = np.zeros(shape, dtype=dtype)
    return array


def _wide(number: Number) -> float:
    """Return the nearest float64, or infinity."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _is_tie(wide: float, near: np.floating[Any]) -> bool:
    """Return whether a float64 may lie halfway between two numbers of a format, one of them near.

    Anywhere else the rational that was rounded to it lies on the same side of every tie, so that
    rounding it once more is right. On a tie its mirror image is a number of the format too.
    """
    mirrored = 2 * wide - float(near)
    if mirrored == wide:
        return False
    with np.errstate(over="ignore"):
        return float(type(near)(mirrored)) == mirrored


def _is_odd(number: np.floating[Any]) -> int:
    return int(number.view(f"u{number.dtype.itemsize}")) & 1
