"""How large a direction can be, and how far rounding may take it from its exact value.

Both are bounds by the structure of the graph, first order in the unit roundoff u of a format: an
error of e means e * u. A mean over many keys counts as `MEAN_ERROR` roundings of its size, which
is what sums in blocks need, not the worst case of all orders: so this only chooses between
constructions, and what was chosen is proved by the certificate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.compiler.forms import magnitude

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.forms import Direction, Form, Number
    from handcraft.compiler.neurons import Layer

MEAN_ERROR = 8
"""Roundings of its size that a mean over several keys is allowed."""

NEURON_ERROR = 2
"""Roundings of its pre-activation that a neuron is allowed."""

ROOM = 8
"""A decision needs neighbours this many errors apart: steps are flat for a quarter of the way."""


class Precision:
    """Bounds for the directions of one graph, noted as they are written."""

    def __init__(self) -> None:
        self._sizes: dict[Direction, Number] = {}
        self._errors: dict[Direction, Number] = {}

    def embedded(self, direction: Direction, size: Number) -> None:
        """Note a direction that the embeddings write, exactly."""
        self._sizes[direction] = size

    def size(self, form: Form) -> Number:
        """Return a bound on the absolute value of a form, and of every partial sum of it.

        Of the directions of one variable at most one counts: a one-hot's add up to at most 1.
        """
        largest: dict[str, Number] = {}
        for d, coefficient in form.terms:
            part = magnitude(coefficient) * self._sizes.get(d, 1)
            largest[d[0]] = max(largest.get(d[0], 0), part)
        return sum(largest.values(), magnitude(form.constant))

    def error(self, form: Form) -> Number:
        """Return a bound on the error of a form, in units of roundoff."""
        names = {d[0] for d, _ in form.terms}
        rounding = len(names) - 1 + bool(form.constant) if names else 0
        total = rounding * self.size(form) if rounding else 0
        for d, coefficient in form.terms:
            error = self._errors.get(d)
            if error:
                total += magnitude(coefficient) * error
        return total

    def moved(self, target: Direction, form: Form, read: Precision, *, mean: bool) -> None:
        """Note a direction to which a head adds what it moves; `read` bounds what that reads."""
        size = read.size(form)
        self._add(target, size, read.error(form) + (MEAN_ERROR * size if mean else 0))

    def computed(self, targets: Sequence[Direction], layer: Layer) -> None:
        """Note directions to which neurons add their outputs."""
        sizes = [magnitude(b) for b in layer.bias]
        errors: list[Number] = [0] * len(targets)
        for unit in layer.units:
            size = self.size(unit.pre)
            error: Number = 0
            if layer.error is None:
                error = NEURON_ERROR * size + (0 if layer.is_flat else self.error(unit.pre))
            for k, value in unit.out.items():
                weight = magnitude(value)
                if layer.is_one:
                    sizes[k] = max(sizes[k], weight * size + magnitude(layer.bias[k]))
                    errors[k] = max(errors[k], weight * error)
                else:
                    sizes[k] += weight * size
                    errors[k] += weight * error
        for k, target in enumerate(targets):
            size = sizes[k] if layer.bounds is None else layer.bounds[k]
            self._add(target, size, errors[k] if layer.error is None else layer.error)

    def resolved(self, form: Form) -> Number:
        """Return how far apart values of a form must be to be told apart, in roundoffs."""
        return ROOM * (self.error(form) + NEURON_ERROR * self.size(form))

    def _add(self, target: Direction, size: Number, error: Number) -> None:
        self._sizes[target] = self._sizes.get(target, 0) + size
        self._errors[target] = self._errors.get(target, 0) + error
