"""What each stage says of programs that pull in different directions, as golden texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import handcraft
from handcraft.compiler.pipeline import compile_program
from handcraft.language.typed import Aggregate, Compare, Full, Tokens, operands
from handcraft.language.typed_text import typed_text

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS = Path(__file__).parents[2] / "programs"

REVERSED = "reverse_all_but_the_last"

TWO_MEANS = """
vocab "ab";
context 4;
mean_a = aggregate(select(tokens, "a", ==), indices);
mean_b = aggregate(select(tokens, "b", ==), indices);
output aggregate(select(indices, mean_a + mean_b, ==), tokens, "none");
"""

REVERSE_ALL_BUT_THE_LAST = """
vocab "ab";
context 4;
attention bidirectional;
output aggregate(select(indices, length - 2 - indices, ==), tokens, "none");
"""


def program(source: str) -> handcraft.Program:
    texts = {"two_means": TWO_MEANS, REVERSED: REVERSE_ALL_BUT_THE_LAST}
    return handcraft.parse(texts.get(source) or PROGRAMS / f"{source}.rasp")


@pytest.mark.parametrize(
    "source", ["aab", "most_frequent_so_far", "two_means", "reverse_all_but_the_last"]
)
def test_the_graph_of_a_program(source: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{source}.graph", compile_program(program(source)).graph.show())


@pytest.mark.parametrize("source", ["aab", "sort"])
def test_the_typed_form_of_a_program(source: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{source}.typed", typed_text(program(source).typed))


@pytest.mark.parametrize("source", ["aab", "sort"])
def test_the_placed_form_of_a_program(source: str, golden: Callable[[str, str], None]) -> None:
    golden(f"{source}.placed", compile_program(program(source)).placed.show())


def test_two_means_and_the_reverse_do_what_their_graphs_say() -> None:
    means, turned = (handcraft.compile(program(s)) for s in ("two_means", REVERSED))
    assert means.run("abba") == ["a", "b", "none", "a"]
    assert turned.run("abb") == ["b", "a", "none"]


def test_a_head_can_be_named_whose_keys_come_from_another_sequence() -> None:
    here, there = Tokens("tokens"), Tokens("source")
    everything = Full("source", "tokens")
    assert here != there
    assert everything != Full("tokens", "tokens")
    assert (everything.keys, everything.queries) == ("source", "tokens")
    # nodes 0 and 1: the words there and here; 2: where they are equal; 3: what is found there
    equal, found = Compare("==", 0, 1), Aggregate(2, 0, None)
    assert [operands(op) for op in (there, here, equal, found)] == [(), (), (0, 1), (2, 0)]
