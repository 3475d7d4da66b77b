"""Selectors that are no conjunction of tables: one table over tuples of the variables they read.

Only the part of a selector that needs it becomes such a table. Tuples of a key that the same
queries select are one class, as are tuples of a query that select the same keys: what matters of
a token and a count may be no more than the count, or that the token is `a`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from operator import or_
from typing import TYPE_CHECKING

from handcraft.compiler.selection import TooManyTermsError
from handcraft.errors import ProgramError
from handcraft.language.domain_rules import LARGEST_TABLE
from handcraft.language.typed import AllOf, AnyOf, Compare, NoneOf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from handcraft.compiler.selection import Carrier, Rows, Selection, Term


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A selector that has to hold, or must not."""

    selector: int
    holds: bool


@dataclass(frozen=True, slots=True)
class Side:
    """What a table reads at keys, or at queries.

    Attributes:
        carriers: the variables; the last varies fastest in their tuples.
        classes: the class of each tuple, numbered as they appear. One variable alone is not put
            into classes: each of its values is one.
    """

    carriers: tuple[Carrier, ...]
    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Joint:
    """A selector as one table: for each class of queries the classes of keys, as bits."""

    keys: Side
    queries: Side
    rows: Rows


def conjuncts(selection: Selection, selector: int, *, holds: bool = True) -> Iterator[Conjunct]:
    """Yield the parts that all hold where a selector holds, or where it does not."""
    match selection.program.nodes[selector].op, holds:
        case (AllOf(left, right), True) | (AnyOf(left, right), False):
            yield from conjuncts(selection, left, holds=holds)
            yield from conjuncts(selection, right, holds=holds)
        case NoneOf(operand), _:
            yield from conjuncts(selection, operand, holds=not holds)
        case _:
            yield Conjunct(selector, holds)


def terms_of(selection: Selection, part: Conjunct) -> list[Term] | None:
    """Return a part as disjoint conjunctions, None where they are too many."""
    try:
        terms = selection.terms(part.selector)
        return terms if part.holds else selection.negated(terms)
    except TooManyTermsError:
        return None


def joint_table(selection: Selection, part: Conjunct) -> Joint:
    """Return a part of a selector as one table.

    Raises:
        ProgramError: where the table has more than `LARGEST_TABLE` cells.
    """
    literals = dict(_literals(selection, part.selector))
    pairs = [pair for term in literals.values() for pair in term]
    keys = tuple(sorted({key for key, _ in pairs if key is not None}))
    queries = tuple(sorted({query for _, query in pairs if query is not None}))
    widths = [prod(selection.size(c) for c in side) for side in (keys, queries)]
    if widths[0] * widths[1] > LARGEST_TABLE:
        span = selection.program.nodes[part.selector].span
        message = f"this selector needs a table of {widths[0]} keys and {widths[1]} queries"
        help_ = "use a smaller context or vocabulary, or fewer s-ops in one selector"
        raise ProgramError("domain-too-large", message, span, help=help_)
    tuples = list(product(*(range(selection.size(c)) for c in keys)))
    holding = {
        (carrier, value): sum(1 << t for t, row in enumerate(tuples) if row[place] == value)
        for place, carrier in enumerate(keys)
        for value in range(selection.size(carrier))
    }
    everything = (1 << len(tuples)) - 1
    rows = []
    for values in product(*(range(selection.size(c)) for c in queries)):
        at = dict(zip(queries, values, strict=True))
        found: dict[int, int] = {}
        for number, term in literals.items():
            row = everything
            for (key, query), table in term.items():
                bits = table[0 if query is None else at[query]]
                if key is None:
                    row &= everything if bits else 0
                else:
                    held = (holding[key, v] for v in range(selection.size(key)) if bits >> v & 1)
                    row &= reduce(or_, held, 0)
            found[number] = row
        row = _row_of(selection, part.selector, found, everything)
        rows.append(row if part.holds else everything & ~row)
    return _in_classes(keys, queries, rows, len(tuples))


def _in_classes(
    keys: tuple[Carrier, ...], queries: tuple[Carrier, ...], rows: Sequence[int], n_keys: int
) -> Joint:
    """Return a table over tuples with those that it does not tell apart as one."""
    columns = [sum(1 << i for i, row in enumerate(rows) if row >> j & 1) for j in range(n_keys)]
    of_keys = _classes(columns) if len(keys) != 1 else tuple(range(n_keys))
    of_queries = _classes(rows) if len(queries) != 1 else tuple(range(len(rows)))
    first = {c: j for j, c in reversed(list(enumerate(of_keys)))}
    one = {c: row for row, c in zip(reversed(rows), reversed(of_queries), strict=True)}
    joined = tuple(
        sum(1 << c for c, j in first.items() if one[k] >> j & 1) for k in range(len(one))
    )
    return Joint(Side(keys, of_keys), Side(queries, of_queries), joined)


def _classes(rows: Sequence[int]) -> tuple[int, ...]:
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(row, len(numbers)) for row in rows)


def _literals(selection: Selection, selector: int) -> Iterator[tuple[int, Term]]:
    """Yield the parts of a selector that are single conjunctions, with their numbers."""
    op = selection.program.nodes[selector].op
    match op:
        case AllOf(left, right) | AnyOf(left, right):
            yield from _literals(selection, left)
            yield from _literals(selection, right)
        case NoneOf(operand):
            yield from _literals(selection, operand)
        case Compare():
            yield selector, selection.literal(selector, op)
        case _:
            yield selector, selection.terms(selector)[0]


def _row_of(selection: Selection, selector: int, found: Mapping[int, int], everything: int) -> int:
    op = selection.program.nodes[selector].op
    match op:
        case AllOf(left, right) | AnyOf(left, right):
            one, other = (_row_of(selection, s, found, everything) for s in (left, right))
            return one & other if isinstance(op, AllOf) else one | other
        case NoneOf(operand):
            return everything & ~_row_of(selection, operand, found, everything)
        case _:
            return found[selector]
