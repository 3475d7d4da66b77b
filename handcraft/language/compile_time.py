"""What an expression can be while a program is checked, and the scopes that names live in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from handcraft.errors import Span
    from handcraft.language import syntax
    from handcraft.language.expressions import Evaluator
    from handcraft.language.typed import Pattern


DERIVED = ("length", "tokens_str", "tokens_int", "tokens_float", "tokens_bool", "source")
"""Names of the language that are made only where they are used."""


@dataclass(frozen=True, slots=True)
class Sop:
    """An s-op: the number of its node."""

    node: int


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector: the number of its node."""

    node: int


@dataclass(frozen=True, slots=True)
class Automaton:
    """A pattern that is given by its table."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Source:
    """The source, whose s-ops and selectors are its attributes."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A comparison given as an argument."""

    op: str


@dataclass(frozen=True, slots=True)
class Several:
    """The values of `return e1, e2;`."""

    values: tuple[Thing, ...]


@dataclass(frozen=True, slots=True)
class Closure:
    """A function of the program, with the scope it was defined in."""

    definition: syntax.Definition
    scope: Scope


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call gives to a function, with the places.

    Attributes:
        things: the arguments by position.
        spans: where each of them stands.
        span: the whole call.
        keywords: the arguments by name, each with its place.
    """

    things: tuple[Thing, ...]
    spans: tuple[Span, ...]
    span: Span
    keywords: tuple[tuple[str, Thing, Span], ...] = ()


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of the language."""

    name: str
    parameters: tuple[str, ...]
    required: int
    call: Callable[[Evaluator, Arguments], Thing]
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class Poison:
    """What a statement with a mistake would have defined; using it is no second mistake."""


Constant: TypeAlias = int | Fraction | str | bool
Thing: TypeAlias = (
    Constant
    | Sop
    | Selector
    | Automaton
    | Source
    | Operation
    | Several
    | Closure
    | Builtin
    | Poison
    | tuple["Thing", ...]
    | Mapping[Constant, "Thing"]
)


@dataclass(slots=True)
class Scope:
    """Names and what they stand for; unknown ones are looked up in the parent."""

    parent: Scope | None
    names: dict[str, Thing] = field(default_factory=dict)

    def find(self, name: str) -> Thing | None:
        """Return what a name stands for, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def visible(self) -> set[str]:
        """Return every name that can be used here."""
        return set(self.names) | (self.parent.visible() if self.parent is not None else set())


def describe(thing: Thing) -> str:
    """Return what a thing is, in the words of the language."""
    if isinstance(thing, bool):
        return "a boolean"
    if isinstance(thing, int | Fraction):
        return "a number"
    if isinstance(thing, str):
        return "a string"
    if isinstance(thing, tuple):
        return "a list"
    if isinstance(thing, Mapping):
        return "a dict"
    names: dict[type, str] = {
        Sop: "an s-op",
        Selector: "a selector",
        Automaton: "an automaton",
        Source: "the source",
        Operation: "a comparison",
        Several: "several values",
        Closure: "a function",
        Builtin: "a function",
        Poison: "unknown",
    }
    return names[type(thing)]


def is_constant(thing: Thing) -> bool:
    """Return whether a thing is a number, a string or a boolean."""
    return isinstance(thing, int | Fraction | str)
