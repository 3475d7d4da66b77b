"""MLP operations, case by case over what they read.

A neuron that is surely active is affine, one that is surely inactive adds nothing, and one that is
neither is off by no more than what it reads, since a ReLU never enlarges a difference.

Where neurons read one number (`Scan`), the cases are the places where that number can be; errors
of it reach a result times the slope there, which is 0 where a step is flat. Otherwise the cases
are the values of the one-hot variables that are read, one by one or jointly, up to a cap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from handcraft.compiler.certificate import scans
from handcraft.compiler.certificate.cases import Cases, Outputs
from handcraft.compiler.certificate.formats import (
    FINE,
    FORMATS,
    Floats,
    Mask,
)
from handcraft.compiler.certificate.intents import Stray, stray
from handcraft.compiler.certificate.readings import (
    SYMBOL,
    UNKNOWN,
    Read,
    Reading,
    Written,
    constants,
)
from handcraft.compiler.certificate.rows import Rows, rows_of
from handcraft.errors import ProgramError

if TYPE_CHECKING:
    from handcraft.compiler.certificate.activations import Smooth
    from handcraft.compiler.certificate.coordinates import Coordinates
    from handcraft.compiler.certificate.stream import Stream
    from handcraft.compiler.forms import Direction, Number
    from handcraft.compiler.graph import MlpOp

MOST_CELLS = 2**18
"""Cases times terms that are looked at; with more, one-hot variables are left out of the cases."""

MOST_SCANNED = 2**23
"""The same where one number is read: a proof of so many takes ten seconds, and two gigabytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """What an operation does.

    Attributes:
        written: what it adds to the stream.
        start: what it adds at the start token.
        margins: of steps, how many of the largest errors fit between a place where their number
            can be and the nearest ramp, `[n_format]`; None of other functions.
        is_meant: whether it is what the operation is for.
    """

    written: Written
    start: dict[Direction, Number]
    margins: Floats | None
    is_meant: bool


def computed(
    op: MlpOp, given: Read, stream: Stream, plane: Coordinates, smooth: Smooth | None = None
) -> Computed:
    """Return what an operation adds to the stream.

    Args:
        op: the operation.
        given: what its neurons read.
        stream: the stream before it.
        plane: compares it with what it is for.
        smooth: its neurons, where they are no ReLUs.

    Raises:
        ProgramError: `too-large` where a number has too many values to look at each.
    """
    added = _at_start(op, stream)
    if not op.neurons:
        is_meant = stray(op, None, None, stream, plane) is not None
        return Computed(constants(op.bias, stream.index), added, None, is_meant)
    outputs = _outputs(op, stream)
    pre, read = given
    affine = None if op.scan is None else scans.affine_in(op, op.scan)
    if op.scan is None or affine is None:
        cases = _cases(op, pre, read, stream)
    else:
        _check_size(op, len(op.scan.pieces), len(outputs.rows.index))
        cases = scans.cases_of(op.scan, affine, pre, read, stream)
    written = cases.written(outputs, outputs.targets, smooth)
    found = stray(op, pre, affine, stream, plane)
    if found is not None and (found.output or found.pre.any()):
        written = _strayed(written, found, outputs, stream)
    return Computed(written, added, cases.margins(), found is not None)


def _check_size(op: MlpOp, n_piece: int, n_term: int) -> None:
    if n_piece * n_term > MOST_SCANNED:
        message = f"`{op.name}` tells {n_piece} values apart by {len(op.neurons)} neurons"
        help_ = "use a smaller context, or a number with fewer values: `round(...)`, `... // n`"
        raise ProgramError("too-large", f"{message}, too many to prove", op.span, help=help_)


def _strayed(written: Written, found: Stray, outputs: Outputs, stream: Stream) -> Written:
    """Return what is written, as far from what is meant as it can be."""
    rows = outputs.rows
    off = rows.sums(np.abs(rows.exact) * (found.pre * stream.largest())[rows.index]) + found.output
    return replace(written, error=written.error + off, carried=written.carried + off)


def _outputs(op: MlpOp, stream: Stream) -> Outputs:
    terms: dict[int, list[tuple[int, Number]]] = {}
    for number, neuron in enumerate(op.neurons):
        for d, c in neuron.writes:
            terms.setdefault(stream.index[d], []).append((number, c))
    constants = {stream.index[d]: value for d, value in op.bias}
    targets = sorted({*terms, *constants})
    nothing = [(0, Fraction(0))]
    rows = rows_of([terms.get(t, nothing) for t in targets])
    bias = rows_of([[(0, constants.get(t, Fraction(0)))] for t in targets])
    return Outputs(targets, rows, bias)


def _at_start(op: MlpOp, stream: Stream) -> dict[Direction, Number]:
    added: dict[Direction, Number] = dict(op.bias)
    for neuron in op.neurons:
        activation = stream.form_at_start(neuron.pre)
        if activation > 0:
            for d, c in neuron.writes:
                added[d] = added.get(d, 0) + activation * c
    return {d: value for d, value in added.items() if value}


# One-hot variables ---------------------------------------------------------------------------


def _cases(op: MlpOp, pre: Rows, read: Reading, stream: Stream) -> Cases:
    """Return the cases of one-hot variables, jointly as far as the cap allows, and the start."""
    n_term = sum(len(neuron.writes) for neuron in op.neurons)
    group = stream.group[pre.index]
    varying = (group != SYMBOL) & stream.onehot[group] & (pre.index < len(stream.index))
    varying &= pre.exact != 0
    targets = [stream.index[d] for neuron in op.neurons for d, _ in neuron.writes]
    is_plain = (read.error == 0).all() and (stream.group[targets] != SYMBOL).all()
    looks = not (is_plain and stream.onehot[stream.group[targets]].all())
    tables = [symbol.values(pre, pre.exact).T for symbol in stream.symbols]
    read_here = [np.isin(pre.index, symbol.places) for symbol in stream.symbols]
    for g in sorted(set(group[varying].tolist())):
        read_here.append(varying & (group == g))
        tables.append(_table(pre, read_here[-1], len(op.neurons)))
    rest = np.ones(len(pre.index))
    chosen: list[Floats] = []
    n_case = 1
    for number in sorted(range(len(tables)), key=lambda number: len(tables[number])):
        n_more = len(tables[number])
        if looks and read_here[number].any() and n_case * n_more * n_term <= MOST_CELLS:
            chosen.append(tables[number])
            n_case *= n_more
            rest[read_here[number]] = 0
    low, high = read.low[None, :].copy(), read.high[None, :].copy()
    if chosen:
        partial = stream.read(_weighted(pre, rest))
        low, high = partial.low[None, :], partial.high[None, :]
        for table in chosen:
            low = (low[:, None, :] + table).reshape(-1, low.shape[-1])
            high = (high[:, None, :] + table).reshape(-1, high.shape[-1])
    if stream.start:
        low, high = np.vstack((low, read.start)), np.vstack((high, read.start))
    shape = (len(FORMATS), *low.shape)
    slack = np.broadcast_to(read.error[:, None, :], shape)
    grids = np.where((read.error == 0), read.grid, UNKNOWN)
    return Cases(low, high, slack, slack, np.broadcast_to(grids[:, None, :], shape), read.wide)


def _table(pre: Rows, terms: Mask, n_neuron: int) -> Floats:
    """Return what each value of a variable adds to each neuron; the first row is no value."""
    places = sorted(set(pre.index[terms].tolist()))
    number = {place: i + 1 for i, place in enumerate(places)}
    table = np.zeros((len(places) + 1, n_neuron))
    rows = [number[i] for i in pre.index[terms].tolist()]
    table[rows, pre.row[terms]] = pre.exact[terms]
    return table


def _weighted(rows: Rows, factor: Floats) -> Rows:
    return Rows(
        rows.first,
        rows.row,
        rows.index,
        rows.exact * factor,
        rows.value * factor,
        rows.off * factor,
        np.where(factor == 0, FINE, rows.grid),
    )
