"""What neurons add up to, in the worst of the cases that were looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.certificate.formats import (
    BEYOND,
    FINE,
    FORMATS,
    TINY,
    Floats,
    Integers,
    Mask,
    fits,
    gamma,
    grid,
    held,
    outward,
)
from handcraft.compiler.certificate.readings import UNKNOWN, Written
from handcraft.compiler.certificate.rows import Rows, is_power_of_two

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.certificate.activations import Smooth


class Outputs:
    """The writes of an operation, sorted by direction: terms over neurons, and the bias."""

    def __init__(self, targets: Sequence[int], rows: Rows, bias: Rows) -> None:
        self.targets = np.array(targets, dtype=np.int64)
        self.rows = rows
        self.bias = bias


class Cases:
    """Bounds on each neuron in each case: `[n_case, n_neuron]`, with `n_format` before for errors.

    Attributes:
        low: least exact pre-activation.
        high: largest.
        slack: how far a computed pre-activation can be off, rounding and carried errors together.
        rounding: the part of it that is rounding.
        slope: of the pre-activation in the number that is scanned, `[n_neuron]`; None without one.
        off: how far that number can be off, `[n_format, n_case]`.
        grids: of computed pre-activations, `[n_format, n_case, n_neuron]`.
    """

    def __init__(
        self,
        low: Floats,
        high: Floats,
        slack: Floats,
        rounding: Floats,
        grids: Integers,
        wide: Floats,
        slope: Floats | None = None,
        off: Floats | None = None,
    ) -> None:
        self.low, self.high, self.slack, self.rounding = low, high, slack, rounding
        self.grids, self.wide, self.slope, self.off = grids, wide, slope, off
        self.levels: Integers | None = None

    def margins(self) -> Floats | None:
        """Return how many slacks fit between a pre-activation and 0, where none can be 0."""
        if self.slope is None or ((self.low <= 0) & (self.high >= 0)).any():
            return None
        near = np.minimum(np.abs(self.low), np.abs(self.high))
        most = near / np.maximum(self.slack, near / BEYOND)
        margins: Floats = most.min(axis=(1, 2))
        return margins

    def written(self, outputs: Outputs, targets: Integers, smooth: Smooth | None = None) -> Written:
        """Return what neurons add up to, in the worst case.

        Args:
            outputs: what each neuron adds where.
            targets: the directions.
            smooth: the neurons, where they are no ReLUs.
        """
        rows, bias = outputs.rows, outputs.bias
        at, value = rows.index, rows.value[:, None, :]
        size = np.abs(value)
        post_low, post_high = np.maximum(self.low, 0)[:, at], np.maximum(self.high, 0)[:, at]
        up, down = np.maximum(rows.exact, 0), np.minimum(rows.exact, 0)
        low = rows.sums(up * post_low + down * post_high) + bias.exact
        high = rows.sums(up * post_high + down * post_low) + bias.exact
        bend = None if smooth is None else smooth.off(self.low, self.high, self.slack)
        alive = (self.high + self.slack > 0)[:, :, at] & (value != 0)
        added = alive if bend is None else np.broadcast_to(value != 0, alive.shape)
        count = rows.sums(added.astype(np.float64))
        off = rows.sums(np.where(alive, rows.off[:, None, :] * post_high, 0.0))
        if self.slope is None:
            slack = self.slack[:, :, at]
            carried = rows.sums(np.where(alive, size * slack, 0.0))
        else:
            assert self.off is not None
            carried, low, high = self._scanned(outputs, alive, low, high)
        top = post_high + self.slack[:, :, at]
        if bend is not None:
            carried = carried + rows.sums(size * bend[:, :, at])
            top = top + bend[:, :, at]
        mass = rows.sums(size * np.where(alive, top, 0.0 if bend is None else bend[:, :, at]))
        bias_size = np.abs(bias.value)[:, None, :]
        has_bias = (bias_size > 0).astype(np.float64)
        mass = outward(mass + bias_size)
        carried = outward(carried + off + bias.off[:, None, :])
        inexact = ~(is_power_of_two(value) | ~alive)
        roundings = np.maximum(count + has_bias - 1, 0)
        roundings = roundings + np.maximum.reduceat(inexact, rows.first, axis=-1)
        rounding = np.where(
            roundings > 0, gamma_all(roundings) * mass + TINY[:, None] * (count + 2), 0
        )
        term_grid = np.where(alive, rows.grid[:, None, :] + self.grids[:, :, at], FINE)
        lowest = np.minimum.reduceat(term_grid, rows.first, axis=-1)
        total = np.where(count + has_bias <= 2, np.maximum(np.abs(low), np.abs(high)), mass)
        largest_term = np.maximum.reduceat(np.where(alive, size * top, 0.0), rows.first, axis=-1)
        total = np.maximum(np.maximum(total + carried, largest_term), bias_size)
        lowest = np.where(has_bias > 0, np.minimum(lowest, bias.grid[:, None, :]), lowest)
        fit = fits_all(total, lowest) & (bend is None)
        error = carried + np.where(fit, 0.0, rounding)
        sure = (error == 0).all(axis=1)
        exact_grid = np.where(rows.off[0] == 0, rows.grid[0], UNKNOWN)
        on_grid = self._grid(outputs, exact_grid)
        worst = error.max(axis=1)
        return Written(
            target=targets,
            low=low.min(axis=0),
            high=high.max(axis=0),
            wide=outward(rows.sums(np.abs(rows.exact) * self.wide[at]) + np.abs(bias.exact)),
            error=held(outward(np.where(sure, 0.0, worst)), mass.max(axis=1)),
            carried=outward(carried.max(axis=1)),
            mass=mass.max(axis=1),
            count=(count + has_bias).max(axis=1),
            grid=on_grid,
            relative=np.full_like(worst, np.inf),
            floor=np.zeros_like(worst),
        )

    def _scanned(
        self, outputs: Outputs, alive: Mask, low: Floats, high: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return what errors of the number that is scanned do, and tighter bounds on the result.

        Surely active neurons are summed as one affine function of that number.
        """
        assert self.slope is not None
        assert self.off is not None
        rows = outputs.rows
        at, value = rows.index, rows.value[:, None, :]
        active = (self.low - self.slack > 0)[:, :, at]
        sure = np.where(active, np.abs(value) * self.rounding[:, :, at], 0.0)
        unsure = np.where(alive & ~active, np.abs(value) * self.slack[:, :, at], 0.0)
        exact = rows.exact * self.slope[at]
        slope = rows.sums(np.where(active, exact, 0.0))
        doubt = rows.sums(np.where(active, np.abs(exact), 0.0))
        slope = np.where(slope == 0, 0.0, np.abs(slope) + doubt * len(exact) * 2.0**-53)
        carried = rows.sums(sure + unsure) + slope * self.off[:, :, None]
        return carried, *self._affine(outputs, low, high)

    def _affine(self, outputs: Outputs, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return tighter bounds on results that are affine over a whole piece, by their ends."""
        assert self.slope is not None
        rows, bias = outputs.rows, outputs.bias
        at = rows.index
        decided = ((self.low >= 0) | (self.high <= 0))[:, at]
        known = np.minimum.reduceat(decided, rows.first, axis=-1)
        rising = self.slope >= 0
        ends, grids = [], []
        for pre in (
            np.where(rising, self.low, self.high),
            np.where(rising, self.high, self.low),
        ):
            terms = rows.exact * np.maximum(pre, 0)[:, at]
            value = rows.sums(terms) + bias.exact
            spread = (rows.sums(np.abs(terms)) + np.abs(bias.exact)) * len(at) * 2.0**-52
            near = np.rint(value * 2.0**20) * 2.0**-20
            settled = np.abs(near - value) <= spread
            ends.append((np.where(settled, near, value - spread), settled, spread))
            grids.append(np.where(settled, grid(near), UNKNOWN))
        (left, left_settled, left_spread), (right, right_settled, right_spread) = ends
        least = np.minimum(left, right)
        most = np.maximum(
            left + np.where(left_settled, 0.0, 2 * left_spread),
            right + np.where(right_settled, 0.0, 2 * right_spread),
        )
        levels = np.where(known & (left == right), np.minimum(*grids), UNKNOWN)
        self.levels = levels.min(axis=0)
        return (
            np.where(known, np.maximum(low, least), low),
            np.where(known, np.minimum(high, most), high),
        )

    def _grid(self, outputs: Outputs, weights: Integers) -> Integers:
        """Return the grid of the exact results."""
        rows, bias = outputs.rows, outputs.bias
        pre = np.where((self.high > 0), self.grids[0], FINE).min(axis=0)
        terms = np.where(
            (weights == UNKNOWN) | (pre[rows.index] <= UNKNOWN // 2),
            UNKNOWN,
            weights + pre[rows.index],
        )
        lowest = np.minimum.reduceat(terms, rows.first)
        constants = np.where(bias.off[0] == 0, bias.grid[0], UNKNOWN)
        found = np.minimum(lowest, constants)
        return found if self.levels is None else np.maximum(found, self.levels)


def gamma_all(count: Floats) -> Floats:
    """Return `gamma` of counts `[n_format, n_case, n]`."""
    flat = gamma(count.reshape(len(FORMATS), -1))
    return flat.reshape(count.shape)


def fits_all(size: Floats, grids: Integers) -> Mask:
    """Return `fits` of sizes and grids `[n_format, n_case, n]`."""
    shape = np.broadcast_shapes(size.shape, grids.shape)
    flat = fits(
        np.broadcast_to(size, shape).reshape(len(FORMATS), -1),
        np.broadcast_to(grids, shape).reshape(len(FORMATS), -1),
    )
    return flat.reshape(shape)
