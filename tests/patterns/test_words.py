"""`handcraft.testing.words`: the words of a pattern, of every length up to the longest."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import handcraft
from handcraft.errors import ProgramError
from handcraft.testing import words

PATTERNS = ["(aab)*", "a*b*", "(a|b)*abb", "ab?(ab){3}", "()"]


@given(st.sampled_from(PATTERNS), st.data())
def test_a_word_is_one_of_the_pattern(pattern: str, data: st.DataObject) -> None:
    word = data.draw(words(pattern, vocab="ab", longest=9))
    assert re.fullmatch(pattern, "".join(map(str, word))) is not None
    assert len(word) <= 9


@given(words("so long* bye", vocab=["so", "long", "bye"], longest=1))
def test_where_the_shortest_word_is_longer_it_is_the_longest(word: tuple[str, ...]) -> None:
    assert word == ("so", "bye")


@given(words("(ab|c)+", longest=6))
def test_a_model_of_the_pattern_ends_where_a_word_does(word: tuple[str, ...]) -> None:
    assert MODEL.probabilities("".join(word))["."] > 0.2


MODEL = handcraft.pattern("(ab|c)+", context=8, eos=".")


def test_a_mistake_in_the_pattern_is_told() -> None:
    with pytest.raises(ProgramError, match="is not closed"):
        words("(ab")
