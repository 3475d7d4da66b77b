"""What a direction of an embedding stands for, said in a few words."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.compiler.forms import whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handcraft.compiler.forms import Number

MOST_LISTED = 6
"""Rows or values that a label lists."""


def label(function: Sequence[Number], rows: Mapping[int, str], by: str) -> str:
    """Return a label of a function of the token or of the position.

    Args:
        function: a value for each row.
        rows: what rows are called, as far as that is known.
        by: `token` or `position`.
    """
    if len(set(function)) == 1:
        return str(function[0]) if function[0] != 1 else "one"
    if set(function) == {0, 1}:
        return _membership(function, rows)
    if by == "position":
        polynomial = _polynomial(function)
        if polynomial is not None:
            return polynomial
    return f"{by} -> {_listed([str(v) for v in function])}"


def _membership(function: Sequence[Number], rows: Mapping[int, str]) -> str:
    inside = [rows.get(i, f"#{i}") for i, value in enumerate(function) if value]
    outside = [rows.get(i, f"#{i}") for i, value in enumerate(function) if not value]
    if len(inside) == 1:
        return inside[0]
    if len(outside) < len(inside):
        return f"not {outside[0]}" if len(outside) == 1 else f"not in {{{_listed(outside)}}}"
    return f"in {{{_listed(inside)}}}"


def _polynomial(function: Sequence[Number]) -> str | None:
    """Return a polynomial of degree 1 or 2 that gives the values at 0, 1, 2, ..."""
    start = function[0]
    bend = function[2] - 2 * function[1] + start if len(function) > 2 else 0
    square = whole(Fraction(bend) / 2)
    linear = function[1] - start - square
    if any(start + linear * i + square * i * i != v for i, v in enumerate(function)):
        return None
    terms = ((square, "position^2"), (linear, "position"), (start, ""))
    text = ""
    for coefficient, name in terms:
        if coefficient:
            sign = ("-" if coefficient < 0 else "") if not text else " +-"[1 + (coefficient < 0)]
            size = abs(coefficient)
            number = "" if size == 1 and name else f"{size}*" if name else f"{size}"
            text += f" {sign} {number}{name}" if text else f"{sign}{number}{name}"
    return text


def _listed(words: Sequence[str]) -> str:
    more = ", ..." if len(words) > MOST_LISTED else ""
    return ", ".join(words[:MOST_LISTED]) + more
