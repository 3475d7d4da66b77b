"""A placed graph in rational arithmetic with hard attention, by loops: what rounding is off from.

Where the program has no meaning nothing is claimed: there a value is `None`, and so is all that is
computed from it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.compiler.draft import NUMBER, SHARE
from handcraft.compiler.graph import Head, reads, writes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.forms import Direction, Form, Number
    from handcraft.compiler.graph import Graph, MlpOp
    from handcraft.compiler.place import Placed

Values = dict["Direction", "Number | None"]


def exact_stream(placed: Placed, ids: Sequence[int], *, causal: bool) -> list[Values]:
    """Return the final value of every direction at every position.

    Args:
        placed: the graph.
        ids: of the tokens, the start token included.
        causal: whether positions see only themselves and those before.
    """
    graph = placed.graph
    stream = [_embedded(graph, ids, i) for i in range(len(ids))]
    for layer in placed.layers:
        for ops in (layer.heads, layer.mlps):
            added: list[Values] = [{} for _ in ids]
            for op in ops:
                if op.name in placed.clears:
                    continue
                for i in range(len(ids)):
                    found = (
                        _attended(op, stream, i, causal=causal)
                        if isinstance(op, Head)
                        else _computed(op, stream[i])
                    )
                    for d in writes(op):
                        value = None if found is None else found.get(d, Fraction(0))
                        added[i][d] = _plus(added[i].get(d, Fraction(0)), value)
            for here, more in zip(stream, added, strict=True):
                for d, value in more.items():
                    here[d] = _plus(here[d], value)
            _doubt(graph, stream, start=graph.start)
    return stream


def _embedded(graph: Graph, ids: Sequence[int], i: int) -> Values:
    values: Values = {
        (v.name, n): Fraction(0) for v in graph.variables for n in range(len(v.labels))
    }
    for embedding in graph.embeddings:
        is_start = graph.start and i == 0
        row = {"token": ids[i], "position": i - graph.start, "start": 0}[embedding.by]
        if is_start == (embedding.by == "start"):
            for n, value in enumerate(embedding.rows[row]):
                values[(embedding.variable, n)] = value
    return values


def _attended(head: Head, stream: Sequence[Values], i: int, *, causal: bool) -> Values | None:
    seen = range(i + 1 if causal else len(stream))
    asked = [_at(form, stream[i]) for form in head.queries]
    scores = []
    for j in seen:
        total: Number | None = Fraction(0)
        for ask, form in zip(asked, head.keys, strict=True):
            key = _at(form, stream[j])
            total = None if ask is None or key is None or total is None else total + ask * key
        scores.append(total)
    if None in scores:
        return None
    best = max(score for score in scores if score is not None)
    winners = [j for j, score in zip(seen, scores, strict=True) if score == best]
    if head.winners is not None and len(winners) > head.winners:
        return None
    found: Values = dict(head.bias)
    for column in head.columns:
        moved = [_at(column.form, stream[j]) for j in winners]
        for d, c in column.writes:
            for value in moved:
                share = None if value is None else Fraction(c * value) / len(winners)
                found[d] = _plus(found.get(d, Fraction(0)), share)
    return found


def _computed(op: MlpOp, here: Values) -> Values | None:
    if any(here[d] is None for d in reads(op)):
        return None
    if op.scan is not None and not here.get(("start", 0)):
        x = _at(op.scan.form, here)
        if x is None or not any(low <= x <= high for low, high in op.scan.pieces):
            return None
    found: Values = dict(op.bias)
    for neuron in op.neurons:
        pre = _at(neuron.pre, here)
        assert pre is not None
        for d, c in neuron.writes:
            found[d] = _plus(found.get(d, Fraction(0)), c * max(pre, Fraction(0)))
    return found


def _doubt(graph: Graph, stream: Sequence[Values], *, start: bool) -> None:
    """Claim nothing of a one-hot variable that is none."""
    overwritten = {e.variable for e in graph.embeddings}
    for variable in graph.variables:
        if variable.labels in ((NUMBER,), (SHARE,)) or variable.name in overwritten:
            continue
        places = [(variable.name, n) for n in range(len(variable.labels))]
        for here in stream[start:]:
            values = [here[d] for d in places if here[d]]
            if values not in ([], [1]):
                here |= dict.fromkeys(places)


def _at(form: Form, here: Values) -> Number | None:
    total = form.constant
    for d, c in form.terms:
        value = here[d]
        if value is None:
            return None
        total += c * value
    return total


def _plus(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else one + other
