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
from typing import TYPE_CHECKING

from handcraft.compiler.draft import SHARE, Draft, Pattern
from handcraft.compiler.forms import START, Direction, Form, Number, combine, constant, direction
from handcraft.compiler.neurons import boxes, steps
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.selection import (
    PLACE,
    Carrier,
    Rows,
    Term,
    TooManyTermsError,
    conjunction,
)
from handcraft.language.typed import Best, First, Latest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from handcraft.compiler.facts import Facts
    from handcraft.errors import Span

JOINT = "joint"
"""The kind of a carrier that is made of several others."""


class Attention:
    """Makes heads for the selectors of one program.

    Args:
        facts: what the program says.
        draft: the graph under construction.
        onehot: returns an s-op, or the positions (node -1), as a one-hot.
    """

    def __init__(
        self,
        facts: Facts,
        draft: Draft,
        onehot: Callable[[int], OneHot],
    ) -> None:
        self.facts = facts
        self.program = facts.program
        self.selection = facts.selection
        self.draft = draft
        self.onehot = onehot
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
    ) -> None:
        """Move forms from the selected key, or their mean over the selected keys.

        Where nothing is selected, each column's number is moved instead; None says that this does
        not matter.
        """
        node, counts = self.program.nodes[selector], self.facts.counts(selector)
        matters = any(number is not None for _, number in columns)
        pattern = self._looking(selector, may_be_empty=matters and counts.fewest == 0)
        forms = [self.draft.at_start(form, number or 0) for form, number in columns]
        mean = counts.most > 1
        self.draft.attend(name, pattern, forms, targets, text, node.span, mean=mean)

    def shares(self, selector: int, extra: Term, name: str, text: str) -> list[Form]:
        """Return, for each disjoint part of a selector, the form 1/(1+w).

        w is how many keys the part selects; `extra` is one more condition.
        """
        self.draft.require_start()
        node = self.program.nodes[selector]
        made = []
        for term in self._terms_of(selector, extra):
            pattern = self._scores(term, slope=None, rank=0, sink=Fraction(len(term)), mean=True)
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

    def _looking(self, selector: int, *, may_be_empty: bool) -> Pattern:
        """Return the pattern of a selector that takes one key, or means over its keys."""
        if may_be_empty:
            self.draft.require_start()
        node, counts = self.program.nodes[selector], self.facts.counts(selector)
        op = node.op
        inner = selector
        slope: Form | None = None
        rank = 0
        if isinstance(op, Best | First | Latest):
            inner = op.selector
            slope, rank = self._slope(op)
        term = self._one_term(inner)
        mean = counts.most > 1
        sink = Fraction(2 * len(term) - 1, 2) if may_be_empty else None
        return self._scores(term, slope=slope, rank=rank, sink=sink, mean=mean)

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
        places = self.onehot(self.selection.position.node).forms
        if isinstance(op, First):
            return combine((context - 1 - j, f) for j, f in enumerate(places)), context - 1
        late = combine(enumerate(places))
        if isinstance(op, Latest):
            return late, context - 1
        score = self._exact(self.onehot(op.score))
        numbers = sorted({Fraction(v) for v in score.values if not isinstance(v, str)})
        ranks = {number: rank for rank, number in enumerate(numbers)}
        high = combine(
            (ranks[Fraction(v)] * context, f)
            for v, f in zip(score.values, score.forms, strict=True)
            if not isinstance(v, str)
        )
        return high + late, (len(numbers) - 1) * context + context - 1

    def _scores(
        self, term: Term, *, slope: Form | None, rank: int, sink: Fraction | None, mean: bool
    ) -> Pattern:
        """Return a pattern whose winners are the keys of a conjunction.

        Args:
            term: the conjunction.
            slope: what tells its keys apart, from 0 to `rank` units.
            rank: see there.
            sink: the start token's score, in conjunction units; None keeps it out.
            mean: several keys may win, so their scores must be equal bit for bit.

        Where keys differ by a slope, an error of the tables would be multiplied by many units: then
        too they are made exact.
        """
        unit = 2 * (rank + 1)
        queries: list[Form] = []
        keys: list[Form] = []
        exact = mean or slope is not None
        for pair, rows in sorted(term.items(), key=lambda item: repr(item[0])):
            for query, key in self._factors(pair[0], pair[1], rows, exact=exact):
                queries.append(query.scaled(unit))
                keys.append(key)
        if slope is not None:
            queries.append(constant(1))
            keys.append(slope)
        largest = Fraction(unit * len(term) + rank)
        gap = Fraction(1 if slope is not None else unit)
        if self.draft.start:
            gap = self._with_start(queries, keys, term, unit, sink, gap)
        return Pattern(tuple(queries), tuple(keys), gap, largest)

    def _with_start(
        self,
        queries: list[Form],
        keys: list[Form],
        term: Term,
        unit: int,
        sink: Fraction | None,
        gap: Fraction,
    ) -> Fraction:
        """Give the start token its score, and as a query nothing but itself; return the gap."""
        queries[:] = [self.draft.at_start(q, 0) for q in queries]
        keys[:] = [self.draft.at_start(k, 0) for k in keys]
        score = Fraction(0) if sink is None else sink * unit
        if sink is None and not term:
            score = Fraction(-unit)
        if sink is not None and sink < len(term):
            gap = min(gap, Fraction(unit, 2))
        alone = 0 if self.program.causal else unit * (len(term) + 1) + abs(score)
        if score or alone:
            queries.append(combine(((alone, direction(*START)),)).plus(score))
            keys.append(direction(*START))
        return gap

    def _factors(
        self, key: Carrier | None, query: Carrier | None, rows: Rows, *, exact: bool
    ) -> list[tuple[Form, Form]]:
        """Return forms whose products add up to a table of zeros and ones.

        Keys that the same queries select stand together, or queries that select the same keys,
        whichever are fewer.
        """
        key_forms = self._carried(key, exact=exact)
        query_forms = self._carried(query, exact=exact)
        by_query: dict[int, list[int]] = {}
        for i, row in enumerate(rows):
            by_query.setdefault(row, []).append(i)
        by_key: dict[int, list[int]] = {}
        for j in range(len(key_forms)):
            column = sum(1 << i for i, row in enumerate(rows) if row >> j & 1)
            by_key.setdefault(column, []).append(j)
        by_query.pop(0, None)
        by_key.pop(0, None)
        if len(by_key) <= len(by_query):
            return [
                (_sum(query_forms, _bits(column)), _sum(key_forms, members))
                for column, members in by_key.items()
            ]
        return [
            (_sum(query_forms, members), _sum(key_forms, _bits(row)))
            for row, members in by_query.items()
        ]

    # Variables that selectors read -----------------------------------------------------------

    def _carried(self, carrier: Carrier | None, *, exact: bool) -> tuple[Form, ...]:
        if carrier is None:
            return (constant(1),)
        onehot = self._onehot_of(carrier)
        return self._exact(onehot).forms if exact else onehot.forms

    def _onehot_of(self, carrier: Carrier) -> OneHot:
        if carrier.kind == PLACE:
            return self._place(carrier.node)
        return self._joints[carrier.node] if carrier.kind == JOINT else self.onehot(carrier.node)

    def _place(self, selector: int) -> OneHot:
        """Return the position of the one key that a selector takes, or none."""
        if selector not in self._places:
            node = self.program.nodes[selector]
            places = self.onehot(self.selection.position.node)
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


def _sum(forms: Sequence[Form], members: Sequence[int]) -> Form:
    return combine((1, forms[i]) for i in members)


def _bits(row: int) -> list[int]:
    return [i for i in range(row.bit_length()) if row >> i & 1]


def _said(span: Span) -> str:
    return " ".join(span.text.split())[:60]
