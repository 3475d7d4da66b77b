"""Sets of positions: where an s-op has which value on one input, and what its queries select.

A set is an integer whose bit j stands for position j, so that a row of a selector is made, joined
and counted in one step. Rows hold only keys that the query sees.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING, Any, TypeAlias

from handcraft.language.values import Outcome, Undefined, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Places: TypeAlias = int
"""A set of positions."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Where an s-op has which value.

    Attributes:
        outcomes: the outcome at each position.
        by_value: the places of each value; `True` and `1` are one value.
        booleans: the places of booleans.
        strings: the places of strings.
        undefined: the places without a value.
    """

    outcomes: Sequence[Outcome]
    by_value: Mapping[Value, Places]
    booleans: Places
    strings: Places
    undefined: Places


@dataclass(frozen=True, slots=True)
class Rows:
    """A selector, the causal mask applied.

    Attributes:
        selected: for each query the keys that it selects.
        gaps: for each query the keys, none of them selected, of which that cannot be said.
        reasons: why not, by query and key.
    """

    selected: Sequence[Places]
    gaps: Sequence[Places]
    reasons: Mapping[tuple[int, int], Undefined]

    def gap(self, i: int) -> Undefined:
        """Return the first reason in a row that has gaps."""
        return self.reasons[i, lowest(self.gaps[i])]


def lowest(places: Places) -> int:
    """Return the first place of a set that is not empty."""
    return (places & -places).bit_length() - 1


def last_of(places: Places) -> Places:
    """Return the set of the last place alone; of nothing, nothing."""
    return 1 << places.bit_length() >> 1


def first_of(places: Places) -> Places:
    """Return the set of the first place alone; of nothing, nothing."""
    return places & -places


def members(places: Places) -> Iterator[int]:
    """Yield the places of a set in order."""
    while places:
        yield lowest(places)
        places &= places - 1


def spread(outcomes: Sequence[Outcome]) -> Spread:
    """Return where an s-op with these outcomes has which value."""
    by_value: dict[Value, Places] = {}
    booleans = strings = undefined = 0
    place = 1
    for outcome in outcomes:
        if isinstance(outcome, Undefined):
            undefined |= place
        else:
            by_value[outcome] = by_value.get(outcome, 0) | place
            if isinstance(outcome, bool):
                booleans |= place
            elif isinstance(outcome, str):
                strings |= place
        place <<= 1
    return Spread(outcomes, by_value, booleans, strings, undefined)


def compared(op: str, keys: Spread, queries: Sequence[Outcome], seen: Sequence[Places]) -> Rows:
    """Return the selector that takes the keys k with `k op q`; `seen` are those a query sees."""
    matches = _matches(op, keys.by_value)
    known: dict[Value, Places] = {}
    selected: list[Places] = []
    gaps: list[Places] = []
    reasons: dict[tuple[int, int], Undefined] = {}
    for i, (query, row) in enumerate(zip(queries, seen, strict=True)):
        if isinstance(query, Undefined):
            selected.append(0)
            gaps.append(row)
            reasons |= dict.fromkeys(((i, j) for j in members(row)), query)
        else:
            if query not in known:
                known[query] = matches(query)
            selected.append(known[query] & row)
            gaps.append(keys.undefined & row)
        for j in members(keys.undefined & row):
            reason = keys.outcomes[j]
            assert isinstance(reason, Undefined)
            reasons[i, j] = reason
    return Rows(selected, gaps, reasons)


def _matches(op: str, by_value: Mapping[Value, Places]) -> Callable[[Value], Places]:
    """Return what a query value selects among keys: those below it, or those up to it, or not."""
    every = reduce(or_, by_value.values(), 0)
    if op == "==":
        return lambda query: by_value.get(query, 0)
    if op == "!=":
        return lambda query: every & ~by_value.get(query, 0)
    ordered: list[Any] = sorted(by_value)
    below = [0, *accumulate((by_value[value] for value in ordered), or_)]
    bisect = bisect_left if op in ("<", ">=") else bisect_right
    if op in ("<", "<="):
        return lambda query: below[bisect(ordered, query)]
    return lambda query: every & ~below[bisect(ordered, query)]


def all_of(one: Rows, other: Rows) -> Rows:
    """Return what both select; what the first does not select leaves the second unread."""
    parts = list(zip(one.selected, one.gaps, other.selected, other.gaps, strict=True))
    return Rows(
        [a & b for a, _, b, _ in parts],
        [a_gap | a & b_gap for a, a_gap, _, b_gap in parts],
        {**other.reasons, **one.reasons},
    )


def any_of(one: Rows, other: Rows) -> Rows:
    """Return what either selects; what the first selects leaves the second unread."""
    parts = list(zip(one.selected, one.gaps, other.selected, other.gaps, strict=True))
    return Rows(
        [a | b & ~a_gap for a, a_gap, b, _ in parts],
        [a_gap | b_gap & ~a for a, a_gap, _, b_gap in parts],
        {**other.reasons, **one.reasons},
    )


def none_of(rows: Rows, seen: Sequence[Places]) -> Rows:
    """Return what a selector does not select of what is seen."""
    parts = zip(rows.selected, rows.gaps, seen, strict=True)
    return Rows([every & ~(a | gap) for a, gap, every in parts], rows.gaps, rows.reasons)


def for_each(rows: Rows, n: int) -> Rows:
    """Return a selector of one query for so many that ask alike."""
    reasons = {(i, j): reason for (_, j), reason in rows.reasons.items() for i in range(n)}
    return Rows(list(rows.selected) * n, list(rows.gaps) * n, reasons)


def chosen(
    rows: Rows, choose: Callable[[Places], Places | Undefined], seen: Sequence[Places]
) -> Rows:
    """Return the selector of what is chosen from each row: nothing can be said without a choice."""
    selected: list[Places] = []
    gaps: list[Places] = []
    reasons: dict[tuple[int, int], Undefined] = {}
    for i, row in enumerate(rows.selected):
        choice = rows.gap(i) if rows.gaps[i] else choose(row)
        if isinstance(choice, Undefined):
            selected.append(0)
            gaps.append(seen[i])
            reasons |= dict.fromkeys(((i, j) for j in members(seen[i])), choice)
        else:
            selected.append(choice)
            gaps.append(0)
    return Rows(selected, gaps, reasons)


def highest(scores: Spread) -> Callable[[Places], Places | Undefined]:
    """Return the choice of the last of the places with the highest score."""
    ordered: list[Any] = sorted(scores.by_value, reverse=True)
    falling = [scores.by_value[score] for score in ordered]

    def choose(row: Places) -> Places | Undefined:
        if row & scores.undefined:
            return reason_at(scores, row)
        return last_of(next((row & places for places in falling if row & places), 0))

    return choose


def reason_at(values: Spread, row: Places) -> Undefined:
    """Return why the first place of a row that has no value has none."""
    reason = values.outcomes[lowest(row & values.undefined)]
    assert isinstance(reason, Undefined)
    return reason
