"""Placing: readers after writers, a column for each direction, and broken graphs refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

import handcraft
from handcraft.compiler import graph as graphs
from handcraft.compiler.forms import Direction, constant, direction
from handcraft.compiler.graph import (
    Column,
    Embedding,
    Graph,
    Head,
    MlpOp,
    Neuron,
    NumberReadout,
    TokenReadout,
    Variable,
)
from handcraft.compiler.levels import passes_of
from handcraft.compiler.lower import lower
from handcraft.compiler.passes.dead_code import without_dead_code
from handcraft.compiler.place import PlacedLayer, one_by_one, place, verify
from handcraft.errors import Source, Span
from handcraft.testing import programs

if TYPE_CHECKING:
    from collections.abc import Sequence

SPAN = Span(Source("nothing"), 0, 0)
ONE = Fraction(1)
TOKEN: Direction = ("tokens", 1)


def head(name: str, read: Direction, written: Direction) -> Head:
    columns = (Column(direction(*read), ((written, ONE),)),)
    query, key = constant(1), direction(*read)
    return Head(name, (query,), (key,), columns, (), ONE, ONE, name, SPAN)


def mlp(name: str, read: Direction, written: Direction) -> MlpOp:
    return MlpOp(name, (Neuron(direction(*read), ((written, ONE),)),), (), name, SPAN)


def graph(ops: Sequence[Head | MlpOp], *names: str) -> Graph:
    """Return a graph of two tokens and of variables of one direction, read at the last one."""
    variables = [Variable(name, ("value",), name, None) for name in names]
    rows = ((ONE, Fraction(0)), (Fraction(0), ONE))
    return Graph(
        variables=(Variable("tokens", ("a", "b"), "the token here", None), *variables),
        embeddings=(Embedding("tokens", "token", rows),),
        ops=tuple(ops),
        readout=NumberReadout(direction(names[-1], 0)),
        margin=ONE,
        start=False,
    )


X, Y, Z = ("x", 0), ("y", 0), ("z", 0)


def names_of(layers: Sequence[PlacedLayer]) -> list[tuple[list[str], list[str]]]:
    return [([h.name for h in layer.heads], [m.name for m in layer.mlps]) for layer in layers]


# What is right -------------------------------------------------------------------------------


def test_an_operation_stands_in_the_first_layer_that_can_hold_it() -> None:
    mlps = (mlp("m1", X, Y), mlp("m2", TOKEN, Z))
    ops = (head("h1", TOKEN, X), *mlps, head("h2", Y, ("last", 0)))
    placed = place(graph(ops, "x", "y", "z", "last"))
    assert names_of(placed.layers) == [(["h1"], ["m1", "m2"]), (["h2"], [])]


def test_heads_that_read_the_same_layer_stand_side_by_side() -> None:
    ops = [head("h1", TOKEN, X), head("h2", TOKEN, Y), head("h3", X, Z)]
    placed = place(graph(ops, "x", "y", "z"))
    assert names_of(placed.layers) == [(["h1", "h2"], []), (["h3"], [])]


def test_neurons_that_read_neurons_stand_in_the_next_layer() -> None:
    placed = place(graph([mlp("m1", TOKEN, X), mlp("m2", X, Y)], "x", "y"))
    assert names_of(placed.layers) == [([], ["m1"]), ([], ["m2"])]


def test_what_adds_to_an_embedding_waits_for_all_that_read_it() -> None:
    adds, late = mlp("adds", TOKEN, TOKEN), replace(head("late", TOKEN, Z), keys=(direction(*Y),))
    placed = place(graph([head("h1", TOKEN, X), mlp("m1", X, Y), adds, late], "x", "y", "z"))
    assert names_of(placed.layers) == [(["h1"], ["m1"]), (["late"], ["adds"])]


def test_a_head_that_adds_to_an_embedding_waits_too() -> None:
    both = Neuron(direction(*TOKEN) + direction(*Y), ((Z, ONE),))
    adds, late = head("adds", TOKEN, TOKEN), replace(mlp("late", Y, Z), neurons=(both,))
    placed = place(graph([head("h1", TOKEN, X), mlp("m1", X, Y), adds, late], "x", "y", "z"))
    assert names_of(placed.layers) == [(["h1"], ["m1"]), ([], ["late"]), (["adds"], [])]


def test_every_direction_has_a_column_of_its_own() -> None:
    placed = place(graph([head("h1", TOKEN, X), mlp("m1", X, Y)], "x", "y"))
    assert sorted(placed.columns.values()) == [0, 1, 2, 3]
    assert placed.d_model == 4
    assert placed.columns[TOKEN] == 1


@settings(max_examples=40)
@given(programs())
def test_random_programs_are_placed_by_these_rules(text: str) -> None:
    try:
        made = lower(handcraft.parse(text).typed, passes_of(2))
    except handcraft.HandcraftError:
        return
    placed = place(made)
    verify(placed)
    names = [name for pair in names_of(placed.layers) for part in pair for name in part]
    assert sorted(names) == sorted(op.name for op in made.ops)


# What is broken ------------------------------------------------------------------------------


def test_a_reader_before_its_writer_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"m1 reads .* too early"):
        graphs.verify(graph([mlp("m1", X, Y), head("h1", TOKEN, X)], "x", "y"))


def test_a_layer_that_reads_what_a_later_one_writes_is_refused() -> None:
    placed = place(graph([head("h1", TOKEN, X), head("h2", X, Y)], "x", "y"))
    turned = replace(placed, layers=placed.layers[::-1])
    with pytest.raises(AssertionError, match="before it is whole"):
        verify(turned)


def test_a_reader_beside_its_writer_is_refused() -> None:
    placed = place(graph([head("h1", TOKEN, X), head("h2", X, Y)], "x", "y"))
    together = PlacedLayer((*placed.layers[0].heads, *placed.layers[1].heads), ())
    with pytest.raises(AssertionError, match="before it is whole"):
        verify(replace(placed, layers=(together,)))


def test_an_embedding_that_is_read_after_something_was_added_to_it_is_refused() -> None:
    placed = place(graph([mlp("m1", TOKEN, TOKEN), head("h1", TOKEN, X)], "x"))
    first, second = PlacedLayer((), placed.layers[0].mlps), PlacedLayer(placed.layers[0].heads, ())
    with pytest.raises(AssertionError, match="after it was overwritten"):
        verify(replace(placed, layers=(first, second)))


def test_two_directions_in_one_column_are_refused() -> None:
    placed = place(graph([head("h1", TOKEN, X)], "x"))
    with pytest.raises(AssertionError):
        verify(replace(placed, columns={**placed.columns, X: placed.columns[TOKEN]}))


def test_two_variables_of_one_name_are_refused() -> None:
    with pytest.raises(AssertionError, match="two variables"):
        graphs.verify(graph([head("h1", TOKEN, X)], "x", "x"))


def test_a_read_out_of_what_nothing_writes_is_refused() -> None:
    with pytest.raises(AssertionError, match="nothing writes"):
        graphs.verify(graph([head("h1", TOKEN, X)], "x", "y"))


def test_a_read_out_with_a_constant_is_refused() -> None:
    made = graph([head("h1", TOKEN, X)], "x")
    with pytest.raises(AssertionError, match="no bias"):
        graphs.verify(replace(made, readout=NumberReadout(direction(*X).plus(1))))


def test_a_direction_beyond_its_variable_is_refused() -> None:
    with pytest.raises(AssertionError, match="writes nowhere"):
        graphs.verify(graph([head("h1", TOKEN, ("x", 1))], "x"))


# Dead code -----------------------------------------------------------------------------------


def test_what_nothing_reads_is_left_out() -> None:
    dead = head("dead", TOKEN, Y)
    made = graph([head("h1", TOKEN, X), dead, mlp("m1", X, Z), mlp("m2", Y, ("w", 0))], "x", "y")
    extended = replace(
        made,
        variables=(*made.variables, *(Variable(n, ("value",), n, None) for n in ("w", "z"))),
        readout=NumberReadout(direction(*Z)),
    )
    kept = without_dead_code(extended, frozenset())
    assert [op.name for op in kept.ops] == ["h1", "m1"]
    assert [(v.name, v.labels) for v in kept.variables] == [
        ("tokens", ("b",)),
        ("x", ("value",)),
        ("z", ("value",)),
    ]
    graphs.verify(kept)


def test_what_the_tokens_are_read_from_stays() -> None:
    made = replace(graph([head("h1", TOKEN, X)], "x"), readout=TokenReadout("tokens"))
    kept = without_dead_code(made, frozenset({("tokens", 0), ("tokens", 1)}))
    assert [v.name for v in kept.variables] == ["tokens"]
    assert kept.ops == ()


def test_each_operation_has_a_layer_and_a_one_hot_is_restored_in_one() -> None:
    typed = handcraft.parse(
        'vocab "abc"; context 16; output selector_width(select(hist, hist, ==));',
        attention="bidirectional",
    ).typed
    placed = one_by_one(lower(typed, passes_of(0)))
    verify(placed)
    steps = [len(layer.heads) + len(layer.crosses) + len(layer.mlps) for layer in placed.layers]
    restored = [op.name.startswith("restored") for layer in placed.layers for op in layer.mlps]
    assert sorted(steps)[-2:] == [1, sum(restored)]
    assert sum(restored) > 10
