"""What the embeddings write, as functions of one symbol: the token, or the position.

Directions that one symbol decides are not free to vary on their own: a form's part over them has
one value for each row of the embedding, and all of those are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from handcraft.compiler.certificate.formats import Floats, Integers, Mask
    from handcraft.compiler.certificate.rows import Rows
    from handcraft.compiler.graph import Graph

SYMBOLS = ("token", "position")


class Symbol:
    """All directions that one kind of embedding writes.

    Attributes:
        places: the numbers of the directions, `[n]`.
        table: their values, `[n_row, n]`.
    """

    def __init__(self, places: Integers, table: Floats) -> None:
        self.places = places
        self.table = table

    def without(self, touched: Mask) -> Symbol:
        """Return the symbol without directions that operations have written."""
        kept = ~touched[self.places]
        return Symbol(self.places[kept], self.table[:, kept])

    def weights(self, rows: Rows, coefficients: Floats) -> Floats:  # [n_term] -> [n_row, n]
        """Return the coefficients of the symbol's directions in each row."""
        local = np.full(rows.index.max(initial=0) + 2, -1)
        inside = self.places[self.places < len(local)]
        local[inside] = np.arange(len(inside))
        column = local[rows.index]
        here = column >= 0
        dense = np.zeros((len(rows), len(self.places)))
        dense[rows.row[here], column[here]] = coefficients[here]
        return dense

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


def symbols_of(graph: Graph, first: dict[str, int]) -> list[Symbol]:
    """Return the token and the position as symbols; `first` numbers the variables' directions."""
    found = []
    for by in SYMBOLS:
        embeddings = [e for e in graph.embeddings if e.by == by]
        if not embeddings:
            continue
        places: list[int] = []
        tables = []
        for e in sorted(embeddings, key=lambda e: first[e.variable]):
            places.extend(first[e.variable] + i for i in range(len(e.rows[0])))
            tables.append(np.array([[float(v) for v in row] for row in e.rows]))
        found.append(Symbol(np.array(places, dtype=np.int64), np.hstack(tables)))
    return found
