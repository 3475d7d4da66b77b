"""Forms and writes as arrays: the terms of many rows, one behind the other, and sums over each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.certificate.formats import (
    BEYOND,
    FORMATS,
    Floats,
    Integers,
    Mask,
    grid,
    outward,
    rounded,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from handcraft.compiler.forms import Direction, Form, Number


SMALL = 256
"""Whole numbers up to this are numbers of every format."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a sparse matrix, each with at least one term.

    Attributes:
        first: where the terms of each row begin, `[n_row]`.
        row: the row of each term, `[n_term]`.
        index: the column of each term.
        exact: coefficients, the nearest float64 of each.
        value: coefficients as rounded, `[n_format, n_term]`; 0 where the format has none so large.
        off: a bound on how far `value` is from the true coefficient.
        grid: the grid of `value`.
    """

    first: Integers
    row: Integers
    index: Integers
    exact: Floats
    value: Floats
    off: Floats
    grid: Integers

    def __len__(self) -> int:
        return len(self.first)

    def sums(self, terms: Floats) -> Floats:  # [..., n_term] -> [..., n_row]
        """Add up the terms of each row."""
        total: Floats = np.add.reduceat(terms, self.first, axis=-1)
        return total


def rows_of(terms: Sequence[Sequence[tuple[int, Number]]]) -> Rows:
    """Return rows from the column and coefficient of their terms."""
    sizes = np.array([len(row) for row in terms], dtype=np.int64)
    assert sizes.all(), "a row without terms"
    flat = [pair for row in terms for pair in row]
    index = np.array([i for i, _ in flat], dtype=np.int64)
    first, row = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    if all(type(c) is int and -SMALL <= c <= SMALL for _, c in flat):
        exact = np.array([c for _, c in flat], dtype=np.float64)
        shape = (len(FORMATS), len(flat))
        value, grids = np.broadcast_to(exact, shape), np.broadcast_to(grid(exact), shape)
        return Rows(first, row, index, exact, value, np.zeros(shape), grids)
    exact = np.array([_nearest(c) for _, c in flat], dtype=np.float64)
    is_exact = np.array([is_float(c) for _, c in flat], dtype=np.bool_)
    value = rounded(exact)
    finite = np.isfinite(value)
    value = np.where(finite, value, 0.0)
    off = np.abs(value - exact) + np.where(is_exact, 0.0, np.abs(exact) * 2.0**-52)
    off = np.where(finite, outward(off), BEYOND)
    return Rows(first, row, index, exact, value, off, grid(value))


def parts(rows: Rows, sizes: Sequence[int]) -> list[Rows]:
    """Return rows in groups of so many, one after the other."""
    found = []
    ends = np.append(rows.first, len(rows.index))
    row = 0
    for size in sizes:
        a, b = int(ends[row]), int(ends[row + size])
        found.append(
            Rows(
                rows.first[row : row + size] - a,
                rows.row[a:b] - row,
                rows.index[a:b],
                rows.exact[a:b],
                rows.value[:, a:b],
                rows.off[:, a:b],
                rows.grid[:, a:b],
            )
        )
        row += size
    return found


def form_rows(forms: Iterable[Form], index: Mapping[Direction, int]) -> Rows:
    """Return forms as rows; the constant is the last term, read from the column `len(index)`."""
    one = len(index)
    return rows_of(
        [[*((index[d], c) for d, c in form.terms), (one, form.constant)] for form in forms]
    )


def is_power_of_two(numbers: Floats) -> Mask:
    """Return whether multiplication by each number is exact."""
    fractions, _ = np.frexp(numbers)
    power: Mask = (np.abs(fractions) == 0.5) | (numbers == 0)
    return power


def is_float(number: Number) -> bool:
    """Return whether a number is one of float64."""
    if type(number) is int and -SMALL <= number <= SMALL:
        return True
    denominator = number.denominator
    return (denominator & (denominator - 1) == 0 and denominator.bit_length() < 1000) and (
        abs(number.numerator).bit_length() <= 53
    )


def _nearest(number: Number) -> float:
    if type(number) is int and -SMALL <= number <= SMALL:
        return float(number)
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return BEYOND if number > 0 else -BEYOND
