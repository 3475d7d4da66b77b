"""Decisions between the values of a number: steps, and how finely the number must be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.compiler import neurons
from handcraft.compiler.draft import SHARE, SHARE_ERROR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from handcraft.compiler.draft import Draft
    from handcraft.compiler.forms import Form, Number
    from handcraft.language.typed import TypedProgram


class Thresholds:
    """Makes steps for the s-ops of one program, and notes what they need.

    A share 1/(1+w) is exact relative to itself, not to its largest size.
    """

    def __init__(self, program: TypedProgram, draft: Draft) -> None:
        self.program = program
        self.draft = draft

    def steps(
        self,
        node: int,
        x: Form,
        points: Sequence[Fraction],
        results: Sequence[Mapping[int, Fraction]],
        outputs: int,
    ) -> neurons.Layer:
        """Return steps on a number."""
        for p, q, one, other in zip(points, points[1:], results, results[1:], strict=False):
            if one != other:
                self.tell_apart(node, x, p, q)
        return neurons.steps(x, points, results, outputs)

    def tell_apart(self, node: int, x: Form, p: Fraction, q: Fraction) -> None:
        """Note that something is decided between two values of a number, p < q."""
        gap = (q - p) / q if self._is_share(x) else q - p
        self.draft.resolve(x, gap, self.program.nodes[node].span)

    def errors(self, x: Form, points: Sequence[Fraction]) -> list[Number]:
        """Return bounds on the error of a number where it is each of these, in roundoffs."""
        if self._is_share(x):
            return [SHARE_ERROR * point for point in points]
        return [self.draft.precision.error(x)] * len(points)

    def _is_share(self, x: Form) -> bool:
        return any(self.draft.variables[name].labels == (SHARE,) for name, _ in x.directions)
