"""A typed program without patterns: what is asked of each is written out as steps.

Every construction that a pattern has is tried in the program. Of those that are proved the one with
the fewest layers is taken, and of these the one with the fewest parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from handcraft.compiler.patterns.candidates import MOST_NEURONS, candidates
from handcraft.compiler.patterns.compositions import neurons
from handcraft.compiler.patterns.writing import Writer
from handcraft.errors import ProgramError
from handcraft.language.builder import Builder
from handcraft.language.recognition import classified, deciding_length
from handcraft.language.results import renumbered as renumbered_result
from handcraft.language.results import roots
from handcraft.language.typed import Ask, TypedProgram, operands, renumbered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from handcraft.compiler.patterns.candidates import Candidate
    from handcraft.language.typed import Node

LONGEST_WORDS = 40
"""Characters of a pattern that are told with its construction."""


class Cost(NamedTuple):
    """What a program takes; of two the smaller one is better."""

    is_unproved: bool
    layers: int
    parameters: int


@dataclass(frozen=True, slots=True)
class Realized:
    """A program without patterns.

    Attributes:
        typed: the program.
        constructions: what was done for each pattern, in words.
    """

    typed: TypedProgram
    constructions: tuple[str, ...]


def realized(program: TypedProgram, cost: Callable[[TypedProgram], Cost]) -> Realized:
    """Return the program with every pattern by its cheapest construction.

    Args:
        program: a checked program.
        cost: how much a program without patterns takes.

    Raises:
        ProgramError: `pattern-too-large` where a pattern has no construction that is small enough,
            or what `cost` raises where none can be built.
    """
    needed = _needed(program)
    asked = [n for n in sorted(needed) if isinstance(program.nodes[n].op, Ask)]
    if not asked:
        return Realized(program, ())
    known = {number: _candidates(program, number) for number in asked}
    taken = {number: found[0] for number, found in known.items()}
    for number, found in known.items():
        if len(found) > 1:
            taken[number] = _cheapest(program, needed, taken, number, found, cost)
    words = (_words(program.nodes[number], taken[number]) for number in asked)
    return Realized(_written(program, needed, taken), tuple(dict.fromkeys(words)))


def _candidates(program: TypedProgram, number: int) -> tuple[Candidate, ...]:
    node = program.nodes[number]
    assert isinstance(node.op, Ask)
    vocabulary = program.vocabulary
    known = classified(node.op, vocabulary)
    front = int(vocabulary.bos is not None)
    length = deciding_length(node.op, vocabulary)
    slides = length is not None and length <= program.context - front
    found = candidates(
        known, front, program.context, slides=slides and node.op.question == "live next"
    )
    if not found:
        count = f"{neurons(known.general):,}"
        states = len(known.general.answers)
        message = f"the pattern has {states} states and needs {count} neurons in each layer"
        help_ = f"at most {MOST_NEURONS:,} are built: use a pattern with fewer states"
        raise ProgramError("pattern-too-large", message, node.span, help=help_)
    return found


def _cheapest(
    program: TypedProgram,
    needed: frozenset[int],
    taken: Mapping[int, Candidate],
    number: int,
    found: tuple[Candidate, ...],
    cost: Callable[[TypedProgram], Cost],
) -> Candidate:
    best: tuple[Cost, Candidate] | None = None
    refused: ProgramError | None = None
    for candidate in found:
        if best is not None and candidate.layers > best[0].layers and not best[0].is_unproved:
            continue
        try:
            its = cost(_written(program, needed, {**taken, number: candidate}))
        except ProgramError as error:
            refused = refused or error
            continue
        if best is None or its < best[0]:
            best = its, candidate
    if best is None:
        assert refused is not None
        raise refused
    return best[1]


def _needed(program: TypedProgram) -> frozenset[int]:
    """Return the nodes that the result needs, and assumptions that ask no pattern."""
    asking: set[int] = set()
    for number, node in enumerate(program.nodes):
        if isinstance(node.op, Ask) or not asking.isdisjoint(operands(node.op)):
            asking.add(number)
    needed = {*roots(program.result), *(a for a in program.assumptions if a not in asking)}
    for number in range(len(program.nodes) - 1, -1, -1):
        if number in needed:
            needed.update(operands(program.nodes[number].op))
    return frozenset(needed)


def _written(
    program: TypedProgram, needed: frozenset[int], taken: Mapping[int, Candidate]
) -> TypedProgram:
    builder = Builder(program.header)
    numbers: dict[int, int] = {}
    for number, node in enumerate(program.nodes):
        if number not in needed:
            continue
        if isinstance(node.op, Ask):
            numbers[number] = _construction(builder, program, node, taken[number])
        else:
            numbers[number] = builder.add(renumbered(node.op, numbers.__getitem__), node.span)
        if node.name is not None:
            builder.name(numbers[number], node.name)
    return replace(
        program,
        nodes=tuple(builder.nodes),
        result=renumbered_result(program.result, numbers),
        assumptions=tuple(numbers[a] for a in program.assumptions if a in numbers),
    )


def _construction(builder: Builder, program: TypedProgram, node: Node, candidate: Candidate) -> int:
    assert isinstance(node.op, Ask)
    machine = classified(node.op, program.vocabulary).machine
    builder.words = _words(node, candidate)
    try:
        writer = Writer(builder, machine, node.span)
        return writer.answers(candidate.write(writer))
    finally:
        builder.words = None


def _words(node: Node, candidate: Candidate) -> str:
    assert isinstance(node.op, Ask)
    text = node.op.pattern.text
    short = text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 3]}..."
    return f"pattern {short}: {candidate.words}"
