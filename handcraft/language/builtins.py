"""The functions and names of the language that no program has to define."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from handcraft.errors import ProgramError, Span
from handcraft.language import attributes, patterns
from handcraft.language.calls import call
from handcraft.language.compile_time import (
    DERIVED,
    Arguments,
    Builtin,
    Operation,
    Selector,
    Sop,
    Thing,
    describe,
    is_constant,
)
from handcraft.language.domain_rules import misfit
from handcraft.language.domains import is_numeric, kinds
from handcraft.language.operators import function, warn_if_never_equal
from handcraft.language.sequences import TARGET
from handcraft.language.typed import (
    Aggregate,
    AllOf,
    Apply,
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
from handcraft.language.values import COMPARISONS, show

if TYPE_CHECKING:
    from handcraft.language.builder import Builder
    from handcraft.language.expressions import Evaluator

LONGEST_RANGE = 2**62
"""No longer one is measured."""

ELEMENTWISE: tuple[str, ...] = (
    *("abs", "round", "floor", "ceil", "indicator", "sign", "sqrt", "exp", "log", "sin", "cos"),
    *("int", "float", "bool", "str"),
)
"""Functions of one value."""


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
        Builtin("selector_width", ("sel", "assume_bos"), 1, _width),
        Builtin("count", ("sel", "v"), 1, _count),
        Builtin("sum", ("sel", "x"), 1, _sum),
        Builtin("latest", ("sel",), 1, _latest),
        Builtin("first", ("sel",), 1, _first),
        Builtin("best", ("sel", "score"), 2, _best),
        Builtin("max", ("sel", "x", "default"), 1, _extreme("max"), variadic=True),
        Builtin("min", ("sel", "x", "default"), 1, _extreme("min"), variadic=True),
        Builtin("range", ("a", "b", "step"), 1, _range),
        Builtin("zip", ("a", "b"), 1, _zip, variadic=True),
        Builtin("len", ("list",), 1, _len),
        *(Builtin(name, ("x",), 1, _elementwise(name)) for name in ELEMENTWISE),
        *patterns.functions(),
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
    if name == "source":
        return attributes.source(evaluator, span)
    if name in DERIVED:
        tokens = Sop(builder.add(Tokens(TARGET), span))
        return function(evaluator, name[7:], (tokens,), span)
    return None


def _elementwise(name: str) -> Callable[[Evaluator, Arguments], Thing]:
    def call(evaluator: Evaluator, given: Arguments) -> Thing:
        return function(evaluator, name, given.things, given.span, given.spans)

    return call


def _select(evaluator: Evaluator, given: Arguments) -> Thing:
    key, query = (_sop(evaluator, given, number, "`select`") for number in (0, 1))
    operation = given.things[2]
    if not isinstance(operation, Operation):
        message = f"`select` needs a comparison, and this is {describe(operation)}"
        help_ = f"the third argument is one of {' '.join(COMPARISONS)}"
        raise ProgramError("type", message, given.spans[2], help=help_)
    builder, span = evaluator.builder, given.span
    domains = [builder.domain(key), builder.domain(query)]
    found = misfit(operation.op, domains)
    if found is not None:
        raise ProgramError("type", found.message, span, help=found.help)
    if operation.op in ("==", "!="):
        warn_if_never_equal(evaluator, domains, span)
    node = builder.add(Compare(operation.op, key, query), span)
    masked = builder.header.attention == "causal" and builder.nodes[node].keys == TARGET
    if masked and builder.counts(node).most == 0:
        rows = builder.unmasked_reach(node).may
        if any(rows):
            message = "under causal attention no position sees a key that this selector names"
            help_ = "a position sees itself and what stands before it"
            evaluator.warn("sees-nothing", message, span, help_)
    return Selector(node)


def _aggregate(evaluator: Evaluator, given: Arguments) -> Thing:
    selector = _selector(evaluator, given, "`aggregate`")
    value = _sop(evaluator, given, 1, "`aggregate`")
    builder = evaluator.builder
    default: int | None = None
    if len(given.things) > 2:
        default = _sop(evaluator, given, 2, "the default of `aggregate`")
    elif is_numeric(builder.domain(value)):
        default = builder.constant(0, given.span)
    return Sop(builder.add(Aggregate(selector, value, default), given.span))


def _width(evaluator: Evaluator, given: Arguments) -> Thing:
    selector = _selector(evaluator, given, "`selector_width`")
    if len(given.things) == 2 and _assumes_bos(evaluator, given):
        selector = _after_first(evaluator, selector, given.span)
    return Sop(evaluator.builder.add(Width(selector), given.span))


def _assumes_bos(evaluator: Evaluator, given: Arguments) -> bool:
    """Return the argument `assume_bos`: whether the first position is a start token."""
    thing, place = given.things[1], given.spans[1]
    found = evaluator.constant(thing, place, "`assume_bos`")
    if not isinstance(found, bool):
        message = f"`assume_bos` is `True` or `False`, and this is {describe(found)}"
        raise ProgramError("type", message, place)
    return found


def _after_first(evaluator: Evaluator, selector: int, span: Span) -> int:
    """Return a selector without the first position, which RASP counts as a start token."""
    builder = evaluator.builder
    indices = builder.add(Indices(TARGET), span)
    later = builder.add(Compare(">", indices, builder.constant(0, span)), span)
    return builder.add(AllOf(selector, later), span)


def _count(evaluator: Evaluator, given: Arguments) -> Thing:
    if len(given.things) == 1:
        selector = _selector(evaluator, given, "`count` of one argument")
        return Sop(evaluator.builder.add(Width(selector), given.span))
    _sop(evaluator, given, 0, "`count(x, v)`")
    return call(evaluator, evaluator.original("count_of", given.span), given)


def _sum(evaluator: Evaluator, given: Arguments) -> Thing:
    span = given.span
    if len(given.things) == 1:
        total: Thing = 0
        for item in evaluator.items(given.things[0], given.spans[0], "`sum` of one argument"):
            total = function(evaluator, "+", (total, item), span, (span, given.spans[0]))
        return total
    selector = _selector(evaluator, given, "`sum`")
    value = _numeric(evaluator, given, 1, "`sum`")
    return Sop(evaluator.builder.add(Total(selector, value), span))


def _latest(evaluator: Evaluator, given: Arguments) -> Thing:
    selector = _selector(evaluator, given, "`latest`")
    return Selector(evaluator.builder.add(Latest(selector), given.span))


def _first(evaluator: Evaluator, given: Arguments) -> Thing:
    selector = _selector(evaluator, given, "`first`")
    return Selector(evaluator.builder.add(First(selector), given.span))


def _best(evaluator: Evaluator, given: Arguments) -> Thing:
    selector = _selector(evaluator, given, "`best`")
    score = _numeric(evaluator, given, 1, "the score of `best`")
    return Selector(evaluator.builder.add(Best(selector, score), given.span))


def _extreme(name: str) -> Callable[[Evaluator, Arguments], Thing]:
    """Return `max` or `min`: of the selected values, or of its arguments."""

    def call_(evaluator: Evaluator, given: Arguments) -> Thing:
        if isinstance(given.things[0], Selector):
            return _extreme_selected(evaluator, given, name)
        items, spans, first = given.things, given.spans, given.things[0]
        if len(items) == 1 and not isinstance(first, Sop) and not is_constant(first):
            items = evaluator.items(first, spans[0], f"`{name}` of one argument")
            spans = spans * len(items)
        if not items:
            raise ProgramError("type", f"`{name}` of nothing has no value", given.span)
        return function(evaluator, name, items, given.span, spans)

    return call_


def _extreme_selected(evaluator: Evaluator, given: Arguments, name: str) -> Thing:
    if not 2 <= len(given.things) <= 3:
        count = f"{len(given.things)} argument" + ("" if len(given.things) == 1 else "s")
        message = f"`{name}` of a selector does not take {count}"
        help_ = f"write `{name}(sel, x, [default])`"
        raise ProgramError("arity", message, given.span, help=help_)
    builder = evaluator.builder
    selector = _selector(evaluator, given, f"`{name}`")
    value = _numeric(evaluator, given, 1, f"`{name}`")
    score = value
    if name == "min":
        score = builder.add(Apply("negate", (value,)), given.span)
    best = builder.add(Best(selector, score), given.span)
    default = None
    if len(given.things) == 3:
        default = _sop(evaluator, given, 2, f"the default of `{name}`")
    return Sop(builder.add(Aggregate(best, value, default), given.span))


def _range(evaluator: Evaluator, given: Arguments) -> Thing:
    numbers = []
    for thing, place in zip(given.things, given.spans, strict=True):
        number = evaluator.constant(thing, place, "`range`")
        if not isinstance(number, int) or isinstance(number, bool):
            message = f"`range` needs whole numbers, and this is {show(number)}"
            raise ProgramError("type", message, place)
        numbers.append(number)
    if len(numbers) == 3 and numbers[2] == 0:
        raise ProgramError("type", "the step of `range` cannot be 0", given.spans[2])
    made = range(*numbers)
    longest = LONGEST_RANGE if made[LONGEST_RANGE:] else len(made)
    evaluator.charge(longest, given.span)
    return tuple(made)


def _zip(evaluator: Evaluator, given: Arguments) -> Thing:
    columns = [
        evaluator.items(thing, place, "`zip`")
        for thing, place in zip(given.things, given.spans, strict=True)
    ]
    evaluator.charge(min(map(len, columns)), given.span)
    return tuple(zip(*columns, strict=False))


def _len(_evaluator: Evaluator, given: Arguments) -> Thing:
    thing = given.things[0]
    if isinstance(thing, str | tuple | Mapping):
        return len(thing)
    help_ = "`length` is the length of the input" if isinstance(thing, Sop) else None
    message = f"`len` needs a list, and this is {describe(thing)}"
    raise ProgramError("type", message, given.spans[0], help=help_)


def _selector(evaluator: Evaluator, given: Arguments, role: str) -> int:
    return evaluator.selector(given.things[0], given.spans[0], role)


def _sop(evaluator: Evaluator, given: Arguments, number: int, role: str) -> int:
    return evaluator.sop(given.things[number], given.spans[number], role)


def _numeric(evaluator: Evaluator, given: Arguments, number: int, role: str) -> int:
    """Return the node of an argument that must be numbers (or booleans)."""
    node = _sop(evaluator, given, number, role)
    found = kinds(evaluator.builder.domain(node))
    if "string" in found:
        can_be = "is" if found == {"string"} else "can be"
        message = f"{role} needs numbers, and this {can_be} a string"
        help_ = "convert with `int(...)`, or count with `indicator(x == y)`"
        raise ProgramError("type", message, given.spans[number], help=help_)
    return node
