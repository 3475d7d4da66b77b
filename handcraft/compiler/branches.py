"""Choices between s-ops, built branch by branch: each is let through by its own gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.compiler.draft import NUMBER
from handcraft.compiler.forms import Form, combine, constant
from handcraft.compiler.neurons import gated
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.purposes import Gate
from handcraft.language.typed import Choose, Pick
from handcraft.language.values import order

if TYPE_CHECKING:
    from handcraft.compiler.builds import Builds
    from handcraft.compiler.facts import Facts


class Branches:
    """Makes `a if c else b` and look-ups whose entries are s-ops, of one program.

    Args:
        facts: what the program says.
        sops: makes s-ops as numbers and one-hots.
    """

    def __init__(self, facts: Facts, sops: Builds) -> None:
        self.facts = facts
        self.sops = sops

    def number(self, node: int, op: Choose | Pick) -> Form:
        """Return a choice between numbers.

        With lo <= a <= hi and a gate g, relu(a - lo - (hi - lo + 1)(1 - g)) is a - lo where g = 1,
        and 0 where g = 0, also where a is a little off.
        """
        gates = []
        offsets = []
        for gate, branch in self._gates(op):
            form = self.sops.number(branch)
            low, high = self.sops.range(branch, form)
            size = high - low
            gates.append(Gate(form.plus(-low), ((0, 1),), (gate,), size, size + 1))
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

    def _gates(self, op: Choose | Pick) -> list[tuple[Form, int]]:
        """Return for each branch the form that is 1 where it is taken, else 0."""
        if isinstance(op, Choose):
            c = self.sops.truth(op.condition)
            return [(c, op.then), (c.scaled(-1).plus(1), op.otherwise)]
        key = self.sops.onehot(op.key)
        forms = {order(v): form for v, form in zip(key.values, key.forms, strict=True)}
        gates: dict[int, list[Form]] = {}
        for value, option in zip(op.values, op.options, strict=True):
            if order(value) in forms:
                gates.setdefault(option, []).append(forms[order(value)])
        return [(combine((1, f) for f in parts), option) for option, parts in gates.items()]
