"""Evaluates expressions while a program is checked: constants, s-ops, selectors, lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar, assert_never

from handcraft.errors import Notice, ProgramError, Span
from handcraft.language import attributes, calls, library, operators, syntax, tables
from handcraft.language.compile_time import (
    DERIVED,
    Operation,
    Poison,
    Scope,
    Selector,
    Sop,
    Thing,
    describe,
    is_constant,
)
from handcraft.language.suggestions import closest
from handcraft.language.values import Value, normal

if TYPE_CHECKING:
    from handcraft.language.builder import Builder

MOST_STEPS = 300_000
"""Evaluated expressions and list items, after which a program is refused."""

LONGEST = 100_000
"""Items of a list or characters of a string made by a program."""

T = TypeVar("T")


class PoisonedError(Exception):
    """A name whose definition failed was used: the mistake has been told already."""


class Evaluator:
    """Evaluates expressions in scopes, over the nodes of one builder.

    Attributes:
        builder: where s-ops and selectors are made.
        notices: warnings found on the way.
        active: the functions that are being called, the innermost last.
        call_body: runs the body of a function in a scope and returns what it returns.
    """

    def __init__(
        self,
        builder: Builder,
        call_body: Callable[[tuple[syntax.Statement, ...], Scope, Span], Thing],
        original: Callable[[str, Span], Thing | None],
    ) -> None:
        self.builder = builder
        self.notices: dict[Notice, None] = {}
        self.active: list[syntax.Definition] = []
        self.call_body = call_body
        self._original = original
        self._steps = 0

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
            case syntax.Unary():
                return operators.unary(self, expression, scope)
            case syntax.Binary():
                return operators.binary(self, expression, scope)
            case syntax.Comparison():
                return operators.comparison(self, expression, scope)
            case syntax.Conditional():
                return operators.conditional(self, expression, scope)
            case syntax.Call():
                return calls.call_expression(self, expression, scope)
            case syntax.Index():
                return tables.index(self, expression, scope)
            case syntax.ListDisplay(items):
                return tuple(self.evaluate(item, scope) for item in items)
            case syntax.DictDisplay():
                return tables.dict_display(self, expression, scope)
            case syntax.ListComprehension(element):
                scopes = tables.comprehension(self, expression, scope)
                return tuple(self.evaluate(element, inner) for inner in scopes)
            case syntax.DictComprehension():
                return tables.dict_comprehension(self, expression, scope)
            case syntax.IntegerRange():
                message = "a range `a..b` stands only after `vocab` or `source`"
                raise ProgramError("type", message, span, help="write `range(a, b + 1)`")
            case syntax.Attribute(base, name):
                return attributes.attribute(self, self.evaluate(base, scope), name, span)
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
            near = closest(name, scope.visible() | library.names() | set(DERIVED))
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
        self.notices[Notice(code, message, span, help_)] = None

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
        help_ = "`select(k, q, ==)` makes a selector"
        if isinstance(thing, Sop):
            help_ = "`select(x, True, ==)` makes a selector of a boolean s-op"
        message = f"{role} needs a selector, and this is {describe(thing)}"
        raise ProgramError("type", message, span, help=help_)

    def constant(self, thing: Thing, span: Span, role: str) -> Value:
        """Return a constant."""
        if not is_constant(thing):
            help_ = None
            if isinstance(thing, Sop):
                help_ = "an s-op takes its values when the program runs, not while it is checked"
            message = f"{role} needs a constant, and this is {describe(thing)}"
            raise ProgramError("type", message, span, help=help_)
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
            help_ = (
                "an s-op has a value at every position and no items: it is computed with as a "
                "whole, and summed up by `sum(selector, x)` or `aggregate(selector, x)`"
            )
        message = f"{role} needs a list, and this is {describe(thing)}"
        raise ProgramError("type", message, span, help=help_)

    def bounded(self, thing: T, span: Span) -> T:
        """Return a list or string unless it is too long."""
        length = len(thing) if isinstance(thing, tuple | str) else 0
        self.charge(length, span)
        if length > LONGEST:
            what = (
                "string of more than {} characters"
                if isinstance(thing, str)
                else "list of more than {} items"
            )
            message = f"this makes a {what.format(LONGEST)}"
            raise ProgramError("too-large", message, span, help="use fewer or shorter loops")
        return thing
