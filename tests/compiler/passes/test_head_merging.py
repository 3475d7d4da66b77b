"""Heads with the same queries and keys become one, where that takes no more layers."""

from __future__ import annotations

from fractions import Fraction

from made_graphs import graph_with, head, mlp

from handcraft.compiler.forms import direction
from handcraft.compiler.graph import Head, verify
from handcraft.compiler.passes.head_merging import with_merged_heads
from handcraft.compiler.place import place

a, b = direction("tokens", 0), direction("tokens", 1)
X, Y, Z, W = ("x", 0), ("y", 0), ("z", 0), ("w", 0)


def test_one_head_moves_what_two_moved() -> None:
    ops = [head("h1", [a], [b], {X: a}, {X: 1}), head("h2", [a], [b], {Y: b}, {Y: 2, X: 3})]
    end = mlp("end", [(direction(*X) + direction(*Y), {Z: 1})])
    after = with_merged_heads(graph_with([*ops, end], ["x", "y", "z"]))
    verify(after)
    joined = after.ops[0]
    assert isinstance(joined, Head)
    assert [c.writes[0][0] for c in joined.columns] == [X, Y]
    assert joined.bias == ((X, Fraction(4)), (Y, Fraction(2)))
    assert joined.text == "h1; h2"
    assert len(after.ops) == 2


def test_other_queries_or_keys_are_another_head() -> None:
    ops = [head("h1", [a], [b], {X: a}), head("h2", [b], [b], {Y: b}), head("h3", [a], [a], {Z: b})]
    graph = graph_with(ops, ["x", "y", "z"])
    assert with_merged_heads(graph) is graph


def test_a_head_that_needs_the_other_stays_apart() -> None:
    ops = [head("h1", [a], [b], {X: a}), head("h2", [a], [b], {Y: direction(*X)})]
    graph = graph_with(ops, ["x", "y"])
    assert with_merged_heads(graph) is graph


def test_a_head_waits_for_the_other_only_where_no_layer_is_added() -> None:
    first = [head("h1", [a], [b], {X: a}), head("later", [b], [b], {Y: b})]
    second = head("h2", [a], [b], {Z: direction(*Y)})
    end = mlp("end", [(direction(*X) + direction(*Z), {W: 1})])
    merged = with_merged_heads(graph_with([*first, second, end], ["x", "y", "z", "w"]))
    verify(merged)
    assert [op.name for op in merged.ops] == ["later", "h1", "end"]
    deep = [
        head("h3", [b], [a], {W: direction(*X)}),
        head("h4", [direction(*W)], [a], {("v", 0): a}),
    ]
    last = mlp("end", [(direction(*Z) + direction("v", 0), {("u", 0): 1})])
    graph = graph_with([*first, second, *deep, last], ["x", "y", "z", "w", "v", "u"])
    assert with_merged_heads(graph) is graph
    assert len(place(graph).layers) == 3
