"""Lets embeddings write what is read of a one-hot, where that is less than the one-hot.

Heads and neurons read sums over the directions that embeddings write: functions of the token, or
of the position. Each is a sum of a few of them, with a constant where that is free: a bias gives 1
everywhere and the start direction takes it away again at the hidden start token, where the
embedded functions are 0. An unembedding has no bias: it needs the 1 as a function too, once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from handcraft.compiler.forms import START, Direction, Form, combine, constant, direction, whole
from handcraft.compiler.graph import (
    CrossReadout,
    Embedding,
    Graph,
    TokenReadout,
    Variable,
    readout_forms,
    writes,
)
from handcraft.compiler.passes.basis import Basis, Function, Reading, Sum, basis_of, reading
from handcraft.compiler.passes.function_labels import label
from handcraft.compiler.passes.rewriting import all_forms, rewritten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KINDS = ("token", "position")


def with_narrow_embeddings(graph: Graph) -> Graph:
    """Return the graph with as few embedded directions as the forms of its operations need."""
    pools = [_Pool.of(graph, kind) for kind in KINDS]
    if not any(pool.entries for pool in pools):
        return graph
    width = sum(len(pool.entries) for pool in pools)
    chosen: list[Basis] | None = None
    lender: int | None = None
    for candidate in _lenders(graph, pools):
        most = width - 1 if chosen is None else sum(len(b.functions) for b in chosen) - 1
        found = _bases(graph, pools, candidate, most)
        if found is not None:
            chosen, lender = found, candidate
    if chosen is None:
        return graph
    return _Rewriter(graph, pools, chosen, lender).rewritten()


@dataclass(frozen=True, slots=True)
class _Pool:
    """The variables that one embedding writes and no operation does, as functions of its rows."""

    entries: Mapping[Direction, tuple[tuple[int, int], ...]]
    """The rows at which each direction is not 0, and its values there times `unit`."""
    unit: int
    rows: int
    readings: Mapping[Form, Reading]
    """What each form of the graph reads of these variables, if it reads any of them."""

    @staticmethod
    def of(graph: Graph, by: str) -> _Pool:
        """Return all that is written by token, or by position, and by nothing else."""
        written = {name for op in graph.ops for name, _ in writes(op)}
        if isinstance(graph.readout, TokenReadout):
            written.add(graph.readout.variable)
        embeddings = [e for e in graph.embeddings if e.by == by and e.variable not in written]
        unit = lcm(*(v.denominator for e in embeddings for row in e.rows for v in row))
        entries = {
            (e.variable, i): tuple((row, int(v * unit)) for row, v in enumerate(values) if v)
            for e in embeddings
            for i, values in enumerate(zip(*e.rows, strict=True))
        }
        rows = len(embeddings[0].rows) if embeddings else 0
        forms = dict.fromkeys((*all_forms(graph), *readout_forms(graph.readout)))
        readings = {form: _reading(form, entries, unit, rows) for form in forms}
        return _Pool(entries, unit, rows, {f: r for f, r in readings.items() if r is not None})

    @property
    def one(self) -> Function:
        """The function that is 1 everywhere."""
        return (1,) * self.rows


def _reading(
    form: Form, entries: Mapping[Direction, tuple[tuple[int, int], ...]], unit: int, rows: int
) -> Reading | None:
    read = [(entries[d], c) for d, c in form.terms if d in entries]
    if not read:
        return None
    denominator = lcm(*(c.denominator for _, c in read))
    total = [0] * rows
    for values, c in read:
        factor = c.numerator * (denominator // c.denominator)
        for row, value in values:
            total[row] += factor * value
    return reading(total, denominator * unit)


def _lenders(graph: Graph, pools: Sequence[_Pool]) -> list[int | None]:
    """Return which pool may hold the 1 of the read-out: none that need say, or one of them.

    Where the start direction is 1 in the end, nothing else need be.
    """
    if _is_late(graph) or isinstance(graph.readout, CrossReadout):
        return [None]
    return [None, *(i for i, pool in enumerate(pools) if len(pool.entries))]


def _is_late(graph: Graph) -> bool:
    """Return whether an operation makes the start direction 1 for the read-out."""
    return any(START in writes(op) for op in graph.ops)


def _constant_is_free(graph: Graph) -> bool:
    return not graph.start or any(v.name == START[0] for v in graph.variables)


def _bases(
    graph: Graph, pools: Sequence[_Pool], lender: int | None, most: int
) -> list[Basis] | None:
    """Return a basis for each pool, or None if they have more functions together than `most`."""
    inner, outer = all_forms(graph), readout_forms(graph.readout)
    if isinstance(graph.readout, CrossReadout):  # cross heads have biases, as all that reads
        inner, outer = (*inner, *outer), ()
    found = []
    for i, pool in enumerate(pools):
        read, read_out = (
            [pool.readings[form] for form in forms if form in pool.readings]
            for forms in (inner, outer)
        )
        exactly: list[Reading] = []
        free = read
        if not _constant_is_free(graph):
            exactly, free = [*read, *read_out], []
        elif _is_late(graph) or lender not in (None, i):
            free = [*read, *read_out]
        else:
            exactly = read_out
        if lender == i:
            exactly = [*exactly, Reading(Fraction(1), pool.one)]
        basis = basis_of(exactly, free, most)
        if basis is None:
            return None
        most -= len(basis.functions)
        found.append(basis)
    return found


class _Rewriter:
    """Reads functions of a basis in place of what was embedded before."""

    def __init__(
        self, graph: Graph, pools: Sequence[_Pool], bases: Sequence[Basis], lender: int | None
    ) -> None:
        self.graph = graph
        self.pools = pools
        self.bases = bases
        self._new = [
            _directions(pool, basis, graph) for pool, basis in zip(pools, bases, strict=True)
        ]
        start = direction(*START)
        self._here = constant(1) - start if graph.start else constant(1)
        self._at_the_end = start
        if lender is not None:
            one = bases[lender].sums[pools[lender].one]
            self._at_the_end = self._form(lender, one, constant(0))

    def rewritten(self) -> Graph:
        """Return the graph that reads, and embeds, the bases."""
        outer = self._inner if isinstance(self.graph.readout, CrossReadout) else self._outer
        read = rewritten(self.graph, self._inner, lambda same: same, outer)
        variables: list[Variable] = []
        embeddings = {e.variable: e for e in self.graph.embeddings}
        old = {name for pool in self.pools for name, _ in pool.entries}
        for variable in self.graph.variables:
            if variable.name not in old:
                variables.append(variable)
                continue
            kept = self._embedded(variable, embeddings[variable.name])
            if kept is None:
                del embeddings[variable.name]
            else:
                variables.append(kept[0])
                embeddings[variable.name] = kept[1]
        return replace(read, variables=tuple(variables), embeddings=tuple(embeddings.values()))

    def _inner(self, form: Form) -> Form:
        return self._read(form, self._here)

    def _outer(self, form: Form) -> Form:
        return self._read(form, self._at_the_end)

    def _read(self, form: Form, one: Form) -> Form:
        """Return a form that reads the bases; `one` gives 1 wherever the form is read."""
        parts: list[tuple[Fraction, Form]] = []
        rest = form.terms
        for i, pool in enumerate(self.pools):
            if form in pool.readings:
                rest = tuple((d, c) for d, c in rest if d not in pool.entries)
                scale, function = pool.readings[form]
                if scale:
                    parts.append((scale, self._form(i, self.bases[i].sums[function], one)))
        if len(rest) == len(form.terms):
            return form
        return combine([(Fraction(1), Form(rest, form.constant)), *parts])

    def _form(self, pool: int, found: Sum, one: Form) -> Form:
        terms = [(c, direction(*self._new[pool][i])) for i, c in found.coefficients.items()]
        return combine([*terms, (found.constant, one)])

    def _embedded(
        self, variable: Variable, embedding: Embedding
    ) -> tuple[Variable, Embedding] | None:
        """Return what is left of a variable, and how it is embedded now."""
        functions = {
            d[1]: function
            for new, basis in zip(self._new, self.bases, strict=True)
            for d, function in zip(new, basis.functions, strict=True)
            if d[0] == variable.name
        }
        if not functions:
            return None
        called = _row_labels(variable, embedding)
        ordered = [functions[i] for i in range(len(functions))]
        labels = tuple(label(f, called, embedding.by) for f in ordered)
        rows = tuple(tuple(map(whole, row)) for row in zip(*ordered, strict=True))
        return replace(variable, labels=labels), replace(embedding, rows=rows)


def _directions(pool: _Pool, basis: Basis, graph: Graph) -> list[Direction]:
    """Return a direction for each function, of the first variable from which one reads it."""
    owners: dict[Function, str] = {}
    for form in (*all_forms(graph), *readout_forms(graph.readout)):
        if form in pool.readings:
            name = next(d[0] for d, _ in form.terms if d in pool.entries)
            owners.setdefault(pool.readings[form].function, name)
    default = next((name for name, _ in pool.entries), "")
    made: dict[str, int] = {}
    directions = []
    readers: dict[int, str] = {}
    for function, found in basis.sums.items():
        if len(found.coefficients) == 1:
            readers.setdefault(next(iter(found.coefficients)), owners.get(function, default))
    for i in range(len(basis.functions)):
        name = readers[i]
        directions.append((name, made.get(name, 0)))
        made[name] = made.get(name, 0) + 1
    return directions


def _row_labels(variable: Variable, embedding: Embedding) -> dict[int, str]:
    """Return what the rows of a one-hot are called, those of a position by its number."""
    if embedding.by == "position":
        return {i: str(i) for i in range(len(embedding.rows))}
    return {
        row: text
        for row, values in enumerate(embedding.rows)
        for text, value in zip(variable.labels, values, strict=True)
        if value == 1 and sum(map(bool, values)) == 1
    }
