"""Operators of expressions: on constants computed now, on s-ops and selectors made nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from handcraft.errors import ProgramError, Span
from handcraft.language import patterns, syntax
from handcraft.language.compile_time import Scope, Selector, Sop, Thing, describe, is_constant
from handcraft.language.domain_rules import misfit
from handcraft.language.domains import NOTHING, Domain, Finite, kinds
from handcraft.language.typed import AllOf, AnyOf, Apply, Choose, NoneOf
from handcraft.language.values import Undefined, Value, apply, truth

if TYPE_CHECKING:
    from handcraft.language.expressions import Evaluator


def unary(evaluator: Evaluator, expression: syntax.Unary, scope: Scope) -> Thing:
    """Evaluate `-x`, `+x` or `not x`."""
    op, operand, span = expression.op, expression.operand, expression.span
    thing = evaluator.evaluate(operand, scope)
    if op == "not":
        if isinstance(thing, Selector):
            return Selector(evaluator.builder.add(NoneOf(thing.node), span))
        return function(evaluator, "not", (thing,), span, (operand.span,))
    if op == "-":
        return function(evaluator, "negate", (thing,), span, (operand.span,))
    return function(evaluator, "+", (0, thing), span, (operand.span, operand.span))


def binary(evaluator: Evaluator, expression: syntax.Binary, scope: Scope) -> Thing:
    """Evaluate a chain of operators from its left end, without recursion."""
    chain = [expression]
    while isinstance(chain[-1].left, syntax.Binary):
        chain.append(chain[-1].left)
    left = evaluator.evaluate(chain[-1].left, scope)
    for link in reversed(chain):
        evaluator.charge(1, link.span)
        if link.op in ("and", "or"):
            left = _logical(evaluator, left, link, scope)
            continue
        right = evaluator.evaluate(link.right, scope)
        if link.op == "+" and isinstance(left, tuple) and isinstance(right, tuple):
            left = evaluator.bounded(left + right, link.span)
            continue
        left = function(
            evaluator, link.op, (left, right), link.span, (link.left.span, link.right.span)
        )
    return left


def comparison(evaluator: Evaluator, expression: syntax.Comparison, scope: Scope) -> Thing:
    """Evaluate a chain of comparisons: each neighbour pair, up to the first that is false."""
    span = expression.span
    before = expression.first
    left = evaluator.evaluate(before, scope)
    result: Thing = True
    for op, after in expression.rest:
        right = evaluator.evaluate(after, scope)
        place = Span(span.source, before.span.start, after.span.end)
        link = _compared(evaluator, op, (left, right), place, (before.span, after.span))
        if result is True:
            result = link
        elif is_constant(result):
            return result
        else:
            result = choose(evaluator, (result, link, False), span)
        left, before = right, after
    return result


def conditional(evaluator: Evaluator, expression: syntax.Conditional, scope: Scope) -> Thing:
    """Evaluate `a if c else b if d else e`, without recursion along the chain.

    Where a condition is a constant, the branch that is not taken is not evaluated.
    """
    undecided: list[tuple[Thing, Thing, syntax.Conditional]] = []
    rest: syntax.Expression = expression
    while isinstance(rest, syntax.Conditional):
        evaluator.charge(1, rest.span)
        condition = evaluator.evaluate(rest.condition, scope)
        if is_constant(condition):
            taken = truth(constant_condition(evaluator, condition, rest.condition.span))
            rest = rest.then if taken else rest.otherwise
            if taken:
                break
            continue
        tested: Thing = Sop(evaluator.sop(condition, rest.condition.span, "a condition"))
        undecided.append((tested, evaluator.evaluate(rest.then, scope), rest))
        rest = rest.otherwise
    result = evaluator.evaluate(rest, scope)
    place = rest.span
    for tested, then, link in reversed(undecided):
        branches = (
            Sop(evaluator.sop(then, link.then.span, "`if`")),
            Sop(evaluator.sop(result, place, "`if`")),
        )
        refuse_text_condition(evaluator, tested, link.condition.span)
        result = choose(evaluator, (tested, *branches), link.span)
        place = link.span
    return result


def constant_condition(evaluator: Evaluator, thing: Thing, span: Span) -> Value:
    """Return a condition that is decided now: a boolean or a number."""
    value = evaluator.constant(thing, span, "a condition")
    if isinstance(value, str):
        message = "a condition needs a boolean or a number, and this is a string"
        raise ProgramError("type", message, span, help="compare it: `x == y`")
    return value


def refuse_text_condition(evaluator: Evaluator, thing: Thing, span: Span) -> None:
    """Raise where a condition can be a string."""
    node = evaluator.sop(thing, span, "a condition")
    found = misfit("truth", [evaluator.builder.domain(node)])
    if found is not None:
        raise ProgramError("type", found.message, span, help=found.help)


def function(
    evaluator: Evaluator,
    name: str,
    things: tuple[Thing, ...],
    span: Span,
    places: tuple[Span, ...] = (),
) -> Thing:
    """Apply an element-wise function to constants or s-ops.

    Args:
        evaluator: where s-ops are made.
        name: the function.
        things: its arguments.
        span: the whole expression.
        places: where each argument stands, if it stands in the program.

    Raises:
        ProgramError: for arguments of the wrong kind, or constants without a result.
    """
    role = f"`{name}`" if name != "negate" else "`-`"
    places = places or (span,) * len(things)
    known = all(is_constant(thing) for thing in things)
    nodes: tuple[int, ...] = ()
    if known:
        values = [
            evaluator.constant(thing, place, role)
            for thing, place in zip(things, places, strict=True)
        ]
        domains: list[Domain] = [Finite((value,)) for value in values]
    else:
        nodes = tuple(
            evaluator.sop(thing, place, role) for thing, place in zip(things, places, strict=True)
        )
        domains = [evaluator.builder.domain(node) for node in nodes]
    found = misfit(name, domains)
    if found is not None:
        place = span if found.argument is None else places[found.argument]
        raise ProgramError("type", found.message, place, help=found.help)
    if not known:
        if name in ("==", "!="):
            warn_if_never_equal(evaluator, domains, span)
        made = evaluator.builder.add(Apply(name, nodes), span)
        _warn_if_never_defined(evaluator, made, domains, span)
        return Sop(made)
    outcome = apply(name, values)
    if isinstance(outcome, Undefined):
        raise ProgramError(outcome.code, outcome.message, span)
    return evaluator.bounded(outcome, span)


def choose(evaluator: Evaluator, parts: tuple[Thing, Thing, Thing], span: Span) -> Thing:
    """Return `then if condition else otherwise` of a condition, a then and an otherwise."""
    condition, then, otherwise = (evaluator.sop(part, span, "`if`") for part in parts)
    return Sop(evaluator.builder.add(Choose(condition, then, otherwise), span))


def warn_if_never_equal(evaluator: Evaluator, pair: Sequence[Domain], span: Span) -> None:
    """Warn where two s-ops hold kinds of value that are never equal."""
    left, right = (kinds(domain) for domain in pair)
    text = frozenset({"string"})
    if left and right and (left == text or right == text) and not left & right:
        message = "a string and a number are never equal"
        evaluator.warn("never-equal", message, span, "convert with `str(...)` or `int(...)`")


def _warn_if_never_defined(
    evaluator: Evaluator, node: int, operands: Sequence[Domain], span: Span
) -> None:
    """Warn where a function has no value for any of the arguments that it can get."""
    reason = evaluator.builder.why_undefined(node)
    if reason is not None and NOTHING not in operands:
        evaluator.warn("no-value", f"this has no value on any input: {reason}", span)


def _logical(evaluator: Evaluator, left: Thing, link: syntax.Binary, scope: Scope) -> Thing:
    """Evaluate `and` or `or`: of selectors, or of conditions, the right one only if needed."""
    op, places = link.op, (link.left.span, link.right.span)
    if is_constant(left):
        decided = truth(constant_condition(evaluator, left, places[0])) == (op == "or")
        if decided:
            return op == "or"
    right = evaluator.evaluate(link.right, scope)
    if isinstance(left, Selector) or isinstance(right, Selector):
        nodes = [
            evaluator.selector(thing, place, f"`{op}` beside a selector")
            for thing, place in zip((left, right), places, strict=True)
        ]
        make = AllOf if op == "and" else AnyOf
        return Selector(evaluator.builder.add(make(nodes[0], nodes[1]), link.span))
    second = function(evaluator, "truth", (right,), places[1])
    if is_constant(left):
        return second
    first = Sop(evaluator.sop(left, places[0], f"`{op}`"))
    refuse_text_condition(evaluator, first, places[0])
    parts = (first, second, False) if op == "and" else (first, True, second)
    return choose(evaluator, parts, link.span)


def _compared(
    evaluator: Evaluator,
    op: str,
    pair: tuple[Thing, Thing],
    span: Span,
    places: tuple[Span, Span],
) -> Thing:
    """Evaluate one comparison of two things."""
    for thing, place in zip(pair, places, strict=True):
        if isinstance(thing, Selector):
            evaluator.sop(thing, place, f"`{op}`")
    if op in ("in", "not in"):
        found = _membership(evaluator, pair, span, places)
        return function(evaluator, "not", (found,), span) if op == "not in" else found
    for thing, place in zip(pair, places, strict=True):
        if isinstance(thing, tuple | Mapping):
            message = f"`{op}` compares values, and this is {describe(thing)}"
            raise ProgramError("type", message, place, help="`in` looks a value up in a list")
    return function(evaluator, op, pair, span, places)


def _membership(
    evaluator: Evaluator, pair: tuple[Thing, Thing], span: Span, places: tuple[Span, Span]
) -> Thing:
    left, right = pair
    if isinstance(left, str) and isinstance(right, str):
        return left in right
    if isinstance(right, Sop) and patterns.asks_next(evaluator.builder, right.node) is not None:
        return _among_next(evaluator, left, right.node, span, places)
    items = evaluator.items(right, places[1], "`in`")
    if is_constant(left) and all(is_constant(item) for item in items):
        return left in items
    found: Thing = False
    for item in reversed(items):
        equal = function(evaluator, "==", (left, item), span, places)
        if equal is True:
            found = True
        elif equal is not False:
            found = choose(evaluator, (equal, True, found), span)
    return found


def _among_next(
    evaluator: Evaluator, left: Thing, following: int, span: Span, places: tuple[Span, Span]
) -> Thing:
    """Evaluate `x in next(...)`: x is one of the tokens that may follow."""
    found: Thing = False
    for token in reversed(evaluator.builder.header.vocabulary.tokens):
        equal = function(evaluator, "==", (left, token), span, places)
        if equal is not False:
            may = Sop(patterns.may_follow(evaluator.builder, following, token, span))
            found = may if equal is True else choose(evaluator, (equal, may, found), span)
    return found
