"""The outcomes of all positions at once: functions, tables, sums and means of columns."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from math import lcm
from typing import TYPE_CHECKING

from handcraft.language.places import Places, Spread, lowest, members
from handcraft.language.values import Outcome, Undefined, Value, apply, cut, normal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_KEPT = 1 << 15
"""Results of element-wise functions, and means, that are kept for later inputs."""


def applied(function: str, columns: Sequence[Sequence[Outcome]]) -> list[Outcome]:
    """Return an element-wise function of columns.

    A reason is made anew, and not one that is kept: each place has its own.
    """
    outcomes = list(map(partial(_kept, function), *columns))
    for i, outcome in enumerate(outcomes):
        if isinstance(outcome, Undefined):
            outcomes[i] = apply(function, [column[i] for column in columns])
    return outcomes


@lru_cache(MOST_KEPT, typed=True)  # typed: `str(True)` is not `str(1)`
def _kept(function: str, *arguments: Outcome) -> Outcome:
    return apply(function, arguments)


def picked(
    keys: Sequence[Outcome], values: tuple[Value, ...], options: Sequence[Sequence[Outcome]]
) -> list[Outcome]:
    """Return at each position the option of the first value that equals the key."""
    numbers = dict(zip(reversed(values), reversed(range(len(values))), strict=True))
    outcomes: list[Outcome] = []
    for i, key in enumerate(keys):
        if isinstance(key, Undefined):
            outcomes.append(key)
        elif key in numbers:
            outcomes.append(options[numbers[key]][i])
        else:
            message = f"the table has no entry for {cut(key)}"
            outcomes.append(Undefined("missing-key", message))
    return outcomes


def sums_of(rows: Sequence[Places], values: Sequence[Outcome]) -> tuple[Mapping[Places, int], int]:
    """Return the sum of the numbers in each row, in parts of 1 / scale, and the scale.

    The sum of a row is that of the row before, with what came and without what went.
    """
    scale = lcm(*(value.denominator for value in values if isinstance(value, Fraction)))
    numbers = [0 if isinstance(v, str | Undefined) else int(v * scale) for v in values]
    sums = {0: 0}
    total = before = 0
    for row in rows:
        if row not in sums:
            total += sum(numbers[j] for j in members(row & ~before))
            total -= sum(numbers[j] for j in members(before & ~row))
            sums[row] = total
            before = row
    return sums, scale


@lru_cache(MOST_KEPT)
def ratio(total: int, parts: int) -> Value:
    """Return a quotient of whole numbers."""
    return normal(Fraction(total, parts))


def only(row: Places, values: Spread) -> Outcome:
    """Return the one value that the places of a row have, of which not all are numbers."""
    value = values.outcomes[lowest(row)]
    assert not isinstance(value, Undefined)
    alike = values.booleans if isinstance(value, bool) else ~values.booleans
    others = row & ~(values.by_value[value] & alike)
    if not others:
        return value
    different = values.outcomes[lowest(others)]
    assert not isinstance(different, Undefined)
    message = f"different values are selected, {cut(value)} and {cut(different)}"
    return Undefined("several-selected", message)
