"""Operations that are made as other ones mean what was written."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import handcraft
from handcraft.language.typed import Aggregate, Apply, Op, Total, Width

HEADER = """
vocab -2..4;
context 6;
m = aggregate(past, tokens);
n = aggregate(past, indices);
s = sum(past, tokens);
t = sum(past, indices);
"""

Meaning = Callable[[int, int, Fraction, Fraction], object]
"""Token, position, mean of tokens and mean of positions -> the value."""

WRITTEN: dict[str, Meaning] = {
    "n / (m + 3) > 1/2": lambda x, i, m, n: n / (m + 3) > Fraction(1, 2),
    "n / (m - 5) > -1": lambda x, i, m, n: n / (m - 5) > -1,
    "1 <= n / (m - 5)": lambda x, i, m, n: n / (m - 5) >= 1,
    "-0.25 == n / (m - 5)": lambda x, i, m, n: n / (m - 5) == Fraction(-1, 4),
    "n / (m + 3) != 1": lambda x, i, m, n: n / (m + 3) != 1,
    "indices / (m - 5) < tokens": lambda x, i, m, n: i / (m - 5) < x,
    "tokens / (n + 1) >= 1": lambda x, i, m, n: x / (n + 1) >= 1,
    "tokens / (m + 3)": lambda x, i, m, n: x / (m + 3),
    "2 * m - n / 3 + 1": lambda x, i, m, n: 2 * m - n / 3 + 1,
    "-(m - 1) + (2 - n)": lambda x, i, m, n: 3 - m - n,
    "3 * s - (t + 4) / 2": lambda x, i, m, n: (3 * m - n / 2) * (i + 1) - 2,
    "s / 2 + t * 2": lambda x, i, m, n: (m / 2 + n * 2) * (i + 1),
}


@cache
def parsed(expression: str) -> handcraft.Program:
    return handcraft.parse(f"{HEADER} output {expression};")


def made(expression: str) -> Op:
    return parsed(expression).typed.nodes[-1].op


@given(st.lists(st.integers(-2, 4), min_size=1, max_size=6))
@pytest.mark.parametrize("expression", WRITTEN)
def test_what_is_made_means_what_is_written(expression: str, text: list[int]) -> None:
    expected = [
        WRITTEN[expression](
            x, i, Fraction(sum(text[: i + 1]), i + 1), Fraction(sum(range(i + 1)), i + 1)
        )
        for i, x in enumerate(text)
    ]
    assert parsed(expression).run(text) == expected


@pytest.mark.parametrize("expression", WRITTEN)
def test_the_model_says_so_too(expression: str) -> None:
    program = parsed(expression)
    model = handcraft.compile(program)
    for text in ([0, 1, -2, 4, 4, 3], [-2] * 6, [4] * 6, [4, -2, 4, -2, 4, -2]):
        assert model.run(text) == program.run(text)


def test_a_comparison_with_a_quotient_is_one_of_numbers_that_add_up() -> None:
    op = made("n / (m + 3) > 1/2")
    assert isinstance(op, Apply)
    nodes = parsed("n / (m + 3) > 1/2").typed.nodes
    assert isinstance(nodes[op.arguments[0]].op, Aggregate)


@pytest.mark.parametrize("expression", ["n / m > 1", "n / (tokens - 1) > 1", "n / 2 > m / s"])
def test_a_divisor_that_can_be_zero_stays_one(expression: str) -> None:
    assert "/" in {
        node.op.function for node in parsed(expression).typed.nodes if isinstance(node.op, Apply)
    }
    program = parsed(expression)
    with pytest.raises(handcraft.HandcraftError, match="zero"):
        program.run([0] if "tokens" not in expression else [1])


COUNTED = """
vocab "abc";
context 6;
attention bidirectional;
at_first = select(indices, 0, ==);
same = select(tokens, tokens, ==);
share = aggregate(same or at_first, indicator(indices == 0));
"""


@pytest.mark.parametrize(
    ("expression", "meaning"),
    [
        ("1 / share - 1 + aggregate(same and at_first, 1, 0)", "count(same)"),
        ("round(2 / share) // 2 - 1", "count(same or at_first) - 1"),
        ("round(1 / aggregate(select(1, 1, ==), indicator(indices == 0)))", "length"),
        ("-1 / share", "-count(same or at_first)"),
    ],
)
def test_one_over_the_share_of_the_first_key_counts(expression: str, meaning: str) -> None:
    program = handcraft.parse(f"{COUNTED} output {expression};")
    counted = handcraft.parse(COUNTED.replace("share = ", "# ") + f"output {meaning};")
    model = handcraft.compile(program)
    for text in ("abcabc", "aaab", "ba"):
        assert program.run(text) == counted.run(text) == model.run(text)
    assert Width in [type(node.op) for node in program.typed.nodes]


@pytest.mark.parametrize(
    "other", ["full_s, indicator(indices == 1)", "same, indicator(indices == 0)"]
)
def test_the_share_of_a_key_that_may_not_be_selected_is_no_count(other: str) -> None:
    program = handcraft.parse(f"{COUNTED} output 1 / aggregate({other});")
    assert Width not in [type(node.op) for node in program.typed.nodes]


def test_rounding_what_is_whole_is_nothing() -> None:
    assert not isinstance(made("round(tokens + indices)"), Aggregate)
    assert made("round(s)") == made("s")
    assert made("round(m)") != made("m")


def test_means_and_sums_over_one_selector_are_one_whatever_they_are_multiplied_by() -> None:
    assert isinstance(made("2 * m - n / 3 + 1 - 1"), Apply)
    assert isinstance(made("2 * m - (n / 3 + 1)"), Aggregate)
    assert isinstance(made("3 * s - t / 2"), Total)
    assert isinstance(made("3 * s - aggregate(before, indices)"), Apply)
