"""Functions of one number by neurons: as a number, or as a one-hot of the results.

Steps between the values of the number, or an interpolation where that takes fewer neurons. Where
rounding would spoil both, a count is read as the number that it is, not as the share that its
head makes; and what has too many values for that is read in two digits.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

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
    from handcraft.compiler.forms import Form
    from handcraft.compiler.gathering import Gathering
    from handcraft.compiler.neurons import Layer
    from handcraft.compiler.onehot import OneHot

Carrier: TypeAlias = "tuple[Form, Sequence[Fraction]]"
"""A number, and its value for each result."""

CLEAN = Fraction(1, 512)
"""The part of the distance of two results by which one may be off, where that can be had."""

SLACK = Fraction(1, 4)
"""The same where it cannot."""

FLAT = 2
"""How many neurons of steps one is worth that interpolates 0 and 1: steps hold errors up."""


class Layered(NamedTuple):
    """Neurons, what they cost, and a bound on the error of their outputs, in roundoffs."""

    layer: Layer
    cost: int
    error: float


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

    def number(
        self,
        node: int,
        leaf: int,
        outcomes: Sequence[Fraction],
        otherwise: Callable[[], Form] | None = None,
    ) -> Form:
        """Return a function of a number, by its result for each value of the leaf's domain.

        `otherwise` makes it where one layer is not exact enough.
        """
        results = [{0: outcome} for outcome in outcomes]
        return self._outputs(node, self._carriers(leaf), results, (NUMBER,), None, otherwise)[0]

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
        otherwise: Callable[[], Form] | None = None,
    ) -> tuple[Form, ...]:
        """Return outputs by the first number and the cheapest neurons that are exact enough."""
        tried: list[Layered] = []
        for x, points in carriers:
            pairs = sorted(zip(points, results, strict=True), key=lambda pair: pair[0])
            places, values = [p for p, _ in pairs], [r for _, r in pairs]
            distance = (least or _least(values)) / FORMAT
            layers = list(self._layers(x, places, values, len(labels)))
            for part in (CLEAN, SLACK):
                exact = [each for each in layers if each.error <= part * distance]
                if exact:
                    return self.sops.write(node, min(exact, key=lambda e: e.cost).layer, labels)
            tried += layers
        if otherwise is not None:
            return (otherwise(),)
        forms = self.digits.outputs(node, x, places, values, labels)
        if forms is not None:
            return forms
        return self.sops.write(node, min(tried, key=lambda each: each.error).layer, labels)

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
    ) -> Iterator[Layered]:
        layer = steps(x, points, results, n_output)
        yield Layered(layer, len(layer.units), steps_error(points, results))
        if n_output == 1:
            values = [result.get(0, Fraction(0)) for result in results]
            smooth = interpolate(x, points, values, self.draft.errors(x, points))
            weight = FLAT if set(values) <= {0, 1} else 1
            yield Layered(smooth, weight * len(smooth.units), float(smooth.error or 0))


def _least(results: Sequence[dict[int, Fraction]]) -> Fraction:
    """Return the least distance of two neighbours that differ, 1 without such."""
    nothing = Fraction(0)
    distances = {
        max(abs(after.get(k, nothing) - here.get(k, nothing)) for k in (*here, *after))
        for here, after in pairwise(results)
        if here != after
    }
    return min(distances, default=Fraction(1))
