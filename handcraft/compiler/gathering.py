"""S-ops that gather over positions: aggregates, sums and widths, by the heads of `attention`."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.compiler.draft import NUMBER, Draft
from handcraft.compiler.forms import Direction, Form, Number, combine, constant, direction
from handcraft.compiler.neurons import gated, interpolate
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.purposes import Gate
from handcraft.compiler.selection import POSITIONS, SOP, Carrier, Term
from handcraft.language.domains import Finite, bounds, is_numeric
from handcraft.language.typed import Aggregate, Total, Width
from handcraft.language.values import Value, kind, order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.attention import Attention
    from handcraft.compiler.builds import Builds
    from handcraft.compiler.facts import Facts


class Gathering:
    """Makes aggregates, sums and widths.

    Args:
        facts: what the program says.
        draft: the graph under construction.
        attention: makes the heads.
        sops: makes s-ops as numbers and one-hots.
    """

    def __init__(
        self,
        facts: Facts,
        draft: Draft,
        attention: Attention,
        sops: Builds,
    ) -> None:
        self.facts = facts
        self.program = facts.program
        self.draft = draft
        self.attention = attention
        self.sops = sops
        self._shares: dict[int, list[Form]] = {}

    def number(self, node: int) -> Form:
        """Return an aggregate of numbers, a sum or a width as a number."""
        known = self.program.nodes[node]
        match known.op:
            case Aggregate(selector, value, default):
                return self._mean(node, selector, value, default)
            case Width(selector):
                return self._width(node, selector)
            case Total(selector, value):
                return self._total(node, selector, value)
            case _:
                raise AssertionError(f"{known.op} gathers nothing")

    def onehot(self, node: int) -> OneHot:
        """Return an aggregate that takes one value as a one-hot."""
        known = self.program.nodes[node]
        op = known.op
        assert isinstance(op, Aggregate)
        domain = known.domain
        assert isinstance(domain, Finite)
        values = domain.values
        moved = self.attention.at_keys(op.selector).sops.onehot(op.value)
        index = {order(v): k for k, v in enumerate(values)}
        name = self._variable(node, [str(v) for v in values])
        counts = self.facts.counts(op.selector)
        default = self._default(op) if counts.fewest == 0 else None
        columns: list[tuple[Form, Number | None]] = [(constant(0), 0) for _ in values]
        for value, form in zip(moved.values, moved.forms, strict=True):
            if order(value) in index:
                columns[index[order(value)]] = (form, 0)
        if op.default is None or counts.fewest > 0:
            columns = [(form, None) for form, _ in columns]
        elif default is not None:
            columns[index[order(default)]] = (columns[index[order(default)]][0], 1)
        targets: list[Direction] = [(name, k) for k in range(len(values))]
        if op.default is not None and default is None and counts.fewest == 0:
            instead = self.sops.onehot(op.default)
            empty = self._empty(node, op.selector)
            gates = [
                Gate(form, ((index[order(value)], 1),), (empty,), 1, 1)
                for value, form in zip(instead.values, instead.forms, strict=True)
            ]
            self.attention.move(
                op.selector, columns, targets, name, self.facts.said(node), alike=True
            )
            layer = gated(gates, (0,) * len(values))
            self.draft.compute(f"{name}.default", layer, targets, self.facts.said(node), known.span)
            return OneHot(values, tuple(direction(*t) for t in targets), False)
        self.attention.move(op.selector, columns, targets, name, self.facts.said(node), alike=True)
        forms = tuple(direction(*t) for t in targets)
        return OneHot(values, forms, moved.exact and counts.most <= 1)

    def share(self, node: int) -> Form | None:
        """Return the form 1/(1+w) of a width that one head counts, None for other s-ops."""
        op = self.program.nodes[node].op
        if (
            not isinstance(op, Width)
            or self.facts.selection.widths_by_position(op.selector) is not None
        ):
            return None
        counts = self.facts.counts(op.selector)
        if counts.most <= 1:
            return None
        shares = self._counted(node, op.selector)
        return shares[0] if len(shares) == 1 else None

    # Aggregates ------------------------------------------------------------------------------

    def _mean(self, node: int, selector: int, value: int, default: int | None) -> Form:
        known = self.program.nodes[node]
        moved = self.attention.at_keys(selector).sops.number(value)
        name = self._variable(node, (NUMBER,))
        op = known.op
        assert isinstance(op, Aggregate)
        counts = self.facts.counts(selector)
        constant_ = self._default(op)
        if default is None or constant_ is not None or counts.fewest > 0:
            filler = None
            if constant_ is not None and counts.fewest == 0:
                filler = self.code(node, constant_)
            column = [(moved, filler)]
            self.attention.move(selector, column, [(name, 0)], name, self.facts.said(node))
            return direction(name, 0)
        self.attention.move(selector, [(moved, 0)], [(name, 0)], name, self.facts.said(node))
        empty = self._empty(node, selector)
        form, low, high = self._coded(node, default)
        size = high - low
        layer = gated([Gate(form.plus(-low), ((0, 1),), (empty,), size, size)], (0,))
        self.draft.compute(f"{name}.default", layer, [(name, 0)], self.facts.said(node), known.span)
        return direction(name, 0) + empty.scaled(low)

    def code(self, node: int, value: Value) -> Fraction:
        """Return the number that stands for a value of an aggregate of numbers.

        It is the number itself; what is no number has one below all numbers, each its own.
        """
        if kind(value) == "number":
            return Fraction(value)
        values = self.facts.values(node)
        others = [order(v) for v in values if kind(v) != "number"]
        low = min((Fraction(v) for v in values if kind(v) == "number"), default=Fraction(0))
        return low - 1 - others.index(order(value))

    def _coded(self, node: int, default: int) -> tuple[Form, Fraction, Fraction]:
        """Return the default of an aggregate as the number that stands for it, and its bounds."""
        if is_numeric(self.facts.domain(default)):
            form = self.sops.number(default)
            return form, *self.sops.range(default, form)
        onehot = self.sops.onehot(default)
        codes = [self.code(node, value) for value in onehot.values]
        form = combine(zip(codes, onehot.forms, strict=True))
        if self.facts.is_total(default):
            return form, min(codes), max(codes)
        size = self.draft.precision.size(form)
        return form, Fraction(-size), Fraction(size)

    def _default(self, op: Aggregate) -> Value | None:
        """Return the default if it is the same everywhere."""
        if op.default is None or not self.facts.is_total(op.default):
            return None
        match self.facts.domain(op.default):
            case Finite((value,)):
                return value
            case _:
                return None

    def _empty(self, node: int, selector: int) -> Form:
        """Return 1 where a selector selects nothing, else 0."""
        known = self.program.nodes[selector]
        name = self.draft.variable(
            f"{self.facts.label(node)}.empty", ("true",), "nothing is selected", known.span
        )
        self.attention.move(selector, [(constant(0), 1)], [(name, 0)], name, "nothing is selected")
        return direction(name, 0)

    # Counting --------------------------------------------------------------------------------

    def _counted(self, node: int, selector: int) -> list[Form]:
        if node not in self._shares:
            name = self.facts.label(node) + ".share"
            said = self.facts.said(selector)
            self._shares[node] = self.attention.shares(selector, {}, name, said)
        return self._shares[node]

    def _width(self, node: int, selector: int) -> Form:
        counts = self.facts.counts(selector)
        if counts.most <= 1:
            name = self._variable(node, (NUMBER,))
            self.attention.move(
                selector, [(constant(1), 0)], [(name, 0)], name, self.facts.said(node)
            )
            return direction(name, 0)
        shares = self._counted(node, selector)
        if not shares:
            return constant(0)
        fewest, most = (counts.fewest, counts.most) if len(shares) == 1 else (0, counts.most)
        name = self._variable(node, (NUMBER,))
        for share in shares:
            self._count_from(share, fewest, most, 1, name, node)
        return direction(name, 0)

    def _count_from(
        self, share: Form, fewest: int, most: int, weight: Number, name: str, node: int
    ) -> None:
        """Add `weight` times the count w to a variable, from 1/(1+w)."""
        counts = range(most, fewest - 1, -1)
        points = [Fraction(1, 1 + w) for w in counts]
        errors = self.draft.errors(share, points)
        layer = interpolate(share, points, [Fraction(weight * w) for w in counts], errors)
        span = self.program.nodes[node].span
        self.draft.compute(name, layer, [(name, 0)], self.facts.said(node), span)

    def _total(self, node: int, selector: int, value: int) -> Form:
        counts = self.facts.counts(selector)
        if counts.most <= 1:
            name = self._variable(node, (NUMBER,))
            moved = self.attention.at_keys(selector).sops.number(value)
            self.attention.move(selector, [(moved, 0)], [(name, 0)], name, self.facts.said(node))
            return direction(name, 0)
        widths = self.facts.selection.widths_by_position(selector)
        if widths is not None:
            return self._mean_times(node, selector, value, widths)
        return self._weighted_counts(node, selector, value)

    def _mean_times(self, node: int, selector: int, value: int, widths: tuple[int, ...]) -> Form:
        """Return mean times width, where the position says the width.

        For each width w a neuron that only its positions let through adds w (mean - low); what is
        missing, w low, is a number of the position, so its embedding writes it.
        """
        if not any(widths):
            return constant(0)
        known = self.program.nodes[node]
        name = self._variable(node, (NUMBER,))
        self.attention.move(
            selector, [(self.sops.number(value), 0)], [(name, 0)], name, self.facts.said(node)
        )
        mean = direction(name, 0)
        domain = self.facts.domain(value)
        low, high = (Fraction(b) for b in bounds(domain))
        if min(widths) == 0:
            low, high = min(low, Fraction(0)), max(high, Fraction(0))
        places = self.sops.onehot(POSITIONS).forms
        gates = []
        size = high - low
        for w in sorted(set(widths) - {0}):
            here = combine((1, places[i]) for i, width in enumerate(widths) if width == w)
            gates.append(Gate(mean.plus(-low), ((0, w),), (here,), size, size + 1))
        total = self._variable(node, (NUMBER,))
        layer = gated(gates, (0,), is_one=True)
        self.draft.compute(total, layer, [(total, 0)], self.facts.said(node), known.span)
        if not low:
            return direction(total, 0)
        rows = [[low * w] for w in widths]
        meaning = f"{low} times how many are selected"
        offset = self.draft.embed(f"{total}.offset", (NUMBER,), "position", rows, meaning)
        return direction(total, 0) + direction(offset, 0)

    def _weighted_counts(self, node: int, selector: int, value: int) -> Form:
        """Return the sum over the values v of v times how many selected keys have it."""
        onehot = self.attention.at_keys(selector).sops.onehot(value)
        carrier = Carrier(SOP, value)
        name = self._variable(node, (NUMBER,))
        most = self.facts.selection.n_keys(selector)
        is_written = False
        for index, v in enumerate(onehot.values):
            weight = Fraction(v) if not isinstance(v, str) else Fraction(0)
            if weight:
                extra: Term = {(carrier, None): (1 << index,)} if len(onehot.values) > 1 else {}
                text = f"{v} in {self.facts.said(node)}"
                for share in self.attention.shares(selector, extra, name + ".share", text):
                    self._count_from(share, 0, most, weight, name, node)
                    is_written = True
        return direction(name, 0) if is_written else constant(0)

    def _variable(self, node: int, labels: Sequence[str]) -> str:
        said = self.facts.said(node)
        span = self.program.nodes[node].span
        return self.draft.variable(self.facts.label(node), labels, said, span)
