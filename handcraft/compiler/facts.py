"""What a typed program says that decides how an s-op is built."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.compiler.levels import COVERS, MAP_FOLDING, Passes
from handcraft.compiler.neurons import cover_size
from handcraft.compiler.selection import Selection
from handcraft.errors import ProgramError
from handcraft.language.domains import Domain, Finite, is_numeric
from handcraft.language.totality import is_total
from handcraft.language.typed import (
    Aggregate,
    Apply,
    Choose,
    Constant,
    Counts,
    Indices,
    Pick,
    Table,
    Tokens,
    TypedProgram,
    Width,
)
from handcraft.language.values import Outcome, Undefined, Value, order

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_WORDS = 80
"""Characters of an expression that the name of a component shows."""

LARGEST_COVER = 32
"""Neurons of a table of several leaves; a choice that needs more is built branch by branch."""

WIDEST_TABLE = 64
"""Cells of a table that reads every value of a number; of more, the number is read in parts."""


class Facts:
    """Questions about the nodes of one program.

    Attributes:
        program: the program.
        passes: what is made smaller.
        selection: its selectors as conjunctions.
    """

    def __init__(self, program: TypedProgram, passes: Passes) -> None:
        self.program = program
        self.passes = passes
        self.selection = Selection(program, self.base)
        self._total: dict[int, bool] = {}

    def counts(self, selector: int) -> Counts:
        """Return how many keys a selector takes."""
        counts = self.program.nodes[selector].counts
        assert counts is not None
        return counts

    def domain(self, node: int) -> Domain:
        """Return the domain of an s-op."""
        domain = self.program.nodes[node].domain
        assert domain is not None
        return domain

    def values(self, node: int) -> tuple[Value, ...]:
        """Return the values of an s-op whose domain is a list.

        Raises:
            ProgramError: `domain-too-large`.
        """
        domain = self.domain(node)
        if isinstance(domain, Finite):
            return domain.values
        message = f"a decision is made on a value with too many possibilities, {domain}"
        help_ = "use a smaller context, or `latest(...)` to take one key instead of a mean"
        raise ProgramError("domain-too-large", message, self.program.nodes[node].span, help=help_)

    def base(self, node: int) -> tuple[int | None, Sequence[Outcome]]:
        """Return the one-hot leaf that an s-op is a free function of, and the function's values.

        The leaf is the s-op itself where it is no such function, and None for a constant.
        """
        table = self.program.nodes[node].table
        if table is not None and len(table.leaves) == 0:
            return None, table.outcomes
        folds = MAP_FOLDING in self.passes and table is not None and len(table.leaves) == 1
        if folds and table is not None and self.is_categorical(table.leaves[0]):
            return table.leaves[0], table.outcomes
        return node, self.values(node)

    def label(self, node: int) -> str:
        """Return a name for the variable of a node."""
        known = self.program.nodes[node]
        return known.name or type(known.op).__name__.lower()

    def said(self, node: int) -> str:
        """Return the program's own words for a node."""
        known = self.program.nodes[node]
        if known.words is not None:
            return known.words
        words = " ".join(known.span.text.split())
        shown = words if len(words) <= LONGEST_WORDS else words[: LONGEST_WORDS - 3] + "..."
        return f"{known.name} = {shown}" if known.name and known.name != shown else shown

    def is_categorical(self, leaf: int) -> bool:
        """Return whether a leaf is most cheaply a one-hot."""
        op = self.program.nodes[leaf].op
        match op:
            case Tokens() | Indices():
                return True
            case Width(selector):
                return self.selection.widths_by_position(selector) is not None
            case Aggregate(selector, value, default):
                if not is_numeric(self.domain(leaf)):
                    return isinstance(self.domain(leaf), Finite) and not self._is_mean(leaf)
                table = self.program.nodes[value].table
                return (
                    self.counts(selector).most <= 1
                    and table is not None
                    and len(table.leaves) == 1
                    and self.is_categorical(table.leaves[0])
                    and (default is None or isinstance(self.program.nodes[default].op, Constant))
                )
            case Apply() | Choose() | Pick():
                domain = self.domain(leaf)
                return isinstance(domain, Finite) and not is_numeric(domain)
            case _:
                return False

    def _is_mean(self, leaf: int) -> bool:
        op = self.program.nodes[leaf].op
        assert isinstance(op, Aggregate)
        return is_numeric(self.domain(op.value)) and self.counts(op.selector).most > 1

    def is_total(self, node: int) -> bool:
        """Return whether an s-op or selector has a value on every input, at every position."""
        return is_total(self.program.nodes, node, self._total)

    def is_scattered(self, node: int) -> bool:
        """Return whether a table of several leaves is better built branch by branch."""
        table = self.program.nodes[node].table
        if table is None or table.leaves == (node,):
            return True
        if self._is_lookup(node):
            return False
        if len(table.outcomes) > WIDEST_TABLE and not all(map(self.is_categorical, table.leaves)):
            return True
        if COVERS not in self.passes:
            return len(table.outcomes) > LARGEST_COVER
        outcomes = [None if isinstance(o, Undefined) else order(o) for o in table.outcomes]
        classes = {o: k for k, o in enumerate(sorted({o for o in outcomes if o is not None}))}
        cells = [None if o is None else classes[o] for o in outcomes]
        sizes = [len(self.values(leaf)) for leaf in table.leaves]
        return cover_size(sizes, cells, len(classes)) > LARGEST_COVER

    def _is_lookup(self, node: int) -> bool:
        """Return whether a node is a function of its key alone, which has no branches."""
        op = self.program.nodes[node].op
        if not isinstance(op, Pick):
            return False
        return all(isinstance(self.program.nodes[option].op, Constant) for option in op.options)

    def slope(self, leaf: int, table: Table) -> tuple[Fraction, Fraction] | None:
        """Return a, b where a table is `a * leaf + b`."""
        points = [numeric(v) for v in self.values(leaf)]
        if any(isinstance(o, Undefined) for o in table.outcomes):
            return None
        results = [numeric(o) for o in table.outcomes]
        if len(points) == 1:
            return Fraction(0), results[0]
        a = (results[1] - results[0]) / (points[1] - points[0])
        b = results[0] - a * points[0]
        fits = all(a * x + b == y for x, y in zip(points, results, strict=True))
        return (a, b) if fits else None


def numeric(value: Outcome) -> Fraction:
    """Return a number or boolean as a rational."""
    assert not isinstance(value, str | Undefined)
    return Fraction(value)
