"""What operations are for, in the program's own terms: what their weights are held against.

A purpose is made from the program's tables where an operation is made. Its forms read what the
embeddings wrote before any pass (`Graph.meant`) and what operations write; passes that rename
directions rename them here too, and no pass changes anything else. A form is None where nothing
reads its directions any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from handcraft.compiler.forms import Form, Number
    from handcraft.compiler.graph import Writes

    Renamed: TypeAlias = "Callable[[Form], Form | None]"
    """A form of a purpose -> what it is called now."""

Result: TypeAlias = "tuple[tuple[int, Number], ...]"
"""The outputs that are not 0, with their values, in ascending order."""

Box: TypeAlias = "tuple[int, tuple[tuple[int, ...], ...]]"
"""A class of cells, and the values of each variable that all its cells have."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A function of one number: its results in the pieces of the operation's scan."""

    x: Form | None
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Boxes:
    """A table of several one-hots.

    Attributes:
        variables: for each variable the forms of its values, of which exactly one is 1.
        cells: the class of each cell, the last variable fastest; None where it does not matter.
        results: of each class.
        boxes: of each neuron: it is on in the cells of its box.
    """

    variables: tuple[tuple[Form | None, ...], ...]
    cells: tuple[int | None, ...]
    results: tuple[Result, ...]
    boxes: tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class Gate:
    """A number that one neuron lets through where all of some conditions are 1, and else 0.

    `relu(value - closed * (how many conditions are 0))`, of a value from 0 to `most`: nothing gets
    through a gate where `closed` is at least `most`.

    Attributes:
        value: what is let through; without conditions its positive part.
        result: what one unit of it adds to the outputs.
        conditions: forms that are 0 or 1.
        most: the most that the value can be, where there are conditions.
        closed: see above.
    """

    value: Form | None
    result: Result
    conditions: tuple[Form | None, ...] = ()
    most: Number = 0
    closed: Number = 0


@dataclass(frozen=True, slots=True)
class Gates:
    """The sum of what gates let through, one gate for each neuron."""

    gates: tuple[Gate, ...]


Function: TypeAlias = Curve | Boxes | Gates


@dataclass(frozen=True, slots=True)
class Purpose:
    """What an MLP operation is for.

    Attributes:
        function: what its outputs are.
        bias: what the outputs start from, of gates.
        outputs: what one unit of each output adds to the stream.
        always: what is added to the stream besides.
    """

    function: Function
    bias: Result
    outputs: tuple[Writes, ...]
    always: Writes


@dataclass(frozen=True, slots=True)
class Factor:
    """One product of a score: what its two forms are for each value of a literal's variables."""

    query: Form | None
    key: Form | None
    queries: tuple[Number, ...]
    keys: tuple[Number, ...]
    outside: Number


@dataclass(frozen=True, slots=True)
class Literal:
    """A table of selected pairs as a score.

    Attributes:
        factors: add up to the score.
        top: the score of each query with the keys that it selects, as a form.
        tops: the same for each value of the query's variable.
        rows: the keys that each query selects, as bits.
    """

    factors: tuple[Factor, ...]
    top: Form | None
    tops: tuple[Number, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Aim:
    """Where a head is to look: at the keys that all literals select.

    Attributes:
        literals: whose scores, each `unit` times, add up.
        unit: see there.
        slope: what is added to tell selected keys apart, from 0 to `rank`; None if nothing.
        rank: see there.
        below: how far the start token stays below a selected key, in units; None keeps it out.
    """

    literals: tuple[Literal, ...]
    unit: int
    slope: Form | None
    rank: int
    below: Fraction | None


@dataclass(frozen=True, slots=True)
class Moved:
    """A number that a head is to move: a form, its value at the start token, where it is added."""

    form: Form | None
    at_start: Number
    writes: Writes


@dataclass(frozen=True, slots=True)
class Errand:
    """What a head is for: where it looks, by each of its uses, what it moves, what it adds."""

    aims: tuple[Aim, ...]
    columns: tuple[Moved, ...]
    always: Writes


def renamed_purpose(
    purpose: Purpose | None, form: Renamed, written: Callable[[Writes], Writes]
) -> Purpose | None:
    """Return a purpose whose directions have other names."""
    if purpose is None:
        return None
    return replace(
        purpose,
        function=_renamed_function(purpose.function, form),
        outputs=tuple(map(written, purpose.outputs)),
        always=written(purpose.always),
    )


def renamed_errand(
    errand: Errand | None,
    at_query: Renamed,
    at_key: Renamed,
    written: Callable[[Writes], Writes],
) -> Errand | None:
    """Return an errand whose directions have other names, where queries or where keys are read."""
    if errand is None:
        return None
    return Errand(
        tuple(_renamed_aim(aim, at_query, at_key) for aim in errand.aims),
        tuple(
            Moved(_renamed(c.form, at_key), c.at_start, written(c.writes)) for c in errand.columns
        ),
        written(errand.always),
    )


def _renamed_aim(aim: Aim, at_query: Renamed, at_key: Renamed) -> Aim:
    literals = tuple(
        replace(
            literal,
            factors=tuple(
                replace(f, query=_renamed(f.query, at_query), key=_renamed(f.key, at_key))
                for f in literal.factors
            ),
            top=_renamed(literal.top, at_query),
        )
        for literal in aim.literals
    )
    return replace(aim, literals=literals, slope=_renamed(aim.slope, at_key))


def _renamed_function(function: Function, form: Renamed) -> Function:
    match function:
        case Curve(x):
            return replace(function, x=_renamed(x, form))
        case Boxes(variables):
            return replace(
                function, variables=tuple(tuple(_renamed(f, form) for f in v) for v in variables)
            )
        case Gates(gates):
            return Gates(
                tuple(
                    replace(
                        gate,
                        value=_renamed(gate.value, form),
                        conditions=tuple(_renamed(c, form) for c in gate.conditions),
                    )
                    for gate in gates
                )
            )


def _renamed(form: Form | None, renamed: Renamed) -> Form | None:
    return None if form is None else renamed(form)
