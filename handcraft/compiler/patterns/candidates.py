"""The constructions that a machine has, each with its words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, assert_never

from handcraft.compiler.patterns.averages import by_mean, mean_of
from handcraft.compiler.patterns.compositions import by_composition, doublings, neurons
from handcraft.compiler.patterns.counts import by_counts, by_reset
from handcraft.compiler.patterns.endings import (
    by_position,
    by_suffix,
    by_suffix_at_position,
)
from handcraft.compiler.patterns.guards import guarded
from handcraft.language.domain_rules import LARGEST_JOINT_TABLE
from handcraft.language.recognition import ends, tells_ends
from handcraft.patterns.classes import (
    Counting,
    General,
    Guarded,
    Kind,
    Plain,
    Position,
    Reset,
    Suffix,
    SuffixAtPosition,
)
from handcraft.patterns.machine import Inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from handcraft.compiler.patterns.writing import Writer
    from handcraft.patterns.classify import Classification
    from handcraft.patterns.machine import Machine

MOST_NEURONS = 20_000
"""Neurons of one layer of a composition."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A construction: what is told of it, and what writes the codes of its answers."""

    words: str
    write: Callable[[Writer], int]
    layers: int
    """Layers that it needs at least."""


def candidates(
    known: Classification, front: int, context: int, *, slides: bool
) -> tuple[Candidate, ...]:
    """Return the constructions of a machine that are small enough.

    Args:
        known: the kinds that the machine is of.
        front: positions before the first symbol.
        context: positions.
        slides: whether the last symbols must decide also where they are the end of a longer text.
    """
    found: list[Candidate] = []
    for kind in known.kinds:
        if slides and not isinstance(kind, Suffix):
            continue
        if isinstance(kind, Suffix):
            mean = mean_of(known.machine, kind, front, context - front)
            if mean is not None:
                words = f"{_last(kind.length)} decide by their mean"
                found.append(Candidate(words, partial(by_mean, mean=mean), 1))
        if not _fits(kind, known.machine, context):
            continue
        words, layers = _words(kind, context - front), _layers(kind, context)
        found.append(Candidate(words, partial(_write, kind=kind), layers))
        if isinstance(kind.inside if isinstance(kind, Guarded) else kind, Counting):
            write = partial(_write, kind=kind, read=True)
            found.append(Candidate(f"{words}, as a number", write, layers + 1))
    return tuple(found)


def _fits(kind: Kind, machine: Machine, context: int) -> bool:
    match kind:
        case Suffix(length):
            return tells_ends(machine, length)
        case SuffixAtPosition(length):
            return ends(machine, length) * context <= LARGEST_JOINT_TABLE
        case Guarded(inside):
            return _fits(inside, machine, context)
        case General():
            return neurons(kind) <= MOST_NEURONS
        case _:
            return True


def _layers(kind: Kind, context: int) -> int:
    match kind:
        case Suffix(length) | SuffixAtPosition(length):
            return int(length > 1)
        case Position():
            return 0
        case Reset() | Counting():
            return 1
        case Guarded():
            return 1
        case General():
            return doublings(context - 1)
        case _:
            assert_never(kind)


def _words(kind: Kind, room: int) -> str:
    match kind:
        case Suffix(0):
            return "the same after every text"
        case Suffix(length):
            return f"{_last(length)} {'decides' if length == 1 else 'decide'}"
        case Position():
            return "the position decides"
        case SuffixAtPosition(length):
            return f"the position and {_last(length)} decide"
        case Reset():
            return "the latest resetting token decides"
        case Counting(resets, counters):
            counted = (
                "the count decides" if len(counters) == 1 else f"{len(counters)} counts decide"
            )
            since = any(value is not None for value in resets)
            return counted + (" since the latest resetting token" if since else "")
        case Guarded(inside):
            return f"{_words(inside, room)} until the first token that leaves for good"
        case General(_, answers, monoid):
            steps = f"composition of maps in {doublings(room)} doublings"
            if monoid is not None and len(monoid) ** 2 <= len(answers) ** 3:
                return f"{steps}, by {len(monoid)} elements of a monoid"
            return f"{steps}, state by state of {len(answers)}"
        case _:
            assert_never(kind)


def _last(length: int) -> str:
    return "the last token" if length == 1 else f"the last {length} tokens"


def _write(writer: Writer, kind: Kind, *, read: bool = False) -> int:
    match kind:
        case Guarded(inside, exits):
            here = _plain(writer, inside, read=read)
            before = _before(writer, inside, here)
            return guarded(writer, here, before, tuple(_inner(writer)), exits)
        case General():
            return by_composition(writer, kind)
        case _:
            return _plain(writer, kind, read=read)


def _plain(writer: Writer, kind: Plain, back: int = 0, *, read: bool = False) -> int:
    match kind:
        case Suffix():
            return by_suffix(writer, kind, back)
        case Position():
            return by_position(writer, kind, back)
        case SuffixAtPosition():
            return by_suffix_at_position(writer, kind, back)
        case Reset():
            assert back == 0
            return by_reset(writer, kind)
        case Counting():
            assert back == 0
            return by_counts(writer, kind, read=read)
        case _:
            assert_never(kind)


def _before(writer: Writer, kind: Plain, here: int) -> int:
    """Return the codes of the position before: written anew, or moved by a head."""
    match kind:
        case Suffix() | Position() | SuffixAtPosition():
            return _plain(writer, kind, back=1)
        case Reset(_, answers):
            return writer.earlier(here, 1, writer.code(answers[0]))
        case Counting(_, counters, counts):
            none = (0, tuple(counter.folded(0) for counter in counters))
            start = next(c.answer for c in counts if (c.value, c.totals) == none)
            return writer.earlier(here, 1, writer.code(start))
        case _:
            assert_never(kind)


def _inner(writer: Writer) -> Iterator[Inside]:
    return (answer for answer in writer.coded() if isinstance(answer, Inside))
