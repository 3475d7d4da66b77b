"""The functions and names of the language that no program has to define."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING

from handcraft.errors import ProgramError, Span
from handcraft.language.compile_time import (
    Builtin,
    Operation,
    Selector,
    Sop,
    Thing,
    describe,
    is_constant,
)
from handcraft.language.domains import is_numeric
from handcraft.language.typed import (
    Aggregate,
    Best,
    Compare,
    First,
    Full,
    Indices,
    Latest,
    Tokens,
    Total,
    Width,
)
from handcraft.language.values import COMPARISONS

if TYPE_CHECKING:
    from handcraft.language.builder import Builder
    from handcraft.language.expressions import Evaluator

TARGET = "tokens"
"""The name of the sequence that a decoder reads and writes."""

ELEMENTWISE = ("abs", "round", "floor", "ceil", "indicator", "sign", "sqrt", "exp", "log")
ELEMENTWISE += ("sin", "cos", "int", "float", "bool", "str")

NOT_YET = ("source", "state", "next", "accepts", "automaton")


def constants(builder: Builder, span: Span) -> dict[str, Thing]:
    """Return the names that stand for s-ops and selectors."""
    tokens = Sop(builder.add(Tokens(TARGET), span))
    indices = Sop(builder.add(Indices(TARGET), span))
    past = Compare("<=", indices.node, indices.node)
    before = Compare("<", indices.node, indices.node)
    return {
        "tokens": tokens,
        "indices": indices,
        "full_s": Selector(builder.add(Full(TARGET, TARGET), span)),
        "past": Selector(builder.add(past, span)),
        "before": Selector(builder.add(before, span)),
    }


def functions() -> dict[str, Thing]:
    """Return the built-in functions by name."""
    made = [
        Builtin("select", ("k", "q", "op"), 3, _select),
        Builtin("aggregate", ("sel", "x", "default"), 2, _aggregate),
        Builtin("selector_width", ("sel",), 1, _width),
        Builtin("count", ("sel", "v"), 1, _count),
        Builtin("sum", ("sel", "x"), 1, _sum),
        Builtin("latest", ("sel",), 1, _latest),
        Builtin("first", ("sel",), 1, _first),
        Builtin("best", ("sel", "score"), 2, _best),
        Builtin("max", ("sel", "x", "default"), 1, _extreme("max"), variadic=True),
        Builtin("min", ("sel", "x", "default"), 1, _extreme("min"), variadic=True),
        Builtin("range", ("start", "stop", "step"), 1, _range),
        Builtin("zip", ("a", "b"), 1, _zip, variadic=True),
        Builtin("len", ("list",), 1, _len),
        *(Builtin(name, ("x",), 1, _elementwise(name)) for name in ELEMENTWISE),
        *(Builtin(name, ("x",), 0, _not_yet(name), variadic=True) for name in NOT_YET[1:]),
    ]
    return {builtin.name: builtin for builtin in made}


def derived(name: str, evaluator: Evaluator, span: Span) -> Thing | None:
    """Return a name that is made only where it is used: `length` and the casts of `tokens`."""
    builder = evaluator.builder
    if name == "length":
        if builder.header.attention == "causal":
            message = "under causal attention `length` is the number of tokens so far"
            evaluator.warn("causal-length", message, span, "write `indices + 1` to say so")
        return Sop(builder.add(Width(builder.add(Full(TARGET, TARGET), span)), span))
    if name.startswith("tokens_") and name[7:] in ("str", "int", "float", "bool"):
        tokens = Sop(builder.add(Tokens(TARGET), span))
        return evaluator.function(name[7:], (tokens,), span)
    if name == "source":
        return _refuse_not_yet("source", span)
    return None


def _elementwise(name: str) -> Callable[[Evaluator, tuple[Thing, ...], Span], Thing]:
    def call(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
        return evaluator.function(name, things, span)

    return call


def _not_yet(name: str) -> Callable[[Evaluator, tuple[Thing, ...], Span], Thing]:
    def call(_evaluator: Evaluator, _things: tuple[Thing, ...], span: Span) -> Thing:
        return _refuse_not_yet(name, span)

    return call


def _refuse_not_yet(name: str, span: Span) -> Thing:
    message = f"`{name}` is part of the language, but this version cannot build it yet"
    raise ProgramError("not-yet", message, span)


def _select(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    key, query = (evaluator.sop(t, span, "`select`") for t in things[:2])
    operation = things[2]
    if not isinstance(operation, Operation):
        message = f"`select` needs a comparison, and this is {describe(operation)}"
        help_ = f"the third argument is one of {' '.join(COMPARISONS)}"
        raise ProgramError("type", message, span, help=help_)
    builder = evaluator.builder
    if operation.op in ("==", "!="):
        evaluator.warn_if_never_equal(key, query, span)
    node = builder.add(Compare(operation.op, key, query), span)
    if builder.header.attention == "causal" and builder.counts(node).most == 0:
        rows = builder.unmasked_reach(node).may
        if any(rows):
            message = "under causal attention no position sees a key that this selector names"
            evaluator.warn("sees-nothing", message, span, "or write `attention bidirectional;`")
    return Selector(node)


def _aggregate(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    selector = evaluator.selector(things[0], span, "`aggregate`")
    value = evaluator.sop(things[1], span, "`aggregate`")
    builder = evaluator.builder
    default: int | None = None
    if len(things) > 2:
        default = evaluator.sop(things[2], span, "the default of `aggregate`")
    elif is_numeric(builder.domain(value)):
        default = builder.constant(0, span)
    return Sop(builder.add(Aggregate(selector, value, default), span))


def _width(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    selector = evaluator.selector(things[0], span, "`selector_width`")
    return Sop(evaluator.builder.add(Width(selector), span))


def _count(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    if len(things) == 1:
        return _width(evaluator, things, span)
    evaluator.sop(things[0], span, "`count(x, v)`")
    return evaluator.call(evaluator.original("count_of", span), things, span)


def _sum(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    if len(things) == 1:
        items = evaluator.items(things[0], span, "`sum` of one argument")
        return reduce(lambda a, b: evaluator.function("+", (a, b), span), items, 0)
    selector = evaluator.selector(things[0], span, "`sum`")
    value = evaluator.sop(things[1], span, "`sum`")
    return Sop(evaluator.builder.add(Total(selector, value), span))


def _latest(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    selector = evaluator.selector(things[0], span, "`latest`")
    return Selector(evaluator.builder.add(Latest(selector), span))


def _first(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    selector = evaluator.selector(things[0], span, "`first`")
    return Selector(evaluator.builder.add(First(selector), span))


def _best(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    selector = evaluator.selector(things[0], span, "`best`")
    score = evaluator.sop(things[1], span, "the score of `best`")
    return Selector(evaluator.builder.add(Best(selector, score), span))


def _extreme(name: str) -> Callable[[Evaluator, tuple[Thing, ...], Span], Thing]:
    """Return `max` or `min`: of the selected values, or of its arguments."""

    def call(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
        if not isinstance(things[0], Selector):
            items = things
            if len(things) == 1 and not isinstance(things[0], Sop) and not is_constant(things[0]):
                items = evaluator.items(things[0], span, f"`{name}` of one argument")
            if not items:
                raise ProgramError("type", f"`{name}` of nothing has no value", span)
            return evaluator.function(name, items, span)
        if not 2 <= len(things) <= 3:
            message = f"`{name}` of a selector does not take {len(things)} arguments"
            raise ProgramError("arity", message, span, help=f"write `{name}(sel, x, [default])`")
        builder = evaluator.builder
        value = evaluator.sop(things[1], span, f"`{name}`")
        score: Thing = Sop(value)
        if name == "min":
            score = evaluator.function("negate", (score,), span)
        best = _best(evaluator, (things[0], score), span)
        selector = evaluator.selector(best, span, f"`{name}`")
        default = None
        if len(things) == 3:
            default = evaluator.sop(things[2], span, f"the default of `{name}`")
        return Sop(builder.add(Aggregate(selector, value, default), span))

    return call


def _range(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    numbers = []
    for thing in things:
        number = evaluator.constant(thing, span, "`range`")
        if not isinstance(number, int) or isinstance(number, bool):
            raise ProgramError("type", "`range` needs whole numbers", span)
        numbers.append(number)
    if len(numbers) == 3 and numbers[2] == 0:
        raise ProgramError("type", "the step of `range` cannot be 0", span)
    made = range(*numbers)
    length = len(made) if abs(made.stop - made.start) < 2**62 else 2**62
    evaluator.charge(length, span)
    return tuple(made)


def _zip(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    columns = [evaluator.items(t, span, "`zip`") for t in things]
    return tuple(zip(*columns, strict=False))


def _len(evaluator: Evaluator, things: tuple[Thing, ...], span: Span) -> Thing:
    thing = things[0]
    if isinstance(thing, str | tuple | Mapping):
        return len(thing)
    help_ = "`length` is the length of the input" if isinstance(thing, Sop) else None
    raise ProgramError("type", f"`len` needs a list, and this is {describe(thing)}", span, help=help_)
