"""Which keys selectors can take: bounds on their counts, against every input."""

from __future__ import annotations

from itertools import product

import pytest

import handcraft
from handcraft.language.interpret import Run
from handcraft.language.typed import Counts, Output, Width

CONTEXT = 5


def selector(expression: str, attention: str = "causal") -> handcraft.Program:
    text = f'vocab "ab"; context {CONTEXT}; attention {attention};'
    return handcraft.parse(f"{text} output selector_width({expression});")


def proved(program: handcraft.Program) -> Counts:
    assert isinstance(program.typed.result, Output)
    width = program.typed.nodes[program.typed.result.value].op
    assert isinstance(width, Width)
    counts = program.typed.nodes[width.selector].counts
    assert counts is not None
    return counts


def met(program: handcraft.Program) -> Counts:
    assert isinstance(program.typed.result, Output)
    found: list[int] = []
    for length in range(1, CONTEXT + 1):
        for text in product("ab", repeat=length):
            widths = Run(program.typed, text).sops[program.typed.result.value]
            found.extend(width for width in widths if isinstance(width, int))
    return Counts(min(found), max(found))


@pytest.mark.parametrize("attention", ["causal", "bidirectional"])
@pytest.mark.parametrize(
    "expression",
    [
        "full_s",
        "past",
        "before",
        "not past",
        "select(indices, indices - 2, ==)",
        "select(indices, indices - 2, >=)",
        "select(indices, 3, ==)",
        "select(indices, 1, !=)",
        "select(indices // 2, indices, <)",
        "select(indices % 3, indices % 3, ==)",
        "select(indices % 3, indices % 3, !=)",
        "past and not before",
        "before or select(indices, indices, ==)",
        "latest(past)",
        "first(before)",
        "best(full_s, indices)",
        "select(tokens, tokens, ==)",
        "select(tokens, tokens, <=)",
        "select(tokens, 'b', <=)",
        "select(tokens, 'c', ==)",
        "select(tokens, 'c', !=)",
        "latest(select(tokens, 'a', ==))",
        "select(1, 1, ==)",
        "select(1, 2, ==)",
        "select(str(indices), '2', <=)",
    ],
)
def test_the_bounds_are_those_of_every_input(expression: str, attention: str) -> None:
    program = selector(expression, attention)
    assert proved(program) == met(program)


@pytest.mark.parametrize(
    "expression",
    [
        "select(tokens, tokens, !=)",
        "select(tokens, tokens, ==) and past",
        "select(tokens, 'a', ==) or select(tokens, 'b', ==)",
        "not select(tokens, tokens, ==)",
        "select(tokens, 'a', ==) and before",
        "select(indices * indices, indices, ==) or latest(past)",
        "select(6 // (4 - indices), 2, ==)",
        "select(hist_so_far, hist_so_far, ==)",
        "best(select(tokens, 'a', ==), indices) or first(past)",
    ],
)
def test_the_bounds_hold_on_every_input(expression: str) -> None:
    program = selector(expression)
    inside, outside = met(program), proved(program)
    assert outside.fewest <= inside.fewest <= inside.most <= outside.most


def test_keys_that_differ_at_every_position_are_taken_once_at_most() -> None:
    program = selector("select(indices, count(tokens, 'a'), ==)", "bidirectional")
    assert proved(program) == Counts(0, 1)
