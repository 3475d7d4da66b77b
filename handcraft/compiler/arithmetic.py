"""Arithmetic of two numbers that is not affine: products, quotients, the larger and the smaller.

A product with something that has a few values is let through one gate for each value, whatever
the other number is. A product of two numbers with short lists of sums is a difference of squares,
xy = ((x + y)^2 - (x - y)^2) / 4, each interpolated between the values that it can take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, TypeAlias

from handcraft.compiler.carriers import FORMAT
from handcraft.compiler.draft import NUMBER
from handcraft.compiler.facts import numeric
from handcraft.compiler.forms import Form, combine, constant
from handcraft.compiler.neurons import Layer, gated, steps
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.purposes import Gate
from handcraft.language.domain_rules import function_domain
from handcraft.language.domains import Domain, Finite, Lattice, as_lattice, bounds, kinds
from handcraft.language.typed import Apply, Constant
from handcraft.language.values import COMPARISONS

if TYPE_CHECKING:
    from handcraft.compiler.builds import Builds
    from handcraft.compiler.curves import Curves
    from handcraft.compiler.draft import Draft
    from handcraft.compiler.facts import Facts
    from handcraft.language.values import Value

MOST_GATES = 256
"""Values of a factor that get a gate each."""

MOST_STEPS = 4096
"""Integers between which a number is rounded."""


CLEAN = Fraction(1, 512)
"""The part of the distance of two results by which what is 0 or 1 in them may be off."""

HALF = Fraction(1, 2)

Rounding: TypeAlias = Callable[[Fraction], "int | bool"]

SIGNS: Mapping[str, Rounding] = {
    "sign": lambda x: (x > 0) - (x < 0),
    "indicator": lambda x: x != 0,
    "truth": lambda x: x != 0,
    "not": lambda x: x == 0,
}

ROUNDED: Mapping[str, Rounding] = {"floor": floor, "ceil": ceil, "round": round, "int": int}


class Arithmetic:
    """Makes functions of one or two numbers of one program.

    Args:
        facts: what the program says.
        draft: the graph under construction.
        sops: makes s-ops as numbers and one-hots.
        curves: makes functions of one number.
        exact: restores a one-hot to the last bit.
    """

    def __init__(
        self,
        facts: Facts,
        draft: Draft,
        sops: Builds,
        curves: Curves,
        exact: Callable[[OneHot], OneHot],
    ) -> None:
        self.facts = facts
        self.draft = draft
        self.sops = sops
        self.curves = curves
        self.exact = exact

    def number(self, node: int, op: Apply) -> Form | None:
        """Return an operation as a number, None where it is none of those made here."""
        if any("string" in kinds(self.facts.domain(a)) for a in op.arguments):
            return None
        match op.function, op.arguments:
            case "abs", (x,):
                form = self.sops.number(x)
                return self._bent(node, constant(0), ((form, 1), (form.scaled(-1), 1)))
            case "max" | "min" as which, (left, right):
                a, b = self.sops.number(left), self.sops.number(right)
                if which == "max":
                    return self._bent(node, b, ((a - b, 1),))
                return self._bent(node, a, ((a - b, -1),))
            case "*", (left, right):
                return self._product(node, left, right)
            case "/", (left, right) if self._gates(right) <= MOST_GATES:
                values = self.facts.values(right)
                factors: dict[Value, Fraction] = {v: 1 / numeric(v) for v in values if numeric(v)}
                return self._gated(node, self._ranged(left), right, factors)
            case "sign" | "indicator" | "truth" | "not" as which, (x,):
                return self._of(node, x, SIGNS[which], halves=False)
            case "floor" | "ceil" | "round" | "int" as which, (x,):
                return self._of(node, x, ROUNDED[which], halves=True)
            case "//" | "%" as which, (x, y) if self._is_divisor(node, y):
                return self._divided(node, x, y, remainder=which == "%")
            case _:
                return None

    def linear(self, node: int, op: Apply) -> Form | None:
        """Return an affine operation as a form."""
        arguments = op.arguments
        constants = [self._constant(a) for a in arguments]
        match op.function:
            case "+" if not any("string" in kinds(self.facts.domain(a)) for a in arguments):
                return self._clean(node, arguments[0]) + self._clean(node, arguments[1])
            case "-":
                return self._clean(node, arguments[0]) - self._clean(node, arguments[1])
            case "negate":
                return self.sops.number(arguments[0]).scaled(-1)
            case "*" if constants[0] is not None:
                return self.sops.number(arguments[1]).scaled(constants[0])
            case "*" if constants[1] is not None:
                return self.sops.number(arguments[0]).scaled(constants[1])
            case "/" if constants[1]:
                return self.sops.number(arguments[0]).scaled(1 / constants[1])
            case "not" | "truth" | "indicator" if kinds(self.facts.domain(arguments[0])) <= {
                "boolean"
            }:
                x = self.sops.number(arguments[0])
                return x.scaled(-1).plus(1) if op.function == "not" else x
            case _:
                return None

    def _clean(self, node: int, term: int) -> Form:
        """Return a term of a sum: a truth value restored where its error would count.

        Conditions that are made of conditions are off by more and more.
        """
        form = self.sops.number(term)
        domain = self.facts.domain(term)
        if not isinstance(domain, Finite) or not set(domain.values) <= {0, 1}:
            return form
        error = self.draft.precision.error(form) * FORMAT
        if not form.terms or error <= CLEAN * as_lattice(self.facts.domain(node)).spacing:
            return form
        return self.exact(OneHot((1,), (form,), False)).forms[0]

    def comparison(self, node: int, function: str, left: int, right: int) -> Form:
        """Return a comparison of two numbers as a step on their difference."""
        difference = function_domain("-", [self.facts.domain(left), self.facts.domain(right)])
        x = self.sops.number(left) - self.sops.number(right)
        if isinstance(difference, Finite):
            points = [numeric(v) for v in difference.values]
        else:
            assert isinstance(difference, Lattice)
            near = difference.distance(0)
            low, high = min(-near, Fraction(difference.low)), max(near, Fraction(difference.high))
            points = sorted({low, -near, Fraction(0), near, high})
        results = [Fraction(COMPARISONS[function](p, 0)) for p in points]
        layer = steps(x, points, [{0: r} for r in results], 1)
        return self.sops.write(node, layer, ("true",))[0]

    def _of(self, node: int, x: int, function: Rounding, *, halves: bool) -> Form | None:
        return self._stepped(
            node, self.facts.domain(x), self.sops.number(x), function, halves=halves
        )

    def _bent(self, node: int, base: Form, parts: tuple[tuple[Form, int], ...]) -> Form:
        """Return a form plus the positive parts of others."""
        gates = [Gate(form, ((0, sign),)) for form, sign in parts]
        error = sum((self.draft.precision.error(form) for form, _ in parts), Fraction(0))
        error += sum((2 * self.draft.precision.size(form) for form, _ in parts), Fraction(0))
        return base + self._written(node, gated(gates, (0,), error=error))

    def _product(self, node: int, left: int, right: int) -> Form | None:
        ways = sorted((self._gates(factor), factor) for factor in (left, right))
        few, factor = ways[0]
        other = right if factor == left else left
        points = [
            function_domain(f, [self.facts.domain(left), self.facts.domain(right)]) for f in "+-"
        ]
        lists = [p.values for p in points if isinstance(p, Finite)]
        if len(lists) == len(points) and not self.sops.is_free(factor):
            return self._squares(node, left, right, [list(map(numeric, v)) for v in lists])
        if few <= MOST_GATES:
            factors: dict[Value, Fraction] = {v: numeric(v) for v in self.facts.values(factor)}
            return self._gated(node, self._ranged(other), factor, factors)
        return None

    def _gates(self, node: int) -> int:
        """Return how many neurons it takes to let a number through one gate for each value."""
        domain = self.facts.domain(node)
        if not isinstance(domain, Finite):
            return MOST_GATES + 1
        free = self.sops.is_free(node)
        return len(domain.values) * (1 if free else 3)

    def _ranged(self, node: int) -> tuple[Form, Fraction, Fraction]:
        """Return a number with its bounds."""
        form = self.sops.number(node)
        return form, *self.sops.range(node, form)

    def _gated(
        self,
        node: int,
        number: tuple[Form, Fraction, Fraction],
        choice: int,
        factors: Mapping[Value, Fraction],
    ) -> Form:
        """Return a number with these bounds times a factor for each value of another s-op.

        With lo <= x <= hi, relu(x - lo - (hi - lo + 1)(1 - h)) is x - lo where h = 1, and 0 where
        h = 0, also where x is a little off. What h is off counts as often as the range; where that
        is too much, it is restored to the last bit.
        """
        x, low, high = number
        onehot = self.sops.onehot(choice)
        error = max(map(self.draft.precision.error, onehot.forms), default=0) * FORMAT
        counts = error * (high - low + 1) * max(map(abs, factors.values()), default=Fraction(1))
        if counts > CLEAN * as_lattice(self.facts.domain(node)).spacing:
            onehot = self.exact(onehot)
        gates = []
        offset = []
        for value, here in zip(onehot.values, onehot.forms, strict=True):
            factor = factors.get(value, Fraction(0))
            if factor:
                size = high - low
                gates.append(Gate(x.plus(-low), ((0, factor),), (here,), size, size + 1))
                offset.append((factor * low, here))
        layer = gated(gates, (0,), is_one=True)
        return self._written(node, layer) + combine(offset)

    def _squares(self, node: int, left: int, right: int, points: list[list[Fraction]]) -> Form:
        a, b = self.sops.number(left), self.sops.number(right)
        total = constant(0)
        least = as_lattice(self.facts.domain(node)).spacing
        for form, sign, places in zip((a + b, a - b), (1, -1), points, strict=True):
            quarters = [sign * p * p / 4 for p in places]
            total = total + self.curves.at_points(node, form, places, quarters, least)
        return total

    def _stepped(
        self, node: int, domain: Domain, form: Form, function: Rounding, *, halves: bool
    ) -> Form | None:
        """Return a function that jumps at whole numbers (or between two) and is flat elsewhere."""
        numbers = as_lattice(domain)
        low, high = Fraction(numbers.low), Fraction(numbers.high)
        wholes = range(floor(low), ceil(high) + 1) if halves else range(1)
        if len(wholes) > MOST_STEPS:
            return None
        points = {low, high}
        for place in (w + part for w in wholes for part in (Fraction(0), HALF)[: 1 + halves]):
            near = numbers.distance(place)
            points |= {p for p in (place - near, place, place + near) if low <= p <= high}
        places = sorted(points)
        results = [{0: Fraction(function(p))} for p in places]
        return self._written(node, steps(form, places, results, 1))

    def _divided(self, node: int, x: int, divisor: int, *, remainder: bool) -> Form | None:
        """Return x // d, or x - d (x // d), of a divisor that has few values."""
        domain = function_domain("/", [self.facts.domain(x), self.facts.domain(divisor)])
        if domain is None:
            return None
        values = {v: numeric(v) for v in self.facts.values(divisor) if numeric(v)}
        inverses = {v: 1 / each for v, each in values.items()}
        number = self._constant(divisor)
        if number is not None:
            form = self.sops.number(x).scaled(1 / number)
        else:
            form = self._gated(node, self._ranged(x), divisor, inverses)
        whole = self._stepped(node, domain, form, floor, halves=True)
        if whole is None or not remainder:
            return whole
        if number is not None:
            return self.sops.number(x) - whole.scaled(number)
        low, high = (Fraction(floor(end)) for end in bounds(domain))
        return self.sops.number(x) - self._gated(node, (whole, low, high), divisor, values)

    def _is_divisor(self, node: int, divisor: int) -> bool:
        """Return whether a division is no table, and its divisor has few values."""
        table = self.facts.program.nodes[node].table
        alone = table is None or table.leaves == (node,)
        if self._constant(divisor) is None and not alone:
            return False
        return self._gates(divisor) <= MOST_GATES

    def _constant(self, node: int) -> Fraction | None:
        op = self.facts.program.nodes[node].op
        if isinstance(op, Constant) and not isinstance(op.value, str):
            return Fraction(op.value)
        return None

    def _written(self, node: int, layer: Layer) -> Form:
        return self.sops.write(node, layer, (NUMBER,))[0]
