"""Rows of selectors against their definition, entry by entry, with values that do not exist."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from handcraft.language.places import (
    Rows,
    all_of,
    any_of,
    chosen,
    compared,
    first_of,
    highest,
    last_of,
    members,
    none_of,
    spread,
)
from handcraft.language.values import COMPARISONS, Outcome, Undefined, compare

if TYPE_CHECKING:
    from collections.abc import Sequence

N = 5
CAUSAL = [(2 << i) - 1 for i in range(N)]
OPERATIONS = sorted(COMPARISONS)

Entry: TypeAlias = "bool | Undefined"

outcomes = st.lists(
    st.sampled_from([0, 1, True, 2, Fraction(1, 2), Undefined("a", "one"), Undefined("b", "two")]),
    min_size=N,
    max_size=N,
)


def entry(op: str, key: Outcome, query: Outcome) -> Entry:
    if isinstance(key, Undefined):
        return key
    return query if isinstance(query, Undefined) else compare(op, key, query)


def entries(rows: Rows) -> list[list[Entry]]:
    """Return what rows say of the keys that are seen."""
    return [
        [rows.reasons[i, j] if gap >> j & 1 else bool(row >> j & 1) for j in range(i + 1)]
        for i, (row, gap) in enumerate(zip(rows.selected, rows.gaps, strict=True))
    ]


def rows_of(op: str, keys: Sequence[Outcome], queries: Sequence[Outcome]) -> Rows:
    return compared(op, spread(keys), queries, CAUSAL)


rows = st.builds(rows_of, st.sampled_from(OPERATIONS), outcomes, outcomes)


@given(st.sampled_from(OPERATIONS), outcomes, outcomes)
def test_a_comparison_is_made_key_by_key(
    op: str, keys: list[Outcome], queries: list[Outcome]
) -> None:
    assert entries(rows_of(op, keys, queries)) == [
        [entry(op, keys[j], queries[i]) for j in range(i + 1)] for i in range(N)
    ]


@given(rows, rows)
def test_selectors_are_joined_entry_by_entry(one: Rows, other: Rows) -> None:
    pairs = [list(zip(*row, strict=True)) for row in zip(entries(one), entries(other), strict=True)]
    assert entries(all_of(one, other)) == [[b if a is True else a for a, b in row] for row in pairs]
    assert entries(any_of(one, other)) == [
        [b if a is False else a for a, b in row] for row in pairs
    ]
    assert entries(none_of(one, CAUSAL)) == [
        [a if isinstance(a, Undefined) else not a for a, _ in row] for row in pairs
    ]


@given(rows, outcomes)
def test_the_best_key_is_the_last_one_with_the_highest_score(
    inner: Rows, scores: list[Outcome]
) -> None:
    found = entries(chosen(inner, highest(spread(scores)), CAUSAL))
    for i, row in enumerate(entries(inner)):
        keys = [j for j, e in enumerate(row) if e is True]
        read = [*row, *(scores[j] for j in keys)]
        missing = [e for e in read if isinstance(e, Undefined)]
        if missing:
            assert found[i] == [missing[0]] * (i + 1)
        else:
            best = max(keys, key=lambda j: (scores[j], j), default=None)
            assert found[i] == [j == best for j in range(i + 1)]


def test_the_members_of_a_set_come_in_order() -> None:
    assert list(members(0b10110)) == [1, 2, 4]
    assert [first_of(0), last_of(0)] == [0, 0]
    assert [first_of(0b10110), last_of(0b10110)] == [0b10, 0b10000]
