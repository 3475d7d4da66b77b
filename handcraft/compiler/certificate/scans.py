"""Neurons that read one number: cases are the places where it can be.

Errors of the number reach a result times the slope there, which is 0 where a step is flat. At
ordinary positions the start direction is exactly 0, so a form may read it beside the number.
Behind a norm readers subtract the mean too: nothing is exact then, and the mean is rounded with
the rest.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handcraft.compiler.certificate.cases import Cases, fits_all
from handcraft.compiler.certificate.formats import (
    DIGITS,
    TINY,
    Floats,
    Integers,
    Mask,
    gamma,
    outward,
)
from handcraft.compiler.certificate.readings import UNKNOWN, Reading
from handcraft.compiler.certificate.rows import Rows, is_float, is_power_of_two
from handcraft.compiler.certificate.stream import READ_MEAN
from handcraft.compiler.forms import START, Form, whole

if TYPE_CHECKING:
    from handcraft.compiler.certificate.stream import Stream
    from handcraft.compiler.graph import MlpOp, Scan


class Affine(NamedTuple):
    """Pre-activations: `slope * number + constant`, at the start token `+ start`; `[n_neuron]`.

    `is_exact`: none of them is rounded here, and all are multiples of one over `bottom`.
    """

    slope: Floats
    constant: Floats
    start: Floats
    is_exact: bool
    bottom: int


def affine_in(op: MlpOp, scan: Scan) -> Affine | None:
    """Return neurons as affine functions of the number; None where one reads more."""
    terms = {d: c for d, c in scan.form.terms if d != START}
    if not terms:
        return None
    lead, unit = next(iter(terms.items()))
    rows = []
    for neuron in op.neurons:
        read = dict(neuron.pre.terms)
        start = read.pop(START, 0)
        slope = read.get(lead, 0)
        if unit != 1:
            slope = whole(Fraction(slope) / unit)
        if len(read) != len(terms) * bool(slope):
            return None
        if len(read) > 1 and any(c != slope * terms.get(d, 0) for d, c in read.items()):
            return None
        constant = neuron.pre.constant
        if scan.form.constant:
            constant = constant - slope * scan.form.constant
        rows.append((slope, constant, start))
    slopes, constants, starts = np.array([[float(v) for v in row] for row in rows]).T
    is_exact = all(is_float(v) for row in rows for v in row)
    bottom = max((v.denominator for row in rows for v in row), default=1)
    return Affine(slopes, constants, starts, is_exact, bottom)


def cases_of(scan: Scan, affine: Affine, pre: Rows, read: Reading, stream: Stream) -> Cases:
    """Return the cases of a number: its intervals, and its value at the start token."""
    form = Form(tuple((d, c) for d, c in scan.form.terms if d != START), scan.form.constant)
    pieces = [(float(a), float(b)) for a, b in scan.pieces]
    if stream.start:
        pieces.append((float(stream.form_at_start(form)),) * 2)
    ends = np.array(pieces)
    at_start = np.zeros((len(ends), 1), dtype=np.bool_)
    at_start[-1] = bool(stream.start)
    low, high, doubt = _pre(ends, affine, at_start)
    places = np.array([stream.index[d] for d in form.directions])
    weights = np.array([abs(float(c)) for _, c in form.terms])
    off = (stream.off(places) * weights).sum(axis=1)[:, None] * np.ones(len(ends))
    constants = np.abs(pre.exact[_last(pre)])
    is_alone = len(places) == 1
    mean = np.zeros((len(off), 1)) if stream.slip is None else stream.slip.mean
    if is_alone:
        inner = np.abs(ends - float(form.constant)).max(axis=1)
        off = np.minimum(off, stream.near(places, inner / weights) * weights)
        size = inner[None, :, None] * np.abs(affine.slope)
    else:
        size = (read.mass - constants)[:, None, :]
    off = outward(off)
    moved = off[:, :, None] * np.abs(affine.slope)
    mass = size + moved + constants + np.where(at_start, np.abs(affine.start), 0.0)
    mass = mass + mean[:, :, None] * (np.abs(affine.slope) * weights.sum() + np.abs(affine.start))
    terms = len(places) + 4 + (0 if stream.slip is None else READ_MEAN)
    rounding = gamma(terms)[:, :, None] * mass + TINY[:, :, None] * terms
    rounding = np.minimum(rounding, outward(read.error - read.carried)[:, None, :])
    exact = np.broadcast_to((read.error == read.carried)[:, None, :], rounding.shape)
    known_grids = np.where(read.error == 0, read.grid, UNKNOWN)
    grids = np.broadcast_to(known_grids[:, None, :], rounding.shape)
    if is_alone and stream.slip is None:
        bit_exact, bit_grid = _bits(
            ends, off, form, int(places[0]), pre, np.maximum(-low, high) + moved
        )
        bit_exact = bit_exact & ~(at_start & (affine.start != 0))
        grids = np.where(bit_exact, np.maximum(grids, bit_grid), grids)
        exact = exact | bit_exact
    rounding = np.where(exact, 0.0, rounding)
    slack = outward(moved + rounding) + np.where(moved + rounding > 0, doubt, 0.0)
    return Cases(low, high, slack, rounding, grids, read.wide, affine.slope, off)


def _pre(ends: Floats, affine: Affine, at_start: Mask) -> tuple[Floats, Floats, Floats]:
    """Return the least and the largest exact pre-activation, and the rounding of these numbers.

    What is 0 up to that rounding is 0: a knot.
    """
    constant = affine.constant + np.where(at_start, affine.start, 0.0)
    left, right = (ends[:, i : i + 1] * affine.slope + constant for i in (0, 1))
    largest = np.abs(ends).max(axis=1, keepdims=True)
    doubt = (largest * np.abs(affine.slope) + np.abs(affine.constant)) * 2.0**-50
    doubt = doubt + np.where(at_start, np.abs(affine.start), 0.0) * 2.0**-50
    left, right = (np.where(np.abs(end) <= doubt, 0.0, end) for end in (left, right))
    return np.minimum(left, right), np.maximum(left, right), doubt


def _bits(
    ends: Floats, off: Floats, form: Form, place: int, pre: Rows, largest: Floats
) -> tuple[Mask, Integers]:
    """Return where one direction times a coefficient, plus a constant, is exact; and its grid.

    A number of at least 2^m in size is a multiple of 2^(m - digits + 1), whatever its error.
    """
    coefficient = float(form.terms[0][1])
    inner = (ends - float(form.constant)) / coefficient
    nearest = np.where(inner[:, 0] * inner[:, 1] > 0, np.abs(inner).min(axis=1), 0.0)
    surely = nearest - 2 * off / abs(coefficient)
    exponent = np.frexp(np.where(surely > 0, surely, 1.0))[1] - 1
    grids = np.where(surely > 0, exponent - DIGITS + 1, UNKNOWN)[:, :, None]
    last = _last(pre)
    lead = last.copy()
    read = np.flatnonzero(pre.index == place)
    lead[pre.row[read]] = read
    by_weight = pre.grid[:, None, lead] + grids
    summed = np.minimum(by_weight, pre.grid[:, None, last])
    product = (
        np.abs(pre.value)[:, None, lead]
        * (np.abs(inner).max(axis=1) + off / abs(coefficient))[:, :, None]
    )
    plain = is_power_of_two(pre.value)[:, None, lead] | fits_all(product, by_weight)
    known = (pre.off[:, lead] == 0) & (pre.off[:, last] == 0)
    exact: Mask = plain & fits_all(largest, summed) & known[:, None, :] & (grids > UNKNOWN)
    return exact, summed


def _last(rows: Rows) -> Integers:
    """Return the place of each row's last term."""
    return np.concatenate((rows.first[1:], [len(rows.index)])) - 1
