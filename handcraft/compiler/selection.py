"""A selector as a sum of disjoint conjunctions, each of one table for a key and query variable.

In one head scores add up, so a conjunction of tables is one head: a pair scores one unit for each
table that holds it, and exactly the selected pairs score all of them. A disjunction has no such
form, but disjoint conjunctions can be counted by one head each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from handcraft.errors import ProgramError
from handcraft.language.domains import Finite
from handcraft.language.sequences import SOURCE, TARGET
from handcraft.language.typed import (
    AllOf,
    AnyOf,
    Best,
    Compare,
    First,
    Full,
    Indices,
    Latest,
    NoneOf,
    TypedProgram,
)
from handcraft.language.values import COMPARISONS, Outcome, Undefined

MOST_TERMS = 64

MOST_CELLS = 2**24
"""Pairs of values that one comparison may tell apart."""

POSITIONS = -1
"""The node number of the positions in a program without `indices`."""

SOURCE_POSITIONS = -2
"""The node number of the source's positions in a program without `source.indices`."""


@dataclass(frozen=True, slots=True, order=True)
class Carrier:
    """A one-hot variable that a selector reads.

    The values of an s-op, or the position of the one key that a selector takes, or none.
    """

    kind: str
    node: int


SOP = "sop"
PLACE = "place"

Pair: TypeAlias = tuple[Carrier | None, Carrier | None]
"""A key and a query variable; None where only the other one matters."""

Rows: TypeAlias = tuple[int, ...]
"""For each query value the set of key values that it selects, as bits."""

Term: TypeAlias = Mapping[Pair, Rows]
"""A conjunction: every pair's table holds."""


class TooManyTermsError(Exception):
    """The selector has no short form as a sum of conjunctions."""


class Selection:
    """Writes selectors of one program as disjoint conjunctions.

    Attributes:
        program: the program.
        position: the variable of positions, whether or not the program has `indices`.
        places: the variable of each sequence's positions.
        base: the leaf that an s-op is a free function of, and its value for each of the leaf's
            values; the s-op itself where it is no such function.
    """

    def __init__(
        self,
        program: TypedProgram,
        base: Callable[[int], tuple[int | None, Sequence[Outcome]]],
    ) -> None:
        self.program = program
        self.base = base
        known = {node.op: n for n, node in enumerate(program.nodes)}
        self.position = Carrier(SOP, known.get(Indices(TARGET), POSITIONS))
        source = Carrier(SOP, known.get(Indices(SOURCE), SOURCE_POSITIONS))
        self.places = {TARGET: self.position, SOURCE: source}
        self._positional: dict[int, tuple[int, ...] | None] = {}

    def terms(self, selector: int) -> list[Term]:
        """Return disjoint conjunctions whose union is the selector.

        Raises:
            TooManyTermsError: where they are more than `MOST_TERMS`.
        """
        op = self.program.nodes[selector].op
        match op:
            case Full():
                return [{}]
            case Compare():
                return self.simplified([self.literal(selector, op)])
            case AllOf(left, right):
                return self._both(self.terms(left), self.terms(right))
            case AnyOf(left, right):
                one, other = self.terms(left), self.terms(right)
                united = self._united(one, other)
                if united is not None:
                    return united
                return self.simplified([*one, *self._both(self.negated(one), other)])
            case NoneOf(operand):
                return self.negated(self.terms(operand))
            case Best() | First() | Latest():
                place = Carrier(PLACE, selector)
                taken = tuple(1 << i for i in range(self.n_keys(selector)))
                return [{(self.places[self.keys(selector)], place): (*taken, 0)}]
            case _:
                raise AssertionError(f"{op} is no selector")

    def widths_by_position(self, selector: int) -> tuple[int, ...] | None:
        """Return how many keys are selected at each position, if that depends on nothing else."""
        if selector not in self._positional:
            self._positional[selector] = self._count_by_position(selector)
        return self._positional[selector]

    def _count_by_position(self, selector: int) -> tuple[int, ...] | None:
        node = self.program.nodes[selector]
        if not self.program.causal or (node.sequence, node.keys) != (TARGET, TARGET):
            return None
        try:
            terms = self.terms(selector)
        except TooManyTermsError:
            return None
        position = self.position
        if any(side not in (None, position) for term in terms for pair in term for side in pair):
            return None
        widths = []
        for i in range(self.program.context):
            width = 0
            for term in terms:
                keys = (1 << (i + 1)) - 1
                for (key, query), rows in term.items():
                    row = rows[0 if query is None else i]
                    keys &= row if key is not None else (-1 if row else 0)
                width += keys.bit_count()
            widths.append(width)
        return tuple(widths)

    def size(self, carrier: Carrier | None) -> int:
        """Return the number of values of a variable."""
        if carrier is None:
            return 1
        if carrier.kind == PLACE:
            return self.n_keys(carrier.node) + 1
        if carrier.node in (POSITIONS, SOURCE_POSITIONS):
            sequence = TARGET if carrier.node == POSITIONS else SOURCE
            return self.program.header.extent(sequence).context
        domain = self.program.nodes[carrier.node].domain
        assert isinstance(domain, Finite)
        return len(domain.values)

    def keys(self, selector: int) -> str:
        """Return the sequence of a selector's keys."""
        keys = self.program.nodes[selector].keys
        assert keys is not None
        return keys

    def n_keys(self, selector: int) -> int:
        """Return how many keys there are at most."""
        return self.program.header.extent(self.keys(selector)).context

    def literal(self, selector: int, op: Compare) -> Term:
        """Return a comparison as the table of its key and query variable.

        Raises:
            ProgramError: `too-large`.
        """
        key_base, keys = self.base(op.key)
        query_base, queries = self.base(op.query)
        if len(keys) * len(queries) > MOST_CELLS:
            message = f"this selector compares {len(keys)} values with {len(queries)}"
            help_ = "use a smaller context or vocabulary"
            raise ProgramError("too-large", message, self.program.nodes[selector].span, help=help_)
        pair = (
            None if key_base is None else Carrier(SOP, key_base),
            None if query_base is None else Carrier(SOP, query_base),
        )
        return {pair: _rows(op.op, keys, queries)}

    def _both(self, left: Sequence[Term], right: Sequence[Term]) -> list[Term]:
        if len(left) * len(right) > MOST_TERMS * MOST_TERMS:
            raise TooManyTermsError
        return self.simplified([conjunction(a, b) for a in left for b in right])

    def _united(self, left: Sequence[Term], right: Sequence[Term]) -> list[Term] | None:
        """Return the union of two tables over one pair as one table."""
        pairs = {pair for term in (*left, *right) for pair in term}
        if len(left) != 1 or len(right) != 1 or len(pairs) != 1:
            return None
        (pair,) = pairs
        if pair not in left[0] or pair not in right[0]:
            return None
        rows = tuple(a | b for a, b in zip(left[0][pair], right[0][pair], strict=True))
        return self.simplified([{pair: rows}])

    def negated(self, terms: Sequence[Term]) -> list[Term]:
        """Return the complement: of A1 and A2 ... it is not A1, or A1 and not A2, or ..."""
        result: list[Term] = [{}]
        for term in terms:
            pieces: list[Term] = []
            held: dict[Pair, Rows] = {}
            for pair, rows in term.items():
                everything = (1 << self.size(pair[0])) - 1
                pieces.append({**held, pair: tuple(everything & ~row for row in rows)})
                held[pair] = rows
            result = self._both(result, self.simplified(pieces))
        return result

    def simplified(self, terms: Sequence[Term]) -> list[Term]:
        """Drop empty terms, and tables that hold everything that can be seen."""
        kept: list[Term] = []
        for term in terms:
            seen = {pair: self.visible(pair, rows) for pair, rows in term.items()}
            if any(not any(rows) for rows in seen.values()):
                continue
            kept.append(self._folded({p: r for p, r in term.items() if not self._is_full(p, r)}))
        if len(kept) > MOST_TERMS:
            raise TooManyTermsError
        return kept

    def _folded(self, term: dict[Pair, Rows]) -> Term:
        """Put a table of one variable into a table of that variable and another."""
        folded = dict(term)
        for pair in [p for p in term if None in p and p != (None, None)]:
            for other in [p for p in folded if None not in p]:
                key, query = pair
                if key is not None and key == other[0]:
                    folded[other] = tuple(row & term[pair][0] for row in folded[other])
                    del folded[pair]
                    break
                if query is not None and query == other[1]:
                    everything = (1 << self.size(other[0])) - 1
                    folded[other] = tuple(
                        row & (everything if mine else 0)
                        for row, mine in zip(folded[other], term[pair], strict=True)
                    )
                    del folded[pair]
                    break
        return folded

    def _is_full(self, pair: Pair, rows: Rows) -> bool:
        everything = (1 << self.size(pair[0])) - 1
        return self.visible(pair, rows) == self.visible(pair, (everything,) * len(rows))

    def visible(self, pair: Pair, rows: Rows) -> Rows:
        """Return a table without the pairs that the causal mask hides."""
        position = self.position
        if not self.program.causal or pair != (position, position):
            return rows
        return tuple(row & ((1 << (i + 1)) - 1) for i, row in enumerate(rows))


def conjunction(left: Term, right: Term) -> Term:
    """Return what both conjunctions ask for."""
    joined = dict(left)
    for pair, rows in right.items():
        mine = joined.get(pair)
        joined[pair] = (
            rows if mine is None else tuple(a & b for a, b in zip(mine, rows, strict=True))
        )
    return joined


def _rows(op: str, keys: Sequence[Outcome], queries: Sequence[Outcome]) -> Rows:
    """Return the keys that each query value selects; what has no value selects nothing."""
    holds = COMPARISONS[op]
    bits = [(key, 1 << j) for j, key in enumerate(keys) if not isinstance(key, Undefined)]
    return tuple(
        0 if isinstance(query, Undefined) else sum([bit for key, bit in bits if holds(key, query)])
        for query in queries
    )
