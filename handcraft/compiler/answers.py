"""Reads the program's result out of the residual stream."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, assert_never

from handcraft.compiler.carriers import FORMAT
from handcraft.compiler.forms import (
    Direction,
    Form,
    constant,
    direction,
    magnitude,
    over_one,
)
from handcraft.compiler.graph import (
    Graph,
    Line,
    LogitReadout,
    NumberReadout,
    TokenReadout,
    ValueReadout,
)
from handcraft.compiler.levels import LINEAR_READOUT
from handcraft.compiler.neurons import gated
from handcraft.compiler.onehot import OneHot
from handcraft.compiler.purposes import Gate
from handcraft.language.domains import Finite, Lattice, Mixed, as_lattice, is_numeric, union
from handcraft.language.typed import Allow, Constant, Logits, Output, Predict, TypedProgram
from handcraft.language.values import Undefined, Value, order, truth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from handcraft.compiler.draft import Draft
    from handcraft.compiler.sops import Sops
    from handcraft.errors import Span

MARGIN = 1024
"""Least distance of the right logit from the others: exp(-1024) is 0 in every format."""

ROUNDINGS = 32
"""Roundings that the gap between two intervals of a linear decision must exceed."""

UNEQUAL = Fraction(1, 2**9)
"""How far the logits of allowed tokens may be from each other, which share the probability."""

LOGIT_ROUNDINGS = 8
"""Roundings of its largest term that a logit is allowed."""

FINEST = Fraction(1, 2**9)
"""Smallest gap over range that logits of values still resolve (squared: 2^-18)."""


def answer(program: TypedProgram, draft: Draft, sops: Sops) -> Graph:
    """Return the finished graph of a program."""
    match program.result:
        case Predict(value, span):
            return _tokens(program, draft, sops, _decision(sops, value), span)
        case Allow(choices, span):
            return _tokens(
                program, draft, sops, _allowed(program, draft, sops, choices, span), span
            )
        case Logits(tokens, values, span):
            margin = _logit_margin(draft, sops, values)
            forms = tuple(_without_constant(sops, sops.number(v)) for v in values)
            return draft.finished(LogitReadout(tokens, forms), margin)
        case Output(value):
            return _output(draft, sops, value)
        case _:
            assert_never(program.result)


def _logit_margin(draft: Draft, sops: Sops, values: Sequence[int]) -> Fraction:
    """Return the least distance of two logits that are told apart.

    It is that of two different ones, where float32 resolves it; else what float32 does resolve, and
    closer ones count as equal.
    """
    spacing = as_lattice(union(*(sops.facts.domain(v) for v in values))).spacing
    forms = [sops.number(value) for value in values]
    resolved = max(draft.precision.resolved(form) for form in forms) * FORMAT
    return max(spacing, 2 * resolved)


class Decision(NamedTuple):
    """What says the value.

    Attributes:
        forms: one for each possible value, the largest saying which.
        least: the least distance to it.
        lines: what the forms are in the number that they read, if it is one.
    """

    forms: Mapping[Value, Form]
    least: Fraction
    lines: Mapping[Value, Line] | None = None


def _decision(sops: Sops, node: int) -> Decision:
    """Return forms whose largest is the value, linear in what a head delivers where possible."""
    linear = _linear_decision(sops, node) if LINEAR_READOUT in sops.passes else None
    if linear is not None:
        return linear
    onehot = sops.onehot(node)
    return Decision(dict(zip(onehot.values, onehot.forms, strict=True)), Fraction(1))


def _linear_decision(sops: Sops, node: int) -> Decision | None:
    """Return the decision on one number whose values fall into intervals, one for each token.

    With thresholds t1 < t2 < ..., the form of interval k is k x - t1 - ... - tk: of neighbours the
    upper one is larger exactly above their threshold. Centred, the largest is half the sum of all
    |x - t|, which is how far it lies above 0, the logit of a token that is never said.
    """
    table = sops.program.nodes[node].table
    if table is None or len(table.leaves) != 1:
        return None
    leaf = table.leaves[0]
    if leaf == node and sops.gathering.share(node) is None:
        return None
    if not is_numeric(sops.facts.domain(leaf)) or sops.facts.is_categorical(leaf):
        return None
    x, points = sops.curves.carrier(leaf)
    known = [
        (p, o) for p, o in zip(points, table.outcomes, strict=True) if not isinstance(o, Undefined)
    ]
    known.sort(key=lambda pair: pair[0])
    runs: list[tuple[Value, Fraction, Fraction]] = []
    for point, outcome in known:
        if runs and order(runs[-1][0]) == order(outcome):
            runs[-1] = (runs[-1][0], runs[-1][1], point)
        else:
            runs.append((outcome, point, point))
    if len({order(run[0]) for run in runs}) < len(runs) or len(runs) < 2:
        return None
    middle = Fraction(len(runs) - 1, 2)
    forms: dict[Value, Form] = {}
    offset = Fraction(0)
    thresholds = [(a[2] + b[1]) / 2 for a, b in itertools.pairwise(runs)]
    centre = sum(thresholds, Fraction(0)) * Fraction(1, 2)
    lines: dict[Value, Line] = {}
    for k, (value, *piece) in enumerate(runs):
        if k:
            offset += thresholds[k - 1]
        lines[value] = Line(k - middle, centre - offset, (piece[0], piece[1]))
        forms[value] = x.scaled(k - middle).plus(centre - offset)
    gaps = [b[1] - a[2] for a, b in itertools.pairwise(runs)]
    roundoff = min(
        gap / (ROUNDINGS * _size(run, forms[run[0]]))
        for pair, gap in zip(itertools.pairwise(runs), gaps, strict=True)
        for run in pair
    )
    if roundoff < FORMAT:
        return None
    margins = [gap / 2 for gap in gaps]
    if any(token not in forms for token in sops.program.vocabulary.tokens):
        middle_ = len(thresholds) // 2  # the sum is convex in p, so it is least beside this one
        nearest = (runs[middle_][2], runs[middle_ + 1][1])
        margins += [sum((abs(p - t) for t in thresholds), Fraction(0)) / 2 for p in nearest]
    return Decision(forms, min(margins), lines)


def _size(run: tuple[Value, Fraction, Fraction], form: Form) -> Fraction:
    """Return a bound on what an interval's form adds up, where the number is in the interval."""
    slope = sum(magnitude(c) for _, c in form.terms)
    return slope * max(map(abs, run[1:])) + magnitude(form.constant)


def _allowed(
    program: TypedProgram,
    draft: Draft,
    sops: Sops,
    choices: Sequence[tuple[int, int]],
    span: Span,
) -> Decision:
    """Return 1 for the tokens that are allowed; for `eos` also where no other is."""
    reasons: dict[Value, list[Form]] = {}
    for token, condition in choices:
        holds = sops.truth(condition)
        said = program.nodes[token].op
        if isinstance(said, Constant):
            reasons.setdefault(said.value, []).append(holds)
            continue
        onehot = sops.onehot(token)
        for value, here in zip(onehot.values, onehot.forms, strict=True):
            both = _all_of(draft, "allowed", (here, holds), span)
            reasons.setdefault(value, []).append(both)
    forms: dict[Value, Form] = {}
    for possible, parts in reasons.items():
        forms[possible] = parts[0]
        if len(parts) > 1:
            none = [part.scaled(-1).plus(1) for part in parts]
            forms[possible] = _all_of(draft, "allowed", none, span, otherwise=True)
    eos = program.vocabulary.eos
    if eos is not None and not _some_holds(program, [condition for _, condition in choices]):
        none = [form.scaled(-1).plus(1) for form in forms.values()]
        nothing = _all_of(draft, "nothing_allowed", none, span)
        forms[eos] = forms.get(eos, constant(0)) + nothing
    rough = {
        token: form
        for token, form in forms.items()
        if draft.precision.error(form) * FORMAT * MARGIN > UNEQUAL
    }
    restored = sops.exact(OneHot(tuple(rough), tuple(rough.values()), not rough)).forms
    return Decision(forms | dict(zip(rough, restored, strict=True)), Fraction(1))


def _some_holds(program: TypedProgram, conditions: Sequence[int]) -> bool:
    """Return whether some condition always holds, as far as they are functions of the same s-ops.

    Where one of them has no value, the program has no meaning, and nothing matters.
    """
    tables = [program.nodes[condition].table for condition in conditions]
    known = [table for table in tables if table is not None]
    if any(all(isinstance(o, Undefined) or truth(o) for o in table.outcomes) for table in known):
        return True
    if not known or len(known) < len(tables) or len({table.leaves for table in known}) > 1:
        return False
    return all(
        any(isinstance(outcome, Undefined) or truth(outcome) for outcome in outcomes)
        for outcomes in zip(*(table.outcomes for table in known), strict=True)
    )


def _all_of(
    draft: Draft, name: str, conditions: Sequence[Form], span: Span, *, otherwise: bool = False
) -> Form:
    """Return 1 where all conditions hold and else 0, or the other way round."""
    unique = draft.variable(name, ("true",), "what may come next", span)
    gate = Gate(constant(1), ((0, -1 if otherwise else 1),), tuple(conditions), 1, 1)
    layer = gated([gate], (int(otherwise),), (1,), is_one=True)
    draft.compute(unique, layer, [(unique, 0)], "what may come next", span)
    return direction(unique, 0)


def _tokens(
    program: TypedProgram, draft: Draft, sops: Sops, decision: Decision, span: Span
) -> Graph:
    """Write the decision to the token directions, scaled so that the wrong ones vanish.

    The token here is written there too, by its embedding: it costs one unit of the distance. Where
    several tokens share the probability, it is taken away, so that their shares are equal.
    """
    forms, least, _ = decision
    scale = _power_of_two((MARGIN + 1) / least)
    name = sops.embeddings.token_variable()
    vocabulary = program.vocabulary.tokens
    targets: dict[Direction, Form] = {
        (name, i): forms[token].scaled(scale)
        for i, token in enumerate(vocabulary)
        if token in forms
    }
    if isinstance(program.result, Allow):
        targets = {here: form + direction(*here).scaled(-1) for here, form in targets.items()}
    draft.send(targets, "readout", span)
    return draft.finished(TokenReadout(name), scale * least - 1)


def _output(draft: Draft, sops: Sops, node: int) -> Graph:
    domain = sops.facts.domain(node)
    match domain:
        case Finite(values) if not is_numeric(domain) or sops.is_free(node):
            onehot = sops.onehot(node)
            forms = tuple(_without_constant(sops, f.scaled(MARGIN)) for f in onehot.forms)
            return draft.finished(ValueReadout(onehot.values, forms), Fraction(MARGIN))
        case Finite(values) if (decision := _by_intervals(sops, node)) is not None:
            forms_, least, lines = decision
            scale = _power_of_two(MARGIN / least)
            forms = tuple(_without_constant(sops, forms_[v].scaled(scale)) for v in values)
            assert lines is not None
            scaled = tuple(lines[v].scaled(scale) for v in values)
            return draft.finished(ValueReadout(values, forms, scaled), scale * least)
        case Finite(values):
            numbers = [Fraction(v) for v in values if not isinstance(v, str)]
            if _is_fine(numbers):
                return _number(draft, sops, node)
            return _values(draft, sops, node, numbers)
        case Lattice():
            return _number(draft, sops, node)
        case Mixed():
            sops.facts.values(node)
            raise AssertionError("a mixed domain is no list")
        case _:
            assert_never(domain)


def _by_intervals(sops: Sops, node: int) -> Decision | None:
    """Return a linear decision between counts, whose shares are further apart than they look."""
    if LINEAR_READOUT not in sops.passes or sops.gathering.share(node) is None:
        return None
    return _linear_decision(sops, node)


def _power_of_two(least: Fraction) -> Fraction:
    """Return the smallest power of two, at least 1, that is not less than this."""
    scale = Fraction(1)
    while scale < least:
        scale *= 2
    return scale


def _is_fine(numbers: Sequence[Fraction]) -> bool:
    """Return whether the values are too close together for one logit each."""
    gap = _gap(numbers)
    return gap < FINEST * (numbers[-1] - numbers[0])


def _gap(values: Sequence[Value]) -> Fraction:
    """Return the least distance of two numbers in order, 1 for a single one."""
    wholes, bottom = over_one([v for v in values if not isinstance(v, str)])
    return Fraction(min((b - a for a, b in itertools.pairwise(wholes)), default=bottom), bottom)


def _values(draft: Draft, sops: Sops, node: int, numbers: Sequence[Fraction]) -> Graph:
    """Return a logit K (x v - v^2 / 2) for each value v, centred: the nearest value wins.

    Two values at distance g differ by K g^2 / 2 where x is one of them. Where the rounding of K x v
    comes near to that, as x is a sum of large parts, x itself is read.
    """
    x = sops.number(node)
    centre = (numbers[0] + numbers[-1]) / 2
    gap = _gap(numbers)
    added = (numbers[-1] - centre) * draft.precision.size(x)
    is_fine = gap < 4 * FINEST * (numbers[-1] - numbers[0])
    if is_fine and added * LOGIT_ROUNDINGS * FORMAT > gap**2 / 8:
        return _number(draft, sops, node)
    scale = _power_of_two(2 * MARGIN / gap**2)
    forms, lines = [], []
    for number in numbers:
        v = number - centre
        line = Line(v, -centre * v - v * v / 2, (number, number)).scaled(scale)
        lines.append(line)
        forms.append(_without_constant(sops, x.scaled(line.slope).plus(line.constant)))
    values = sops.facts.values(node)
    readout = ValueReadout(values, tuple(forms), tuple(lines))
    return draft.finished(readout, scale * gap * gap / 2)


def _number(draft: Draft, sops: Sops, node: int) -> Graph:
    """Return the value itself, of which the nearest possible one is taken."""
    domain = sops.facts.domain(node)
    gap = _gap(domain.values) if isinstance(domain, Finite) else as_lattice(domain).spacing
    form = _without_constant(sops, sops.number(node))
    return draft.finished(NumberReadout(form, gap), Fraction(0))


def _without_constant(sops: Sops, form: Form) -> Form:
    """Return a form whose constant is read from directions that add up to 1."""
    if not form.constant:
        return form
    ones = sops.embeddings.ones({name for name, _ in form.directions})
    return Form(form.terms) + ones.scaled(form.constant)
