"""Calls: arguments bound to parameters, the bodies of functions run."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from handcraft.errors import ProgramError, Span
from handcraft.language import library, syntax
from handcraft.language.compile_time import Arguments, Builtin, Closure, Scope, Thing, describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from handcraft.language.builder import Builder
    from handcraft.language.expressions import Evaluator

DEEPEST_CALL = 40
MOST_CALLERS = 3
"""Lines of calls that an error inside a function names."""

OWED_TO_ARGUMENTS = (
    *("type", "domain-too-large", "missing-key", "division-by-zero"),
    "two-sequences",
)
"""Mistakes inside a function that depend on what it was called with."""


def call_expression(evaluator: Evaluator, expression: syntax.Call, scope: Scope) -> Thing:
    """Evaluate `function(arguments, name=value)`."""
    function = evaluator.evaluate(expression.function, scope)
    arguments = Arguments(
        tuple(evaluator.evaluate(argument, scope) for argument in expression.arguments),
        tuple(argument.span for argument in expression.arguments),
        expression.span,
        tuple(
            (name, evaluator.evaluate(value, scope), value.span)
            for name, value in expression.keywords
        ),
    )
    given: set[str] = set()
    for name, _, place in arguments.keywords:
        if name in given:
            raise ProgramError("arity", f"the argument `{name}` is given twice", place)
        given.add(name)
    if not isinstance(function, Builtin | Closure):
        shown = expression.function
        what = f"`{shown.id}`" if isinstance(shown, syntax.Name) else "this"
        message = f"{what} is {describe(function)}, not a function"
        raise ProgramError("type", message, shown.span)
    return call(evaluator, function, arguments)


def call(evaluator: Evaluator, function: Thing, arguments: Arguments) -> Thing:
    """Call a function.

    Raises:
        ProgramError: for arguments that do not fit, and for mistakes in the function's body,
            told at the call where the body is the library's.
    """
    if isinstance(function, Builtin):
        return function.call(evaluator, _bound(function, arguments))
    assert isinstance(function, Closure)
    definition = function.definition
    inner = Scope(function.scope)
    _bind(evaluator, definition, arguments, inner)
    place = arguments.span if definition.span.source is library.source() else None
    with _called(evaluator, definition, arguments.span), placed(evaluator.builder, place):
        return evaluator.call_body(definition.body, inner, definition.span)


@contextmanager
def placed(builder: Builder, place: Span | None) -> Iterator[None]:
    """Make nodes as if they stood at a place, None for their own; of two the outer place wins."""
    before = builder.place
    builder.place = before or place
    try:
        yield
    finally:
        builder.place = before


def _bound(builtin: Builtin, arguments: Arguments) -> Arguments:
    """Return the arguments of a builtin in order; those left out at the end are not there."""
    names = builtin.parameters
    things, spans = list(arguments.things), list(arguments.spans)
    for name, thing, place in arguments.keywords:
        if name not in names:
            message = f"`{builtin.name}` has no parameter `{name}`"
            raise ProgramError("arity", message, place, help=_signature(builtin))
        if names.index(name) != len(things):
            message = f"`{builtin.name}` does not take `{name}` here"
            raise ProgramError("arity", message, place, help=_signature(builtin))
        things.append(thing)
        spans.append(place)
    too_many = len(things) > len(names) and not builtin.variadic
    if too_many or len(things) < builtin.required:
        count = f"{len(things)} argument" + ("" if len(things) == 1 else "s")
        message = f"`{builtin.name}` does not take {count}"
        raise ProgramError("arity", message, arguments.span, help=_signature(builtin))
    return Arguments(tuple(things), tuple(spans), arguments.span)


def _signature(builtin: Builtin) -> str:
    optional = builtin.parameters[builtin.required :]
    shown = [*builtin.parameters[: builtin.required], *(f"[{name}]" for name in optional)]
    return f"write `{builtin.name}({', '.join(shown)})`"


def _bind(
    evaluator: Evaluator, definition: syntax.Definition, arguments: Arguments, scope: Scope
) -> None:
    """Put the arguments of a call into the scope of the function's body.

    Defaults are evaluated at the call, in the scope of the function.
    """
    parameters = definition.parameters
    names = [parameter.name for parameter in parameters]
    given = len(arguments.things) + len(arguments.keywords)
    if len(arguments.things) > len(parameters):
        raise _wrong_number(definition, given, arguments.span)
    scope.names.update(zip(names, arguments.things, strict=False))
    for name, thing, place in arguments.keywords:
        if name not in names:
            message = f"`{definition.name}` has no parameter `{name}`"
            raise ProgramError("arity", message, place, help=_header(definition))
        if name in scope.names:
            raise ProgramError("arity", f"the argument `{name}` is given twice", place)
        scope.names[name] = thing
    for parameter in parameters:
        if parameter.name in scope.names:
            continue
        if parameter.default is None:
            raise _wrong_number(definition, given, arguments.span)
        scope.names[parameter.name] = evaluator.evaluate(parameter.default, scope)


def _wrong_number(definition: syntax.Definition, given: int, span: Span) -> ProgramError:
    required = sum(parameter.default is None for parameter in definition.parameters)
    most = len(definition.parameters)
    takes = str(most) if required == most else f"{required} to {most}"
    plural = "" if takes == "1" else "s"
    were = "1 was" if given == 1 else f"{given} were"
    message = f"`{definition.name}` takes {takes} argument{plural}, and {were} given"
    return ProgramError("arity", message, span, help=_header(definition))


def _header(definition: syntax.Definition) -> str:
    parameters = ", ".join(
        parameter.name if parameter.default is None else f"[{parameter.name}]"
        for parameter in definition.parameters
    )
    return f"write `{definition.name}({parameters})`"


@contextmanager
def _called(evaluator: Evaluator, definition: syntax.Definition, span: Span) -> Iterator[None]:
    """Run a body as that of the function which is being called."""
    active = evaluator.active
    if any(each is definition for each in active):
        message = f"`{definition.name}` calls itself"
        help_ = "a function cannot be recursive: use a `for` loop over a list"
        raise ProgramError("recursion", message, span, help=help_)
    if len(active) >= DEEPEST_CALL:
        message = f"calls are nested more than {DEEPEST_CALL} deep"
        raise ProgramError("too-deep", message, span)
    active.append(definition)
    try:
        yield
    except ProgramError as error:
        raise _told_to_caller(error, definition, span) from None
    finally:
        active.pop()


def _told_to_caller(error: ProgramError, definition: syntax.Definition, span: Span) -> ProgramError:
    """Return a mistake in a body with what the reader needs to know of the call."""
    if error.code not in OWED_TO_ARGUMENTS or error.span is None:
        return error
    if definition.span.source is library.source():
        if error.span.source is not library.source():
            return error
        message = f"in `{definition.name}`: {error.message}"
        return ProgramError(error.code, message, span, help=error.help)
    if error.message.count(", called in ") >= MOST_CALLERS:
        return error
    same_file = span.source is error.span.source
    line = f"line {span.line}" if same_file else f"{span.source.name}:{span.line}"
    message = f"{error.message}, called in {line}"
    return ProgramError(error.code, message, error.span, help=error.help)
