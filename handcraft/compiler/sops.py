"""S-ops as forms over the residual stream: as a number, or as a one-hot of their values.

Free of charge are functions of one one-hot variable (its readers take the table) and affine
arithmetic. Everything else is neurons; what gathers over positions is a head.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from handcraft.compiler.arithmetic import Arithmetic
from handcraft.compiler.attention import Attention
from handcraft.compiler.branches import Branches
from handcraft.compiler.curves import Curves
from handcraft.compiler.draft import NUMBER, Draft
from handcraft.compiler.embeddings import Embeddings
from handcraft.compiler.facts import Facts, numeric
from handcraft.compiler.forms import Direction, Form, combine, constant, direction
from handcraft.compiler.gathering import Gathering
from handcraft.compiler.levels import AFFINE_FOLDING, COVERS, MAP_FOLDING
from handcraft.compiler.neurons import boxes, gated, steps, weighted
from handcraft.compiler.onehot import OneHot, merged
from handcraft.compiler.purposes import Gate
from handcraft.errors import ProgramError
from handcraft.language.domains import NOTHING, bounds, is_numeric, kinds
from handcraft.language.typed import (
    ELEMENTWISE,
    Aggregate,
    Apply,
    Choose,
    Indices,
    Node,
    Pick,
    Table,
    Tokens,
    Total,
    TypedProgram,
    Width,
)
from handcraft.language.values import COMPARISONS, Outcome, Undefined, Value, order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.compiler.levels import Passes
    from handcraft.compiler.neurons import Layer


class Sops:
    """The s-ops of one sequence of a program, made as they are asked for.

    Args:
        program: the program.
        draft: the graph of the sequence.
        passes: what is made smaller.
        source: the s-ops of the source, from which cross heads move something.
    """

    def __init__(
        self, program: TypedProgram, draft: Draft, passes: Passes, source: Sops | None = None
    ) -> None:
        self.program = program
        self.draft = draft
        self.passes = passes
        self.facts = Facts(program, passes)
        self.embeddings = Embeddings(program.header.extent(draft.sequence), draft)
        across: Attention | None = None if source is None else source.attention
        self.attention: Attention = Attention(self.facts, draft, self, passes, across)
        self.exact = self.attention.carriers.exact
        self.gathering = Gathering(self.facts, draft, self.attention, self)
        self.curves = Curves(self.facts, draft, self, self.gathering, self.exact)
        self.arithmetic = Arithmetic(self.facts, draft, self, self.curves, self.exact)
        self.branches = Branches(self.facts, draft, self, self.exact)
        self._numbers: dict[int, Form] = {}
        self._onehots: dict[int, OneHot] = {}

    # As a number -----------------------------------------------------------------------------

    def number(self, node: int) -> Form:
        """Return a form whose value is the s-op's; booleans are 0 and 1.

        Raises:
            ProgramError: where this version cannot build it.
        """
        if self.facts.domain(node) == NOTHING:
            return constant(0)
        if node not in self._numbers:
            assert "string" not in kinds(self.facts.domain(node))
            form = self._number(node)
            self._numbers[node] = form if self._folds(node, form) else self._shown(node, form)
        return self._numbers[node]

    def _number(self, node: int) -> Form:
        known = self.program.nodes[node]
        table = known.table
        if table is not None and not table.leaves:
            return constant(numeric(table.outcomes[0]))
        if table is not None and len(table.leaves) == 1:
            leaf = table.leaves[0]
            own = leaf == node and isinstance(known.op, Apply | Choose | Pick)
            if (
                not own
                and self.facts.is_categorical(leaf)
                and not self._moves_number(node, leaf, table)
            ):
                forms = self.onehot(leaf).forms
                pairs = zip(table.outcomes, forms, strict=True)
                return combine((numeric(o), f) for o, f in pairs if not isinstance(o, Undefined))
            if leaf != node:
                return self._function_of_number(node, leaf, table)
        match known.op:
            case Aggregate() | Total() | Width():
                return self.gathering.number(node)
            case Apply() if (linear := self.arithmetic.linear(node, known.op)) is not None:
                return linear
            case Apply(function, (left, right)) if function in COMPARISONS and all(
                is_numeric(self.facts.domain(a)) for a in (left, right)
            ):
                alone = table is None or table.leaves == (node,)
                if alone or table is None or not self._all_categorical(table):
                    return self.arithmetic.comparison(node, function, left, right)
            case _:
                pass
        if isinstance(known.op, Choose | Pick) and self.facts.is_scattered(node):
            return self.branches.number(node, known.op)
        small = table if table is not None and table.leaves != (node,) else None
        if isinstance(known.op, Apply) and (small is None or not self._all_categorical(small)):
            made = self.arithmetic.number(node, known.op)
            if made is not None:
                return made
        if small is not None:
            return self._boxed_number(node, small)
        raise self._not_yet(known)

    def _moves_number(self, node: int, leaf: int, table: Table) -> bool:
        """Return whether a number that a head moves is needed only as the number it is."""
        op = self.program.nodes[leaf].op
        if not isinstance(op, Aggregate) or not is_numeric(self.facts.domain(leaf)):
            return False
        return leaf not in self._onehots and (
            leaf == node or self.facts.slope(leaf, table) is not None
        )

    def _function_of_number(self, node: int, leaf: int, table: Table) -> Form:
        """Return a function of a number: affine for free, else by neurons."""
        affine = self.facts.slope(leaf, table) if is_numeric(self.facts.domain(leaf)) else None
        if affine is not None:
            return self.number(leaf).scaled(affine[0]).plus(affine[1])
        results = [numeric(outcome) for outcome in _filled(table.outcomes)]
        op = self.program.nodes[node].op
        by_branches = None
        if isinstance(op, Choose) and is_numeric(self.facts.domain(node)):
            by_branches = partial(self.branches.number, node, op)
        return self.curves.number(node, leaf, results, by_branches)

    def function(self, node: int, results: Sequence[Fraction]) -> Form:
        """Return a function of a number, by its result for each value of its domain."""
        return self.curves.number(node, node, results)

    def _all_categorical(self, table: Table) -> bool:
        return all(self.facts.is_categorical(leaf) for leaf in table.leaves)

    def _boxed_number(self, node: int, table: Table) -> Form:
        """Return a table of several one-hots whose result is used as a number."""
        outcomes = [o for o in table.outcomes if not isinstance(o, Undefined)]
        results = sorted({numeric(o) for o in outcomes})
        classes = {r: k for k, r in enumerate(results)}
        cells = [None if isinstance(o, Undefined) else classes[numeric(o)] for o in table.outcomes]
        variables = [self.onehot(leaf).forms for leaf in table.leaves]
        layer = self._boxes(variables, cells, len(results))
        return self.write(node, weighted(layer, results), (NUMBER,))[0]

    def range(self, node: int, form: Form) -> tuple[Fraction, Fraction]:
        """Return bounds on a number's form, also at positions where the number has no value."""
        if self.facts.is_total(node):
            low, high = bounds(self.facts.domain(node))
            return Fraction(low), Fraction(high)
        size = self.draft.precision.size(form)
        return Fraction(-size), Fraction(size)

    def truth(self, node: int) -> Form:
        """Return a condition as 0 or 1."""
        if kinds(self.facts.domain(node)) <= {"boolean"}:
            return self.number(node)
        x, points = self.curves.carrier(node)
        results = [Fraction(bool(v)) for v in self.facts.values(node)]
        pairs = sorted(zip(points, results, strict=True))
        layer = steps(x, [p for p, _ in pairs], [{0: r} for _, r in pairs], 1)
        return self.write(node, layer, ("true",))[0]

    def is_free(self, node: int) -> bool:
        """Return whether an s-op is a function of one one-hot variable."""
        table = self.program.nodes[node].table
        if table is None or not table.leaves:
            return table is not None
        leaf = table.leaves[0]
        if len(table.leaves) > 1 or not self.facts.is_categorical(leaf):
            return False
        return not self._moves_number(node, leaf, table)

    # As a one-hot ----------------------------------------------------------------------------

    def onehot(self, node: int) -> OneHot:
        """Return the s-op as a one-hot of its values.

        Raises:
            ProgramError: where its values are too many, or this version cannot build it.
        """
        if node < 0:
            return self.embeddings.positions()
        if self.facts.domain(node) == NOTHING:
            return OneHot((), (), True)
        if node not in self._onehots:
            onehot = self._onehot(node)
            folds = all(self._folds(node, form, MAP_FOLDING) for form in onehot.forms)
            self._onehots[node] = onehot if folds else self._shown_onehot(node, onehot)
        return self._onehots[node]

    def _onehot(self, node: int) -> OneHot:
        known = self.program.nodes[node]
        table = known.table
        values = self.facts.values(node)
        if len(values) == 1:
            return OneHot(values, (constant(1),), True)
        match known.op:
            case Tokens():
                return self.embeddings.tokens(values)
            case Indices():
                return self.embeddings.positions()
            case Width(selector) if widths := self.facts.selection.widths_by_position(selector):
                return merged(values, widths, self.embeddings.positions())
            case Aggregate() if self.facts.is_categorical(node):
                return self.gathering.onehot(node)
            case _:
                pass
        if table is not None and len(table.leaves) == 1 and table.leaves[0] != node:
            leaf = table.leaves[0]
            if self.facts.is_categorical(leaf):
                return merged(values, table.outcomes, self.onehot(leaf))
        if kinds(self.facts.domain(node)) <= {"boolean"}:
            x = self.number(node)
            return OneHot((False, True), (x.scaled(-1).plus(1), x), False)
        alone = table is not None and table.leaves == (node,)
        symbolic = isinstance(known.op, Apply | Choose | Pick) and not is_numeric(
            self.facts.domain(node)
        )
        if table is not None and len(table.leaves) == 1 and not (alone and symbolic):
            return self._stepped(node, table)
        if table is not None and not alone:
            if is_numeric(self.facts.domain(node)) and not self._all_categorical(table):
                return self._stepped_value(node)
            if isinstance(known.op, Choose | Pick) and self.facts.is_scattered(node):
                return self.branches.onehot(node, known.op)
            return self._boxed(node, table)
        if is_numeric(self.facts.domain(node)):
            return self._stepped_value(node)
        if isinstance(known.op, Choose | Pick):
            return self.branches.onehot(node, known.op)
        raise self._not_yet(known)

    def _stepped(self, node: int, table: Table) -> OneHot:
        """Return a function of a number, or the number itself, by steps between its values."""
        values = self.facts.values(node)
        index = {order(v): k for k, v in enumerate(values)}
        classes = [index[order(outcome)] for outcome in _filled(table.outcomes)]
        labels = [str(v) for v in values]
        return OneHot(values, self.curves.onehot(node, table.leaves[0], classes, labels), False)

    def _stepped_value(self, node: int) -> OneHot:
        values = self.facts.values(node)
        labels = [str(v) for v in values]
        return OneHot(values, self.curves.onehot(node, node, range(len(values)), labels), False)

    def _boxed(self, node: int, table: Table) -> OneHot:
        values = self.facts.values(node)
        index = {order(v): k for k, v in enumerate(values)}
        cells = [None if isinstance(o, Undefined) else index[order(o)] for o in table.outcomes]
        leaves = [self.onehot(leaf) for leaf in table.leaves]
        layer = self._boxes([leaf.forms for leaf in leaves], cells, len(values))
        forms = self.write(node, layer, [str(v) for v in values])
        return OneHot(values, forms, all(leaf.exact for leaf in leaves))

    # Steps that a level shows ----------------------------------------------------------------

    def _folds(self, node: int, form: Form, name: str = AFFINE_FOLDING) -> bool:
        """Return whether an s-op stays a form, and no variable of its own holds it."""
        if name in self.passes or not isinstance(self.program.nodes[node].op, ELEMENTWISE):
            return True
        return not form.terms or (len(form.terms) == 1 and form == direction(*form.directions[0]))

    def _shown(self, node: int, form: Form) -> Form:
        low, _ = self.range(node, form)
        layer = gated([Gate(form.plus(-low), ((0, 1),))], (low,))
        return self.write(node, layer, (NUMBER,))[0]

    def _shown_onehot(self, node: int, onehot: OneHot) -> OneHot:
        gates = [Gate(form, ((k, 1),)) for k, form in enumerate(onehot.forms)]
        layer = gated(gates, (0,) * len(gates), (1,) * len(gates))
        forms = self.write(node, layer, [str(v) for v in onehot.values])
        return OneHot(onehot.values, forms, onehot.exact)

    # Writing ---------------------------------------------------------------------------------

    def write(self, node: int, layer: Layer, labels: Sequence[str]) -> tuple[Form, ...]:
        """Let neurons write a variable for an s-op; return its outputs as forms.

        An output that no neuron adds to is a constant.
        """
        known = self.program.nodes[node]
        name = self.draft.variable(
            self.facts.label(node), labels, self.facts.said(node), known.span
        )
        targets: list[Direction] = [(name, i) for i in range(len(labels))]
        self.draft.compute(name, layer, targets, self.facts.said(node), known.span)
        computed = {k for unit in layer.units for k, value in unit.out.items() if value}
        return tuple(
            direction(*target) if k in computed else constant(layer.bias[k])
            for k, target in enumerate(targets)
        )

    def _boxes(
        self, variables: Sequence[Sequence[Form]], cells: Sequence[int | None], outputs: int
    ) -> Layer:
        return boxes(variables, cells, outputs, covered=COVERS in self.passes)

    def _not_yet(self, node: Node) -> ProgramError:
        shown = str(node.domain)
        message = f"this version cannot build this value, which is one of {shown}"
        help_ = "use a smaller context or vocabulary, so that its operands have fewer values"
        return ProgramError("not-yet", message, node.span, help=help_)


def _filled(outcomes: Sequence[Outcome]) -> list[Value]:
    """Return outcomes with what does not matter set to its neighbour's value."""
    filled: list[Value] = []
    defined = [o for o in outcomes if not isinstance(o, Undefined)]
    last = defined[0]
    for outcome in outcomes:
        if not isinstance(outcome, Undefined):
            last = outcome
        filled.append(last)
    return filled
