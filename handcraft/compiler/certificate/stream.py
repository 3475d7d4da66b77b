"""The residual stream as bounds: where each direction can be, and how far it can be off.

Ordinary positions and the hidden start token are told apart: the start token's column is one
computation without input, known exactly. A one-hot variable has at most one 1, all else 0, so
sizes do not add up over its directions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.certificate.formats import (
    BEYOND,
    FINE,
    FORMATS,
    ROUNDOFF,
    TINY,
    Floats,
    Integers,
    Mask,
    fits,
    gamma,
    grid,
    held,
    outward,
    rounded,
)
from handcraft.compiler.certificate.readings import (
    SYMBOL,
    UNKNOWN,
    Read,
    Reading,
    Slip,
    Written,
)
from handcraft.compiler.certificate.rows import Rows, form_rows, is_power_of_two, parts
from handcraft.compiler.certificate.symbols import symbols_of
from handcraft.compiler.draft import NUMBER, SHARE
from handcraft.compiler.forms import Form, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handcraft.compiler.forms import Direction, Number
    from handcraft.compiler.graph import Graph


READ_MEAN = 3
"""Roundings that the mean costs a reader: its weight, the product with it, and one more sum."""


class Stream:
    """Bounds on all directions, tightened as operations write them.

    Attributes:
        index: the number of each direction; the one behind the last is the constant 1.
        symbols: the token and the position, with the directions that they alone decide.
        group: the number of each direction's variable, -1 of those that a symbol decides.
        onehot: which variables are one-hots.
        start: the exact values at the start token that are not 0.
        relative: how far directions can be off as a share of what they hold, `[n_format, n]`.
        floor: what comes on top of that share.
        slip: what a norm does to what is read; None without one.
        uneven: how far the sum of a row can be from what it should be, if each operation adds to
            one more direction what makes all its writes add up to 0, `[n_format, 1]`; without such
            a direction 0.
        spread: how far the sums of what tokens embed are from the middle of them all.
    """

    def __init__(self, graph: Graph) -> None:
        self.index: dict[Direction, int] = {}
        first: dict[str, int] = {}
        groups: list[int] = []
        onehot: list[bool] = []
        embedded = {embedding.variable for embedding in graph.embeddings}
        for number, variable in enumerate(graph.variables):
            first[variable.name] = len(self.index)
            for i in range(len(variable.labels)):
                self.index[(variable.name, i)] = len(self.index)
                groups.append(number)
            is_number = variable.labels in ((NUMBER,), (SHARE,))
            onehot.append(not is_number and variable.name not in embedded)
        size = len(self.index) + 1
        self._variable = np.array([*groups, len(graph.variables)], dtype=np.int64)
        self.onehot = np.array([*onehot, False], dtype=np.bool_)
        self.start: dict[Direction, Number] = {}
        self.low, self.high, self.wide = np.zeros(size), np.zeros(size), np.zeros(size)
        self.at_start = np.zeros(size)
        self.error = np.zeros((len(FORMATS), size))
        self.slip: Slip | None = None
        self.uneven = np.zeros((len(FORMATS), 1))
        self.relative = np.full((len(FORMATS), size), np.inf)
        self.floor = np.zeros((len(FORMATS), size))
        self.grid = np.full(size, FINE, dtype=np.int64)
        self.start_grid = np.full(size, FINE, dtype=np.int64)
        for array in (self.low, self.high, self.wide, self.at_start):
            array[-1] = 1
        self.grid[-1] = 0
        self.symbols = symbols_of(graph.embeddings, first)
        self.group = self._variable.copy()
        for symbol in self.symbols:
            self.group[symbol.places] = SYMBOL
        self._embed(graph, first)
        self.spread = _spread(graph)

    def _embed(self, graph: Graph, first: dict[str, int]) -> None:
        for embedding in graph.embeddings:
            table = np.array([[float(v) for v in row] for row in embedding.rows])
            place = slice(first[embedding.variable], first[embedding.variable] + table.shape[1])
            self.wide[place] = np.abs(table).max(axis=0)
            self.grid[place] = grid(table).min(axis=0)
            near = rounded(table.reshape(-1)).reshape(len(FORMATS), *table.shape)
            off = np.abs(near - table).max(axis=1)
            values = {v for row in embedding.rows for v in row}
            if any(Fraction(float(v)) != v for v in values):
                off = outward(off + self.wide[place] * 2.0**-52)
                self.grid[place] = UNKNOWN
            self.error[:, place] = outward(off)
            if embedding.by == "start":
                self._add_start({(embedding.variable, 0): embedding.rows[0][0]})
            else:
                self.low[place], self.high[place] = table.min(axis=0), table.max(axis=0)

    def _add_start(self, values: Mapping[Direction, Number]) -> None:
        """Add to the exact values at the start token."""
        for d, value in values.items():
            self.start[d] = whole(self.start.get(d, 0) + value)
            place = self.index[d]
            self.at_start[place] = float(self.start[d])
            exact = Fraction(self.at_start[place]) == self.start[d]
            self.start_grid[place] = grid(self.at_start[place]) if exact else UNKNOWN

    def largest(self) -> float:
        """Return the largest size that a direction can have, at least 1."""
        return float(np.maximum(np.abs(self.low), np.abs(self.high)).max())

    def form_at_start(self, form: Form) -> Number:
        """Return the exact value of a form at the start token."""
        known = self.start
        total = form.constant
        for d, c in form.terms:
            value = known.get(d)
            if value:
                total += c * value
        return total

    def exact_sizes(self) -> Floats:
        """Return how large what each direction holds can be, `[n]`."""
        ordinary = np.maximum(np.abs(self.low), np.abs(self.high))
        return np.maximum(ordinary, np.abs(self.at_start))

    def sizes(self) -> Floats:
        """Return how large what each direction holds can be, errors included, `[n_format, n]`."""
        return self.exact_sizes() + self.error

    def off(self, places: Integers) -> Floats:
        """Return how far directions can be off as they are read, `[n_format, n]`."""
        error = self.error[:, places]
        if self.slip is None:
            return error
        return outward(error + self.slip.share * self.sizes()[:, places] + self.slip.shift)

    def near(self, places: Integers, size: Floats) -> Floats:
        """Return how far directions can be off where they hold no more than a size.

        Args:
            places: the directions, `[n]`.
            size: of each, or of one in many cases, `[n_case]`.

        Returns:
            `[n_format, n_case]`, infinite where no share is known.
        """
        share, floor = self.relative[:, places], self.floor[:, places]
        if self.slip is not None:
            share = share + self.slip.share * (1 + share)
            floor = floor * (1 + self.slip.share) + self.slip.shift
        known = np.isfinite(share)
        return np.where(known, np.where(known, share, 0.0) * size + floor, np.inf)

    # Reading ---------------------------------------------------------------------------------

    def read_each(self, groups: Sequence[Sequence[Form]]) -> list[Read]:
        """Return what each group of forms reads; all are read at once, which is faster."""
        forms = [form for group in groups for form in group]
        if not forms:
            forms = [Form(())]
        rows = form_rows(forms, self.index)
        reading = self.read(rows)
        found = []
        first = 0
        for part in parts(rows, [len(group) for group in groups]):
            found.append(Read(part, reading.part(first, first + len(part))))
            first += len(part)
        return found

    def read(self, rows: Rows) -> Reading:
        """Return bounds on forms as the stream holds their directions."""
        at = rows.index
        free = self.group[at] != SYMBOL
        runs = _Runs(rows, self.group[at], free, self.onehot)
        exact = rows.exact[free]
        ends = (exact * self.low[at[free]], exact * self.high[at[free]])
        low = runs.sums(runs.extremes(np.minimum(*ends), np.minimum))
        high = runs.sums(runs.extremes(np.maximum(*ends), np.maximum))
        for symbol in self.symbols:
            part = symbol.values(rows, rows.exact)
            low, high = low + part.min(axis=1), high + part.max(axis=1)
        start = rows.sums(rows.exact * self.at_start[at])
        wide = rows.sums(np.abs(rows.exact) * np.maximum(self.wide[at], np.abs(self.at_start[at])))
        size = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.abs(start))
        mass, carried, rounding, grids = self._rounding(rows, runs, free)
        return Reading(
            low=low,
            high=high,
            start=start,
            size=outward(size),
            wide=outward(wide),
            error=held(outward(carried + rounding), mass),
            carried=outward(carried),
            mass=mass,
            grid=grids,
        )

    def _rounding(
        self, rows: Rows, runs: _Runs, free: Mask
    ) -> tuple[Floats, Floats, Floats, Integers]:
        """Return bounds on the terms, on what is carried, on rounding; and the grid."""
        at = rows.index
        weights = np.abs(rows.value)
        error = self.error[:, at]
        size = np.maximum(np.abs(self.low[at]), np.abs(self.high[at]))
        start = np.abs(self.at_start[at])
        is_read = rows.value != 0
        carried = rows.sums(weights * error)
        mass = runs.sums(runs.extremes((weights * size)[:, free], np.maximum))
        off = runs.sums(runs.extremes((rows.off * size)[:, free], np.maximum))
        off = off + rows.sums(np.where(free, 0.0, rows.off * size))
        alive = (is_read & ((size > 0) | (error > 0)))[:, free].astype(np.float64)
        sure = np.maximum.reduceat(error[:, free], runs.first, axis=-1) == 0
        counts = np.add.reduceat(alive, runs.first, axis=-1)
        count = runs.sums(np.where(sure, runs.extremes(alive, np.maximum), counts))
        for symbol in self.symbols:
            mass = mass + symbol.sizes(rows, rows.exact).max(axis=1) * (1 + 2 * ROUNDOFF)
            count = count + symbol.terms(rows, rows.exact != 0).max(axis=1)
        mass = outward(np.maximum(mass, rows.sums(weights * start)) + carried)
        if self.slip is not None:
            held = rows.sums(weights * (at < len(self.index)))
            carried = carried + self.slip.share * mass + self.slip.shift * held
            mass = outward(mass + self.slip.mean * held)
            count = rows.sums(is_read.astype(np.float64)) + READ_MEAN + np.zeros_like(count)
        off = np.maximum(off, rows.sums(rows.off * start))
        count = np.maximum(count, rows.sums((is_read & ((start > 0) | (error > 0))).astype(float)))
        ones = self.low[at] >= 0
        ones &= (self.high[at] <= 1) & (self.grid[at] == 0) & np.isin(self.at_start[at], (0.0, 1.0))
        ones &= self.slip is None
        plain = is_power_of_two(rows.value) | (ones & (error == 0))
        products = np.minimum.reduceat(plain | ~is_read, rows.first, axis=-1)
        roundings = np.maximum(count - 1, 0) + ~products
        rounding = np.where(roundings > 0, gamma(roundings) * mass + TINY * (count + 1), 0.0)
        mass = outward(mass + rows.sums(rows.off * np.maximum(size, start)))
        grids = np.where(is_read, rows.grid + self.grid[at], FINE)
        lowest = np.minimum.reduceat(grids, rows.first, axis=-1)
        is_exact = (carried == 0) & fits(mass, lowest)
        known = np.where(rows.exact == 0, FINE, np.where(rows.off[0] == 0, self.grid[at], UNKNOWN))
        known = np.where(
            known == UNKNOWN, UNKNOWN, known + np.where(known == FINE, 0, rows.grid[0])
        )
        on_grid = np.minimum.reduceat(known, rows.first)
        return mass, carried, off + np.where(is_exact, 0.0, rounding), on_grid

    # Writing ---------------------------------------------------------------------------------

    def add(self, written: Sequence[Written], start: Sequence[Mapping[Direction, Number]]) -> None:
        """Add what the operations of one sublayer write, and what they write at the start token."""
        if not written:
            return
        exact = self.exact_sizes()
        is_empty = exact == 0
        before = exact + self.error
        for values in start:
            self._add_start(values)
        size = len(self.low)
        times = np.zeros(size, dtype=np.int64)
        for w in written:
            times[w.target] += 1
        shape = (len(FORMATS), size)
        low, high, wide = np.zeros(size), np.zeros(size), np.zeros(size)
        final, carried, mass, count = (np.zeros(shape) for _ in range(4))
        relative, floor = np.full(shape, np.inf), np.zeros(shape)
        grids = np.full(size, FINE, dtype=np.int64)
        for w in written:
            low[w.target] += w.low
            high[w.target] += w.high
            wide[w.target] += w.wide
            final[:, w.target] += w.error
            carried[:, w.target] += w.carried
            mass[:, w.target] += w.mass
            count[:, w.target] += w.count
            relative[:, w.target], floor[:, w.target] = w.relative, w.floor
            grids[w.target] = np.minimum(grids[w.target], w.grid)
        several = times > 1
        summed = carried + gamma(count + 1) * mass + TINY * (count + 1)
        summed = np.where((carried == 0) & fits(mass, grids), 0.0, summed)
        error = np.where(several, summed, final)
        touched = times > 0
        is_new = before == 0
        total = before + mass + error
        grids = np.minimum(grids, self.grid)
        adding = np.where(is_new, 0.0, ROUNDOFF * total + TINY)
        adding = np.where((error == 0) & (self.error == 0) & fits(total, grids), 0.0, adding)
        after = held(outward(self.error + error + adding), total)
        left = self.error
        self.error = np.where(touched, after, self.error)
        sole = touched & ~several & is_empty
        once = np.where(is_new, 0.0, ROUNDOFF)
        relative = outward(relative * (1 + once) + once)
        floor = outward((floor + left) * (1 + once) + np.where(is_new, 0.0, TINY))
        relative = np.where(relative < BEYOND, relative, np.inf)
        self.relative = np.where(sole, relative, np.where(touched, np.inf, self.relative))
        self.floor = np.where(sole, floor, np.where(touched, 0.0, self.floor))
        onehot = self.onehot[self._variable] & touched
        self.low = np.where(onehot, 0.0, self.low + low)
        self.high = np.where(onehot, 1.0, self.high + high)
        self.wide = self.wide + wide
        self.symbols = [symbol.without(touched) for symbol in self.symbols]
        self.group = np.where(touched, self._variable, self.group)
        grids = np.where(onehot, np.minimum(0, self.start_grid), grids)
        self.grid = np.where(touched, grids, self.grid)


def _spread(graph: Graph) -> float:
    """Return half the distance of the sums that rows of the embedding by token have."""
    sums: list[Number] = []
    for by in ("token", "start"):
        tables = [embedding.rows for embedding in graph.embeddings if embedding.by == by]
        sums += [sum(map(sum, rows)) for rows in zip(*tables, strict=True)]
    return float(max(sums) - min(sums)) / 2 if sums else 0.0


class _Runs:
    """Terms of one variable in one row, next to each other: of a one-hot at most one counts."""

    def __init__(self, rows: Rows, group: Integers, free: Mask, onehot: Mask) -> None:
        row, group = rows.row[free], group[free]
        new_row = np.concatenate(([True], row[1:] != row[:-1]))
        new = new_row | np.concatenate(([True], group[1:] != group[:-1]))
        self.first = np.flatnonzero(new)
        self._rows = np.flatnonzero(new_row[self.first])
        self._onehot = onehot[group[self.first]]

    def extremes(self, terms: Floats, extreme: np.ufunc) -> Floats:
        """Return the sum of each run, of a one-hot the extreme of its terms and 0."""
        total = np.add.reduceat(terms, self.first, axis=-1)
        most = extreme(extreme.reduceat(terms, self.first, axis=-1), 0.0)
        bounds: Floats = np.where(self._onehot, most, total)
        return bounds

    def sums(self, runs: Floats) -> Floats:
        """Add up the runs of each row."""
        total: Floats = np.add.reduceat(runs, self._rows, axis=-1)
        return total
