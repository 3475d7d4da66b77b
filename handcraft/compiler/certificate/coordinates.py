"""Forms as vectors that are equal exactly where the forms are equal at every ordinary position.

What a form makes of the token is one number for each row of the embedding, and so is what it makes
of the position; all other directions count by their coefficients. Forms of the placed graph read
what its embeddings write, forms of purposes what embeddings wrote before any pass: as vectors they
can be compared, whatever basis a pass has chosen. The start direction is 0 there, and left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handcraft.compiler.certificate.symbols import SYMBOLS, symbols_of
from handcraft.compiler.forms import START

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.certificate.formats import Floats, Integers
    from handcraft.compiler.certificate.rows import Rows
    from handcraft.compiler.certificate.stream import Stream
    from handcraft.compiler.certificate.symbols import Symbol
    from handcraft.compiler.forms import Direction, Form
    from handcraft.compiler.graph import Graph

SAME = 2.0**-36
"""Vectors that differ by less than this part of their size are equal up to float64's rounding."""


class Vectors(NamedTuple):
    """Forms of the placed graph and forms of purposes, `[n, n_coordinate]` each."""

    placed: Floats
    meant: Floats


class Coordinates:
    """The coordinates of one graph.

    Args:
        graph: the graph.
        stream: numbers its directions; nothing but the embeddings has written yet.
    """

    def __init__(self, graph: Graph, stream: Stream) -> None:
        self._index = stream.index
        self._placed = {symbol.kind: symbol for symbol in stream.symbols}
        self._known: dict[Direction, int] = {}
        begins: dict[str, int] = {}
        for embedding in graph.meant:
            begins[embedding.variable] = len(stream.index) + 1 + len(self._known)
            for i in range(len(embedding.rows[0])):
                self._known[(embedding.variable, i)] = begins[embedding.variable] + i
        self._meant = {s.kind: s for s in symbols_of(graph.meant, begins)}
        size = len(stream.index) + 1 + len(self._known)
        self._free = np.ones(size, dtype=np.bool_)
        for symbol in (*self._placed.values(), *self._meant.values()):
            self._free[symbol.places] = False
        self._free[len(stream.index)] = False
        for start in (self._index.get(START), self._known.get(START)):
            if start is not None:
                self._free[start] = False
        self._column = np.zeros(size, dtype=np.int64)

    def is_same(self, placed: Form, meant: Form) -> bool:
        """Return whether a form reads only what operations write, and is the other one."""
        return placed == meant and not any(d in self._known for d, _ in placed.terms)

    def vectors(self, rows: Rows, forms: Sequence[Form | None]) -> Vectors:
        """Return rows over the stream and forms of purposes as vectors.

        A form that is None, or reads what does not exist, is no number in all its coordinates.
        """
        at, to, values, constants = self._terms(forms)
        read = np.concatenate((rows.index[self._free[rows.index]], to[self._free[to]]))
        local = np.flatnonzero(np.bincount(read, minlength=len(self._free)))
        self._column[local] = np.arange(len(local))
        last = rows.index == len(self._index)
        fixed = np.zeros(len(rows))
        fixed[rows.row[last]] = rows.exact[last]
        placed = self._dense(
            (len(rows), len(local)), (rows.row, rows.index, rows.exact), fixed, self._placed
        )
        meant = self._dense((len(forms), len(local)), (at, to, values), constants, self._meant)
        return Vectors(placed, meant)

    def parted(self, vector: Floats) -> tuple[Floats, Floats]:
        """Return what a form makes of each position, and its other coordinates but the constant."""
        n_row = len(self._meant["position"].table) if "position" in self._meant else 1
        others = vector[: len(vector) - n_row]
        return np.concatenate(([0.0], vector[len(others) : -1])), others

    def _terms(self, forms: Sequence[Form | None]) -> tuple[Integers, Integers, Floats, Floats]:
        """Return row, direction and coefficient of each term, and the constants."""
        at: list[int] = []
        to: list[int] = []
        values: list[float] = []
        constants = np.zeros(len(forms))
        for number, form in enumerate(forms):
            if form is None:
                constants[number] = np.nan
                continue
            constants[number] = float(form.constant)
            for d, c in form.terms:
                place = self._known.get(d)
                if place is None:
                    place = self._index.get(d)
                if place is None:
                    constants[number] = np.nan
                    continue
                at.append(number)
                to.append(place)
                values.append(float(c))
        integers = (np.array(at, dtype=np.int64), np.array(to, dtype=np.int64))
        return *integers, np.array(values), constants

    def _dense(
        self,
        shape: tuple[int, int],
        terms: tuple[Integers, Integers, Floats],
        constants: Floats,
        symbols: dict[str, Symbol],
    ) -> Floats:
        row, index, value = terms
        free = self._free[index]
        vectors = np.zeros(shape)
        vectors[row[free], self._column[index[free]]] = value[free]
        parts = [vectors]
        for kind in SYMBOLS:
            if kind not in self._meant:
                continue
            n_row = len(self._meant[kind].table)
            part = np.zeros((shape[0], n_row))
            if kind in symbols:
                part = symbols[kind].parts(shape[0], row, index, value)
            constants = constants + part[:, 0]
            parts.append(part[:, 1:] - part[:, :1])
        return np.hstack([*parts, constants[:, None]])


def drift(one: Floats, other: Floats) -> Floats | None:  # [n, n_coordinate] -> [n]
    """Return by how much vectors differ, None where that is more than rounding."""
    apart = np.abs(one - other).sum(axis=1)
    size = np.maximum(np.abs(one).sum(axis=1), np.abs(other).sum(axis=1))
    return apart if (apart <= SAME * size).all() else None
