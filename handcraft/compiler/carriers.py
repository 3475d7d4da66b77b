"""The variables that selectors read: one-hots of s-ops, of places, and of several together."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from handcraft.compiler.forms import Form, Number, combine, constant, direction
from handcraft.compiler.levels import COVERS
from handcraft.compiler.neurons import boxes, steps
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.selection import PLACE, SOP, Carrier
from handcraft.language.domains import is_numeric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from handcraft.compiler.builds import Builds
    from handcraft.compiler.draft import Draft
    from handcraft.compiler.facts import Facts
    from handcraft.compiler.joint import Side
    from handcraft.errors import Span

JOINT = "joint"
"""The kind of a carrier that is made of several others."""

FORMAT = Fraction(1, 2**24)
"""The roundoff of float32: what is inexact there is restored before its errors count."""


class Carriers:
    """Makes the variables that the selectors of one program read.

    Args:
        facts: what the program says.
        draft: the graph under construction.
        sops: makes s-ops as numbers and one-hots.
        place: makes the position of the one key that a selector takes.
    """

    def __init__(
        self, facts: Facts, draft: Draft, sops: Builds, place: Callable[[int], OneHot]
    ) -> None:
        self.facts = facts
        self.program = facts.program
        self.draft = draft
        self.sops = sops
        self.place = place
        self._joints: list[OneHot] = []
        self._known: dict[Side, int] = {}
        self._restored: dict[tuple[Form, ...], tuple[Form, ...]] = {}

    def read(
        self, carrier: Carrier | None, *, equal: bool, allowed: Fraction
    ) -> tuple[tuple[Form, ...], Number]:
        """Return the one-hot of a variable and its error in roundoffs.

        It is restored where the error would count.
        """
        if carrier is None:
            return (constant(1),), 0
        onehot = self.onehot(carrier)
        if onehot.exact:
            return onehot.forms, 0
        error = 2 * max(map(self.draft.precision.error, onehot.forms))
        if equal or error * FORMAT > allowed:
            return self.exact(onehot).forms, 0
        return onehot.forms, error

    def onehot(self, carrier: Carrier) -> OneHot:
        """Return a variable as a one-hot."""
        if carrier.kind == PLACE:
            return self.place(carrier.node)
        if carrier.kind == JOINT:
            return self._joints[carrier.node]
        return self.sops.onehot(carrier.node)

    def is_free(self, carrier: Carrier) -> bool:
        """Return whether the one-hot of a variable is there without further neurons."""
        if carrier.kind != SOP:
            return True
        return carrier.node < 0 or self.facts.is_categorical(carrier.node)

    def size(self, carrier: Carrier) -> int:
        """Return how many values a variable has."""
        if carrier.kind == JOINT:
            return len(self.onehot(carrier).forms)
        return self.facts.selection.size(carrier)

    def numbered(self, carrier: Carrier, numbers: Sequence[int], *, exact: bool) -> Form | None:
        """Return a number for each value of a variable: read off its one-hot, or off its number."""
        if self.is_free(carrier):
            onehot = self.onehot(carrier)
            if exact and not onehot.exact:
                return None
            return combine(zip(numbers, onehot.forms, strict=True))
        if exact or carrier.kind != SOP or not is_numeric(self.facts.domain(carrier.node)):
            return None
        values = [Fraction(v) for v in self.facts.values(carrier.node) if not isinstance(v, str)]
        a = (numbers[1] - numbers[0]) / (values[1] - values[0])
        b = numbers[0] - a * values[0]
        if any(a * v + b != n for v, n in zip(values, numbers, strict=True)):
            return None
        return self.sops.number(carrier.node).scaled(a).plus(b)

    def exact(self, onehot: OneHot) -> OneHot:
        """Return a one-hot whose forms are 0 and 1 bit for bit.

        A step of slope 2 restores them: for x within 1/8 of 1, `2x - 1/2` and `2x - 3/2` are exact
        in floating point, so their ReLUs differ by exactly 1; near 0 both are exactly 0. That holds
        for a direction, not for 1 less one, so of a truth value only the direction is restored.
        A constant is exact as it is.
        """
        if onehot.exact:
            return onehot
        if len(onehot.forms) == 2 and onehot.forms[0] == onehot.forms[1].scaled(-1).plus(1):
            plain = 0 if not onehot.forms[0].constant else 1
            alone = OneHot(onehot.values[plain:][:1], onehot.forms[plain:][:1], False)
            restored = self.exact(alone).forms[0]
            forms = [restored, restored.scaled(-1).plus(1)]
            return OneHot(onehot.values, tuple(forms if plain == 0 else reversed(forms)), True)
        if onehot.forms not in self._restored:
            unsure = [i for i, form in enumerate(onehot.forms) if form.terms]
            labels = [str(onehot.values[i]) for i in unsure]
            span = self.program.nodes[-1].span
            name = self.draft.variable("restored", labels, "a one-hot, exact again", None)
            forms = list(onehot.forms)
            for k, i in enumerate(unsure):
                points = (Fraction(0), Fraction(1))
                layer = steps(forms[i], points, ({}, {0: Fraction(1)}), 1)
                self.draft.compute(name, layer, [(name, k)], "restores a one-hot", span)
                forms[i] = direction(name, k)
            self._restored[onehot.forms] = tuple(forms)
        return OneHot(onehot.values, self._restored[onehot.forms], True)

    def joint(self, side: Side, span: Span) -> Carrier | None:
        """Return a variable with one value for each class of the tuples of others."""
        if len(side.carriers) == 1:
            return side.carriers[0]
        size = max(side.classes) + 1
        if size == 1:
            return None
        if side not in self._known:
            parts = [self.exact(self.onehot(c)) for c in side.carriers]
            labels = _labels(parts, side.classes)
            name = self.draft.variable("joint", labels, f"joint values for {words_of(span)}", span)
            targets = [(name, i) for i in range(size)]
            covered = COVERS in self.facts.passes
            layer = boxes([part.forms for part in parts], side.classes, size, covered=covered)
            text = f"joint values for {words_of(span)}"
            self.draft.compute(name, layer, targets, text, span)
            forms = tuple(direction(*target) for target in targets)
            self._known[side] = len(self._joints)
            self._joints.append(OneHot(tuple(range(size)), forms, True))
        return Carrier(JOINT, self._known[side])


def _labels(parts: Sequence[OneHot], classes: Sequence[int]) -> list[str]:
    """Return what each class is called: its first tuple, and how many are beside it."""
    names: dict[int, list[str]] = {}
    for values, number in zip(product(*(p.values for p in parts)), classes, strict=True):
        names.setdefault(number, []).append(" ".join(map(str, values)))
    return [f"{first} and {len(more)} more" if more else first for first, *more in names.values()]


def words_of(span: Span) -> str:
    """Return the first 60 characters that stand at a place."""
    return " ".join(span.text.split())[:60]
