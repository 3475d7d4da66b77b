"""The constant of a read-out in the start direction."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from made_graphs import graph_of, graph_with, head, mlp

from handcraft.compiler.forms import START, direction
from handcraft.compiler.graph import Embedding, Graph, NumberReadout, TokenReadout, Variable, verify
from handcraft.compiler.passes.late_constant import with_late_constant
from handcraft.compiler.place import place

X, Y = ("x", 0), ("y", 0)
ONE = direction("one", 0)


def with_one(graph: Graph) -> Graph:
    rows = ((Fraction(1),),) * 4
    return replace(
        graph,
        variables=(*graph.variables, Variable("one", ("one",), "1 everywhere", None)),
        embeddings=(*graph.embeddings, Embedding("one", "position", rows)),
        readout=NumberReadout(direction("y", 0) + ONE.scaled(5)),
    )


def example() -> Graph:
    begin = direction(*START)
    counts = head("counts", [begin], [begin], {X: begin})
    return with_one(
        graph_with([counts, mlp("m", [(direction(*X), {Y: 2})])], ["x", "y"], start=True)
    )


def test_the_last_operation_adds_the_constant_to_the_start_direction() -> None:
    after = with_late_constant(example())
    verify(after)
    assert "one" not in {v.name for v in after.variables}
    assert after.readout == NumberReadout(direction(*START).scaled(5) + direction("y", 0))
    assert [op.bias for op in after.ops] == [(), ((START, Fraction(1)),)]
    assert len(place(after).layers) == len(place(example()).layers)


def test_an_operation_reads_a_constant_that_the_start_token_does_not_have() -> None:
    before = example()
    reads = mlp("m", [(direction(*X) + ONE.scaled(3), {Y: 2})])
    after = with_late_constant(replace(before, ops=(before.ops[0], reads)))
    pre = after.ops[1].neurons[0].pre  # type: ignore[union-attr]
    assert pre == direction(*X) + direction(*START).scaled(-3).plus(3)


def test_nothing_changes_without_a_start_direction_or_with_a_tied_read_out() -> None:
    hidden = with_one(graph_with([mlp("m", [(direction("tokens", 0), {Y: 2})])], ["y"]))
    assert with_late_constant(hidden) is hidden
    tied = replace(example(), readout=TokenReadout("tokens"))
    assert with_late_constant(tied) is tied


def test_nothing_changes_without_a_constant() -> None:
    graph = graph_of('vocab "ab"; context 4; output aggregate(full_s, indices, 0);')
    assert with_late_constant(graph) is graph
