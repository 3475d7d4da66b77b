"""Which keys a selector can and must take, by position: bounds on how many it selects.

A row of bits for each query position: bit j of `may[i]` says that query i can select key j, bit
j of `must[i]` that it always does. Comparisons of positions are known exactly; of anything else
it is known that a value equals itself. Rows are taken before the causal mask.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING, Any, Literal, assert_never

from handcraft.language.distinct import is_distinct
from handcraft.language.domains import Finite
from handcraft.language.typed import (
    AllOf,
    AnyOf,
    Best,
    Compare,
    Counts,
    First,
    Full,
    Indices,
    Latest,
    Node,
    NoneOf,
    SelectorOp,
)
from handcraft.language.values import Outcome, Undefined, Value, compare

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_COMPARISON = 65_536
"""Pairs of values that are tried to find out that a comparison is always or never true."""


@dataclass(frozen=True, slots=True)
class View:
    """What queries see of keys.

    Attributes:
        queries: how many positions the queries' sequence has at most; 1 where all ask alike.
        keys: how many the keys' sequence has.
        kind: of its own sequence a query sees all, or what is not after it; across, it sees all
            of another, of which there may be nothing.
    """

    queries: int
    keys: int
    kind: Literal["causal", "bidirectional", "across"]


@dataclass(frozen=True, slots=True)
class Reach:
    """Rows of possible and certain keys, and a bound on keys at once that rows do not show."""

    may: tuple[int, ...]
    must: tuple[int, ...]
    at_most: int


def counts(reach: Reach, op: SelectorOp, operand: Counts | None, view: View) -> Counts:
    """Return how many keys a query selects, at any position and input length."""
    across = view.kind == "across"
    visible = [0 if across else (1 << (i + 1)) - 1 for i in range(len(reach.may))]
    seen = visible if view.kind == "causal" else [-1] * len(visible)
    most = max((m & v).bit_count() for m, v in zip(reach.may, seen, strict=True))
    fewest = min((m & v).bit_count() for m, v in zip(reach.must, visible, strict=True))
    if isinstance(op, Best | First | Latest):
        assert operand is not None
        return Counts(min(1, operand.fewest), min(1, operand.most))
    most = min(most, reach.at_most)
    return Counts(min(fewest, most), most)


def reach(op: SelectorOp, nodes: Sequence[Node], reaches: dict[int, Reach], view: View) -> Reach:
    """Return the reach of a selector over nodes whose reach is known."""
    n_queries, n_keys = view.queries, view.keys
    everything = (1 << n_keys) - 1
    match op:
        case Full():
            return Reach((everything,) * n_queries, (everything,) * n_queries, n_keys)
        case Compare():
            return _compare(op, nodes, view)
        case AllOf(left, right):
            a, b = (_for_each(reaches[part], n_queries) for part in (left, right))
            may = tuple(x & y for x, y in zip(a.may, b.may, strict=True))
            must = tuple(x & y for x, y in zip(a.must, b.must, strict=True))
            return Reach(may, must, min(a.at_most, b.at_most))
        case AnyOf(left, right):
            a, b = (_for_each(reaches[part], n_queries) for part in (left, right))
            may = tuple(x | y for x, y in zip(a.may, b.may, strict=True))
            must = tuple(x | y for x, y in zip(a.must, b.must, strict=True))
            return Reach(may, must, min(a.at_most + b.at_most, n_keys))
        case NoneOf(operand):
            a = reaches[operand]
            may = tuple(everything & ~x for x in a.must)
            must = tuple(everything & ~x for x in a.may)
            return Reach(may, must, n_keys)
        case Best(selector) | First(selector) | Latest(selector):
            return Reach(reaches[selector].may, (0,) * n_queries, 1)
        case _:
            assert_never(op)


def _for_each(reach: Reach, n_queries: int) -> Reach:
    """Return the reach of a selector for each of so many queries, which may all ask alike."""
    times = n_queries // len(reach.may)
    return reach if times == 1 else Reach(reach.may * times, reach.must * times, reach.at_most)


def certain_counts(reach: Reach, view: View) -> tuple[int, ...] | None:
    """Return how many keys each position selects, if that is the same on every input."""
    if view.kind == "across":
        return None
    counted = []
    for i, (may, must) in enumerate(zip(reach.may, reach.must, strict=True)):
        seen = (1 << (i + 1)) - 1
        if view.kind == "causal":
            may, must = may & seen, must & seen
        if may != must or may & ~seen:
            return None
        counted.append(may.bit_count())
    return tuple(counted)


def by_position(node: Node, nodes: Sequence[Node], context: int) -> tuple[Outcome, ...] | None:
    """Return a node's value at each position, if it depends on nothing else."""
    table = node.table
    if isinstance(node.op, Indices):
        return tuple(range(context))
    if table is None or not all(isinstance(nodes[leaf].op, Indices) for leaf in table.leaves):
        return None
    return table.outcomes if table.leaves else table.outcomes * context


def _compare(op: Compare, nodes: Sequence[Node], view: View) -> Reach:
    n_queries = view.queries
    everything = (1 << view.keys) - 1
    keys = by_position(nodes[op.key], nodes, view.keys)
    queries = by_position(nodes[op.query], nodes, n_queries)
    distinct = op.op == "==" and is_distinct(op.key, nodes, causal=view.kind == "causal")
    at_most = 1 if distinct else view.keys
    if keys is not None and queries is not None:
        return _positional(op.op, keys, queries, at_most)
    can, cannot = _possible(op, nodes)
    may = everything if can else 0
    must = 0 if cannot else everything
    if op.key != op.query:
        return Reach((may,) * n_queries, (must,) * n_queries, at_most)
    own = [1 << i for i in range(n_queries)]
    if op.op in ("==", "<=", ">="):
        return Reach((may,) * n_queries, tuple(must | bit for bit in own), at_most)
    return Reach(tuple(may & ~bit for bit in own), (must,) * n_queries, at_most)


def _positional(
    op: str, keys: Sequence[Outcome], queries: Sequence[Outcome], at_most: int
) -> Reach:
    """Return the reach of a comparison of values that are known at each position."""
    everything = (1 << len(keys)) - 1
    texts = _Ordered([(k, j) for j, k in enumerate(keys) if isinstance(k, str)])
    numbers = _Ordered([(k, j) for j, k in enumerate(keys) if not isinstance(k, str | Undefined)])
    unknown = everything & ~(texts.masks[-1] | numbers.masks[-1])
    may, must = [], []
    for query in queries:
        if isinstance(query, Undefined):
            may.append(everything)
            must.append(0)
            continue
        ordered = texts if isinstance(query, str) else numbers
        row = ordered.selected(op, query, everything & ~unknown)
        may.append(row | unknown)
        must.append(row)
    return Reach(tuple(may), tuple(must), at_most)


class _Ordered:
    """Keys in the order of their values, with the mask of the first n of them for each n."""

    def __init__(self, keys: list[tuple[Any, int]]) -> None:
        keys.sort(key=lambda key: key[0])
        self.values = [value for value, _ in keys]
        self.masks = list(accumulate((1 << j for _, j in keys), or_, initial=0))

    def selected(self, op: str, query: Value, defined: int) -> int:
        """Return the mask of the keys for which `key op query` holds."""
        less = self.masks[bisect_left(self.values, query)]
        not_more = self.masks[bisect_right(self.values, query)]
        match op:
            case "==":
                return not_more & ~less
            case "!=":
                return defined & ~(not_more & ~less)
            case "<":
                return less
            case "<=":
                return not_more
            case ">":
                return self.masks[-1] & ~not_more
            case ">=":
                return self.masks[-1] & ~less
            case _:
                raise AssertionError(op)


def _possible(op: Compare, nodes: Sequence[Node]) -> tuple[bool, bool]:
    """Return whether the comparison can be true, and whether it can be false."""
    keys, queries = nodes[op.key].domain, nodes[op.query].domain
    if not isinstance(keys, Finite) or not isinstance(queries, Finite):
        return True, True
    if len(keys.values) * len(queries.values) > LARGEST_COMPARISON:
        return True, True
    verdicts = {compare(op.op, k, q) for k in keys.values for q in queries.values}
    return True in verdicts, False in verdicts
