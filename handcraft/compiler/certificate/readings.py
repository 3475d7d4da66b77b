"""What is read from a residual stream, and what is added to it: the records of the certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handcraft.compiler.certificate.formats import FINE, Floats, Integers
from handcraft.compiler.certificate.rows import Rows, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.compiler.forms import Direction
    from handcraft.compiler.graph import Writes

UNKNOWN = -FINE
"""The grid of a number that is on no grid that we know."""

SYMBOL = -1
"""The group of directions that a symbol decides."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What rows read from the stream; of arrays without `n_format` the format does not matter.

    Attributes:
        low: least exact value at an ordinary position, `[n_row]`.
        high: largest.
        start: exact value at the start token.
        size: largest absolute exact value, anywhere.
        wide: the same where the program has no meaning.
        error: how far the computed value can be from the exact one, `[n_format, n_row]`.
        carried: the part of it that what is read was off already.
        mass: a bound on the sum of the absolute values of the terms.
        grid: of the exact values.
    """

    low: Floats
    high: Floats
    start: Floats
    size: Floats
    wide: Floats
    error: Floats
    carried: Floats
    mass: Floats
    grid: Integers

    def part(self, first: int, last: int) -> Reading:
        """Return what some of the rows read."""
        here = slice(first, last)
        return Reading(
            self.low[here],
            self.high[here],
            self.start[here],
            self.size[here],
            self.wide[here],
            self.error[:, here],
            self.carried[:, here],
            self.mass[:, here],
            self.grid[here],
        )


class Read(NamedTuple):
    """Forms as rows, and what they read."""

    rows: Rows
    reading: Reading


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What an operation adds to directions `target`, `[n]` or `[n_format, n]`.

    `error` is the whole bound if nothing else adds to the direction in the same sublayer; otherwise
    `carried` counts, and the rounding of a sum of `count` terms of size `mass`. A bound that may be
    better is `relative` times what is there, plus `floor`.
    """

    target: Integers
    low: Floats
    high: Floats
    wide: Floats
    error: Floats
    carried: Floats
    mass: Floats
    count: Floats
    grid: Integers
    relative: Floats
    floor: Floats


def constants(bias: Writes, index: Mapping[Direction, int]) -> Written:
    """Return what is added everywhere."""
    rows = rows_of([[(0, value)] for _, value in bias])
    return Written(
        target=np.array([index[d] for d, _ in bias], dtype=np.int64),
        low=rows.exact,
        high=rows.exact,
        wide=np.abs(rows.exact),
        error=rows.off,
        carried=rows.off,
        mass=np.abs(rows.value),
        count=np.ones_like(rows.off),
        grid=np.where(rows.off[0] == 0, rows.grid[0], UNKNOWN),
        relative=np.full_like(rows.off, np.inf),
        floor=np.zeros_like(rows.off),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Slip:
    """How far a norm can move a direction, for each format `[n_format, 1]`.

    Attributes:
        share: a share of what the direction holds.
        shift: whatever it holds.
        mean: how large the mean of a row can be, as it is computed.
    """

    share: Floats
    shift: Floats
    mean: Floats
