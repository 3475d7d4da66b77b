"""Abelian groups by generators and relations, as products of cyclic ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def cyclic_factors(
    relations: Iterable[tuple[int, ...]], generators: int
) -> tuple[tuple[int | None, tuple[int, ...]], ...]:
    """Return the cyclic factors of a group, those of one element left out.

    Whole steps on the rows (other relations of the same group) and the columns (other generators)
    make the relations diagonal; then each generator is a factor, of as many elements as its entry.

    Args:
        relations: sums of the generators that are 0, by how often each generator occurs.
        generators: how many there are.

    Returns:
        For each factor its number of elements, None where that has no end, and the generators'
        images in it: below that number, or, without end, the first that is not 0 is positive.
    """
    rows = _independent(relations, generators)
    basis = [[int(i == j) for j in range(generators)] for i in range(generators)]
    for step in range(len(rows)):
        _clear(rows, basis, step)
    orders = [abs(rows[i][i]) if i < len(rows) else 0 for i in range(generators)]
    factors: list[tuple[int | None, tuple[int, ...]]] = []
    for place, order in enumerate(orders):
        images = [row[place] for row in basis]
        if order > 1:
            factors.append((order, tuple(image % order for image in images)))
        elif order == 0:
            sign = 1 if next(filter(None, images)) > 0 else -1
            factors.append((None, tuple(sign * image for image in images)))
    return tuple(factors)


def _independent(relations: Iterable[tuple[int, ...]], generators: int) -> list[list[int]]:
    """Return relations of the same group, each beginning further right than the one before."""
    leading: dict[int, list[int]] = {}
    for relation in relations:
        row = list(relation)
        for place in range(generators):
            if not row[place]:
                continue
            if place not in leading:
                leading[place] = row
                break
            other = leading[place]
            while row[place]:  # Euclid's algorithm on the leading entries
                times = other[place] // row[place]
                other, row = row, [a - times * b for a, b in zip(other, row, strict=True)]
            leading[place] = other
    return [leading[place] for place in sorted(leading)]


def _clear(rows: list[list[int]], basis: list[list[int]], step: int) -> None:
    """Make row and column `step` zero but for their common entry, which is not."""
    while True:
        _, at, across = min(
            (abs(rows[i][j]), i, j)
            for i in range(step, len(rows))
            for j in range(step, len(basis))
            if rows[i][j]
        )
        rows[step], rows[at] = rows[at], rows[step]
        for row in (*rows, *basis):
            row[step], row[across] = row[across], row[step]
        pivot = rows[step]
        for row in rows[step + 1 :]:
            times = row[step] // pivot[step]
            row[:] = [a - times * b for a, b in zip(row, pivot, strict=True)]
        for place in range(step + 1, len(basis)):
            times = pivot[place] // pivot[step]
            _add_generator(rows, basis, place, step, times)
        if not any(row[step] for row in rows[step + 1 :]) and not any(pivot[step + 1 :]):
            return


def _add_generator(
    rows: list[list[int]], basis: list[list[int]], place: int, step: int, times: int
) -> None:
    """Subtract `times` column `step` from column `place`, in relations and basis alike."""
    for row in (*rows, *basis):
        row[place] -= times * row[step]
