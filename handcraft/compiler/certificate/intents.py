"""MLP operations against what they are for: the neurons as they stand, the program's own tables.

Neurons are compared as functions of what they read, boxes then cell by cell, curves piece by piece.
A difference that float64's rounding may explain counts as an error of the operation; with any
other the operation is not what it is for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from handcraft.compiler.certificate.coordinates import drift
from handcraft.compiler.certificate.rows import form_rows, is_float
from handcraft.compiler.purposes import Boxes, Curve, Gates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from handcraft.compiler.certificate.coordinates import Coordinates
    from handcraft.compiler.certificate.formats import Floats, Integers
    from handcraft.compiler.certificate.rows import Rows
    from handcraft.compiler.certificate.scans import Affine
    from handcraft.compiler.certificate.stream import Stream
    from handcraft.compiler.forms import Direction, Number
    from handcraft.compiler.graph import MlpOp, Scan, Writes
    from handcraft.compiler.purposes import Purpose, Result

Added: TypeAlias = "Mapping[Direction, Number]"
"""What is added to the stream, without zeros."""

NOBODY = -1
"""The neuron of a cell in which none is on."""

SEVERAL = -2
"""The neuron of a cell in which more than one is on."""


class Stray(NamedTuple):
    """How far an operation can be from what it is for.

    Attributes:
        pre: of each pre-activation, per unit of the largest number that is read, `[n_neuron]`.
        output: of each direction that is written.
    """

    pre: Floats
    output: float = 0.0


def stray(
    op: MlpOp, pre: Rows | None, affine: Affine | None, stream: Stream, plane: Coordinates
) -> Stray | None:
    """Return how far an operation can be from what it is for; None if it does something else.

    Args:
        op: the operation.
        pre: what its neurons read; None without neurons.
        affine: the same as functions of the number that is scanned.
        stream: numbers the directions.
        plane: compares forms.
    """
    purpose = op.purpose
    if purpose is None:
        return None
    match purpose.function:
        case Curve():
            return _curve(op, purpose, purpose.function, affine, stream, plane)
        case Boxes():
            return _inside(_boxes(op, purpose, purpose.function, pre, plane))
        case Gates():
            return _inside(_gates(op, purpose, purpose.function, pre, plane))


def _inside(pre: Floats | None) -> Stray | None:
    return None if pre is None else Stray(pre)


def is_clearing(op: MlpOp) -> bool:
    """Return whether every neuron of an operation takes away nothing but what it reads."""
    return not op.bias and all(
        len(n.pre.terms) == 1
        and n.pre.constant == 0
        and abs(n.pre.terms[0][1]) == 1
        and n.writes == ((n.pre.terms[0][0], -n.pre.terms[0][1]),)
        for n in op.neurons
    )


# Gates ---------------------------------------------------------------------------------------


def _gates(
    op: MlpOp, purpose: Purpose, gates: Gates, pre: Rows | None, plane: Coordinates
) -> Floats | None:
    if len(op.neurons) != len(gates.gates) or dict(op.bias) != _added(purpose, purpose.bias):
        return None
    for neuron, gate in zip(op.neurons, gates.gates, strict=True):
        if dict(neuron.writes) != _added(purpose, gate.result, always=False):
            return None
        if gate.conditions and gate.closed < gate.most:
            return None
    if pre is None:
        return np.zeros(0)
    counts = [len(gate.conditions) for gate in gates.gates]
    closed = np.array([float(gate.closed) for gate in gates.gates])
    values = [gate.value for gate in gates.gates]
    conditions = [c for gate in gates.gates for c in gate.conditions]
    vectors = plane.vectors(pre, [*values, *conditions])
    expected = vectors.meant[: len(values)].copy()
    owner = np.repeat(np.arange(len(values)), counts)
    np.add.at(expected, owner, vectors.meant[len(values) :] * closed[owner, None])
    expected[:, -1] -= closed * counts
    return drift(vectors.placed, expected)


# Boxes ---------------------------------------------------------------------------------------


def _boxes(
    op: MlpOp, purpose: Purpose, table: Boxes, pre: Rows | None, plane: Coordinates
) -> Floats | None:
    if len(op.neurons) != len(table.boxes):
        return None
    owners = _owners(table)
    cells = np.array([-1 if c is None else c for c in table.cells])
    asked = cells >= 0
    base = len(table.results) + 1
    pairs = [divmod(pair, base) for pair in np.unique(owners[asked] * base + cells[asked]).tolist()]
    results = [_added(purpose, result) for result in table.results]
    bias = dict(op.bias)
    for owner, kind in pairs:
        if owner == SEVERAL:
            return None
        writes = op.neurons[owner].writes if owner != NOBODY else ()
        if _sum(bias, writes) != results[kind]:
            return None
    return np.zeros(0) if pre is None else _insides(table, pre, plane)


def _owners(table: Boxes) -> Integers:
    """Return the number of the neuron whose box holds each cell."""
    sizes = tuple(len(variable) for variable in table.variables)
    owners = np.full(sizes, NOBODY)
    singles = [i for i, box in enumerate(table.boxes) if all(len(values) == 1 for values in box)]
    places = np.array([[values[0] for values in table.boxes[i]] for i in singles], dtype=np.int64)
    flat = places.reshape(len(singles), len(sizes)) @ np.array(
        [int(np.prod(sizes[i + 1 :])) for i in range(len(sizes))], dtype=np.int64
    )
    seen = owners.reshape(-1)
    seen[flat] = singles
    seen[np.bincount(flat, minlength=len(seen)) > 1] = SEVERAL
    for i in sorted(set(range(len(table.boxes))) - set(singles)):
        place = np.ix_(*table.boxes[i])
        owners[place] = np.where(owners[place] == NOBODY, i, SEVERAL)
    return owners.reshape(-1)


def _insides(table: Boxes, pre: Rows, plane: Coordinates) -> Floats | None:
    """Return how far neurons are from twice the number of forms that hold, minus what that lacks.

    That is 1 inside of a box, and at most -1 outside.
    """
    forms = [form for variable in table.variables for form in variable]
    vectors = plane.vectors(pre, forms)
    known = np.array([form is not None for form in forms])
    held = np.zeros((len(table.boxes), len(forms)))
    depends = np.zeros(len(table.boxes))
    first = 0
    for v, variable in enumerate(table.variables):
        for i, box in enumerate(table.boxes):
            if len(box[v]) < len(variable):
                held[i, [first + value for value in box[v]]] = 2
                depends[i] += 1
        first += len(variable)
    if held[:, ~known].any():
        return None
    expected = held[:, known] @ vectors.meant[known]
    expected[:, -1] += 1 - 2 * depends
    return drift(vectors.placed, expected)


# Curves --------------------------------------------------------------------------------------


def _curve(
    op: MlpOp,
    purpose: Purpose,
    curve: Curve,
    affine: Affine | None,
    stream: Stream,
    plane: Coordinates,
) -> Stray | None:
    results = [_added(purpose, result) for result in curve.results]
    if not op.neurons:
        steady = all(dict(op.bias) == result for result in results)
        return Stray(np.zeros(0)) if steady else None
    if affine is None or op.scan is None:
        return None
    moved = 0.0
    if curve.x is None or not plane.is_same(op.scan.form, curve.x):
        read = plane.vectors(form_rows([op.scan.form], stream.index), [curve.x])
        found = drift(read.placed, read.meant)
        if found is None:
            return None
        moved = float(found[0])
    if len(op.scan.pieces) != len(results):
        return None
    off = _deviation(op, op.scan, affine, results)
    return None if off is None else Stray(np.abs(affine.slope) * moved, off)


def _deviation(op: MlpOp, scan: Scan, affine: Affine, results: Sequence[Added]) -> float | None:
    """Return how far the neurons' sum may be from the results.

    None if a neuron bends within a piece, or the sum is something else.
    """
    places: dict[Direction, int] = {}
    for d, _ in (*op.bias, *(w for n in op.neurons for w in n.writes)):
        places.setdefault(d, len(places))
    weights = np.zeros((len(op.neurons), len(places)))
    for number, neuron in enumerate(op.neurons):
        for d, c in neuron.writes:
            weights[number, places[d]] = float(c)
    bias = np.zeros(len(places))
    for d, c in op.bias:
        bias[places[d]] = float(c)
    wanted = np.zeros((len(results), len(places)))
    for number, result in enumerate(results):
        for d, c in result.items():
            if d not in places:
                return None
            wanted[number, places[d]] = float(c)
    ends = np.array([[float(a), float(b)] for a, b in scan.pieces])
    size = np.abs(ends).max(axis=1)[:, None] * np.abs(affine.slope) + np.abs(affine.constant)
    doubt = size * 2.0**-50
    pres = [ends[:, i : i + 1] * affine.slope + affine.constant for i in (0, 1)]
    left, right = (np.where(np.abs(pre) <= doubt, 0.0, pre) for pre in pres)
    if (left * right < 0).any():
        return None
    active = ((left > 0) | (right > 0)).astype(np.float64)
    steep, high = weights * affine.slope[:, None], weights * affine.constant[:, None]
    slope, level = active @ steep, active @ high + bias
    rough = active * (size + doubt) @ np.abs(weights) + np.abs(bias) + np.abs(wanted)
    rough = rough * (len(op.neurons) + 8) * 2.0**-50
    sums = max(np.abs(steep).sum(), np.abs(high).sum() + np.abs(bias).max() + np.abs(wanted).max())
    flat = (slope == 0) & _is_exact(op, affine, results, float(sums))
    off = np.zeros_like(wanted)
    for end in (ends[:, :1], ends[:, 1:]):
        off = np.maximum(off, np.abs(slope * end + level - wanted))
    if (off > np.where(flat, 0.0, rough)).any():
        return None
    return float(np.where(flat, 0.0, off + rough).max(initial=0.0))


def _is_exact(op: MlpOp, affine: Affine, results: Sequence[Added], size: float) -> bool:
    """Return whether float64 adds up slopes and constants of a curve without rounding.

    All terms are multiples of one power of two, and no sum, of this size at most, is 2^53 times
    as large.
    """
    added = [c for adds in (dict(op.bias), *results) for c in adds.values()]
    weights = [c for n in op.neurons for _, c in n.writes]
    if not affine.is_exact or not all(map(is_float, (*added, *weights))):
        return False
    unit = max((c.denominator for c in weights), default=1) * affine.bottom
    unit = max(unit, *(c.denominator for c in added), 1)
    return unit.bit_length() <= 53 and size * unit < 2.0**53


# What is added -------------------------------------------------------------------------------


def _added(purpose: Purpose, result: Result, *, always: bool = True) -> dict[Direction, Number]:
    """Return what a result adds to the stream."""
    parts = ((value, purpose.outputs[k]) for k, value in result)
    base: Writes = purpose.always if always else ()
    total: dict[Direction, Number] = dict(base)
    for value, writes in parts:
        for d, c in writes:
            total[d] = total.get(d, 0) + value * c
    return {d: c for d, c in total.items() if c}


def _sum(bias: Added, writes: Iterable[tuple[Direction, Number]]) -> dict[Direction, Number]:
    total = dict(bias)
    for d, c in writes:
        total[d] = total.get(d, 0) + c
    return {d: c for d, c in total.items() if c}
