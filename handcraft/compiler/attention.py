"""Selectors as heads: who is looked at, what is moved, and how many were selected.

Scores are whole units. A conjunction of m tables gives a selected pair m units (times `unit`), any
other at most m - 1. The hidden start token stands in where nothing is selected, half a unit above
the losers; in a head that counts it scores exactly as much as a selected key, so with w selected
keys its share is 1/(1+w).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Protocol

from handcraft.compiler.draft import SHARE, Draft, Pattern
from handcraft.compiler.forms import START, Direction, Form, Number, combine, constant, direction
from handcraft.compiler.levels import NARROW_SCORES, Passes
from handcraft.compiler.neurons import boxes, steps
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.scores import (
    Factors,
    Product,
    classes_of,
    distance_factors,
    joined,
    rank,
    table_factors,
)
from handcraft.compiler.selection import (
    PLACE,
    POSITIONS,
    SOP,
    Carrier,
    Pair,
    Rows,
    Term,
    TooManyTermsError,
    conjunction,
)
from handcraft.language.domains import is_numeric
from handcraft.language.typed import Best, First, Latest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.facts import Facts
    from handcraft.errors import Span

JOINT = "joint"
"""The kind of a carrier that is made of several others."""

NARROW = 3
"""Products that a table may need before it is scored by distances instead, which need two."""

WIDEST = 2**22
"""Units of score that distances may need."""

FORMAT = Fraction(1, 2**24)
"""The roundoff of float32: what is inexact there is restored before its errors count."""

SLACK = Fraction(1, 16)
"""The part of a gap by which the errors of keys, or those of queries, may change a score."""


class Builds(Protocol):
    """Makes s-ops."""

    def number(self, node: int) -> Form:
        """Return an s-op as a number."""

    def onehot(self, node: int) -> OneHot:
        """Return an s-op, or the positions (node -1), as a one-hot."""

    def function(self, node: int, results: Sequence[Fraction]) -> Form:
        """Return a function of a number, by its result for each value of its domain."""


class Attention:
    """Makes heads for the selectors of one program.

    Args:
        facts: what the program says.
        draft: the graph under construction.
        sops: makes s-ops as numbers and one-hots.
        passes: what is made smaller.
    """

    def __init__(self, facts: Facts, draft: Draft, sops: Builds, passes: Passes) -> None:
        self.facts = facts
        self.program = facts.program
        self.selection = facts.selection
        self.draft = draft
        self.sops = sops
        self.passes = passes
        self._places: dict[int, OneHot] = {}
        self._joints: list[OneHot] = []
        self._products: dict[tuple[Carrier, ...], int] = {}
        self._restored: dict[tuple[Form, ...], tuple[Form, ...]] = {}

    # What heads are used for -----------------------------------------------------------------

    def move(
        self,
        selector: int,
        columns: Sequence[tuple[Form, Number | None]],
        targets: Sequence[Direction],
        name: str,
        text: str,
        *,
        alike: bool = False,
    ) -> None:
        """Move forms from the selected key, or their mean over the selected keys.

        Where nothing is selected, each column's number is moved instead; None says that this does
        not matter. `alike`: the forms are the same at all selected keys, so that any mixture will
        do.
        """
        node, counts = self.program.nodes[selector], self.facts.counts(selector)
        matters = any(number is not None for _, number in columns)
        mean = counts.most > 1
        sunk = matters and counts.fewest == 0
        pattern = self._looking(selector, may_be_empty=sunk, equal=mean and not alike)
        forms = [self.draft.at_start(form, number or 0) for form, number in columns]
        self.draft.attend(name, pattern, forms, targets, text, node.span, mean=mean)

    def shares(self, selector: int, extra: Term, name: str, text: str) -> list[Form]:
        """Return, for each disjoint part of a selector, the form 1/(1+w).

        w is how many keys the part selects; `extra` is one more condition.
        """
        self.draft.require_start()
        node = self.program.nodes[selector]
        made = []
        for term in self._terms_of(selector, extra):
            pattern = self._scores(term, slope=None, rank=0, below=Fraction(0), equal=True)
            share = self.draft.variable(name, (SHARE,), f"{SHARE}, w = {text}", node.span)
            column = self.draft.at_start(constant(0), 1)
            said = f"counts {text}"
            self.draft.attend(name, pattern, [column], [(share, 0)], said, node.span, mean=True)
            made.append(direction(share, 0))
        return made

    def _terms_of(self, selector: int, extra: Term) -> list[Term]:
        try:
            terms = self.selection.terms(selector)
        except TooManyTermsError:
            terms = [self._joint(selector)]
        return [conjunction(term, extra) for term in terms]

    # Patterns --------------------------------------------------------------------------------

    def _looking(self, selector: int, *, may_be_empty: bool, equal: bool) -> Pattern:
        """Return the pattern of a selector that takes one key, or means over its keys."""
        if may_be_empty:
            self.draft.require_start()
        op = self.program.nodes[selector].op
        inner = selector
        slope: Form | None = None
        rank = 0
        if isinstance(op, Best | First | Latest):
            inner = op.selector
            slope, rank = self._slope(op)
        term = self._one_term(inner)
        below = Fraction(1, 2) if may_be_empty else None
        return self._scores(term, slope=slope, rank=rank, below=below, equal=equal)

    def _one_term(self, selector: int) -> Term:
        try:
            terms = self.selection.terms(selector)
        except TooManyTermsError:
            return self._joint(selector)
        if not terms:
            return {(None, None): (0,)}
        return terms[0] if len(terms) == 1 else self._joint(selector)

    def _slope(self, op: Best | First | Latest) -> tuple[Form, int]:
        """Return the units that tell selected keys apart, and the most of them."""
        context = self.program.context
        places = self.sops.onehot(self.selection.position.node).forms
        if isinstance(op, First):
            return combine((context - 1 - j, f) for j, f in enumerate(places)), context - 1
        late = combine(enumerate(places))
        if isinstance(op, Latest):
            return late, context - 1
        score = self._exact(self.sops.onehot(op.score))
        numbers = sorted({Fraction(v) for v in score.values if not isinstance(v, str)})
        ranks = {number: rank for rank, number in enumerate(numbers)}
        high = combine(
            (ranks[Fraction(v)] * context, f)
            for v, f in zip(score.values, score.forms, strict=True)
            if not isinstance(v, str)
        )
        return high + late, (len(numbers) - 1) * context + context - 1

    def _scores(
        self,
        term: Term,
        *,
        slope: Form | None,
        rank: int,
        below: Fraction | None,
        equal: bool,
    ) -> Pattern:
        """Return a pattern whose winners are the keys of a conjunction.

        Args:
            term: the conjunction.
            slope: what tells its keys apart, from 0 to `rank` units.
            rank: see there.
            below: how far the start token stays below a winner, in units; None keeps it out.
            equal: several keys may win, and their scores must be equal bit for bit.
        """
        unit = 2 * (rank + 1)
        allowed = SLACK / max(1, len(term)) / (1 if slope is None else unit)
        parts = [
            self._factors(pair, rows, equal=equal, allowed=allowed, sunk=below is not None)
            for pair, rows in sorted(term.items(), key=lambda item: repr(item[0]))
        ]
        products = [
            Product(p.query.scaled(unit), p.key, p.outside if below is None else Fraction(0))
            for part in parts
            for p in part.products
        ]
        if slope is not None:
            products.append(Product(constant(1), slope, Fraction(0)))
        gap = Fraction(1 if slope is not None else unit)
        if self.draft.start:
            if below is not None:
                top = combine((unit, part.top) for part in parts).plus(-below * unit)
                products.append(Product(top, direction(*START), Fraction(1)))
                gap = min(gap, below * unit) if below else gap
            elif not parts:
                products.append(Product(constant(-unit), direction(*START), Fraction(1)))
        gap -= 2 * unit * sum((part.error for part in parts), Fraction(0))
        largest = sum((part.largest for part in parts), Fraction(0)) * unit + rank
        return Pattern(*self._started(joined(products), unit), gap, largest)

    def _started(
        self, products: Sequence[Product], unit: int
    ) -> tuple[tuple[Form, ...], tuple[Form, ...]]:
        """Return query and key forms that are right at the start token too.

        As a key it has what each product says; as a query it sees nothing but itself, which where
        the mask does not say so takes one more product.
        """
        place = self.draft.at_start
        keys = [place(p.key, p.outside) for p in products]
        if self.program.causal or not self.draft.start:
            return tuple(p.query for p in products), tuple(keys)
        own = Product(constant(0), direction(*START), Fraction(1))
        sink = next((i for i, p in enumerate(products) if p.key == own.key), len(products))
        queries = [place(p.query, 0) for p in (*products, own)]
        queries[sink] = place((*products, own)[sink].query, unit)
        return tuple(queries[: sink + 1 if sink == len(products) else -1]), (
            tuple(keys) if sink < len(products) else (*keys, own.key)
        )

    def _factors(
        self, pair: Pair, rows: Rows, *, equal: bool, allowed: Fraction, sunk: bool
    ) -> Factors:
        """Return a table of zeros and ones as a score, by classes or by distances."""
        key, query = pair
        if NARROW_SCORES in self.passes and key is not None and query is not None:
            narrow = self._distances(key, query, rows, equal=equal, allowed=allowed, sunk=sunk)
            if narrow is not None:
                return narrow
        keys, of_keys = self._carried(key, equal=equal, allowed=allowed)
        queries, of_queries = self._carried(query, equal=equal, allowed=allowed)
        return table_factors(queries, keys, rows, of_keys + of_queries)

    def _distances(
        self,
        key: Carrier,
        query: Carrier,
        rows: Rows,
        *,
        equal: bool,
        allowed: Fraction,
        sunk: bool,
    ) -> Factors | None:
        """Return a table that is an equality as distances, if that is narrower and exact enough."""
        classes = classes_of(rows, self._size(key))
        if classes is None or rank(rows, self._size(key)) <= NARROW:
            return None
        if classes.largest > WIDEST * allowed:
            return None
        k = self._numbered(key, classes.keys, exact=equal)
        q = self._numbered(query, classes.queries, exact=False)
        if k is None or q is None or (sunk and not self._is_free(query)):
            return None
        largest = max(map(abs, (*classes.keys, *classes.queries)))
        error = 2 * largest * FORMAT * sum(map(self.draft.precision.error, (k, q)))
        if error > allowed:
            return None
        squares = tuple(k * k for k in classes.keys)
        square = self._numbered(key, squares, exact=equal)
        if square is None:
            square = self.sops.function(key.node, [Fraction(c) for c in squares])
        highest = tuple(c * c for c in classes.queries)
        top = self._numbered(query, highest, exact=False) if sunk else constant(0)
        assert top is not None
        error += FORMAT * self.draft.precision.error(square)
        return distance_factors(q, top, k, square, classes, error)

    def _numbered(self, carrier: Carrier, numbers: Sequence[int], *, exact: bool) -> Form | None:
        """Return a number for each value of a variable: read off its one-hot, or off its number."""
        if self._is_free(carrier):
            onehot = self._onehot_of(carrier)
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

    def _is_free(self, carrier: Carrier) -> bool:
        """Return whether the one-hot of a variable is there without further neurons."""
        if carrier.kind != SOP:
            return True
        return carrier.node == POSITIONS or self.facts.is_categorical(carrier.node)

    def _size(self, carrier: Carrier) -> int:
        return (
            len(self._onehot_of(carrier).forms)
            if carrier.kind == JOINT
            else (self.selection.size(carrier))
        )

    # Variables that selectors read -----------------------------------------------------------

    def _carried(
        self, carrier: Carrier | None, *, equal: bool, allowed: Fraction
    ) -> tuple[tuple[Form, ...], Fraction]:
        """Return the one-hot of a variable and its error, restored where that would count."""
        if carrier is None:
            return (constant(1),), Fraction(0)
        onehot = self._onehot_of(carrier)
        if onehot.exact:
            return onehot.forms, Fraction(0)
        error = 2 * FORMAT * max(map(self.draft.precision.error, onehot.forms))
        if equal or error > allowed:
            return self._exact(onehot).forms, Fraction(0)
        return onehot.forms, error

    def _onehot_of(self, carrier: Carrier) -> OneHot:
        if carrier.kind == PLACE:
            return self._place(carrier.node)
        return (
            self._joints[carrier.node] if carrier.kind == JOINT else self.sops.onehot(carrier.node)
        )

    def _place(self, selector: int) -> OneHot:
        """Return the position of the one key that a selector takes, or none."""
        if selector not in self._places:
            node = self.program.nodes[selector]
            places = self.sops.onehot(self.selection.position.node)
            name = self.draft.variable(
                f"{node.name or 'place'}.key",
                [str(i) for i in range(self.program.context)],
                f"the position that `{_said(node.span)}` takes",
                node.span,
            )
            targets = [(name, i) for i in range(self.program.context)]
            text = f"the position of {_said(node.span)}"
            self.move(selector, [(form, 0) for form in places.forms], targets, name, text)
            taken = tuple(direction(*target) for target in targets)
            none = combine((-1, form) for form in taken).plus(1)
            values = (*range(self.program.context), "none")
            self._places[selector] = OneHot(values, (*taken, none), True)
        return self._places[selector]

    def _exact(self, onehot: OneHot) -> OneHot:
        """Return a one-hot whose forms are 0 and 1 bit for bit.

        A step of slope 2 restores them: for x within 1/8 of 1, `2x - 1/2` and `2x - 3/2` are exact
        in floating point, so their ReLUs differ by exactly 1; near 0 both are exactly 0.
        """
        if onehot.exact:
            return onehot
        if onehot.forms not in self._restored:
            labels = [str(v) for v in onehot.values]
            span = self.program.nodes[-1].span
            name = self.draft.variable("restored", labels, "a one-hot, exact again", None)
            targets = [(name, i) for i in range(len(labels))]
            for form, target in zip(onehot.forms, targets, strict=True):
                layer = steps(form, (Fraction(0), Fraction(1)), ({}, {0: Fraction(1)}), 1)
                self.draft.compute(name, layer, [target], "restores a one-hot", span)
            self._restored[onehot.forms] = tuple(direction(*t) for t in targets)
        return OneHot(onehot.values, self._restored[onehot.forms], True)

    def _joint(self, selector: int) -> Term:
        """Return any selector as one table over a joint key and a joint query variable."""
        keys, queries, rows = self.selection.joint(selector)
        span = self.program.nodes[selector].span
        return {(self._product(keys, span), self._product(queries, span)): rows}

    def _product(self, carriers: tuple[Carrier, ...], span: Span) -> Carrier | None:
        """Return a variable with one value for each tuple of the values of others."""
        if len(carriers) <= 1:
            return carriers[0] if carriers else None
        if carriers not in self._products:
            parts = [self._exact(self._onehot_of(c)) for c in carriers]
            size = prod(len(part.forms) for part in parts)
            labels = [" ".join(map(str, row)) for row in product(*(p.values for p in parts))]
            name = self.draft.variable("joint", labels, f"joint values for {_said(span)}", span)
            targets = [(name, i) for i in range(size)]
            layer = boxes([part.forms for part in parts], range(size), size)
            text = f"joint values for {_said(span)}"
            self.draft.compute(name, layer, targets, text, span)
            forms = tuple(direction(*target) for target in targets)
            self._products[carriers] = len(self._joints)
            self._joints.append(OneHot(tuple(range(size)), forms, True))
        return Carrier(JOINT, self._products[carriers])


def _said(span: Span) -> str:
    return " ".join(span.text.split())[:60]
