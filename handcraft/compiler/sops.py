"""S-ops as forms over the residual stream: as a number, or as a one-hot of their values.

Free of charge are functions of one one-hot variable (its readers take the table) and affine
arithmetic. Everything else is neurons; what gathers over positions is a head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from handcraft.compiler.attention import Attention, OneHot
from handcraft.compiler.draft import NUMBER, Draft
from handcraft.compiler.forms import Direction, Form, combine, constant, direction
from handcraft.compiler.gathering import SHARE, Gathering
from handcraft.compiler.neurons import Layer, Unit, boxes, interpolate, steps
from handcraft.compiler.selection import Selection
from handcraft.errors import ProgramError
from handcraft.language.domains import Domain, Finite, Lattice, bounds, is_numeric, kinds
from handcraft.language.domain_rules import function_domain
from handcraft.language.typed import (
    Aggregate,
    Apply,
    Choose,
    Constant,
    Indices,
    Node,
    Pick,
    Table,
    Tokens,
    Total,
    TypedProgram,
    Width,
)
from handcraft.language.values import COMPARISONS, Outcome, Undefined, Value, kind, order

POSITIONS = -1
"""The node number of the positions, whether or not the program has `indices`."""


class Sops:
    """The s-ops of one program, made as they are asked for."""

    def __init__(self, program: TypedProgram, draft: Draft) -> None:
        self.program = program
        self.draft = draft
        selection = Selection(program, self.base)
        attention = Attention(program, draft, selection, self.onehot)
        self.gathering = Gathering(program, draft, attention, selection, self.number, self.onehot)
        self._numbers: dict[int, Form] = {}
        self._onehots: dict[int, OneHot] = {}
        self._positions: OneHot | None = None

    # Questions -------------------------------------------------------------------------------

    def domain(self, node: int) -> Domain:
        """Return the domain of an s-op."""
        domain = self.program.nodes[node].domain
        assert domain is not None
        return domain

    def values(self, node: int) -> tuple[Value, ...]:
        """Return the values of an s-op whose domain is a list.

        Raises:
            ProgramError: `domain-too-large`.
        """
        domain = self.domain(node)
        if isinstance(domain, Finite):
            return domain.values
        message = f"a decision is made on a value with too many possibilities, {domain}"
        help_ = "use a smaller context, or `latest(...)` to take one key instead of a mean"
        raise ProgramError("domain-too-large", message, self.program.nodes[node].span, help=help_)

    def base(self, node: int) -> tuple[int | None, Sequence[Outcome]]:
        """Return the one-hot leaf that an s-op is a free function of, and the function's values.

        The leaf is the s-op itself where it is no such function, and None for a constant.
        """
        table = self.program.nodes[node].table
        if table is not None and len(table.leaves) == 0:
            return None, table.outcomes
        if table is not None and len(table.leaves) == 1 and self.is_categorical(table.leaves[0]):
            return table.leaves[0], table.outcomes
        return node, self.values(node)

    def label(self, node: int) -> str:
        """Return a name for the variable of a node."""
        known = self.program.nodes[node]
        return known.name or type(known.op).__name__.lower()

    def said(self, node: int) -> str:
        """Return the program's own words for a node."""
        known = self.program.nodes[node]
        words = " ".join(known.span.text.split())
        shown = words if len(words) <= 80 else words[:77] + "..."
        return f"{known.name} = {shown}" if known.name and known.name != shown else shown

    def is_categorical(self, leaf: int) -> bool:
        """Return whether a leaf is most cheaply a one-hot."""
        op = self.program.nodes[leaf].op
        match op:
            case Tokens() | Indices():
                return True
            case Width(selector):
                return self.gathering.widths_by_position(selector) is not None
            case Aggregate(selector, value, default):
                if not is_numeric(self.domain(leaf)):
                    return isinstance(self.domain(leaf), Finite) and not self._is_mean(leaf)
                count = self.program.nodes[selector].counts
                table = self.program.nodes[value].table
                return (
                    count is not None
                    and count.most <= 1
                    and table is not None
                    and len(table.leaves) == 1
                    and self.is_categorical(table.leaves[0])
                    and (default is None or isinstance(self.program.nodes[default].op, Constant))
                )
            case Apply() | Choose() | Pick():
                domain = self.domain(leaf)
                return isinstance(domain, Finite) and not is_numeric(domain)
            case _:
                return False

    def is_free(self, node: int) -> bool:
        """Return whether an s-op is a function of one one-hot variable."""
        table = self.program.nodes[node].table
        if table is None or not table.leaves:
            return table is not None
        leaf = table.leaves[0]
        if len(table.leaves) > 1 or not self.is_categorical(leaf):
            return False
        return not self._moves_number(node, leaf, table)

    def _is_mean(self, leaf: int) -> bool:
        op = self.program.nodes[leaf].op
        assert isinstance(op, Aggregate)
        count = self.program.nodes[op.selector].counts
        assert count is not None
        return is_numeric(self.domain(op.value)) and count.most > 1

    # As a number -----------------------------------------------------------------------------

    def number(self, node: int) -> Form:
        """Return a form whose value is the s-op's; booleans are 0 and 1.

        Raises:
            ProgramError: where this version cannot build it.
        """
        if node not in self._numbers:
            assert "string" not in kinds(self.domain(node))
            self._numbers[node] = self._number(node)
        return self._numbers[node]

    def _number(self, node: int) -> Form:
        known = self.program.nodes[node]
        table = known.table
        if table is not None and not table.leaves:
            return constant(_numeric(table.outcomes[0]))
        if table is not None and len(table.leaves) == 1:
            leaf = table.leaves[0]
            own = leaf == node and isinstance(known.op, Apply | Choose | Pick)
            if not own and self.is_categorical(leaf) and not self._moves_number(node, leaf, table):
                forms = self.onehot(leaf).forms
                pairs = zip(table.outcomes, forms, strict=True)
                return combine((_numeric(o), f) for o, f in pairs if not isinstance(o, Undefined))
            if leaf != node:
                return self._function_of_number(node, leaf, table)
        match known.op:
            case Aggregate() | Total() | Width():
                return self.gathering.number(node)
            case Apply() if (linear := self._linear(known.op)) is not None:
                return linear
            case Apply(function, (left, right)) if function in COMPARISONS and all(
                is_numeric(self.domain(a)) for a in (left, right)
            ):
                alone = table is None or table.leaves == (node,)
                if alone or table is None or not self._all_categorical(table):
                    return self._comparison(node, function, left, right)
            case _:
                pass
        if table is not None and table.leaves != (node,):
            return self._boxed_number(node, table)
        if isinstance(known.op, Choose):
            return self._chosen(node, known.op)
        raise self._not_yet(known)

    def _moves_number(self, node: int, leaf: int, table: Table) -> bool:
        """Return whether a number that a head moves is needed only as the number it is."""
        op = self.program.nodes[leaf].op
        if not isinstance(op, Aggregate) or not is_numeric(self.domain(leaf)):
            return False
        return leaf not in self._onehots and (leaf == node or self._slope(leaf, table) is not None)

    def _slope(self, leaf: int, table: Table) -> tuple[Fraction, Fraction] | None:
        """Return a, b where a table is `a * leaf + b`."""
        points = [_numeric(v) for v in self.values(leaf)]
        if any(isinstance(o, Undefined) for o in table.outcomes):
            return None
        results = [_numeric(o) for o in table.outcomes]
        if len(points) == 1:
            return Fraction(0), results[0]
        a = (results[1] - results[0]) / (points[1] - points[0])
        b = results[0] - a * points[0]
        fits = all(a * x + b == y for x, y in zip(points, results, strict=True))
        return (a, b) if fits else None

    def _function_of_number(self, node: int, leaf: int, table: Table) -> Form:
        """Return a function of a number: affine for free, else by neurons."""
        affine = self._slope(leaf, table) if is_numeric(self.domain(leaf)) else None
        if affine is not None:
            return self.number(leaf).scaled(affine[0]).plus(affine[1])
        x, points = self.carrier(leaf)
        outcomes = _filled(table.outcomes)
        pairs = sorted(zip(points, map(_numeric, outcomes), strict=True))
        places = [p for p, _ in pairs]
        results = [r for _, r in pairs]
        layer = self._steps(node, x, places, [{0: r} for r in results], 1)
        smooth = interpolate(x, places, results)
        if len(smooth.units) < len(layer.units):
            layer = smooth
        return self._write(node, layer, (NUMBER,))[0]

    def carrier(self, leaf: int) -> tuple[Form, list[Fraction]]:
        """Return a number that tells a leaf's values apart, and what it is at each of them."""
        share = self.gathering.share(leaf)
        if share is not None:
            return share, [Fraction(1, 1 + int(w)) for w in self.values(leaf)]
        if not is_numeric(self.domain(leaf)) and isinstance(self.program.nodes[leaf].op, Aggregate):
            filler = self.gathering.filler
            return self.gathering.number(leaf), [
                _numeric(v) if kind(v) == "number" else filler(leaf, v) for v in self.values(leaf)
            ]
        return self.number(leaf), [_numeric(v) for v in self.values(leaf)]

    def _linear(self, op: Apply) -> Form | None:
        """Return an affine operation as a form."""
        arguments = op.arguments
        constants = [self._constant(a) for a in arguments]
        match op.function:
            case "+" if not any("string" in kinds(self.domain(a)) for a in arguments):
                return self.number(arguments[0]) + self.number(arguments[1])
            case "-":
                return self.number(arguments[0]) - self.number(arguments[1])
            case "negate":
                return self.number(arguments[0]).scaled(-1)
            case "*" if constants[0] is not None:
                return self.number(arguments[1]).scaled(constants[0])
            case "*" if constants[1] is not None:
                return self.number(arguments[0]).scaled(constants[1])
            case "/" if constants[1]:
                return self.number(arguments[0]).scaled(1 / constants[1])
            case "not" | "truth" | "indicator" if kinds(self.domain(arguments[0])) <= {"boolean"}:
                x = self.number(arguments[0])
                return x.scaled(-1).plus(1) if op.function == "not" else x
            case _:
                return None

    def _constant(self, node: int) -> Fraction | None:
        op = self.program.nodes[node].op
        if isinstance(op, Constant) and not isinstance(op.value, str):
            return Fraction(op.value)
        return None

    def _comparison(self, node: int, function: str, left: int, right: int) -> Form:
        """Return a comparison of two numbers as a step on their difference."""
        difference = function_domain("-", [self.domain(left), self.domain(right)])
        x = self.number(left) - self.number(right)
        if isinstance(difference, Finite):
            points = [_numeric(v) for v in difference.values]
        else:
            assert isinstance(difference, Lattice)
            near = difference.distance(0)
            low, high = min(-near, Fraction(difference.low)), max(near, Fraction(difference.high))
            points = sorted({low, -near, Fraction(0), near, high})
        results = [Fraction(COMPARISONS[function](p, 0)) for p in points]
        layer = self._steps(node, x, points, [{0: r} for r in results], 1)
        return self._write(node, layer, ("true",))[0]

    def _all_categorical(self, table: Table) -> bool:
        return all(self.is_categorical(leaf) for leaf in table.leaves)

    def _boxed_number(self, node: int, table: Table) -> Form:
        """Return a table of several one-hots whose result is used as a number."""
        outcomes = [o for o in table.outcomes if not isinstance(o, Undefined)]
        results = sorted({_numeric(o) for o in outcomes})
        classes = {r: k for k, r in enumerate(results)}
        cells = [None if isinstance(o, Undefined) else classes[_numeric(o)] for o in table.outcomes]
        variables = [self.onehot(leaf).forms for leaf in table.leaves]
        layer = boxes(variables, cells, len(results))
        return self._write(node, _weighted(layer, results), (NUMBER,))[0]

    def _chosen(self, node: int, op: Choose) -> Form:
        """Return `a if c else b` of numbers: each branch is let through by its gate.

        With lo <= a <= hi: relu(a - lo - (hi - lo)(1 - c)) is a - lo where c = 1, and 0 where c = 0.
        """
        c = self.truth(op.condition)
        units = []
        total = constant(0)
        for branch, gate in ((op.then, c), (op.otherwise, c.scaled(-1).plus(1))):
            low, high = (Fraction(b) for b in bounds(self.domain(branch)))
            room = high - low
            pre = self.number(branch).plus(-low) + gate.plus(-1).scaled(room)
            units.append((pre, {0: Fraction(1)}))
            total = total + gate.scaled(low)
        form = self._write(node, _layer(units, 1), (NUMBER,))[0]
        return form + total

    def truth(self, node: int) -> Form:
        """Return a condition as 0 or 1."""
        if kinds(self.domain(node)) <= {"boolean"}:
            return self.number(node)
        x, points = self.carrier(node)
        results = [Fraction(bool(v)) for v in self.values(node)]
        pairs = sorted(zip(points, results, strict=True))
        layer = self._steps(node, x, [p for p, _ in pairs], [{0: r} for _, r in pairs], 1)
        return self._write(node, layer, ("true",))[0]

    # As a one-hot ----------------------------------------------------------------------------

    def onehot(self, node: int) -> OneHot:
        """Return the s-op as a one-hot of its values.

        Raises:
            ProgramError: where its values are too many, or this version cannot build it.
        """
        if node == POSITIONS:
            return self._position_onehot()
        if node not in self._onehots:
            self._onehots[node] = self._onehot(node)
        return self._onehots[node]

    def _onehot(self, node: int) -> OneHot:
        known = self.program.nodes[node]
        table = known.table
        values = self.values(node)
        if len(values) == 1:
            return OneHot(values, (constant(1),), True)
        match known.op:
            case Tokens():
                return self._token_onehot(node)
            case Indices():
                return self._position_onehot()
            case Width(selector) if (widths := self.gathering.widths_by_position(selector)):
                return _merged(values, widths, self._position_onehot())
            case Aggregate() if self.is_categorical(node):
                return self.gathering.onehot(node)
            case _:
                pass
        if table is not None and len(table.leaves) == 1 and table.leaves[0] != node:
            leaf = table.leaves[0]
            if self.is_categorical(leaf):
                return _merged(values, table.outcomes, self.onehot(leaf))
        if kinds(self.domain(node)) <= {"boolean"}:
            x = self.number(node)
            return OneHot((False, True), (x.scaled(-1).plus(1), x), False)
        alone = table is not None and table.leaves == (node,)
        symbolic = isinstance(known.op, Apply | Choose | Pick) and not is_numeric(self.domain(node))
        if table is not None and len(table.leaves) == 1 and not (alone and symbolic):
            return self._stepped(node, table)
        if table is not None and not alone:
            if is_numeric(self.domain(node)) and not self._all_categorical(table):
                return self._stepped_value(node)
            return self._boxed(node, table)
        if is_numeric(self.domain(node)):
            return self._stepped_value(node)
        if isinstance(known.op, Choose):
            return self._chosen_onehot(node, known.op)
        raise self._not_yet(known)

    def _token_onehot(self, node: int) -> OneHot:
        vocabulary = self.program.vocabulary.tokens
        name = self.token_variable()
        by_token = {token: direction(name, i) for i, token in enumerate(vocabulary)}
        values = self.values(node)
        forms = tuple(by_token[v] for v in values)  # type: ignore[index]
        return OneHot(values, forms, True)

    def token_variable(self) -> str:
        """Return the variable that `wte` writes: a direction for each token."""
        if "tokens" not in self.draft.embeddings:
            vocabulary = self.program.vocabulary.tokens
            rows = [[int(i == j) for j in range(len(vocabulary))] for i in range(len(vocabulary))]
            labels = [str(token) for token in vocabulary]
            self.draft.embed("tokens", labels, "token", rows, "the token here")
        return "tokens"

    def _position_onehot(self) -> OneHot:
        if self._positions is None:
            n = self.program.context
            rows = [[int(i == j) for j in range(n)] for i in range(n)]
            labels = [str(i) for i in range(n)]
            name = self.draft.embed("indices", labels, "position", rows, "the position here")
            forms = tuple(direction(name, i) for i in range(n))
            self._positions = OneHot(tuple(range(n)), forms, True)
        return self._positions

    def _stepped(self, node: int, table: Table) -> OneHot:
        """Return a function of a number, or the number itself, by steps between its values."""
        leaf = table.leaves[0]
        x, points = self.carrier(leaf)
        values = self.values(node)
        index = {order(v): k for k, v in enumerate(values)}
        pairs = sorted(zip(points, _filled(table.outcomes), strict=True), key=lambda p: p[0])
        results = [{index[order(outcome)]: Fraction(1)} for _, outcome in pairs]
        layer = self._steps(node, x, [p for p, _ in pairs], results, len(values))
        forms = self._write(node, layer, [str(v) for v in values])
        return OneHot(values, forms, False)

    def _stepped_value(self, node: int) -> OneHot:
        values = self.values(node)
        points = [_numeric(v) for v in values]
        results = [{k: Fraction(1)} for k in range(len(values))]
        layer = self._steps(node, self.number(node), points, results, len(values))
        return OneHot(values, self._write(node, layer, [str(v) for v in values]), False)

    def _boxed(self, node: int, table: Table) -> OneHot:
        values = self.values(node)
        index = {order(v): k for k, v in enumerate(values)}
        cells = [None if isinstance(o, Undefined) else index[order(o)] for o in table.outcomes]
        leaves = [self.onehot(leaf) for leaf in table.leaves]
        layer = boxes([leaf.forms for leaf in leaves], cells, len(values))
        forms = self._write(node, layer, [str(v) for v in values])
        return OneHot(values, forms, all(leaf.exact for leaf in leaves))

    def _chosen_onehot(self, node: int, op: Choose) -> OneHot:
        """Return `a if c else b`: for each value relu(a is it + c - 1) + relu(b is it - c)."""
        c = self.truth(op.condition)
        values = self.values(node)
        units = []
        for branch, gate in ((op.then, c.plus(-1)), (op.otherwise, c.scaled(-1))):
            onehot = self.onehot(branch)
            for value, form in zip(onehot.values, onehot.forms, strict=True):
                target = next(k for k, v in enumerate(values) if order(v) == order(value))
                units.append((form + gate, {target: Fraction(1)}))
        layer = _layer(units, len(values))
        return OneHot(values, self._write(node, layer, [str(v) for v in values]), False)

    def _steps(
        self,
        node: int,
        x: Form,
        points: Sequence[Fraction],
        results: Sequence[Mapping[int, Fraction]],
        outputs: int,
    ) -> Layer:
        """Return steps on a number, and note how finely the number must be told apart."""
        largest = max(abs(p) for p in points)
        is_share = all(name.endswith(SHARE) for name, _ in x.directions)
        for p, q, one, other in zip(points, points[1:], results, results[1:], strict=False):
            if one != other:
                scale = q if is_share else largest
                self.draft.resolve((q - p) / scale, self.program.nodes[node].span)
        return steps(x, points, results, outputs)

    # Writing ---------------------------------------------------------------------------------

    def _write(self, node: int, layer: Layer, labels: Sequence[str]) -> tuple[Form, ...]:
        known = self.program.nodes[node]
        name = self.draft.variable(self.label(node), labels, self.said(node), known.span)
        targets: list[Direction] = [(name, i) for i in range(len(labels))]
        self.draft.compute(name, layer, targets, self.said(node), known.span)
        computed = {k for unit in layer.units for k, value in unit.out.items() if value}
        return tuple(
            direction(*target) if k in computed else constant(layer.bias[k])
            for k, target in enumerate(targets)
        )

    def _not_yet(self, node: Node) -> ProgramError:
        shown = str(node.domain)
        message = f"this version cannot build this value, which is one of {shown}"
        help_ = "use a smaller context or vocabulary, so that its operands have fewer values"
        return ProgramError("not-yet", message, node.span, help=help_)


def _numeric(value: Outcome) -> Fraction:
    assert not isinstance(value, str | Undefined)
    return Fraction(value)


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


def _merged(values: Sequence[Value], outcomes: Sequence[Outcome], leaf: OneHot) -> OneHot:
    """Return a function of a one-hot: the forms of the leaf's values that give each value."""
    forms = []
    for value in values:
        members = [
            (1, form)
            for outcome, form in zip(outcomes, leaf.forms, strict=True)
            if not isinstance(outcome, Undefined) and order(outcome) == order(value)
        ]
        forms.append(combine(members))
    return OneHot(tuple(values), tuple(forms), leaf.exact)


def _weighted(layer: Layer, results: Sequence[Fraction]) -> Layer:
    """Return a one-hot layer as one number: each class times its result."""
    units = []
    for unit in layer.units:
        total = sum((value * results[k] for k, value in unit.out.items()), Fraction(0))
        units.append((unit.pre, {0: total}))
    bias = sum((b * r for b, r in zip(layer.bias, results, strict=True)), Fraction(0))
    return _layer(units, 1, (bias,))


def _layer(
    units: Sequence[tuple[Form, dict[int, Fraction]]],
    outputs: int,
    bias: Sequence[Fraction] | None = None,
) -> Layer:
    made = tuple(Unit(pre, out) for pre, out in units)
    return Layer(made, tuple(bias or [Fraction(0)] * outputs))

