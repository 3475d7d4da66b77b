"""A placed graph -> the same, which embeds the token as a one-hot in columns of its own.

Passes choose other functions of the token, or give the columns to others later; a tied unembedding
reads all that is embedded by token, at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from handcraft.compiler.forms import START, Form, combine, direction
from handcraft.compiler.graph import Embedding, Head, MlpOp, Variable, writes
from handcraft.compiler.passes.rewriting import rewritten
from handcraft.compiler.place import Placed, PlacedLayer, own_size, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence, Set

    from handcraft.compiler.forms import Direction, Number
    from handcraft.compiler.graph import Graph

NAME = "tokens"
"""What the one-hot is called where the graph has none: as the s-op."""


def with_token_onehot(placed: Placed, labels: Sequence[str]) -> tuple[Placed, str] | None:
    """Return a placed graph that embeds nothing by token but a one-hot, and the one-hot's name.

    No other variable has its columns, nor those of the start token's direction. In the program's
    terms the one-hot is the token too.

    Args:
        placed: the graph in its places.
        labels: of the tokens.

    Returns:
        None where an operation adds to what is embedded by token.
    """
    graph = placed.graph
    by_token = [e for e in graph.embeddings if e.by == "token"]
    if {e.variable for e in by_token} & {name for op in graph.ops for name, _ in writes(op)}:
        return None
    rows = _identity(len(labels))
    cleared = {d[0] for op in _clearing(placed) for d in writes(op)}
    own = next((e for e in by_token if e.rows == rows and e.variable not in cleared), None)
    gone = {e.variable for e in by_token} - ({own.variable} if own else set())
    name = _free_name(graph, gone, rows) if own is None else own.variable
    read = rewritten(graph, _reader(by_token, name), lambda same: same, _reader(by_token, name))
    variables = [v for v in graph.variables if v.name not in gone]
    embeddings = [e for e in graph.embeddings if e.variable not in gone]
    if own is None:
        own = Embedding(name, "token", rows)
        variables.append(Variable(name, tuple(labels), "the token here", None))
        embeddings.append(own)
    is_known = any(e.variable == name for e in graph.meant)
    read = replace(
        read,
        variables=tuple(variables),
        embeddings=tuple(embeddings),
        meant=graph.meant if is_known else (*graph.meant, own),
    )
    return _placed(placed, read, gone, cleared & {START[0]}), name


def free(name: str, taken: Container[str]) -> str:
    """Return a name with a number behind it if it is taken."""
    unique, copy = name, 1
    while unique in taken:
        copy += 1
        unique = f"{name}.{copy}"
    return unique


def _identity(n: int) -> tuple[tuple[Number, ...], ...]:
    return tuple(tuple(int(i == j) for j in range(n)) for i in range(n))


def _free_name(graph: Graph, gone: Set[str], rows: tuple[tuple[Number, ...], ...]) -> str:
    """Return a name that no variable has, and in the program's terms nothing but the token."""
    others = {e.variable for e in graph.meant if (e.by, e.rows) != ("token", rows)}
    return free(NAME, others | ({v.name for v in graph.variables} - gone))


def _reader(by_token: Sequence[Embedding], name: str) -> Callable[[Form], Form]:
    """Return what makes a form read a one-hot in place of functions of the token."""
    sums: dict[Direction, Form] = {
        (e.variable, i): combine((value, direction(name, t)) for t, value in enumerate(values))
        for e in by_token
        for i, values in enumerate(zip(*e.rows, strict=True))
    }

    def read(form: Form) -> Form:
        if not any(d in sums for d in form.directions):
            return form
        rest = Form(tuple((d, c) for d, c in form.terms if d not in sums), form.constant)
        return combine([(1, rest), *((c, sums[d]) for d, c in form.terms if d in sums)])

    return read


# Places --------------------------------------------------------------------------------------


def _clearing(placed: Placed) -> list[MlpOp]:
    return [op for layer in placed.layers for op in layer.mlps if op.name in placed.clears]


def _placed(placed: Placed, graph: Graph, gone: Set[str], apart: Set[str]) -> Placed:
    """Return a placement of the graph; what is new, or should stand apart, comes last.

    Args:
        placed: where everything stood.
        graph: the graph.
        gone: variables that it has no more.
        apart: variables whose columns others have after them.
    """
    idle = {op.name for op in _clearing(placed) if {d[0] for d in writes(op)} <= gone | apart}
    heads = {op.name: op for op in graph.ops if isinstance(op, Head)}
    mlps = {op.name: op for op in graph.ops if isinstance(op, MlpOp)}
    layers = tuple(
        PlacedLayer(
            tuple(heads[head.name] for head in layer.heads),
            tuple(mlps.get(op.name, op) for op in layer.mlps if op.name not in idle),
        )
        for layer in placed.layers
    )
    stays = [d for d in placed.columns if d[0] not in gone | apart]
    used = sorted({placed.columns[d] for d in stays})
    columns = {d: used.index(placed.columns[d]) for d in stays}
    for variable in graph.variables:
        for i in range(len(variable.labels)):
            columns.setdefault((variable.name, i), max(columns.values(), default=-1) + 1)
    moved = Placed(
        graph, layers, columns, tuple(map(own_size, layers)), placed.clears - idle, placed.encoder
    )
    verify(moved)
    return moved
