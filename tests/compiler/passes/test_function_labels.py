"""What directions of an embedding are called."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from handcraft.compiler.passes.function_labels import label

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS = dict(enumerate("abcdefgh"))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ((1, 1, 1), "one"),
        ((5, 5, 5), "5"),
        ((0, 1, 0), "b"),
        ((1, 0, 1, 0), "in {a, c}"),
        ((1, 0, 1), "not b"),
        ((1, 0, 1, 0, 1), "not in {b, d}"),
        ((3, 0, 1), "token -> 3, 0, 1"),
        ((1, 2, 3, 4, 5, 6, 7), "token -> 1, 2, 3, 4, 5, 6, ..."),
    ],
)
def test_a_function_of_the_token_tells_its_tokens_or_values(
    function: Sequence[int], text: str
) -> None:
    assert label(function, ROWS, "token") == text


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ((0, 1, 2, 3), "position"),
        ((3, 1, -1, -3), "-2*position + 3"),
        ((-1, Fraction(-1, 2), 0), "1/2*position - 1"),
        ((0, 1, 4, 9), "position^2"),
        ((0, -1, -6, -15), "-2*position^2 + position"),
        ((0, 1, 3), "1/2*position^2 + 1/2*position"),
        ((5, 7), "2*position + 5"),
        ((0, 1, 0, 2), "position -> 0, 1, 0, 2"),
    ],
)
def test_a_function_of_the_position_is_a_polynomial_where_it_is_one(
    function: Sequence[int | Fraction], text: str
) -> None:
    assert label(function, ROWS, "position") == text


def test_a_row_without_a_name_has_its_number() -> None:
    assert label((0, 0, 1), {0: "a"}, "token") == "#2"
