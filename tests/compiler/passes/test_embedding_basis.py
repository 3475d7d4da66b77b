"""Embeddings that write what is read of a one-hot: smaller, and the same at every position."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from made_graphs import graph_of, graph_with, head, mlp

from handcraft.compiler.forms import START, Form, combine, direction
from handcraft.compiler.graph import (
    Embedding,
    Graph,
    LogitReadout,
    TokenReadout,
    Variable,
    readout_forms,
    verify,
)
from handcraft.compiler.passes.embedding_basis import with_narrow_embeddings
from handcraft.compiler.passes.late_constant import with_late_constant
from handcraft.compiler.passes.rewriting import all_forms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.compiler.forms import Direction, Number

X: Direction = ("x", 0)
Y: Direction = ("y", 0)


def token(*factors: int) -> Form:
    return combine((f, direction("tokens", i)) for i, f in enumerate(factors) if f)


def position(*factors: int) -> Form:
    return combine((f, direction("indices", i)) for i, f in enumerate(factors) if f)


def labels(graph: Graph) -> Mapping[str, tuple[str, ...]]:
    embedded = {e.variable for e in graph.embeddings}
    return {v.name: v.labels for v in graph.variables if v.name in embedded}


def agree(before: Graph, after: Graph) -> None:
    """Assert that every form has its old value at every token, position, and the start token."""
    verify(after)
    rows = {by: max(len(e.rows) for e in before.embeddings if e.by == by) for by in KINDS}
    late = with_late_constant(before) == before and START in _written(before)
    for t in range(rows["token"]):
        for p in range(rows["position"]):
            here = [_values(graph, t, p) for graph in (before, after)]
            for old, new in zip(all_forms(before), all_forms(after), strict=True):
                assert old.at(here[0]) == new.at(here[1])
            end = [{**values, START: Fraction(late)} for values in here]
            outer = [readout_forms(graph.readout) for graph in (before, after)]
            for old, new in zip(*outer, strict=True):
                assert old.at(end[0]) == new.at(end[1])
                assert new.constant == 0
    at_start = {START: Fraction(1)}
    for old, new in zip(all_forms(before), all_forms(after), strict=True):
        assert not before.start or old.at(at_start) == new.at(at_start)


KINDS = ("token", "position")


def _written(graph: Graph) -> set[Direction]:
    return {d for op in graph.ops for d, _ in op.bias}


def _values(graph: Graph, t: int, p: int) -> dict[Direction, Number]:
    row = {"token": t, "position": p}
    return {
        (e.variable, i): value
        for e in graph.embeddings
        if e.by in row
        for i, value in enumerate(e.rows[row[e.by]])
    }


def test_a_position_read_as_a_number_is_one_direction() -> None:
    number, square = position(0, 1, 2, 3), position(0, 1, 4, 9)
    moves = head("h", [number.scaled(6)], [square], {X: token(1, 0, 0)})
    before = graph_with([moves], ["x"])
    after = with_narrow_embeddings(before)
    agree(before, after)
    assert labels(after) == {"tokens": ("a",), "indices": ("position", "position^2")}


def test_a_constant_comes_from_the_bias_and_is_taken_away_at_the_start() -> None:
    falling = position(3, 2, 1, 0) + direction(*START).scaled(7)
    both = mlp("both", [(position(0, 1, 2, 3), {X: 1}), (token(1, 1, 1), {X: 1})])
    before = graph_with([both, mlp("falling", [(falling, {X: 1})])], ["x"], start=True)
    after = with_narrow_embeddings(before)
    agree(before, after)
    assert labels(after) == {"start": ("start",), "indices": ("position",)}
    terms = ((("indices", 0), Fraction(-1)), (START, Fraction(4)))
    assert all_forms(after)[-1] == Form(terms, Fraction(3))


def test_without_its_direction_the_start_token_allows_no_constant() -> None:
    neurons = [(position(0, 1, 2, 3), {X: 1}), (position(3, 2, 1, 0), {X: 1})]
    graph = graph_with([mlp("m", neurons)], ["x"])
    hidden = replace(graph, start=True)
    assert labels(with_narrow_embeddings(graph))["indices"] == ("position",)
    assert len(labels(with_narrow_embeddings(hidden))["indices"]) == 2


def test_directions_of_the_tied_read_out_stay() -> None:
    neurons = [(token(1, 1, 0) + position(0, 1, 2, 3), {("tokens", 0): 1})]
    before = graph_with([mlp("m", neurons)], ["x"], TokenReadout("tokens"))
    after = with_narrow_embeddings(before)
    agree(before, after)
    assert labels(after) == {"tokens": ("a", "b", "c"), "indices": ("position",)}


def test_a_read_out_has_its_constant_in_a_direction() -> None:
    logits = LogitReadout(("a", "b"), (token(5, 0, 5), position(0, 2, 4, 6) + token(3, 3, 3)))
    before = graph_with([mlp("m", [(token(0, 1, 0), {X: 1})])], ["x"], logits)
    after = with_narrow_embeddings(before)
    agree(before, after)
    assert sum(map(len, labels(after).values())) == 3


def test_a_one_of_its_own_is_dropped_where_another_function_lends_it() -> None:
    last = token(0, 0, 1) + direction("one", 0).scaled(5)
    reads = LogitReadout(("a", "b", "c"), (token(1, 0, 0), token(0, 1, 0), last))
    made = graph_with([], ["x"], reads)
    one = Variable("one", ("one",), "1 everywhere", None)
    before = replace(
        made,
        variables=(*made.variables, one),
        embeddings=(*made.embeddings, Embedding("one", "position", ((Fraction(1),),) * 4)),
    )
    after = with_narrow_embeddings(before)
    agree(before, after)
    assert labels(after) == {"tokens": ("a", "b", "c")}


def test_a_one_hot_that_is_read_in_all_its_values_stays_without_a_free_constant() -> None:
    logits = LogitReadout(("a", "b", "c"), (token(1, 0, 0), token(0, 1, 0), token(0, 0, 1)))
    values = tuple(position(*(int(i == j) for i in range(4))) for j in range(4))
    more = LogitReadout(("a", "b", "c", "d"), values)
    for readout, name in ((logits, "tokens"), (more, "indices")):
        before = graph_with([], ["x"], readout)
        assert len(labels(with_narrow_embeddings(before))[name]) == len(readout.forms)


@pytest.mark.parametrize(
    "statements",
    [
        "output count(select(tokens, tokens, ==));",
        "output count(select(indices, indices, <=) and select(tokens, tokens, ==));",
        'predict "b" if count(select(tokens, "a", ==)) > indices / 2 else tokens;',
        "output aggregate(select(indices, indices - 2, ==), tokens, tokens);",
        "output indices * indices - indices + indicator(tokens == 'a');",
    ],
)
def test_forms_of_programs_keep_their_values(statements: str) -> None:
    for attention in ("causal", "bidirectional"):
        before = graph_of(f'vocab "abc"; context 5; attention {attention}; {statements}')
        agree(before, with_narrow_embeddings(before))
