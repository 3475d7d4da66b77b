"""Choices between s-ops, built branch by branch: each is let through by its own gate."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.compiler.carriers import FORMAT
from handcraft.compiler.draft import NUMBER
from handcraft.compiler.forms import Form, combine, constant
from handcraft.compiler.neurons import gated
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.purposes import Gate
from handcraft.language.domains import as_lattice
from handcraft.language.typed import Choose, Pick
from handcraft.language.values import order

if TYPE_CHECKING:
    from collections.abc import Callable

    from handcraft.compiler.builds import Builds
    from handcraft.compiler.draft import Draft
    from handcraft.compiler.facts import Facts

SLACK = Fraction(1, 32)
"""The part of the distance of two values by which a gate may be off."""


class Branches:
    """Makes `a if c else b` and look-ups whose entries are s-ops, of one program.

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

    def number(self, node: int, op: Choose | Pick) -> Form:
        """Return a choice between numbers.

        With lo <= a <= hi and a gate g, relu(a - lo - (hi - lo + 1)(1 - g)) is a - lo where g = 1,
        and 0 where g = 0, also where a is a little off. What g is off counts as often as the
        largest range; where that is too much, gates are restored to the last bit.
        """
        taken = self._gates(op)
        ranges = {branch: self._range(branch) for _, branch in taken}
        widest = max(high - low for low, high in ranges.values()) + 1
        error = max(self.draft.precision.error(gate) for gate, _ in taken)
        if error * widest * FORMAT > SLACK * as_lattice(self.facts.domain(node)).spacing:
            taken = self._gates(op, exact=True)
        gates = []
        offsets = []
        for gate, branch in taken:
            low, high = ranges[branch]
            form = self.sops.number(branch).plus(-low)
            gates.append(Gate(form, ((0, 1),), (gate,), high - low, high - low + 1))
            offsets.append((low, gate))
        layer = gated(gates, (0,), is_one=True)
        return self.sops.write(node, layer, (NUMBER,))[0] + combine(offsets)

    def onehot(self, node: int, op: Choose | Pick) -> OneHot:
        """Return a choice between any values: relu(2 [a is v] + 2 g - 3) for each value v."""
        values = self.facts.values(node)
        index = {order(v): k for k, v in enumerate(values)}
        gates = []
        for gate, branch in self._gates(op):
            onehot = self.sops.onehot(branch)
            for value, form in zip(onehot.values, onehot.forms, strict=True):
                if order(value) in index:
                    result = ((index[order(value)], 1),)
                    gates.append(Gate(constant(1), result, (form, gate), 1, 2))
        bounds = (1,) * len(values)
        layer = gated(gates, (0,) * len(values), bounds, is_one=True)
        return OneHot(values, self.sops.write(node, layer, [str(v) for v in values]), False)

    def _range(self, branch: int) -> tuple[Fraction, Fraction]:
        return self.sops.range(branch, self.sops.number(branch))

    def _gates(self, op: Choose | Pick, *, exact: bool = False) -> list[tuple[Form, int]]:
        """Return for each branch the form that is 1 where it is taken, else 0."""
        if isinstance(op, Choose):
            c = self.sops.truth(op.condition)
            c = self.exact(OneHot((True,), (c,), False)).forms[0] if exact else c
            return [(c, op.then), (c.scaled(-1).plus(1), op.otherwise)]
        key = self.sops.onehot(op.key)
        key = self.exact(key) if exact else key
        forms = {order(v): form for v, form in zip(key.values, key.forms, strict=True)}
        gates: dict[int, list[Form]] = {}
        for value, option in zip(op.values, op.options, strict=True):
            if order(value) in forms:
                gates.setdefault(option, []).append(forms[order(value)])
        return [(combine((1, f) for f in parts), option) for option, parts in gates.items()]
