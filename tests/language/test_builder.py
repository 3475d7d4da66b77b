"""Typed programs as they are built: equal nodes are one, domains are small, limits hold."""

from __future__ import annotations

from fractions import Fraction

import pytest

import handcraft
from handcraft.errors import ProgramError
from handcraft.language.domains import Domain, Finite, Lattice, Mixed
from handcraft.language.typed import Aggregate, Node, Output, Total

HEADER = 'vocab "abc"; context 7;'


def nodes(text: str, header: str = HEADER) -> tuple[Node, ...]:
    return handcraft.parse(f"{header} {text}").typed.nodes


def domain(output: str, header: str = HEADER) -> Domain:
    typed = handcraft.parse(f"{header} output {output};").typed
    assert isinstance(typed.result, Output)
    found = typed.nodes[typed.result.value].domain
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("tokens", Finite(("a", "b", "c"))),
        ("indices * 2", Finite(tuple(range(0, 14, 2)))),
        ("indices - indices", Finite((0,))),
        ("1 if tokens == 'a' else 2 if tokens == 'a' else 3", Finite((1, 3))),
        ("{'a': 5, 'b': 6, 'c': 5}[tokens]", Finite((5, 6))),
        ("selector_width(past)", Finite(tuple(range(1, 8)))),
        ("aggregate(select(indices, indices - 1, ==), tokens, '')", Finite(("", "a", "b", "c"))),
        ("aggregate(select(indices, indices - 1, >=), indicator(tokens == 'a'))",
         Finite((0, Fraction(1, 2), 1))),
        ("aggregate(latest(past), indices)", Finite(tuple(range(7)))),
        ("sum(before, indicator(tokens == 'a'))", Finite(tuple(range(7)))),
        ("max(past, indices)", Finite(tuple(range(7)))),
        ("0 if indices < 9 else aggregate(select(indices, 9, ==), tokens)", Finite((0,))),
        ("aggregate(select(indices, 9, ==), tokens) if tokens == 'a' else 1", Finite((1,))),
        ("indices == 9", Finite((False,))),
        ("tokens == 1", Finite((False,))),
    ],
)  # fmt: skip
def test_a_domain_is_as_small_as_the_rules_make_it(output: str, expected: Domain) -> None:
    assert domain(output) == expected


def test_a_mean_over_many_keys_is_a_lattice_of_their_shares() -> None:
    found = domain("aggregate(past, tokens)", "vocab 0..99; context 64;")
    assert found == Lattice(0, 99, Fraction(1), 64)


def test_a_mean_with_a_string_default_is_a_lattice_beside_a_string() -> None:
    found = domain("aggregate(before, tokens, 'none')", "vocab 0..99; context 64;")
    assert found == Mixed(Lattice(0, 99, Fraction(1), 63), Finite(("none",)))


def test_equal_operations_are_one_node() -> None:
    once = nodes('x = count(tokens, "a"); output x + x;')
    twice = nodes('output count(tokens, "a") + count(tokens, "a");')
    assert len(once) == len(twice)


def test_true_and_one_are_two_constants() -> None:
    found = nodes("output [1, True][indices % 2];")
    assert {node.domain for node in found} >= {Finite((1,)), Finite((True,))}


def test_sums_and_differences_over_one_selector_are_one_aggregate() -> None:
    difference = "aggregate(past, indicator(tokens == 'a')) - aggregate(past, indices)"
    assert sum(isinstance(node.op, Aggregate) for node in nodes(f"output {difference};")) == 1
    total = "sum(past, indicator(tokens == 'a')) + sum(past, indices)"
    assert sum(isinstance(node.op, Total) for node in nodes(f"output {total};")) == 1
    two = "aggregate(past, indices) + aggregate(before, indices)"
    assert sum(isinstance(node.op, Aggregate) for node in nodes(f"output {two};")) == 2


def test_what_no_result_needs_is_not_in_the_program() -> None:
    assert len(nodes('unused = count(tokens, "a"); output indices;')) == 1


def test_a_node_has_the_first_name_that_was_given_to_it() -> None:
    found = nodes('here = tokens == "a"; other = here; output other;')
    assert [node.name for node in found if node.name] == ["here"]


def test_a_node_of_the_library_stands_where_it_is_used() -> None:
    found = nodes("output sort(tokens, tokens);", "vocab 'ab'; context 3;")
    assert {node.span.source.name for node in found} == {"<text>"}
    assert {node.span.text for node in found if node.span.text} >= {"sort(tokens, tokens)"}


def test_an_input_of_a_large_vocabulary_is_no_domain_too_large() -> None:
    words = ", ".join(f'"w{k}"' for k in range(5000))
    found = domain("shift(tokens, 1, '')", f"vocab [{words}]; context 3;")
    assert isinstance(found, Finite)
    assert len(found.values) == 5001


@pytest.mark.parametrize(
    "output",
    [
        "s if indices > 3 else s + '.' if indices > 2 else s + '-'",
        "[s, s + '.', s + '-'][indices % 3]",
        "aggregate(latest(before), s if indices > 3 else s + '.', s + '-')",
        "s + aggregate(latest(past), s)",
    ],
)
def test_too_many_strings_are_told_and_no_crash(output: str) -> None:
    header = 'vocab "abcdefghijklmnopqrstuvwxyz0123456789ABCD"; context 6;'
    header += 's = shift(tokens, 1, "") + tokens;'
    with pytest.raises(ProgramError) as caught:
        domain(output, header)
    assert caught.value.code == "domain-too-large"


def test_endless_operations_are_refused() -> None:
    with pytest.raises(ProgramError, match="more than 300000 steps"):
        nodes("x = indices; for i in range(1000000) { x = x + 1; } output x;")
