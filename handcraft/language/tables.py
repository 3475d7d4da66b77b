"""Lists and dicts of expressions: indexing, displays, comprehensions and unpacking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from handcraft.errors import ProgramError, Span
from handcraft.language import calls, operators, syntax
from handcraft.language.compile_time import (
    Arguments,
    Constant,
    Operation,
    Scope,
    Several,
    Sop,
    Thing,
    describe,
    is_constant,
)
from handcraft.language.typed import Pick
from handcraft.language.values import Value, show, truth

if TYPE_CHECKING:
    from handcraft.language.expressions import Evaluator

MOST_KEYS_SHOWN = 8


def index(evaluator: Evaluator, expression: syntax.Index, scope: Scope) -> Thing:
    """Evaluate `base[index]`: an entry, a character, a table look-up, or a position's value."""
    base, place, span = expression.base, expression.index.span, expression.span
    thing = evaluator.evaluate(base, scope)
    key = evaluator.evaluate(expression.index, scope)
    if isinstance(thing, Sop):
        return _at_position(evaluator, thing, key, place, span)
    if not isinstance(thing, Mapping):
        thing = evaluator.items(thing, base.span, "an index")
    if not is_constant(key):
        entries = thing if isinstance(thing, Mapping) else dict(enumerate(thing))
        node = evaluator.sop(key, place, "an index")
        role = "a table that is indexed by an s-op"
        options = tuple(evaluator.sop(entry, base.span, role) for entry in entries.values())
        return Sop(evaluator.builder.add(Pick(node, tuple(entries), options), span))
    constant = evaluator.constant(key, place, "a key")
    if isinstance(thing, Mapping):
        if constant not in thing:
            raise _missing_key(thing, constant, place)
        return thing[constant]
    if not isinstance(constant, int) or not -len(thing) <= constant < len(thing):
        message = f"no item {show(constant)} in a list of {len(thing)}"
        raise ProgramError("missing-key", message, place)
    return thing[constant]


def dict_display(
    evaluator: Evaluator, expression: syntax.DictDisplay, scope: Scope
) -> Mapping[Constant, Thing]:
    """Evaluate `{key: value, ...}`."""
    return _dict(
        (_key(evaluator, key, scope), key.span, evaluator.evaluate(value, scope))
        for key, value in expression.items
    )


def dict_comprehension(
    evaluator: Evaluator, expression: syntax.DictComprehension, scope: Scope
) -> Mapping[Constant, Thing]:
    """Evaluate `{key: value for targets in iterable if condition}`."""
    key = expression.key
    return _dict(
        (_key(evaluator, key, inner), key.span, evaluator.evaluate(expression.value, inner))
        for inner in comprehension(evaluator, expression, scope)
    )


def comprehension(
    evaluator: Evaluator,
    expression: syntax.ListComprehension | syntax.DictComprehension,
    scope: Scope,
) -> Iterator[Scope]:
    """Yield a scope for each item of a comprehension that its condition keeps."""
    iterable = evaluator.evaluate(expression.iterable, scope)
    for item in evaluator.items(iterable, expression.iterable.span, "a comprehension"):
        evaluator.charge(1, expression.span)
        inner = Scope(scope)
        unpack(expression.targets, item, inner, expression.span)
        if expression.condition is not None:
            kept = evaluator.evaluate(expression.condition, inner)
            place = expression.condition.span
            if not truth(operators.constant_condition(evaluator, kept, place)):
                continue
        yield inner


def unpack(targets: tuple[str, ...], thing: Thing, scope: Scope, span: Span) -> None:
    """Bind targets to a thing: one target to all of it, several to its items."""
    if len(targets) == 1:
        scope.names[targets[0]] = thing
        return
    items = thing.values if isinstance(thing, Several) else thing
    if not isinstance(items, tuple):
        message = f"{len(targets)} names need {len(targets)} values, and this is {describe(thing)}"
        raise ProgramError("arity", message, span)
    if len(items) != len(targets):
        values = "1 value" if len(items) == 1 else f"{len(items)} values"
        message = f"{len(targets)} names cannot take {values}"
        help_ = "write as many names before `=` as there are values"
        raise ProgramError("arity", message, span, help=help_)
    scope.names.update(zip(targets, items, strict=True))


def _at_position(evaluator: Evaluator, base: Sop, key: Thing, place: Span, span: Span) -> Thing:
    """Return `x[n]`: the value of x at position n, everywhere."""
    if not isinstance(key, int) or isinstance(key, bool):
        found = show(key) if isinstance(key, Fraction) else describe(key)
        message = f"an s-op is indexed by a whole number, and this is {found}"
        help_ = "`aggregate(select(indices, p, ==), x)` reads x at the position p"
        raise ProgramError("type", message, place, help=help_)
    position: Thing = key
    if key < 0:
        length = evaluator.original("length", span)
        position = operators.function(evaluator, "+", (length, key), span)
    here = evaluator.original("indices", span)
    there = _called(evaluator, "select", (here, position, Operation("==")), span)
    return _called(evaluator, "aggregate", (there, base), span)


def _called(evaluator: Evaluator, name: str, things: tuple[Thing, ...], span: Span) -> Thing:
    arguments = Arguments(things, (span,) * len(things), span)
    return calls.call(evaluator, evaluator.original(name, span), arguments)


def _missing_key(table: Mapping[Constant, Thing], key: Constant, span: Span) -> ProgramError:
    known = ", ".join(show(each) for each in list(table)[:MOST_KEYS_SHOWN])
    more = ", ..." if len(table) > MOST_KEYS_SHOWN else ""
    help_ = f"the keys are {known}{more}" if table else "the table is empty"
    return ProgramError("missing-key", f"the table has no entry for {show(key)}", span, help=help_)


def _key(evaluator: Evaluator, expression: syntax.Expression, scope: Scope) -> Value:
    return evaluator.constant(evaluator.evaluate(expression, scope), expression.span, "a key")


def _dict(entries: Iterable[tuple[Value, Span, Thing]]) -> Mapping[Constant, Thing]:
    made: dict[Constant, Thing] = {}
    for key, span, thing in entries:
        if key in made:
            raise ProgramError("duplicate", f"the key {show(key)} stands twice", span)
        made[key] = thing
    return made
