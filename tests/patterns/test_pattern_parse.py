"""The syntax tree of a pattern: what binds tighter, what is empty, and where things stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from strategies import patterns, written

from handcraft.errors import Source
from handcraft.patterns import syntax
from handcraft.patterns.parse import parse_pattern

if TYPE_CHECKING:
    from handcraft.patterns.syntax import Pattern
    from handcraft.runtime.vocabulary import Kind


def tree(text: str, kind: Kind = "characters") -> Pattern:
    return parse_pattern(Source(text), kind)


@given(patterns())
def test_a_printed_tree_is_read_back(pattern: Pattern) -> None:
    assert tree(written(pattern)) == pattern


@pytest.mark.parametrize(
    ("loose", "bracketed"),
    [
        ("ab|a", "(ab)|a"),
        ("a|b&a", "a|(b&a)"),
        ("ab&a", "(ab)&a"),
        ("~ab", "(~a)b"),
        ("~a*", "~(a*)"),
        ("~~a", "~(~a)"),
        ("ab*", "a(b*)"),
        ("a{2}b", "(a{2})b"),
        ("a{,2}", "a{0,2}"),
        ("a{ 1 , 2 }", "a{1,2}"),
        ("a|", "a|()"),
        ("|", "()|()"),
        ("", "()"),
        ("((a))", "a"),
    ],
)
def test_operators_bind_as_the_grammar_says(loose: str, bracketed: str) -> None:
    assert tree(loose) == tree(bracketed)


def test_words_are_cut_at_white_space_and_operators() -> None:
    assert tree("how are|you*", "words") == tree("(how  are )|( (you)* )", "words")
    assert tree("how\\?", "words") == syntax.Symbol("how?", tree("how\\?", "words").span)


def test_a_class_of_words_has_punctuation_without_backslash() -> None:
    told = tree("[? . ^ a-b]", "words")
    assert isinstance(told, syntax.SymbolClass)
    assert [item.span.text for item in told.items] == ["?", ".", "^", "a-b"]
    assert all(isinstance(item, syntax.Symbol) for item in told.items)


def test_a_class_of_integers_has_ranges_of_negative_numbers() -> None:
    told = tree("[-3--1 4-12 -7]", "integers")
    assert isinstance(told, syntax.SymbolClass)
    ranges = [(i.low, i.high) for i in told.items if isinstance(i, syntax.SymbolRange)]
    assert ranges == [("-3", "-1"), ("4", "12")]


def test_every_part_knows_its_place() -> None:
    told = tree("a(|b{2})~[^a]")
    assert isinstance(told, syntax.Concatenation)
    first, group, negation = told.parts
    assert isinstance(group, syntax.Alternatives)
    assert [part.span.text for part in (told, first, group, negation)] == [
        "a(|b{2})~[^a]",
        "a",
        "|b{2}",
        "~[^a]",
    ]
    assert [(part.span.start, part.span.end) for part in group.parts] == [(2, 2), (3, 7)]
