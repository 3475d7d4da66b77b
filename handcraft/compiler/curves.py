"""Functions of one number by neurons: as a number, or as a one-hot of the results.

Steps between the values of the number, or an interpolation where that takes fewer neurons. Where
rounding would spoil both, a count is read as the number that it is, not as the share that its
head makes; and what has too many values for that is read in two digits.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from handcraft.compiler.carriers import FORMAT
from handcraft.compiler.digits import Digits
from handcraft.compiler.draft import NUMBER
from handcraft.compiler.facts import numeric
from handcraft.compiler.neurons import interpolate, steps, steps_error
from handcraft.language.domains import is_numeric
from handcraft.language.typed import Aggregate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from handcraft.compiler.builds import Builds
    from handcraft.compiler.draft import Draft
    from handcraft.compiler.facts import Facts
    from handcraft.compiler.forms import Form, Number
    from handcraft.compiler.gathering import Gathering
    from handcraft.compiler.neurons import Layer
    from handcraft.compiler.onehot import OneHot

Carrier: TypeAlias = "tuple[Form, Sequence[Fraction]]"
"""A number, and its value for each result."""

SLACK = Fraction(1, 4)
"""The part of the distance of two results by which rounding may change one."""


class Curves:
    """Makes functions of numbers for one program.

    Args:
        facts: what the program says.
        draft: the graph under construction.
        sops: makes s-ops as numbers and one-hots.
        gathering: makes what gathers over positions.
        exact: restores a one-hot to the last bit.
    """

    def __init__(
        self,
        facts: Facts,
        draft: Draft,
        sops: Builds,
        gathering: Gathering,
        exact: Callable[[OneHot], OneHot],
    ) -> None:
        self.facts = facts
        self.draft = draft
        self.sops = sops
        self.gathering = gathering
        self.digits = Digits(facts, draft, sops, exact)

    def number(self, node: int, leaf: int, outcomes: Sequence[Fraction]) -> Form:
        """Return a function of a number, by its result for each value of the leaf's domain."""
        results = [{0: outcome} for outcome in outcomes]
        return self._outputs(node, self._carriers(leaf), results, (NUMBER,))[0]

    def at_points(
        self,
        node: int,
        x: Form,
        points: Sequence[Fraction],
        outcomes: Sequence[Fraction],
        least: Fraction,
    ) -> Form:
        """Return a function of a form, by its result at each of the values that it can take.

        `least` is how far apart results are that have to be told apart.
        """
        results = [{0: outcome} for outcome in outcomes]
        return self._outputs(node, [(x, points)], results, (NUMBER,), least)[0]

    def onehot(
        self, node: int, leaf: int, classes: Sequence[int], labels: Sequence[str]
    ) -> tuple[Form, ...]:
        """Return a one-hot of classes, by the class of each value of the leaf's domain."""
        results = [{k: Fraction(1)} for k in classes]
        return self._outputs(node, self._carriers(leaf), results, labels)

    def carrier(self, leaf: int) -> tuple[Form, list[Fraction]]:
        """Return a number that tells a leaf's values apart, and what it is at each of them."""
        share = self.gathering.share(leaf)
        if share is not None:
            return share, [Fraction(1, 1 + int(w)) for w in self.facts.values(leaf)]
        if not is_numeric(self.facts.domain(leaf)) and isinstance(
            self.facts.program.nodes[leaf].op, Aggregate
        ):
            codes = [self.gathering.code(leaf, v) for v in self.facts.values(leaf)]
            return self.gathering.number(leaf), codes
        return self.sops.number(leaf), [numeric(v) for v in self.facts.values(leaf)]

    def _outputs(
        self,
        node: int,
        carriers: Iterable[Carrier],
        results: Sequence[dict[int, Fraction]],
        labels: Sequence[str],
        least: Fraction | None = None,
    ) -> tuple[Form, ...]:
        """Return outputs by the first number and the fewest neurons that are exact enough."""
        first: Layer | None = None
        for x, points in carriers:
            pairs = sorted(zip(points, results, strict=True), key=lambda pair: pair[0])
            places, values = [p for p, _ in pairs], [r for _, r in pairs]
            allowed = SLACK * (least or _least(values)) / FORMAT
            layers = sorted(self._layers(x, places, values, len(labels)), key=lambda each: each[0])
            for _, error, layer in layers:
                first = first or layer
                if error <= allowed:
                    return self.sops.write(node, layer, labels)
        forms = self.digits.outputs(node, x, places, values, labels)
        assert first is not None
        return self.sops.write(node, first, labels) if forms is None else forms

    def _carriers(self, leaf: int) -> Iterator[Carrier]:
        """Yield numbers that tell a leaf's values apart, the one that is there first."""
        yield self.carrier(leaf)
        if self.gathering.share(leaf) is not None:
            yield self.sops.number(leaf), [numeric(v) for v in self.facts.values(leaf)]

    def _layers(
        self,
        x: Form,
        points: Sequence[Fraction],
        results: Sequence[dict[int, Fraction]],
        n_output: int,
    ) -> Iterator[tuple[int, Number | float, Layer]]:
        """Yield neurons with their number and a bound on their roundings, in roundoffs."""
        layer = steps(x, points, results, n_output)
        yield len(layer.units), steps_error(points, results), layer
        if n_output == 1:
            values = [result.get(0, Fraction(0)) for result in results]
            smooth = interpolate(x, points, values, self.draft.errors(x, points))
            yield len(smooth.units), smooth.error or 0, smooth


def _least(results: Sequence[dict[int, Fraction]]) -> Fraction:
    """Return the least distance of two neighbours that differ, 1 without such."""
    nothing = Fraction(0)
    distances = {
        max(abs(after.get(k, nothing) - here.get(k, nothing)) for k in (*here, *after))
        for here, after in pairwise(results)
        if here != after
    }
    return min(distances, default=Fraction(1))
