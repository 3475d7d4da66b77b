"""Binds the arguments of a call to the parameters of a `def`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from handcraft.errors import ProgramError, Span
from handcraft.language import syntax
from handcraft.language.compile_time import Scope, Thing


def bind(
    definition: syntax.Definition,
    things: tuple[Thing, ...],
    keywords: Mapping[str, Thing],
    span: Span,
    scope: Scope,
    evaluate: Callable[[syntax.Expression, Scope], Thing],
) -> None:
    """Put the arguments of a call into the scope of the function's body.

    Defaults are evaluated at the call, in the scope of the function.
    """
    parameters = definition.parameters
    names = [p.name for p in parameters]
    if len(things) > len(parameters):
        raise ProgramError("arity", _wrong_number(definition, len(things)), span)
    scope.names.update(zip(names, things, strict=False))
    for name, thing in keywords.items():
        if name not in names:
            message = f"`{definition.name}` has no parameter `{name}`"
            raise ProgramError("arity", message, span)
        if name in scope.names:
            raise ProgramError("arity", f"the argument `{name}` is given twice", span)
        scope.names[name] = thing
    for parameter in parameters:
        if parameter.name in scope.names:
            continue
        if parameter.default is None:
            given = len(things) + len(keywords)
            raise ProgramError("arity", _wrong_number(definition, given), span)
        scope.names[parameter.name] = evaluate(parameter.default, scope)


def _wrong_number(definition: syntax.Definition, given: int) -> str:
    required = sum(p.default is None for p in definition.parameters)
    most = len(definition.parameters)
    takes = str(most) if required == most else f"{required} to {most}"
    plural = "" if takes == "1" else "s"
    return f"`{definition.name}` takes {takes} argument{plural}, and {given} were given"
