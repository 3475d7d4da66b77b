"""Functions of a number with many values, by two digits of it.

A step that tells neighbours apart has a slope of two over their distance, so what is added up over
n values to the left grows with n, and the rounding of n steps with its cube: float32 has room for
some fifty. So the number is cut into blocks. Thresholds between blocks say which one it is in,
and what it is above the start of its block is a number with few values again. Either both parts
add up to the result, as with `x // 10` and blocks of ten, or it is a table of the two.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from handcraft.compiler.carriers import FORMAT
from handcraft.compiler.draft import NUMBER
from handcraft.compiler.forms import Form, Number, combine
from handcraft.compiler.levels import COVERS
from handcraft.compiler.neurons import boxes, gated, steps, steps_error, weighted
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.purposes import Gate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from handcraft.compiler.builds import Builds
    from handcraft.compiler.draft import Draft
    from handcraft.compiler.facts import Facts

Outputs: TypeAlias = "Mapping[int, Number]"
"""The outputs that are not 0."""

SPARSEST = 4
"""Places of an even grid for each value that a number can take."""

SLACK = Fraction(1, 8)
"""The part of a distance by which a number may be off where it is read by steps."""


class Cut(NamedTuple):
    """The values of a number, cut into blocks: value i is the lowest plus `start + offset` gaps.

    Attributes:
        starts: of the blocks in which there are values.
        offsets: from the start of a block, where there are values in some block.
        places: the numbers of block and offset of each value.
    """

    starts: tuple[int, ...]
    offsets: tuple[int, ...]
    places: tuple[tuple[int, int], ...]


class Sum(NamedTuple):
    """Outputs as those of the block plus those of the offset."""

    blocks: tuple[Outputs, ...]
    offsets: tuple[Outputs, ...]


class Digits:
    """Makes functions of numbers with many values for one program.

    Args:
        facts: what the program says.
        draft: the graph under construction.
        sops: makes s-ops as numbers and one-hots.
        exact: restores a one-hot to the last bit.
    """

    def __init__(
        self, facts: Facts, draft: Draft, sops: Builds, exact: Callable[[OneHot], OneHot]
    ) -> None:
        self.facts = facts
        self.draft = draft
        self.sops = sops
        self.exact = exact

    def outputs(
        self,
        node: int,
        x: Form,
        points: Sequence[Fraction],
        results: Sequence[Outputs],
        labels: Sequence[str],
    ) -> tuple[Form, ...] | None:
        """Return forms that are `results[i]` where x is `points[i]`; None off an even grid.

        Args:
            node: the s-op that is written.
            x: a number.
            points: its values, in ascending order.
            results: the outputs at each of them, what is not given is 0; of several outputs one
                is 1 and the others are 0.
            labels: of the outputs.
        """
        places = _places(points)
        if places is None:
            return None
        low, gap = points[0], min(q - p for p, q in pairwise(points))
        cut, parts = _summed(places, results, len(labels)) or (
            _cut(places, isqrt(places[-1]) + 1),
            None,
        )
        values = [low + gap * place for place in cut.offsets]
        block, rest = self._blocks(node, x, points, cut, gap)
        if parts is not None:
            size = float(self.draft.precision.size(rest))
            error = steps_error(values, parts.offsets, size) * FORMAT
            if len({tuple(each.items()) for each in results}) * error > SLACK:
                rest = self._alone(node, rest.plus(-low)).plus(low)
            layer = steps(rest, values, parts.offsets, len(labels))
            written = self.sops.write(node, layer, labels)
            return tuple(
                form
                + combine(
                    (outputs.get(k, 0), here)
                    for outputs, here in zip(parts.blocks, block.forms, strict=True)
                )
                for k, form in enumerate(written)
            )
        one = [{k: Fraction(1)} for k in range(len(values))]
        layer = steps(rest, values, one, len(values))
        forms = self.sops.write(node, layer, [f"+{place * gap}" for place in cut.offsets])
        offset = OneHot(tuple(range(len(values))), forms, False)
        return self._table(node, (block, offset), cut, results, labels)

    def _blocks(
        self, node: int, x: Form, points: Sequence[Fraction], cut: Cut, gap: Fraction
    ) -> tuple[OneHot, Form]:
        """Return which block a number is in, and what the number is above its start.

        The block is restored to the last bit where its errors would count, as each is multiplied
        by the start of a block.
        """
        results = [{block: Fraction(1)} for block, _ in cut.places]
        layer = steps(x, points, results, len(cut.starts))
        labels = [f"from {points[0] + gap * start}" for start in cut.starts]
        forms = self.sops.write(node, layer, labels)
        block = OneHot(tuple(range(len(forms))), forms, False)
        error = sum(cut.starts) * gap * Fraction(steps_error(points, results))
        if (error + self.draft.precision.error(x)) * FORMAT > SLACK * gap:
            block = self.exact(block)
        rest = x - combine((gap * s, f) for s, f in zip(cut.starts, block.forms, strict=True))
        return block, rest

    def _alone(self, node: int, rest: Form) -> Form:
        """Return a number that is not below 0 as a direction: what it is made of counts no more."""
        layer = gated([Gate(rest, ((0, 1),))], (0,))
        return self.sops.write(node, layer, (NUMBER,))[0]

    def _table(
        self,
        node: int,
        digits: tuple[OneHot, OneHot],
        cut: Cut,
        results: Sequence[Outputs],
        labels: Sequence[str],
    ) -> tuple[Form, ...]:
        """Return outputs as a table of both digits, restored where their errors would count."""
        numbers = {Fraction(result.get(0, 0)) for result in results}
        kinds = sorted(numbers) if len(labels) == 1 else []
        largest = max(map(abs, kinds), default=Fraction(1))
        number = {kind: k for k, kind in enumerate(kinds)}
        width = len(cut.offsets)
        cells: list[int | None] = [None] * (len(cut.starts) * width)
        for (block, offset), result in zip(cut.places, results, strict=True):
            cells[block * width + offset] = (
                number[Fraction(result.get(0, 0))] if kinds else min(result)
            )
        variables = []
        for digit in digits:
            error = max(self.draft.precision.error(form) for form in digit.forms)
            counts = 4 * largest * error * FORMAT > SLACK
            variables.append((self.exact(digit) if counts else digit).forms)
        covered = COVERS in self.facts.passes
        layer = boxes(variables, cells, len(kinds or labels), covered=covered)
        return self.sops.write(node, weighted(layer, kinds) if kinds else layer, labels)


def _places(points: Sequence[Fraction]) -> list[int] | None:
    """Return values as places on an even grid, None where there is none that they nearly fill."""
    gap = min((q - p for p, q in pairwise(points)), default=Fraction(1))
    places = [(p - points[0]) / gap for p in points]
    if any(place.denominator > 1 for place in places) or places[-1] > SPARSEST * len(points):
        return None
    return [int(place) for place in places]


def _cut(places: Sequence[int], size: int) -> Cut:
    """Return values in blocks of a size."""
    starts = sorted({place // size * size for place in places})
    offsets = sorted({place % size for place in places})
    number = {start: b for b, start in enumerate(starts)}
    within = {offset: o for o, offset in enumerate(offsets)}
    cells = tuple((number[place // size * size], within[place % size]) for place in places)
    return Cut(tuple(starts), tuple(offsets), cells)


def _summed(
    places: Sequence[int], results: Sequence[Outputs], n_output: int
) -> tuple[Cut, Sum] | None:
    """Return the cut of which both digits add up to the results, with the fewest of both.

    Of several outputs, which are 0 or 1, each has to be a direction, so that it can be restored:
    the offset alone decides.
    """
    n = len(places)
    if places[-1] + 1 > n:
        return None
    root = isqrt(n) + 1
    sizes = sorted(range(2, min(n, 4 * root)), key=lambda size: size + n // size)
    for size in sizes:
        blocks = [_without(results[start], results[0]) for start in range(0, n, size)]
        if n_output > 1 and any(blocks):
            continue
        if all(
            _without(results[i], blocks[i // size]) == _without(results[i % size], {})
            for i in range(size, n)
        ):
            return _cut(places, size), Sum(tuple(blocks), tuple(results[:size]))
    return None


def _without(outputs: Outputs, taken: Outputs) -> dict[int, Number]:
    """Return outputs less others, without zeros."""
    rest = {k: outputs.get(k, 0) - taken.get(k, 0) for k in {*outputs, *taken}}
    return {k: value for k, value in rest.items() if value}
