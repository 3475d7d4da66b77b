"""What the embeddings write, as functions of one symbol: the token, or the position.

Directions that one symbol decides are not free to vary on their own: a form's part over them has
one value for each row of the embedding, and all of those are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handcraft.compiler.certificate.formats import Floats, Integers, Mask
    from handcraft.compiler.certificate.rows import Rows
    from handcraft.compiler.graph import Embedding

SYMBOLS = ("token", "position")


class Symbol:
    """All directions that one kind of embedding writes.

    Attributes:
        kind: which embedding.
        places: the numbers of the directions, `[n]`.
        table: their values, `[n_row, n]`.
    """

    def __init__(self, kind: str, places: Integers, table: Floats) -> None:
        self.kind = kind
        self.places = places
        self.table = table
        self._column = np.full(places.max(initial=-1) + 2, -1)  # the last stands for all beyond
        self._column[places] = np.arange(len(places))

    def without(self, touched: Mask) -> Symbol:
        """Return the symbol without directions that operations have written."""
        kept = ~touched[self.places]
        if kept.all():
            return self
        return Symbol(self.kind, self.places[kept], self.table[:, kept])

    def parts(self, n_row: int, row: Integers, index: Integers, value: Floats) -> Floats:
        """Return the parts of rows over the symbol's directions, for each of its states.

        Args:
            n_row: how many rows.
            row: of each term, `[n_term]`.
            index: its direction.
            value: its coefficient.
        """
        part: Floats = self._spread(n_row, row, index, value) @ self.table.T
        return part

    def weights(self, rows: Rows, coefficients: Floats) -> Floats:  # [n_term] -> [n_row, n]
        """Return the coefficients of the symbol's directions in each row."""
        return self._spread(len(rows), rows.row, rows.index, coefficients)

    def values(self, rows: Rows, coefficients: Floats) -> Floats:  # [n_term] -> [n_row, n_state]
        """Return the part of each row over the symbol's directions, for each of its states."""
        part: Floats = self.weights(rows, coefficients) @ self.table.T
        return part

    def sizes(self, rows: Rows, coefficients: Floats) -> Floats:  # the same, of absolute values
        """Return the sum of the absolute values of those terms."""
        part: Floats = self.weights(rows, np.abs(coefficients)) @ np.abs(self.table.T)
        return part

    def terms(self, rows: Rows, is_read: Mask) -> Floats:
        """Return how many of those terms are not 0."""
        part: Floats = self.weights(rows, is_read.astype(np.float64)) @ (self.table.T != 0)
        return part

    def _spread(self, n_row: int, row: Integers, index: Integers, value: Floats) -> Floats:
        column = self._column[np.minimum(index, len(self._column) - 1)]
        here = column >= 0
        dense = np.zeros((n_row, len(self.places)))
        dense[row[here], column[here]] = value[here]
        return dense


def symbols_of(given: Sequence[Embedding], first: Mapping[str, int]) -> list[Symbol]:
    """Return the token and the position as symbols; `first` numbers the variables' directions."""
    found = []
    for by in SYMBOLS:
        embeddings = [e for e in given if e.by == by]
        if not embeddings:
            continue
        places: list[int] = []
        tables = []
        for e in sorted(embeddings, key=lambda e: first[e.variable]):
            places.extend(first[e.variable] + i for i in range(len(e.rows[0])))
            tables.append(np.array([[float(v) for v in row] for row in e.rows]))
        found.append(Symbol(by, np.array(places, dtype=np.int64), np.hstack(tables)))
    return found
