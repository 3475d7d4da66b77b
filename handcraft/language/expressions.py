"""Evaluates expressions while a program is checked: constants, s-ops, selectors, lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from types import MappingProxyType
from typing import TypeVar, assert_never

from handcraft.errors import Notice, ProgramError, Span
from handcraft.language import syntax
from handcraft.language.builder import Builder
from handcraft.language.calls import bind
from handcraft.language.compile_time import (
    Builtin,
    Closure,
    Constant,
    Operation,
    Poison,
    Scope,
    Selector,
    Several,
    Sop,
    Thing,
    describe,
    is_constant,
)
from handcraft.language.domain_rules import type_mistake
from handcraft.language.domains import Finite, kinds
from handcraft.language.suggestions import closest
from handcraft.language.typed import AllOf, AnyOf, Apply, Choose, NoneOf, Pick
from handcraft.language.values import Undefined, Value, apply, normal, show, truth

MOST_STEPS = 1_000_000
"""Evaluated expressions and list items, after which a program is refused."""

LONGEST = 100_000
"""Items of a list or characters of a string made by a program."""

DEEPEST_CALL = 40

T = TypeVar("T")


class PoisonedError(Exception):
    """A name whose definition failed was used: the mistake has been told already."""


class Evaluator:
    """Evaluates expressions in scopes, over the nodes of one builder.

    Attributes:
        builder: where s-ops and selectors are made.
        notices: warnings found on the way.
        assumed: whether the program has an `assume`, so that some inputs are out of scope.
        call_body: runs the body of a function in a scope and returns what it returns.
        original: what a name of the language or its library stands for, or None.
    """

    def __init__(
        self,
        builder: Builder,
        call_body: Callable[[tuple[syntax.Statement, ...], Scope, Span], Thing],
        original: Callable[[str, Span], Thing | None],
    ) -> None:
        self.builder = builder
        self.notices: list[Notice] = []
        self.assumed = False
        self.call_body = call_body
        self._original = original
        self._steps = 0
        self._active: list[syntax.Definition] = []

    # Expressions -----------------------------------------------------------------------------

    def evaluate(self, expression: syntax.Expression, scope: Scope) -> Thing:
        """Return what an expression stands for.

        Raises:
            ProgramError: if it is wrong.
            PoisonedError: if it uses a name whose definition was wrong.
        """
        span = expression.span
        self.charge(1, span)
        match expression:
            case syntax.Number(value):
                return normal(value)
            case syntax.Text(value):
                return value
            case syntax.Truth(value):
                return value
            case syntax.Operator(op):
                return Operation(op)
            case syntax.Name(name):
                return self.lookup(name, scope, span)
            case syntax.Unary(op, operand):
                return self._unary(op, operand, scope, span)
            case syntax.Binary():
                return self._binary(expression, scope)
            case syntax.Comparison(first, rest):
                return self._comparison(first, rest, scope, span)
            case syntax.Conditional():
                return self._conditional(expression, scope)
            case syntax.Call():
                return self._call(expression, scope)
            case syntax.Index(base, index):
                return self._index(base, index, scope, span)
            case syntax.ListDisplay(items):
                return tuple(self.evaluate(item, scope) for item in items)
            case syntax.DictDisplay(items):
                pairs = ((key, self.evaluate(value, scope)) for key, value in items)
                return self._dict(((self._key(k, scope), k.span, v) for k, v in pairs))
            case syntax.ListComprehension(element):
                scopes = self._comprehension(expression, scope)
                return tuple(self.evaluate(element, inner) for inner in scopes)
            case syntax.DictComprehension(key, value):
                scopes = self._comprehension(expression, scope)
                return self._dict(
                    (self._key(key, inner), key.span, self.evaluate(value, inner))
                    for inner in scopes
                )
            case syntax.IntegerRange():
                message = "a range `a..b` stands only after `vocab` or `source`"
                raise ProgramError("type", message, span, help="write `range(a, b + 1)`")
            case syntax.Attribute(base, name):
                self.evaluate(base, scope)
                raise ProgramError("unknown-name", f"there is no attribute `{name}`", span)
            case _:
                assert_never(expression)

    def charge(self, steps: int, span: Span) -> None:
        """Count work done; a program that needs too much is refused."""
        self._steps += steps
        if self._steps > MOST_STEPS:
            message = f"the program needs more than {MOST_STEPS} steps to unroll"
            raise ProgramError("too-large", message, span, help="use fewer or shorter loops")

    def lookup(self, name: str, scope: Scope, span: Span) -> Thing:
        """Return what a name stands for."""
        thing = scope.find(name)
        if thing is None:
            thing = self._original(name, span)
        if thing is None:
            near = closest(name, scope.visible())
            help_ = None if near is None else f"write `{near}`"
            raise ProgramError("unknown-name", f"`{name}` is not defined", span, help=help_)
        if isinstance(thing, Poison):
            raise PoisonedError
        return thing

    def original(self, name: str, span: Span) -> Thing:
        """Return what a name means in the language itself, whatever a program made of it."""
        thing = self._original(name, span)
        assert thing is not None
        return thing

    def warn(self, code: str, message: str, span: Span, help_: str | None = None) -> None:
        """Note a warning, once."""
        notice = Notice(code, message, span, help_)
        if notice not in self.notices:
            self.notices.append(notice)

    # What arguments must be ------------------------------------------------------------------

    def sop(self, thing: Thing, span: Span, role: str) -> int:
        """Return the node of an s-op; a constant becomes one."""
        if isinstance(thing, Sop):
            return thing.node
        if is_constant(thing):
            assert isinstance(thing, int | Fraction | str)
            return self.builder.constant(thing, span)
        help_ = None
        if isinstance(thing, Selector):
            help_ = "`aggregate(selector, x)` or `selector_width(selector)` make s-ops of it"
        message = f"{role} needs an s-op, and this is {describe(thing)}"
        raise ProgramError("type", message, span, help=help_)

    def selector(self, thing: Thing, span: Span, role: str) -> int:
        """Return the node of a selector."""
        if isinstance(thing, Selector):
            return thing.node
        help_ = None
        if isinstance(thing, Sop):
            help_ = "`select(x, True, ==)` makes a selector of a boolean s-op"
        message = f"{role} needs a selector, and this is {describe(thing)}"
        raise ProgramError("type", message, span, help=help_)

    def constant(self, thing: Thing, span: Span, role: str) -> Value:
        """Return a constant."""
        if not is_constant(thing):
            message = f"{role} needs a constant, and this is {describe(thing)}"
            raise ProgramError("type", message, span)
        assert isinstance(thing, int | Fraction | str)
        return thing

    def items(self, thing: Thing, span: Span, role: str) -> tuple[Thing, ...]:
        """Return the items of a list, the keys of a dict or the characters of a string."""
        if isinstance(thing, tuple):
            return thing
        if isinstance(thing, Mapping | str):
            return tuple(thing)
        help_ = None
        if isinstance(thing, Sop):
            help_ = "an s-op has a value at every position of every input: use `aggregate` to sum"
        message = f"{role} needs a list, and this is {describe(thing)}"
        raise ProgramError("type", message, span, help=help_)

    def bounded(self, thing: T, span: Span) -> T:
        """Return a list or string unless it is too long."""
        length = len(thing) if isinstance(thing, tuple | str) else 0
        self.charge(length, span)
        if length > LONGEST:
            raise ProgramError("too-large", f"a list of more than {LONGEST} items", span)
        return thing

    # Operators -------------------------------------------------------------------------------

    def function(self, name: str, things: tuple[Thing, ...], span: Span) -> Thing:
        """Apply an element-wise function to constants or s-ops."""
        role = f"`{name}`" if name != "negate" else "`-`"
        if all(is_constant(t) for t in things):
            values = [self.constant(t, span, role) for t in things]
            mistake = type_mistake(name, [Finite((v,)) for v in values])
            if mistake is not None:
                raise ProgramError("type", mistake, span)
            outcome = apply(name, values)
            if isinstance(outcome, Undefined):
                raise ProgramError(outcome.code, f"{outcome.message} has no value", span)
            return self.bounded(outcome, span)
        nodes = tuple(self.sop(t, span, role) for t in things)
        if name in ("==", "!=") and len(nodes) == 2:
            self.warn_if_never_equal(nodes[0], nodes[1], span)
        return Sop(self.builder.add(Apply(name, nodes), span))

    def warn_if_never_equal(self, left: int, right: int, span: Span) -> None:
        """Warn where two s-ops hold kinds of value that are never equal."""
        is_text = ["string" in kinds(self.builder.domain(n)) for n in (left, right)]
        is_number = [bool(kinds(self.builder.domain(n)) - {"string"}) for n in (left, right)]
        if (is_text[0] and not is_number[0] and is_number[1] and not is_text[1]) or (
            is_text[1] and not is_number[1] and is_number[0] and not is_text[0]
        ):
            message = "a string and a number are never equal"
            self.warn("never-equal", message, span, "convert with `str(...)` or `int(...)`")

    def choose(self, condition: Thing, then: Thing, otherwise: Thing, span: Span) -> Thing:
        """Return `then if condition else otherwise` of s-ops and constants."""
        nodes = [self.sop(t, span, "`if`") for t in (condition, then, otherwise)]
        return Sop(self.builder.add(Choose(*nodes), span))

    def pick(self, entries: Mapping[Constant, Thing], key: Thing, span: Span) -> Thing:
        """Return the entry of a table under a key that is an s-op."""
        node = self.sop(key, span, "an index")
        options = tuple(self.sop(t, span, "a table that is indexed by an s-op") for t in entries.values())
        return Sop(self.builder.add(Pick(node, tuple(entries), options), span))

    def _unary(self, op: str, operand: syntax.Expression, scope: Scope, span: Span) -> Thing:
        thing = self.evaluate(operand, scope)
        if op == "not":
            if isinstance(thing, Selector):
                return Selector(self.builder.add(NoneOf(thing.node), span))
            return self.function("not", (thing,), span)
        if op == "-":
            return self.function("negate", (thing,), span)
        return self.function("+", (0, thing), span)

    def _binary(self, first: syntax.Binary, scope: Scope) -> Thing:
        """Evaluate a chain of operators from its left end, without recursion."""
        chain = [first]
        while isinstance(chain[-1].left, syntax.Binary):
            chain.append(chain[-1].left)
        left = self.evaluate(chain[-1].left, scope)
        for link in reversed(chain):
            self.charge(1, link.span)
            if link.op in ("and", "or"):
                left = self._logical(link.op, left, link, scope)
                continue
            right = self.evaluate(link.right, scope)
            if link.op == "+" and isinstance(left, tuple) and isinstance(right, tuple):
                left = self.bounded(left + right, link.span)
                continue
            self._refuse_selectors(link, left, right)
            left = self.function(link.op, (left, right), link.span)
        return left

    def _refuse_selectors(self, link: syntax.Binary, left: Thing, right: Thing) -> None:
        for thing, side in ((left, link.left), (right, link.right)):
            if not is_constant(thing) and not isinstance(thing, Sop):
                self.sop(thing, side.span, f"`{link.op}`")

    def _logical(self, op: str, left: Thing, link: syntax.Binary, scope: Scope) -> Thing:
        if is_constant(left):
            decided = truth(self._condition(left, link.left.span)) == (op == "or")
            if decided:
                return op == "or"
        right = self.evaluate(link.right, scope)
        if isinstance(left, Selector) or isinstance(right, Selector):
            nodes = [
                self.selector(thing, side.span, f"`{op}` beside a selector")
                for thing, side in ((left, link.left), (right, link.right))
            ]
            make = AllOf if op == "and" else AnyOf
            return Selector(self.builder.add(make(nodes[0], nodes[1]), link.span))
        second = self.function("truth", (right,), link.span)
        if is_constant(left):
            return second
        if op == "and":
            return self.choose(left, second, False, link.span)
        return self.choose(left, True, second, link.span)

    def _condition(self, thing: Thing, span: Span) -> Value:
        value = self.constant(thing, span, "a condition")
        if isinstance(value, str):
            message = "a condition needs a boolean or a number, and this is a string"
            raise ProgramError("type", message, span)
        return value

    def _comparison(
        self,
        first: syntax.Expression,
        rest: tuple[tuple[str, syntax.Expression], ...],
        scope: Scope,
        span: Span,
    ) -> Thing:
        left = self.evaluate(first, scope)
        result: Thing = True
        for op, expression in rest:
            right = self.evaluate(expression, scope)
            for thing, side in ((left, first), (right, expression)):
                if isinstance(thing, Selector):
                    self.sop(thing, side.span, f"`{op}`")
            link = self._link(op, left, right, span)
            if result is True:
                result = link
            elif is_constant(result):
                return result
            else:
                result = self.choose(result, link, False, span)
            left, first = right, expression
        return result

    def _link(self, op: str, left: Thing, right: Thing, span: Span) -> Thing:
        if op not in ("in", "not in"):
            if isinstance(left, tuple | Mapping) or isinstance(right, tuple | Mapping):
                listed = left if isinstance(left, tuple | Mapping) else right
                message = f"`{op}` compares values, and this is {describe(listed)}"
                raise ProgramError("type", message, span)
            return self.function(op, (left, right), span)
        found = self._membership(left, right, span)
        return self.function("not", (found,), span) if op == "not in" else found

    def _membership(self, left: Thing, right: Thing, span: Span) -> Thing:
        if isinstance(left, str) and isinstance(right, str):
            return left in right
        items = self.items(right, span, "`in`")
        if is_constant(left) and all(is_constant(item) for item in items):
            return left in items
        found: Thing = False
        for item in reversed(items):
            equal = self.function("==", (left, item), span)
            if equal is True:
                found = True
            elif equal is not False:
                found = self.choose(equal, True, found, span)
        return found

    def _conditional(self, expression: syntax.Conditional, scope: Scope) -> Thing:
        condition = self.evaluate(expression.condition, scope)
        if is_constant(condition):
            value = self._condition(condition, expression.condition.span)
            taken = expression.then if truth(value) else expression.otherwise
            return self.evaluate(taken, scope)
        node = self.sop(condition, expression.condition.span, "a condition")
        branches = [
            Sop(self.sop(self.evaluate(side, scope), side.span, "`if`"))
            for side in (expression.then, expression.otherwise)
        ]
        return self.choose(Sop(node), branches[0], branches[1], expression.span)

    # Tables and lists ------------------------------------------------------------------------

    def _index(
        self, base: syntax.Expression, index: syntax.Expression, scope: Scope, span: Span
    ) -> Thing:
        thing = self.evaluate(base, scope)
        key = self.evaluate(index, scope)
        if isinstance(thing, Sop):
            return self._position(thing, key, index.span, span)
        if isinstance(thing, Mapping):
            if not is_constant(key):
                return self.pick(thing, key, span)
            constant = self.constant(key, index.span, "a key")
            if constant not in thing:
                known = ", ".join(show(k) for k in list(thing)[:8])
                help_ = f"the keys are {known}"
                raise ProgramError("missing-key", f"no entry {show(constant)}", index.span, help=help_)
            return thing[constant]
        items = self.items(thing, base.span, "an index")
        if not is_constant(key):
            return self.pick(dict(enumerate(items)), key, span)
        position = self.constant(key, index.span, "an index")
        if not isinstance(position, int) or not -len(items) <= position < len(items):
            message = f"no item {show(position)} in a list of {len(items)}"
            raise ProgramError("missing-key", message, index.span)
        return items[position]

    def _position(self, base: Sop, key: Thing, key_span: Span, span: Span) -> Thing:
        """Return `x[n]`: the value of x at position n, everywhere."""
        if not isinstance(key, int) or isinstance(key, bool):
            message = f"an s-op is indexed by a whole number, and this is {describe(key)}"
            help_ = "`aggregate(select(indices, p, ==), x)` reads x at the position p"
            raise ProgramError("type", message, key_span, help=help_)
        place: Thing = key
        if key < 0:
            place = self.function("+", (self.original("length", span), key), span)
        here = (self.original("indices", span), place, Operation("=="))
        there = self.call(self.original("select", span), here, span)
        return self.call(self.original("aggregate", span), (there, base), span)

    def _key(self, expression: syntax.Expression, scope: Scope) -> Value:
        return self.constant(self.evaluate(expression, scope), expression.span, "a key")

    def _dict(self, entries: Iterator[tuple[Value, Span, Thing]]) -> dict[Constant, Thing]:
        made: dict[Constant, Thing] = {}
        for key, span, thing in entries:
            if key in made:
                raise ProgramError("duplicate", f"the key {show(key)} stands twice", span)
            made[key] = thing
        return made

    def _comprehension(
        self, expression: syntax.ListComprehension | syntax.DictComprehension, scope: Scope
    ) -> Iterator[Scope]:
        iterable = self.evaluate(expression.iterable, scope)
        role = "a comprehension"
        for item in self.items(iterable, expression.iterable.span, role):
            self.charge(1, expression.span)
            inner = Scope(scope)
            self.unpack(expression.targets, item, inner, expression.span)
            if expression.condition is not None:
                kept = self.evaluate(expression.condition, inner)
                if not truth(self._condition(kept, expression.condition.span)):
                    continue
            yield inner

    def unpack(self, targets: tuple[str, ...], thing: Thing, scope: Scope, span: Span) -> None:
        """Bind targets to a thing: one target to all of it, several to its items."""
        if len(targets) == 1:
            scope.names[targets[0]] = thing
            return
        items = thing.values if isinstance(thing, Several) else thing
        if not isinstance(items, tuple) or len(items) != len(targets):
            count = f"{len(items)} values" if isinstance(items, tuple) else describe(thing)
            message = f"{len(targets)} names cannot take {count}"
            raise ProgramError("arity", message, span)
        scope.names.update(zip(targets, items, strict=True))

    # Calls -----------------------------------------------------------------------------------

    def _call(self, call: syntax.Call, scope: Scope) -> Thing:
        function = self.evaluate(call.function, scope)
        things = tuple(self.evaluate(a, scope) for a in call.arguments)
        keywords = {name: self.evaluate(value, scope) for name, value in call.keywords}
        if len(keywords) < len(call.keywords):
            raise ProgramError("arity", "an argument is given twice", call.span)
        if not isinstance(function, Builtin | Closure):
            shown = call.function.id if isinstance(call.function, syntax.Name) else "this"
            message = f"`{shown}` is {describe(function)}, not a function"
            raise ProgramError("type", message, call.function.span)
        return self.call(function, things, call.span, keywords)

    def call(
        self,
        function: Thing,
        things: tuple[Thing, ...],
        span: Span,
        keywords: Mapping[str, Thing] = MappingProxyType({}),
    ) -> Thing:
        """Call a function with arguments."""
        if isinstance(function, Builtin):
            return function.call(self, bind_builtin(function, things, keywords, span), span)
        assert isinstance(function, Closure)
        inner = Scope(function.scope)
        bind(function.definition, things, keywords, span, inner, self.evaluate)
        with self._calling(function.definition, span):
            return self.call_body(function.definition.body, inner, span)

    @contextmanager
    def _calling(self, definition: syntax.Definition, span: Span) -> Iterator[None]:
        if any(active is definition for active in self._active):
            message = f"`{definition.name}` calls itself"
            help_ = "a function cannot be recursive: use a `for` loop over a list"
            raise ProgramError("recursion", message, span, help=help_)
        if len(self._active) >= DEEPEST_CALL:
            message = f"calls are nested more than {DEEPEST_CALL} deep"
            raise ProgramError("too-deep", message, span)
        self._active.append(definition)
        try:
            yield
        finally:
            self._active.pop()


def bind_builtin(
    builtin: Builtin, things: tuple[Thing, ...], keywords: Mapping[str, Thing], span: Span
) -> tuple[Thing, ...]:
    """Return the arguments of a builtin in order; those left out at the end are not there."""
    names = builtin.parameters
    arguments = list(things)
    for name, thing in keywords.items():
        if name not in names:
            message = f"`{builtin.name}` has no parameter `{name}`"
            raise ProgramError("arity", message, span, help=_signature(builtin))
        if names.index(name) != len(arguments):
            message = f"`{builtin.name}` does not take `{name}` here"
            raise ProgramError("arity", message, span, help=_signature(builtin))
        arguments.append(thing)
    too_many = len(arguments) > len(names) and not builtin.variadic
    if too_many or len(arguments) < builtin.required:
        message = f"`{builtin.name}` does not take {_count(len(arguments))}"
        raise ProgramError("arity", message, span, help=_signature(builtin))
    return tuple(arguments)


def _signature(builtin: Builtin) -> str:
    optional = builtin.parameters[builtin.required :]
    shown = [*builtin.parameters[: builtin.required], *(f"[{name}]" for name in optional)]
    return f"write `{builtin.name}({', '.join(shown)})`"


def _count(number: int) -> str:
    return f"{number} argument" + ("" if number == 1 else "s")
