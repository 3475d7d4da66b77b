"""Columns that are cleared and used again: exactly, in time, and only where it pays."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from made_graphs import graph_of, graph_with, head, mlp

import handcraft
from handcraft.compiler.assemble import assemble
from handcraft.compiler.describe import describe
from handcraft.compiler.forms import direction
from handcraft.compiler.graph import Graph, Neuron, Op, TokenReadout
from handcraft.compiler.passes.liveness import with_shared_columns
from handcraft.compiler.passes.sizes import parameters
from handcraft.compiler.place import Placed, place, verify
from handcraft.runtime.model import Model

MANY = 1000
"""Rows of embeddings: enough to make any column dearer than a neuron."""

a, b = direction("tokens", 0), direction("tokens", 1)
X, Y, Z = ("x", 0), ("y", 0), ("z", 0)


def chain(sign: int = 1) -> Graph:
    """Return a graph in which x is dead before z is written."""
    ops: list[Op] = [
        head("h1", [a], [b], {X: a.scaled(sign)}),
        mlp("m1", [(direction(*X), {Y: 1})]),
        head("h2", [direction(*Y)], [b], {Z: direction(*Y)}),
    ]
    graph = graph_with(ops, ["x", "y", "z"])
    return replace(
        graph,
        variables=tuple(v for v in graph.variables if v.name != "indices"),
        embeddings=tuple(e for e in graph.embeddings if e.variable != "indices"),
    )


def test_a_later_variable_has_the_column_of_one_that_is_cleared() -> None:
    shared = with_shared_columns(place(chain()), MANY)
    clear = next(m for layer in shared.layers for m in layer.mlps if m.name in shared.clears)
    assert shared.d_model < place(chain()).d_model
    assert clear.text == "clears `x`, whose directions are used again"
    assert len(clear.neurons) == 1


def test_a_number_that_may_be_negative_takes_two_neurons() -> None:
    shared = with_shared_columns(place(chain(-1)), MANY)
    clears = [m for layer in shared.layers for m in layer.mlps if m.name in shared.clears]
    sizes = {m.name: len(m.neurons) for m in clears}
    assert sizes["clear x"] == 2


def test_columns_stay_where_neurons_would_cost_more() -> None:
    placed = place(chain(-1))
    assert with_shared_columns(placed, 0) is placed


def test_what_the_read_out_reads_stays() -> None:
    ops: list[Op] = [head("h1", [a], [b], {X: a})]
    ops.append(mlp("m1", [(direction(*X), {("tokens", 0): 1})]))
    tied = graph_with(ops, ["x"], TokenReadout("tokens"))
    shared = with_shared_columns(place(tied), MANY)
    assert [shared.columns[("tokens", i)] for i in range(3)] == [0, 1, 2]
    assert not shared.clears


def shared_chain() -> Placed:
    shared = with_shared_columns(place(chain()), MANY)
    assert shared.columns[X] == shared.columns[Z] or shared.clears
    return shared


def test_a_shared_column_without_its_neurons_is_refused() -> None:
    shared = shared_chain()
    layers = tuple(
        replace(layer, mlps=tuple(m for m in layer.mlps if m.name not in shared.clears))
        for layer in shared.layers
    )
    with pytest.raises(AssertionError, match="share a column"):
        verify(replace(shared, layers=layers, clears=frozenset()))


def test_a_neuron_that_does_not_take_away_the_whole_number_clears_nothing() -> None:
    shared = shared_chain()
    half = Neuron(direction(*X), ((X, Fraction(-1, 2)),))
    layers = tuple(
        replace(
            layer,
            mlps=tuple(
                replace(m, neurons=(half,)) if m.name in shared.clears else m for m in layer.mlps
            ),
        )
        for layer in shared.layers
    )
    with pytest.raises(AssertionError, match="share a column"):
        verify(replace(shared, layers=layers))


def test_a_column_cleared_too_late_is_refused() -> None:
    shared = shared_chain()
    clears = [m for layer in shared.layers for m in layer.mlps if m.name in shared.clears]
    kept = [
        replace(layer, mlps=tuple(m for m in layer.mlps if m.name not in shared.clears))
        for layer in shared.layers
    ]
    kept[-1] = replace(kept[-1], mlps=(*kept[-1].mlps, *clears))
    with pytest.raises(AssertionError, match="cleared too late"):
        verify(replace(shared, layers=tuple(kept)))


def test_a_column_cleared_before_its_last_reader_is_refused() -> None:
    shared = shared_chain()
    reads_late = head("late", [a], [b], {("w", 0): direction(*X)})
    layers = (*shared.layers[:-1], replace(shared.layers[-1], heads=(reads_late,)))
    columns = {**shared.columns, ("w", 0): shared.d_model}
    with pytest.raises(AssertionError, match="cleared too early"):
        verify(replace(shared, layers=layers, columns=columns))


SORTS = (
    'vocab "abcd"; context 6; attention bidirectional; output sort(tokens, -count(same_tokens));'
).replace("same_tokens", "select(tokens, tokens, ==)")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cleared_columns_are_0_bit_for_bit(dtype: str) -> None:
    program = handcraft.parse(SORTS)
    placed = place(graph_of(SORTS))
    shared = with_shared_columns(placed, 20)
    assert parameters(shared.sizes, shared.d_model, 20) < parameters(
        placed.sizes, placed.d_model, 20
    )
    weights = assemble(shared, program.typed.header, dtype)
    model = Model(weights, program.typed.vocabulary, describe(shared, program))
    plain = Model(
        assemble(placed, program.typed.header, dtype),
        program.typed.vocabulary,
        describe(placed, program),
    )
    for text in ("dcbabc", "aab", "bbbbbb"):
        assert model.run(text) == program.run(text)
        old, new = plain.trace(text), model.trace(text)
        for number, layer in enumerate(shared.layers):
            stream = new[f"resid_post.{number}"]
            for mlp_op in layer.mlps:
                if mlp_op.name not in shared.clears:
                    continue
                for neuron in mlp_op.neurons:
                    column = shared.columns[neuron.writes[0][0]]
                    assert not stream[:, column].any()
        assert np.array_equal(old["logits"], new["logits"])
