"""What is computed twice is computed once."""

from __future__ import annotations

import pytest
from made_graphs import graph_with, head, mlp

from handcraft.compiler.forms import Form, direction
from handcraft.compiler.graph import Op, TokenReadout, verify
from handcraft.compiler.passes.repeats import without_repeats

A, B, X, Y, Z = ("tokens", 0), ("tokens", 1), ("x", 0), ("y", 0), ("z", 0)
a, b = direction(*A), direction(*B)


def ends(x: Form) -> Op:
    return mlp("end", [(x.plus(-1), {Z: 1})])


def test_heads_and_neurons_that_read_repeats_are_repeats_too() -> None:
    ops: list[Op] = [
        head("h1", [a], [b], {X: a}),
        head("h2", [a], [b], {Y: a}),
        mlp("m1", [(direction(*X).plus(-1), {("v", 0): 2})], {("v", 0): 1}),
        mlp("m2", [(direction(*Y).plus(-1), {("w", 0): 2})], {("w", 0): 1}),
        mlp("end", [(direction("v", 0) + direction("w", 0), {Z: 1})]),
    ]
    after = without_repeats(graph_with(ops, ["x", "y", "v", "w", "z"]))
    verify(after)
    assert [op.name for op in after.ops] == ["h1", "m1", "end"]
    assert after.ops[2].neurons[0].pre == direction("v", 0).scaled(2)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "other",
    [
        head("h2", [b], [b], {Y: a}),
        head("h2", [a], [a], {Y: a}),
        head("h2", [a], [b], {Y: b}),
        head("h2", [a], [b], {Y: a}, {Y: 1}),
        mlp("h2", [(a, {Y: 1})]),
    ],
    ids=["queries", "keys", "columns", "bias", "neurons"],
)
def test_a_difference_in_anything_is_no_repeat(other: Op) -> None:
    ops = [head("h1", [a], [b], {X: a}), other, ends(direction(*X) + direction(*Y))]
    graph = graph_with(ops, ["x", "y", "z"])
    assert without_repeats(graph) is graph


def test_a_direction_is_the_same_only_with_all_that_is_added_to_it() -> None:
    more = mlp("more", [(b, {Y: 1})])
    ops = [mlp("m1", [(a, {X: 1})]), mlp("m2", [(a, {Y: 1})]), more]
    graph = graph_with([*ops, ends(direction(*X) + direction(*Y))], ["x", "y", "z"])
    assert without_repeats(graph) is graph


def test_a_tied_read_out_keeps_its_directions() -> None:
    ops = [mlp("m1", [(b, {A: 1})]), mlp("m2", [(b, {X: 1})])]
    graph = graph_with(ops, ["x"], TokenReadout("tokens"))
    assert {op.name for op in without_repeats(graph).ops} >= {"m1"}
