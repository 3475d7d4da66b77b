"""Selectors as heads: who is looked at, what is moved, and how many were selected.

Scores are whole units. A conjunction of m tables gives a selected pair m units (times `unit`), any
other at most m - 1. The hidden start token stands in where nothing is selected, half a unit above
the losers; in a head that counts it scores exactly as much as a selected key, so with w selected
keys its share is 1/(1+w).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.compiler.carriers import FORMAT, Carriers, words_of
from handcraft.compiler.draft import SHARE, Draft
from handcraft.compiler.drafted import Pattern
from handcraft.compiler.forms import START, Direction, Form, Number, combine, constant, direction
from handcraft.compiler.joint import Conjunct, conjuncts, joint_table, terms_of
from handcraft.compiler.levels import NARROW_SCORES, Passes
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.purposes import Aim
from handcraft.compiler.scores import (
    Factors,
    Product,
    TooManyProductsError,
    classes_of,
    distance_factors,
    joined,
    rank,
    table_factors,
    windows_of,
)
from handcraft.compiler.selection import (
    Carrier,
    Pair,
    Rows,
    Term,
    TooManyTermsError,
    conjunction,
)
from handcraft.errors import ProgramError
from handcraft.language.sequences import TARGET
from handcraft.language.typed import Best, First, Latest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.builds import Builds
    from handcraft.compiler.facts import Facts

NARROW = 3
"""Products that a table may need before it is scored by distances instead, which need two."""

NEVER: Term = {(None, None): (0,)}
"""The conjunction that nothing fulfils."""

WIDEST = 2**22
"""Units of score that distances may need."""

SLACK = Fraction(1, 16)
"""The part of a gap by which the errors of keys, or those of queries, may change a score."""


class Attention:
    """Makes heads for the selectors whose queries are of one sequence.

    Args:
        facts: what the program says.
        draft: the graph under construction.
        sops: makes s-ops as numbers and one-hots.
        passes: what is made smaller.
        source: of the source, whose keys cross heads look at; None if there is no other sequence.
    """

    def __init__(
        self,
        facts: Facts,
        draft: Draft,
        sops: Builds,
        passes: Passes,
        source: Attention | None = None,
    ) -> None:
        self.facts = facts
        self.program = facts.program
        self.selection = facts.selection
        self.draft = draft
        self.sops = sops
        self.passes = passes
        self.carriers = Carriers(facts, draft, sops, self._place)
        self._source = source
        self._places: dict[int, OneHot] = {}

    def at_keys(self, selector: int) -> Attention:
        """Return what makes the heads of the sequence that has a selector's keys."""
        if self._source is None or self.selection.keys(selector) == self.draft.sequence:
            return self
        return self._source

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
        read = self.at_keys(selector).draft
        forms = [read.at_start(form, number or 0) for form, number in columns]
        winners = max(1, counts.most)
        self.draft.attend(
            name, pattern, forms, targets, text, node.span, winners=winners, alike=alike, read=read
        )

    def shares(self, selector: int, extra: Term, name: str, text: str) -> list[Form]:
        """Return, for each disjoint part of a selector, the form 1/(1+w).

        w is how many keys the part selects; `extra` is one more condition.
        """
        keys = self.at_keys(selector)
        keys.draft.require_start()
        node = self.program.nodes[selector]
        made = []
        for term in [conjunction(each, extra) for each in self._terms(selector)]:
            pattern = self._pattern(selector, term, below=Fraction(0), equal=True)
            share = self.draft.variable(name, (SHARE,), f"{SHARE}, w = {text}", node.span)
            column = [keys.draft.at_start(constant(0), 1)]
            target: list[Direction] = [(share, 0)]
            said = f"counts {text}"
            self.draft.attend(
                name, pattern, column, target, said, node.span, winners=None, read=keys.draft
            )
            made.append(direction(share, 0))
        return made

    def _terms(self, selector: int) -> list[Term]:
        """Return disjoint conjunctions, or one where they would be too many."""
        try:
            return self.selection.terms(selector)
        except TooManyTermsError:
            return [self._in_parts(selector)]

    def _in_parts(self, selector: int) -> Term:
        """Return any selector as one conjunction: what has no such form is a joint table."""
        plain: list[Term] = [{}]
        tables: Term = {}
        for part in conjuncts(self.selection, selector):
            terms = terms_of(self.selection, part)
            if terms is None or len(terms) > 1:
                tables = conjunction(tables, self._joint(selector, part))
            else:
                plain = [conjunction(a, b) for a in plain for b in terms]
        found = self.selection.simplified(plain)
        return conjunction(found[0], tables) if found else NEVER

    def _joint(self, selector: int, part: Conjunct) -> Term:
        """Return a part of a selector as one table over a joint key and a joint query variable."""
        table = joint_table(self.selection, part)
        span = self.program.nodes[part.selector].span
        key = self.at_keys(selector).carriers.joint(table.keys, span)
        return {(key, self.carriers.joint(table.queries, span)): table.rows}

    # Patterns --------------------------------------------------------------------------------

    def _looking(self, selector: int, *, may_be_empty: bool, equal: bool) -> Pattern:
        """Return the pattern of a selector that takes one key, or means over its keys."""
        keys = self.at_keys(selector)
        if may_be_empty or keys is not self:
            keys.draft.require_start()
        node = self.program.nodes[selector]
        op = node.op
        inner = selector
        slope: Form | None = None
        rank = 0
        if isinstance(op, Best | First | Latest):
            inner = op.selector
            slope, rank = keys.slope(op)
        term = self._one_term(inner)
        below = Fraction(1, 2) if may_be_empty else None
        return self._pattern(selector, term, slope=slope, rank=rank, below=below, equal=equal)

    def _pattern(
        self,
        selector: int,
        term: Term,
        *,
        below: Fraction | None,
        equal: bool,
        slope: Form | None = None,
        rank: int = 0,
    ) -> Pattern:
        """Return the pattern of a conjunction, or say where it is too large."""
        try:
            keys = self.at_keys(selector)
            return self._scores(term, keys, slope=slope, rank=rank, below=below, equal=equal)
        except TooManyProductsError as error:
            span = self.program.nodes[selector].span
            message = f"the scores of this selector take {error.terms} numbers"
            help_ = "use a smaller context or vocabulary"
            raise ProgramError("too-large", message, span, help=help_) from None

    def _one_term(self, selector: int) -> Term:
        terms = self._terms(selector)
        if not terms:
            return NEVER
        return terms[0] if len(terms) == 1 else self._in_parts(selector)

    def slope(self, op: Best | First | Latest) -> tuple[Form, int]:
        """Return the units that tell selected keys apart, and the most of them."""
        context = self.selection.n_keys(op.selector)
        places = self._positions().forms
        if isinstance(op, First):
            return combine((context - 1 - j, f) for j, f in enumerate(places)), context - 1
        late = combine(enumerate(places))
        if isinstance(op, Latest):
            return late, context - 1
        score = self.carriers.exact(self.sops.onehot(op.score))
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
        keys: Attention,
        *,
        slope: Form | None,
        rank: int,
        below: Fraction | None,
        equal: bool,
    ) -> Pattern:
        """Return a pattern whose winners are the keys of a conjunction.

        Args:
            term: the conjunction.
            keys: makes what is read at keys.
            slope: what tells its keys apart, from 0 to `rank` units.
            rank: see there.
            below: how far the start token stays below a winner, in units; None keeps it out.
            equal: several keys may win, and their scores must be equal bit for bit.
        """
        unit = 2 * (rank + 1)
        allowed = SLACK / max(1, len(term)) / (1 if slope is None else unit)
        parts = [
            self._factors(pair, rows, keys, equal=equal, allowed=allowed, sunk=below is not None)
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
        if keys.draft.start:
            if below is not None:
                top = combine((unit, part.top) for part in parts).plus(-below * unit)
                products.append(Product(top, direction(*START), Fraction(1)))
                gap = min(gap, below * unit) if below else gap
            elif not parts:
                products.append(Product(constant(-unit), direction(*START), Fraction(1)))
        error = sum((part.error for part in parts), Fraction(0))
        gap -= 2 * unit * error * FORMAT
        largest = sum((part.largest for part in parts), Fraction(0)) * unit + rank
        aim = Aim(tuple(part.literal for part in parts), unit, slope, rank, below)
        started = self._started(joined(products), unit, keys)
        return Pattern(*started, gap, largest, aim, across=keys is not self)

    def _started(
        self, products: Sequence[Product], unit: int, keys: Attention
    ) -> tuple[tuple[Form, ...], tuple[Form, ...]]:
        """Return query and key forms that are right at the start token too.

        As a key it has what each product says; as a query it sees nothing but itself, or the start
        token of the source, which where the mask does not say so takes one more product.
        """
        place = self.draft.at_start
        own = direction(*START)
        is_masked = self.program.causal and self.draft.sequence == TARGET and keys is self
        if self.draft.start and not is_masked:
            if all(p.key != own for p in products):
                products = [*products, Product(constant(0), own, Fraction(1))]
            queries = tuple(place(p.query, unit if p.key == own else 0) for p in products)
        else:
            queries = tuple(p.query for p in products)
        return queries, tuple(keys.draft.at_start(p.key, p.outside) for p in products)

    def _factors(
        self,
        pair: Pair,
        rows: Rows,
        at_keys: Attention,
        *,
        equal: bool,
        allowed: Fraction,
        sunk: bool,
    ) -> Factors:
        """Return a table of zeros and ones as a score, by classes or by distances."""
        key, query = pair
        if NARROW_SCORES in self.passes and key is not None and query is not None:
            visible = self.selection.visible(pair, rows)
            narrow = self._distances(
                key, query, visible, at_keys, equal=equal, allowed=allowed, sunk=sunk
            )
            if narrow is not None:
                return narrow
        keys, of_keys = at_keys.carriers.read(key, equal=equal, allowed=allowed)
        queries, of_queries = self.carriers.read(query, equal=equal, allowed=allowed)
        return table_factors(queries, keys, rows, of_keys + of_queries)

    def _distances(
        self,
        key: Carrier,
        query: Carrier,
        rows: Rows,
        at_keys: Attention,
        *,
        equal: bool,
        allowed: Fraction,
        sunk: bool,
    ) -> Factors | None:
        """Return a table that is an equality as distances, if that is narrower and exact enough."""
        n_keys = at_keys.carriers.size(key)
        classes = classes_of(rows, n_keys) or windows_of(rows, n_keys)
        if classes is None or rank(rows, n_keys) <= NARROW:
            return None
        if classes.largest > WIDEST * allowed:
            return None
        k = at_keys.carriers.numbered(key, classes.keys, exact=equal)
        q = self.carriers.numbered(query, classes.queries, exact=False)
        if k is None or q is None or (sunk and not self.carriers.is_free(query)):
            return None
        largest = max(map(abs, (*classes.keys, *classes.queries)))
        precision = at_keys.draft.precision
        error = 2 * largest * (Fraction(precision.error(k)) + self.draft.precision.error(q))
        if error * FORMAT > allowed:
            return None
        squares = tuple(k * k for k in classes.keys)
        square = at_keys.carriers.numbered(key, squares, exact=equal)
        if square is None:
            square = at_keys.sops.function(key.node, [Fraction(c) for c in squares])
        top = self.carriers.numbered(query, classes.tops, exact=False) if sunk else constant(0)
        assert top is not None
        error += precision.error(square)
        return distance_factors(q, top, k, square, classes, rows, error)

    # Variables that selectors read -----------------------------------------------------------

    def _place(self, selector: int) -> OneHot:
        """Return the position of the one key that a selector takes, or none."""
        if selector not in self._places:
            node = self.program.nodes[selector]
            places = self.at_keys(selector)._positions()
            n_keys = self.selection.n_keys(selector)
            name = self.draft.variable(
                f"{node.name or 'place'}.key",
                [str(i) for i in range(n_keys)],
                f"the position that `{words_of(node.span)}` takes",
                node.span,
            )
            targets = [(name, i) for i in range(n_keys)]
            text = f"the position of {words_of(node.span)}"
            self.move(selector, [(form, 0) for form in places.forms], targets, name, text)
            taken = tuple(direction(*target) for target in targets)
            none = combine((-1, form) for form in taken).plus(1)
            values = (*range(n_keys), "none")
            self._places[selector] = OneHot(values, (*taken, none), True)
        return self._places[selector]

    def _positions(self) -> OneHot:
        """Return the positions of this sequence."""
        return self.sops.onehot(self.selection.places[self.draft.sequence].node)
