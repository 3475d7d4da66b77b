"""How far back a program looks: the proof that a sliding window changes nothing.

An s-op that reads no absolute position is a function of the last r + 1 tokens at its position. The
rules follow its making; a comparison of positions bounds how far behind its query a key stands.
"""

from __future__ import annotations

from handcraft.language.recognition import deciding_length
from handcraft.language.results import roots
from handcraft.language.typed import (
    Aggregate,
    AllOf,
    AnyOf,
    Apply,
    Ask,
    Best,
    Choose,
    Compare,
    Constant,
    First,
    Full,
    Indices,
    Latest,
    Node,
    NoneOf,
    Pick,
    Tokens,
    Total,
    TypedProgram,
    Width,
    operands,
)

UNBOUNDED = float("inf")


def lookback(program: TypedProgram) -> int | None:
    """Return how many tokens at the end of a text decide the next one, or None for all.

    A text that is written from a source has a beginning, and is never cut.
    """
    if program.header.source is not None:
        return None
    reaches: list[float] = []
    for node in program.nodes:
        reaches.append(_reach(node, program, reaches))
    reach = max(reaches[root] for root in roots(program.result))
    return None if reach == UNBOUNDED else int(reach) + 1


def _reach(node: Node, program: TypedProgram, reaches: list[float]) -> float:
    """Return how many positions before its own an s-op reads.

    Of a selector: how far its entries read before their key and query, positions aside.
    """
    below = max((reaches[o] for o in operands(node.op)), default=0.0)
    match node.op:
        case Tokens() | Constant() | Full():
            return 0
        case Indices():
            return UNBOUNDED
        case Ask():
            length = deciding_length(node.op, program.vocabulary)
            return UNBOUNDED if length is None else max(0, length - 1)
        case Apply() | Choose() | Pick() | AllOf() | AnyOf() | NoneOf():
            return below
        case Compare(_, key, query):
            return 0 if _offsets(key, query, program) is not None else below
        case Best(selector, score):
            return max(reaches[selector] + _distance(selector, program), reaches[score])
        case First(selector) | Latest(selector) | Width(selector):
            return reaches[selector] + _distance(selector, program)
        case Aggregate(selector, value, default):
            moved = max(reaches[selector], reaches[value]) + _distance(selector, program)
            return max(moved, 0 if default is None else reaches[default])
        case Total(selector, value):
            return max(reaches[selector], reaches[value]) + _distance(selector, program)


def _distance(selector: int, program: TypedProgram) -> float:
    """Return how many positions a selected key stands behind its query at most."""
    op = program.nodes[selector].op
    match op:
        case Compare(word, key, query):
            offset = _offsets(key, query, program)
            if offset is None or word not in ("==", ">=", ">"):
                return UNBOUNDED
            return max(0, -offset - (word == ">"))
        case AllOf(left, right):
            return min(_distance(left, program), _distance(right, program))
        case AnyOf(left, right):
            return max(_distance(left, program), _distance(right, program))
        case Best(inner, _) | First(inner) | Latest(inner):
            return _distance(inner, program)
        case _:
            return UNBOUNDED


def _offsets(key: int, query: int, program: TypedProgram) -> int | None:
    """Return d where the comparison is that of `j` and `i + d`, for key j and query i."""
    k, q = _shifted(key, program), _shifted(query, program)
    return None if k is None or q is None else q - k


def _shifted(node: int, program: TypedProgram) -> int | None:
    """Return c where an s-op is `indices + c`."""
    table = program.nodes[node].table
    if isinstance(program.nodes[node].op, Indices):
        return 0
    if table is None or len(table.leaves) != 1:
        return None
    if not isinstance(program.nodes[table.leaves[0]].op, Indices):
        return None
    first = table.outcomes[0]
    if not isinstance(first, int) or isinstance(first, bool):
        return None
    shifted = tuple(first + i for i in range(len(table.outcomes)))
    return first if shifted == table.outcomes and len(shifted) > 1 else None
