"""Operations moved within their slack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from made_graphs import graph_with, head, mlp

import handcraft
from handcraft.compiler.forms import direction
from handcraft.compiler.levels import passes_of
from handcraft.compiler.lower import lower
from handcraft.compiler.passes.packing import packings
from handcraft.compiler.passes.sizes import parameters
from handcraft.compiler.place import Placed, place
from handcraft.testing import programs

if TYPE_CHECKING:
    from handcraft.compiler.graph import Op

a, b = direction("tokens", 0), direction("tokens", 1)
V, W, X, Y, Z = (("v", 0), ("w", 0), ("x", 0), ("y", 0), ("z", 0))


def names_of(placed: Placed) -> list[tuple[list[str], list[str]]]:
    return [
        (sorted(h.name for h in layer.heads), sorted(m.name for m in layer.mlps))
        for layer in placed.layers
    ]


def test_neurons_with_slack_join_those_of_another_layer() -> None:
    ops: list[Op] = [
        head("h1", [a], [b], {X: a}),
        mlp("free", [(a, {Y: 1})]),
        head("h2", [direction(*X)], [b], {Z: a}),
        mlp("end", [(direction(*Z), {W: 1})]),
        mlp("last", [(direction(*W) + direction(*Y), {V: 1})]),
    ]
    graph = graph_with(ops, ["x", "y", "z", "w", "v"])
    assert names_of(place(graph)) == [(["h1"], ["free"]), (["h2"], ["end"]), ([], ["last"])]
    assert names_of(packings(graph)[0]) == [(["h1"], []), (["h2"], ["end", "free"]), ([], ["last"])]


def test_heads_of_like_width_stand_side_by_side() -> None:
    wide = head("wide", [a, b, a], [a, b, b], {X: a})
    free = head("free", [a], [b], {Y: a})
    ops = [wide, free, head("next", [direction(*X)], [b], {Z: a})]
    ops = [*ops, head("end", [direction(*Y) + direction(*Z)], [b], {W: a})]
    graph = graph_with(ops, ["x", "y", "z", "w"])
    assert names_of(place(graph)) == [(["free", "wide"], []), (["next"], []), (["end"], [])]
    assert names_of(packings(graph)[0]) == [(["wide"], []), (["free", "next"], []), (["end"], [])]


def test_what_adds_to_an_embedding_does_not_move_before_its_readers() -> None:
    ops: list[Op] = [
        head("h1", [a], [b], {X: a}),
        mlp("adds", [(b, {("tokens", 0): 1})]),
        mlp("m1", [(direction(*X) + a, {Y: 1})]),
    ]
    for placed in packings(graph_with(ops, ["x", "y"])):
        assert names_of(placed) == [(["h1"], ["adds", "m1"])] or names_of(placed)[-1][1] == ["adds"]


@settings(max_examples=40)
@given(programs())
def test_random_programs_take_no_more_layers_and_no_more_numbers(text: str) -> None:
    try:
        graph = lower(handcraft.parse(text).typed, passes_of(2))
    except handcraft.HandcraftError:
        return
    placed = place(graph)
    best, *others = packings(graph)
    numbers = [parameters(p.sizes, p.d_model, 0) for p in (best, placed, *others)]
    assert numbers[0] == min(numbers)
    for other in (best, *others):
        assert len(other.layers) <= len(placed.layers)
        names = [name for heads, mlps in names_of(other) for name in (*heads, *mlps)]
        assert sorted(names) == sorted(op.name for op in graph.ops)
